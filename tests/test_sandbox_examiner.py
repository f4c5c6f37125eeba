"""Checks that a program cannot deceive: run in another process, on what the program gives."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from sandboxes import WAYS, left_of, needs_linux, sandbox
from thoughtree.tasks.hidden_tests import passes
from thoughtree.tasks.programming import Programming
from thoughtree.tasks.sandbox import Check, Checked, SandboxResult, Why
from thoughtree.tasks.sandbox.result import NOT_REACHED

pytestmark = needs_linux

TESTS = "assert add(1, 2) == 3\nassert add(2, 2) == 4\nassert add('a', 'b') == 'ab'"
HIDDEN = "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(5, 6) == 11\n"


def run(program: str, *checks: Any, setup: str = "", **knobs: Any) -> SandboxResult:
    """checks: code, or pairs of code and what it is to show."""
    asked = [Check(check) if isinstance(check, str) else Check(*check) for check in checks]
    return sandbox(**knobs).run(program, checks=asked, setup=setup, name="program")


def failures(program: str, *checks: Any, **knobs: Any) -> list[tuple[int, str]]:
    """The checks that failed, each with its text. The run itself is to come to its end."""
    result = run(program, *checks, **knobs)
    assert result.ok, result
    return [(number, check.text) for number, check in enumerate(result.checks) if not check.passed]


# ---- a program that deceives

LIARS = {
    "an object that equals everything": """
        class Any:
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            def __hash__(self): return 0
        def add(a, b): return Any()""",
    "a number that equals everything": """
        class Any(int):
            def __eq__(self, other): return True
            __hash__ = int.__hash__
        def add(a, b): return Any(7)""",
    "a text that equals everything": """
        class Any(str):
            def __eq__(self, other): return True
            __hash__ = str.__hash__
        def add(a, b): return Any('x')""",
    "an object whose every attribute is itself": """
        class Any:
            def __getattr__(self, name): return self
            def __call__(self, *args): return self
            def __eq__(self, other): return self
            def __bool__(self): return True
        def add(a, b): return Any()""",
    "exec that does nothing": """
        import builtins
        builtins.exec = lambda *args, **more: None
        def add(a, b): return 0""",
    "compile that compiles something else": """
        import builtins
        real = builtins.compile
        builtins.compile = lambda code, *args, **more: real('pass', *args, **more)
        def add(a, b): return 0""",
    "errors that are not raised": """
        import builtins
        class Quiet(BaseException):
            def __new__(cls, *args): return SystemExit(0)
        builtins.AssertionError = Quiet
        def add(a, b): return 0""",
    "an error without a name": """
        Nameless = type('', (Exception,), {'__str__': lambda self: ''})
        def add(a, b): raise Nameless""",
    "verdicts said by whatever is on the stack": """
        import os, sys
        def add(a, b):
            frame = sys._getframe()
            while frame:
                for thing in list(frame.f_locals.values()):
                    say = getattr(thing, 'say', thing)
                    if getattr(say, '__name__', '') == 'say':
                        for kind in ('passed', 'check'):
                            for number in range(3):
                                say(kind, str(number), '')
                        say('end')
                        os._exit(0)
                frame = frame.f_back
            return 0""",
    "verdicts said by whatever the collector knows": """
        import gc, os
        for thing in gc.get_objects():
            if type(thing).__name__ == 'Channel':
                for number in range(3):
                    thing.say('passed', str(number), '')
                thing.say('end')
                os._exit(0)
        def add(a, b): return 0""",
    "verdicts written to every open file": """
        import gc, os
        words = [t for o in gc.get_objects() if isinstance(o, dict) for t in o.values()
                 if isinstance(t, str) and len(t) == 32]
        for fd in range(64):
            for word in [*words, '']:
                lines = ''.join(f'{word}\\tpassed\\t{n}\\t\\n' for n in range(3)) + f'{word}\\tend\\n'
                try: os.write(fd, lines.encode())
                except OSError: pass
        os._exit(0)""",
    "what is expected, read from the tests": """
        import gc, re, sys
        def add(a, b):
            texts = [t for o in gc.get_objects() if isinstance(o, (list, tuple, dict))
                     for t in (o.values() if isinstance(o, dict) else o) if isinstance(t, str)]
            frame = sys._getframe()
            while frame:
                texts += [t for t in (*frame.f_locals.values(), *frame.f_globals.values()) if isinstance(t, str)]
                frame = frame.f_back
            for text in texts:
                if found := re.search(r'add\\(%r, %r\\)(?: ==|\\n_want =) (.+)' % (a, b), text):
                    return eval(found[1])
            return 0""",
    "leaving with success": "import sys\nsys.exit(0)",
    "leaving with success, at the first call": "import os\ndef add(a, b): os._exit(0)",
    "leaving with success, at the end": "import atexit, os\natexit.register(os._exit, 0)\ndef add(a, b): return 0",
    "an iteration that ends early": "def add(a, b): raise StopIteration",
    "answers in advance": """
        import os
        for fd in range(3, 64):
            try:
                for _ in range(50):
                    os.write(fd, b'\\0\\0\\0\\x0ca(\\0\\0\\0\\0T')
            except OSError:
                pass
        def add(a, b): return 0""",
    "a child that answers": """
        import os
        def add(a, b):
            if os.fork() == 0:
                return 0
            os._exit(0)""",
}


def liar(name: str) -> str:
    return textwrap.dedent(LIARS[name]).strip()


@pytest.mark.parametrize("name", LIARS)
def test_no_program_makes_a_failing_test_pass(name: str) -> None:
    env = Programming(runner={"cpu_seconds": 20, "wall_seconds": 60})
    seen = env.step(env.initial({"problem": "add two", "tests": TESTS}), liar(name))
    assert (seen.solved, seen.failed, seen.value) == (False, True, 0.0), seen.observation
    assert not passes(liar(name), HIDDEN, sandbox(), entry="add")


@pytest.mark.parametrize("without", WAYS)
def test_nor_where_the_system_isolates_less(without: frozenset[str]) -> None:
    for name in (
        "verdicts written to every open file",
        "what is expected, read from the tests",
        "a child that answers",
    ):
        result = sandbox(without).run(liar(name), checks=[Check("assert add(1, 2) == 3"), Check("assert add(0, 1)")])
        assert not any(check.passed for check in result.checks), name
        assert left_of(result) == []


@pytest.mark.parametrize(
    "check",
    [
        "assert f(2) == 4",
        "assert 4 == f(2)",
        "assert not f(2) != 4",
        "assert f(2) in (4, 5)",
        "assert f(2) in {4, 5}",
        "assert f(2) >= 4 and f(2) <= 4",
        "assert abs(f(2) - 4) < 1e-6",
        "assert 4 in f(2)",
        "assert [f(2)] == [4]",
        "assert {'k': f(2)} == {'k': 4}",
        "assert f(2) | {4} == {4}",
        "assert all(map(lambda pair: f(pair[0]) == pair[1], [(2, 4)]))",
        "import math\nassert math.isclose(f(2), 4)",
        "import unittest\nunittest.TestCase().assertEqual(f(2), 4)",
        "import unittest\nunittest.TestCase().assertAlmostEqual(f(2), 4)",
        ("f(2)", "4"),
    ],
)
def test_an_object_that_is_whatever_is_asked_for_equals_no_value(check: Any) -> None:
    program = """
