"""How a pattern or a grid that ends a notebook's cell shows itself; it always shows something."""

import base64
import contextlib
from typing import Any

from ..patterns import Grid, Pattern
from .pages import output
from .poster import poster
from .sizes import prepare
from .state import state_of

__all__ = ["displayed"]


def displayed(value: Pattern | Grid) -> tuple[dict[str, Any], dict[str, Any]]:
    """The MIME bundle of `value` (a pattern: at lengths that show its parameters at work): text, poster, and explorer.

    The explorer is left out where the lengths or the data are beyond a page.
    """
    grid, _ = prepare(value)
    image, alt = poster(grid)
    data: dict[str, Any] = {"text/plain": f"{value!r}\n{alt}", "image/png": base64.b64encode(image).decode("ascii")}
    with contextlib.suppress(ValueError):           # state_of refuses what is too large
        data["text/html"] = output(state_of(grid, None), image, alt)
    return data, {"image/png": {"alt": alt}}
