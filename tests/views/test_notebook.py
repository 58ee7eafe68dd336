"""What a notebook shows: patterns that display themselves, explorers, and the widget that Python hears."""

import base64
import io
import re
import sys

import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from PIL import Image

import lmexplain.views.widget
from lmexplain import patterns as P
from lmexplain import views

TEXT = "the cat sat on the mat"


def bundle(shown):
    data, metadata = shown._repr_mimebundle_()
    return data, metadata


def check_poster(data, metadata):
    png = base64.b64decode(data["image/png"])
    assert len(png) <= 60_000 and Image.open(io.BytesIO(png)).format == "PNG"
    assert metadata["image/png"]["alt"] in data["text/plain"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_explorer_is_a_picture_a_sentence_and_html_with_both(lang):
    data, metadata = bundle(views.explore(P.window(2) | P.global_tokens(0), TEXT, lang=lang))
    assert set(data) == {"text/plain", "image/png", "text/html"}
    check_poster(data, metadata)
    html = data["text/html"]
    assert f'<img alt="{metadata["image/png"]["alt"]}"' in html and data["image/png"] in html
    assert html.count('<script type="module">') == 1 and not re.search("https?:", html)
    assert len(html) < 200_000


def test_the_poster_of_a_crowded_pattern_stays_small():
    crowded = P.random(40) | P.random(40, seed=1) | P.window(7, 3)
    for lengths in ({"keys": 64}, {"keys": 1024}):
        data, metadata = bundle(views.explore(crowded, **lengths))
        check_poster(data, metadata)


def test_two_explorers_have_places_of_their_own_and_the_same_one_does_not_change():
    def place(shown):
        return re.findall('data-lmexplain="([^"]*)"', shown.html)[0]

    one, again, other = (views.explore(P.window(width), TEXT) for width in (2, 2, 4))
    assert place(one) == place(again) != place(other)
    assert one.html == again.html, "a notebook run again stays as it was"


def test_hostile_tokens_stay_text():
    data, _ = bundle(views.explore(P.full(), ['"><img src=x onerror=alert(1)>', "</script><b>"]))
    assert "onerror" not in re.sub(r"<script.*?</script>", "", data["text/html"], flags=re.DOTALL)
    assert data["text/html"].count("</script>") == 2 and "<b>" not in data["text/html"]


def test_a_mode_to_begin_with():
    assert '"mode":"reach"' in views.explore(P.window(2), TEXT, mode="reach").html
    assert '"mode":"look"' in views.explore(P.window(2), TEXT).html
    assert '"mode":"compare"' in views.explore(P.window(2), TEXT, compare=P.causal()).html
    with pytest.raises(ValueError, match="mode is 'dance'; choose one of 'look', 'reach'"):
        views.explore(P.window(2), TEXT, mode="dance")


class Shell:
    def __init__(self):
        self.display_formatter = DisplayFormatter()


@pytest.fixture(scope="module")
def display():
    """What a cell that ends in this value puts out."""
    shell = Shell()
    views.register(shell)
    return shell.display_formatter.format


@pytest.mark.parametrize(
    "value",
    [
        P.window(4), P.bigbird(), P.transformer_xl(4), P.xlnet([2, 0, 1]), P.window(2).titled("mine"),
        P.padding([[1, 1, 0], [1, 0, 0]]), P.per_head(P.full(), P.causal()), P.segments([0, 0, 1]),
        P.global_tokens(40), P.table(torch.eye(40).bool()), P.cells(), P.full() & ~P.full(), P.causal().at(2, 6),
        P.full().at(3, 5, start=None), P.longformer().at(4096), P.global_tokens(where=[[1, 0], [0, 1]]),
    ],
    ids=lambda value: str(getattr(value, "pattern", value))[:40],
)
def test_what_ends_a_cell_displays_itself(display, value):
    data, metadata = display(value)
    assert set(data) == {"text/plain", "image/png", "text/html"} and repr(value) in data["text/plain"]
    check_poster(data, metadata)


@pytest.mark.parametrize(
    "value", [P.longformer().at(32768), P.table(torch.rand(1, 12, 900, 900) > 0.5), P.global_tokens(20_000)],
    ids=["long", "data", "far"],
)  # fmt: skip
def test_what_is_too_large_to_explore_is_still_drawn(display, value):
    data, metadata = display(value)
    assert set(data) == {"text/plain", "image/png"}
    check_poster(data, metadata)


def test_data_beyond_a_page_are_refused_by_name():
    with pytest.raises(ValueError, match="take [0-9,]+ characters, an explorer takes 1,000,000; give one head"):
        views.explore(P.table(torch.rand(1, 12, 900, 900) > 0.5))


def test_other_values_are_left_alone(display):
    assert display([1, 2])[0] == {"text/plain": "[1, 2]"}


# ── the widget ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_widget_tells_python_and_python_tells_the_widget():
    widget = views.live(P.window(2), TEXT)
    assert widget.pattern == P.window(2) and widget.grid.pairs() == 16 and widget.tokens == tuple(TEXT.split())
    heard = []
    widget.observe(lambda change: heard.append(change["new"]["spec"]["op"]), "state")
    widget.pattern = P.causal()
    assert widget.pattern == P.causal() and heard == ["causal"]
    widget.state = {**widget.state, "spec": P.bigbird_tokens(1, 3).spec, "mode": "film"}       # as the browser does
    assert widget.pattern == P.bigbird_tokens(1, 3) and widget.state["mode"] == "film"


def test_the_widget_refuses_what_does_not_fit_and_keeps_what_it_had():
    widget = views.live(P.window(2), TEXT)
    with pytest.raises(ValueError, match="position 40 is not among the 6 keys"):
        widget.pattern = P.global_tokens(40)
    assert widget.pattern == P.window(2)


def test_the_widget_leaves_a_picture_for_readers_without_a_kernel():
    data, metadata = views.live(P.window(2), TEXT)._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "text/plain", "image/png", "text/html"}
    check_poster(data, metadata)


def test_words_and_palette_do_not_travel_with_the_state():
    widget = views.live(P.window(2), TEXT)
    assert not {"words", "palette"} & set(widget.state)
    assert "explorer.mode.look" in widget._esm and "export default" in widget._esm


def test_without_anywidget_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    lmexplain.views.widget._widget.cache_clear()
    with pytest.raises(ImportError, match="pip install anywidget.*views.explore"):
        views.live(P.window(2), TEXT)
    lmexplain.views.widget._widget.cache_clear()


def test_unknown_views_are_named_with_the_known_ones():
    with pytest.raises(AttributeError, match="no 'explode'.*explore"):
        views.explode  # noqa: B018
    assert "explore" in dir(views)
