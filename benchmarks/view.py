"""The viewer with 10,000 nodes in a real browser: what Chromium's own marks say, and how a page grows."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import dspy

from thoughtree import Beam, TreeOfThoughts, view

from .report import Report, Row, at_least, at_most, beside
from .steady import steady_lm

BRANCHING = 5
SIZES = {"1,000": (50, 7), "10,000": (500, 8)}  # the width and the depth of a beam that has about so many nodes
PAINTED, OPENED = 2.0, 100.0  # seconds to the first paint; milliseconds to open all nodes, or a branch
FRAME = 1000 / 30  # milliseconds, while the whole tree is moved
GROWTH = 1.2  # at most, of the bytes a node, for ten times the nodes
LOADS, FRAMES = 5, 60
BINARIES = ("chromium", "chromium-browser", "google-chrome")


def measure(data: Path | None = None) -> Report:
    with TemporaryDirectory() as folder:
        pages = {name: written(Path(folder), name) for name in SIZES}
        (few, small, _), (many, large, seconds) = pages.values()
        each = [page.stat().st_size / nodes for nodes, page in ((few, small), (many, large))]
        rows = [
            at_least("nodes of the tree", many, 10_000),
            *seen(large),
            at_most(
                "bytes a node, for ten times the nodes", each[1] / each[0], GROWTH, "times", f"{each[1]:.0f} bytes"
            ),
            beside("written from its journal in", seconds, "s", f"{large.stat().st_size / 1e6:.1f} MB"),
        ]
    return Report(
        "view",
        "a beam of 10,000 nodes with all its prompts and replies, as one page in headless Chromium",
        rows,
        [
            f"First paint, and all drawn: the median of {LOADS} loads, by the browser's clock, from the navigation on.",
            f"Opened: every node, from all closed: rows, layout and painting; the median of {LOADS}.",
            "A branch: the median of the first six, each closed and opened while all others are open.",
            f"A frame: the mean of {FRAMES}, each with the whole tree moved and painted anew.",
        ],
    )


def written(folder: Path, name: str) -> tuple[int, Path, float]:
    """The nodes of a search, its page, and the seconds that it took to write."""
    width, depth = SIZES[name]
    controller = Beam(width=width, branching=BRANCHING, max_depth=depth)
    solve = TreeOfThoughts("question -> answer", controller=controller, answer="path")
    journal = folder / f"{name}.jsonl"
    with dspy.context(lm=steady_lm(BRANCHING)):
        found = solve(question="What follows?", config={"journal": journal, "budget": None})
    started = time.perf_counter()
    page = view(journal)
    return len(found.search.tree), page, time.perf_counter() - started


def seen(page: Path) -> Iterator[Row]:
    with browser() as chromium:
        loads = [load(chromium, page) for _ in range(LOADS)]
        yield at_most("first paint", median(paint for paint, _ in loads) / 1000, PAINTED, "s")
        yield at_most("the tree is drawn", median(ready for _, ready in loads) / 1000, PAINTED, "s")
        yield at_most("all nodes opened", median(opened(chromium) for _ in range(LOADS)), OPENED, "ms")
        yield at_most("a branch closed and opened", branch(chromium), OPENED, "ms")
        yield at_most("a frame, all nodes in view", frame(chromium), FRAME, "ms")


def load(chromium: Any, page: Path) -> tuple[float, float]:
    chromium.get(page.resolve().as_uri())
    found: list[float] = chromium.execute_async_script(
        """const done = arguments[0], look = () => {
          const paint = performance.getEntriesByName('first-contentful-paint')[0];
          const ready = performance.getEntriesByName('view-ready')[0];
          paint && ready ? done([paint.startTime, ready.startTime]) : requestAnimationFrame(look);
        }; look()"""
    )
    return found[0], found[1]


def opened(chromium: Any) -> float:
    return float(
        chromium.execute_script(
            """performance.clearMeasures(); document.getElementById('collapse-all').click();
            performance.clearMeasures(); document.getElementById('expand-all').click();
            return performance.getEntriesByName('view-expand', 'measure')[0].duration"""
        )
    )


def branch(chromium: Any) -> float:
    """The median of closing and opening the root and the nodes below it, while all is open."""
    return median(
        chromium.execute_script(
            """performance.clearMeasures();
            for (const row of [...document.querySelectorAll('#outline [aria-expanded]')].slice(0, 6))
              for (let twice = 0; twice < 2; twice++)
                document.querySelector(`[data-id="${row.dataset.id}"] .twist`).click();
            return performance.getEntriesByName('view-toggle', 'measure').map((one) => one.duration)"""
        )
    )


def frame(chromium: Any) -> float:
    return float(
        chromium.execute_async_script(
            """const [frames, done] = arguments, canvas = document.querySelector('canvas');
            document.querySelector('[aria-label="Fit the whole tree"]').click();
            canvas.focus();
            let count = 0, started;
            const next = (now) => {
              started ??= now;
              if (count++ === frames) return done((now - started) / frames);
              const key = ['ArrowLeft', 'ArrowRight'][count % 2];
              canvas.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
              requestAnimationFrame(next);
            };
            requestAnimationFrame(next)""",
            FRAMES,
        )
    )


@contextmanager
def browser() -> Iterator[Any]:
    binary = next((path for name in BINARIES if (path := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        print(
            "benchmarks: no chromium: apt-get install --no-install-recommends chromium chromium-driver", file=sys.stderr
        )
        raise SystemExit(2)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1440,900"):
        options.add_argument(argument)
    chromium = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield chromium
    finally:
        chromium.quit()
