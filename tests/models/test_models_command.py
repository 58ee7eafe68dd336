"""`lmexplain models`, and the evidence that it shows."""

from __future__ import annotations

import importlib
import re

import pytest

from lmexplain import cli
from lmexplain.models import MODELS, counts
from lmexplain.study import models as shown
from tests.reference.test_reference import CASES

PROVED = counts.verification()["models"]


def test_every_model_is_proved_and_no_error_is_over_the_tolerance() -> None:
    assert list(PROVED) == list(MODELS), "run `make verify`"
    for name, rungs in PROVED.items():
        assert rungs and rungs.keys() <= shown.RUNGS.keys(), f"{name} has no evidence; run `make verify`"
        for cases in rungs.values():
            assert cases and all(0 <= worst <= 1 for worst in cases.values()), name


def test_the_evidence_names_the_cases_that_there_are() -> None:
    recorded = [case for rungs in PROVED.values() for case in rungs.get("a", {})]
    assert sorted(recorded) == sorted(case.name for case in CASES), "run `make verify`"
    for name, rungs in PROVED.items():
        if "c" in rungs:
            module = importlib.import_module(f"tests.reference.test_{name.replace('-', '_')}")
            assert rungs["c"].keys() <= vars(module).keys(), "run `make verify`"


def test_all_are_listed_with_counts_and_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["models"]) == 0
    said = capsys.readouterr().out
    for row in shown.rows():
        assert f"{row.name}  {row.title}" in said and row.title.endswith(")")
        assert row.difference and all(f"{size.parameters:,}" in said for size in row.sizes)
    assert "proved: not yet" not in said


@pytest.mark.parametrize("name", MODELS)
def test_one_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["models", name]) == 0
    said = capsys.readouterr().out
    parts = [int(n.replace(",", "")) for n in re.findall(r"^  [a-z -]+: ([\d,]+) \(", said, re.MULTILINE)]
    total = re.search(r"^\S+: ([\d,]+) parameters", said, re.MULTILINE)
    assert total and sum(parts) == int(total[1].replace(",", ""))
    assert "Who attends to whom, bottom to top" in said and "In its own words" in said


def test_another_size_is_counted_and_mistakes_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["models", "bert", "--size", "bert-large-cased"]) == 0
    assert "bert-large-cased: 333,579,264 parameters" in capsys.readouterr().out
    for words, says in ((["brt"], "there is no model 'brt'; there is bert"), (["--size", "x"], "name the model too"),
                        (["bert", "--size", "bert-huge"], "no published size 'bert-huge'; there is")):  # fmt: skip
        assert cli.main(["models", *words]) == 2
        assert says in capsys.readouterr().err
