"""Plots of a study by figures that are known, as pages that need no network; and the study in plain Optuna."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import dspy
import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from rankings import examples, model, program
from thoughtree import SearchTuner, solved
from thoughtree.live_study import LiveStudy
from thoughtree.optimize import Tuning
from thoughtree.optimize.plots import divisions, figures
from thoughtree.optimize.race import Result, Results
from thoughtree.optimize.trials import Setting

optuna.logging.set_verbosity(optuna.logging.WARNING)
RACED = (0, 1, 2, 3)


def setting(number: int, scores: list[float], cost: float, **more: int) -> Setting:
    results = Results({id: Result(score, cost, None) for id, score in enumerate(scores)})
    return Setting(number, {"controller.width": number + 1, "scale": "<b>"}, results, **more)


@pytest.fixture
def tuned() -> Tuning:
    """Settings 1 and 3 are the front; 2 is as good as 1, at a higher cost; 4 was lucky on two examples, and left."""
    settings = {
        1: setting(1, [1, 0, 0, 0], 2.0),
        2: setting(2, [1, 0, 0, 0], 3.0),
        3: setting(3, [1, 1, 1, 0], 4.0),
        4: setting(4, [1, 1], 1.0, beaten_by=3),
    }
    return Tuning(
        values={},
        verdict=None,
        settings=settings,
        raced=RACED,
        fresh=(),
        calls=0,
        paid=0,
        cost="calls",
        ended="trials",
        importances={"controller.width": 0.75, "samples": 0.25},
    )


def traces(figure: object) -> dict[str, tuple[list[float], list[float]]]:
    return {trace.name: (list(trace.x), list(trace.y)) for trace in figure.data}  # type: ignore[attr-defined]


def test_the_front_is_the_reports_own(tuned: Tuning):
    """A setting that was left early is on no front, however lucky it was."""
    front = figures(tuned)["front"]
    assert traces(front) == {"tried": ([3.0], [0.25]), "front": ([2.0, 4.0], [0.25, 0.75])}
    assert front.layout.xaxis.title.text == "calls an example"


def test_the_history_climbs_by_what_ran_to_the_end(tuned: Tuning):
    assert traces(figures(tuned)["history"]) == {
        "left early (fewer examples)": ([4], [1.0]),
        "tried": ([1, 2, 3], [0.25, 0.25, 0.75]),
        "best so far": ([1, 2, 3], [0.25, 0.25, 0.75]),
    }


def test_the_greatest_importance_is_at_the_top(tuned: Tuning):
    (bar,) = figures(tuned)["importances"].data
    assert (list(bar.y), list(bar.x)) == (["samples", "controller.width"], [0.25, 0.75])


def test_values_are_no_markup(tuned: Tuning):
    assert "&lt;b&gt;" in figures(tuned)["front"].data[0].hovertext[0]


def test_what_is_not_known_is_not_drawn(tuned: Tuning):
    tuned.importances.clear()
    assert list(figures(tuned)) == ["front", "history"]


def test_pages_fetch_nothing(tuned: Tuning, tmp_path: Path):
    pages = tuned.plots(tmp_path / "plots")
    assert [page.name for page in pages] == ["front.html", "history.html", "importances.html"]
    for page in pages:
        tags = re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", page.read_text().split("<body>")[1])
        assert tags
        assert not [tag for tag in tags if "src=" in tag or "href=" in tag]


def test_one_page_has_the_script_once(tuned: Tuning):
    sizes = [len(part) for part in divisions(tuned)]
    assert sizes[0] > 1_000_000 > sizes[1] + sizes[2]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a study of four widths. A beam of width 3 solves all, at a call more than it is wide."""
    folder = tmp_path_factory.mktemp("study")
    space = {"controller.width": (1, 4), "controller.branching": 8, "controller.max_depth": 2, "samples": 1}
    space |= {"controller.select": "top", "controller.best": "deepest", "controller.min_score": None, "rate": "code"}
    space |= {"controller.solved_threshold": None, "propose": "lm", "temperature": None}
    with dspy.context(lm=model()):
        tuner = SearchTuner(solved, trials=4, log_dir=folder, study="ranks", num_threads=2)
        tuner.compile(program(), trainset=examples([1, 3] * 12), space=space)
    return folder / "study.log"


def test_a_study_opens_in_plain_optuna_with_all_that_it_knows(log: Path):
    storage = JournalStorage(JournalFileBackend(str(log)))
    (summary,) = optuna.get_all_study_summaries(storage)
    assert summary.study_name == "ranks"
    study = optuna.load_study(study_name="ranks", storage=storage)
    assert study.metric_names == ["score", "calls"]
    assert [direction.name for direction in study.directions] == ["MAXIMIZE", "MINIMIZE"]
    tried = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))  # the others were the same once more
    assert len(tried) == 4
    for trial in tried:
        width = trial.user_attrs["values"]["controller.width"]
        assert trial.params["controller.width"] == width
        if "beaten_by" not in trial.user_attrs and width >= 3:
            assert trial.values == [1.0, 1.0 + width]
        assert trial.user_attrs["examples"] == len(trial.user_attrs["results"])
    front = optuna.visualization.plot_pareto_front(study)
    assert (front.layout.xaxis.title.text, front.layout.yaxis.title.text) == ("score", "calls")


def asked(app: Any, path: str) -> Any:
    """What the dashboard's own server answers, without a network."""
    status: list[str] = []
    request = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "", "SERVER_NAME": "", "SERVER_PORT": "80"}
    request |= {"wsgi.input": io.BytesIO(), "wsgi.errors": io.StringIO(), "wsgi.url_scheme": "http"}
    body = b"".join(app(request, lambda told, *_: status.append(told)))
    assert status == ["200 OK"]
    return json.loads(body)


def test_optunas_dashboard_reads_the_study(log: Path):
    dashboard = pytest.importorskip("optuna_dashboard", reason="needs optuna-dashboard")
    app = dashboard.wsgi(JournalStorage(JournalFileBackend(str(log))))
    (study,) = asked(app, "/api/studies")["study_summaries"]
    assert (study["study_name"], study["directions"]) == ("ranks", ["maximize", "minimize"])
    told = asked(app, f"/api/studies/{study['study_id']}")
    done = [trial for trial in told["trials"] if trial["state"] == "Complete"]
    assert len(done) == 4
    attributes = {pair["key"]: pair["value"] for pair in done[0]["user_attrs"]}
    assert json.loads(attributes["values"])["controller.width"] == 1
    assert attributes["examples"] == "14"  # three fifths of 24: the default runs to the end of the race


def test_the_live_line_tells_what_the_study_knows(log: Path):
    line = LiveStudy(io.StringIO(), log, "ranks").line().plain
    assert line.startswith("4 settings tried  0 running  best 1.000  ")
    assert LiveStudy(io.StringIO(), log.with_name("none.log"), "ranks").line().plain.startswith("the study begins  ")
    assert not log.with_name("none.log").exists()
