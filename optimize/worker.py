"""One process at work on a study: it takes a setting, races it over the examples, and tells the study."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dspy

from . import proposals, studies, trials
from .climb import Climb
from .confirm import Rule
from .extra import needs
from .space import Space
from .trials import Setting, key_of
from .trying import Hopeless, Spent, with_shared_calls

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial, Trial

logger = logging.getLogger(__name__)

ALIKE = 2  # proposals in a row that were there before, after which one is drawn at random
AGAIN = 20  # such proposals of a sampler that is the user's own, after which it is taken to have no others
GIVES_WAY, POLL = 2.0, 0.05  # seconds that a later trial of the same values has to be withdrawn, if it will be
FRUITLESS = 5  # settings in a row of which no example could be scored, after which no other is tried
RETRIES = 3  # of a trial whose worker was lost
SAME, OVER = "same_as", "over_the_cap"  # attributes of a trial


@dataclass(slots=True)
class Worker:
    """student: the program that settings are made of. climb: how far each of them goes.

    cap: trials of the study, over all its workers. alone: whether the study's sampler, which is the user's own,
    proposes all settings but the first.
    """

    study: optuna.Study
    space: Space
    student: dspy.Module
    climb: Climb
    rule: Rule
    cap: int
    seed: int = 0
    alone: bool = False
    stopped: str | None = None
    _alike: int = field(default=0)
    _fruitless: int = field(default=0)

    def _settings(self) -> list[Setting]:
        return self.climb.seen.settings()

    def work(self) -> str:
        """Try settings until there is a reason to end, and give it."""
        taken = needs("optuna").exceptions.UpdateFinishedTrialError
        while self.stopped is None:
            try:
                if (trial := self._next()) is not None:
                    self._race(*trial)
            except taken as error:  # two had got it, or this one was silent for so long that it counted as lost
                logger.warning("another worker has told this trial: %s", error)
        return self.stopped

    # ---- the next setting

    def _next(self) -> tuple[Trial, dict[str, Any]] | None:
        """A trial and its values; None: look again, or end if `stopped` says why."""
        self._take_over_lost()
        found = self.study.get_trials(deepcopy=False)
        if not found:
            proposals.ask_for_what_there_is(self.study, self.space, self.cap)
        if sum(map(_counts, found)) >= self.cap:
            self.stopped = "trials"
            return None
        if self.alone:
            if self._alike >= AGAIN:
                self.stopped = "nothing new"
                return None
        elif self._alike >= ALIKE:  # a model of what is good keeps coming back to it
            if not proposals.ask_for_an_unseen_one(self.study, self.space, self._settings(), self.seed):
                self.stopped = "nothing new"
                return None
        elif proposals.is_a_neighbours_turn(sum(map(_counts, found))) and not any(map(_waits, found)):
            proposals.ask_for_a_neighbour(
                self.study, self.space, self._settings(), self.rule, self.climb.order, self.seed
            )
        trial = self.study.ask()
        values = self.space.suggest(trial)
        trial.set_user_attr("worker", studies.me())
        trial.set_user_attr("values", values)
        trial.set_user_attr("key", key_of(values))
        if self.study.get_trials(deepcopy=False)[trial.number].user_attrs.get("worker") != studies.me():
            return None  # SQLite may give one waiting trial to two that ask at once
        return None if self._withdrawn(trial, key_of(values)) else (trial, values)

    def _withdrawn(self, trial: Trial, key: str) -> bool:
        """Whether this trial is not to be run: one too many, or the same as another one."""
        earlier = [t for t in self.study.get_trials(deepcopy=False) if t.number < trial.number and _counts(t)]
        if len(earlier) >= self.cap:
            trial.set_user_attr(OVER, True)
            self._fail(trial)
            self.stopped = "trials"
            return True
        same = self._same(trial.number, key)
        if same is not None:
            self._alike += 1
            trial.set_user_attr(SAME, same)
            self._fail(trial)
            return True
        self._alike = 0
        return False

    def _same(self, number: int, key: str) -> int | None:
        """Another trial of these values, which goes on where this one does not; None: there is none.

        Two workers may come to the same values at once. Each writes down its own before it looks, so at least one sees
        the other. The later one gives way if it is the one that sees; else it runs already, and the earlier one does.
        """
        until = time.monotonic() + GIVES_WAY
        while True:
            alike = [
                t.number
                for t in self.study.get_trials(deepcopy=False)
                if t.number != number and _counts(t) and t.user_attrs.get("key") == key
            ]
            if not alike:
                return None
            if min(alike) < number or time.monotonic() >= until:
                return min(alike)
            time.sleep(POLL)

    def _take_over_lost(self) -> None:
        """Trials whose process is gone are failed, and asked for again."""
        optuna = needs("optuna")
        running = optuna.trial.TrialState.RUNNING
        for trial in self.study.get_trials(deepcopy=False, states=(running,)):
            if not studies.lost(trial):
                continue
            try:
                self._tell_study(trial.number, None, optuna.trial.TrialState.FAIL)
            except (ValueError, optuna.exceptions.UpdateFinishedTrialError):
                continue  # another worker was faster
            tried = trial.user_attrs.get("retry", 0) + 1
            if tried <= RETRIES:
                self._ask_again(trial, tried)

    def _ask_again(self, trial: Trial | FrozenTrial, tried: int) -> None:
        """For what was not tried to its end; what is known of it goes with it."""
        if "values" not in trial.user_attrs:
            return
        kept = ("values", "key", "results", trials.CHANGE)
        known = {name: trial.user_attrs[name] for name in kept if name in trial.user_attrs}
        known |= {"retry": tried, "retry_of": trial.number}
        self.study.enqueue_trial(trial.params, user_attrs=known)

    def _fail(self, trial: Trial) -> None:
        self._tell_study(trial, None, needs("optuna").trial.TrialState.FAIL)

    def _tell_study(self, trial: Trial | int, values: Any, state: Any = None) -> None:
        """Samplers that come to the end of what they propose, as of a grid, stop Optuna's own loop; here it is ours."""
        number = trial if isinstance(trial, int) else trial.number
        try:
            self.study.tell(trial, values, state=state)
        except (RuntimeError, KeyError):  # KeyError: a grid looks for its mark on a trial that it did not propose
            told = self.study.get_trials(deepcopy=False)[number]
            if not self.alone or not told.state.is_finished():
                raise
            if not any(map(_waits, self.study.get_trials(deepcopy=False))):
                self.stopped = self.stopped or "nothing new"

    # ---- one setting

    def _race(self, trial: Trial, values: dict[str, Any]) -> None:
        setting = Setting(trial.number, values, trials.results_of(trial.user_attrs))
        try:
            program = with_shared_calls(self.space.settle(self.student, values), self.climb.trier.recording)
        except (ValueError, TypeError) as error:
            setting.error = str(error)
            trial.set_user_attr("error", setting.error)
            self._fail(trial)
            self._alike += 1
            return
        try:
            with studies.alive(trial):
                self.climb.up(trial, setting, program, to_its_end=setting.key == key_of(self.space.defaults()))
        except Spent as spent:  # a run with more to spend goes on where it was
            self.stopped = spent.why
            trials.write(trial, setting)
            self._fail(trial)
            self._ask_again(trial, trial.user_attrs.get("retry", 0))
            return
        except BaseException:  # Ctrl-C too: it goes on where it was, as after a kill
            trials.write(trial, setting)
            self._fail(trial)
            self._ask_again(trial, trial.user_attrs.get("retry", 0))
            raise
        trials.write(trial, setting)
        if (outcome := self.climb.outcome(trial, setting)) is None:
            self._fail(trial)
        else:
            self._tell_study(trial, outcome)
        self._look_for_fruit(setting)

    def _look_for_fruit(self, setting: Setting) -> None:
        """Failed trials count under no cap: where all fail, somebody must end it."""
        self._fruitless = 0 if setting.results.score() is not None else self._fruitless + 1
        if self._fruitless < FRUITLESS:
            return
        if any(found.results.score() is not None for found in self._settings()):
            self.stopped = "settings that cannot be scored"
            return
        error = next(one.error for one in setting.results.by_example.values())
        raise Hopeless(f"no example of {FRUITLESS} settings could be scored; the last failed with: {error}")


def _counts(trial: FrozenTrial) -> bool:
    """Whether it is one of the study's trials: not a withdrawn one, nor one that waits to be asked for."""
    return trial.state.name not in ("FAIL", "WAITING")


def _waits(trial: FrozenTrial) -> bool:
    return trial.state.name == "WAITING"
