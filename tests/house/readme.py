"""`python -m tests.house.readme`: write into the README what it shows of the package itself."""

from __future__ import annotations

from benchmarks.__main__ import README, inserted
from lmexplain.study import models


def current(readme: str) -> str:
    """The README with the table of the models as it is now."""
    return inserted(readme, "models", models.table(), kind="generated")


if __name__ == "__main__":
    README.write_text(current(README.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
