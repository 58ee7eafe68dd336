"""From a claim to its numbers: measured once, remembered as long as nothing that they depend on has changed.

A result is kept as JSON in the user's cache folder, under a hash of the package's code (all that an experiment may
call) and of the corpora's checksums. A file that cannot be read counts as absent: the claim is measured again.
"""

import hashlib
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lmexplain import experiments, resources
from lmexplain.experiments import Experiment, Verdict
from lmexplain.study.data import Claim, find_claim

__all__ = ["Record", "cache_dir", "judge", "measure", "remembered"]

VERSION = 1
ABOVE = ("views", "study", "words", "site.py", "lab.py", "cli.py", "__main__.py")  # what no experiment depends on


@dataclass(frozen=True)
class Record:
    """A result and how it was obtained; `seconds` is how long the measurement took, `fresh` whether it is of now."""

    result: Experiment
    length: str
    seed: int
    seconds: float
    fresh: bool


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
    """The most thorough result in memory; None where nothing was measured with the code as it stands."""
    if not claim.experiment:
        return None
    found = (_recall(claim, length, seed) for length in reversed(experiments.LENGTHS))
    return next((record for record in found if record), None)


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
    """Written beside its place and moved there, so that no one ever reads half a file. A full disk is no error."""
    place = _place(claim, length, seed)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=place.parent, encoding="utf-8", suffix=".part", delete=False) as part:
            json.dump({"version": VERSION, "seconds": seconds, "result": experiments.to_json(result)}, part)
        os.replace(part.name, place)
    except OSError:
        pass  # remembering is a convenience
