"""A pattern as a static figure: the very grid that the code runs on, drawn by matplotlib for paper and slides."""

import base64
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerBase
from matplotlib.mathtext import MathTextParser
from matplotlib.patches import Patch, Rectangle

from ..patterns import Grid, Pattern
from ..text import Encoding
from ..words import word
from . import fonts
from .layers import EXACT, READABLE, Layer, counts_of, difference, parts_of, shares_of, square_of
from .names import describe, name
from .palette import Look, look, theme
from .sizes import beside, prepare

__all__ = ["Drawing", "figure"]

MATH = {r"\le": r"\leq", r"\lor": r"\vee", r"\land": r"\wedge", r"\lnot": r"\neg", r"\big|": "|"}  # as matplotlib says
LEAST_POINTS = 3.5      # a cell of so many points carries its mark
FAINTEST = 0.65         # strength of a square in which a single pair is allowed
FILES: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "lmexplain"}


class Drawing(Figure):
    """A matplotlib Figure that shows itself in a notebook, knows its alternative text, and writes text that is found.

    PDF text can be searched, also Chinese; SVG text is drawn as paths, so that it looks the same everywhere. The same
    drawing gives the same file: no dates inside.
    """

    alt: str = ""

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        """As Figure.savefig; `metadata` starts from the alternative text as the file's title."""
        kind = str(kwargs.get("format") or str(fname).rpartition(".")[2]).lower()
        own = {"pdf": {"Title": self.alt, "CreationDate": None}, "svg": {"Title": self.alt, "Date": None},
               "png": {"Title": self.alt}}.get(kind)
        if own:
            kwargs["metadata"] = own | (kwargs.get("metadata") or {})
        with matplotlib.rc_context(FILES):
            super().savefig(fname, **{"facecolor": self.get_facecolor(), **kwargs})

    def png(self, dpi: float = 100) -> bytes:
        """The figure as PNG."""
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=dpi)
        return out.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        data = {"text/plain": self.alt, "image/png": base64.b64encode(self.png()).decode("ascii")}
        return data, {"image/png": {"alt": self.alt}}


def figure(
    pattern: Pattern | Grid,
    tokens: str | Sequence[str] | Encoding | None = None,
    *,
    queries: int | None = None,
    keys: int | None = None,
    start: int | None | str = "end",
    compare: Pattern | Grid | None = None,
    sample: int = 0,
    head: int = 0,
    lang: str = "en",
    dark: bool = False,
    title: str | None = None,
    width: float = 7.0,
) -> Drawing:
    """Draw who may attend to whom: rows are queries, columns keys, coloured by the first part that allows the pair.

    `tokens`: a text, an Encoding, or a label for each key. Up to 64 × 64 every cell carries the mark of its part;
    longer grids are gathered into squares whose strength is the share of allowed pairs. `compare`: another pattern, of
    which the difference is drawn. `sample` and `head` choose from a pattern that tells them apart. `width` in inches.
    Nothing of matplotlib's own settings changes, and pyplot is not touched.
    Raises TypeError and ValueError naming what does not fit.
    """
    grid, shown = prepare(pattern, tokens, queries, keys, start)
    other = None if compare is None else beside(grid, compare)
    _chosen(grid, sample, head)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        drawn = Drawing(figsize=(width, width * 0.78), facecolor=theme(dark)["paper"])
        drawn.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
        axes = drawn.add_subplot()
        chosen = square_of(grid.T, grid.S), sample, head, lang, dark
        layers = difference(grid, other, *chosen) if other else parts_of(grid, *chosen)
        points = width * 72 * 0.5 / max(grid.T, grid.S)
        _matrix(axes, grid, layers, points, dark)
        _labels(axes, grid, shown, lang, dark)
        _heading(drawn, axes, grid, title or _title(grid, other, lang), other is None, dark)
        signs = max(grid.T, grid.S) <= READABLE and points >= LEAST_POINTS
        _legend(drawn, layers, signs, lang, dark)
        counts = counts_of(grid, other, layers, sample, head)
        _caption(drawn, counts, sample, head, lang, dark)
        drawn.draw_without_rendering()         # the layout settles on a second pass; saving is that
        _over_the_matrix(drawn, axes)
    drawn.alt = describe(grid, counts[0][1], lang, other, counts[-1][1])
    return drawn


def _chosen(grid: Grid, sample: int, head: int) -> None:
    for what, value, size in zip(("sample", "head"), (sample, head), grid.lead or (1, 1), strict=True):
        if not 0 <= value < size:
            raise ValueError(f"{what} {value} of a pattern with {size}; choose 0 to {size - 1}")


