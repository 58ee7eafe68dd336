"""From a claim to its numbers: measured once, remembered as long as nothing that they depend on has changed.

A result is kept as JSON in the user's cache folder, under a hash of the package's code (all that an experiment may
call) and of the corpora's checksums. A file that cannot be read counts as absent: the claim is measured again.
Where nothing was measured on this machine, `ledger.json` beside this file answers: the results that come with the
package, written by `lmexplain claims --run --write` in a clone.
"""

import hashlib
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lmexplain import __version__, experiments, resources
from lmexplain.experiments import Experiment, Verdict
from lmexplain.study.data import Claim, find_claim

__all__ = ["SHIPPED", "Record", "cache_dir", "judge", "measure", "measured", "remembered", "shipped", "write"]

VERSION = 1
SHIPPED = Path(__file__).with_name("ledger.json")
ABOVE = ("views", "study", "words", "site.py", "lab.py", "cli.py", "__main__.py")  # what no experiment depends on


@dataclass(frozen=True)
class Record:
    """A result and how it was obtained; `seconds` is how long the measurement took, `fresh` whether it is of now.

    `versions` is empty for what was measured on this machine; else it says with what the shipped result was made.
    """

    result: Experiment
    length: str
    seed: int
    seconds: float
    fresh: bool
    versions: str = ""


def measure(id: str, length: str = "quick", seed: int = 0) -> Experiment:
    """The result of the experiment behind claim `id`, from memory or measured now. It judges itself: `.verdict()`."""
    return measured(find_claim(id), length, seed).result


def measured(claim: Claim, length: str = "quick", seed: int = 0, again: bool = False) -> Record:
    """Like `measure`, with the circumstances; `again` measures in any case."""
    if not claim.experiment:
        raise ValueError(f"{claim.id} rests on a paper alone ({claim.paper}); there is nothing to run")
    experiments.choose(length, reduced=0, quick=0, thorough=0)  # refuse an unknown length before the cache is asked
    known = None if again else _recall(claim, length, seed)
    if known:
        return known
    start = time.perf_counter()
    result = experiments.run(claim.experiment, length, seed)
    seconds = round(time.perf_counter() - start, 1)
    _keep(claim, length, seed, seconds, result)
    return Record(result, length, seed, seconds, fresh=True)


def remembered(claim: Claim, seed: int = 0) -> Record | None:
    """The most thorough result in memory, made with this very code; else the shipped one of this seed, or None."""
    if not claim.experiment:
        return None
    found = (_recall(claim, length, seed) for length in reversed(experiments.LENGTHS))
    return next((record for record in found if record), shipped(claim, seed))


def shipped(claim: Claim, seed: int = 0) -> Record | None:
    """The result that came with the package; None where it holds none for this experiment and seed."""
    if claim.experiment not in experiments.EXPERIMENTS:
        return None
    try:
        kept = json.loads(SHIPPED.read_text(encoding="utf-8"))
        if kept["version"] != VERSION or kept["seed"] != seed:
            return None
        result = experiments.from_json(experiments.result_type(claim.experiment), kept["results"][claim.experiment])
        versions = ", ".join(f"{name} {made}" for name, made in kept["versions"].items())
        return Record(result, kept["length"], seed, 0.0, fresh=False, versions=versions)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write(records: dict[str, Record], place: Path = SHIPPED) -> None:
    """Make these results (experiment -> record, all of one length and seed) the shipped ones.

    Nothing of the machine or the hour goes in: the same code, versions and seed write the same file.
    """
    (length, seed), *others = {(record.length, record.seed) for record in records.values()}
    if others or set(records) != set(experiments.EXPERIMENTS):
        raise ValueError("the ledger holds every experiment at one length and seed; measure all of them")
    ledger = {
        "version": VERSION,
        "length": length,
        "seed": seed,
        "versions": {"lmexplain": __version__, **{name: version(name).split("+")[0] for name in ("torch", "numpy")}},
        "results": {name: experiments.to_json(records[name].result) for name in experiments.EXPERIMENTS},
    }
    _replace(place, ledger, indent=1)
    place.chmod(0o644)  # a temporary file is its owner's alone, this one is everybody's


def judge(claim: Claim, result: Experiment) -> Verdict:
    """What the numbers say of the claim, by its rule. TypeError for another experiment's result."""
    expected = experiments.EXPERIMENTS.get(claim.experiment)
    if type(result).__name__ != expected:
        raise TypeError(
            f"{claim.id} is measured by {claim.experiment or 'no experiment'}, but this is a {type(result).__name__};"
            f" use study.measure({claim.id!r})"
        )
    return getattr(result, claim.rule)()


def cache_dir() -> Path:
    """LMEXPLAIN_CACHE, or the place where this system keeps what can be made again."""
    named = os.environ.get("LMEXPLAIN_CACHE")
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "lmexplain"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "lmexplain"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lmexplain"


@cache
def fingerprint() -> str:
    """A hash of the code that experiments may call and of the checksums of the corpora."""
    root = Path(resources.__file__).parent
    sources = sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in ABOVE)
    digest = hashlib.sha256()
    for path in (*sources, resources.data_dir() / "corpora.yaml"):
        digest.update(f"{path.name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _place(claim: Claim, length: str, seed: int) -> Path:
    return cache_dir() / "measured" / f"{claim.experiment}-{length}-{seed}-{fingerprint()}.json"


def _recall(claim: Claim, length: str, seed: int) -> Record | None:
    try:
        kept = json.loads(_place(claim, length, seed).read_text(encoding="utf-8"))
        if kept["version"] != VERSION:
            return None
        result = experiments.from_json(experiments.result_type(claim.experiment), kept["result"])
        return Record(result, length, seed, float(kept["seconds"]), fresh=False)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _keep(claim: Claim, length: str, seed: int, seconds: float, result: Experiment) -> None:
    """Kept for another day; a full disk is no error."""
    place = _place(claim, length, seed)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _replace(place, {"version": VERSION, "seconds": seconds, "result": experiments.to_json(result)})
    except OSError:
        pass  # remembering is a convenience


def _replace(place: Path, data: dict[str, Any], indent: int | None = None) -> None:
    """Written beside its place and moved there, so that no one ever reads half a file."""
    with tempfile.NamedTemporaryFile("w", dir=place.parent, encoding="utf-8", suffix=".part", delete=False) as part:
        part.write(json.dumps(data, ensure_ascii=False, indent=indent) + "\n")
    os.replace(part.name, place)
