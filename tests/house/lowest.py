"""Print the lowest versions that pyproject.toml declares, as pins: what `make oldest` installs.

Only the standard library: it runs before anything is installed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ("pytest", "pytest-xdist", "hypothesis")        # of the test extra, what the oldest tier itself needs


def requirements(extra: str | None = None) -> list[str]:
    """The requirements of the package, or of one of its extras, as they are written."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["optional-dependencies"][extra] if extra else project["dependencies"]


def name(requirement: str) -> str:
    """The distribution's name: `torch>=2.5,<3` -> `torch`."""
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0]


def lowest() -> Iterator[str]:
    """`name==version` for each lower bound."""
    for requirement in [*requirements(), *(tool for tool in requirements("test") if name(tool) in TOOLS)]:
        bound = re.search(r">=\s*([\w.]+)", requirement)
        if bound is None:
            raise ValueError(f"pyproject.toml: {requirement!r} has no lower bound; `make oldest` needs one.")
        yield f"{name(requirement)}=={bound[1]}"


if __name__ == "__main__":
    print("\n".join(lowest()))
