"""`python tests/house/release.py dist`: look through a wheel and an sdist before they are published."""

from __future__ import annotations

import email
import re
import sys
import zipfile
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parents[2]
LARGEST = 60 * 1000 * 1000      # bytes of a wheel


def problems(folder: Path) -> list[str]:
    """What is wrong with the wheel and the sdist in a folder; empty where nothing is."""
    wheels, sdists = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    if (len(wheels), len(sdists)) != (1, 1):
        return [f"{folder} holds {len(wheels)} wheels and {len(sdists)} sdists, not one of each; empty it, build again"]
    found = [f"{path.name} has {path.stat().st_size} bytes, more than {LARGEST}" for path in [*wheels, *sdists]
             if path.stat().st_size > LARGEST]
    archive = zipfile.ZipFile(wheels[0])
    metadata = _metadata(archive)
    for licence in ("MIT", "CC-BY-SA-3.0", "OFL-1.1"):
        if licence not in metadata["License-Expression"]:
            found.append(f"the licence expression lacks {licence}: {metadata['License-Expression']}")
    for wanted in ("LICENSE", "OFL.txt", "CC-BY-SA-3.0.txt"):
        if not any(name.endswith("/" + wanted) and "/licenses/" in name for name in archive.namelist()):
            found.append(f"the wheel lacks the licence text {wanted}")
    for folder_name in ("notebooks", "data"):
        if not any(name.startswith(f"lmexplain/_share/{folder_name}/") for name in archive.namelist()):
            found.append(f"the wheel lacks {folder_name}/")
    return found


def changelog_problems(version: str, changelog: str) -> list[str]:
    """A release has its own section, with a date."""
    if re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
        return []
    return [f"CHANGELOG.md has no section `## [{version}] - YYYY-MM-DD`; rename [Unreleased]"]


def _metadata(archive: zipfile.ZipFile) -> Message:
    name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_string(archive.read(name).decode("utf-8"))


if __name__ == "__main__":
    dist = Path(sys.argv[1])
    wheel = next(dist.glob("*.whl"), None)
    stated = _metadata(zipfile.ZipFile(wheel))["Version"] if wheel else "?"
    everything = problems(dist) + changelog_problems(stated, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    print("\n".join(everything) or f"lmexplain {stated} is ready in {dist}")
    sys.exit(bool(everything))