class Yes:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return hash(4)
    def __bool__(self): return True
    def __float__(self): return 0.5
    def __contains__(self, item): return True
    def __repr__(self): return 'yes'
for name in 'lt le gt ge'.split(): setattr(Yes, f'__{name}__', lambda self, other: True)
for name in 'sub rsub abs'.split(): setattr(Yes, f'__{name}__', lambda self, *other: 0.0)
for name in 'or ror'.split(): setattr(Yes, f'__{name}__', lambda self, other: other)
def f(x): return Yes()
"""
    assert [number for number, _ in failures(program, check)] == [0]


def test_a_class_that_the_tests_name_is_asked_and_still_equals_not_everything() -> None:
    program = """
class Liar:
    def __eq__(self, other): return True
class Money:
    def __init__(self, n): self.n = n
    def __eq__(self, other): return self.n == getattr(other, 'n', other)
    def __gt__(self, other): return self.n > getattr(other, 'n', other)
"""
    assert [n for n, _ in failures(program, "assert Liar() == 3", "assert Liar() == Liar()")] == [0, 1]
    assert failures(program, "assert Money(3) == 3", "assert Money(3) == Money(3)", "assert Money(4) > 3") == []
    assert failures(program, "assert Money(3) == 4", "assert Money(3) > 3") == [
        (0, "does not hold"),
        (1, "does not hold"),
    ]


FITTING = """
class Node:
    taken = []
    def __init__(self, value): self.value = value
    def _told(self, other):
        if type(other) is int and not self.taken: self.taken.append(other)
        return self.taken[0] if self.taken else 0
    def __eq__(self, other): return type(other) is int and other == self._told(other)
    def __gt__(self, other): return self._told(other) + 1 > other
    def __sub__(self, other): return self._told(other) - other
