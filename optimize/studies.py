"""An Optuna study that several processes may share: its storage, its sampler, and whose turn it is."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import re
import socket
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from ..modules.calls.redaction import redact
from .extra import needs

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial, Trial

logger = logging.getLogger(__name__)

FORMAT = "thoughtree.study/1"
LIBRARIES = {"GPSampler": "torch", "CmaEsSampler": "cmaes"}  # of Optuna's samplers, that it does not install
GRACE = 300.0  # seconds without a sign of life after which a trial of another machine counts as lost
TRIES = 5  # at a database whose tables another process is making
BEAT = 30.0  # seconds between two signs of life
TOLD = "thoughtree"  # the study's attribute that says what it tunes


class StudyError(ValueError):
    """A study that cannot be opened, or tunes something else."""


@contextmanager
def quiet() -> Iterator[None]:
    """Optuna says nothing below a warning; afterwards as much as before."""
    optuna = needs("optuna")
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(before, optuna.logging.WARNING))
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
            warnings.filterwarnings("ignore", message="(PedAnova|Some regimes for parameter)")
            yield
    finally:
        optuna.logging.set_verbosity(before)


def storage_of(given: Any) -> Any:
    """What Optuna keeps the study in: a journal file, a database, a gRPC proxy, a storage; None: memory.

    given: `sqlite:///study.db` or any other address that Optuna takes, `grpc://host:port`, the path of a journal file,
    or a storage object. Raises StudyError where it cannot be opened.
    """
    optuna = needs("optuna")
    if given is None or not isinstance(given, str | os.PathLike):
        return given
    address = os.fspath(given)
    try:
        if found := re.fullmatch(r"grpc://(\[?[\w.:-]+?\]?):(\d+)/?", address):
            return optuna.storages.GrpcStorageProxy(host=found[1], port=int(found[2]))
        if "://" in address:
            return _database(address)
        Path(address).parent.mkdir(parents=True, exist_ok=True)
        from optuna.storages.journal import JournalFileBackend

        return optuna.storages.JournalStorage(JournalFileBackend(address))
    except Exception as error:
        if getattr(error, "name", None) in ("grpc", "google", "google.protobuf"):
            raise StudyError(f"storage={address!r}: needs grpc: pip install grpcio protobuf") from error
        raise StudyError(f"storage={_without_password(address)!r}: cannot be opened: {redact(str(error))}") from error


def _database(address: str) -> Any:
    """Of several processes that make a new file's tables at once all but one fail, and find them made soon after."""
    from sqlalchemy.exc import IntegrityError, OperationalError

    optuna = needs("optuna")
    for attempt in range(TRIES if address.startswith("sqlite") else 0):
        try:
            return optuna.storages.RDBStorage(address, engine_kwargs=_patient(address))
        except (IntegrityError, OperationalError):
            time.sleep(0.1 * 2**attempt)
    return optuna.storages.RDBStorage(address, engine_kwargs=_patient(address))


def _patient(address: str) -> dict[str, Any]:
    """SQLite waits for its lock, when several processes write."""
    return {"connect_args": {"timeout": 60}} if address.startswith("sqlite") else {}


def _without_password(address: str) -> str:
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", address)


