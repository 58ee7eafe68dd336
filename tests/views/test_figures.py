"""Static figures: they draw the very grid, at any length, in every format, and leave matplotlib as it was."""

import base64
import io
import re
import subprocess
import sys
import tempfile
import warnings
import zlib
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from PIL import Image

from lmexplain import patterns as P
from lmexplain import views
from lmexplain.views.names import name
from lmexplain.views.palette import palette, theme
from lmexplain.views.sizes import prepare

ENGLISH = "The cat sat on the mat because it was tired of waiting".split()
CHINESE = list("语言模型用注意力看上下文")
LIGHT = {role: entry["light"].lower() for role, entry in palette()["roles"].items()}


def cells_by_colour(drawn):
    """Colour -> the (row, column) of its cells, read back from the figure."""
    found = {}
    for collection in drawn.axes[0].collections:
        if isinstance(collection, PolyCollection):
            corners = [path.vertices.min(axis=0) for path in collection.get_paths()]
            found[to_hex(collection.get_facecolor()[0])] = {(int(y), int(x)) for x, y in corners}
    return found


def legend_of(drawn):
    return [text.get_text() for text in drawn.legends[0].get_texts()]


def test_each_cell_has_the_colour_of_the_first_part_that_allows_it():
    drawn = views.figure(P.window(2) | P.global_tokens(0) | P.causal(), ENGLISH)
    n = len(ENGLISH)
    near = {(q, k) for q in range(n) for k in range(n) if abs(q - k) <= 1}
    total = {(q, k) for q in range(n) for k in range(n) if 0 in (q, k)} - near
    before = {(q, k) for q in range(n) for k in range(n) if k <= q} - near - total
    assert cells_by_colour(drawn) == {LIGHT["local"]: near, LIGHT["global"]: total, LIGHT["causal"]: before}
    assert [int(found) for line in legend_of(drawn) for found in re.findall(r"pairs: (\d+)", line)] == [
        len(near), len(total), len(before)]
    allowed = len(near | total | before)
    assert f"allowed pairs: {allowed} of {n * n} ({allowed / n / n:.1%})" in drawn.get_supxlabel()


def test_labels_are_the_tokens_and_a_token_is_never_mathematics():
    tokens = ["$x$", "a_b", "\\frac", "语", "x" * 40]
    drawn = views.figure(P.full(), tokens)
    shown = [label.get_text() for label in drawn.axes[0].get_yticklabels()]
    assert shown[:4] == tokens[:4] and len(shown[4]) < 20 and shown[4].startswith("xxxx")
    assert not any(label.get_parse_math() for label in drawn.axes[0].get_yticklabels())
    drawn.png(50)


def test_the_difference_of_two_patterns():
    drawn = views.figure(P.causal(), ENGLISH, compare=P.window(2))
    n = len(ENGLISH)
    before = {(q, k) for q in range(n) for k in range(n) if k <= q}
    near = {(q, k) for q in range(n) for k in range(n) if abs(q - k) <= 1}
    assert cells_by_colour(drawn) == {
        LIGHT["both"]: before & near, LIGHT["only_a"]: before - near, LIGHT["only_b"]: near - before}
    assert f"{len(before):,} of" in drawn.get_supxlabel() and f"{len(near):,} of" in drawn.get_supxlabel()


def test_compare_must_have_the_same_lengths():
    with pytest.raises(ValueError, match="compare is 8 × 8 from position 0, the pattern 12 × 12 from 0; take both"):
        views.figure(P.causal(), keys=12, compare=P.window(2).at(8))


