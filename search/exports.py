"""What a result can be turned into, beside the file that it is saved as."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from .records import Scalar
    from .result import SearchResult


class Exports:
    """Of a SearchResult. Each form is imported when it is asked for."""

    __slots__ = ()

    @property
    def _result(self) -> SearchResult[Any, Any]:
        return cast("SearchResult[Any, Any]", self)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as JSON values: what `save` writes, by the schema `thoughtree.result_schema()`.

        TypeError for a state that is not JSON and whose task has no `dump` hook.
        """
        from .saving import text_of

        found: dict[str, Any] = json.loads(text_of(self._result))
        return found

    def to_records(self) -> list[dict[str, Scalar]]:
        """One record a node, in the order of their ids, of text, numbers, booleans and None alone.

            pandas.DataFrame(found.search.to_records())

        Columns: id, parent (None: the root), depth, action, state (as the task renders it), status, reason, on_path
        (to the best node), value (on the rating's scale; None: not rated), verdict, ratings, lost_ratings, prior,
        reward, visits, mean (of what was backed up; None: never visited), children, calls, tokens, cost (dollars) and
        seconds (of replies about it, shared out evenly where they are about several), observation, answer (JSON).
        """
        from .records import records

        return records(self._result)

    def to_dot(self, most: int | None = None) -> str:
        """The tree in the language of Graphviz: `dot -Tsvg` draws it. The path that is given back is thick.

        most: nodes that are shown, the path and then those nearest to the root first (None: all).
        """
        from .drawing import dot

        return dot(self._result, most)

    def to_mermaid(self, most: int | None = 150) -> str:
        """The tree as a Mermaid flowchart, for a fence in Markdown. most: as in `to_dot`.

        By itself Mermaid draws 500 edges and 50,000 characters at most.
        """
        from .drawing import mermaid

        return mermaid(self._result, most)

    def _repr_html_(self) -> str:
        """How a notebook shows it. The face of the package draws it, which the core does not know."""
        drawn: str = import_module("thoughtree.notebook").html_of(self)
        return drawn
