"""`live`: the same explorer as an anywidget, where Python reads what the reader does and answers."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from typing import Any

from ..patterns import Grid, Pattern, from_spec
from ..text import Encoding
from . import fonts
from .modules import as_json, explorer, shared
from .pages import output, shown_by
from .poster import poster
from .sizes import prepare
from .state import state_of

__all__ = ["live"]


def live(
    pattern: Pattern | Grid,
    tokens: str | Sequence[str] | Encoding | None = None,
    *,
    compare: Pattern | Grid | None = None,
    queries: int | None = None,
    keys: int | None = None,
    start: int | None | str = "end",
    lang: str = "en",
    theme: str = "auto",
    mode: str | None = None,
) -> Any:
    """An explorer that Python hears: `.pattern` is the pattern as the reader has it now, `.grid` at its lengths.

    Setting `.pattern` redraws it; `.observe(f, "state")` calls f at every change. Needs a running kernel; where there
    is none the output is the picture of where it began. Raises ImportError where anywidget is not installed, TypeError
    and ValueError naming what does not fit.
    """
    grid, shown = prepare(pattern, tokens, queries, keys, start)
    state = state_of(grid, shown, compare, lang, theme, mode)
    face = fonts.css(shown_by(state))
    if face:
        state["font"] = fonts.FAMILY
    return _widget()(state=state, _css=face)


@cache
def _widget() -> type:
    """The widget's class, made when first needed: importing the package does not import anywidget."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError(f"views.live needs anywidget, which is not installed here ({error}); run "
                          "`pip install anywidget` in this kernel's environment, or use views.explore") from error

    class Live(anywidget.AnyWidget):
        """The explorer as an anywidget; `state` is its one value, as `js/explorer.js` lists it."""

        _esm = f"{explorer()}\nexport default widget({as_json(shared())});\n"
        _css = traitlets.Unicode("").tag(sync=True)
        state = traitlets.Dict().tag(sync=True)

        @property
        def pattern(self) -> Pattern:
            """The pattern as it is now."""
            return from_spec(self.state["spec"])

        @pattern.setter
        def pattern(self, pattern: Pattern) -> None:
            state = self.state
            pattern.at(state["queries"], state["keys"], state["start"])      # refuse here what the page would refuse
            self.state = {**state, "spec": pattern.spec}

        @property
        def grid(self) -> Grid:
            """The pattern at the lengths shown now."""
            state = self.state
            return self.pattern.at(state["queries"], state["keys"], state["start"])

        @property
        def tokens(self) -> tuple[str, ...] | None:
            """The tokens shown now, or None."""
            return None if self.state["tokens"] is None else tuple(self.state["tokens"])

        def _repr_mimebundle_(self, **kwargs: Any) -> Any:
            """The widget, and beside it what `explore` shows, for readers without a kernel."""
            bundle = super()._repr_mimebundle_(**kwargs)
            if bundle is None:
                return None
            data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
            image, alt = poster(self.grid, self.tokens, None, self.state["lang"], self.state["theme"])
            still = {"text/plain": alt, "image/png": base64.b64encode(image).decode("ascii"),
                     "text/html": output(self.state, image, alt)}  # fmt: skip
            return {**data, **still}, {**metadata, "image/png": {"alt": alt}}

    return Live
