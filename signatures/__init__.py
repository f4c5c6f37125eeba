"""What is asked: one signature a file, its docstring is the prompt. Each is built when it is first asked for."""

import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .act import Act
    from .answer import Answer
    from .approve import Approve
    from .assess import Assess
    from .choose import Choose
    from .compare import Compare
    from .judge import Judge
    from .predict import Predict
    from .propose import Propose
    from .rate import Rate
    from .rate_siblings import RateSiblings
    from .reflect import Reflect
    from .vote import Vote

__all__ = [
    "Act",
    "Answer",
    "Approve",
    "Assess",
    "Choose",
    "Compare",
    "Judge",
    "Predict",
    "Propose",
    "Rate",
    "RateSiblings",
    "Reflect",
    "Vote",
]

if sys.flags.optimize > 1:
    warnings.warn("python -OO drops docstrings, and these are the prompts; run with -O at most", stacklevel=2)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])  # by which Python says what was meant
    file = "rate_siblings" if name == "RateSiblings" else name.lower()
    found = getattr(import_module(f".{file}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