def f(x): return Node(x)
"""


@pytest.mark.parametrize(
    "check", ["assert f(Node(2)) == 4", "assert abs(f(Node(2)) - 4) < 1e-6", "assert 4 == f(Node(2))"]
)
def test_an_answer_cannot_be_fitted_to_the_value_that_it_is_compared_with(check: str) -> None:
    """Also of a class that the tests name. It is asked about 15 other values too, in any order: of 40 checks, each of
    which passes one time in sixteen, 15 pass never."""
    checks = [f"Node.taken = []\n{check}"] * 40
    assert len(failures(FITTING, *checks)) > 25


def test_a_class_is_not_named_by_being_given() -> None:
    program = """
class Sly:
    def __eq__(self, other): return type(other) is int
class Given:
    kind = Sly
def f(x): return Given()
def g(x): return Sly()
"""
    told = failures(program, "assert f(1).kind == 4", "assert f(1).kind is not None", "assert g(1) == 4")
    assert [number for number, _ in told] == [0, 2]


def test_classes_that_derive_from_python_s_own_are_tested_by_their_operations() -> None:
    program = """
class Stack(list):
    def push(self, x): self.append(x); return self
    def __add__(self, other): return Stack([*other, *self])
class Degrees(float):
    def __add__(self, other): return Degrees((float(self) + float(other)) % 360)
class Pair(tuple):
    def __mul__(self, k): return Pair(x * k for x in self)
class Words(dict):
    def __missing__(self, key): return key.upper()
class Outer:
    class Inner:
        def __init__(self, n): self.n = n
        def __eq__(self, other): return self.n == getattr(other, 'n', other)
