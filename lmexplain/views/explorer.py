"""`explore`: a pattern in a notebook, to push with the mouse; a poster wherever nothing runs."""

import base64
from collections.abc import Sequence
from typing import Any

from ..patterns import Grid, Pattern
from ..text import Encoding
from .pages import output
from .poster import poster
from .sizes import prepare
from .state import state_of

__all__ = ["Explorer", "explore"]


class Explorer:
    """What `explore` returns; it shows itself at the end of a cell. `grid` is drawn, `alt` says it in a sentence."""

    def __init__(self, grid: Grid, image: bytes, alt: str, html: str | None) -> None:
        self.grid, self.image, self.alt, self.html = grid, image, alt, html

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        data = {"text/plain": self.alt, "image/png": base64.b64encode(self.image).decode("ascii")}
        if self.html is not None:
            data["text/html"] = self.html
        return data, {"image/png": {"alt": self.alt}}


def explore(
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
) -> Explorer:
    """The explorer of a pattern for a notebook, over a text, over tokens, or over so many positions.

    Run, it is the explorer; reopened without trust, exported or on a code host, it is the picture of where it began.
    `mode`: where it begins: "look", "reach", "path", "compare" (if `compare` is given), "film", "paint" or "predict".
    Raises TypeError and ValueError naming what does not fit.
    """
    grid, shown = prepare(pattern, tokens, queries, keys, start)
    state = state_of(grid, shown, compare, lang, theme, mode)
    image, alt = poster(grid, shown, compare, lang, theme)
    return Explorer(grid, image, alt, output(state, image, alt))
