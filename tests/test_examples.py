"""load_examples: what is written in the data is what is in the examples, and what is wrong with it is said."""

from __future__ import annotations

import json
import random
import warnings

import dspy
import pytest

from engines import Engine, lm
from thoughtree import load_examples
from thoughtree.optimize import DataError, hub


@pytest.fixture
def file(tmp_path):
    """Writes a file and gives its path."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_bytes((content if isinstance(content, str) else json.dumps(content)).encode())
        return path

    return write


def parquet(path, **columns):
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def dicts(found):
    return [example.toDict() for example in found]


ROWS = [{"question": "1 + 1", "answer": "2"}, {"question": "2 + 2", "answer": "4"}]


# -- kinds of files


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", ROWS),
        ("a.json", {"data": ROWS}),
        ("a.json", {"version": 1, "rows": ROWS}),
        ("a.json", '{"question": "1 + 1", "answer": "2"}\n{"question": "2 + 2", "answer": "4"}'),
        ("a.jsonl", '{"question": "1 + 1", "answer": "2"}\r\n\r\n{"question": "2 + 2", "answer": "4"}\r\n'),
        ("a.csv", "question,answer\n1 + 1,2\n2 + 2,4\n"),
        ("a.CSV", "\ufeffquestion,answer\r\n1 + 1,2\r\n\r\n2 + 2,4"),
        ("a.tsv", "question\tanswer\n1 + 1\t2\n2 + 2\t4\n"),
    ],
)
def test_files_of_all_kinds(file, name, content):
    found = load_examples(file(name, content), inputs="question")
    assert dicts(found) == ROWS
    assert [example.inputs().toDict() for example in found] == [{"question": row["question"]} for row in ROWS]
    assert all(type(example) is dspy.Example for example in found)


def test_parquet(tmp_path):
    path = parquet(tmp_path / "a.parquet", question=["1 + 1", None], answer=[2, 2**62], tags=[["x"], []])
    assert dicts(load_examples(str(path), inputs=("question",))) == [
        {"question": "1 + 1", "answer": 2, "tags": ["x"]},
        {"question": None, "answer": 2**62, "tags": []},
    ]


def test_rows_in_memory_and_a_dataset():
    import datasets

    assert dicts(load_examples(ROWS, inputs="question")) == ROWS
    assert dicts(load_examples([dspy.Example(**row) for row in ROWS], inputs="question")) == ROWS
    table = datasets.Dataset.from_list(ROWS)
    assert dicts(load_examples(table, inputs="question")) == ROWS
    splits = datasets.DatasetDict({"train": table, "test": table.select([1])})
    assert dicts(load_examples(splits, inputs="question", split="test")) == ROWS[1:]
    with pytest.raises(DataError, match="source has the splits train, test; say which"):
        load_examples(splits, inputs="question")


def test_a_program_is_evaluated_on_them(file):
    from thoughtree import Evaluate, exact_match

    devset = load_examples(file("a.csv", "question,answer\n1 + 1,2\n2 + 2,4\n"), inputs="question")
    with dspy.context(lm=lm(Engine(lambda kind, inputs, n: {"answer": "2"}))):
        assert Evaluate(devset=devset, metric=exact_match)(dspy.Predict("question -> answer")).score == 50.0


# -- values stay what they are


def test_a_csv_cell_is_text(file):
    path = file("a.csv", 'id,x,y\n007,1e3,"a ""quoted""\r\nline, \u2028 and é"\nTrue,,NA\n')
    assert dicts(load_examples(path, inputs="id")) == [
        {"id": "007", "x": "1e3", "y": 'a "quoted"\r\nline, \u2028 and é'},
        {"id": "True", "x": "", "y": "NA"},
    ]


def test_json_values_keep_their_types(file):
    row = {"big": 2**80, "half": 0.5, "yes": True, "no": None, "deep": {"a": [1, {"b": "ü"}]}, "zero": "007"}
    (found,) = load_examples(file("a.json", [row]), inputs="big")
    assert found.toDict() == row
    assert {name: type(value) for name, value in found.items()} == {name: type(value) for name, value in row.items()}


def test_cells_are_converted_where_types_are_given(file):
    path = file(
        "a.csv", 'id,ok,tags,score,when,free\n007,true,"[""a"", ""b""]",,2026-01-02,1\n8,0,[],2.5,2026-01-03,2\n'
    )
    types = {"id": int, "ok": bool, "tags": list[str], "score": float | None}
    assert dicts(load_examples(path, inputs="id", types=types)) == [
        {"id": 7, "ok": True, "tags": ["a", "b"], "score": None, "when": "2026-01-02", "free": "1"},
        {"id": 8, "ok": False, "tags": [], "score": 2.5, "when": "2026-01-03", "free": "2"},
    ]


def test_a_signature_says_the_types_of_the_columns_that_it_has(file):
    path = file("a.csv", "numbers,answer,note\n1,24,7\n")
    (found,) = load_examples(path, inputs="numbers", types=dspy.Signature("numbers, hint: int -> answer: int"))
    assert found.toDict() == {"numbers": "1", "answer": 24, "note": "7"}


@pytest.mark.parametrize(("cell", "kind"), [("7.5", int), ("x", float), ("maybe", bool), ("", int), ("{", list[str])])
def test_a_cell_that_is_not_of_its_type_is_named(file, cell, kind):
    path = file("a.csv", f"id,x\n1,\n2,{cell}\n" if cell == "" else f"id,x\n1,{cell}\n")
    with pytest.raises(DataError, match=rf"a\.csv, row 1 \(line 2\), column 'x': '{cell}' is not of the type"):
        load_examples(path, inputs="id", types={"x": kind})


# -- names


def test_columns_that_would_read_back_as_something_else_are_renamed_and_said_so(file):
    rows = [{"items": "a", "get": 1, "final answer": 2, "2nd": 3, "class": 4, "config": 5, "dspy_x": 6, "base": 7}]
    with pytest.warns(UserWarning, match="is now") as said:
        (found,) = load_examples(file("a.json", rows), inputs=("items", "get_"))
    assert found.toDict() == {
        **{"items_": "a", "get_": 1, "final_answer": 2, "column_2nd": 3, "class_": 4},
        **{"config_": 5, "column_dspy_x": 6, "base": 7},
    }
    assert found.inputs().toDict() == {"items_": "a", "get_": 1}
    assert found.items_ == "a"
    assert len(said) == 7
    assert str(said[0].message).startswith(f"{file('a.json', rows)}: column 'items' is now 'items_'")


@pytest.mark.parametrize("kind", [dspy.Example, dspy.Prediction])
def test_no_attribute_of_dspys_is_a_field(kind):
    """Whatever else a later DSPy puts on these classes."""
    names = [name for name in dir(kind) if not name.startswith("__")] + ["_store", "_input_keys", "_demos"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (found,) = load_examples([dict.fromkeys(names, "v")], inputs=names[0])
    assert len(found) == len(names)
    assert all(getattr(found, name) == "v" for name in found.keys())  # noqa: SIM118


def test_a_new_name_takes_no_other_columns_place():
    with pytest.warns(UserWarning, match="'items' is now 'items__'"):
        (found,) = load_examples([{"items": 1, "items_": 2}], inputs="items")
    assert found.toDict() == {"items__": 1, "items_": 2}
    assert found.inputs().toDict() == {"items__": 1}


def test_a_header_with_a_name_twice_or_none(file):
    with pytest.warns(UserWarning, match="is now") as said:
        (found,) = load_examples(file("a.csv", ",q,a,a,a_2\n0,1,2,3,4\n"), inputs="q")
    assert found.toDict() == {"column_1": "0", "q": "1", "a": "2", "a_3": "3", "a_2": "4"}
    assert [str(w.message).split(": ", 1)[1] for w in said] == [
        "column '' is now 'column_1': it has no name",
        "column 'a' is now 'a_3': another column has that name",
    ]


# -- which of them


def test_limit_and_seed(file):
    path = file("a.jsonl", "".join(f'{{"n": {i}}}\n' for i in range(50)) + "not JSON")
    assert [e.n for e in load_examples(path, inputs="n", limit=3)] == [0, 1, 2]  # and no further
    rows = [{"n": i} for i in range(50)]
    drawn = [e.n for e in load_examples(rows, inputs="n", limit=10, seed=1)]
    assert drawn == [e.n for e in load_examples(rows, inputs="n", limit=10, seed=1)]
    assert drawn != [e.n for e in load_examples(rows, inputs="n", limit=10, seed=2)]
    assert len(set(drawn)) == 10
    assert sorted(e.n for e in load_examples(rows, inputs="n", seed=1)) == list(range(50))


def test_the_global_random_numbers_are_left_alone():
    random.seed(3)
    state = random.getstate()
    load_examples(ROWS, inputs="question", seed=5)
    assert random.getstate() == state


def test_a_folder_and_its_splits(file, tmp_path):
    folder = tmp_path / "set"
    file("set/train-2.jsonl", '{"q": 3}\n')
    file("set/train-1.jsonl", '{"q": 1}\n{"q": 2}\n')
    file("set/dev.csv", "q\n4\n")
    parquet(folder / "test" / "part.parquet", q=[5])
    file("set/README.md", "not data")
    assert [e.q for e in load_examples(folder, inputs="q", split="train")] == [1, 2, 3]
    assert [e.q for e in load_examples(folder, inputs="q", split="validation")] == ["4"]
    assert [e.q for e in load_examples(folder, inputs="q", split="test")] == [5]
    with pytest.raises(DataError, match=r"several splits \(test, train, validation\); say which by split="):
        load_examples(folder, inputs="q")
    with pytest.raises(DataError, match=r"split='extra': no file of .* is of it; there are test, train, validation"):
        load_examples(folder, inputs="q", split="extra")


def test_a_split_by_its_own_name_goes_before_another_name_for_it(file, tmp_path):
    file("set/dev.json", [{"q": "dev"}])
    file("set/val.json", [{"q": "val"}])
    for split, found in (("dev", ["dev"]), ("val", ["val"]), ("validation", ["dev", "val"])):
        assert [e.q for e in load_examples(tmp_path / "set", inputs="q", split=split)] == found


def test_a_folder_without_splits_is_read_whole(file, tmp_path):
    file("set/b.json", [{"q": "2"}])
    file("set/a.csv", "q\n1\n")
    assert [e.q for e in load_examples(tmp_path / "set", inputs="q")] == ["1", "2"]


def test_splits_in_one_json_file(file):
    path = file("a.json", {"train": [{"q": 1}], "test": [{"q": 2}]})
    assert [e.q for e in load_examples(path, inputs="q", split="test")] == [2]
    with pytest.raises(DataError, match="split=None names no list of rows; the file's lists are: 'train', 'test'"):
        load_examples(path, inputs="q")


# -- what is wrong


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.json", "", r"a\.json: the file is empty"),
        ("a.json", "[]", "holds no rows"),
        ("a.json", "[1]", r"a\.json, row 1: is a int; each row must be an object"),
        ("a.json", '"text"', "holds a str; it must be a list of objects"),
        ("a.json", '{"a": 1}', "is one object without a list of rows"),
        ("a.json", "[{]", r"a\.json: not JSON \(.*line 1 column 3"),
        ("a.json", '[{"q": 1, "q": 2}]', r"a\.json: an object has the name 'q' twice"),
        ("a.json", '[{"q": ' + "9" * 5000 + "}]", r"a\.json: .*4300"),
        ("a.json", "[" * 100_000, r"a\.json: nested too deeply"),
        ("a.json", b"\xff\xfe[\x00]\x00", r"a\.json: not UTF-8 \(byte 0\)"),
        ("a.jsonl", '{"q": 1}\n\n{"q": \n', r"a\.jsonl, row 2 \(line 3\): not JSON"),
        ("a.jsonl", '{"q": 1}\n[2]\n', r"a\.jsonl, row 2 \(line 2\): is a list"),
        ("a.jsonl", '{"q": 1, "a": "x"}\n{"q": 2}\n', r"row 2 \(line 2\): has no column 'a'; where .* types={'a': "),
        ("a.jsonl", '{"q": 1}\n{"q": 2, "b": 3}\n', r"row 2 \(line 2\): has a column 'b', which row 1 of"),
        ("a.jsonl", '{"q": 1}\n{"q": "2"}\n', r"row 2 \(line 2\), column 'q': '2' is text, and row 1 .* a number"),
        ("a.jsonl", '{"q": true}\n{"q": null}\n{"q": 0}\n', r"row 3 \(line 3\), column 'q': 0 is a number, and row 1"),
        ("a.jsonl", '{"q": "a"}\n{"q": ["a"]}\n', r"\['a'\] is a list, and row 1 .* has text there"),
        ("a.csv", "", "holds no rows"),
        ("a.csv", "q,a\n", "holds no rows"),
        ("a.csv", "q,a\n1,2\n1,2,3\n", r"a\.csv, row 2 \(line 3\): has 3 cells, and the header has 2: q, a"),
        ("a.csv", "q,a\n1\n", r"row 1 \(line 2\): has 1 cells"),
        ("a.csv", 'q,a\n1,"open\n', r"row 1 \(line 2\): not CSV"),
        ("a.csv", "q;a\n1;2\n", r"inputs=: .*a\.csv has no column 'q' .*: there are 'q;a'; it .* by semicolons: save"),
        ("a.csv", "q;a\n1;2,5\n", r"row 1 \(line 2\): has 2 cells, and the header has 1: q;a; .* by semicolons: save"),
        ("a.csv", "q\ta\n1\t2\n", r"there are 'q\\ta'; it seems to be separated by tabs: save .*, or as \.tsv"),
        ("a.csv", "Q,a\n1,2\n", r"no column 'q' \(did you mean 'Q'\?\): there are 'Q', 'a'"),
        ("a.parquet", "no", r"a\.parquet: not a Parquet file"),
        ("a.txt", "no", r"a\.txt: of no kind that can be read; there are \.csv, \.json"),
    ],
)
def test_what_is_wrong_is_one_error_that_says_where(file, name, content, told):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DataError, match=told):
            load_examples(file(name, content), inputs="q")


def test_a_column_may_lack_or_mix_where_types_say_so(file):
    path = file("a.jsonl", '{"q": 1, "a": "x"}\n{"q": 2}\n{"q": 3, "a": ["y"]}\n')
    types = {"a": str | list[str] | None}
    assert [e.a for e in load_examples(path, inputs="q", types=types)] == ["x", None, ["y"]]


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"inputs": ()}, ValueError, r"inputs=\(\): name at least one"),
        ({"inputs": None}, TypeError, "inputs=None: must be the names of columns"),
        ({"limit": 0}, ValueError, "limit=0"),
        ({"limit": True}, ValueError, "limit=True"),
        ({"seed": 1.5}, ValueError, "seed=1.5"),
        ({"types": [int]}, TypeError, r"types=\[<class 'int'>\]"),
        ({"types": {"question": "numbr"}}, TypeError, "types={'question': 'numbr'}"),
        ({"types": {"quest": int}}, DataError, r"types=: source has no column 'quest' \(did you mean 'question'\?\)"),
        ({"split": "test"}, DataError, "source has no splits"),
    ],
)
def test_settings_that_cannot_be_right(settings, error, told):
    with pytest.raises(error, match=told):
        load_examples(ROWS, **{"inputs": "question"} | settings)


def test_a_cell_of_a_megabyte(file):
    import csv

    (found,) = load_examples(file("a.csv", "q\n" + "x" * 1_000_000 + "\n"), inputs="q")
    assert len(found.q) == 1_000_000
    assert csv.field_size_limit() == 131072


@pytest.mark.parametrize("source", ["./nowhere", "nowhere.csv", "a/b/c", "/tmp/nowhere-at-all"])
def test_a_file_that_is_not_there(source):
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        load_examples(source, inputs="q")


def test_a_hub_name_is_asked_for_with_its_split_and_offline_is_respected(monkeypatch):
    import datasets

    asked = []

    def load(*arguments, **settings):
        asked.append((arguments, settings))
        return datasets.Dataset.from_list(ROWS)

    monkeypatch.setattr(datasets, "load_dataset", load)
    assert len(load_examples("owner/name", inputs="question", split="test", name="main")) == 2
    assert asked == [(("owner/name", "main"), {"split": "test"})]

    def offline(*arguments, **settings):
        raise ConnectionError("offline mode is on; token hf_abcdefghijklmnop")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    with pytest.raises(DataError, match=r"owner/name: there is no such file or folder.*offline mode is on") as error:
        load_examples("owner/name", inputs="question")
    assert "hf_abc" not in str(error.value)


# -- no silent change of what the datasets package reads, and no mixture inside lists


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """The package's cache in a folder of this test, and its progress bars off."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    yield datasets
    datasets.enable_progress_bars()


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_csv_of_the_hub_is_the_text_that_is_written_there(tmp_path, cached, ending):
    folder = tmp_path / "owner"
    folder.mkdir()
    between = "," if ending == "csv" else "\t"
    rows = [["id", "note", "x"], ["007", "NA", ""], ["12", "1e5", "true"]]
    (folder / f"train.{ending}").write_text("".join(f"{between.join(row)}\n" for row in rows))
    found = hub.loaded(str(folder), "train", None)  # the same builder that reads a repository of the hub
    assert found.to_list() == [{"id": "007", "note": "NA", "x": ""}, {"id": "12", "note": "1e5", "x": "true"}]