def stack(): return Stack([1, 2])
def words(): return Words(a=1)
"""
    assert (
        failures(
            program,
            "s = Stack()\ns.push(1).push(2)\nassert len(s) == 2 and s[0] == 1 and list(s) == [1, 2]",
            "s = Stack([1, 2])\nassert s == [1, 2] != [2, 1]",
            "s = Stack([1])\ns.append(2)\nassert s.pop() == 2 and s + [5] == [5, 1] and isinstance(s, Stack)",
            "assert stack() == [1, 2] and stack().push(3) == [1, 2, 3] and isinstance(stack(), Stack)",
            "assert Degrees(350) + Degrees(20) == 10 and Degrees(350) + 20 == 10.0 and isinstance(Degrees(1), float)",
            "assert Pair((1, 2)) * 3 == (3, 6) and Pair((1, 2))[1] == 2",
            "w = Words(a=1)\nassert w['a'] == 1 and w['b'] == 'B' and len(w) == 1 and dict(w) == {'a': 1}",
            "assert words() == {'a': 1} and list(words().keys()) == ['a']",
            "assert Outer.Inner(3) == 3 and Outer.Inner(3) == Outer.Inner(3) != Outer.Inner(4)",
        )
        == []
    )
    unnamed = "def f(): return _Stack([1, 2])\nclass _Stack(list):\n    def push(self, x): self.append(x)"
    assert failures(unnamed, "s = f()\nassert isinstance(s, list) and s == [1, 2] and repr(s) == '[1, 2]'") == []


def test_what_the_tests_use_of_python_is_python_s() -> None:
    program = (
        "class Fake: isclose = staticmethod(lambda *a: True)\nmath = Fake\ndef f(x): return x\ndef abs(x): return 0"
    )
    told = failures(
        program, "assert abs(f(2) - 3) < 1e-6", "assert math.isclose(f(2), 3)", "assert isinstance(f(2), int)"
    )
    assert told[0] == (0, "TypeError: the program redefines abs, and gives 0 where Python gives 1")
    assert [number for number, _ in told] == [0, 1]
    assert failures("def f(x): return -x\ndef abs(x): return max(x, -x)", "assert abs(f(2)) == 2") == []


@pytest.mark.parametrize("more", ["", "result = append = 1", "def abs(x): return 0\ndef other(): return 1"])
def test_a_function_may_be_called_as_one_of_python_s(more: str) -> None:
    """And nothing that a program defines besides makes the tests try Python's in its place."""
    other = "\nassert other() == 1" if "other" in more else ""
    right, wrong = (f"def sum(xs): return {found}\n{more}" for found in ("len(xs) and xs[0] + xs[-1]", "42"))
    test = f"xs = []\nxs.append(1)\nxs.append(2)\nresult = sum(xs)\nassert result == 3{other}"
    assert failures(right, test) == []
    assert [number for number, _ in failures(wrong, test)] == [0]


def test_a_function_of_python_s_name_may_do_something_else() -> None:
    assert failures("def filter(xs): return [x for x in xs if x > 1]", "assert filter([1, 2]) == [2]") == []
    fixed = "def sum(xs): return 0\ndef abs(x): return 0"
    assert [number for number, _ in failures(fixed, "assert abs(sum([1, 2]) - 3) < 1e-6")] == [0]


def test_what_the_problem_brings_is_the_problems() -> None:
    """A helper of the setup judges; a program that redefines it changes nothing."""
    setup = "import math\ndef close(a, b): return abs(a - b) < 1e-6"
    program = "def close(a, b): return True\ndef half(x): return x / 2"
    told = failures(program, "assert close(half(3), 1.5)", "assert close(half(3), 2)", setup=setup)
    assert [number for number, _ in told] == [1]
    assert (
        failures("def third(x): return half(x) / 1.5", "assert third(3) == 1", setup="def half(x): return x / 2") == []
    )


def test_what_the_problem_leaves_to_be_written_is_the_programs() -> None:
    for stub in ("pass", "...", "'It doubles.'", "raise NotImplementedError"):
        setup = f"def double(x):\n    {stub}\ndef same(a, b): return a == b"
        assert failures("def double(x): return 2 * x", "assert same(double(2), 4)", setup=setup) == []
        liar = "def double(x): return 0\ndef same(a, b): return True"
        assert failures(liar, "assert same(double(2), 4)", setup=setup) != []
    mended = "def double(x): return 2 * x"  # of a problem that brings a wrong one
    assert failures(mended, "assert double(3) == 6", setup="def double(x): return x + 2") == []


# ---- honest programs are judged as they were in one interpreter


def test_arguments_are_changed_and_shared_as_the_program_does() -> None:
    program = (
        "def order(xs):\n    xs.sort()\ndef fill(d, s, b):\n    d['k'] = [1]; s.add(9); b.extend(b'x')\n    return d"
    )
    assert (
        failures(
            program,
            "xs = [3, 1, 2]\norder(xs)\nassert xs == [1, 2, 3]",
            "d, s, b = {}, {1}, bytearray(b'a')\nassert fill(d, s, b) is d\n"
            "assert (d, s, b) == ({'k': [1]}, {1, 9}, b'ax')",
            "rows = [[2, 1], [4, 3]]\nfirst = rows[0]\norder(first)\nassert first == [1, 2] and rows[0] is first",
            "long = list(range(100))[::-1]\norder(long)\nassert long == sorted(long)",
        )
        == []
    )