def _matrix(axes: Axes, grid: Grid, layers: list[Layer], points: float, dark: bool) -> None:
    """The cells, each about so many points wide, on axes that count tokens, with the first query at the top."""
    axes.set(xlim=(0, grid.S), ylim=(grid.T, 0), aspect="equal" if 1 / 6 <= grid.T / grid.S <= 6 else "auto")
    axes.set_facecolor(look("blocked", dark).colour)
    for spine in axes.spines.values():
        spine.set(color=theme(dark)["line"], linewidth=0.8)
    if max(grid.T, grid.S) <= READABLE:
        _cells(axes, layers, points)
    else:
        axes.imshow(_image(layers, dark), extent=(0, grid.S, grid.T, 0), interpolation="nearest",
                    aspect=axes.get_aspect())


def _cells(axes: Axes, layers: list[Layer], points: float) -> None:
    """Every cell as a square of its own, with its mark where that can be read."""
    gap = 0.06 if points > 8 else 0.02
    square = np.array([(gap, gap), (1 - gap, gap), (1 - gap, 1 - gap), (gap, 1 - gap)])
    for layer in layers:
        places = np.argwhere(layer.share > 0)[:, ::-1].astype(float)          # (x, y) of the cell's corner
        if not len(places):
            continue
        axes.add_collection(PolyCollection(list(places[:, None] + square), facecolors=layer.look.colour, linewidths=0))
        if layer.look.strokes and points >= LEAST_POINTS:
            strokes = [place + np.array(line) for place in places for line in layer.look.strokes]
            axes.add_collection(LineCollection(strokes, colors=layer.look.ink, alpha=0.85, capstyle="round",
                                               linewidths=max(layer.look.stroke * points, 0.5)))


def _image(layers: list[Layer], dark: bool) -> np.ndarray:
    """(rows, columns, 3): the mean colour of the parts in a square; a single pair already shows, all pairs are full."""
    total = np.sum([layer.share for layer in layers], axis=0)
    tint = sum(layer.share[..., None] * np.array(to_rgb(layer.look.colour)) for layer in layers)
    tint = tint / np.maximum(total, 1e-9)[..., None]
    strength = np.where(total > 0, FAINTEST + (1 - FAINTEST) * np.minimum(total, 1), 0)[..., None]
    return strength * tint + (1 - strength) * np.array(to_rgb(look("blocked", dark).colour))


def _labels(axes: Axes, grid: Grid, tokens: Sequence[str] | None, lang: str, dark: bool) -> None:
    """Tokens, or positions, along both sides."""
    ink, muted = theme(dark)["ink"], theme(dark)["muted"]
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    first = grid.start or 0
    sides = ((axes.xaxis, grid.S, 0, True), (axes.yaxis, grid.T, first, False))
    for axis, length, offset, across in sides:
        named = tokens is not None and length <= READABLE and (across or grid.start is not None)
        places = range(0, length, 1 if named else _step(length))
        texts = [_short(tokens[place + offset]) if named and tokens else str(place + offset) for place in places]
        size = max(min(9, 300 / length), 4) if named else 8
        upright = named and across and max(map(len, texts)) > 1
        axis.set_ticks([place + 0.5 for place in places], texts, fontproperties=fonts.properties(size), color=ink,
                       rotation=90 if upright else 0, parse_math=False)
        axis.set_tick_params(length=2, color=theme(dark)["line"], pad=2)
    axes.set_xlabel(word("figure.keys", lang), fontproperties=fonts.properties(8.5), color=muted)
    axes.set_ylabel(word("figure.queries", lang), fontproperties=fonts.properties(8.5), color=muted)


def _step(length: int) -> int:
    """A round distance between ticks: at most nine of them, or every place of a short side."""
    if length <= 16:
        return 1
    step = 1
    while length / step > 9:
        step *= 2
    return step


def _short(token: str) -> str:
    text = fonts.drawable(token)
    return text if len(text) <= 14 else text[:13] + "…"


def _title(grid: Grid, other: Grid | None, lang: str) -> str:
    own = name(grid.pattern, lang)
    return own if other is None else word("figure.versus", lang, a=own, b=name(other.pattern, lang))


def _heading(drawn: Drawing, axes: Axes, grid: Grid, text: str, formula: bool, dark: bool) -> None:
    """The name, and under it the condition that allows a pair."""
    drawn.suptitle(_wrapped(fonts.drawable(text), 58), fontproperties=fonts.properties(13), color=theme(dark)["ink"],
                   parse_math=False)
    if formula:
        axes.set_title(_formula(grid.pattern), fontproperties=fonts.properties(9), color=theme(dark)["muted"], pad=8)


