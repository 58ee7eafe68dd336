"""Measured once, remembered while nothing changes: the cache of results."""

import json
import re

import pytest

from lmexplain import experiments, study
from lmexplain.study import ledger
from lmexplain.study.data import claims, find_claim

MEASURED = [claim for claim in claims().values() if claim.kind != "citation"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LMEXPLAIN_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def result():
    """One real result."""
    return experiments.run("window_cost", "reduced")


@pytest.fixture(autouse=True)
def runs(monkeypatch, result):
    """Every measurement that is asked for; each gives the one real result, so that none takes its time."""
    calls = []

    def counted(*args):
        calls.append(args)
        return result

    monkeypatch.setattr(experiments, "run", counted)
    return calls


def test_a_second_time_comes_from_memory(runs):
    first, second = study.measure("C123", "reduced"), study.measure("C123", "reduced")
    assert first == second and len(runs) == 1
    study.measure("C123", "reduced", seed=1)  # another seed is another measurement
    study.measure("C123", "quick")
    assert runs == [("window_cost", "reduced", 0), ("window_cost", "reduced", 1), ("window_cost", "quick", 0)]


def test_again_measures_again(runs):
    claim = find_claim("C123")
    assert ledger.measured(claim, "reduced").fresh and not ledger.measured(claim, "reduced").fresh
    assert ledger.measured(claim, "reduced", again=True).fresh and len(runs) == 2


def test_changed_code_is_measured_again(runs, monkeypatch):
    study.measure("C123", "reduced")
    monkeypatch.setattr(ledger, "fingerprint", lambda: "another")
    study.measure("C123", "reduced")
    assert len(runs) == 2


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": 1}', '{"version": 0, "seconds": 1, "result": {}}',
                                    '{"version": 1, "seconds": 1, "result": {"width": "x"}}'])  # fmt: skip
def test_a_damaged_file_counts_as_absent(runs, own_cache, damage):
    study.measure("C123", "reduced")
    (file,) = own_cache.rglob("*.json")
    file.write_text(damage, encoding="utf-8")
    assert ledger.remembered(find_claim("C123")) == ledger.shipped(find_claim("C123"))
    study.measure("C123", "reduced")
    assert len(runs) == 2 and json.loads(file.read_text(encoding="utf-8"))["version"] == 1


def test_nothing_half_written_stays_behind(own_cache):
    study.measure("C123", "reduced")
    assert [path.suffix for path in own_cache.rglob("*") if path.is_file()] == [".json"]


def test_a_cache_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("LMEXPLAIN_CACHE", str(tmp_path / "file"))
    assert study.measure("C123", "reduced").verdict().judgement == "correct"


def test_the_most_thorough_result_is_remembered(monkeypatch):
    claim = find_claim("C123")
    ledger.measured(claim, "reduced")
    assert ledger.remembered(claim).length == "reduced"
    ledger.measured(claim, "quick")
    assert ledger.remembered(claim).length == "quick"


def test_what_is_remembered_is_of_the_seed_asked_for(monkeypatch):
    claim = find_claim("C123")
    ledger.measured(claim, "reduced", seed=3)
    assert ledger.remembered(claim, seed=3).seed == 3 and ledger.remembered(claim, seed=3).length == "reduced"
    assert ledger.remembered(claim, seed=0).versions and ledger.remembered(claim, seed=4) is None


# what comes with the package


def kept() -> dict:
    return json.loads(ledger.SHIPPED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("claim", MEASURED, ids=lambda claim: claim.id)
def test_a_fresh_clone_knows_every_measured_verdict(claim):
    record = ledger.remembered(claim)  # the cache is empty
    assert (record.length, record.seed, record.fresh) == ("quick", 0, False)
    assert ledger.judge(claim, record.result).judgement == claim.verdict


def test_the_shipped_ledger_names_versions_and_no_machine():
    assert set(kept()) == {"version", "length", "seed", "versions", "results"}
    assert set(kept()["versions"]) == {"lmexplain", "torch", "numpy"}
    assert all(re.fullmatch(r"[\d.]+\w*", made) for made in kept()["versions"].values())
    assert list(kept()["results"]) == list(experiments.EXPERIMENTS)


def test_writing_again_changes_nothing(tmp_path):
    records = {claim.experiment: ledger.shipped(claim) for claim in MEASURED}
    ledger.write(records, tmp_path / "ledger.json")
    again = json.loads((tmp_path / "ledger.json").read_text(encoding="utf-8"))
    assert {**again, "versions": None} == {**kept(), "versions": None}
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]


def test_half_a_ledger_is_not_written(result, tmp_path):
    record = ledger.Record(result, "reduced", 0, 1.0, fresh=True)
    with pytest.raises(ValueError, match="measure all of them"):
        ledger.write({"window_cost": record}, tmp_path / "ledger.json")


@pytest.mark.parametrize("damage", [None, "", "{}", '{"version": 0}', '{"version": 1, "seed": 0, "results": {}}'])
def test_without_a_ledger_nothing_is_known(monkeypatch, tmp_path, damage):
    monkeypatch.setattr(ledger, "SHIPPED", tmp_path / "ledger.json")
    if damage is not None:
        ledger.SHIPPED.write_text(damage, encoding="utf-8")
    assert ledger.remembered(find_claim("C123")) is None


def test_an_unknown_length_is_refused_before_anything_runs(runs):
    with pytest.raises(ValueError, match="length='forever'"):
        study.measure("C123", "forever")
    assert not runs


def test_the_fingerprint_covers_what_experiments_call_and_no_more():
    root = ledger.Path(ledger.resources.__file__).parent
    covered = {path.relative_to(root).parts[0] for path in root.rglob("*.py")} - set(ledger.ABOVE)
    assert {"patterns", "experiments", "text"} <= covered and "study" not in covered


@pytest.mark.parametrize(
    "platform, variables, tail",
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, ("x", "lmexplain")),
        ("linux", {}, (".cache", "lmexplain")),
        ("darwin", {}, ("Library", "Caches", "lmexplain")),
        ("win32", {"LOCALAPPDATA": "/y"}, ("y", "lmexplain")),
    ],
)
def test_the_cache_lies_where_the_system_keeps_such_things(monkeypatch, platform, variables, tail):
    for name in ("LMEXPLAIN_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(ledger.sys, "platform", platform)
    assert ledger.cache_dir().parts[-len(tail) :] == tail
