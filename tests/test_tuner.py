"""SearchTuner on a problem whose best settings are known: what it finds, pays, says, refuses and continues."""

from __future__ import annotations

import json
import pickle
import threading
from copy import deepcopy
from functools import cache
from typing import Any

import dspy
import optuna
import pytest

from patience import PATIENCE
from rankings import examples, model, program
from thoughtree import Beam, Budget, limit, load
from thoughtree.modules.parts import without_evidence
from thoughtree.optimize.identity import describe
from thoughtree.optimize.metrics import solved
from thoughtree.optimize.prompt_sets import Prompts
from thoughtree.optimize.scoring import Scorer
from thoughtree.optimize.space import programs_in
from thoughtree.optimize.split import split
from thoughtree.optimize.studies import StudyError
from thoughtree.optimize.tuner import Hopeless, SearchTuner
from thoughtree.rules import AsyncRules, Rules

# Half of the examples need the third place, half the first. A beam of width 1 or 2 solves half at 2 or 3 calls, one of
# width 3 or more all at 4 or more: one call for the root, and one for each state that is kept.
SET = examples([1, 3] * 30)
ONLY = {"controller.width": (1, 8), "controller.branching": 8, "controller.max_depth": 2, "controller.select": "top"}
ONLY |= {"controller.best": "deepest", "controller.min_score": None, "controller.solved_threshold": None}
ONLY |= {"propose": "lm", "temperature": None, "rate": "code", "samples": 1}


def tuned(student: Any = None, lm: Any = None, trainset: Any = None, space: Any = None, **given: Any) -> Any:
    calls = {name: given.pop(name) for name in ("pick", "tolerance", "valset") if name in given}
    tuner = SearchTuner(solved, **{"trials": 8, "num_threads": 2, **given})
    with dspy.context(lm=lm or model()):
        return tuner.compile(student or program(), trainset=trainset or SET, space=space or ONLY, **calls)


@cache
def cheapest() -> Any:
    """One study that several tests look at."""
    return tuned(pick="cheapest")


# ---- what it finds


def test_the_cheapest_of_the_best_width_is_found():
    made = cheapest()
    found = made.detailed_results
    assert made.controller == Beam(width=3, branching=8, max_depth=2)
    assert (found.verdict.better, found.verdict.cheaper) == (True, False)
    assert (found.verdict.tuned.score, found.verdict.tuned.cost) == (1.0, 4.0)
    assert (found.verdict.default.cost, found.verdict.saving) == (2.0, -2.0)
    assert found.verdict.difference.difference == pytest.approx(100 * (1 - found.verdict.default.score))
    assert found.summary().splitlines()[0] == "the tuned program scores higher than the default"


def test_the_front_and_the_candidates_are_what_nothing_beats():
    made = tuned(pick="knee")
    found = made.detailed_results
    half = found.settings[0].results.score(found.raced)
    assert [found.point(found.settings[n]) for n in found.front] == [(half, 2.0), (1.0, 4.0)]
    assert [(c["score"], c["cost"], c["program"].controller.width) for c in made.candidate_programs] == [
        (100.0, 4.0, 3),
        (round(100 * half, 2), 2.0, 1),
    ]


def test_a_program_that_is_too_wide_becomes_cheaper():
    made = tuned(program(width=8), pick="cheapest", trials=10)
    verdict = made.detailed_results.verdict
    assert made.controller.width == 3
    assert (verdict.better, verdict.cheaper, verdict.saving) == (False, True, 5.0)
    assert "the tuned program costs less than the default" in made.detailed_results.summary()


def test_a_cost_limit_is_kept():
    made = tuned(cost_limit=3.5)
    found = made.detailed_results
    assert made.controller.width <= 2  # half solved, at 2 or 3 calls; those of width 3 cost 4
    assert not found.improved
    assert made.controller.width == 1
    dear = [s for s in found.settings.values() if s.values["controller.width"] > 2]
    assert dear  # and none of them is paid for to its end
    assert {len(s.results.by_example) for s in dear} == {8}
    assert dear[0].error == f"costs {dear[0].values['controller.width'] + 1} an example, over the limit of 3.5"


def test_where_nothing_is_better_it_says_so_and_gives_the_program_back():
    student = program(width=3)
    student.propose.predict.demos = [dspy.Example(need="1")]
    made = tuned(student, pick="best")
    assert made.controller == student.controller
    assert len(made.propose.predict.demos) == 1
    assert made is not student
    assert made.detailed_results.summary().startswith("nothing beat the default, as far as the fresh examples can tell")


@pytest.mark.parametrize("raises", [False, True])
def test_a_metric_that_scores_nothing_ends_it_at_once(raises: bool):
    """After the default's first eight examples; a program that fails on all of them is another matter."""
    asked: list[str] = []

    def nothing(example: Any, prediction: Any, trace: Any = None) -> Any:
        asked.append(example.need)
        return 1 / 0 if raises else None

    tuner = SearchTuner(nothing, trials=8, num_threads=2)
    why = "ZeroDivisionError" if raises else "returned None"
    with dspy.context(lm=model()), pytest.raises(ValueError, match=f"metric=nothing: .*first 8 examples: .*{why}"):
        tuner.compile(program(), trainset=SET, space=ONLY)
    assert len(asked) == 8


