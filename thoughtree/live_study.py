"""One line on the terminal while a study runs: settings tried, the best score, calls paid, over all its workers."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from rich.live import Live
from rich.text import Text

from .output import console
from .search import Budget

REPAINTS = 1  # a second: each reads the study


class LiveStudy:
    """A context manager. storage, name: of the study, which somebody else makes and works at."""

    def __init__(self, stream: TextIO, storage: str | Path, name: str) -> None:
        self.storage, self.name, self.started = storage, name, time.monotonic()
        self._study: Any = None
        self._live = Live(
            console=console(stream),
            refresh_per_second=REPAINTS,
            transient=True,
            redirect_stdout=False,
            get_renderable=self.line,
        )

    def __enter__(self) -> LiveStudy:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def line(self) -> Text:
        try:
            told = self._told()
        except Exception:  # not made yet, or out of reach: whoever works at it says what is wrong
            told = "the study begins"
        seconds = time.monotonic() - self.started
        return Text.assemble(
            f"{told}  {seconds:.0f} s", ("  (Ctrl-C stops)", "dim"), no_wrap=True, overflow="ellipsis", end=""
        )

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
