"""Who answers: one module a role, and the programs that search with them."""

from .calls.limit import limit
from .lats import LATS
from .loading import load
from .prediction import SearchFailed, SearchPrediction
from .progress import SearchProgress
from .tree_of_thoughts import TreeOfThoughts

__all__ = ["LATS", "SearchFailed", "SearchPrediction", "SearchProgress", "TreeOfThoughts", "limit", "load"]