def test_no_setting_is_run_twice():
    found = cheapest().detailed_results
    widths = [setting.values["controller.width"] for setting in found.settings.values()]
    assert sorted(widths) == list(range(1, 9))  # all that there are, once each
    assert widths[0] == 1  # the program's own comes first


def test_a_space_that_is_used_up_ends_the_race():
    found = tuned(trials=50, space=ONLY | {"controller.width": [1, 3]}).detailed_results
    assert (len(found.settings), found.ended) == (2, "nothing new")


# ---- what it pays


def test_settings_share_their_calls():
    """Alone, each of widths 1 and 3 makes 2 and 4 calls an example; together they pay for 4."""
    space = ONLY | {"controller.width": [1, 3]}
    found = tuned(space=space, pick="cheapest").detailed_results
    assert found.paid == 4 * len(SET)
    assert found.calls == (2 + 4) * len(SET)
    alone = tuned(space=space, pick="cheapest", share=False).detailed_results
    assert (alone.paid, alone.calls) == (6 * len(SET), 6 * len(SET))


def test_a_bad_setting_is_left_early():
    """Width 1 solves half of the first 8 or 16 examples that width 3 solves, and is left then."""
    found = tuned(program(width=3), space=ONLY | {"controller.width": [1, 3]}).detailed_results
    (narrow,) = [s for s in found.settings.values() if s.values["controller.width"] == 1]
    assert narrow.beaten_by == 0
    assert len(narrow.results.by_example) in (8, 16)


@pytest.mark.parametrize("calls", [10, 57, 100])
@pytest.mark.parametrize("share", [True, False])
def test_the_budget_is_never_passed(calls: int, share: bool):
    from engines import Engine, lm

    def reply(kind: Any, inputs: dict[str, str], n: int) -> dict[str, str]:
        return {"next_thoughts": "\n".join(f"{i}. {i}" for i in range(1, 9))}

    engine = Engine(reply)
    made = tuned(lm=lm(engine), budget=Budget(calls=calls), share=share, num_threads=4)
    assert 0.6 * calls <= engine.count() <= calls
    assert made.detailed_results.paid == engine.count()
    assert made.detailed_results.ended == "calls"


def test_what_it_can_take_is_said_before():
    """8 settings on 36 examples, then 4 on 24, each example 1 + 8 calls at most: a beam's of width 8, its widest.

    The program as it is has a beam of 1, and makes 2.
    """
    tuner = SearchTuner(solved, trials=8)
    runs = float(8 * 36 + 5 * 24)
    most = {"calls": runs * 9, "dollars": None, "usual_calls": runs * 2, "usual_dollars": None}
    assert tuner.estimate(program(), SET, space=ONLY) == most
    assert tuner.estimate(program(), SET, space=ONLY, price=(1.0, 2.0), tokens={"propose": (500, 250)}) == most | {
        "dollars": pytest.approx(runs * 9e-3),
        "usual_dollars": pytest.approx(runs * 2e-3),
    }
    assert tuner.estimate(program(), SET[50:], trainset=SET[:50], space=ONLY)["calls"] == float((8 * 50 + 5 * 10) * 9)
    only = ONLY | {"controller.width": 3}
    assert tuner.estimate(program(width=8), SET, space=only)["calls"] == float((8 * 36 + 4 * 24) * 4 + 24 * 9)


def test_a_budget_of_the_study_or_of_the_program_is_the_most():
    assert SearchTuner(solved, trials=8, budget=100).estimate(program(), SET)["calls"] == 100.0
    assert SearchTuner(solved, budget=Budget(cost=2.5)).estimate(program(), SET)["dollars"] == 2.5
    tuner, own = SearchTuner(solved, trials=8), program(budget=Budget(calls=4))
    runs = float(8 * 36 + 5 * 24)
    assert tuner.estimate(own, SET, space=ONLY)["calls"] == runs * 4
    # 9 calls at 0.001 dollars each, of which the budget lets 4 through.
    priced = tuner.estimate(own, SET, space=ONLY, price=(1.0, 2.0), tokens={"propose": (500, 250)})
    assert priced["dollars"] == pytest.approx(runs * 4e-3)
    capped = tuner.estimate(program(budget=Budget(cost=0.002)), SET, space=ONLY, price=(1.0, 2.0))
    assert capped["dollars"] == pytest.approx(runs * 0.002)