def test_csv_of_the_hub_whose_numbers_give_way_to_words(tmp_path, cached):
    """The package reads 10,000 rows at a time, and refuses a column that was one of numbers until then."""
    (tmp_path / "owner").mkdir()
    ids = [f"{number:06}" for number in range(10_001)] + ["none"]
    (tmp_path / "owner" / "train.csv").write_text("id\n" + "\n".join(ids) + "\n")
    assert hub.loaded(str(tmp_path / "owner"), "train", None)["id"][:] == ids


def test_json_of_the_hub_says_which_text_it_made_a_date(tmp_path, cached):
    (tmp_path / "owner").mkdir()
    (tmp_path / "owner" / "train.jsonl").write_text('{"id": "007", "day": "2020-01-01T00:00:00"}\n')
    with pytest.warns(UserWarning, match="column 'day' is text that the datasets package reads as timestamp"):
        found = hub.loaded(str(tmp_path / "owner"), "train", None)
    assert found[0]["id"] == "007"


def test_a_folder_that_save_to_disk_wrote(tmp_path, cached):
    one = cached.Dataset.from_list([{"q": "a", "id": "007"}])
    one.save_to_disk(str(tmp_path / "one"))
    cached.DatasetDict(train=one, test=one).save_to_disk(str(tmp_path / "both"))
    row = {"q": "a", "id": "007"}
    assert [e.toDict() for e in load_examples(tmp_path / "one", "q")] == [row]
    assert [e.toDict() for e in load_examples(tmp_path / "both", "q", split="test")] == [row]
    with pytest.raises(DataError, match=r"both has the splits train, test; say which"):
        load_examples(tmp_path / "both", "q")
    (tmp_path / "one" / "data-00000-of-00001.arrow").write_bytes(b"no arrow")
    with pytest.raises(DataError, match=r"one: was written by save_to_disk, and cannot be read"):
        load_examples(tmp_path / "one", "q")


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([[1, "a"]], r"row 1.*column 'v': 'a' inside its lists is text.*row 1 of .*a number"),
        ([[1], None, ["a"]], r"row 3.*column 'v': 'a' inside its lists is text.*row 1 of .*a number"),
        ([[[1]], [["a"]]], r"row 2.*column 'v': 'a' inside its lists is text"),
        ([["a"], [["a"]]], r"row 2.*column 'v': \['a'\] inside its lists is a list.*row 1 of .*text"),
        ([[True, 1]], r"row 1.*column 'v': 1 inside its lists is a number.*true or false"),
    ],
)
def test_a_mixture_inside_lists_is_named_by_file_row_and_column(file, rows, told):
    path = file("a.jsonl", "".join(json.dumps({"q": "x", "v": v}) + "\n" for v in rows))
    with pytest.raises(DataError, match=rf"a\.jsonl, {told}"):
        load_examples(path, "q")
    found = load_examples(path, "q", types={"v": list | None})
    assert [example.v for example in found] == rows


@pytest.mark.parametrize(("name", "text"), [("big.json", '[{"n": 1e999}]'), ("big.jsonl", '{"n": -1e999}')])
def test_a_number_that_is_too_large_is_no_infinity(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=rf"{name}.*the number -?1e999 is too large"):
        load_examples(tmp_path / name, inputs="n")