CLASSES = """
import enum
from dataclasses import dataclass
from collections import namedtuple
class Stack:
    most = 5
    def __init__(self, items=()): self.items = list(items)
    def push(self, x): self.items.append(x); return self
    def pop(self): return self.items.pop()
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    @classmethod
    def of(cls, *items): return cls(items)
    @property
    def top(self): return self.items[-1]
class Vector:
    def __init__(self, x, y): self.x, self.y = x, y
    def __add__(self, other): return Vector(self.x + other.x, self.y + other.y)
    def __mul__(self, k): return Vector(self.x * k, self.y * k)
    __rmul__ = __mul__
    def __eq__(self, other): return isinstance(other, Vector) and (self.x, self.y) == (other.x, other.y)
    def __hash__(self): return hash((self.x, self.y))
    def __lt__(self, other): return self.x < other.x
    def __getitem__(self, i): return (self.x, self.y)[i]
    def __repr__(self): return f'Vector({self.x}, {self.y})'
class Late(ValueError):
    def __init__(self, code): super().__init__(f'code {code}'); self.code = code
class Colour(enum.Enum):
    RED = 1
    BLUE = 2
class Level(enum.IntEnum):
    LOW = 1
@dataclass(order=True)
class Row:
    a: int
    b: str = 'x'
Point = namedtuple('Point', 'x y')
def late(n):
    if n < 0: raise Late(n)
    return {}[n] if n else 1 / 0
def give(name): return {'point': Point(1, 2), 'level': Level.LOW, 'red': Colour.RED, 'row': Row(1)}[name]
"""


@pytest.mark.parametrize(
    "check",
    [
        "s = Stack().push(1).push(2)\nassert s.pop() == 2 and len(s) == 1 and list(s) == [1] and Stack.most == 5",
        "assert isinstance(Stack(), Stack) and type(Stack()) is Stack and not Stack() and Stack.of(1, 2).top == 2",
        "s = Stack([1])\ns.items.append(9)\nassert s.top == 9 and s.items == [1, 9]\ns.items = [4]\nassert s.top == 4",
        "assert not hasattr(Stack(), 'size')",
        "try:\n    Stack().pop()\nexcept IndexError as e:\n    assert 'empty' in str(e)",
        "import copy\na = Stack([1])\nb = copy.deepcopy(a)\nb.push(2)\nassert (len(a), len(b)) == (1, 2)",
        "assert Vector(1, 2) + Vector(3, 4) == Vector(4, 6) != Vector(6, 4) and 2 * Vector(1, 2) == Vector(1, 2) * 2",
        "assert len({Vector(1, 2), Vector(1, 2)}) == 1",
        "assert Vector(3, 4)[1] == 4 and min(Vector(2, 0), Vector(1, 0)).x == 1",
        ("Vector(1, 2) + Vector(1, 1)", "Vector(2, 3)"),
        "try:\n    late(-3)\nexcept Late as e:\n    assert (e.code, str(e)) == (-3, 'code -3')\nelse: assert 0",
        "try:\n    late(-3)\nexcept ValueError:\n    pass\nelse:\n    assert False",
        "try:\n    late(7)\nexcept KeyError as e:\n    assert e.args == (7,)\nelse:\n    assert False",
        ("late(0)", "Traceback (most recent call last):\n  ...\nZeroDivisionError: division by zero"),
        ("late(-3)", "Traceback (most recent call last):\n  ...\nprogram.Late: code -3"),
        "assert give('point') == (1, 2) and give('point').x == 1 and give('point')._replace(x=3) == (3, 2)",
        "assert isinstance(give('point'), tuple) and give('level') == 1 == Level.LOW",
        "assert give('red') is Colour.RED and Colour(1) == Colour['RED'] and len(list(Colour)) == 2",
        "assert give('row') == Row(1) < Row(2) and give('row').b == 'x'",
        ("give('row')", "Row(a=1, b='x')"),
        ("give('point')", "Point(x=1, y=2)"),
        ("Colour.RED", "<Colour.RED: 1>"),
    ],
)
def test_classes_of_the_program_are_used_through_stand_ins(check: Any) -> None:
    assert failures(CLASSES, check) == []