def test_known_prices_of_the_lms_need_not_be_told():
    tuner, tokens = SearchTuner(solved, trials=8), {"propose": (500, 250)}
    given = program(prices={"openai/nobody": (1.0, 2.0)})
    with dspy.context(lm=dspy.LM("openai/nobody", api_key="none")):
        assert tuner.estimate(given, SET, space=ONLY, tokens=tokens)["dollars"] == pytest.approx(408 * 9e-3)
        assert tuner.estimate(program(), SET, space=ONLY, tokens=tokens)["dollars"] is None
    with dspy.context(lm=dspy.LM("openai/gpt-4o-mini", api_key="none")):  # of DSPy's list
        assert tuner.estimate(program(), SET, space=ONLY, tokens=tokens)["dollars"] > 0


def test_no_study_takes_more_than_was_said_before():
    """Whatever kind of controller, way of rating and number of samples: three trials, without shared calls."""
    from engines import Engine, lm

    def reply(kind: Any, inputs: dict[str, str], n: int) -> dict[str, str]:
        return {name: "\n".join(map(str, range(1, 9))) if name == "next_thoughts" else "likely" for name in kind}

    space = {"controller": ["Beam", "DFS", "BestFirst"], "controller.branching": (1, 3), "controller.max_depth": (1, 2)}
    for seed in range(4):
        engine = Engine(reply)
        tuner = SearchTuner(solved, trials=3, num_threads=2, share=False, seed=seed)
        most = tuner.estimate(program(), SET[:10], space=space)["calls"]
        with dspy.context(lm=lm(engine)):
            tuner.compile(program(), trainset=SET[:10], space=space)
        assert most is not None
        assert 0 < engine.count() <= most


# ---- prompts


class Attentive(Rules):
    """Proposes the right place first, if its instructions ask it to look at the need."""

    def complete(self, request: Any) -> Any:
        looks = "Look at the need" in str(request.system)

        def propose(inputs: dict[str, str], n: int | None) -> list[str]:
            need = inputs["need"].partition("#")[0]
            return [need if looks and inputs["search_state"] == "nothing" else "1"]

        return Rules(propose=propose).complete(request)


def attentive() -> dspy.LM:
    rules = Attentive()
    return dspy.LM("stub/attentive", engine=rules, async_engine=AsyncRules(rules), cache=False)


def asked(text: str) -> Any:
    made = program()
    made.propose.predict.signature = made.propose.predict.signature.with_instructions(text)
    return made


def test_prompts_and_knobs_are_tuned_together():
    """The default prompt solves the half that needs the first place; of the others one asks to look at the need."""
    others = [asked("Be brief."), asked("Look at the need. Be brief.")]
    made = tuned(lm=attentive(), prompts=others, pick="cheapest")
    assert made.propose.predict.signature.instructions == "Look at the need. Be brief."
    assert made.detailed_results.verdict.tuned.score == 1.0
    assert made.controller.width == 1
    ids = {setting.values["prompts"] for setting in made.detailed_results.settings.values()}
    assert len(ids) == 3


def test_each_prompt_is_tried_with_the_knobs_as_they_are_first():
    """The better of them is found in a space of many knobs, most of which spoil it, by the third setting."""
    others = [asked("Be brief."), asked("Look at the need.")]
    made = tuned(lm=attentive(), prompts=others, trials=6, space={"propose": "lm"})
    tried = sorted(made.detailed_results.settings.items())
    first = [values for _, setting in tried[:3] for values in [dict(setting.values)]]
    assert len({values.pop("prompts") for values in first}) == 3
    assert first[0] == first[1] == first[2]
    assert made.detailed_results.verdict.better
    assert made.propose.predict.signature.instructions == "Look at the need."


def test_prompts_come_from_an_optimizers_candidates_and_count_once():
    compiled = program()
    compiled.candidate_programs = [{"program": asked("One."), "score": 1.0}, {"program": asked("One."), "score": 0.0}]
    prompts = Prompts.of(program(), compiled)
    assert len(prompts.ids) == 2
    assert Prompts.of(program(), compiled).ids == prompts.ids  # the same in every process


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("Be brief.", "give programs with other prompts, in a list"),
        (["Be brief."], r"prompts\[0\]='Be brief.': must be a program"),
        ([dspy.Predict("q -> a")], r"prompts\[0\]: has predictors \['self'\], and the program \['propose.predict'\]"),
    ],
)
def test_what_are_no_prompts(given: Any, message: str):
    with pytest.raises((TypeError, ValueError), match=message):
        Prompts.of(program(), given)


# ---- what goes wrong


def test_a_wrong_key_ends_it_with_the_first_error():
    from engines import Engine, lm

    def reply(kind: Any, inputs: dict[str, str], n: int) -> Any:
        raise dspy.LMAuthError("no such key")

    engine = Engine(reply)
    with pytest.raises(Exception, match="no such key"):
        tuned(lm=lm(engine))
    assert engine.count() <= 4


