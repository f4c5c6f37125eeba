"""`compare`: baselines that spend what the search spends, worked out by hand; and what is said of a tree."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import uuid4

import dspy
import pytest

import rankings
from engines import Engine, lm
from thoughtree import Game24, TreeOfThoughts
from thoughtree.optimize import LogError, compare, solved
from thoughtree.optimize.comparing_baselines import SelfConsistency, question_of


class Oracle(Engine):
    """Proposes every place to a search, and answers a plain question by `fn(need, count)`; count: its calls before."""

    def __init__(self, fn: Any, **given: Any) -> None:
        super().__init__(self._said, kinds={"propose": "next_thoughts", "advise": "advice"}, **given)
        self.places, self.asked = fn, Counter[str]()

    def _said(self, kind: Any, inputs: Any, n: int) -> dict[str, str]:
        if kind == "propose":
            return {"next_thoughts": "\n".join(f"{i}. {i}" for i in range(1, 9))}
        if kind == "advise":
            return {"discussion": "wrong", "advice": '{"predict": "another"}'}
        need, count = inputs["need"].partition("#")[0], self.asked[inputs["need"]]
        self.asked[inputs["need"]] += 1
        return {"reasoning": "so", "place": self.places(need, count)}


def right(example: Any, prediction: Any, trace: Any = None) -> bool:
    return str(prediction.place) == example.need.partition("#")[0]


def never(need: str, count: int) -> str:
    return f"no {count}"


def no_label(args: Any, prediction: Any) -> float:
    return float(not prediction.place.startswith("no"))


DEVSET = rankings.examples([1, 2, 3] * 3)
TREE = rankings.program(width=3)  # solves all of them with 4 calls: the root, and the three that it keeps


def compared(fn: Any, devset: Any = DEVSET, programs: Any = (TREE,), **given: Any) -> Any:
    model = Oracle(fn)
    with dspy.context(lm=lm(model)):
        return compare(programs, devset, right, num_threads=1, **given), model


def figures(found: Any) -> dict[str, tuple[int | None, float, float]]:
    return {entry.name: (entry.samples, entry.spent, entry.result.score) for entry in found.entries}


def test_baselines_take_as_many_samples_as_spend_what_the_search_spends():
    """BestOfN makes n calls, Refine 2 n - 1, as it asks for advice between attempts: 3 or 5, and 3 is the fewer."""
    found, _ = compared(never, reward_fn=no_label)
    assert figures(found) == {
        "TreeOfThoughts": (None, 4.0, 100.0),
        "direct answer": (None, 1.0, 0.0),
        "chain of thought": (None, 1.0, 0.0),
        "self-consistency": (4, 4.0, 0.0),
        "BestOfN": (4, 4.0, 0.0),
        "Refine": (2, 3.0, 0.0),
    }
    assert found.trials == 5 * 9  # Refine with 3


def test_all_calls_of_all_baselines_are_counted():
    found, model = compared(never, reward_fn=no_label)
    assert model.count() == sum(entry.result.spent.calls for entry in found.entries) + found.trials


def test_what_is_finished_is_not_paid_again(tmp_path):
    """Cut after the search and the two single answers, it goes on; once over, it is told again without a call."""
    with dspy.context(cache=False):
        whole, model = compared(never, reward_fn=no_label)
        _, first = compared(never, baselines=["direct answer", "chain of thought"], resume=tmp_path)
        found, second = compared(never, reward_fn=no_label, resume=tmp_path)
        again, third = compared(never, reward_fn=no_label, resume=tmp_path)
    assert figures(found) == figures(again) == figures(whole)
    assert first.count() == 9 * (4 + 1 + 1)
    assert (second.count(), third.count()) == (model.count() - first.count(), 0)
    assert (found.trials, again.trials) == (whole.trials, whole.trials)
    with pytest.raises(LogError, match="another evaluation"):
        compared(never, reward_fn=lambda args, prediction: 0.5, resume=tmp_path)


def test_attempts_that_stop_early_get_more_of_them():
    """Every fourth reply is right. 4 attempts make 4 calls at most, and the mean is what comes near 4."""
    found, _ = compared(lambda need, count: need if count % 8 == 7 else "no", baselines=["BestOfN"], reward_fn=no_label)
    assert found["BestOfN"].samples >= 4
    assert abs(found["BestOfN"].spent - 4) <= 0.4


def test_a_tree_that_beats_all_pays():
    found, _ = compared(never, reward_fn=no_label)
    assert found.pays is True
    assert found.verdict.startswith("A tree pays here: TreeOfThoughts beats every baseline, the nearest being ")
    assert (found["Refine"].against.wins, found["Refine"].against.losses) == (9, 0)


def test_a_tree_that_one_call_does_as_well_as_does_not_pay():
    found, _ = compared(lambda need, count: need)
    assert found.pays is False
    assert found.verdict == (
        "A tree does not pay here: direct answer does as well as TreeOfThoughts or better. "
        "TreeOfThoughts 100.0 % at 4.0 calls against direct answer 100.0 % at 1.0 calls: "
        "+0.0 points [+0.0, +0.0] on 9 examples: 0 better, 0 worse, 9 alike, McNemar p = 1."
    )


class Failing(Oracle):
    """Answers a plain question rightly, but for the needs in `hard`, on which it fails."""

    hard: frozenset[str] = frozenset()

    def _said(self, kind: Any, inputs: Any, n: int) -> dict[str, str]:
        if kind != "propose" and inputs["need"].partition("#")[0] in self.hard:
            raise RuntimeError("too hard")
        return super()._said(kind, inputs, n)


@pytest.mark.parametrize(
    ("fn", "fails", "pays"),
    [
        (lambda need, count: need, (), False),
        (lambda need, count: need, ("1",), None),  # as good on the 6 that it managed; of the other 3 nobody knows
        (never, (), True),
        (never, ("1",), None),  # 6 won, and the 3 that failed may be lost: p = 0.51
    ],
)
def test_no_verdict_hangs_on_examples_that_failed(fn: Any, fails: Any, pays: Any):
    model = Failing(fn)
    model.hard = frozenset(fails)
    with dspy.context(lm=lm(model, num_retries=0)):
        found = compare([TREE], DEVSET, right, baselines=["direct answer"], num_threads=1, max_errors=9)
    assert len(found["direct answer"].result.errors) == 3 * len(fails)
    assert found.pays is pays
    if pays is None:
        assert found.verdict.startswith("6 examples cannot tell whether TreeOfThoughts beats direct answer.")
        assert found.verdict.endswith("3 left out.")


def test_few_examples_cannot_tell():
    """Three won of three: a fair coin does that in one of four series, both ways counted."""
    found, _ = compared(never, DEVSET[:3])
    assert found.pays is None
    assert found.verdict.startswith("3 examples cannot tell whether TreeOfThoughts beats ")
    assert "McNemar p = 0.25" in found.verdict


def test_what_spent_more_than_the_search_is_no_evidence_against_it():
    found, _ = compared(lambda need, count: need, baselines=["direct answer"])
    tree, direct = found.entries
    assert replace(found, entries=(tree, replace(direct, spent=4.4))).pays is False
    dearer = replace(found, entries=(tree, replace(direct, spent=4.5)))
    assert dearer.pays is None
    assert "there is no baseline at its spending" in dearer.verdict


def test_without_a_check_or_a_reward_attempts_are_left_out_with_the_reason():
    found, _ = compared(never)
    assert set(found.left_out) == {"BestOfN", "Refine"}
    assert "nothing but labels can tell" in found.left_out["Refine"]


def test_a_baseline_that_fails_costs_no_other_its_figures():
    """Chains of thought are refused; the direct answer is not."""

    class Refusing(Oracle):
        def _said(self, kind: Any, inputs: Any, n: int) -> dict[str, str]:
            if "reasoning" in kind:
                raise RuntimeError("no chains today")
            return super()._said(kind, inputs, n)

    with dspy.context(lm=lm(Refusing(never), num_retries=0)):
        found = compare(
            [TREE], DEVSET, right, baselines=["chain of thought", "direct answer"], num_threads=1, max_errors=2
        )
    assert list(found.left_out) == ["chain of thought"]
    assert "2 examples failed (max_errors=2)" in found.left_out["chain of thought"]
    assert found["direct answer"].result.score == 0.0


def test_matching_tokens():
    """Each call takes 2 tokens here, of whatever kind."""
    found, _ = compared(never, match="tokens", baselines=["self-consistency"])
    assert found["self-consistency"].samples == 4
    assert [entry.spent for entry in found.entries] == [8.0, 8.0]
    assert found.trials == 9  # the chain of thought that a sample was priced by


def test_matching_dollars_at_the_searchs_own_prices():
    """A token in is 1 dollar a million here, one out 2: 3 millionths a call, of a search and of a baseline."""
    priced = rankings.program(width=3, prices={"stub/model": (1.0, 2.0)})
    found, _ = compared(never, match="dollars", programs=[priced], reward_fn=no_label, baselines=["BestOfN", "Refine"])
    assert found.entries[0].spent == pytest.approx(12e-6)
    assert (found["BestOfN"].samples, found["BestOfN"].spent) == (4, pytest.approx(12e-6))
    assert found["Refine"].spent == pytest.approx(9e-6)


def test_dollars_that_nobody_knows_are_refused_before_anything_is_paid():
    model = Oracle(never)
    with dspy.context(lm=lm(model)), pytest.raises(ValueError, match=r"the price of stub/model \(role propose\)"):
        compare([TREE], DEVSET, right, match="dollars")
    assert model.count() == 0


def test_the_tasks_own_check_is_what_attempts_and_the_metric_go_by():
    """Every second reply is a sum that makes 24."""
    engine = Engine(
        lambda kind, inputs, n: (
            {"next_thoughts": "1. 10 - 4 = 6"}
            if kind == "propose"
            else {"rating_reasoning": "", "thought_rating": "sure"}
            if kind == "rate"
            else {"reasoning": "", "answer": "(10-4)*(13-9)" if n % 2 else "4+9+10+13"}
        ),
        kinds={"propose": "next_thoughts", "rate": "thought_rating"},
    )
    devset = [dspy.Example(numbers="4 9 10 13").with_inputs("numbers")] * 4
    with dspy.context(lm=lm(engine)):
        found = compare([TreeOfThoughts(task=Game24(), concurrency=1)], devset, solved, num_threads=1)
    assert found["BestOfN"].result.score == 100.0
    assert found["chain of thought"].result.score == 50.0
    assert found["TreeOfThoughts"].result.score == 0.0
    assert found.pays is False


def test_the_most_votes_win_and_an_unreadable_sample_has_none():
    replies = [
        "?",
        {"reasoning": "a", "place": "B"},
        {"reasoning": "c", "place": "c"},
        {"reasoning": "b", "place": " b "},
    ]
    engine = Engine(lambda kind, inputs, n: replies[n - 1])
    with dspy.context(lm=lm(engine), adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
        made = SelfConsistency("need -> place", 4)(need="1")
    assert made.place == "B"
    assert engine.count() == 4


def test_samples_are_not_taken_from_dspys_cache():
    engine = Engine(lambda kind, inputs, n: {"reasoning": "", "place": str(n)})
    with dspy.context(lm=lm(engine, model="stub/votes", cache=True)):
        SelfConsistency("need -> place", 3)(need=f"not in the cache: {uuid4()}")
    assert engine.count() == 3


def test_baselines_are_told_what_the_task_adds_to_prompts():
    task = Game24()
    assert task.instructions() in question_of(TreeOfThoughts(task=task)).instructions


def test_the_comparison_is_json_and_a_table(tmp_path):
    found, _ = compared(never, programs={"narrow": rankings.program(width=1), "wide": TREE})
    found.save(tmp_path / "found.json")
    saved = json.loads((tmp_path / "found.json").read_text())
    assert saved["reference"] == "narrow"
    assert [row["name"] for row in saved["rows"][:2]] == ["narrow", "wide"]
    assert saved["rows"][1]["reference_minus_this"] == pytest.approx(-66.67)
    assert found.table().row_count == len(saved["rows"]) == 5
    assert "left out: BestOfN" in found.summary()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"match": "seconds"}, "match='seconds'"),
        ({"baselines": ["guess"]}, "'guess' is none of"),
        ({"programs": [dspy.Predict("need -> place")]}, "none is a search"),
        ({"programs": {"Refine": TREE}}, "baseline's name"),
    ],
)
def test_what_cannot_be_compared_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        compared(never, **given)


# -- pipelines


class Pipeline(dspy.Module):
    """Asks the search that is inside in words of its own, or in the examples'."""

    def __init__(self, tree: Any, field: str = "need") -> None:
        super().__init__()
        self.tree, self.field = tree, field

    def forward(self, **inputs: Any) -> Any:
        return self.tree(need=inputs[self.field])


