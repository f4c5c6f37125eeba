"""A real browser for tests: Debian's chromium, driven by selenium. It has no network but the loopback interface.

Where there is none, tests are skipped with the reason; where THOUGHTREE_BROWSER is set, as in .ci/run, they fail.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

BINARIES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # as root, as in containers
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--window-size=1440,900",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--disable-background-networking",
)


def missing() -> str | None:
    """Why no browser can be had here; None: one can."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed: pip install thoughtree[test]"
    if not any(map(shutil.which, BINARIES)) or not shutil.which("chromedriver"):
        return "no chromium: apt-get install --no-install-recommends chromium chromium-driver"
    return None


def start(*arguments: str) -> Any:
    """A browser. The caller quits it."""
    if (why := missing()) is not None:
        if os.environ.get("THOUGHTREE_BROWSER"):
            pytest.fail(f"THOUGHTREE_BROWSER is set, and there is none: {why}")
        pytest.skip(why)
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = next(path for name in BINARIES if (path := shutil.which(name)))
    for argument in (*ARGUMENTS, *arguments):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(60)
    driver.set_page_load_timeout(60)
    return driver


def colours(driver: Any, scheme: str) -> None:
    """As if the system was light or dark."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def address(path: Path) -> str:
    return path.resolve().as_uri()
