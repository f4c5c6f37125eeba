"""Reading: programs out of replies, tests out of problems."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes import needs_linux, sandbox
from thoughtree.tasks.program_text import normal_form, program_text
from thoughtree.tasks.visible_tests import preamble, visible_tests

PROMPT = '''
def f(x):
    """Twice x.

    >>> f(2)
    4
    >>> for i in range(2):
    ...     print(f(i))
    0
    2
    >>> y = f(3)
    >>> y == 6
    >>> f(None)

    f(4) == 8. And f("a, b)") ➞ "a, b)a, b)"  # so
    - `f([1, 2])` => [1, 2, 1, 2], see below
    f(5) returns 10; f(6) is 12, f(7) = 14
    f(8) -> 8 + 8 = 16, f(x) = x, g(9) = 3
    >>> f(1)
    2"""
'''


# ---- programs


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("x = 1", "x = 1"),
        ("  x = 1\n  y = 2\n", "x = 1\ny = 2"),
        ("So:\n```python\nx = 1\n```\nand that is it", "x = 1"),
        ("```\nx = 1\n```", "x = 1"),
        ("~~~py\nx = 1\n~~~", "x = 1"),
        ("```python\nx = 1", "x = 1"),  # cut off
        ("1. First\n   ```python\n   if x:\n       y = 1\n   ```", "if x:\n    y = 1"),
        ("```python\nx = 1\n```\nBetter:\n```python\ny = 2\n```", "y = 2"),
        ("```python\nlonger = 1\n```\nUse:\n```python\ny = 2\n```", "longer = 1"),
        ("```bash\npip install something-long\n```\n```python\ny = 2\n```", "y = 2"),
        ("```text\nx\n```", "x"),
        ("<think>```python\na = 123456789\n```</think>\n```python\nx = 1\n```", "x = 1"),
        ('````python\ns = """\n```\n"""\n````', 's = """\n```\n"""'),
        ("", ""),
        ("```python\n```", ""),
    ],
)
def test_the_program_in_a_reply(text: str, program: str) -> None:
    assert program_text(text) == program


@given(st.text(alphabet="`~python x=1\n", max_size=60))
def test_a_program_is_found_or_not_and_nothing_is_raised(text: str) -> None:
    assert program_text(program_text(text)) is not None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x = 1", "x=1  # one\n\n", True),
        ("if x:\n  y = 1", "if x:\n        y = 1\n", True),
        ("x = 1", "x = 2", False),
        ("s = 'a b'", "s = 'a  b'", False),
        ("if x:\n  y = 1\nz = 2", "if x:\n  y = 1\n  z = 2", False),
        ("x = (1,\n     2)", "x = (1, 2)", True),
        ("def f(:", " def f(:\n", True),
        ('x = """a\n"""', 'x = """a"""', False),
    ],
)
def test_the_normal_form(one: str, other: str, same: bool) -> None:
    assert (normal_form(one) == normal_form(other)) is same


# ---- tests


def test_a_prompts_docstring() -> None:
    assert [(check.shown, check.want) for check in visible_tests(PROMPT)] == [
        ("f(2)", "4"),
        ("for i in range(2):\n    print(f(i))", "0\n2"),
        ("y = f(3)", None),
        ("y == 6", None),
        ("f(None)", ""),
        ("f(4) == 8", None),
        ("f(\"a, b)\") == 'a, b)a, b)'", None),
        ("f([1, 2]) == [1, 2, 1, 2]", None),
        ("f(5) == 10", None),
        ("f(6) == 12", None),
        ("f(7) == 14", None),
        ("f(1)", "2"),
    ]


def shown(text: str | list[str]) -> list[str]:
    return [check.shown for check in visible_tests(text)]


@pytest.mark.parametrize(
    "text",
    [
        "assert f(1) == 2\nassert f(2) == 4",
        "Your code must pass:\n- `assert f(1) == 2`\n- `assert f(2) == 4`",
        "Tests:\n```python\nassert f(1) == 2\nassert f(2) == 4\n```",
        "1. assert f(1) == 2\n2) assert f(\n    2) == 4\nand so on",
        "    assert f(1) == 2\n    assert f(2) == 4, 'twice'",
        ["assert f(1) == 2", "assert f(2) == 4", "assert f(1) == 2"],
    ],
)
def test_asserts_wherever_they_stand(text: str | list[str]) -> None:
    assert shown(text) == ["assert f(1) == 2", "assert f(2) == 4"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import math\nx = 2\nassert f(x) == 4", ["assert f(x) == 4"]),
        ("def test_a():\n    assert f(1) == 2\n\ndef test_b():\n    assert f(2) == 4", ["test_a()", "test_b()"]),
        ("def check(g):\n    assert g(1) == 2\ncheck(f)", ["check(f)"]),
        ("for x in (1, 2):\n    assert f(x) == 2 * x", ["for x in (1, 2):\n    assert f(x) == 2 * x"]),
        ("def g():\n    assert False\nx = 1", []),
        ("no tests here: f(x) doubles", []),
        ("", []),
        ("assert f(1) ==", []),
    ],
)
def test_python_is_read_as_python(text: str, found: list[str]) -> None:
    assert shown(text) == found


@needs_linux
def test_a_failure_tells_what_was_expected() -> None:
    tests = """
        import math
        assert f(1) == 3
        assert 3 == f(1)
        assert f(1) is None
        assert f(1) > 5
        assert abs(f(1) - math.pi) < 0.1
        assert f(0)
        assert not f(1)
        assert f(1) == 3 and True, "the whole"
        assert 1 < f(1) < 2
        assert f('a' * 200) == ''
    """
    result = sandbox().run("def f(x):\n    return x * 2", checks=visible_tests(tests))
    assert [check.text for check in result.checks] == [
        "expected 3, got 2",
        "expected 3, got 2",
        "expected None, got 2",
        "2 > 5 does not hold",
        "1.1415926535897931 < 0.1 does not hold",
        "got 0",
        "got 2",
        "the whole",
        "got False",
        "expected '', got '" + "a" * 299,
    ]


@needs_linux
def test_an_assert_holds_when_it_did() -> None:
    tests = PROMPT + "\n"
    program = "def f(x):\n    return None if x is None else x * 2"
    result = sandbox().run(program, checks=visible_tests(tests))
    assert result.ok
    assert all(check.passed for check in result.checks)


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("import os\n\ndef g(x):\n    return x\n\n\ndef f(x):\n    'doc'\n", "import os\n\ndef g(x):\n    return x"),
        ("def f(x):\n    'doc'\n", ""),
        ("import os\nassert f(1) == 2", ""),
        ("Write a function.\n\ndef f(x):\n", ""),
        (["import os\ndef f(x): ..."], ""),
    ],
)
def test_what_stands_before_a_prompts_function(text: str | list[str], before: str) -> None:
    assert preamble(text) == before