def test_a_pipeline_with_a_search_inside_is_the_reference_and_spends_as_the_search_does():
    found, _ = compared(never, programs={"pipeline": Pipeline(rankings.program(width=3))}, reward_fn=no_label)
    assert figures(found)["pipeline"] == (None, 4.0, 100.0)
    assert figures(found)["self-consistency"] == (4, 4.0, 0.0)
    assert found.pays is True
    assert "pipeline beats every baseline" in found.verdict


class Twice(dspy.Module):
    """A narrow search, and a wide one where that has found nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.narrow, self.wide = rankings.program(width=1), rankings.program(width=3)

    def forward(self, need: str) -> Any:
        found = self.narrow(need=need)
        return found if found.search.solved else self.wide(need=need)


def test_two_searches_that_ask_the_same_are_one_reference():
    """The first place alone is found by a width of 1, with 2 calls; the others take 2 and 4."""
    found, _ = compared(never, programs={"twice": Twice()}, baselines=["self-consistency"])
    assert figures(found)["twice"] == (None, pytest.approx((2 + 6 + 6) / 3), 100.0)
    assert figures(found)["self-consistency"] == (5, 5.0, 0.0)


def test_a_pipeline_whose_search_answers_another_question_needs_the_baselines_signature():
    devset = [dspy.Example(wish=example.need).with_inputs("wish") for example in DEVSET]
    pipeline = Pipeline(rankings.program(width=3), "wish")

    def by_wish(example: Any, prediction: Any, trace: Any = None) -> bool:
        return str(prediction.place) == example.wish.partition("#")[0]

    class Wishes(Oracle):
        def _said(self, kind: Any, inputs: Any, n: int) -> dict[str, str]:
            return super()._said(kind, {"need": inputs["wish"]} if "wish" in inputs else inputs, n)

    model = Wishes(never)
    with dspy.context(lm=lm(model)):
        with pytest.raises(ValueError, match="say what the baselines answer by signature='question -> answer'"):
            compare({"p": pipeline}, devset, by_wish)
        with pytest.raises(ValueError, match="signature='need -> place': the examples have no input 'need'"):
            compare({"p": pipeline}, devset, by_wish, signature="need -> place")
        assert model.count() == 0
        found = compare({"p": pipeline}, devset, by_wish, signature="wish -> place", num_threads=1)
    assert figures(found) == {
        "p": (None, 4.0, 100.0),
        "direct answer": (None, 1.0, 0.0),
        "chain of thought": (None, 1.0, 0.0),
        "self-consistency": (4, 4.0, 0.0),
    }
    assert found.left_out.keys() == {"BestOfN", "Refine"}  # no task says what a good answer to a wish is


# -- what failed has spent too


def test_the_calls_of_examples_that_failed_are_matched_too():
    class Failing(dspy.Module):
        """Fails on one of three, after 5 more calls."""

        def __init__(self) -> None:
            super().__init__()
            self.tree, self.more = rankings.program(width=3), dspy.Predict("need -> place")

        def forward(self, need: str) -> Any:
            found = self.tree(need=need)
            if need.startswith("1"):
                for _ in range(5):
                    self.more(need=need)
                raise ValueError("no")
            return found

    found, _ = compared(never, programs={"failing": Failing()}, baselines=["self-consistency"])
    failing = found["failing"]
    assert len(failing.result.errors) == 3
    # By hand: six searches of 4 calls each, three of 4 + 5 calls that then fail, over nine examples.
    assert failing.spent == pytest.approx((6 * 4 + 3 * 9) / 9)
    assert next(iter(found.rows()))["calls"] == pytest.approx(failing.spent)
    assert found["self-consistency"].samples == 6


# -- metrics of any range


def test_a_metric_of_another_range_is_told_in_its_own_unit():
    def marks(example: Any, prediction: Any, trace: Any = None) -> float:
        return 100.0 * right(example, prediction) - 20.0

    with dspy.context(lm=lm(Oracle(never))):
        found = compare({"tree": TREE}, DEVSET, marks, baselines=["direct answer"], num_threads=1)
    assert found["direct answer"].against.difference == 100.0
    summary = found.summary()
    assert "tree 80 at 4.0 calls" in summary
    assert "direct answer -20 at 1.0 calls (the reference +100 [+100, +100] on 9 examples" in summary
    assert "%" not in summary
    assert "points" not in summary
