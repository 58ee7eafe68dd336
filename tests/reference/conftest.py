"""What each reference test found, kept for `pytest tests/reference --record-verification`.

A test stands for the model that it says (`verified`); one that calls a loop of `naive/` stands for the model in the
name of its file. Its error is the largest that `peers.noted` was told of, as a share of the tolerance. Other tests, and
those that compared no number, are no evidence.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from lmexplain import models
from lmexplain.models import MODELS, Model

from . import peers

VERIFICATION = Path(models.__file__).with_name("verification.json")


@pytest.fixture(autouse=True)
def verified(request: pytest.FixtureRequest, record_property: Callable[[str, Any], None]) -> Iterator[Any]:
    """`verified(type(ours), "a")`: this test holds this model against this rung of the ladder."""
    stem = request.path.stem.removeprefix("test_").replace("_", "-")
    said: dict[str, str] = {}
    if stem in MODELS and "naive" in inspect.getsource(request.function):
        said.update(model=stem, rung="c", case=request.node.originalname)

    def say(model: type[Model], rung: str, case: object) -> None:
        name = next(name for name, known in MODELS.items() if known is model)
        said.update(model=name, rung=rung, case=str(case))

    peers.SHARES.clear()
    yield say
    if peers.SHARES and said:
        record_property("verified", {**said, "worst": max(peers.SHARES)})


class Recorder:
    """Gathers the findings of all workers, and writes them if nothing failed."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self.failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed
        if report.when == "teardown":
            self.found += [value for name, value in report.user_properties if name == "verified"]  # pyright: ignore

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.failed or hasattr(session.config, "workerinput"):
            return
        proved: dict[str, Any] = {name: {} for name in MODELS}
        for one in sorted(self.found, key=lambda x: (x["rung"], x["case"])):
            cases = proved[one["model"]].setdefault(one["rung"], {})
            cases[one["case"]] = max(cases.get(one["case"], 0.0), float(f"{one['worst']:.2g}"))
        versions = {name: version(name).split("+")[0] for name in ("torch", "transformers")}
        text = json.dumps({"versions": versions, "models": proved}, indent=1) + "\n"
        VERIFICATION.write_text(text, encoding="utf-8", newline="\n")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record-verification", default=False):
        config.pluginmanager.register(Recorder())
