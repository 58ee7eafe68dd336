"""Measured once, remembered while nothing changes: the cache of results."""

import json

import pytest

from lmexplain import experiments, study
from lmexplain.study import ledger
from lmexplain.study.data import find_claim


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
    assert ledger.remembered(find_claim("C123")) is None
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
