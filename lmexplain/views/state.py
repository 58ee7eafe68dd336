"""The one JSON value that an explorer starts from; `js/explorer.js` lists its fields."""

from collections.abc import Sequence
from typing import Any

from ..patterns import Grid, Pattern
from ..words import language
from .modules import as_json
from .sizes import MOST_TOKENS, beside

__all__ = ["MODES", "STATE_VERSION", "THEMES", "state_of"]

STATE_VERSION = 1
MOST_CHARACTERS = 1_000_000      # of JSON; what is larger is drawn in Python, not sent
THEMES = ("auto", "light", "dark")
MODES = ("look", "reach", "path", "compare", "film", "paint", "predict")


def state_of(
    grid: Grid,
    tokens: Sequence[str] | None,
    compare: Pattern | Grid | None = None,
    lang: str = "en",
    theme: str = "auto",
    mode: str | None = None,
) -> dict[str, Any]:
    """Where an explorer begins: the pattern's tree, the lengths, the tokens, what to compare with, language and theme.

    `mode` None is "compare" where there is something to compare with, else "look".
    Raises ValueError for more tokens or data than an explorer takes, and for an unknown language, theme or mode.
    """
    if max(grid.T, grid.S) > MOST_TOKENS:
        raise ValueError(f"{grid.T} queries by {grid.S} keys are more than an explorer takes ({MOST_TOKENS}); "
                         "take a part of the text, or draw it with views.figure")
    mode = mode or ("look" if compare is None else "compare")
    for what, value, known in (("theme", theme, THEMES), ("mode", mode, MODES)):
        if value not in known:
            raise ValueError(f"{what} is {value!r}; choose one of {', '.join(map(repr, known))}")
    other = None if compare is None else beside(grid, compare).pattern.spec
    state = {"version": STATE_VERSION, "spec": grid.pattern.spec, "compare": other,
            "tokens": None if tokens is None else list(tokens), "queries": grid.T, "keys": grid.S, "start": grid.start,
            "lang": language(lang), "theme": theme, "mode": mode}  # fmt: skip
    if (size := len(as_json(state))) > MOST_CHARACTERS:
        raise ValueError(f"data and tokens take {size:,} characters, an explorer takes {MOST_CHARACTERS:,}; "
                         "give one head or sample, or draw it with views.figure")
    return state
