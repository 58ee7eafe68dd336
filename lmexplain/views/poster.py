"""The poster of an explorer: a small PNG that shows the main point where nothing runs."""

import io
from collections.abc import Sequence

from PIL import Image

from ..patterns import Grid, Pattern
from .figures import figure

__all__ = ["MOST_BYTES", "poster"]

MOST_BYTES = 60_000


def poster(
    grid: Grid,
    tokens: Sequence[str] | None = None,
    compare: Pattern | Grid | None = None,
    lang: str = "en",
    theme: str = "light",
) -> tuple[bytes, str]:
    """A PNG of at most `MOST_BYTES` bytes, and the sentence that stands for it where it can't be seen."""
    drawn = figure(grid, tokens, compare=compare, lang=lang, dark=theme == "dark")
    for dpi in (96, 80, 64, 48):
        image = _few_colours(drawn.png(dpi))
        if len(image) <= MOST_BYTES:
            break
    return image, drawn.alt


def _few_colours(png: bytes) -> bytes:
    """The same picture in 64 colours: matrix, text and their soft edges need no more."""
    out = io.BytesIO()
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(64, method=Image.Quantize.MEDIANCUT).save(out, "PNG", optimize=True)
    return out.getvalue()
