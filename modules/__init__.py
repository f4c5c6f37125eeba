"""Who answers: one module a role, and the programs that search with them."""

from typing import TYPE_CHECKING, Any

from .calls.limit import limit
from .loading import load
from .prediction import SearchFailed, SearchPrediction
from .progress import SearchProgress
from .tree_of_thoughts import TreeOfThoughts

if TYPE_CHECKING:
    from .lats import LATS

__all__ = ["LATS", "SearchFailed", "SearchPrediction", "SearchProgress", "TreeOfThoughts", "limit", "load"]


def __getattr__(name: str) -> Any:
    if name != "LATS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .lats import LATS  # with its roles and environments: loaded when it is asked for

    return LATS