@pytest.mark.parametrize(("lang", "dark"), [("en", False), ("zh", True)])
def test_every_format_is_written_with_chinese_that_is_drawn_and_found(tmp_path, lang, dark):
    with warnings.catch_warnings():
        warnings.simplefilter("error")          # matplotlib warns of every glyph that it lacks
        drawn = views.figure(P.window(4) | P.global_tokens(0, -1), CHINESE, lang=lang, dark=dark)
        for kind in ("svg", "png", "pdf"):
            drawn.savefig(tmp_path / f"figure.{kind}")
    svg = ElementTree.parse(tmp_path / "figure.svg")
    assert svg.getroot().tag.endswith("svg")
    text = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert drawn.alt in text and all(f"<!-- {token} -->" in text for token in CHINESE)
    with Image.open(tmp_path / "figure.png") as picture:
        assert picture.info["Title"] == drawn.alt
        corner = picture.convert("RGB").getpixel((2, 2))
        assert to_hex([each / 255 for each in corner]) == theme(dark)["paper"].lower()
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", (tmp_path / "figure.pdf").read_bytes(), re.DOTALL)
    unpacked = b"".join(zlib.decompress(each) for each in streams if each[:1] == b"x")
    mapped = {code.upper() for code in re.findall(rb"<([0-9a-fA-F]{4})>", unpacked)}
    assert {f"{ord(token):04X}".encode() for token in CHINESE} <= mapped, "the text can be searched"


def test_the_same_figure_is_the_same_file(tmp_path):
    figures = [views.figure(P.window(4), CHINESE[:4], lang="zh") for _ in range(2)]
    for kind in ("svg", "pdf", "png"):
        for index, drawn in enumerate(figures):
            drawn.savefig(tmp_path / f"{index}.{kind}")
        assert (tmp_path / f"0.{kind}").read_bytes() == (tmp_path / f"1.{kind}").read_bytes(), kind


def test_one_token():
    drawn = views.figure(P.window(3) | P.global_tokens(0), ["only"])
    assert cells_by_colour(drawn) == {LIGHT["local"]: {(0, 0)}}
    assert "1 of 1 (100.0%)" in drawn.get_supxlabel()
    drawn.png()


def test_nothing_allowed():
    drawn = views.figure(P.global_tokens(), keys=4)
    assert cells_by_colour(drawn) == {} and "0 of 16 (0.0%)" in drawn.get_supxlabel()


def test_queries_after_cached_keys_are_labelled_by_their_place():
    drawn = views.figure(P.causal(), ENGLISH[:6], queries=2)
    assert [label.get_text() for label in drawn.axes[0].get_yticklabels()] == ENGLISH[4:6]
    assert cells_by_colour(drawn) == {LIGHT["causal"]: {(0, k) for k in range(5)} | {(1, k) for k in range(6)}}


def test_cross_attention_has_no_tokens_at_its_queries():
    drawn = views.figure(P.full(), ENGLISH[:3], queries=5, start=None)
    assert [label.get_text() for label in drawn.axes[0].get_yticklabels()] == ["0", "1", "2", "3", "4"]
    assert [label.get_text() for label in drawn.axes[0].get_xticklabels()] == ENGLISH[:3]


def test_sample_and_head_choose():
    pattern = P.padding([[1, 1, 0], [1, 0, 0]]) & P.per_head(P.full(), P.causal())
    for sample, real in enumerate(([0, 1], [0])):
        for head in range(2):
            drawn = views.figure(pattern, sample=sample, head=head)
            allowed = {(q, k) for q in range(3) for k in real if head == 0 or k <= q}
            assert set().union(*cells_by_colour(drawn).values()) == allowed
            assert f"sample {sample} of 2, head {head} of 2" in drawn.get_supxlabel()
    with pytest.raises(ValueError, match="head 2 of a pattern with 2; choose 0 to 1"):
        views.figure(pattern, head=2)
    with pytest.raises(ValueError, match="sample 1 of a pattern with 1"):
        views.figure(P.causal(), keys=4, sample=1)


def image_of(drawn):
    (image,) = drawn.axes[0].get_images()
    return np.asarray(image.get_array())


def rgb(colour):
    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def test_long_grids_are_gathered_and_show_even_a_single_pair():
    picture = image_of(views.figure(P.global_tokens(0), queries=4096))
    assert max(picture.shape[:2]) <= 256
    assert np.allclose(picture[5, 5], rgb(LIGHT["blocked"]))
    size = 4096 // picture.shape[0]
    strength = 0.65 + 0.35 / size               # one of `size` columns of the square is allowed
    assert np.allclose(picture[9, 0], strength * rgb(LIGHT["global"]) + (1 - strength) * rgb(LIGHT["blocked"]))
    full = image_of(views.figure(P.full(), keys=500, queries=300))
    assert np.allclose(full, rgb(LIGHT["full"]))
    causal = image_of(views.figure(P.causal(), keys=4096))
    rows, columns = np.indices(causal.shape[:2])
    assert np.allclose(causal[columns > rows], rgb(LIGHT["blocked"]))
    assert np.allclose(causal[columns < rows], rgb(LIGHT["causal"]))


def test_a_global_row_of_4096_is_seen():
    """On paper: some points thick, and of a colour far from that of blocked pairs."""
    drawn = views.figure(P.longformer(), queries=4096)
    picture = image_of(drawn)
    assert np.abs(picture[0, 90] - rgb(LIGHT["blocked"])).max() > 0.5
    assert np.abs(picture[90, 0] - rgb(LIGHT["blocked"])).max() > 0.5
    assert drawn.axes[0].get_window_extent().height / len(picture) * 72 / drawn.dpi > 2


@pytest.mark.parametrize("keys", [16, 64, 65, 4096])
def test_the_legend_shows_the_signs_that_the_cells_carry(keys):
    drawn = views.figure(P.longformer(8), keys=keys)
    marked = any(isinstance(each, LineCollection) for each in drawn.axes[0].collections)
    in_legend = any(isinstance(each, LineCollection) for each in drawn.legends[0].findobj(LineCollection))
    assert marked == in_legend == (keys <= 64)


@pytest.mark.parametrize("title", [None, "A title so long that it would leave the page if it stood over the matrix"])
def test_title_and_caption_stand_over_the_matrix(title):
    drawn = views.figure(P.longformer(8), keys=64, title=title)
    drawn.draw_without_rendering()
    box = drawn.axes[0].get_window_extent()
    for text in drawn.texts:
        place = text.get_window_extent()
        assert place.x0 >= 0 and place.x1 <= drawn.bbox.width
        assert title or abs((place.x0 + place.x1) - (box.x0 + box.x1)) < 4


def test_lengths_beyond_cells_are_drawn_by_blocks():
    drawn = views.figure(P.longformer(512), queries=32768)
    n, half = 32768, 256
    pairs = n * (2 * half + 1) - half * (half + 1) + 2 * (n - half - 1)
    assert f"{pairs:,} of {n * n:,}" in drawn.get_supxlabel()
    picture = image_of(drawn)
    assert np.allclose(picture[100, 50], rgb(LIGHT["blocked"]))
    assert not np.allclose(picture[100, 0], rgb(LIGHT["blocked"])), "the global token"
    views.figure(P.longformer(512), queries=32768, compare=P.window(512))


def test_a_grid_keeps_its_lengths():
    grid = P.causal().at(2, 5)
    assert views.figure(grid, list("abcde")).axes[0].get_ylim() == (2, 0)
    with pytest.raises(ValueError, match="4 tokens for 5 keys; give one token for each key"):
        views.figure(grid, list("abcd"))
    with pytest.raises(ValueError, match="lengths given for a Grid"):
        views.figure(grid, keys=6)


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: views.figure("window(4)", ENGLISH), TypeError, "str can't be drawn here; give a Pattern"),
        (lambda: views.figure(P.causal(), ["a", 3]), TypeError, "token 1 is 3, of type int"),
        (lambda: views.figure(P.causal(), []), ValueError, "no tokens given"),
        (lambda: views.figure(P.causal(), ENGLISH, keys=5), ValueError, f"{len(ENGLISH)} tokens for 5 keys"),
        (lambda: views.figure(P.causal(), ENGLISH, lang="fr"), ValueError, "'fr'.*'en', 'zh'"),
        (lambda: views.figure(P.global_tokens(99), ENGLISH), ValueError, "position 99 is not among"),
    ],
)
def test_bad_input_is_named(call, kind, said):
    with pytest.raises(kind, match=said):
        call()


