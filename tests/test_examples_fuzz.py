"""load_examples on rows and files of any kind: what is written comes back, and what is damaged is one clear error."""

from __future__ import annotations

import csv
import io
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoughtree import load_examples
from thoughtree.optimize import DataError

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
KINDS = [
    WORDS,
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.lists(WORDS | st.none(), max_size=3),
    st.lists(st.lists(st.integers(), max_size=2), max_size=3),
    st.dictionaries(WORDS, WORDS | st.none(), max_size=3),
]


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows with the same columns, in each of which there is one kind of value, or null."""
    names = draw(st.lists(WORDS, min_size=1, max_size=4, unique=True))
    columns = [draw(st.sampled_from(KINDS)) for _ in names]
    return [
        {name: draw(column | st.none()) for name, column in zip(names, columns, strict=True)}
        for _ in range(draw(st.integers(1, 4)))
    ]


def loaded(path: Path, **arguments: Any) -> list[list[Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_examples(path, **arguments)
    for example in found:
        assert all(getattr(example, name) == example[name] for name in example.keys())  # noqa: SIM118
    return [list(example.toDict().values()) for example in found]


@settings(max_examples=80, deadline=None)
@given(rows=tables(), lines=st.booleans())
def test_json_comes_back(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], lines: bool) -> None:
    path = tmp_path_factory.mktemp("set") / ("a.jsonl" if lines else "a.json")
    text = "\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows) if lines else json.dumps(rows)
    path.write_bytes(text.encode())
    assert loaded(path, inputs=next(iter(rows[0]))) == [list(row.values()) for row in rows]


@settings(max_examples=80, deadline=None)
@given(
    table=st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(WORDS, min_size=n, max_size=n), min_size=1, max_size=4))
)
def test_csv_comes_back(tmp_path_factory: pytest.TempPathFactory, table: list[list[str]]) -> None:
    path, out = tmp_path_factory.mktemp("set") / "a.csv", io.StringIO(newline="")
    names = [f"c{i}" for i in range(len(table[0]))]
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([names, *table])
    path.write_bytes(out.getvalue().encode())
    assert loaded(path, inputs="c0") == table


@settings(max_examples=150, deadline=None)
@given(
    content=st.binary(max_size=60) | st.text('{}[],:"\\\n\r;0a', max_size=40).map(str.encode),
    kind=st.sampled_from(["json", "jsonl", "csv", "tsv", "parquet"]),
)
def test_a_file_of_anything_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, kind: str
) -> None:
    path = tmp_path_factory.mktemp("set") / f"a.{kind}"
    path.write_bytes(content)
    try:
        found = loaded(path, inputs="a")
    except DataError as error:
        found = [str(error)]
    assert found != []
    assert all(isinstance(row, list) or "a." in row for row in found)