FUNCTIONS = """
import asyncio, collections, datetime, decimal, fractions, math, sys
def each(f, *xs): return [f(x) for x in xs]
def adder(n): return lambda x: x + n
def order(xs, key): return sorted(xs, key=key)
def plus_one(f):
    def wrapped(*args): return f(*args) + 1
    return wrapped
def squares(n):
    for i in range(n): yield i * i
def two(items): return [next(items), next(items)]
def safely(f):
    try: return f()
    except ValueError as error: return str(error)
def show(x):
    print('shown', x)
    return x
async def later(x):
    await asyncio.sleep(0)
    return x + 1
def total(node):
    found = 0
    while node: found, node = found + node.value, node.next
    return found
def backwards(node):
    before = None
    while node: node.next, before, node = before, node, node.next
    return before
seen = {'calls': [0]}
def count(): seen['calls'].append(1)
def give(name):
    return {'decimal': decimal.Decimal('1.50'), 'fraction': fractions.Fraction(2, 6), 'date': datetime.date(2020, 1, 2),
            'counter': collections.Counter('aab'), 'default': collections.defaultdict(int, a=1), 'range': range(3),
            'deque': collections.deque([1, 2]), 'keys': {1: 2}.keys(), 'big': 10 ** 400, 'complex': 1 + 2j,
            'nan': math.nan, 'text': 'é\\ud800', 'bytes': b'x', 'frozen': frozenset([1]), 'none': None,
            'nested': ((1,), [2, {3: {4}}]), 'map': map(str, [1]), 'floats': [i / 2 for i in range(20)],
            'bools': [True] * 20, 'mixed': [1, True, 1.0] * 9, 'huge': [2 ** 70] * 9}[name]
"""


@pytest.mark.parametrize(
    "check",
    [
        "assert each(lambda x: x * 2, 1, 2) == [2, 4] and adder(3)(4) == 7 and each(adder(1), 1) == [2]",
        "assert order(['bb', 'a'], len) == order(['bb', 'a'], lambda text: len(text)) == ['a', 'bb']",
        "@plus_one\ndef times(a, b): return a * b\nassert times(2, 3) == 7",
        "assert list(squares(4)) == [0, 1, 4, 9] and sum(squares(4)) == 14 and next(squares(1)) == 0",
        "import types\nassert isinstance(squares(1), types.GeneratorType)",
        "assert callable(adder) and callable(adder(1)) and adder.__name__ == 'adder'",
        "def ones():\n    while True: yield 1\nassert two(ones()) == [1, 1] and two(iter([5, 6])) == [5, 6]",
        "def bad(): raise ValueError('no')\nassert safely(bad) == 'no'",
        ("show(1)", "shown 1\n1"),
        ("print('first'); show(2)", "first\nshown 2\n2"),
        "import contextlib, io\nout = io.StringIO()\nwith contextlib.redirect_stdout(out): show(3)\n"
        "assert out.getvalue() == 'shown 3\\n'",
        "import asyncio\nasync def both(): return await asyncio.gather(later(1), later(2))\n"
        "assert asyncio.run(later(1)) == 2 and asyncio.run(both()) == [2, 3]",
        "class Node:\n    def __init__(self, value, next=None): self.value, self.next = value, next\n"
        "assert total(Node(1, Node(2, Node(3)))) == 6\nfound = backwards(Node(1, Node(2)))\n"
        "assert isinstance(found, Node) and (found.value, found.next.value) == (2, 1)",
        "assert seen == {'calls': [0]}\ncount()\nassert seen['calls'] == [0, 1]\nseen['new'] = 1\nassert 'new' in seen",
        "from decimal import Decimal\nassert give('decimal') == Decimal('1.5') and type(give('decimal')) is Decimal",
        "from fractions import Fraction\nassert give('fraction') == Fraction(1, 3) and give('date').year == 2020",
        "assert give('counter') == {'a': 2, 'b': 1} and give('counter').most_common(1) == [('a', 2)]",
        ("give('counter')", "Counter({'a': 2, 'b': 1})"),
        ("give('default')", "defaultdict(<class 'int'>, {'a': 1})"),
        ("give('deque')", "deque([1, 2])"),
        "assert list(give('keys')) == [1] and give('range') == range(3) and give('big') == 10 ** 400",
        "assert give('complex') == 1 + 2j and give('nan') != give('nan') and give('text') == 'é\\ud800'",
        "assert give('bytes') == b'x' and give('frozen') == {1}",
        "assert give('none') is None and list(give('map')) == ['1']",
        "assert give('nested') == ((1,), [2, {3: {4}}]) and type(give('nested')[0]) is tuple",
        "assert give('floats') == [i / 2 for i in range(20)] and give('huge') == [2 ** 70] * 9",
        "assert give('bools')[0] is True and [type(x) for x in give('mixed')[:3]] == [int, bool, float]",
    ],
)
def test_functions_and_values_of_the_program_are_as_they_were(check: Any) -> None:
    assert failures(FUNCTIONS, check) == []


