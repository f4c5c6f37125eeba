"""A study as pictures: its front, its history, and which knobs mattered. Each is drawn from the report's own figures.

Optuna's own plots show every trial by its mean, also of one that was left after eight examples. Here such a setting is
told apart, and never lies on the front; `optuna.visualization` draws `Tuning.study` where those are wanted.
"""

from __future__ import annotations

from html import escape
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..search.whole_file import write_whole
from .extra import needs
from .trials import Setting

if TYPE_CHECKING:
    from .tuning import Tuning

FRONT, TRIED, LEFT = "#1f77b4", "#777777", "#cccccc"  # colours


def figures(tuned: Tuning) -> dict[str, Any]:
    """Plotly figures by name: "front", "history", and "importances" where these are known.

    ImportError without plotly.
    """
    go = needs("plotly.graph_objects")
    found = {"front": _front(go, tuned), "history": _history(go, tuned)}
    if tuned.importances:
        found["importances"] = _importances(go, tuned)
    return found


def save(tuned: Tuning, folder: str | Path) -> list[Path]:
    """A page for each figure, which needs nothing from the network."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pages = []
    for name, figure in figures(tuned).items():
        page = folder / f"{name}.html"
        write_whole(page, figure.to_html(include_plotlyjs=True).encode())
        pages.append(page)
    return pages


def divisions(tuned: Tuning) -> list[str]:
    """The figures as parts of one page; the first brings the script that all of them need."""
    drawn = figures(tuned).values()
    return [figure.to_html(full_html=False, include_plotlyjs=first == 0) for first, figure in enumerate(drawn)]


def _front(go: Any, tuned: Tuning) -> Any:
    """Score against cost, of the settings that ran to the end of the race."""
    on_it = tuned.front
    whole = [s for s in tuned.settings.values() if tuned.point(s) is not None]
    figure = go.Figure()
    groups = (
        ("tried", [s for s in whole if s.number not in on_it], "markers", TRIED),
        ("front", [tuned.settings[number] for number in on_it], "lines+markers", FRONT),
    )
    for name, settings, mode, colour in groups:
        points = [point for s in settings if (point := tuned.point(s)) is not None]
        figure.add_scatter(
            x=[point.cost for point in points],
            y=[point.score for point in points],
            mode=mode,
            name=name,
            marker={"color": colour, "size": 9},
            line={"shape": "hv"},
            hovertext=list(map(_told, settings)),
        )
    return figure.update_layout(
        title="Front: what no other setting beats in both", xaxis_title=f"{tuned.cost} an example", yaxis_title="score"
    )


def _history(go: Any, tuned: Tuning) -> Any:
    """Scores in the order in which settings were tried, and the best so far of those that ran to the end."""
    settings = sorted(tuned.settings.values(), key=lambda s: s.number)
    whole = [s for s in settings if tuned.point(s) is not None]
    left = [s for s in settings if s not in whole and s.results.score() is not None]
    climbed = list(accumulate((_score(tuned, s) for s in whole), max))
    figure = go.Figure()
    figure.add_scatter(
        x=[s.number for s in left],
        y=[s.results.score() for s in left],
        mode="markers",
        name="left early (fewer examples)",
        marker={"color": LEFT, "size": 9},
        hovertext=list(map(_told, left)),
    )
    figure.add_scatter(
        x=[s.number for s in whole],
        y=[_score(tuned, s) for s in whole],
        mode="markers",
        name="tried",
        marker={"color": TRIED, "size": 9},
        hovertext=list(map(_told, whole)),
    )
    figure.add_scatter(
        x=[s.number for s in whole], y=climbed, mode="lines", name="best so far", line={"shape": "hv", "color": FRONT}
    )
    return figure.update_layout(title="History", xaxis_title="setting", yaxis_title="score in the race")


def _importances(go: Any, tuned: Tuning) -> Any:
    """The share of each knob in the score, the greatest at the top."""
    ordered = sorted(tuned.importances.items(), key=lambda pair: pair[1])
    figure = go.Figure()
    figure.add_bar(
        x=[share for _, share in ordered],
        y=[escape(name) for name, _ in ordered],
        orientation="h",
        marker={"color": FRONT},
    )
    return figure.update_layout(title="What mattered for the score", xaxis_title="importance, 0 to 1")


def _score(tuned: Tuning, setting: Setting) -> float:
    score = setting.results.score(tuned.raced)
    assert score is not None
    return score


def _told(setting: Setting) -> str:
    values = "<br>".join(f"{escape(name)}: {escape(repr(value))}" for name, value in setting.values.items())
    return f"setting {setting.number}<br>{values}"
