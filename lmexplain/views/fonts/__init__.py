"""Fonts for labels: Chinese is drawn, never boxes, and nobody's settings change.

matplotlib draws with DejaVu Sans (which it ships) and, for what that lacks, Noto Sans SC as shipped here (`font.json`
tells its source, `build.py` made it). The fonts of the machine are not asked, so a figure looks the same everywhere.
A page gets the shipped font cut down to its own glyphs.
"""

import io
import unicodedata
import warnings
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["FAMILY", "PATH", "css", "drawable", "properties", "subset"]

PATH = Path(__file__).with_name("NotoSansSC-lmexplain.ttf")
FAMILY = "Noto Sans SC lmexplain"
FIRST_CJK = 0x2E80                       # below it, any system's fonts serve; from it on, a page brings its own


@cache
def _families() -> list[str]:
    """The families to draw with, first choice first. Makes the shipped font known to matplotlib, once."""
    from matplotlib import font_manager

    font_manager.fontManager.addfont(PATH)
    return ["DejaVu Sans", FAMILY]


@cache
def _characters() -> tuple[frozenset[int], frozenset[int]]:
    """The code points of DejaVu Sans and of the shipped font."""
    import matplotlib
    from matplotlib.font_manager import get_font

    dejavu = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    return frozenset(get_font(dejavu).get_charmap()), frozenset(get_font(PATH).get_charmap())


def properties(size: float = 9, weight: str = "normal") -> Any:
    """matplotlib FontProperties of `size` points that can draw Chinese; pass it as `fontproperties=` to any text."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(family=_families(), size=size, weight=weight, style="normal", variant="normal")


def drawable(text: str) -> str:
    """`text` with each character that neither font can draw written as its code, `U+1F9FF`; warns once a character."""
    dejavu, shipped = _characters()
    lacking = {c for c in text if not (ord(c) in dejavu or ord(c) in shipped) or ord(c) < 32}
    if not lacking:
        return text
    _tell(lacking, "no font at hand draws {}: written as codes in figures")
    return "".join(f"U+{ord(c):04X}" if c in lacking else c for c in text)


def _tell(characters: set[str], what: str) -> None:
    """Warn of these characters, each once in a session."""
    fresh = {(c, what) for c in characters} - _told
    if fresh:
        _told.update(fresh)
        codes = ", ".join(sorted(f"U+{ord(c):04X}" for c, _ in fresh))
        warnings.warn(what.format(codes), stacklevel=4)


_told: set[tuple[str, str]] = set()


@cache
def subset(text: str) -> bytes:
    """The shipped font cut down to the East Asian characters of `text`, as WOFF2; b"" where there are none.

    About 130 bytes a character. Characters that the font lacks are left to the reader's own fonts.
    """
    points = sorted({ord(c) for c in text if ord(c) >= FIRST_CJK} & _characters()[1])
    if not points:
        return b""
    from fontTools import subset as cut
    from fontTools.ttLib import TTFont

    options = cut.Options(flavor="woff2", notdef_outline=True, hinting=False, recalc_timestamp=False, name_IDs=[])
    cutter, out = cut.Subsetter(options), io.BytesIO()
    cutter.populate(unicodes=points)
    with TTFont(PATH, recalcTimestamp=False, lazy=True) as font:
        cutter.subset(font)
        font.flavor = "woff2"
        font.save(out)
    return out.getvalue()


def css(text: str) -> str:
    """An `@font-face` rule with the East Asian glyphs of `text` inside it, or "" where the page needs none.

    Warns once of a character (of a script, not an emoji) that the page shows only where its reader has a font for it.
    """
    letters = {c for c in text if ord(c) >= FIRST_CJK and unicodedata.category(c) == "Lo"}
    lacking = {c for c in letters if ord(c) not in _characters()[1]}
    _tell(lacking, "the shipped font lacks {}: a page leaves them to its reader's fonts")
    data = subset("".join(sorted(set(text))))
    if not data:
        return ""
    return (f'@font-face{{font-family:"{FAMILY}";font-weight:100 900;unicode-range:U+{FIRST_CJK:X}-FFFF;'
            f"src:url(data:font/woff2;base64,{b64encode(data).decode('ascii')}) format('woff2')}}")
