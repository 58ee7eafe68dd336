"""Charts of numbers: one function gathers a chart's numbers, and matplotlib or plotly draws them.

    chart = cost_by_length([full(), longformer(512), bigbird()])
    chart                    # in a notebook: matplotlib, light and readable everywhere
    chart.plotly()           # the same numbers, to zoom and hover
    chart.html()             # that as a page that needs no network
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
import torch
from matplotlib.ticker import LogLocator

from ..patterns import Grid, Pattern
from ..words import word
from . import fonts
from .figures import Drawing
from .names import name
from .palette import look, theme

__all__ = ["Chart", "Series", "cost_by_length", "distances", "field_by_layer", "path_by_length"]

Patterns = Sequence[Pattern] | Mapping[str, Pattern]

ROLES = ("local", "global", "random", "causal", "prefix", "full", "not", "permutation")
MARKERS = (("o", "circle"), ("s", "square"), ("^", "triangle-up"), ("D", "diamond"), ("v", "triangle-down"),
           ("P", "cross"), ("X", "x"), ("*", "star"))  # fmt: skip
DASHES = (("-", "solid"), ("--", "dash"), ("-.", "dashdot"), (":", "dot"))
LONGEST_WALK = 2048
WALKERS = 64


@dataclass(frozen=True, eq=False)
class Series:
    """One line of a chart: its name and its points, two float64 arrays of one length."""

    name: str
    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True, eq=False)
class Chart:
    """Numbers and their labels, without a drawing; shows itself in a notebook. `log`: both axes are logarithmic."""

    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    log: bool = False
    lang: str = "en"

    def figure(self, dark: bool = False, width: float = 7.0) -> Drawing:
        """The chart by matplotlib; `width` in inches."""
        colours = theme(dark)
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            drawn = Drawing(figsize=(width, width * 0.6), layout="constrained", facecolor=colours["paper"])
            axes = drawn.add_subplot(facecolor=colours["paper"])
            for index, line in enumerate(self.series):
                axes.plot(line.x, line.y, label=fonts.drawable(line.name), color=_colour(index, dark),
                          marker=MARKERS[index % 8][0], linestyle=DASHES[index % 4][0], markersize=5)
            if self.log:
                axes.set(xscale="log", yscale="log")
            axes.xaxis.set_major_formatter(_plain)
            axes.yaxis.set_major_formatter(_plain)
            axes.xaxis.set_minor_formatter("")
            axes.yaxis.set_minor_formatter("")
            if self.log:
                axes.set_xticks(sorted({float(x) for line in self.series for x in line.x}))
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
            axes.grid(color=colours["line"], linewidth=0.6)
            axes.tick_params(colors=colours["muted"])
            for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
                label.set_fontproperties(fonts.properties(8.5))
            for spine in axes.spines.values():
                spine.set_color(colours["line"])
            axes.set_xlabel(self.x, fontproperties=fonts.properties(9.5), color=colours["ink"])
            axes.set_ylabel(self.y, fontproperties=fonts.properties(9.5), color=colours["ink"])
            axes.set_title(self.title, fontproperties=fonts.properties(12), color=colours["ink"])
            axes.legend(prop=fonts.properties(9), labelcolor=colours["ink"], frameon=False)
            drawn.draw_without_rendering()
        drawn.alt = self.alt
        return drawn

    def plotly(self, dark: bool = False) -> Any:
        """The chart as a plotly Figure with typed arrays. Raises ImportError where plotly is not installed."""
        try:
            from plotly import graph_objects as go
        except ImportError as error:
            raise ImportError(f"plotly is not installed here ({error}); run `pip install plotly`, or use "
                              "chart.figure()") from error
        colours, kind = theme(dark), "log" if self.log else "linear"
        lines = [go.Scatter(x=line.x, y=line.y, name=line.name, mode="lines+markers",
                            line={"color": _colour(index, dark), "dash": DASHES[index % 4][1]},
                            marker={"symbol": MARKERS[index % 8][1], "size": 8})
                 for index, line in enumerate(self.series)]  # fmt: skip
        rule = {"gridcolor": colours["line"], "zerolinecolor": colours["line"]}
        return go.Figure(lines, {
            "title": {"text": self.title}, "template": "none", "paper_bgcolor": colours["paper"],
            "plot_bgcolor": colours["paper"], "font": {"color": colours["ink"]},
            "xaxis": {"title": {"text": self.x}, "type": kind, **rule},
            "yaxis": {"title": {"text": self.y}, "type": kind, **rule},
        })  # fmt: skip

    def html(self, dark: bool = False) -> str:
        """The plotly chart as a page of its own, some 5 MB, since plotly's script is inside: no network is asked."""
        return self.plotly(dark).to_html(include_plotlyjs=True, include_mathjax=False, full_html=True)

    @property
    def alt(self) -> str:
        """The chart in a sentence: where each line begins and ends."""
        ends = [f"{line.name}: {line.y[0]:,.4g} → {line.y[-1]:,.4g}" for line in self.series if len(line.y)]
        return f"{self.title}. {self.x}, {self.y}. " + word("list.separator", self.lang).join(ends)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.figure()._repr_mimebundle_(include, exclude)