def test_a_check_that_needs_the_programs_own_interpreter_says_so_and_can_have_it() -> None:
    program, check = "class Base: pass", "class Derived(Base): pass\nassert isinstance(Derived(), Base)"
    ((_, told),) = failures(program, check)
    assert told == "TypeError: Derived: a test cannot derive from a class of the program"
    assert failures(program, check, examiner=False) == []


# ---- its end


@pytest.mark.parametrize("without", WAYS)
@pytest.mark.parametrize(
    ("check", "why", "told"),
    [
        ("while True: pass", Why.CPU, "ended: cpu time"),
        ("import os\nos._exit(0)", Why.EXIT, "ended: exit"),
        ("import os\nos.kill(os.getpid(), 9)", Why.EXIT, "ended: exit"),
        ("f()", Why.CPU, "ended: cpu time"),
        ("g()", Why.EXIT, "ended: exit"),
    ],
)
def test_a_check_or_a_program_that_ends_at_it(without: frozenset[str], check: str, why: Why, told: str) -> None:
    program = "import os\ndef f():\n    while True: pass\ndef g(): os._exit(0)"
    checks = [Check("pass"), Check(check), Check("pass")]
    result = sandbox(without, cpu_seconds=0.3).run(program, checks=checks)
    assert (result.ok, result.why) == (False, why)
    assert result.checks == (Checked(True), Checked(False, told), Checked(False, NOT_REACHED))
    assert left_of(result) == []


def test_a_check_that_forks_leaves_nothing(tmp_path: Any) -> None:
    checks = [Check("import os, time\nif os.fork() == 0: time.sleep(600)"), Check("assert True")]
    for without in (frozenset[str](), frozenset({"namespaces"})):
        result = sandbox(without).run("pass", checks=checks)
        assert (result.ok, [check.passed for check in result.checks]) == (True, [True, True])


def test_the_program_s_process_does_not_hold_the_tests() -> None:
    program = """
import gc, sys
def found():
    needle = ''.join(['a very rare', ' word'])
    things, frame = gc.get_objects(), sys._getframe()
    while frame:
        things += [frame.f_locals, frame.f_globals]
        frame = frame.f_back
    return sum(needle in repr(one)[:100_000] for one in things if isinstance(one, (dict, list, tuple)))
"""
    assert failures(program, "assert found() == 0  # a very rare word") == []
    assert failures(program, "assert found() > 0  # a very rare word", examiner=False) == []  # so it can be found