def test_examples_that_fail_are_no_low_scores():
    def metric(example: Any, prediction: Any, trace: Any = None) -> bool:
        if example.need.endswith("7"):
            raise OSError("the checker is down")
        return bool(prediction.search.solved)

    with dspy.context(lm=model()):
        made = SearchTuner(metric, trials=4, num_threads=2).compile(
            program(), trainset=SET, space=ONLY | {"controller.width": [3, 4]}
        )
    found = made.detailed_results
    assert {s.results.score() for s in found.settings.values()} == {1.0}
    assert [message.partition(" (")[0] for message in found.errors] == ["OSError: the checker is down"]
    assert "examples failed, most often with: OSError: the checker is down" in found.summary()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"auto": "huge"}, "auto='huge': must be one of 'light', 'medium', 'heavy'"),
        ({"auto": "light", "trials": 3}, "both say how many settings are tried"),
        ({"trials": 0}, "trials=0: must be a whole number of at least 1"),
        ({"num_threads": 0}, "num_threads=0: must be a whole number of at least 1"),
        ({"seed": None}, "seed=None: must be an integer"),
        ({"seed": -1}, "seed=-1: must be an integer from 0 to 4,294,967,295"),
        ({"budget": Budget(nodes=5)}, "a study counts no nodes"),
        ({"cost": "euros"}, "cost='euros': must be one of 'calls', 'tokens', 'dollars', 'seconds', or None"),
        ({"cost": None, "cost_limit": 3}, "a limit is of some cost; say which"),
        ({"cost_limit": -1}, "cost_limit=-1: must be a number above 0"),
    ],
)
def test_settings_that_cannot_be(given: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        SearchTuner(solved, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"trainset": SET[:5]}, "5 examples in trainset and valset: too few to tune on; give at least 8"),
        ({"trainset": [*SET, {"need": "1"}]}, r"trainset\[60\]=\{'need': '1'\}: must be a dspy.Example"),
        ({"pick": "dearest"}, "pick='dearest': must be one of"),
        ({"tolerance": -1}, "tolerance=-1: must be a number of at least 0"),
        ({"space": {"controller.widht": 3}}, "near it are controller.width"),
    ],
)
def test_calls_that_cannot_be(given: dict[str, Any], message: str):
    with pytest.raises((ValueError, TypeError), match=message):
        tuned(**given)


def test_the_split():
    every, raced, fresh = split(SET, None, 0)
    assert (len(every), len(raced), len(fresh)) == (60, 36, 24)
    assert sorted(raced + fresh) == list(range(60))
    assert split(SET, None, 0)[1:] == (raced, fresh)
    assert split(SET, None, 1)[1] != raced
    _, raced, fresh = split(SET[:10], SET[10:], 0)
    assert (sorted(raced), fresh) == (list(range(10)), list(range(10, 60)))


def test_no_setting_is_raced_on_an_example_that_is_fresh_at_the_end(caplog: pytest.LogCaptureFixture):
    _, raced, fresh = split(SET[:10], SET[5:30], 0)
    assert (sorted(raced), fresh) == (list(range(5)), list(range(10, 35)))
    assert "inputs of 5 examples of trainset are in valset too: no setting is raced on them" in caplog.text
    every, raced, fresh = split(SET[:20], SET[:20], 0)  # the same twice: as if it were given once
    assert (every, raced, fresh) == split(SET[:20], None, 0)
    assert (len(every), len(raced), len(fresh)) == (20, 12, 8)
    twice = [*SET[:10], *SET[:10]]
    every, raced, fresh = split(twice, None, 0)
    assert (len(fresh), {every[place].need for place in raced} & {every[place].need for place in fresh}) == (8, set())
    assert raced


# ---- what it leaves


def test_a_study_that_ended_early_goes_on_and_pays_for_nothing_twice(tmp_path):
    first = tuned(trials=3, log_dir=tmp_path).detailed_results
    second = tuned(trials=8, log_dir=tmp_path).detailed_results
    assert [s.values for s in second.settings.values()][:3] == [s.values for s in first.settings.values()]
    assert len({s.values["controller.width"] for s in second.settings.values()}) == 8
    third = tuned(trials=8, log_dir=tmp_path).detailed_results
    assert (third.paid, third.calls) == (0, 0)
    assert third.verdict == second.verdict
    assert json.loads((tmp_path / "tuning.json").read_text())["improved"] is True


def test_a_study_of_something_else_is_refused(tmp_path):
    tuned(trials=2, log_dir=tmp_path)
    with pytest.raises(StudyError, match=r"tunes something else \(devset: .*\); give another name"):
        tuned(trials=3, log_dir=tmp_path, trainset=SET[:30])
    with pytest.raises(StudyError, match="space: "):
        tuned(trials=3, log_dir=tmp_path, space=ONLY | {"controller.width": (1, 6)})
    with pytest.raises(StudyError, match="objective: "):
        tuned(trials=3, log_dir=tmp_path, cost_limit=4.0)


