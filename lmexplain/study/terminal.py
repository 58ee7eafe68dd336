"""Text for a terminal: wrapped by the cells that it fills, Chinese included, with headings that stand out."""

import os
import re
import shutil
import sys
import unicodedata

__all__ = ["bold", "columns", "fill", "pad", "width"]

NO_START = "，。、；：？！）》」』”’…—·%,.;:?!)"  # marks that do not begin a line
WIDE = "\u2e80-\u9fff\uff00-\uffef"  # Chinese characters and full-width marks


def width(text: str) -> int:
    """Terminal cells: two for a Chinese character or full-width mark, none for a combining accent."""
    return sum(
        0 if unicodedata.combining(mark) else 2 if unicodedata.east_asian_width(mark) in "WF" else 1 for mark in text
    )


def pad(text: str, cells: int) -> str:
    """Filled up with spaces on the right."""
    return text + " " * (cells - width(text))


def columns() -> int:
    """How wide a text should run: the terminal's width, at most 92 cells."""
    return max(40, min(92, shutil.get_terminal_size().columns))


def fill(text: str, first: str = "", rest: str | None = None, cells: int | None = None) -> str:
    """Wrapped lines, the first begun with `first`, the others with `rest` (default: as far in). Backticks fall away."""
    rest = " " * width(first) if rest is None else rest
    limit = cells or columns()
    lines, line, fresh = [], first, True
    for piece in _pieces(text.replace("`", "")):
        if not fresh and width(line) + width(piece.rstrip()) > limit:
            lines.append(line.rstrip())
            line, fresh = rest, True
        line += piece.lstrip() if fresh else piece
        fresh = fresh and not piece.strip()
    return "\n".join([*lines, line.rstrip()])


def bold(text: str) -> str:
    """Bold in a terminal, plain in a file or where NO_COLOR asks for it."""
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def _pieces(text: str) -> list[str]:
    """Where a line may end: after a space, and beside a Chinese character, but not before a closing mark."""
    pieces: list[str] = []
    for piece in re.findall(rf"\s+|[{WIDE}]|[^\s{WIDE}]+", text):
        joins = pieces and (piece.isspace() or piece[0] in NO_START or pieces[-1][-1] in "（《「『“‘(")
        if joins:
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces
