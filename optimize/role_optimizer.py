"""`RoleOptimizer`: any DSPy optimizer on one role at a time, at one call an example; then the whole is checked."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

import dspy
from dspy.teleprompt import Teleprompter

from ..modules.calls.adapter import search_adapter
from ..modules.parts import copy_of
from ..modules.program import Program
from ..modules.roles import OURS, lms_of
from .evaluate import Evaluate
from .gathering import Gathered, Gatherer
from .metrics import solved
from .role_example import RoleExample
from .role_metrics import judging_roles, whole_metric
from .role_sets import ROLES, Sets, role_examples, sets_of
from .role_tuning import RoleTuning, TunedRole
from .scoring import Scorer
from .space import programs_in

logger = logging.getLogger(__name__)


class RoleOptimizer(Teleprompter):
    """Tunes a program's roles on what its own searches found out, in one line:

        compiled = RoleOptimizer(dspy.GEPA(metric=gepa_metric(solved), ...)).compile(program, trainset=examples)
        print(compiled.detailed_results.summary())

    The program is run once on the examples. Its searches become a data set for each role (`role_examples`), on which
    the optimizer tunes that role alone, a call an example, by how right its replies are; whatever its metric was. Then
    the program with the tuned roles is compared with the one before on examples that were not tuned on, and is given
    back unless it does worse there.

    optimizer: any of DSPy's, or anything with its `compile`. metric: of the whole program (None: the optimizer's own,
    else `solved`); it accepts an answer from metric_threshold on (None: above 0). roles: only these of propose, rate
    and world. compile_args: further ones for the optimizer's `compile`. min_examples: a role with fewer stays as it is;
    so does a rater that has one class alone. holdout: the share of trainset for the end, where there is no valset.
    num_threads: examples at once (None: DSPy's setting, 8). max_errors: runs that may fail (None: DSPy's setting).
    """

    def __init__(
        self,
        optimizer: Any,
        *,
        metric: Callable[..., Any] | None = None,
        metric_threshold: float | None = None,
        roles: Iterable[str] | None = None,
        compile_args: Mapping[str, Any] | None = None,
        min_examples: int = 4,
        holdout: float = 0.3,
        num_threads: int | None = None,
        max_errors: int | None = None,
        proposals_are_all: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if isinstance(optimizer, type) or not callable(getattr(optimizer, "compile", None)):
            raise TypeError(f"optimizer={optimizer!r}: must be an optimizer, such as dspy.GEPA(...)")
        self.roles = ROLES if roles is None else tuple(roles)
        if unknown := [name for name in self.roles if name not in ROLES]:
            raise ValueError(f"roles={self.roles!r}: {unknown[0]!r} is none of {', '.join(map(repr, ROLES))}")
        if not 0 < holdout < 1:
            raise ValueError(f"holdout={holdout!r}: must be a share between 0 and 1")
        if not isinstance(min_examples, int) or isinstance(min_examples, bool) or min_examples < 1:
            raise ValueError(f"min_examples={min_examples!r}: must be a whole number of at least 1")
        self.optimizer, self.metric = optimizer, whole_metric(optimizer) if metric is None else metric
        self.scorer, self.metric_threshold = Scorer(self.metric), metric_threshold
        self.compile_args = dict(compile_args or {})
        self.min_examples, self.holdout, self.seed = min_examples, holdout, seed
        self.num_threads, self.max_errors = num_threads, max_errors
        self.proposals_are_all = proposals_are_all

    def compile(
        self,
        student: dspy.Module,
        *,
        trainset: Sequence[dspy.Example],
        teacher: dspy.Module | None = None,
        valset: Sequence[dspy.Example] | None = None,
        results: Any = None,
    ) -> dspy.Module:
        """A copy of `student` with tuned roles; one as it was, where they do worse on the whole.

        student: a program of ours, or a pipeline around some. trainset: examples to search. teacher: the program that
        is run on them instead. valset: examples for the end. results: what earlier searches of trainset left (see
        `role_examples`), instead of running any; of a program of ours alone, and with a valset. The copy has
        `detailed_results` (a RoleTuning) and `candidate_programs`. Raises ValueError for arguments that cannot be
        right, and whatever the optimizer raises.
        """
        inner = dict(programs_in(student))
        if not inner:
            raise ValueError(f"student={type(student).__name__}: there is no search program of ours in it")
        if results is not None and not valset:
            raise ValueError("results=: of what examples they are is known to you alone; give a valset of others")
        train, fresh = self._split(trainset, valset)
        if results is None:
            gathered = self._gatherer(student if teacher is None else teacher).run(train)
            sets = self._sets(inner, gathered)
        else:
            gathered = []
            sets = {"": self._given(student, results, train)}
        made = copy_of(student)
        tuned = dict(self._tune(dict(programs_in(made)), sets))
        return self._checked(student, made, fresh, gathered, tuned)

    # ---- the data

    def _split(
        self, trainset: Sequence[dspy.Example], valset: Sequence[dspy.Example] | None
    ) -> tuple[list[dspy.Example], list[dspy.Example]]:
        if valset:
            if not trainset:
                raise ValueError("trainset=[]: there is nothing to search")
            return list(trainset), list(valset)
        if len(trainset) < 2:
            raise ValueError(f"{len(trainset)} examples in trainset: give at least 2, or a valset")
        places = list(range(len(trainset)))
        Random(self.seed).shuffle(places)
        cut = min(max(1, round(self.holdout * len(places))), len(places) - 1)
        return [trainset[i] for i in sorted(places[cut:])], [trainset[i] for i in sorted(places[:cut])]

    def _gatherer(self, program: dspy.Module) -> Gatherer:
        return Gatherer(
            program,
            self.scorer,
            self.num_threads or dspy.settings.num_threads or 8,
            self.metric_threshold,
            self.proposals_are_all,
            dspy.settings.max_errors if self.max_errors is None else self.max_errors,
        )

    def _sets(self, paths: Iterable[str], gathered: Sequence[Gathered]) -> dict[str, Sets]:
        """Of each program of ours, by its path."""
        seen = [one for run in gathered for one in run.searches]
        return {path: sets_of([one for one in seen if one.path == path], self.roles, seed=self.seed) for path in paths}

    def _given(self, student: dspy.Module, results: Any, examples: Sequence[dspy.Example]) -> Sets:
        if not isinstance(student, Program):
            raise ValueError(f"results=: of a program of ours alone, and this is a {type(student).__name__}")
        return role_examples(
            results,
            student,
            examples=examples,
            metric=None if self.metric is solved else self.metric,
            metric_threshold=self.metric_threshold,
            roles=self.roles,
            proposals_are_all=self.proposals_are_all,
            seed=self.seed,
        )

    # ---- the roles

    def _tune(self, programs: Mapping[str, Program], sets: Mapping[str, Sets]) -> Iterator[tuple[str, TunedRole]]:
        for path, program in programs.items():
            for name in self.roles:
                role, examples = getattr(program, name), sets.get(path, {}).get(name, [])
                if not isinstance(role, OURS):
                    continue
                why = self._too_few(examples)
                found = None if why else self._tuned(program, name, role, examples)
                yield f"{path}.{name}".removeprefix("."), TunedRole.of(examples, why, found)

    def _too_few(self, examples: Sequence[RoleExample]) -> str | None:
        if len(examples) < self.min_examples:
            return f"fewer than {self.min_examples} examples"
        truths = {example.truth for example in examples}
        return "all examples are of one class" if truths in ({True}, {False}) else None

    def _tuned(self, program: Program, name: str, role: Any, examples: list[RoleExample]) -> Any:
        """The optimizer's own result. The role takes its prompt and demonstrations."""
        student = copy_of(role)
        student._compiled = False
        optimizer = judging_roles(self.optimizer)
        accepted = inspect.signature(optimizer.compile).parameters
        unknown = [key for key in self.compile_args if key not in accepted]
        if unknown:
            raise ValueError(
                f"compile_args={self.compile_args!r}: {type(optimizer).__name__}.compile has no {unknown[0]}"
            )
        lm = lms_of(program).get(name)
        if hasattr(optimizer, "optimizers"):  # BetterTogether wants it there; elsewhere, a bound LM costs at each copy
            student.set_lm(lm)
        with dspy.context(lm=lm, adapter=search_adapter(dspy.settings.adapter)):
            found = optimizer.compile(student, **{"trainset": examples, **self.compile_args})
        predictor = role.predict
        predictor.signature = found.predict.signature
        fields = predictor.signature.fields
        predictor.demos = [
            dspy.Example({key: value for key, value in dict(demo).items() if key in fields})
            for demo in found.predict.demos
        ]
        return found

    # ---- the whole

    def _checked(
        self,
        student: dspy.Module,
        made: dspy.Module,
        fresh: list[dspy.Example],
        gathered: Sequence[Gathered],
        tuned: dict[str, TunedRole],
    ) -> dspy.Module:
        changed = any(role.changed for role in tuned.values())
        evaluate = Evaluate(devset=fresh, metric=self.metric, num_threads=self.num_threads, display_progress=False)
        before = evaluate(student)
        after = evaluate(made) if changed else before
        report = RoleTuning.of(gathered, tuned, before, after)
        chosen: Any = made if report.kept else copy_of(student)
        chosen.detailed_results = report
        programs = [{"score": before.score, "program": copy_of(student)}]
        if changed:
            programs.insert(0 if report.kept else 1, {"score": after.score, "program": copy_of(made)})
        chosen.candidate_programs = programs
        logger.info("%s", report.summary())
        return chosen