def test_a_seed_decides_and_a_resumed_one_does_not_repeat_itself(tmp_path):
    wide = ONLY | {"controller.width": (1, 8), "controller.branching": (1, 8)}

    def tried(**given: Any) -> list[Any]:
        found = tuned(space=wide, trainset=SET[:16], **given).detailed_results
        return [list(setting.values.values()) for setting in found.settings.values()]

    assert tried(trials=5, seed=1) == tried(trials=5, seed=1)
    assert tried(trials=5, seed=1) != tried(trials=5, seed=2)
    tried(trials=3, log_dir=tmp_path)
    again = tried(trials=6, log_dir=tmp_path)
    assert len({str(values) for values in again}) == 6


def test_any_sampler_and_a_trial_counts_once(tmp_path):
    sampler = optuna.samplers.RandomSampler(seed=3)
    found = tuned(trials=5, sampler=sampler, log_dir=tmp_path).detailed_results
    complete = [t for t in found.study.get_trials() if t.state.name == "COMPLETE"]
    assert len(complete) == len(found.settings) == 5


def test_the_tuned_program_is_saved_and_loaded(tmp_path):
    made = cheapest()
    made.save(tmp_path / "tuned.json")
    from rankings import Ranking

    assert load(tmp_path / "tuned.json", task=Ranking()).controller.width == 3


def test_a_pipeline_is_tuned_by_paths():
    class Pipeline(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.solve = program()

        def forward(self, need: str) -> Any:
            return self.solve(need=need)

    space = {f"solve.{name}": value for name, value in ONLY.items()}
    made = tuned(Pipeline(), space=space, pick="cheapest")
    assert made.solve.controller.width == 3


def test_scores_that_are_a_matter_of_degree_are_raced_by_wilcoxon():
    """One objective, scores of 1 / (1 + |width - 4|) and a little that hangs on the example."""

    def metric(example: Any, prediction: Any, trace: Any = None) -> float:
        kept = prediction.search.spent.calls - 1
        return 1 / (1 + abs(kept - 4)) + int(example.need.partition("#")[2]) / 1000

    with dspy.context(lm=model()):
        made = SearchTuner(metric, trials=8, num_threads=2, cost=None).compile(program(8), trainset=SET, space=ONLY)
    found = made.detailed_results
    assert made.controller.width == 4
    assert sum(s.beaten_by is not None for s in found.settings.values()) >= 3


# ---- what the result carries along


def test_what_was_tried_is_no_part_of_the_program():
    made = cheapest()
    assert [name for name, _ in made.named_predictors()] == ["propose.predict"]
    assert [path for path, _ in programs_in(made)] == [""]
    again = tuned(made, trials=2, pick="cheapest")
    assert set(again.detailed_results.values) == set(made.detailed_results.values)
    assert not hasattr(again.candidate_programs[0]["program"], "candidate_programs")  # or it would grow with each round
    described = [describe(one, Scorer(solved), SET, []) for one in (made, without_evidence(made))]
    assert described[0] == described[1]


def test_copies_share_what_was_found_and_no_pickle_holds_the_study():
    made = cheapest()
    assert deepcopy(made).detailed_results is made.detailed_results
    kept = pickle.loads(pickle.dumps(made.detailed_results))
    assert kept.dump() == made.detailed_results.dump()
    assert (kept.study, made.detailed_results.study is None) == (None, False)  # its storage may have a password


@pytest.mark.parametrize("share", [True, False])
def test_the_budget_holds_over_all_runs(tmp_path, share: bool):
    """72 calls in the race; the 38 that are left end in the middle of the final stage, and no further run has more."""
    from engines import Engine, lm

    engine = Engine(lambda kind, inputs, n: {"next_thoughts": "\n".join(map(str, range(1, 9)))})
    for _ in range(3):
        found = tuned(lm=lm(engine), budget=110, trials=1, share=share, log_dir=tmp_path).detailed_results
        assert 105 <= engine.count() <= 110
    assert 0 < found.verdict.tuned.n < 24


@pytest.mark.parametrize("share", [True, False])
def test_a_setting_that_the_budget_cut_is_taken_up_again(tmp_path, share: bool):
    """28 calls of the first 40 are the race's: 14 of the default's 36 examples, at 2 calls. It needs 72 and 48."""
    given: dict[str, Any] = {"trials": 1, "num_threads": 1, "share": share, "log_dir": tmp_path}
    first = tuned(budget=40, **given).detailed_results
    (cut,) = first.settings.values()
    assert (len(cut.results.by_example), first.verdict, first.ended) == (14, None, "calls")
    second = tuned(budget=1000, **given).detailed_results
    (whole,) = second.settings.values()
    assert (whole.values, len(whole.results.by_example), second.ended) == (cut.values, 60, "trials")
    assert second.paid == 120 - 28
    assert (first.study_paid, second.study_paid) == (28, 120)
    assert "; 92 LM calls here; by the ledger 120 paid by all processes and runs" in second.summary()
    assert second.verdict.default.n == 24


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"log_dir='.*file': is no folder that can be written to: .*File exists"):
        tuned(log_dir=tmp_path / "file")