def cost_by_length(
    patterns: Patterns,
    lengths: Sequence[int] = (512, 1024, 2048, 4096, 8192, 16384, 32768),
    what: str = "pairs",
    *,
    width: int = 64,
    heads: int = 1,
    lang: str = "en",
) -> Chart:
    """Pairs, FLOPs or bytes of each pattern against length: exact counts, on logarithmic axes.

    `what`: "pairs", "flops" or "bytes", as `grid.cost(width, heads)` counts them. Lengths at which a pattern makes no
    grid raise ValueError.
    """
    if what not in ("pairs", "flops", "bytes"):
        raise ValueError(f"what is {what!r}; choose 'pairs', 'flops' or 'bytes'")
    x = np.array(lengths, dtype=np.float64)
    lines = []
    for label, pattern in _named(patterns, lang):
        costs = [pattern.at(length).cost(width, heads) for length in lengths]
        lines.append(Series(label, x, np.array([getattr(cost, what) for cost in costs], dtype=np.float64)))
    return _chart("cost", "length", what, lines, lang, log=True)


def field_by_layer(patterns: Patterns, length: int = 512, layers: int = 12, *, lang: str = "en") -> Chart:
    """The mean share of the keys that a query can draw on after 0, 1, … layers: how fast the receptive field grows."""
    if layers < 1:
        raise ValueError(f"layers is {layers}; give at least 1")
    steps = np.arange(layers + 1, dtype=np.float64)
    lines = []
    for label, pattern in _named(patterns, lang):
        away = distances(pattern.at(length))
        lines.append(Series(label, steps, np.array([100 * np.mean((away >= 0) & (away <= step)) for step in steps])))
    return _chart("field", "layers", "share", lines, lang, length=f"{length:,}")


def path_by_length(
    patterns: Patterns, lengths: Sequence[int] = (64, 128, 256, 512, 1024), *, lang: str = "en"
) -> Chart:
    """The mean least number of layers from a query to a key it can draw on, against length, on logarithmic axes."""
    x = np.array(lengths, dtype=np.float64)
    lines = []
    for label, pattern in _named(patterns, lang):
        away = [distances(pattern.at(length)) for length in lengths]
        lines.append(Series(label, x, np.array([d[d > 0].mean() if (d > 0).any() else np.nan for d in away])))
    return _chart("path", "length", "steps", lines, lang, log=True)


def distances(grid: Grid) -> np.ndarray:
    """(Q, S) int64: the layers that each of up to 64 evenly spread queries needs to draw on each key; -1 never.

    0 is the query's own place, whose state passes by every layer. Heads are united. Up to 2048 keys.
    """
    if grid.start is None:
        raise ValueError("distances: cross-attention (start=None) does not stack upon itself; give start")
    if grid.S > LONGEST_WALK:
        raise ValueError(f"distances: {grid.S} keys, allowed are {LONGEST_WALK}; take a shorter length")
    allowed = grid.dense()
    while allowed.dim() > 2:
        allowed = allowed.any(dim=0) if allowed.dim() == 3 else allowed[0]
    rows = torch.linspace(0, grid.T - 1, min(grid.T, WALKERS)).round().long()
    away = torch.full((len(rows), grid.S), -1)
    fresh = torch.zeros(len(rows), grid.S, dtype=torch.bool)
    fresh[torch.arange(len(rows)), rows + grid.start] = True
    adjacent, step = allowed.float(), 0
    while fresh.any():
        away[fresh] = step
        step += 1
        places = fresh[:, grid.start : grid.start + grid.T].any(dim=0).nonzero().flatten()   # cached keys end a path
        onward = fresh[:, places + grid.start].float() @ adjacent[places]                    # exact sums of 0 and 1
        fresh = (onward > 0) & (away < 0)
    return away.numpy()


def _chart(title: str, x: str, y: str, lines: list[Series], lang: str, log: bool = False, **values: object) -> Chart:
    """A chart whose title and axes are interface words."""
    axes = word(f"chart.{x}", lang), word(f"chart.{y}", lang)
    return Chart(word(f"chart.{title}", lang, **values), *axes, tuple(lines), log, lang)


def _named(patterns: Patterns, lang: str) -> list[tuple[str, Pattern]]:
    """Each pattern with its name: the one it is given under, or its own."""
    if isinstance(patterns, Pattern) or not patterns:
        raise ValueError("patterns: give a list of at least one pattern, or a dictionary from names to patterns")
    if isinstance(patterns, Mapping):
        return list(patterns.items())
    return [(name(pattern, lang), pattern) for pattern in patterns]


def _colour(index: int, dark: bool) -> str:
    return look(ROLES[index % len(ROLES)], dark).colour


def _plain(value: float, _: float) -> str:
    """A number on an axis: 512, 4,096, 16M."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"
