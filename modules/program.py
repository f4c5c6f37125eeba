"""What all programs are: a dspy.Module whose knobs are a plan, and whose call is one search."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import dspy

from ..search import Budget
from ..search.whole_file import write_whole
from ..tasks import Task
from .combination import check
from .inputs import configured, inputs_of
from .own import FUNCTIONS
from .plan import STRUCTURE, Plan, Settings
from .prediction import SearchPrediction
from .predictor import DAMAGED, check_state, check_versions, without_keys
from .roles import ROLES

if TYPE_CHECKING:
    from .estimate import Estimate
    from .session import Session

# By all copies of a program:
SHARED = ("task", "signature", *(f"{role}_lm" for role in ROLES), *FUNCTIONS)


class Program(dspy.Module):
    """Shared by all programs. A subclass sets `task`, `signature`, `settings`, its functions and its roles."""

    task: Task[Any, Any]
    signature: type[dspy.Signature]
    settings: Settings
    prices: dict[str, tuple[float, float]]  # model -> dollars per million tokens in, out

    # A program has these, or None.
    propose_fn: Any = None
    rate_fn: Any = None
    value_fn: Any = None
    reward_fn: Any = None
    cheap_rate: Any = None
    propose_lm: Any = None
    rate_lm: Any = None
    answer_lm: Any = None
    reflect_lm: Any = None
    world_lm: Any = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        """Roles and knobs are copied; LMs (with their connections), functions and the task are not."""
        copied = type(self).__new__(type(self))
        shared = [getattr(self, name) for name in SHARED] + [predictor.lm for predictor in self.predictors()]
        memo |= {id(self): copied} | {id(thing): thing for thing in shared}
        state: Any = self.__getstate__()
        copied.__setstate__({name: deepcopy(value, memo) for name, value in state.items()})
        return copied

    def __getattr__(self, name: str) -> Any:
        # A role that this program does not need is no attribute: it would be listed, tuned and saved.
        if name in ROLES:
            return None
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """As of any DSPy module, without keys: modules of the user's own are saved by DSPy, which knows few."""
        state: dict[str, Any] = super().dump_state(json_mode=json_mode)
        lms = {name: predictor.lm for name, predictor in self.named_predictors()}
        return {name: without_keys(part, lms.get(name)) for name, part in state.items()}

    def save(self, path: str | Path, save_program: bool = False, modules_to_serialize: list[Any] | None = None) -> None:
        """As of any DSPy module; JSON is written whole or not at all. OSError where it cannot be written."""
        if save_program or Path(path).suffix != ".json":
            super().save(path, save_program, modules_to_serialize)
            return
        with TemporaryDirectory() as folder:
            made = Path(folder) / "program.json"
            try:
                super().save(made)
            except RuntimeError as error:  # a state that is no JSON
                raise RuntimeError(str(error).replace(str(made), str(path))) from error
            write_whole(Path(path), made.read_bytes())

    def load_state(self, state: dict[str, Any], **options: Any) -> None:
        """As for any DSPy module. ValueError for the state of another program; nothing is changed then."""
        if not isinstance(state, Mapping) or "settings" not in state:
            raise ValueError("this is the state of another module: it has no settings of a thoughtree program")
        missing = [name for name, _ in self.named_parameters() if name not in state]
        check(self, self.settings.checked(state["settings"]))
        if missing:
            raise ValueError(f"this is the state of a program that has no {missing[0]}; build this one alike")
        for name, predictor in self.named_predictors():
            check_state(name, predictor, state[name], trusted=options.get("allow_unsafe_lm_state", False))
        try:
            super().load_state(state, **options)
        except DAMAGED as error:
            raise ValueError(f"the state of a predictor is damaged ({type(error).__name__}: {error})") from error

    def load(self, path: str | Path, *args: Any, **options: Any) -> None:
        """As of any DSPy module. ValueError for a file that is damaged, or holds the state of another program."""
        try:
            check_versions(Path(path))
            super().load(path, *args, **options)
        except DAMAGED as error:
            raise ValueError(f"{path}: cannot be loaded into this program ({type(error).__name__}: {error})") from error

    # ---- the plan

    @property
    def plan(self) -> Plan:
        """This program's knobs, frozen; assign another to change them."""
        found: Plan = self.settings.plan
        return found

    @plan.setter
    def plan(self, plan: Plan) -> None:
        for name in STRUCTURE:
            if getattr(plan, name) != getattr(self.plan, name):
                raise ValueError(
                    f"plan.{name}={getattr(plan, name)!r}: this is built into the roles; make a new program"
                )
        check(self, plan)
        self.settings.plan = plan

    @property
    def controller(self) -> Any:
        """The controller; assign another to change it."""
        return self.plan.controller

    @controller.setter
    def controller(self, controller: Any) -> None:
        self.plan = self.plan.replace(controller=controller)

    @property
    def budget(self) -> Budget:
        """The ceilings of one call, defaults included; assign a Budget or a number of calls."""
        return self.plan.limits

    @budget.setter
    def budget(self, budget: Budget | int | None) -> None:
        self.plan = self.plan.replace(budget=budget)

    # ---- calling it

    def forward(self, *args: Any, **kwargs: Any) -> SearchPrediction:
        return self._session(args, kwargs).run()

    async def aforward(self, *args: Any, **kwargs: Any) -> SearchPrediction:
        return await self._session(args, kwargs).arun()

    def _session(self, positional: tuple[Any, ...], given: dict[str, Any]) -> Session:
        if positional:
            first = next(iter(self.signature.input_fields))
            raise TypeError(f"inputs are given by name, as in program({first}=...), and not as {positional!r}")
        plan, runtime = configured(self.plan, given.pop("config", None))
        if plan is not self.plan:
            check(self, plan)
        from .session import Session  # with all that only a call needs

        return Session(self, plan, inputs_of(self.signature, given), **runtime)

    def batch(self, examples: list[Any], *args: Any, **settings: Any) -> Any:
        """As any DSPy module's, but that no example is submitted a second time (and paid twice) for being slow.

        DSPy does so after 120 seconds, which a search may well take; dspy.Evaluate and dspy.Parallel do too, and only
        the latter can be told otherwise: `dspy.Parallel(timeout=0)`.
        """
        if len(args) < 6:  # it may be given by position
            settings.setdefault("timeout", 0)
        return super().batch(examples, *args, **settings)

    def estimate(self, **assumptions: Any) -> Estimate:
        """The most that one call can make, before it is made: see `thoughtree.modules.estimate.estimate`."""
        from .estimate import estimate

        return estimate(self, **assumptions)

    def as_tool(self, name: str | None = None, desc: str | None = None) -> Any:
        """This program as a dspy.Tool, with the signature's input fields as its arguments."""
        from .tool import as_tool

        return as_tool(self, name, desc)