def test_a_sampler_without_its_library_is_refused_before_anything_is_paid(monkeypatch: pytest.MonkeyPatch):
    """Optuna would draw ten trials at random first, and then fail."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"^sampler=GPSampler: needs torch: pip install torch$"):
        tuned(sampler=optuna.samplers.GPSampler(seed=0))


def test_what_is_no_sampler():
    with pytest.raises(TypeError, match=r"^sampler='tpe': must be one of Optuna's, such as optuna\.samplers\.Random"):
        tuned(sampler="tpe")


@pytest.mark.parametrize("cost", ["calls", None])
@pytest.mark.parametrize(
    "sampler",
    [
        lambda: optuna.samplers.GridSampler({"controller.width": [2, 4, 6]}),
        lambda: optuna.samplers.BruteForceSampler(),
        lambda: optuna.samplers.NSGAIISampler(seed=0),
        lambda: optuna.samplers.QMCSampler(seed=0, warn_independent_sampling=False),
    ],
    ids=["grid", "every", "genetic", "quasi-random"],
)
def test_samplers_of_the_users_own(sampler: Any, cost: Any):
    """A grid comes to its end: the default of 1 and its own three; so does one that tries all there are."""
    given = {"space": ONLY | {"controller.width": (1, 6)}, "trainset": SET[:16]}
    found = tuned(sampler=sampler(), cost=cost, trials=7, **given).detailed_results
    widths = [setting.values["controller.width"] for setting in found.settings.values()]
    assert (widths[0], len(set(widths))) == (1, len(widths))
    if isinstance(found.study.sampler, optuna.samplers.GridSampler):
        assert (sorted(widths), found.ended) == ([1, 2, 4, 6], "nothing new")
    if isinstance(found.study.sampler, optuna.samplers.BruteForceSampler):
        assert (sorted(widths), found.ended) == ([1, 2, 3, 4, 5, 6], "nothing new")


@pytest.mark.parametrize("at", [5, 80, 200])
def test_what_was_interrupted_goes_on(tmp_path, at: int):
    """In the default's trial, in a later one, in the end of another: no trial is lost, and no reply paid for again."""
    from engines import Engine, lm

    def reply(kind: Any, inputs: dict[str, str], n: int) -> dict[str, str]:
        if n == at:
            raise KeyboardInterrupt
        return {"next_thoughts": "\n".join(map(str, range(1, 9)))}

    engine = Engine(reply)
    settings = {"lm": lm(engine), "log_dir": tmp_path, "trials": 4, "num_threads": 1, "pick": "cheapest"}
    with pytest.raises(KeyboardInterrupt):
        tuned(**settings)
    found = tuned(**settings).detailed_results
    lines = map(json.loads, (tmp_path / "replies.jsonl").read_text().splitlines())
    keys = [line["key"] for line in lines if "key" in line]
    assert len(keys) == len(set(keys))
    assert engine.count() == len(keys) + 1  # the one that broke off
    values = [setting.values["controller.width"] for setting in found.settings.values()]
    assert (len(values), len(set(values)), 1 in values) == (4, 4, True)
    default = next(s for s in found.settings.values() if s.values["controller.width"] == 1)
    assert default.results.has(found.raced)


