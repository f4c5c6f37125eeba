"""The tests that a problem shows, read from its text: asserts, a docstring's examples, calls with their results."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence

from .assertions import assertion, equation, is_literal
from .program_text import FENCE
from .sandbox.result import Check

PROMPT = re.compile(r"^[ \t]*>>>(?: |$)")
MORE = re.compile(r"^[ \t]*\.\.\.(?: |$)")
DOCSTRING_END = re.compile(r'"""|\'\'\'')
ARROW = re.compile(
    r"\s*`?\s*(?:==>|=>|-+>|➞|→|⇒|➜|==|=|#\s*(?:=>|->|returns?)?|should (?:return|be|give)|returns?|gives|is)[ :]*`?\s*"
)
OPERATOR = re.compile(r"\s*[-+*/%=<>]")
BULLET = re.compile(r"^\s*(?:[-*•+]|\d+[.)])\s+")
MOST_LINES = 40  # of one assert
MOST_RESULT = 2000  # characters of a result after a call


def visible_tests(text: str | Sequence[str], entry: str | None = None) -> tuple[Check, ...]:
    """The tests in `text` (or in each text of a list), in order, each once. None found: an empty tuple.

    Python with asserts is read as Python: what stands between asserts is run with the next one, and `test_...`
    functions are called. In any other text (prose, a prompt's docstring) lines that begin an assert count, `>>>`
    examples with the result below them, and calls of `entry` with their result on the same line (`f(2) == 4`,
    `f(2) -> 4`, `f(2) returns 4`). entry: the name of the function under test (default: the last one that `text`
    defines).
    """
    if not isinstance(text, str):
        return tuple(dict.fromkeys(check for part in text for check in visible_tests(part, entry)))
    text = textwrap.dedent(FENCE.sub("", text))
    tree = parsed(text)
    if tree is not None and (found := list(_of_module(tree))):
        return tuple(dict.fromkeys(found))
    return tuple(dict.fromkeys(_of_lines(_without_asserts(text, tree), entry or last_function(text))))


def parsed(text: str) -> ast.Module | None:
    """`text` as Python; None if it is none."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def last_function(text: str) -> str | None:
    """The name of the last function that `text` defines at its outermost level."""
    names = re.findall(r"^(?:async )?def (\w+)", text, re.MULTILINE)
    return names[-1] if names else None


def preamble(text: str | Sequence[str], entry: str | None = None) -> str:
    """What a prompt's Python has before the function that is asked for: imports, and functions that it may use.

    "" for what is no prompt: asserts, or a list of tests.
    """
    tree = parsed(text) if isinstance(text, str) else None
    if not isinstance(text, str) or (tree is not None and any(_of_module(tree))):
        return ""
    entry = entry or last_function(text)
    start = re.search(rf"^(?:@.*\n)*(?:async )?def {re.escape(entry)}\b", text, re.MULTILINE) if entry else None
    before = text[: start.start()] if start else ""
    tree = parsed(before)
    return before.strip() if tree is not None and tree.body else ""


# ---- Python


def _of_module(tree: ast.Module) -> Iterator[Check]:
    """A test for each assert, each block of asserts, each test function, and each call of a function with asserts."""
    before: list[str] = []
    testing = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _asserts(node)}
    for node in tree.body:
        code = ast.unparse(node)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test") and not node.args.args:
            yield Check("\n".join([*before, code, f"{node.name}()"]), shown=f"{node.name}()")
        elif isinstance(node, ast.Assert):
            yield Check("\n".join([*before, assertion(node)]), shown=ast.unparse(ast.Assert(node.test)))
        elif _runs_asserts(node, testing):
            yield Check("\n".join([*before, code]), shown=code)
        else:
            before.append(code)
            continue
        before = []


def _runs_asserts(node: ast.stmt, testing: set[str]) -> bool:
    if isinstance(node, ast.For | ast.While | ast.If | ast.With | ast.Try):
        return _asserts(node)
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in testing


def _asserts(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Assert) for inner in ast.walk(node))


# ---- any text


def _without_asserts(text: str, tree: ast.Module | None) -> list[str]:
    """The lines of `text`; those of asserts blank, where it is Python: they belong to functions that nobody calls."""
    lines = text.splitlines()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Assert):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return lines


def _of_lines(lines: Sequence[str], entry: str | None) -> Iterator[Check]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if PROMPT.match(line):
            check, at = _example(lines, at)
            yield check
            continue
        bare = BULLET.sub("", line).strip().strip("`")
        taken = 1
        if bare.startswith("assert "):
            node, taken = _assert_at([bare, *lines[at + 1 : at + MOST_LINES]])
            if node is not None:
                yield Check(assertion(node), shown=ast.unparse(ast.Assert(node.test)))
        elif entry is not None:
            yield from _equations(line, entry)
        at += taken


def _example(lines: Sequence[str], at: int) -> tuple[Check, int]:
    """The example that begins at a line, and the line after it."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    code = [PROMPT.sub("", lines[at])]
    at += 1
    while at < len(lines) and MORE.match(lines[at]):
        code.append(MORE.sub("", lines[at]))
        at += 1
    want: list[str] = []
    while at < len(lines) and lines[at].strip() and not PROMPT.match(lines[at]):
        line, end, _ = lines[at].partition('"""') if '"""' in lines[at] else lines[at].partition("'''")
        if line.strip():
            want.append(line[indent:] if not line[:indent].strip() else line)
        if end or len(line) - len(line.lstrip()) < indent:
            break
        at += 1
    return _as_check("\n".join(code).rstrip(), "\n".join(want).rstrip()), at


