"""A griffe extension: in our docstrings, `width: states kept. branching: children proposed.` becomes a list.

Docstrings name a parameter or field, a colon, and what it is, several to a line; on the site each gets its own line.
Only names that the object has count, so that prose with a colon stays prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import griffe

_NAMES = r"(?:{names})(?:, (?:{names}))*"


class KnobLists(griffe.Extension):
    """Lists the parameters and fields that a docstring explains, and shows a knob's default without its range."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **kwargs: Any) -> None:  # before a dataclass reads it
        if isinstance(attr.value, griffe.ExprCall) and str(attr.value.function) == "knob":
            attr.value = attr.value.arguments[0]

    def on_class(self, *, cls: griffe.Class, loader: griffe.GriffeLoader, **kwargs: Any) -> None:
        init = cls.members.get("__init__")
        names = [name for name, member in cls.members.items() if member.is_attribute]
        if isinstance(init, griffe.Function):
            names += [parameter.name for parameter in init.parameters]
        _listed(cls, names)

    def on_function(self, *, func: griffe.Function, loader: griffe.GriffeLoader, **kwargs: Any) -> None:
        _listed(func, [parameter.name for parameter in func.parameters])


def _listed(thing: griffe.Class | griffe.Function, names: Iterable[str]) -> None:
    if thing.docstring is not None:
        thing.docstring.value = listed(thing.docstring.value, names)


def listed(text: str, names: Iterable[str]) -> str:
    """`text`, with an item for each name that it explains."""
    known = "|".join(sorted(map(re.escape, {*names} - {"self", "cls"}), key=len, reverse=True))
    if not known:
        return text
    said = _NAMES.format(names=known)
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(
        _paragraph(paragraph, re.compile(rf"(?:^|(?<=[.;)] ))({said}): ", re.M)) for paragraph in paragraphs
    )


def _paragraph(text: str, explained: re.Pattern[str]) -> str:
    if text.startswith("    ") or not explained.search(text):
        return text
    lines = explained.sub(lambda found: f"\n{_MARK}{found[1]}: ", text).split("\n")
    out: list[str] = []
    for line in lines:
        if line.startswith(_MARK):
            names, _, what = line.removeprefix(_MARK).partition(": ")
            if out and not out[-1].startswith(("- ", "  ")):
                out.append("")
            shown = ", ".join(f"`{name}`" for name in names.split(", "))
            out.append(f"- {shown}: {what.strip()}")
        elif line.strip():
            inside = bool(out) and out[-1].startswith(("- ", "  "))
            if inside and line[0].isupper() and out[-1].endswith("."):  # a sentence of its own: the list is over
                inside = False
                out.append("")
            out.append(f"  {line.strip()}" if inside else line.strip())
    return "\n".join(out)


_MARK = "\0"