class Twice(dspy.Module):
    """A pipeline of two searches."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.then = program(), [program()]

    def forward(self, need: str) -> Any:
        self.first(need=need)
        return self.then[0](need=need)


def judged(example: Any, prediction: Any, trace: Any = None) -> bool:
    """Asks the LM once, and goes by what code has checked."""
    dspy.Predict("need -> next_thoughts")(need=example.need)
    return bool(prediction.search.solved)


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("metric", [solved, judged])
def test_pipelines_and_judges_share_their_calls_and_keep_to_the_budget(metric: Any, share: bool):
    """Two equal searches of 2 calls an example, and a judge's one."""
    from engines import Engine, lm

    engine = Engine(lambda kind, inputs, n: {"next_thoughts": "\n".join(map(str, range(1, 9)))})
    space = {f"{path}.{name}": value for name, value in ONLY.items() for path in ("first", "then[0]")}
    space |= {"first.controller.width": 1, "then[0].controller.width": 1}
    with dspy.context(lm=lm(engine)):
        tuner = SearchTuner(metric, trials=1, num_threads=4, share=share)
        found = tuner.compile(Twice(), trainset=SET[:20], space=space).detailed_results
        each = (2 if share else 4) + (metric is judged)
        assert (found.paid, engine.count()) == (20 * each, 20 * each)
        before = engine.count()
        tuner = SearchTuner(metric, trials=1, num_threads=4, share=share, budget=60)
        found = tuner.compile(Twice(), trainset=SET, space=space).detailed_results
        assert 0 < engine.count() - before == found.paid <= 60


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("way", ["context", "bound", "called", "pipeline"])
def test_calls_of_an_lm_that_the_users_code_names_are_paid_from_the_budget_too(way: str, share: bool):
    """One an example, which nobody can refuse: of the 42 calls of the race, those in flight may be beyond."""
    from engines import Engine, lm

    engine, judges = (Engine(lambda kind, inputs, n: dict.fromkeys(kind, "1")) for _ in range(2))
    judge, own = lm(judges, model="stub/judge"), dspy.Predict("need -> ok")
    own.lm = judge if way == "bound" else None

    def asked(need: str) -> None:
        if way == "called":
            judge(need)
        with dspy.context(lm=judge if way in ("context", "pipeline") else dspy.settings.lm):
            if way != "called":
                own(need=need)

    def metric(example: Any, prediction: Any, trace: Any = None) -> bool:
        if way != "pipeline":
            asked(example.need)
        return bool(prediction.search.solved)

    class Asks(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.solve = program()

        def forward(self, need: str) -> Any:
            asked(need)
            return self.solve(need=need)

    student = Asks() if way == "pipeline" else program()
    tuner = SearchTuner(metric, trials=2, num_threads=4, share=share, budget=60)
    with dspy.context(lm=lm(engine)):
        found = tuner.compile(student, trainset=SET).detailed_results
    paid = engine.count() + judges.count()
    assert judges.count() >= 10
    assert 40 <= paid <= 42 + 4
    assert (found.paid, found.study_paid, found.ended) == (paid, paid, "calls")


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("bound", [True, False])
def test_tokens_of_a_pipelines_own_part_are_paid_from_the_budget_too(bound: bool, share: bool):
    """Its calls have 100 each, and the searches' 2, if it has an LM of its own; the race may take 700."""
    from engines import Engine, lm

    class Drafts(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.draft, self.solve = dspy.Predict("need -> next_thoughts"), program()

        def forward(self, need: str) -> Any:
            self.draft(need=need)
            return self.solve(need=need)

    large, small = (Engine(lambda kind, inputs, n: dict.fromkeys(kind, "1"), tokens=(t, t)) for t in (50, 1))
    student = Drafts()
    student.draft.lm = lm(large, model="stub/large") if bound else None
    tuner = SearchTuner(solved, trials=2, num_threads=2, share=share, budget=Budget(tokens=1000))
    with dspy.context(lm=lm(small if bound else large)):
        found = tuner.compile(student, trainset=SET).detailed_results
    tokens = 100 * large.count() + 2 * small.count()
    assert 650 <= tokens <= 700 + 200  # at most those of two examples in flight
    assert found.ended == "tokens"


class Awaited(dspy.Module):
    """A pipeline with an asynchronous form only."""

    def __init__(self) -> None:
        super().__init__()
        self.solve = program()

    async def aforward(self, need: str) -> Any:
        return await self.solve.acall(need=need)


def test_a_program_without_a_synchronous_form_is_tuned():
    space = {f"solve.{name}": value for name, value in ONLY.items()} | {"solve.controller.width": [1, 3]}
    made = tuned(Awaited(), space=space, pick="cheapest")
    assert made.solve.controller.width == 3
    assert (made.detailed_results.paid, made.detailed_results.calls) == (4 * 60, (2 + 4) * 60)


class Own(Beam):
    """A controller of the user's own, whose knobs are its own too."""


def test_a_program_by_a_controller_of_the_users_own_is_tuned_in_its_roles():
    student = program()
    student.settings.plan = student.plan.replace(controller=Own(width=3, branching=8, max_depth=2))
    found = tuned(student, trials=2, space={"samples": [1, 2], "propose": "lm", "rate": "code", "temperature": None})
    assert type(found.controller) is Own
    assert {s.values["samples"] for s in found.detailed_results.settings.values()} == {1, 2}
    assert found.detailed_results.verdict.default.score == 1.0


@pytest.mark.parametrize("share", [True, False])
def test_dollars_of_an_unknown_price_are_no_ceiling(share: bool):
    with pytest.raises(Exception, match=r"cannot be held: the price of .* is unknown; give its prices, or use tokens="):
        tuned(budget=Budget(cost=1.0), share=share, trials=2)


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("ceiling", ["cost", "tokens"])
@pytest.mark.parametrize("amount", [10, 50, 100])
def test_dollars_and_tokens_are_known_after_a_call_and_end_a_study_then(share: bool, ceiling: str, amount: int):
    """A call has 2 tokens of $0.001 each. At most those calls in flight come after the last that was within."""
    from engines import Engine, lm

    engine = Engine(lambda kind, inputs, n: {"next_thoughts": "\n".join(map(str, range(1, 9)))})
    budget = Budget(cost=0.002 * amount) if ceiling == "cost" else Budget(tokens=2 * amount)
    student = program(prices={"stub/model": (1000.0, 1000.0)})
    found = tuned(student, lm=lm(engine), budget=budget, share=share, num_threads=4).detailed_results
    assert 0.7 * amount - 1 <= engine.count() <= amount + 3
    assert (found.paid, found.study_paid, found.ended) == (engine.count(), engine.count(), ceiling)


ALIKE = ONLY | {"controller.width": 3, "controller.best": ["deepest", "seen"]}  # a knob that changes no call


def test_dollars_of_a_reply_that_is_there_count_for_a_setting_as_if_it_were_paid():
    """4 calls of 2 tokens an example, at $0.001 a token."""
    student = program(3, prices={"stub/model": (1000.0, 1000.0)})
    from engines import Engine, lm

    engine = Engine(lambda kind, inputs, n: {"next_thoughts": "\n".join(map(str, range(1, 9)))})
    found = tuned(student, lm=lm(engine), cost="dollars", trials=2, space=ALIKE).detailed_results
    costs = [setting.results.cost() for setting in found.settings.values()]
    assert costs == [pytest.approx(0.008), pytest.approx(0.008)]
    assert found.verdict.saving == pytest.approx(0.0)
    assert engine.count() == 4 * len(SET)


@pytest.mark.parametrize("share", [True, False])
def test_as_a_cost_dollars_of_an_unknown_price_are_refused_before_anything_is_paid(share: bool):
    from engines import Engine, lm

    engine = Engine(lambda kind, inputs, n: {"next_thoughts": "\n".join(map(str, range(1, 9)))})
    with pytest.raises(ValueError, match=r"^cost='dollars': the price of stub/model \(role propose\) is not known"):
        tuned(lm=lm(engine), cost="dollars", share=share)
    assert engine.count() == 0


@pytest.mark.parametrize("share", [True, False])
def test_so_are_those_of_a_pipelines_own_calls_once_one_was_made(share: bool):
    from engines import Engine, lm

    class Drafts(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.draft, self.solve = dspy.Predict("need -> next_thoughts"), program(prices={"stub/model": (1.0, 1.0)})

        def forward(self, need: str) -> Any:
            self.draft(need=need)
            return self.solve(need=need)

    engine = Engine(lambda kind, inputs, n: {"next_thoughts": "\n".join(map(str, range(1, 9)))})
    student, space = Drafts(), {f"solve.{name}": value for name, value in ONLY.items()}
    student.solve.set_lm(lm(engine))
    with pytest.raises(Hopeless, match="cost='dollars': the price of an LM that was called is not known"):
        tuned(student, lm=lm(engine, model="stub/other"), cost="dollars", share=share, space=space, num_threads=1)
    assert engine.count() == 3


def test_where_time_is_the_cost_no_setting_is_faster_for_what_another_one_has_asked():
    """Two settings whose calls are the same ones: each makes them all."""
    from engines import Engine, lm

    engine = Engine(lambda kind, inputs, n: {"next_thoughts": "\n".join(map(str, range(1, 9)))})
    found = tuned(program(3), lm=lm(engine), cost="seconds", trials=2, space=ALIKE).detailed_results
    assert found.calls == found.paid == engine.count()
    assert engine.count() >= 2 * 4 * 8  # of the first 8 examples, after which one may be left


@pytest.mark.parametrize("share", [True, False])
def test_a_study_whose_time_is_up_waits_for_nothing_that_hangs(share: bool):
    """A pipeline's own part, which no search ends."""
    release = threading.Event()

    class Hangs(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.solve = program()

        def forward(self, need: str) -> Any:
            release.wait(PATIENCE)
            return self.solve(need=need)

    try:
        space = {f"solve.{name}": value for name, value in ONLY.items()}
        found = tuned(Hangs(), budget=Budget(seconds=1), share=share, space=space).detailed_results
        assert not release.is_set()
    finally:
        release.set()
    assert (found.ended, found.verdict, found.study_paid) == ("seconds", None, 0)


@pytest.mark.parametrize("share", [True, False])
def test_a_limit_around_a_study_ends_it(share: bool):
    from engines import Engine, lm

    engine = Engine(lambda kind, inputs, n: {"next_thoughts": "\n".join(map(str, range(1, 9)))})
    with limit(calls=20):
        found = tuned(lm=lm(engine), share=share, trials=2).detailed_results
    assert (engine.count(), found.ended, found.verdict) == (20, "calls", None)


def test_a_trial_that_another_worker_has_told_is_left_to_it():
    storage = optuna.storages.InMemoryStorage()
    told = list[int]()

    def metric(example: Any, prediction: Any, trace: Any = None) -> bool:
        if not told:
            told.append(1)
            optuna.load_study(study_name="shared", storage=storage).tell(0, state=optuna.trial.TrialState.FAIL)
        return bool(prediction.search.solved)

    with dspy.context(lm=model()):
        tuner = SearchTuner(metric, trials=3, num_threads=2, storage=storage, study="shared")
        found = tuner.compile(program(), trainset=SET[:16], space=ONLY).detailed_results
    assert (found.ended, len(found.settings)) == ("trials", 3)