def _as_check(code: str, want: str) -> Check:
    """An example that shows nothing is a claim (`>>> f(1) == 2`), a call that gives None, or a step to the next."""
    tree = parsed(code)
    node = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    if want or not isinstance(node, ast.Expr):
        return Check(code, want or None, shown=code)
    if isinstance(node.value, ast.Compare):
        return Check(assertion(ast.Assert(node.value)), shown=code)
    return Check(code, "", shown=code)


def _assert_at(lines: Sequence[str]) -> tuple[ast.Assert | None, int]:
    """The assert that `lines` begin with, and how many of them it takes."""
    for count in range(1, len(lines) + 1):
        tree = parsed("\n".join(lines[:count]).rstrip("`"))
        if tree is not None and len(tree.body) == 1 and isinstance(tree.body[0], ast.Assert):
            return tree.body[0], count
    return None, 1


def _equations(line: str, entry: str) -> Iterator[Check]:
    """The calls of `entry` in a line that are followed by an arrow and a literal."""
    for start in re.finditer(rf"(?<![\w.]){re.escape(entry)}\(", line):
        call = _call_at(line, start.start(), start.end())
        arrow = ARROW.match(line, start.start() + len(call)) if call else None
        literal = _literal(line[arrow.end() :]) if arrow else None
        if literal is not None:
            yield Check(equation(call, literal), shown=f"{call} == {literal}")


def _call_at(line: str, start: int, after: int) -> str:
    """The whole call that begins at `start`; "" if its arguments are no literals."""
    for close in re.finditer(r"\)", line[after:]):
        call = line[start : after + close.end()]
        tree = parsed(call)
        if tree is not None:
            node = tree.body[0]
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _of_literals(node.value):
                return call
            return ""
    return ""


def _of_literals(call: ast.Call) -> bool:
    return all(map(is_literal, [*call.args, *(keyword.value for keyword in call.keywords)]))


def _literal(text: str) -> str | None:
    """The longest literal that `text` begins with; None if it is but the first part of a sum."""
    text = DOCSTRING_END.split(text)[0][:MOST_RESULT]
    ends = [len(text), *(match.start() for match in re.finditer(r"[\s.,;`#)]|$", text))]
    for end in sorted(set(ends), reverse=True):
        literal = text[:end].strip().rstrip(".,;:")
        try:
            value = ast.literal_eval(literal)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if isinstance(value, tuple) and not literal.startswith("("):  # two parts of a sentence
            continue
        return None if OPERATOR.match(text, end) else ast.unparse(ast.parse(literal, mode="eval"))
    return None