def _formula(pattern: Pattern) -> str:
    """The formula in matplotlib's math, in lines of readable length; nothing where matplotlib can't set it."""
    text = pattern.formula
    for ours, theirs in MATH.items():
        text = re.sub(re.escape(ours) + r"(?![a-zA-Z])", lambda _, to=theirs: to, text)
    lines = [""]
    for piece in re.split(r"(?=\\vee )", text):
        if lines[-1] and len(lines[-1]) + len(piece) > 110:
            lines.append("")
        lines[-1] += piece
    try:
        for line in lines:
            MathTextParser("path").parse(f"${line}$")
    except ValueError:
        return ""
    return "\n".join(f"${line}$" for line in lines) if len(lines) <= 4 else ""


def _wrapped(text: str, width: int) -> str:
    """Two lines at most, broken between parts, the rest cut."""
    if len(text) <= width:
        return text
    at = text.rfind(" ", 0, width)
    at = at if at > width // 2 else width
    rest = text[at:].strip()
    return text[:at] + "\n" + (rest if len(rest) <= width else rest[: width - 1] + "…")


def _over_the_matrix(drawn: Drawing, axes: Axes) -> None:
    """Title and caption in the middle of the matrix, not of the page; a long one is moved until it is all on it."""
    box = axes.get_window_extent()
    for text in drawn.texts:
        half = text.get_window_extent().width / 2 + 6
        middle = np.clip((box.x0 + box.x1) / 2, half, max(half, drawn.bbox.width - half))
        text.set_x(float(middle / drawn.bbox.width))


def _legend(drawn: Drawing, layers: list[Layer], signs: bool, lang: str, dark: bool) -> None:
    """What the colours are, with the signs that the cells carry."""
    plain = {} if signs else {"mark": "plain"}
    handles: list[Any] = [_Swatch(replace(layer.look, **plain)) for layer in layers]
    labels = [_legend_line(layer, lang) for layer in layers]
    handles.append(_Swatch(look("blocked", dark)))
    labels.append(word("figure.blocked", lang))
    legend = drawn.legend(handles, labels, loc="outside right center", frameon=False, prop=fonts.properties(8.5),
                          labelcolor=theme(dark)["ink"], handler_map={_Swatch: _SwatchHandler()}, handlelength=1.2,
                          handleheight=1.2, labelspacing=0.9)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _legend_line(layer: Layer, lang: str) -> str:
    label = _wrapped(fonts.drawable(layer.label), 22)
    return label if layer.count is None else f"{label}\n" + word("figure.count", lang, pairs=f"{layer.count:,}")


class _Swatch(Patch):
    """A legend's key: one cell as it is drawn in the matrix."""

    def __init__(self, looks: Look) -> None:
        super().__init__(facecolor=looks.colour)
        self.look = looks


class _SwatchHandler(HandlerBase):
    def create_artists(
        self, legend: Any, orig_handle: Any, xdescent: float, ydescent: float, width: float, height: float,
        fontsize: float, trans: Any,
    ) -> list[Any]:  # fmt: skip
        side = min(width, height)
        corner = np.array([-xdescent, -ydescent])
        edge = "#9aa4ae" if not orig_handle.look.strokes else "none"
        artists: list[Any] = [Rectangle(tuple(corner), side, side, facecolor=orig_handle.look.colour, edgecolor=edge,
                                        linewidth=0.5, transform=trans)]
        if orig_handle.look.strokes:
            lines = [corner + side * (np.array(line) * (1, -1) + (0, 1)) for line in orig_handle.look.strokes]
            artists.append(LineCollection(lines, colors=orig_handle.look.ink, capstyle="round", transform=trans,
                                          linewidths=orig_handle.look.stroke * side))
        return artists


def _caption(drawn: Drawing, counts: list[tuple[Grid, int]], sample: int, head: int, lang: str, dark: bool) -> None:
    """Pairs and share in numbers, which sample and head, and what a square gathers."""
    grid, _ = counts[0]
    notes = shares_of(counts, lang)
    if grid.lead:
        notes.append(word("figure.which", lang, sample=sample, samples=grid.lead[0], head=head, heads=grid.lead[1]))
    if (size := square_of(grid.T, grid.S)) > 1:
        notes.append(word("figure.gathered" if grid.T * grid.S <= EXACT else "figure.by_blocks", lang, size=size))
    drawn.supxlabel("\n".join(fonts.drawable(note) for note in notes), fontproperties=fonts.properties(8.5),
                    color=theme(dark)["ink"], parse_math=False)
