"""A pattern as a picture in letters, for the terminal."""

import shutil
import unicodedata
from collections.abc import Sequence
from string import ascii_uppercase, digits

import numpy as np

from ..patterns import Grid, Pattern
from ..words import word
from .layers import counts_of, difference, parts_of, shares_of
from .names import name
from .sizes import prepare

__all__ = ["picture"]

MOST_LINES = 32                 # rows and columns


def picture(
    pattern: Pattern | Grid,
    tokens: Sequence[str] | None = None,
    *,
    keys: int | None = None,
    compare: Pattern | None = None,
    lang: str = "en",
    columns: int | None = None,
) -> str:
    """A small picture in letters: one for each part, `·` where nobody may attend, the counts below.

    Longer grids, and those wider than `columns` (default: the terminal's), are gathered: a capital where most pairs of
    a square are allowed, a small letter where some are.
    """
    columns = columns or shutil.get_terminal_size().columns
    grid, shown = prepare(pattern, tokens, keys=keys)
    other = None if compare is None else compare.at(grid.T, grid.S, grid.start)
    size = -(-max(grid.T, grid.S) // MOST_LINES)
    while size < grid.S and _row_width(grid, shown, size) > columns:
        size += 1
    layers = parts_of(grid, size, lang=lang) if other is None else difference(grid, other, size, lang=lang)
    letters = _letters([layer.label for layer in layers]) if other is None else ["=", "-", "+"]
    lines = [word("show.heading", lang, name=name(grid.pattern, lang), queries=grid.T, keys=grid.S), ""]
    lines += _rows(np.stack([layer.share for layer in layers]), letters, _row_labels(grid, shown, size))
    lines.append("")
    for letter, layer in zip(letters, layers, strict=True):
        lines.append(f"  {letter}  {layer.label}" + ("" if layer.count is None else f": {layer.count:,}"))
    lines += ["  ·  " + word("figure.blocked", lang), ""]
    lines += shares_of(counts_of(grid, other, layers, 0, 0), lang)
    if size > 1:
        lines.append(word("show.gathered" if other is None else "show.gathered_compare", lang, size=size))
    lines.append(word("show.more", lang))
    return "\n".join(lines)


def _row_width(grid: Grid, tokens: Sequence[str] | None, size: int) -> int:
    """Columns of the terminal that a row takes: its label, two spaces, and the letters with a space between."""
    return max(map(_columns, _row_labels(grid, tokens, size))) + 1 + 2 * -(-grid.S // size)


def _rows(shares: np.ndarray, letters: Sequence[str], sides: Sequence[str]) -> list[str]:
    """The lines of the matrix, from the (parts, rows, columns) shares, each after its label."""
    width = max(map(_columns, sides))
    lines = []
    for side, row in zip(sides, shares.transpose(1, 2, 0), strict=True):
        cells = " ".join(_cell(square, letters) for square in row)
        lines.append(" " * (width - _columns(side)) + f"{side}  {cells}")
    return lines


def _letters(labels: Sequence[str]) -> list[str]:
    """A letter of its own for each part: its initial where that is an ASCII letter and free, else the next free one."""
    taken: list[str] = []
    for label in labels:
        own = [c.upper() for c in label if c.isascii() and c.isalpha()]
        taken.append(next((c for c in [*own[:1], *ascii_uppercase, *digits] if c not in taken), "#"))
    return taken


def _cell(shares: np.ndarray, letters: Sequence[str]) -> str:
    """The letter of the part with most pairs in this square, small where the parts allow less than half of it."""
    if shares.sum() == 0:
        return "·"
    letter = letters[int(shares.argmax())]
    return letter if shares.sum() >= 0.5 else letter.lower()


def _row_labels(grid: Grid, tokens: Sequence[str] | None, size: int) -> list[str]:
    offset, places = grid.start or 0, range(0, grid.T, size)
    if tokens is None or size > 1 or grid.start is None:
        return [str(place + offset) for place in places]
    return [_cut(tokens[place + offset]) for place in places]


def _cut(token: str, most: int = 12) -> str:
    """A token for one line: no control characters, at most so many columns."""
    plain = "".join(c if c.isprintable() else "�" for c in token)
    while _columns(plain) > most:
        plain = plain[:-2] + "…"
    return plain


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes: Chinese characters take two, accents none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
