"""What a program returns: a dspy.Prediction, with the search beside its fields and not among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dspy

if TYPE_CHECKING:
    from ..search import SearchResult


class SearchPrediction(dspy.Prediction):
    """Output fields, `reasoning` (the path as text, where the signature has no such field), and `search`.

    `search` is the whole SearchResult. It is no field: `**prediction`, `toDict`, JSON and `save_as_json`
    leave it out; copy and pickle keep it.
    """

    def __init__(self, base: Any = None, *, search: SearchResult[Any, Any] | None = None, **fields: Any) -> None:
        super().__init__(base, **fields)
        self._search = getattr(base, "_search", None) if search is None else search  # `copy` gives a base
        self._inputs: dict[str, Any] | None = getattr(base, "_inputs", None)  # what was asked, to learn from it later

    @property
    def search(self) -> SearchResult[Any, Any]:
        """The search behind these fields. AttributeError for a prediction that was made from its fields alone."""
        if self._search is None:
            raise AttributeError("search")
        return self._search

    def __getattr__(self, name: str) -> Any:
        if name == "search":
            raise AttributeError("this prediction carries no search: it was made from its fields alone")
        return super().__getattr__(name)


class SearchFailed(Exception):
    """The search failed and `on_failure="raise"` was asked for. `result` is the whole search.

    The message is its summary, and its first error, if there was one.
    """

    def __init__(self, result: SearchResult[Any, Any]) -> None:
        from ..search.result import LONGEST
        from ..search.visible import one_line

        why = "" if result.first_error is None else f"; first error: {one_line(result.first_error, LONGEST)}"
        super().__init__(result.summary() + why)
        self.result = result

    def __reduce__(self) -> Any:
        return SearchFailed, (self.result,)
