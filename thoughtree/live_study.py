"""One line on the terminal while a study runs: settings tried, the best score, calls paid, over all its workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TextIO

from .live import Painted
from .search import Budget

REPAINTS = 1  # a second: each reads the study


class LiveStudy(Painted):
    """A context manager. storage, name: of the study, which somebody else makes and works at."""

    def __init__(self, stream: TextIO, storage: str | Path, name: str) -> None:
        self.storage, self.name = storage, name
        self._study: Any = None
        super().__init__(stream, REPAINTS)

    def told(self) -> str:
        try:
            told = self._told()
        except Exception:  # not made yet, or out of reach: whoever works at it says what is wrong
            told = "the study begins"
        return f"{told}  {self.seconds:.0f} s"

    def _told(self) -> str:
        import optuna

        from .optimize.ledger import Ledger
        from .optimize.studies import storage_of

        if self._study is None:
            if isinstance(self.storage, Path) and not self.storage.exists():
                return "the study begins"
            self._study = optuna.load_study(study_name=self.name, storage=storage_of(self.storage))
        done = self._study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
        running = self._study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,))
        whole = [trial.values[0] for trial in done if "beaten_by" not in trial.user_attrs]
        paid = Ledger(self._study, Budget()).held()["calls"]
        parts = [f"{len(done)} settings tried", f"{len(running)} running"]
        parts += [f"best {max(whole):.3f}"] if whole else []
        again = len(self._study.user_attrs.get("again", {}))
        parts += [f"{again} runs on fresh examples"] if again else []
        return "  ".join([*parts, f"{paid:,.0f} calls paid"])
