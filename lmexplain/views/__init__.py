"""Views: what a pattern looks like, to push in a notebook or a page, and to print.

    views.explore(pattern, tokens)      in a notebook: the explorer, a picture where nothing runs
    views.live(pattern, tokens)         the explorer as a widget that Python hears
    views.figure(pattern, tokens)       a matplotlib figure: SVG, PNG, PDF
    views.page(pattern, text)           a standalone HTML page
    views.show.show("window(4)", "…")   what `lmexplain show` does
    views.charts                        numbers against length and by layer

Nothing heavy loads before one of these is named.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import charts, fonts, show
    from .explorer import explore
    from .figures import figure
    from .pages import page
    from .widget import live

__all__ = ["charts", "explore", "figure", "fonts", "live", "page", "register", "show"]

_HOME = {"explore": "explorer", "figure": "figures", "live": "widget", "page": "pages"}


def __getattr__(name: str) -> Any:
    """Load a view when it is first named (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"lmexplain.views has no {name!r}; it offers {', '.join(__all__)}")
    module = importlib.import_module(f"{__name__}.{_HOME.get(name, name)}")
    return getattr(module, name) if name in _HOME else module


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def register(shell: Any) -> None:
    """Let patterns and grids that end a cell of this IPython shell display themselves.

    It goes by the names of their types, so neither imports the other, and nothing loads until one is displayed.
    """
    bundles = shell.display_formatter.mimebundle_formatter
    for module, kind in (("lmexplain.patterns.base", "Pattern"), ("lmexplain.patterns.grid", "Grid")):
        bundles.for_type_by_name(module, kind, _displayed)


def _displayed(value: Any, include: Any = None, exclude: Any = None) -> Any:
    """The explorer of a pattern or grid; of one that is too large for it, the figure."""
    from .display import displayed

    return displayed(value)