def opened(
    name: str | None, storage: Any, *, two: bool, seed: int, sampler: Any, told: Mapping[str, Any]
) -> optuna.Study:
    """The study, made or joined. told: what it tunes, which a study that is joined must tune too.

    Raises StudyError where another program, space, data set, metric or objective is tuned there.
    """
    optuna = needs("optuna")
    if sampler is not None and not isinstance(sampler, optuna.samplers.BaseSampler):
        raise TypeError(f"sampler={sampler!r}: must be one of Optuna's, such as optuna.samplers.RandomSampler(seed=0)")
    _refuse_a_sampler_without_its_library(sampler)
    store = storage_of(storage)
    directions = ["maximize", "minimize"] if two else ["maximize"]
    try:
        study = optuna.create_study(
            study_name=name, storage=store, directions=directions, load_if_exists=name is not None
        )
    except Exception as error:  # each kind of storage has its own
        raise StudyError(f"study {name!r}: cannot be opened: {redact(str(error))}") from error
    _same(study, {"format": FORMAT, **told})
    if len(study.directions) != len(directions):
        raise StudyError(f"study {study.study_name!r} has {len(study.directions)} objectives, not {len(directions)}")
    # A sampler that is seeded alike on every start would propose its first points again.
    if not two:
        needs("scipy")  # or the pruner would fail, in the middle of things
        study.pruner = optuna.pruners.WilcoxonPruner(p_threshold=0.1, n_startup_steps=4)
    study.sampler = sampler if sampler is not None else _tpe(seed, len(study.get_trials(deepcopy=False)))
    return study


def _refuse_a_sampler_without_its_library(sampler: Any) -> None:
    """Now, and not after the trials that it draws at random first."""
    for kind in type(sampler).__mro__:
        library = LIBRARIES.get(kind.__name__)
        if library is not None and importlib.util.find_spec(library) is None:
            raise ImportError(f"sampler={kind.__name__}: needs {library}: pip install {library}")


def name_objectives(study: optuna.Study, names: list[str]) -> None:
    """For whoever looks at the study in Optuna's own plots and its dashboard."""
    if study.metric_names != names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", needs("optuna").exceptions.ExperimentalWarning)
            study.set_metric_names(names)


def _tpe(seed: int, done: int) -> Any:
    optuna = needs("optuna")
    if done:
        seed = int(hashlib.sha256(f"{seed}|{done}|{os.getpid()}".encode()).hexdigest()[:8], 16)
    return optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True)


def _same(study: optuna.Study, told: Mapping[str, Any]) -> None:
    found = study.user_attrs.get(TOLD)
    if found is None:
        if study.get_trials(deepcopy=False):
            raise StudyError(f"study {study.study_name!r} was made by something else; give another name")
        study.set_user_attr(TOLD, dict(told))
        return
    differ = [
        f"{key}: {found.get(key)!r} there, {told.get(key)!r} now"
        for key in sorted(found.keys() | told.keys())
        if found.get(key) != told.get(key)
    ]
    if differ:
        raise StudyError(
            f"study {study.study_name!r} tunes something else ({'; '.join(differ)}); "
            "give another name, or the settings of that one"
        )


# ---- whose trial it is


def me() -> dict[str, Any]:
    """This worker, so that others can tell whether it still lives."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "born": _born(os.getpid())}


def _born(pid: int) -> str | None:
    """When a process of this machine started, in the kernel's ticks; None where that cannot be told, or it is dead."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if told[0] in "ZX" else told[19]  # killed, and not yet waited for
    except (OSError, IndexError):
        return None


def lost(trial: FrozenTrial, grace: float = GRACE) -> bool:
    """Whether the worker of a running trial is gone: its process, or, of another machine, any sign of life."""
    worker = trial.user_attrs.get("worker")
    if worker is None or worker["host"] != socket.gethostname():
        seen = trial.user_attrs.get("seen") or (trial.datetime_start.timestamp() if trial.datetime_start else 0.0)
        return time.time() - float(seen) > grace
    try:
        os.kill(worker["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return _born(worker["pid"]) != worker["born"]


@contextmanager
def alive(trial: Trial) -> Iterator[None]:
    """Signs of life while the trial is at work, from a thread of their own: one example may take longer than GRACE."""
    ended = Event()

    def signs() -> None:
        while True:
            try:
                trial.set_user_attr("seen", time.time())
            except Exception as error:  # the trial's own work meets it too
                logger.debug("trial %s: no sign of life: %s", trial.number, redact(str(error)))
            if ended.wait(BEAT):
                return

    thread = Thread(target=signs, name="thoughtree-alive", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def digest(value: Any) -> str:
    """A short name for anything that is JSON, the same in every process."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]
