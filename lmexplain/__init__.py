"""lmexplain: pretrained language models as code you can read, chapters you can play with and claims you can measure.

Importing the package is light: no torch, no matplotlib. Its rooms load when they are first named::

    from lmexplain.patterns import window, global_tokens
    from lmexplain import views
    views.explore(window(4) | global_tokens(0), tokens="the cat sat on the mat".split())
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmexplain import (
        attention,
        checkpoints,
        experiments,
        layers,
        models,
        patterns,
        resources,
        study,
        text,
        views,
        words,
    )
    from lmexplain.checkpoints import load, save

__version__ = "0.1.0"

__all__ = [
    "__version__", "attention", "checkpoints", "experiments", "layers", "load", "models", "patterns", "resources",
    "save", "study", "text", "views", "words",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a room of the package when it is first named (PEP 562)."""
    if name in ("load", "save"):
        return getattr(importlib.import_module(f"{__name__}.checkpoints"), name)
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"lmexplain has no {name!r}; it offers {', '.join(__all__[1:])}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _register_displays() -> None:
    """In IPython, a pattern that ends a cell displays itself. Displays go by type name, so nothing heavy loads."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        importlib.import_module("lmexplain.views").register(shell)


_register_displays()
