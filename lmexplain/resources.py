"""Where the course's notebooks and data lie: beside the package in a clone, inside it once installed.

Everything that reads `data/` or `notebooks/` asks here, so that no path depends on the working folder.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["clone_root", "data_dir", "notebooks_dir"]

PACKAGE = Path(__file__).resolve().parent


def clone_root() -> Path | None:
    """The top folder of the clone that this package runs from; None for an installed package."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "notebooks").is_dir() else None


def data_dir() -> Path:
    """The folder `data/`. Raises FileNotFoundError where the installation is incomplete."""
    return _folder("data")


def notebooks_dir() -> Path:
    """The folder `notebooks/`. Raises FileNotFoundError where the installation is incomplete."""
    return _folder("notebooks")


def _folder(name: str) -> Path:
    root = clone_root() or PACKAGE / "_share"
    folder = root / name
    if not folder.is_dir():
        raise FileNotFoundError(
            f"lmexplain finds no folder {str(folder)!r}: this installation is incomplete; "
            "install again with `pip install --force-reinstall --no-deps lmexplain`, or work in a clone"
        )
    return folder
