"""What every test gets: no network, a Chromium where there is one, few but repeatable examples, one or two threads.

Test modules may use the fixtures `chromium` (one browser for the session) and `page_offline` (a page of its own that
cannot reach the network, with `page.requests_out` and `page.errors`). Both drive Playwright's synchronous interface,
which keeps an event loop running in this process: run nbclient or nbconvert in a child process beside them.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

ROOT = str(Path(__file__).parents[1])
OFFLINE = str(Path(__file__).parent / "offline")
sys.path.insert(0, OFFLINE)
import guard  # noqa: E402

guard.install()

# Child processes, kernels among them, start under the same rules. They find the clone even where the locale cannot
# spell its path.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [OFFLINE, ROOT, os.environ.get("PYTHONPATH")]))
for _variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
    os.environ[_variable] = "1"
os.environ.setdefault("MPLBACKEND", "Agg")
if "PYTEST_XDIST_WORKER" in os.environ:     # it would inherit what the controller sets
    os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "2")

CHROMIUM_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PLACES = (
    "/usr/bin/chromium", "/snap/bin/chromium",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
NO_CHROMIUM = ("browser tests did not run: no Chromium was found; `.venv/bin/playwright install chromium`, the "
               "system's package, or LMEXPLAIN_CHROMIUM=/path/to/chromium brings one")
IN_CI = os.environ.get("CI") == "true"

try:
    import hypothesis
except ImportError:             # `make oldest` brings pytest alone
    pass
else:
    _quiet = {"deadline": None, "derandomize": True, "database": None,
              "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
    hypothesis.settings.register_profile("default", max_examples=25, **_quiet)
    hypothesis.settings.register_profile("thorough", max_examples=2000, **_quiet)
    hypothesis.settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--save-outputs", action="store_true", help="with -m book: save what the chapters showed in them")
    parser.addoption("--record-verification", action="store_true",
                     help="with tests/reference: write lmexplain/models/verification.json (make verify)")


def find_chromium() -> Path | None:
    """The Chromium to drive: the one named by LMEXPLAIN_CHROMIUM, Playwright's own, or the system's."""
    named = os.environ.get("LMEXPLAIN_CHROMIUM")
    if named:
        return Path(named) if Path(named).is_file() else None
    own = [path for folder in _playwright_folders() for path in sorted(folder.glob("chromium-*/*/*"), reverse=True)
           if path.name in ("chrome", "chrome.exe")]
    own += [path for folder in _playwright_folders()
            for path in sorted(folder.glob("chromium-*/*/*.app/Contents/MacOS/*"), reverse=True)]
    on_path = [Path(found) for found in map(shutil.which, NAMES) if found]
    return next((path for path in [*own, *on_path, *map(Path, PLACES)] if path.is_file()), None)


def _playwright_folders() -> list[Path]:
    home = Path.home()
    folders = [home / place / "ms-playwright" for place in (".cache", "Library/Caches", "AppData/Local")]
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    return [Path(named), *folders] if named and named != "0" else folders


# ------------------------------------------------------------------------------------------------ the browser

@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One Chromium for the session (a playwright.sync_api.Browser)."""
    executable = find_chromium()
    if executable is None:
        (pytest.fail if IN_CI else pytest.skip)(NO_CHROMIUM)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(executable), args=list(CHROMIUM_FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def page_offline(chromium: Any) -> Iterator[Any]:
    """A page in a context of its own: what it asks of the network is refused and listed in `page.requests_out`, what
    goes wrong in it is listed in `page.errors`."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.requests_out, page.errors = [], []
    page.on("console", lambda message: page.errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.errors.append(str(error)))

    def answer(route: Any) -> None:
        if _stays_here(route.request.url):
            route.continue_()
        else:
            page.requests_out.append(route.request.url)
            route.abort()

    context.route("**/*", answer)
    yield page
    context.close()


def _stays_here(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("file", "data", "blob", "about") or parts.hostname in ("localhost", "127.0.0.1", "::1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever drives the browser carries the mark `browser`."""
    for item in items:
        if {"chromium", "page_offline"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.browser)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if find_chromium() is None:
        terminalreporter.write_line(NO_CHROMIUM, yellow=not IN_CI, red=IN_CI)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where continuous integration finds no Chromium, the run has failed: its browser tests are not optional."""
    if IN_CI and session.exitstatus == 0 and find_chromium() is None:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