@pytest.mark.parametrize(
    ("pattern", "shape"),
    [
        (P.window(4), (16, 16)), (P.longformer(512), (1024, 1024)), (P.bigbird(), (1024, 1024)),
        (P.transformer_xl(5), (16, 21)), (P.xlnet([2, 0, 1], memory=4), (3, 7)), (P.padding([1, 1, 0, 0, 0]), (5, 5)),
        (P.segments([[0, 0, 1], [0, 1, 1]]), (3, 3)), (P.table(torch.ones(2, 3).bool(), block=4), (8, 12)),
        (P.global_tokens(40), (41, 41)), (P.global_tokens(-20), (20, 20)), (P.cells((3, 30)), (31, 31)),
        (P.in_blocks(8, P.window(3)), (128, 128)), (P.prefix(20), (40, 40)), (P.full(), (16, 16)),
        (P.per_head(P.window(4), P.window(4, 8)), (64, 64)), (P.window(10**6), (4096, 4096)),
    ],
)
def test_lengths_that_nobody_gave_show_the_pattern_at_work(pattern, shape):
    grid, tokens = prepare(pattern)
    assert (grid.T, grid.S) == shape and tokens is None


def test_names_are_in_the_readers_language():
    composed = (P.window(4, 2) | P.global_tokens(0, -1)) & ~P.causal()
    assert name(composed) == "(window 4, dilation 2 or global 0, −1) and not causal"
    assert name(composed, "zh") == "(窗口 4，空洞率 2 或 全局 0, −1) 且 非（因果）"
    assert name(P.bigbird(), "zh").startswith("BigBird（") and name(P.window(4).titled("mine"), "zh") == "mine"
    every = [P.full(), P.random(2), P.random_blocks(2), P.segments([0]), P.prefix(2), P.prefix([2, 3]), P.memory(2),
             P.padding([1]), P.cells((0, 0)), P.table([[1]]), P.per_head(P.full()), P.in_blocks(4, P.full()),
             P.permutation([0]), P.permutation([0], "query"), P.global_tokens(where=[1]),
             P.global_tokens()]  # fmt: skip
    for lang in ("en", "zh"):
        names = [name(pattern, lang) for pattern in every]
        assert len(set(names)) == len(names) and all(names) and not any("{" in each for each in names)


def test_settings_stay_and_pyplot_is_not_touched():
    """In a process of its own, where every file must also be opened with an encoding."""
    code = """
import sys, warnings
warnings.filterwarnings("error", category=EncodingWarning, module="lmexplain")
import matplotlib
before = dict(matplotlib.rcParams)
matplotlib.rcParams["font.size"] = 31
from lmexplain import patterns as P, views
drawn = views.figure(P.window(2), list("语言模型"), lang="zh")
views.explore(P.window(2), "语言模型", lang="zh")
views.page(P.window(2), "语言模型", lang="zh")
drawn.savefig(sys.argv[1] + "/a.svg")
after = dict(matplotlib.rcParams)
assert after.pop("font.size") == 31 and before.pop("font.size") and after == before
assert "matplotlib.pyplot" not in sys.modules
"""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-X", "warn_default_encoding", "-c", code, folder]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_figure_shows_itself_in_a_notebook():
    data, metadata = views.figure(P.window(2), CHINESE)._repr_mimebundle_()
    assert set(data) == {"text/plain", "image/png"} and metadata["image/png"]["alt"] == data["text/plain"]
    assert Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).format == "PNG"
    assert dict(matplotlib.rcParams)["pdf.fonttype"] == matplotlib.rcParamsDefault["pdf.fonttype"]
