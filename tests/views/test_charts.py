"""Charts: numbers by closed forms and plain walks, drawn by either library from the same arrays."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from lmexplain import patterns as P
from lmexplain.views.charts import cost_by_length, distances, field_by_layer, path_by_length


def test_pairs_are_the_closed_forms():
    lengths = (64, 500, 8192)
    chart = cost_by_length([P.full(), P.causal(), P.window(8)], lengths)
    forms = [lambda n: n * n, lambda n: n * (n + 1) // 2, lambda n: 9 * n - 20]
    for line, form in zip(chart.series, forms, strict=True):
        assert line.x.tolist() == list(lengths) and line.y.tolist() == [form(n) for n in lengths]
    assert [line.name for line in chart.series] == ["full", "causal", "window 8"] and chart.log
    flops = cost_by_length({"mine": P.causal()}, (10,), "flops", width=16, heads=3)
    assert flops.series[0].name == "mine" and flops.series[0].y.tolist() == [55 * 4 * 16 * 3]


def walked(allowed, start):
    """Least number of layers from each query to each key, by walking; -1 where there is no way."""
    T, S = allowed.shape
    away = [[-1] * S for _ in range(T)]
    for row in range(T):
        away[row][row + start] = 0
        frontier = [row + start]
        step = 0
        while frontier:
            step += 1
            found = {k for place in frontier if 0 <= place - start < T for k in range(S) if allowed[place - start][k]}
            frontier = [k for k in found if away[row][k] < 0]
            for k in frontier:
                away[row][k] = step
    return away


@pytest.mark.parametrize(
    "grid",
    [
        P.window(4).at(20), (P.window(2) | P.global_tokens(0)).at(20), P.causal().at(5, 12),
        P.bigbird_tokens(1, 3).at(16), P.transformer_xl(3).at(6, 9), P.global_tokens().at(7),
        P.permutation([2, 0, 3, 1], "query").at(4), P.window(3, 2).at(17),
    ],
    ids=str,
)  # fmt: skip
def test_distances_are_those_of_a_walk(grid):
    assert distances(grid).tolist() == walked(grid.dense().numpy(), grid.start)


def test_heads_are_united():
    grid = P.per_head(P.window(2), P.causal()).at(9)
    assert distances(grid).tolist() == walked(grid.dense()[0].any(dim=0).numpy(), 0)


def test_the_field_grows_by_half_a_window_a_layer():
    n, half = 40, 3
    chart = field_by_layer([P.window(2 * half)], n, 5)
    shares = [np.mean([abs(q - k) <= half * layer for q in range(n) for k in range(n)]) * 100 for layer in range(6)]
    assert np.allclose(chart.series[0].y, shares)


def test_a_global_token_makes_every_path_short():
    chart = path_by_length([P.window(2) | P.global_tokens(0), P.window(2)], (16, 32))
    for column, n in enumerate((16, 32)):
        pairs = [(q, k) for q in range(n) for k in range(n) if q != k]
        assert np.isclose(chart.series[0].y[column], np.mean([2 - (abs(q - k) <= 1 or 0 in (q, k)) for q, k in pairs]))
        assert np.isclose(chart.series[1].y[column], np.mean([abs(q - k) for q, k in pairs]))


@pytest.mark.parametrize(("lang", "dark"), [("en", False), ("zh", True)])
def test_both_libraries_draw_the_same_numbers(lang, dark, tmp_path, recwarn):
    chart = cost_by_length([P.full(), P.longformer(16)], (64, 128), lang=lang)
    drawn = chart.figure(dark)
    lines = {line.get_label(): line.get_ydata().tolist() for line in drawn.axes[0].get_lines()}
    assert lines == {line.name: line.y.tolist() for line in chart.series}
    drawn.savefig(tmp_path / "chart.svg")
    assert not [warned for warned in recwarn if "lyph" in str(warned.message)]
    live = chart.plotly(dark)
    assert {trace.name: list(trace.y) for trace in live.data} == lines
    sent = json.loads(live.to_json())
    assert all("bdata" in trace["y"] for trace in sent["data"]), "typed arrays, not lists"
    looks = {(line.get_marker(), line.get_color()) for line in drawn.axes[0].get_lines()}
    assert len(looks) == 2 and len({marker for marker, _ in looks}) == 2, "never colour alone"


def test_the_plotly_page_loads_nothing():
    class Scripts(HTMLParser):
        sources = []

        def handle_starttag(self, tag, attributes):
            self.sources += [value for name, value in attributes if name in ("src", "href")]

    html = cost_by_length([P.causal()], (4, 8)).html()
    Scripts().feed(html)
    assert Scripts.sources == [] and re.search("Plotly", html)


def test_a_chart_shows_itself_with_its_text():
    chart = field_by_layer([P.causal()], 16, 2, lang="zh")
    data, metadata = chart._repr_mimebundle_()
    assert set(data) == {"text/plain", "image/png"} and "感受野" in metadata["image/png"]["alt"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: cost_by_length([], (4,)), "at least one pattern"),
        (lambda: cost_by_length(P.causal(), (4,)), "give a list"),
        (lambda: cost_by_length([P.causal()], (4,), "time"), "what is 'time'; choose 'pairs', 'flops' or 'bytes'"),
        (lambda: field_by_layer([P.causal()], 4, 0), "layers is 0"),
        (lambda: distances(P.causal().at(3000)), "3000 keys, allowed are 2048"),
        (lambda: distances(P.full().at(3, 4, start=None)), "cross-attention"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
