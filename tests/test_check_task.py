"""check_task: sound tasks pass, and each kind of broken task is told what is wrong with it."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import pytest

from thoughtree.checking import TaskError, check_task
from thoughtree.tasks import FreeText, Game24, Illegal, Task


class Stairs(Task[int, int]):
    """Climb to 5 by steps of 1 or 2. Sound; each test breaks one hook."""

    def initial(self, inputs: Mapping[str, Any]) -> int:
        return 0

    def parse(self, text: str, state: int) -> int | Illegal:
        return int(text) if text in ("1", "2") else Illegal("no step")

    def apply(self, state: int, action: int) -> int | Illegal:
        return state + action if state + action <= 5 else Illegal("too high")

    def moves(self, state: int) -> Iterable[int]:
        return [step for step in (1, 2) if state + step <= 5]

    def key(self, state: int) -> Hashable | None:
        return state

    def is_goal(self, state: int) -> bool:
        return state == 5

    def answer(self, state: int) -> dict[str, Any]:
        return {"steps": state} if state == 5 else {}

    def check(self, fields: Mapping[str, Any]) -> bool | Illegal:
        return bool(fields["steps"] == 5)


def problems(task: Task[Any, Any], **options: Any) -> list[str]:
    with pytest.raises(TaskError) as raised:
        check_task(task, {}, **options)
    assert str(raised.value).count("\n- ") == len(raised.value.problems) - 1
    return raised.value.problems


def kinds(task: Task[Any, Any], **options: Any) -> list[str]:
    return [problem.split(": ")[0] for problem in problems(task, **options)]


def test_sound_tasks_pass() -> None:
    check_task(Stairs(), {}, depth=6)
    check_task(Game24(), {"numbers": "4 9 10 13"})
    check_task(Game24(strict=True, target="1/2"), {"numbers": "1 -2 2 0"}, states=400)
    check_task(FreeText(), {"question": "?"}, proposals=lambda state: ["Add.", "add", "ANSWER: 3", ""])
    check_task(Task[Any, Any](), {}, proposals=lambda state: ["a", "b"])


def test_depth_and_states_are_validated() -> None:
    with pytest.raises(ValueError, match="depth=0 must be at least 1"):
        check_task(Stairs(), {}, depth=0)
    with pytest.raises(ValueError, match="states=0 must be at least 1"):
        check_task(Stairs(), {}, states=0)


def test_depth_and_states_bound_the_walk() -> None:
    looked: list[int] = []

    class Watched(Stairs):
        def render(self, state: int) -> str:
            looked.append(state)
            return str(state)

    check_task(Watched(), {}, depth=1)
    assert set(looked) == {0, 1, 2}
    looked.clear()
    check_task(Watched(), {}, depth=9, states=2)
    assert max(looked) == 3  # 0 and 1 are looked at, 2 and 3 only met as the ends of steps


# What begins a walk


def test_initial_that_raises() -> None:
    class Broken(Stairs):
        def initial(self, inputs: Mapping[str, Any]) -> int:
            return int(inputs["start"])

    assert problems(Broken()) == ["initial raises KeyError: 'start' (inputs {})"]


def test_initial_that_is_illegal_or_none_and_for_inputs_that_raises() -> None:
    class Refused(Stairs):
        def initial(self, inputs: Mapping[str, Any]) -> int:
            raise Illegal("nothing given")

    class Forgotten(Stairs):
        def initial(self, inputs: Mapping[str, Any]) -> int:
            return None  # type: ignore[return-value]

    class Unbound(Stairs):
        def for_inputs(self, inputs: Mapping[str, Any]) -> Stairs:
            raise RuntimeError("no")

    assert problems(Refused()) == ["initial is illegal: nothing given (inputs {})"]
    assert problems(Forgotten()) == ["initial returns None: inputs {}"]
    assert problems(Unbound()) == ["for_inputs raises RuntimeError: no (inputs {})"]


# Hooks that disagree


def test_a_goal_whose_answer_check_refuses() -> None:
    class Broken(Stairs):
        def check(self, fields: Mapping[str, Any]) -> bool | Illegal:
            return Illegal("never")

    assert problems(Broken()) == ["is_goal is True but check refuses the answer: {'steps': 5} (in state '5')"]


def test_an_accepted_answer_of_a_state_that_is_no_goal() -> None:
    class Broken(Stairs):
        def is_goal(self, state: int) -> bool:
            return False

        def moves(self, state: int) -> Iterable[int]:
            return [1] if state < 5 else []

    assert kinds(Broken(), depth=5)[0] == "is_goal is False but check accepts the answer"


@pytest.mark.parametrize("listed", [True, False])
def test_a_goal_that_the_rules_forbid(listed: bool) -> None:
    class Broken(Stairs):
        def rules(self, state: int) -> list[str]:
            return ["five is forbidden"] if state == 5 else []

        def has(self, hook: str) -> bool:
            return super().has(hook) and (listed or hook != "moves")

    expected = ["rules forbid where a move leads"] if listed else []
    options = {} if listed else {"proposals": lambda state: ["1", "2"]}
    assert kinds(Broken(), **options) == [*expected, "is_goal accepts a state that rules forbid"]


def test_an_initial_goal_that_the_rules_forbid() -> None:
    class Broken(Stairs):
        def initial(self, inputs: Mapping[str, Any]) -> int:
            return 5

        def rules(self, state: int) -> list[str]:
            return ["five is forbidden"]

    assert problems(Broken()) == ["is_goal accepts a state that rules forbid: 'five is forbidden' (in state '5')"]


def test_a_terminal_state_that_has_moves() -> None:
    class Broken(Stairs):
        def is_terminal(self, state: int) -> bool:
            return state >= 2

    assert problems(Broken())[0].startswith("is_terminal is true but there are moves: 1 (in state '2')")


def test_a_dead_end_that_is_not_terminal() -> None:
    class Broken(Stairs):
        def moves(self, state: int) -> Iterable[int]:
            return [1, 2] if state == 0 else []

        def is_terminal(self, state: int) -> bool:
            return False

    assert kinds(Broken()) == ["is_terminal is false but there are no moves"]


# Keys


def test_keys_that_collide_are_found_by_goal_moves_and_steps() -> None:
    class Broken(Stairs):
        def key(self, state: int) -> Hashable | None:
            return state // 4

    found = kinds(Broken(), depth=5)
    assert "key is equal but a step leads elsewhere" in found  # 3 + 1 is another key than 0 + 1

    class OneKey(Stairs):
        def initial(self, inputs: Mapping[str, Any]) -> int:
            return 4

        def key(self, state: int) -> Hashable | None:
            return 0

    assert kinds(OneKey()) == [
        "key is equal but is_goal differs",
        "key is equal but moves differs",
        "key is equal but a step leads elsewhere",
    ]


def test_keys_that_collide_are_found_where_the_difference_lies_deeper() -> None:
    class OneKey(Task[int, int]):
        """A goal three steps away, which no search reaches: after one step it has seen every key."""

        def initial(self, inputs: Mapping[str, Any]) -> int:
            return 0

        def moves(self, state: int) -> list[int]:
            return [1]

        def parse(self, text: str, state: int) -> int:
            return int(text)

        def apply(self, state: int, action: int) -> int:
            return state + action

        def is_goal(self, state: int) -> bool:
            return state == 3

        def key(self, state: int) -> Hashable | None:
            return "anywhere"

    assert problems(OneKey(), depth=3) == [
        "key is equal but is_goal differs: states '0' and '3' share the key 'anywhere'",
    ]


def test_keys_that_collide_are_found_by_render_where_nothing_else_tells() -> None:
    class Broken(FreeText):
        def key(self, state: tuple[str, ...]) -> Hashable | None:
            return len(state)

    found = problems(Broken(), depth=1, proposals=lambda state: ["left", "right"])
    assert found == [
        "key is equal but render differs: states '1. left' and '1. right' share the key 1",
    ]


def test_a_key_that_cannot_be_hashed() -> None:
    class Broken(Stairs):
        def key(self, state: int) -> Hashable | None:
            return [state]  # type: ignore[return-value]

    assert problems(Broken(), depth=1)[0] == (
        "key cannot be hashed: unhashable type: 'list' (in state '0') (and 2 more like it)"
    )


def test_a_key_with_two_results() -> None:
    class Broken(Stairs):
        count = itertools.count()

        def key(self, state: int) -> Hashable | None:
            return next(self.count)

    assert "key is not deterministic" in kinds(Broken())


# Moves and steps


def test_a_move_that_apply_refuses() -> None:
    class Broken(Stairs):
        def moves(self, state: int) -> Iterable[int]:
            return [1, 2] if state < 5 else []

    assert problems(Broken(), depth=5) == ["apply refuses a move: 'too high', '2' in state '4'"]


def test_a_move_that_parse_does_not_read_back() -> None:
    class Words(Stairs):
        def show(self, action: int) -> str:
            return "one" if action == 1 else "two"

    class Swapped(Stairs):
        def parse(self, text: str, state: int) -> int | Illegal:
            return 3 - int(text)

    assert problems(Words(), depth=1) == [
        "parse does not read what show writes: 'one' in state '0' is read as Illegal('no step') (and 1 more like it)"
    ]
    assert kinds(Swapped()) == ["parse does not read what show writes"]


def test_two_moves_that_are_shown_alike() -> None:
    class Broken(Stairs):
        def show(self, action: int) -> str:
            return "1"

    assert "show writes two actions alike" in kinds(Broken())


class Bag(Task[list[int], int]):
    """States that can be changed in place."""

    def initial(self, inputs: Mapping[str, Any]) -> list[int]:
        return []

    def parse(self, text: str, state: list[int]) -> int | Illegal:
        return int(text)

    def key(self, state: list[int]) -> Hashable | None:
        return tuple(state)

    def moves(self, state: list[int]) -> Iterable[int]:
        return [1, 2]

    def apply(self, state: list[int], action: int) -> list[int] | Illegal:
        return [*state, action]


def test_an_apply_that_changes_its_state() -> None:
    class Broken(Bag):
        def apply(self, state: list[int], action: int) -> list[int] | Illegal:
            state.append(action)
            return state

    check_task(Bag(), {})
    assert problems(Broken(), depth=1) == [
        "apply changes the state that it is given: '1' in state '[]' (and 1 more like it)"
    ]


def test_an_apply_with_two_results() -> None:
    class Broken(Stairs):
        count = itertools.count()

        def apply(self, state: int, action: int) -> int | Illegal:
            return state + action if next(self.count) % 2 else Illegal("not now")

    assert "apply is not deterministic" in kinds(Broken())


@pytest.mark.parametrize("hook", ["apply", "parse", "is_goal", "moves", "render", "show", "answer", "check", "load"])
def test_hooks_that_raise_or_return_none(hook: str) -> None:
    def raises(*args: Any) -> Any:
        raise LookupError("lost")

    raising = type("Raising", (Stairs,), {hook: raises})()
    silent = type("Silent", (Stairs,), {hook: lambda *args: None})()
    assert f"{hook} raises LookupError" in kinds(raising)
    assert kinds(silent)[0] in (f"{hook} returns None", f"{hook} raises TypeError")


def test_an_answer_that_only_finished_states_have() -> None:
    """A search that solves nothing asks its best state, which is unfinished."""

    class Broken(Stairs):
        check = Task.check

        def answer(self, state: int) -> dict[str, Any]:
            return {"steps": {5: "all"}[state]}

    class Wordy(Stairs):
        check = Task.check

        def answer(self, state: int) -> Any:
            return f"{state} steps"

    assert kinds(Broken()) == ["answer raises KeyError"]
    assert kinds(Wordy()) == ["answer returns no dict"]


def test_moves_and_rules_may_have_no_end() -> None:
    class Endless(Stairs):
        def moves(self, state: int) -> Iterable[int]:
            return itertools.count(1)

        def rules(self, state: int) -> Iterable[str]:
            return itertools.repeat("never") if state == 1 else ()

    assert "rules forbid where a move leads" in kinds(Endless(), depth=1, states=5)


def test_rules_that_are_one_text() -> None:
    class Broken(Stairs):
        def rules(self, state: int) -> Any:
            return "too high"

    assert kinds(Broken()) == ["rules returns a text"]


# Disk


def test_a_state_that_does_not_come_back() -> None:
    class Broken(Stairs):
        def load(self, value: Any) -> int:
            return int(value) + 1

    assert problems(Broken(), depth=1)[0].startswith("a state does not survive dump and load: 0 comes back as 1")


def test_a_state_that_cannot_be_written() -> None:
    class Broken(Task):  # type: ignore[type-arg]
        def initial(self, inputs: Mapping[str, Any]) -> Any:
            return {1, 2}

    [problem] = problems(Broken())
    assert problem.startswith("dump raises TypeError: Broken: a state of type set cannot be written to JSON")


def test_several_problems_are_told_at_once() -> None:
    class Broken(Stairs):
        def load(self, value: Any) -> int:
            return 7

        def moves(self, state: int) -> Iterable[int]:
            return [1, 2, 9]

    assert set(kinds(Broken())) >= {
        "a state does not survive dump and load",
        "apply refuses a move",
        "parse does not read what show writes",
    }


def test_what_write_writes_is_read_again():
    class Worded(Stairs):
        def write(self, action: int, state: int) -> str:
            return f"{action} steps up from {state}"

    with pytest.raises(TaskError, match="parse does not read what write writes"):
        check_task(Worded(), {})
