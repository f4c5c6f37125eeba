"""Columns: names that an Example can carry, one kind of value in each, and the types that were asked for."""

from __future__ import annotations

import difflib
import keyword
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dspy
from pydantic import TypeAdapter, ValidationError

from .rows import DataError, Place, Row, otherwise_separated

# As fields, these read back as something else, or reach a predictor as something else.
TAKEN = frozenset(
    {name for kind in (dspy.Example, dspy.Prediction) for name in dir(kind)}
    | {"_store", "_demos", "_input_keys", "_completions", "_lm_usage"}
    | {"config", "demos", "signature", "lm", "new_signature"}
)


def usable(name: str, others: Iterable[str]) -> str:
    """`name`, or the nearest name that works as a field of an Example and as an argument, and is none of `others`."""
    new = name
    if not new.isidentifier():
        new = re.sub(r"\W", "_", new.strip())
        new = new if new.strip("_") and new.isidentifier() else f"column_{new}"
    if new.startswith("dspy_") or new.startswith("__"):  # DSPy hides these
        new = f"column_{new.lstrip('_')}"
    if new in TAKEN or keyword.iskeyword(new):
        new = f"{new}_"
    while new != name and new in others:
        new = f"{new}_"
    return new


def renamed(source: str, old: str, new: str, why: str) -> None:
    warnings.warn(f"{source}: column {old!r} is now {new!r}: {why}", UserWarning, stacklevel=2)


class Names:
    """The columns of a data set by their first row: old name -> name in the examples."""

    def __init__(self, place: Place, row: Mapping[str, Any]) -> None:
        self.first = place
        self.new: dict[str, str] = {}
        for name in row:
            others = (set(row) - {name}) | set(self.new.values())
            self.new[name] = usable(name, others)
            if self.new[name] != name:
                renamed(place.source, name, self.new[name], "as a field of a dspy.Example it would not work")

    def of(self, argument: str, names: Iterable[str]) -> list[str]:
        """Columns that an argument names, by the old or the new name. DataError for one that is missing."""
        found = []
        known = [*self.new, *self.new.values()]
        folded = {old.casefold(): old for old in self.new}
        for name in names:
            if name not in known:
                near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
                hint = f" (did you mean {folded[near[0]]!r}?)" if near else ""
                listed = ", ".join(map(repr, self.new))
                listed += otherwise_separated(self.new)
                raise DataError(f"{argument}: {self.first.source} has no column {name!r}{hint}: there are {listed}")
            found.append(self.new.get(name, name))
        return found


class Types:
    """One kind of value in each column, or the type that was asked for.

    given: column -> a type such as `int` or `list[str]`, by which its values are converted; TypeError for no type.
    """

    def __init__(self, names: Names, given: Mapping[str, Any]) -> None:
        self.adapters = {}
        for name, kind in zip(names.of("types=", given), given.values(), strict=True):
            try:
                self.adapters[name] = TypeAdapter(kind)
                self.adapters[name].rebuild(raise_errors=True)  # a name that means no type
            except Exception as error:  # pydantic's, of many kinds
                raise TypeError(f"types={{{name!r}: {kind!r}}}: must be a type, such as int or list[str]") from error
        self._kinds: dict[str, tuple[str, Place]] = {}

    def optional(self, column: str) -> bool:
        """Whether a row may lack this column."""
        return column in self.adapters and _takes(self.adapters[column], None)

    def value(self, place: Place, column: str, value: Any) -> Any:
        """DataError for a value of another kind than the column's others, or not of its type."""
        adapter = self.adapters.get(column)
        if adapter is None:
            self._same(place, column, value)
            return value
        try:
            return _converted(adapter, value)
        except ValidationError as error:
            told = error.errors()[0]["msg"]
            raise DataError(
                f"{place}, column {column!r}: {_short(value)} is not of the type asked for ({told})"
            ) from error

    def _same(self, place: Place, column: str, value: Any, within: str = "") -> None:
        """within: "[]" for the items of the column's lists, which are of one kind too, and so on for lists in them."""
        if value is None:
            return
        kind = kind_of(value)
        before, where = self._kinds.setdefault(f"{column}{within}", (kind, place))
        if kind != before:
            at = " inside its lists" if within else ""
            raise DataError(
                f"{place}, column {column!r}: {_short(value)}{at} is {kind}, and row {where.row} of {where.source} has "
                f"{before} there; give one kind, or say what may stand there: types={{{column!r}: ...}}"
            )
        if isinstance(value, list | tuple):
            for item in value:
                self._same(place, column, item, f"{within}[]")


def kind_of(value: Any) -> str:
    """What a value is, in the words of an error."""
    for kind, words in (
        (bool, "true or false"),
        (int | float, "a number"),
        (str, "text"),
        (list | tuple, "a list"),
        (Mapping, "an object"),
    ):
        if isinstance(value, kind):
            return words
    return f"a {type(value).__name__}"


def _converted(adapter: TypeAdapter[Any], value: Any) -> Any:
    try:
        return adapter.validate_python(value)
    except ValidationError:
        if not isinstance(value, str):
            raise
        if not value.strip() and _takes(adapter, None):
            return None
        try:
            return adapter.validate_json(value)  # a list or an object in a cell
        except ValidationError:
            pass
        raise


def _takes(adapter: TypeAdapter[Any], value: Any) -> bool:
    try:
        adapter.validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def types_of(given: Any, names: Names) -> Mapping[str, Any]:
    """From a mapping, or from those fields of a dspy.Signature that the data has."""
    if given is None:
        return {}
    if isinstance(given, type) and issubclass(given, dspy.Signature):
        signature: Any = given
        there = {*names.new, *names.new.values()}
        return {name: info.annotation for name, info in signature.fields.items() if name in there}
    if not isinstance(given, Mapping):
        raise TypeError(f"types={given!r}: must map columns to types, as {{'id': int}} does, or be a dspy.Signature")
    return given


def examples(rows: Iterable[Row], inputs: Sequence[str], types: Any) -> list[dspy.Example]:
    """The rows as Examples with their inputs. DataError for the first row that is wrong."""
    made: list[dspy.Example] = []
    names: Names | None = None
    for place, row in rows:
        if names is None:
            names = Names(place, row)
            marked = names.of("inputs=", inputs)
            checked = Types(names, types_of(types, names))
        made.append(dspy.Example(_fields(place, row, names, checked)).with_inputs(*marked))
    return made


def _fields(place: Place, row: Mapping[str, Any], names: Names, types: Types) -> dict[str, Any]:
    strange = [name for name in row if name not in names.new]
    if strange:
        raise DataError(
            f"{place}: has a column {strange[0]!r}, which row {names.first.row} of {names.first.source} has not"
        )
    fields = {}
    for old, new in names.new.items():
        if old not in row and not types.optional(new):
            raise DataError(
                f"{place}: has no column {old!r}; where a row may lack it, say so: types={{{old!r}: ... | None}}"
            )
        fields[new] = types.value(place, new, row.get(old))
    return fields
