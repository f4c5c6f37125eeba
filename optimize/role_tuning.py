"""What tuning single roles came to, and what it did for the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .evaluation import EvaluationResult
from .gathering import Gathered
from .paired import Difference
from .role_example import RoleExample


@dataclass(frozen=True, slots=True)
class TunedRole:
    """examples: on how many the role was tuned; good, bad: of those that have a class. why_not: why it was left as it
    was, or None. found: what the optimizer says of its own result, where it says anything. broke: whether one of its
    steps failed and it went on with what it had, as BetterTogether does.
    """

    examples: int
    good: int
    bad: int
    why_not: str | None
    found: Any = None
    broke: bool = False

    @classmethod
    def of(cls, examples: Sequence[RoleExample], why_not: str | None, tuned: Any) -> TunedRole:
        truths = [example.truth for example in examples]
        told = getattr(tuned, "detailed_results", None)
        broke = bool(getattr(tuned, "flag_compilation_error_occurred", False))
        return cls(len(examples), truths.count(True), truths.count(False), why_not, told, broke)

    @property
    def changed(self) -> bool:
        return self.why_not is None


@dataclass(frozen=True, slots=True)
class RoleTuning:
    """runs, accepted: examples that were searched, and those of them with a right answer. calls: LM calls that those
    searches made. errors: of the runs that failed. roles: by name. before, after: the whole program on fresh examples,
    without and with the tuned roles. difference: after minus before, by pairs; None where none was scored for both.
    kept: whether the tuned roles were: where the whole does no worse with them, and fails no more often.
    """

    runs: int
    accepted: int
    calls: int
    errors: tuple[str, ...]
    roles: dict[str, TunedRole]
    before: EvaluationResult
    after: EvaluationResult
    difference: Difference | None
    kept: bool

    @classmethod
    def of(
        cls,
        gathered: Sequence[Gathered],
        roles: dict[str, TunedRole],
        before: EvaluationResult,
        after: EvaluationResult,
    ) -> RoleTuning:
        try:
            difference = after.against(before)
        except ValueError:  # nothing was scored for both
            difference = None
        changed = any(role.changed for role in roles.values())
        return cls(
            runs=len(gathered),
            accepted=sum(one.accepted for one in gathered),
            calls=sum(seen.result.spent.calls for one in gathered for seen in one.searches),
            errors=tuple(one.error for one in gathered if one.error is not None),
            roles=roles,
            before=before,
            after=after,
            difference=difference,
            kept=changed
            and difference is not None
            and difference.difference >= 0
            and len(after.errors) <= len(before.errors),  # a failure is no score: the difference knows nothing of it
        )

    def summary(self) -> str:
        """A few lines: what was tuned on what, and what it did for the whole."""
        failed = f", {len(self.errors)} failed" if self.errors else ""
        ran = f"{self.accepted} of {self.runs} runs were accepted{failed}; {self.calls} calls"
        lines = [ran if self.runs else "by what earlier searches left"]
        for name, role in self.roles.items():
            classes = f" ({role.good} good, {role.bad} bad)" if role.good or role.bad else ""
            told = f"tuned on {role.examples} examples{classes}" if role.changed else f"as it was: {role.why_not}"
            lines.append(f"  {name}: {told}" + "; a step of the optimizer failed, see the log" * role.broke)
        if self.difference is None:
            lines.append("the whole program: nothing was scored for both; it is as it was")
        elif not any(role.changed for role in self.roles.values()):
            lines.append(f"the whole program is as it was, at {self.before.score}")
        else:
            worse = "does worse" if self.difference.difference < 0 else "fails more often"
            what = "kept" if self.kept else f"left out, since the whole {worse} with them"
            lines.append(
                f"the whole program: {self.before.score} before, {self.after.score} after, "
                f"{self.difference.summary()}; the tuned roles are {what}"
            )
        return "\n".join(lines)
