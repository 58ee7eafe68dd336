"""The explorer as a reader meets it: painted pixels, words, keys, hands, links, exports. Everything offline."""

import json
import re
import xml.etree.ElementTree as ElementTree
from base64 import b64decode
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import numpy as np
import pytest
import torch

from lmexplain import patterns as P
from lmexplain.text import read

from .conftest import PALETTE, Explorer, interface

WORDS = "the small museum beside the river shows coins and old maps of the harbour".split()
MODES = ("look", "reach", "path", "compare", "film", "paint", "predict")
PATTERN = P.window(2) | P.global_tokens(0) | P.random(1)


def role(name: str, theme: str = "light") -> str:
    return PALETTE["roles"][name][theme].upper()


def word(key: str, lang: str = "en") -> str:
    return interface()[lang][f"explorer.{key}"]


# ── what is painted ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_cell_has_the_colour_of_its_first_reason(open_explorer, theme):
    pattern = P.window(2) | P.global_tokens(0, -1) | P.random(2) | P.causal()
    explorer = open_explorer(pattern, WORDS, theme=theme, at=[13, 13])
    reasons = pattern.at(14).reasons()
    cells = [(t, k) for t in range(13) for k in range(13)]  # the cursor's row and column are tinted
    colours = [role(name, theme) for name in ("local", "global", "random", "causal")] + [role("blocked", theme)]
    assert explorer.colours(cells) == [colours[int(reasons[t, k])] for t, k in cells]


def test_two_parts_of_one_kind_are_told_apart(open_explorer):
    explorer = open_explorer(P.window(1) | P.window(9), at=[13, 0], keys=14)
    near, far = explorer.colours([(5, 5), (5, 8)])
    assert near == role("local") and far not in (near, role("blocked"))


def test_a_long_text_is_shown_as_shares_of_pixels(open_explorer):
    """4096 tokens: the window keeps its colour, a thin global column is not lost, an empty place stays empty."""
    explorer = open_explorer(P.window(512) | P.global_tokens(2000), keys=4096, queries=4096, at=[0, 4095])
    inside, thin, empty = explorer.colours([(1500, 1500), (600, 2000), (600, 3000)])
    assert (inside, empty) == (role("local"), role("blocked"))
    assert thin not in (role("blocked"), role("local"))
    assert (
        explorer.page.evaluate("document.querySelector('.lmexplain-explorer').shadowRoot.querySelectorAll('*').length")
        < 600
    )
    assert word("density").split("{")[0] in explorer.root.locator(".lm-zoom").inner_text()


def test_scattered_cells_are_shares_too(open_explorer):
    """Every third key: too many runs to keep, so the cells are counted one by one."""
    explorer = open_explorer(P.window(600, 3) | P.global_tokens(9), keys=1024, at=[0, 1023])
    column, outside, *inside = explorer.colours([(950, 9), (950, 20), *((500, k) for k in range(480, 520))])
    assert outside == role("blocked") and column not in (role("blocked"), role("local"))
    assert set(inside) - {role("blocked"), role("local")}, "some pixels hold a share of their cells"
    counts = explorer.root.locator(".lm-parts .lm-name span").all_inner_texts()
    reasons = (P.window(600, 3) | P.global_tokens(9)).at(1024).reasons()
    assert counts == [f"{int((reasons == i).sum()):,}" for i in range(2)]


def test_middle_lengths_are_pixels_of_whole_cells(open_explorer):
    explorer = open_explorer(P.window(20), keys=300, at=[0, 299])
    assert (
        explorer.colours([(150, 150), (150, 160), (150, 161), (150, 250)])
        == [role("local")] * 2 + [role("blocked")] * 2
    )


def test_zoom_shows_single_cells_and_moves_with_the_keys(open_explorer):
    explorer = open_explorer(P.window(2), keys=1024, at=[500, 500])
    explorer.press(*"z" * 8)
    places = explorer.places()
    assert places["cell"] >= 15 and places["column"] < 494 < 500 < places["column"] + 40
    assert explorer.colours([(495, 495), (495, 496), (495, 497)]) == [role("local"), role("local"), role("blocked")]
    explorer.matrix().focus()
    for _ in range(6):
        explorer.page.keyboard.press("Shift+ArrowDown")
    assert explorer.places()["row"] > places["row"]


def test_an_enlarged_matrix_is_pulled_by_hand(open_explorer):
    explorer = open_explorer(P.window(2), keys=200, at=[100, 100])
    explorer.press(*"zzzzz")
    before = explorer.places()
    x, y = explorer.centre(100, 100)
    explorer.page.mouse.move(x, y)
    explorer.page.mouse.down()
    explorer.page.mouse.move(x - 5 * before["cell"], y - 3 * before["cell"], steps=4)
    explorer.page.mouse.up()
    after = explorer.places()
    assert (after["column"] - before["column"], after["row"] - before["row"]) == pytest.approx((5, 3), abs=0.2)
    explorer.root.get_by_role("button", name=word("zoom_fit")).click()
    assert explorer.places()["column"] == 0


def test_a_finger_points_and_paints(open_explorer):
    explorer = open_explorer(P.window(2), WORDS, mode="paint", at=[13, 13])
    session = explorer.page.context.new_cdp_session(explorer.page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    touch("touchStart", explorer.centre(2, 2))
    for k in (3, 4, 5):
        touch("touchMove", explorer.centre(2, k))
    touch("touchEnd")
    assert explorer.colours([(2, k) for k in (1, 2, 4)]) == [role("blocked"), role("painted"), role("painted")]
    assert "“river” (5)" in explorer.status


def test_an_expression_draws_what_it_says(open_explorer):
    explorer = open_explorer(P.full(), WORDS)
    explorer.expression.fill("window(4, 2) | memory(0)")
    assert explorer.error == ""
    dense = P.window(4, 2).at(14).dense()
    cells = [(t, k) for t in range(1, 14) for k in range(1, 14)]
    assert explorer.colours(cells) == [role("local") if dense[t, k] else role("blocked") for t, k in cells]
    assert explorer.state()["spec"]["parts"][0] == {"op": "window", "width": 4, "dilation": 2}


def test_a_bad_expression_is_answered_and_the_picture_stays(open_explorer):
    explorer = open_explorer(P.window(2), WORDS)
    before = explorer.colours([(5, 5), (5, 9)])
    explorer.expression.fill("window(2) | glob(0)")
    assert "glob" in explorer.error and "global_tokens" in explorer.error
    explorer.expression.fill("global_tokens(99)")
    assert "99" in explorer.error and "13" in explorer.error
    assert explorer.colours([(5, 5), (5, 9)]) == before
    explorer.expression.fill("causal()")
    assert explorer.error == "" and explorer.colours([(5, 3)]) == [role("causal")]


def test_chinese_tokens_are_glyphs_not_boxes(open_explorer):
    explorer = open_explorer(P.window(2), "语言模型学习", font="Noto Sans SC lmexplain", lang="zh")
    drawn = explorer.root.locator(".lm-plot").first.evaluate(
        """(node) => {
             const { left, top, cell } = JSON.parse(node.dataset.cells);
             const canvas = node.firstChild, ctx = canvas.getContext("2d");
             const d = canvas.width / parseFloat(canvas.style.width);
             const label = (t) => ctx.getImageData((left - 22) * d, (top + t * cell) * d, 18 * d, cell * d).data;
             return [0, 1, 2, 3, 4, 5].map((t) => Array.from(label(t)).join());
           }"""
    )
    assert len(set(drawn)) == 6  # boxes would look alike
    assert explorer.page.evaluate("document.fonts.check('16px \"Noto Sans SC lmexplain\"', '语')")


# ── words and numbers ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_counters_are_pythons(open_explorer):
    explorer = open_explorer(PATTERN, WORDS)
    cost, text = PATTERN.at(14).cost(), explorer.root.locator(".lm-numbers").inner_text()
    assert f"{cost.pairs}\t{14 * 14}" in text
    assert f"{cost.flops / 1000:.3g} k\t{cost.full_flops / 1000:.3g} k" in text
    assert f"{cost.bytes} B\t{cost.full_bytes} B" in text
    assert f"{100 * cost.share:.1f}%" in text
    first = PATTERN.at(14).reasons()
    counts = explorer.root.locator(".lm-parts .lm-name span").all_inner_texts()
    assert counts == [str(int((first == i).sum())) for i in range(3)]


def test_a_slider_and_its_number_change_the_pattern(open_explorer):
    explorer = open_explorer(P.window(2) | P.global_tokens(0), WORDS)
    explorer.root.get_by_role("spinbutton", name="width").fill("7")
    explorer.root.get_by_role("slider", name="dilation").fill("2")
    explorer.settle()
    assert explorer.expression.input_value() == "window(7, 2) | global_tokens(0)"
    assert explorer.root.get_by_role("slider", name="width").input_value() == "7"
    explorer.root.get_by_role("button", name=word("add_position")).click()
    explorer.settle()
    assert explorer.expression.input_value() == "window(7, 2) | global_tokens(0, 13)"
    explorer.root.get_by_role("button", name=word("remove")).first.click()
    explorer.settle()
    assert explorer.expression.input_value() == "window(7, 2) | global_tokens(13)"


SLIDERS = [
    (P.random(2), {"draws r": "4", "seed": "9"}, "random(4, 9)"),
    (P.random_blocks(1, 4), {"block": "2", "seed": "1"}, "random_blocks(1, 2, 1)"),
    (P.segments([0] * 7 + [1] * 7), {"boundary 1": "3"}, "segments([0,0,0,1,1,1,1,1,1,1,1,1,1,1])"),
    (P.prefix(3), {"length": "5"}, "prefix(5)"),
    (P.padding([1] * 14), {"pads before": "2", "pads after": "1"}, "padding([0,0,1,1,1,1,1,1,1,1,1,1,1,0])"),
    (P.in_blocks(2, P.window(1)), {"block": "3", "width": "3"}, "in_blocks(3, window(3))"),
    (~P.window(3) & P.causal(), {"width": "5"}, "~window(5) & causal()"),
    (P.window(3) | (P.causal() & P.window(9)), {"width": "5"}, "window(5) | (causal() & window(9))"),
]


@pytest.mark.parametrize(("pattern", "moves", "text"), SLIDERS, ids=[text for *_, text in SLIDERS])
def test_every_parameter_has_its_slider(open_explorer, pattern, moves, text):
    explorer = open_explorer(pattern, WORDS)
    for name, value in moves.items():
        explorer.root.get_by_role("slider", name=name).first.fill(value)
    explorer.settle()
    assert explorer.expression.input_value() == text and explorer.error == ""


def test_known_patterns_fit_any_length(open_explorer):
    for keys in (1, 2, 7, 14, 40):
        explorer = open_explorer(P.full(), keys=keys)
        menu = explorer.root.get_by_role("combobox", name=word("presets")).first
        names = menu.locator("option").all_inner_texts()[1:]
        assert len(names) >= 15
        for name in names:
            menu.select_option(label=name)
            assert explorer.error == "", (name, keys)


def test_a_memory_makes_room_for_cached_keys(open_explorer):
    explorer = open_explorer(P.causal(), WORDS)
    explorer.root.get_by_role("combobox", name=word("presets")).select_option(label="Transformer-XL")
    state = explorer.state()
    assert (state["queries"], state["keys"], state["start"]) == (10, 14, 4)
    assert explorer.expression.input_value() == repr(P.transformer_xl(4)) and explorer.error == ""


def test_status_names_query_key_and_every_reason(open_explorer):
    explorer = open_explorer(PATTERN, WORDS)
    explorer.page.mouse.move(*explorer.centre(1, 0))
    assert explorer.status == "Query “small” (1) may attend to key “the” (0): window 2; global 0."
    explorer.page.mouse.move(*explorer.centre(9, 2))
    assert explorer.status == "Query “old” (9) may not attend to key “small” (1).".replace("small” (1)", "museum” (2)")
    assert explorer.root.locator(".lm-status").get_attribute("aria-live") == "polite"


def test_every_visible_word_changes_with_the_language(open_explorer):
    explorer = open_explorer(PATTERN, "语言模型从文本学习", font="Noto Sans SC lmexplain")
    names = "Longformer|BigBird|UniLM|XLNet|Transformer|XL|GPT|SVG|PNG|JSON"
    allowed = re.compile(f"[A-Z]|FLOPs?|[kMG]?B|key|query|token|full|En|AV|QK.?|{names}", re.IGNORECASE)
    for mode in MODES:
        explorer.press(str(MODES.index(mode) + 1))
        if explorer.root.get_by_role("tab", name=word(f"mode.{mode}")).count():
            explorer.press("l")
        text = explorer.root.evaluate("(host) => host.shadowRoot.querySelector('.lm-page').innerText")
        latin = {found for found in re.findall(r"[A-Za-z]+", text) if not allowed.fullmatch(found)}
        assert latin == set(), (mode, latin)


def test_words_of_the_page_are_all_in_the_table():
    from lmexplain.views.modules import JS

    source = "".join(path.read_text(encoding="utf-8") for path in JS.glob("*.js"))
    used = set(re.findall(r"""\bsay\((?:[^()"`?]*\?)?\s*"([\w.]+)\"""", source)) | set(
        re.findall(r'"(error\.[\w.]+)"', source)
    )
    assert len(used) > 80
    assert {key for key in used if f"explorer.{key}" not in interface()["en"]} == set()
    assert interface()["en"].keys() == interface()["zh"].keys()


# ── reach, path, compare ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_receptive_field_grows_by_layers(open_explorer):
    pattern = P.window(2) | P.random(1)
    explorer = open_explorer(pattern, WORDS, mode="reach", layers=1, at=[6, 0])
    for layers in (1, 2, 3):
        reached = P.reach([pattern.at(14)] * layers, queries=[6])[0]
        assert f"{int(reached.sum())} of 14 tokens" in explorer.panel
        lit = explorer.root.locator(".lm-sentence span").evaluate_all(
            "(all) => all.map((one) => one.classList.contains('lm-on') || one.classList.contains('lm-here'))"
        )
        assert lit == reached.tolist()
        explorer.press("n")
    explorer.click(2, 5)
    assert f"{int(P.reach([pattern.at(14)] * 4, queries=[2])[0].sum())} of 14 tokens" in explorer.panel
    far = explorer.status
    grid = pattern.at(14)
    assert f"in layer {len(grid.path(2, 5)) - 1}" in far


def test_reach_colours_cells_by_the_layer_that_finds_them(open_explorer):
    explorer = open_explorer(P.window(2), WORDS, mode="reach", layers=2, at=[13, 13])
    one, two, none = explorer.colours([(4, 5), (4, 6), (4, 8)])
    assert len({one, two, none}) == 3 and none == role("blocked")
    assert one == PALETTE["layers"]["light"][0]


def test_two_pressed_places_give_the_shortest_path(open_explorer):
    pattern = P.window(4) | P.global_tokens(7)
    explorer = open_explorer(pattern, WORDS, mode="path")
    explorer.click(13, 1)
    path = pattern.at(14).path(13, 1)
    assert f"Layers from “harbour” (13) to “small” (1): {len(path) - 1};" in explorer.panel
    steps = explorer.root.locator(".lm-steps li").all_inner_texts()
    assert [int(re.search(r"\((\d+)\):", step)[1]) for step in steps] == path[1:]
    assert explorer.root.locator(".lm-diagram text").count() >= 2 * len(path)
    chips = explorer.root.locator(".lm-sentence span")
    chips.nth(12).click()
    chips.nth(3).click()
    explorer.settle()
    assert explorer.state()["path"] == [12, 3]
    explorer.expression.fill("causal()")
    explorer.root.get_by_role("button", name=word("swap")).click()
    assert "No number of layers" in explorer.panel


def test_the_difference_is_counted_and_drawn(open_explorer):
    a, b = P.window(4) | P.global_tokens(0), P.causal()
    explorer = open_explorer(a, WORDS, mode="compare", compare=b.spec, at=[13, 13])
    left, right = a.at(14).dense(), b.at(14).dense()
    counts = [
        int((left & ~right).sum()),
        int((right & ~left).sum()),
        int((left & right).sum()),
        int((~left & ~right).sum()),
    ]
    assert explorer.root.locator(".lm-panel .lm-legend span").all_inner_texts() == [str(count) for count in counts]
    cells = [(t, k) for t in range(13) for k in range(13)]
    names = {(True, False): "only_a", (False, True): "only_b", (True, True): "both", (False, False): "blocked"}
    assert explorer.colours(cells, plot=2) == [role(names[bool(left[t, k]), bool(right[t, k])]) for t, k in cells]
    explorer.root.get_by_label("Pattern B", exact=True).fill("window(4) | global_tokens(0)")
    assert word("compare.same") in explorer.panel


# ── film, paint, predict ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_film_follows_the_factorization_order_in_both_streams(open_explorer):
    order = [3, 0, 4, 1, 2]
    explorer = open_explorer(P.permutation(order), WORDS[:5], mode="film")
    assert explorer.root.locator("figure:visible").count() == 2
    seen = []
    for _ in order:
        explorer.settle()
        seen.append(explorer.root.locator(".lm-sentence .lm-here").get_attribute("data-at"))
        explorer.press("PageDown")
    assert [int(at) for at in seen] == order
    content, query = P.permutation(order).at(5).dense(), P.permutation(order, "query").at(5).dense()
    cells = [(t, k) for t in range(5) for k in range(5) if t != 2 and k != 2]  # the cursor ends in row and column 2
    for plot, dense in enumerate((content, query)):
        assert explorer.colours(cells, plot) == [
            role("permutation") if dense[t, k] else role("blocked") for t, k in cells
        ]


def test_the_film_plays_to_its_end_and_can_be_paused(open_explorer):
    explorer = open_explorer(P.causal(), WORDS[:6], mode="film", speed=20)
    explorer.press(" ")
    explorer.page.wait_for_function("models[0].get('state').step === 5", timeout=10000)
    explorer.settle()
    assert explorer.root.get_by_role("button", name=word("play")).count() == 1
    explorer.root.get_by_role("button", name=word("first"), exact=True).click()
    assert explorer.state()["step"] == 0


def test_painting_by_mouse_and_keys_is_scored(open_explorer):
    pattern = P.window(2)
    explorer = open_explorer(pattern, WORDS, mode="paint", check=True, at=[13, 13])
    explorer.click(0, 0)
    start, end = explorer.centre(1, 0), explorer.centre(1, 3)
    explorer.page.mouse.move(*start)
    explorer.page.mouse.down()
    explorer.page.mouse.move(*end, steps=12)
    explorer.page.mouse.up()
    explorer.matrix().focus()
    explorer.page.keyboard.press("ArrowDown")
    explorer.page.keyboard.press("Space")
    drawn = torch.zeros(14, 14, dtype=torch.bool)
    drawn[0, 0] = drawn[1, :4] = drawn[2, 3] = True
    dense = pattern.at(14).dense()
    wanted = [int((drawn & dense).sum()), int((dense & ~drawn).sum()), int((drawn & ~dense).sum())]
    explorer.settle()
    assert explorer.root.locator(".lm-panel .lm-legend span").all_inner_texts() == [str(count) for count in wanted]
    assert explorer.colours([(1, 0), (1, 3), (5, 5), (5, 9)]) == [
        role("right"),
        role("extra"),
        role("missing"),
        role("blocked"),
    ]
    bits = np.unpackbits(np.frombuffer(b64decode(explorer.state()["paint"]), dtype=np.uint8), count=196)
    assert bits.reshape(14, 14).astype(bool).tolist() == drawn.tolist()
    explorer.root.get_by_role("button", name=word("paint.use")).click()
    assert P.from_spec(explorer.state()["compare"]).at(14).dense().equal(drawn)


def test_painting_keeps_the_answer_to_itself_until_asked(open_explorer):
    explorer = open_explorer(P.window(2), WORDS, mode="paint", at=[13, 13])
    assert set(explorer.colours([(t, t) for t in range(13)])) == {role("blocked")}
    explorer.page.mouse.move(*explorer.centre(3, 3))
    assert "window" not in explorer.status
    explorer.click(2, 9)
    judging = {look[theme].upper() for name in ("right", "missing", "extra") for look in [PALETTE["roles"][name]]
               for theme in ("light", "dark")}  # fmt: skip
    assert explorer.colours([(2, 9)]) == [role("painted")] and role("painted") not in judging
    marks = {name: look["mark"] for name, look in PALETTE["roles"].items()}
    assert marks["painted"] not in (marks["right"], marks["missing"], marks["extra"])
    assert explorer.root.locator(".lm-panel .lm-legend li").all_inner_texts() == [f"{word('score.painted')}\n1"]
    assert explorer.root.locator(".lm-score").inner_text() == ""
    explorer.page.keyboard.press("Control+z")
    explorer.root.get_by_role("checkbox", name=word("paint.check")).check()
    assert set(explorer.colours([(t, t) for t in range(12) if t != 3])) == {role("missing")}


def test_predict_hides_then_reveals_with_a_score(open_explorer):
    pattern = P.window(2) | P.global_tokens(0)
    explorer = open_explorer(pattern, WORDS, mode="predict", at=[6, 2])
    assert set(explorer.colours([(0, 5), (3, 3), (9, 0)])) == {role("hidden")}
    for k in (0, 5, 6, 9):
        explorer.click(6, k)
    assert "window" not in explorer.status
    explorer.root.get_by_role("button", name=word("predict.reveal")).click()
    assert "3 of 4 found, 1 too many" in explorer.panel and "60%" in explorer.panel
    assert explorer.colours([(6, 0), (6, 5), (6, 7), (6, 8)]) == [
        role("right"),
        role("right"),
        role("missing"),
        role("blocked"),
    ]
    explorer.press("n")
    assert "“coins” (7)" in explorer.panel


# ── keys, samples, lengths ────────────────────────────────────────────────────────────────────────────────────────


def test_the_presenters_keys(open_explorer):
    explorer = open_explorer(PATTERN, WORDS)
    size = "getComputedStyle(document.querySelector('.lmexplain-explorer').shadowRoot.querySelector('.lm-root'))"
    for key, expression, change in [
        ("t", f"{size}.backgroundColor", ("rgb(255, 255, 255)", "rgb(20, 24, 29)")),
        ("+", f"{size}.fontSize", ("14px", "15.4px")),
        ("-", f"{size}.fontSize", ("15.4px", "14px")),
    ]:
        before = explorer.page.evaluate(expression)
        explorer.press(key)
        assert (before, explorer.page.evaluate(expression)) == change
    for number, mode in enumerate(MODES, start=1):
        explorer.press(str(number))
        assert explorer.root.get_by_role("tab", selected=True).inner_text() == word(f"mode.{mode}")
    explorer.press("1")
    for key, row in [("n", 1), ("PageDown", 2), ("ArrowRight", 3), ("p", 2), ("PageUp", 1), ("ArrowLeft", 0)]:
        explorer.press(key)
        assert explorer.root.locator(".lm-sentence .lm-here").get_attribute("data-at") == str(row), key
    explorer.press("?")
    assert explorer.root.get_by_role("dialog").is_visible()
    explorer.page.keyboard.press("Escape")
    assert explorer.root.get_by_role("dialog").count() == 0


def test_full_screen_and_back(open_explorer):
    explorer = open_explorer(PATTERN, WORDS)
    inside = "document.querySelector('.lmexplain-explorer').shadowRoot.querySelector('.lm-full') !== null"
    covers = f"document.fullscreenElement !== null || {inside}"
    for expected in (True, False):
        explorer.press("f")
        explorer.page.wait_for_function(f"({covers}) === {str(expected).lower()}")


def test_arrow_keys_walk_over_the_cells(open_explorer):
    explorer = open_explorer(PATTERN, WORDS)
    explorer.matrix().focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "End"):
        explorer.page.keyboard.press(key)
    assert "“museum” (2)" in explorer.status and "“harbour” (13)" in explorer.status
    explorer.page.keyboard.press("Home")
    explorer.page.keyboard.press("ArrowUp")
    assert explorer.status.startswith("Query “small” (1) may attend to key “the” (0)")


def test_typing_is_not_taken_for_a_presenters_key(open_explorer):
    explorer = open_explorer(P.full(), WORDS)
    explorer.expression.click()
    explorer.expression.fill("")
    explorer.page.keyboard.type("full() | window(7)")
    explorer.settle()
    assert explorer.expression.input_value() == "full() | window(7)" and explorer.error == ""
    assert explorer.root.get_by_role("tab", selected=True).inner_text() == word("mode.look")


def test_samples_and_heads_are_picked(open_explorer):
    pattern = P.per_head(P.window(2), P.causal()) & P.padding([[1] * 14, [0] * 4 + [1] * 10])
    explorer = open_explorer(pattern, WORDS, at=[13, 13])
    explorer.root.get_by_role("combobox", name=word("batch")).select_option("1")
    explorer.settle()
    explorer.root.get_by_role("combobox", name=word("head")).select_option("1")
    cells = [(t, k) for t in range(13) for k in range(13)]
    reasons = pattern.at(14).reasons(1, 1)
    colours = [role("causal"), role("padding"), role("blocked")]
    assert explorer.colours(cells) == [colours[int(reasons[t, k])] for t, k in cells]


def test_another_text_and_other_lengths(open_explorer):
    explorer = open_explorer(P.window(2) | P.global_tokens(-1) | P.padding([1] * 14), WORDS)
    explorer.root.get_by_text(word("sequence")).click()
    field = explorer.root.get_by_label(word("your_text"))
    field.fill("Attention, 长文本!")
    field.blur()
    state = explorer.state()
    assert state["tokens"] == ["Attention", ",", "长", "文", "本", "!"] and state["keys"] == 6 and explorer.error == ""
    for name, length in (("keys", "40"), ("queries", "30")):
        explorer.root.get_by_role("spinbutton", name=word(name)).fill(length)
        explorer.page.keyboard.press("Enter")
        explorer.settle()  # the fields are written anew with the picture
    state = explorer.state()
    assert (state["queries"], state["keys"], state["start"]) == (30, 40, 10) and explorer.error == ""
    assert f"{P.from_spec(state['spec']).at(30, 40).pairs():,}" in explorer.root.locator(".lm-numbers").inner_text()


@pytest.mark.parametrize(
    "text",
    [
        "Don't pay 2,035,456 or 3.14, l’homme…… [MASK] <s> -- ok_then",
        "GPT模型和BERT，语言",
        "cafe\u0301 नमस्ते שָׁלוֹם",
        "👩‍👩‍👧 👍🏽 🇫🇷🇨🇳 1️⃣ a\u200bb \ufeffx </script>",
    ],
)
def test_a_text_typed_in_is_read_as_python_reads_it(open_explorer, text):
    explorer = open_explorer(P.full(), WORDS)
    explorer.root.locator("summary").click()
    field = explorer.root.get_by_label(word("your_text"))
    field.fill(text)
    field.blur()
    assert explorer.state()["tokens"] == list(read(text).tokens)


def test_cross_attention_has_two_lines(open_explorer):
    explorer = open_explorer(P.table(torch.arange(12).reshape(3, 4) % 2), keys=4, queries=3, start=None)
    assert "Query 0 may not attend to key 0" in explorer.status
    explorer.expression.fill("causal()")
    assert "cross-attention" in explorer.error


@pytest.mark.parametrize("width", [390, 700, 1280, 1920])
def test_nothing_overflows_at_any_width(open_explorer, width):
    explorer = open_explorer(P.bigbird_tokens(2, 3), WORDS * 4, compare=P.causal().spec)
    explorer.page.set_viewport_size({"width": width, "height": 800})
    for mode in MODES:
        explorer.root.get_by_role("tab").nth(MODES.index(mode)).click()
        explorer.settle()
        over = explorer.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        wide = explorer.root.evaluate(
            """(host) => [...host.shadowRoot.querySelectorAll(".lm-page *")]
                 .filter((e) => e.offsetParent && e.getBoundingClientRect().right > innerWidth + 1)
                 .map((e) => e.className)"""
        )
        assert (over <= 0, wide) == (True, []), mode


# ── access ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", MODES)
def test_every_control_is_named_reached_and_kept_from_the_notebook(open_explorer, mode):
    """JupyterLab takes keys from controls in outputs unless each carries the attribute itself."""
    explorer = open_explorer(
        P.segments([0] * 7 + [1] * 7) | P.permutation(list(range(14))) | P.padding([1] * 14) | P.global_tokens(0),
        WORDS,
        mode=mode,
        compare=P.causal().spec,
    )
    controls = explorer.root.evaluate(
        """(host) => [host, ...host.shadowRoot.querySelectorAll(
             "button, input, select, textarea, summary, [tabindex]")].map((e) => ({
             what: e.outerHTML.slice(0, 120), kept: e.hasAttribute("data-lm-suppress-shortcuts"),
             name: e.getAttribute("aria-label") || e.closest("label")?.innerText || e.innerText, ids: e.id }))"""
    )
    assert len(controls) > 25
    for control in controls:
        assert control["kept"], control
        assert control["name"] or control["what"].startswith('<div class="lm'), control
        assert not control["ids"], control
    explorer.root.locator(".lm-root").focus()
    rings = set()
    for _ in range(len(controls) + 5):
        explorer.page.keyboard.press("Tab")
        ring = explorer.root.evaluate(
            """(host) => {
                 const e = host.shadowRoot.activeElement, style = e && getComputedStyle(e);
                 return e && [e.tagName, style.outlineStyle, style.outlineWidth].join(" ");
               }"""
        )
        rings.add(ring)
    reached = {ring.split()[0] for ring in rings if ring}
    assert {"BUTTON", "INPUT", "CANVAS", "SELECT", "SUMMARY"} <= reached
    assert all(ring.endswith("solid 2px") for ring in rings if ring)


def test_reduced_motion_has_no_transitions(open_explorer, page_offline):
    page_offline.emulate_media(reduced_motion="reduce")
    explorer = open_explorer(PATTERN, WORDS)
    moving = explorer.root.evaluate(
        """(host) => [...host.shadowRoot.querySelectorAll("*")]
             .filter((e) => getComputedStyle(e).transitionDuration !== "0s").length"""
    )
    assert moving == 0


def test_the_theme_follows_system_and_jupyterlab(open_explorer, page_offline):
    page_offline.emulate_media(color_scheme="dark")
    explorer = open_explorer(PATTERN, WORDS, at=[13, 13])
    assert explorer.colours([(5, 5)]) == [role("local", "dark")]
    explorer.page.evaluate("document.body.dataset.jpThemeLight = 'true'")
    assert explorer.colours([(5, 5)]) == [role("local", "light")]
    explorer.page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    assert explorer.colours([(5, 5)]) == [role("local", "dark")]


# ── links and exports ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_link_restores_the_state(open_explorer, page_offline):
    explorer = open_explorer(P.full(), WORDS, link=True)
    explorer.expression.fill("window(4) | global_tokens(0, -1) & ~random(2, 5)")
    explorer.press("2", "n", "t", "l", "+")
    explorer.click(7, 3)
    before = explorer.state()
    fragment = urlsplit(page_offline.url).fragment
    assert parse_qs(fragment)["pattern"] == ["window(4) | (global_tokens(0, -1) & ~random(2, 5))"]
    again = open_explorer(P.full(), WORDS, link=True, hash=f"#{fragment}")
    again.page.keyboard.press("+")  # a page of its own hears keys wherever the focus is
    after = again.state()
    kept = ("spec", "mode", "layers", "at", "lang", "theme", "queries", "keys", "start")
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
    assert (before["mode"], before["layers"], before["at"], before["lang"], before["theme"]) == (
        "reach",
        3,
        [7, 3],
        "zh",
        "dark",
    )


def test_the_cursor_is_in_the_link(open_explorer, page_offline):
    """However long after the last other change it was moved."""
    explorer = open_explorer(P.full(), WORDS, link=True)
    explorer.press("2")
    explorer.sent()
    explorer.click(7, 3)
    assert explorer.state()["at"] == [7, 3] and "at=7-3" in page_offline.url


def test_copying_a_link_puts_it_into_the_address(open_explorer, page_offline):
    page_offline.context.grant_permissions(["clipboard-read", "clipboard-write"])
    explorer = open_explorer(P.causal(), WORDS, link=True)
    explorer.root.get_by_role("button", name=word("copy_link")).click()
    explorer.page.wait_for_function("location.hash.includes('pattern=')")
    assert parse_qs(urlsplit(page_offline.url).fragment)["pattern"] == ["causal()"]
    assert page_offline.evaluate("navigator.clipboard.readText()") == page_offline.url


def test_a_link_carries_a_text_of_ones_own(open_explorer, page_offline):
    explorer = open_explorer(P.causal(), WORDS, link=True)
    explorer.root.get_by_text(word("sequence")).click()
    explorer.root.get_by_label(word("your_text")).fill("a & b = c # 中 <i>")
    explorer.root.get_by_label(word("your_text")).blur()
    explorer.state()
    fragment = urlsplit(page_offline.url).fragment
    again = open_explorer(P.causal(), WORDS, link=True, hash=f"#{fragment}")
    assert again.root.locator(".lm-sentence span").all_inner_texts() == [
        "a",
        "&",
        "b",
        "=",
        "c",
        "#",
        "中",
        "<",
        "i",
        ">",
    ]


DAMAGED_LINKS = [
    {"pattern": "window(0)"}, {"pattern": "alert(1)"}, {"pattern": "window(4)", "keys": "5000"},
    {"pattern": "window(4)", "keys": "-1"}, {"pattern": "window(4)", "mode": "__proto__"},
    {"pattern": "window(4)", "lang": "fr"}, {"pattern": "window(4)", "at": "1"},
    {"pattern": "window(4)", "tokens": '{"a": 1}'}, {"pattern": "window(4)", "tokens": "[1]"},
    {"pattern": "window(4)", "layers": "1e9"}, {"pattern": "global_tokens(99)"},
    {"pattern": "window(4)", "queries": "20", "keys": "10"}, {"pattern": "~" * 300 + "full()"},
    {"pattern": "window(4)", "with": "<img src=x onerror=hacked()>"},
    {"pattern": "full()", "tokens": json.dumps(["x" * 90])}, {"pattern": "full() | " * 9000 + "full()"},
]  # fmt: skip


def test_a_damaged_link_is_refused_with_a_sentence(open_explorer):
    explorer = open_explorer(P.causal(), WORDS, link=True, hash="#pattern=window(0)")
    assert explorer.error.endswith(".")
    for given in DAMAGED_LINKS:
        explorer.page.evaluate("location.hash = ''")
        explorer.settle()
        assert explorer.error == ""
        explorer.page.evaluate("(hash) => { location.hash = hash; }", urlencode(given, quote_via=quote))
        explorer.settle()
        assert explorer.error.endswith("."), given
        assert explorer.expression.input_value() == "causal()"
        assert explorer.root.locator(".lm-sentence span").count() == 14
    assert explorer.page.evaluate("typeof window.hacked") == "undefined"


def test_an_anchor_that_is_no_state_is_left_alone(open_explorer):
    explorer = open_explorer(P.causal(), WORDS, link=True, hash="#section-3")
    assert explorer.error == "" and explorer.expression.input_value() == "causal()"


NASTY = [
    "</script><img src=x onerror='window.hacked=1'>",
    "<b>bold</b>",
    "\"'`${1}",
    "\u2028",
    "&amp;",
    "]]>",
    "\u202eabc",
    "a" * 300,
    "",
]


def test_tokens_never_become_markup(open_explorer):
    explorer = open_explorer(P.window(2) | P.global_tokens(0), NASTY, link=True)
    assert (
        explorer.root.locator(".lm-sentence span").evaluate_all("(all) => all.map((one) => one.textContent)") == NASTY
    )
    for mode in range(1, 8):
        explorer.press(str(mode))
    explorer.click(4, 0)
    assert explorer.page.evaluate("window.hacked") is None
    assert explorer.root.evaluate("(host) => host.shadowRoot.querySelectorAll('img, script, b b, iframe').length") == 0


def save(explorer: Explorer, kind: str) -> bytes:
    explorer.root.get_by_role("button", name=word("save"), exact=True).click()
    with explorer.page.expect_download() as download:
        explorer.root.get_by_role("menuitem", name=word(f"save.{kind}")).click()
    return Path(download.value.path()).read_bytes()


def test_the_svg_holds_text_as_text_and_every_run(open_explorer):
    tokens = [NASTY[0], *WORDS[1:]]
    explorer = open_explorer(PATTERN, tokens)
    text = save(explorer, "svg").decode("utf-8")
    root = ElementTree.fromstring(text)
    ns = {"svg": "http://www.w3.org/2000/svg"}
    texts = [node.text for node in root.iterfind(".//svg:text", ns)]
    assert "museum" in texts and "window(2) | global_tokens(0) | random(1, 0)" in texts
    assert any(text.startswith("</script>") for text in texts if text)
    assert not list(root.iterfind(".//svg:script", ns)) and "<img" not in text
    cell = explorer.places()["cell"]
    runs = root.findall(".//svg:g/svg:g/svg:rect[@fill]", ns)
    painted = sum(
        float(run.get("width", 0)) / cell
        for run in runs
        if run.get("fill", "").startswith("url(") and run.get("fill") != runs[0].get("fill")
    )
    assert round(painted) == PATTERN.at(14).pairs()


def test_the_svg_brings_its_chinese_glyphs_and_the_legend_of_its_mode(open_explorer):
    explorer = open_explorer(
        P.window(2), "语言模型", font="Noto Sans SC lmexplain", mode="compare", compare=P.causal().spec
    )
    text = save(explorer, "svg").decode("utf-8")
    assert "@font-face" in text and "Noto Sans SC lmexplain" in text
    texts = [node.text for node in ElementTree.fromstring(text).iterfind(".//{http://www.w3.org/2000/svg}text")]
    assert {"语", "window 2 · 10", "causal · 10", word("only_a"), word("only_b"), word("both")} <= set(texts)


def test_png_and_state_are_saved(open_explorer):
    explorer = open_explorer(PATTERN, WORDS)
    image = save(explorer, "png")
    assert image[:8] == b"\x89PNG\r\n\x1a\n" and len(image) > 10000
    state = json.loads(save(explorer, "json"))
    assert state["expression"] == repr(PATTERN) and P.from_spec(state["spec"]) == PATTERN and state["tokens"] == WORDS


def test_a_long_pattern_is_saved_as_a_picture_with_text(open_explorer):
    explorer = open_explorer(P.window(64), keys=1024)
    root = ElementTree.fromstring(save(explorer, "svg").decode("utf-8"))
    (image,) = root.iterfind(".//{http://www.w3.org/2000/svg}image")
    assert image.get("href", "").startswith("data:image/png;base64,")


# ── many events, many explorers, the end ──────────────────────────────────────────────────────────────────────────


def test_ten_thousand_slider_events_leave_no_backlog_and_no_growth(open_explorer, page_offline):
    explorer = open_explorer(P.window(8) | P.global_tokens(0), keys=128)
    session = page_offline.context.new_cdp_session(page_offline)

    def held() -> tuple[float, int]:
        session.send("HeapProfiler.collectGarbage")
        nodes = page_offline.evaluate(
            "document.querySelector('.lmexplain-explorer').shadowRoot.querySelectorAll('*').length"
        )
        return session.send("Runtime.getHeapUsage")["usedSize"] / 1e6, nodes

    push = """async (count) => {
      const host = document.querySelector('.lmexplain-explorer'), before = host.lmFrames.count;
      const slider = host.shadowRoot.querySelector('.lm-parts input[type=range]'), frames = { seen: 0, on: true };
      const tick = () => { frames.seen++; if (frames.on) requestAnimationFrame(tick); };
      requestAnimationFrame(tick);
      for (let i = 1; i <= count; i++) {
        slider.value = 3 + (i * 37) % 250;
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        if (i % 100 === 0) await new Promise((done) => setTimeout(done));
      }
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      frames.on = false;
      const drawn = host.lmFrames.count - before;
      await new Promise((done) => setTimeout(done, 400));
      return { drawn, frames: frames.seen, late: host.lmFrames.count - before - drawn, value: Number(slider.value) };
    }"""
    page_offline.evaluate(push, 1000)  # warm
    heap, nodes = held()
    result = page_offline.evaluate(push, 10000)
    heap_after, nodes_after = held()
    assert result["drawn"] <= result["frames"] and result["late"] == 0
    assert nodes_after == nodes and heap_after - heap < 2
    width = explorer.state()["spec"]["parts"][0]["width"]
    assert f"window({width}) |" in explorer.expression.input_value() and width > 1
    pairs = (P.window(width) | P.global_tokens(0)).at(128).pairs()
    assert f"{pairs:,}" in explorer.root.locator(".lm-numbers").inner_text()
    assert page_offline.evaluate("models[0].saves") < 200


def test_two_explorers_do_not_clash(open_explorer):
    other = {"spec": P.causal().spec, "keys": 9, "lang": "zh", "theme": "dark", "mode": "reach"}
    first = open_explorer(P.window(2), WORDS, others=[other], at=[13, 13])
    second = Explorer(first.page, 1)
    first.expression.fill("window(6)")
    assert first.colours([(4, 7)]) == [role("local")]
    assert second.expression.input_value() == "causal()"
    second.expression.fill("window(4)")
    assert first.expression.input_value() == "window(6)"
    assert first.root.get_by_role("tab", selected=True).inner_text() == word("mode.look")
    assert second.root.get_by_role("tab", selected=True).inner_text() == word("mode.reach", "zh")
    assert first.page.evaluate("[...document.querySelectorAll('[id]')].length") == 0


def test_python_and_the_reader_share_one_value(open_explorer):
    """As in an anywidget: a change from Python is drawn, a change by the reader is sent on."""
    explorer = open_explorer(P.window(2), WORDS, at=[13, 13])
    assert explorer.page.evaluate("models[0].saves") == 0  # nothing is sent unasked
    explorer.page.evaluate("models[0].set('state', {...models[0].get('state'), spec: {op: 'causal'}, lang: 'zh'})")
    assert explorer.colours([(5, 1)]) == [role("causal")]
    assert explorer.root.get_by_role("tab", selected=True).inner_text() == word("mode.look", "zh")
    explorer.expression.fill("full()")
    assert explorer.state()["spec"] == {"op": "full"} and explorer.page.evaluate("models[0].saves") == 1
    explorer.page.evaluate("models[0].set('state', {...models[0].get('state'), spec: {op: 'nonsense'}})")
    assert "nonsense" in explorer.error and explorer.colours([(5, 9)]) == [role("full")]


def test_nothing_stays_when_it_is_taken_away(open_explorer):
    explorer = open_explorer(P.window(2), WORDS, mode="film")
    explorer.press(" ")
    explorer.page.evaluate("cleanups[0]()")
    assert explorer.page.evaluate("document.querySelectorAll('.lmexplain-explorer').length + models[0].heard.size") == 0
    explorer.page.keyboard.press("t")
    explorer.page.wait_for_timeout(500)  # a timer left running would write an error by now


def test_a_state_that_is_none_still_shows_a_page(open_explorer):
    explorer = open_explorer(P.window(2), WORDS, others=[{"spec": {"op": "window"}, "tokens": ["a", "b"]}])
    broken = Explorer(explorer.page, 1)
    assert "window" in broken.error and broken.expression.input_value() == "full()"


def test_tokens_may_be_fewer_than_the_keys(open_explorer):
    explorer = open_explorer(P.causal(), WORDS[:3], keys=6, queries=2)
    assert explorer.root.locator(".lm-sentence span").all_inner_texts() == [*WORDS[:3], "3", "4", "5"]
    assert explorer.status.startswith("Query 4 may attend to key “the” (0)")


# ── what a reader has done is kept ────────────────────────────────────────────────────────────────────────────────


def counted(explorer: Explorer) -> list[str]:
    explorer.settle()
    return explorer.root.locator(".lm-panel .lm-legend span").all_inner_texts()


def test_a_painting_outlives_other_lengths(open_explorer):
    """Shorter and back, longer, with cached keys before it: every cell stays at its place in the text."""
    explorer = open_explorer(P.window(2), keys=16, mode="paint", at=[15, 15], check=True)
    for cell in ((0, 0), (1, 1), (14, 13)):
        explorer.click(*cell)
    assert counted(explorer) == ["3", "43", "0"]
    explorer.root.locator("summary").click()
    keys, queries = (explorer.root.get_by_label(word(name), exact=True).last for name in ("keys", "queries"))
    for length, right in (("4", "2"), ("20", "3"), ("16", "3")):
        keys.fill(length)
        assert counted(explorer)[0] == right, length
    queries.fill("15")
    assert counted(explorer)[0] == "2", "the row of place 0 is no query now"
    bits = np.unpackbits(np.frombuffer(b64decode(explorer.state()["paint"]), dtype=np.uint8), count=15 * 16)
    assert np.argwhere(bits.reshape(15, 16)).tolist() == [[0, 1], [13, 13]]
    queries.fill("16")
    assert counted(explorer)[0] == "3"


def test_what_was_painted_can_be_taken_back(open_explorer):
    explorer = open_explorer(P.window(2), WORDS, mode="paint", at=[13, 13])
    explorer.click(3, 3)
    explorer.matrix().focus()
    for key in ("ArrowDown", "Space"):
        explorer.page.keyboard.press(key)
    undo = explorer.root.get_by_role("button", name=word("undo"))
    for act in ("clear", "paint.copy"):
        explorer.root.get_by_role("button", name=word(act)).click()
        assert counted(explorer)[0] != "2"
        undo.click()
        assert counted(explorer)[0] == "2", act
        assert explorer.colours([(3, 3)]) == [role("painted")]
    explorer.matrix().focus()
    for left in ("1", "0", "0"):
        explorer.page.keyboard.press("Control+z")
        assert counted(explorer)[0] == left


def test_a_fast_stroke_leaves_no_gaps(open_explorer):
    explorer = open_explorer(P.full(), WORDS, mode="paint", at=[13, 13])
    explorer.page.mouse.move(*explorer.centre(1, 0))
    explorer.page.mouse.down()
    explorer.page.mouse.move(*explorer.centre(1, 9))
    explorer.page.mouse.move(*explorer.centre(9, 9))
    explorer.page.mouse.up()
    assert counted(explorer)[0] == str(10 + 8)


@pytest.mark.parametrize("key", ["t", "+", "l", "17"])
def test_predictions_outlive_the_looks_of_the_page(open_explorer, key):
    explorer = open_explorer(P.window(2), WORDS, mode="predict", at=[6, 2])
    explorer.click(6, 6)
    explorer.root.get_by_role("button", name=word("predict.reveal")).click()
    before = counted(explorer)
    explorer.press(*key)
    assert counted(explorer) == before == ["1", "2", "0"]


# ── the keyboard alone ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_focus_stays_where_it_was(open_explorer):
    """A control that is built anew under the reader's hand keeps the focus; so does a picture that goes."""
    explorer = open_explorer(P.window(2), WORDS, compare=P.causal().spec)
    focused = """(host) => host.shadowRoot.activeElement?.getAttribute("aria-label")"""
    explorer.root.get_by_role("button", name=word("other_theme")).focus()
    explorer.page.keyboard.press("Enter")
    explorer.settle()
    assert explorer.root.evaluate(focused) == word("other_theme")
    explorer.root.get_by_label(word("presets")).focus()
    explorer.page.keyboard.press("ArrowDown")
    explorer.settle()
    assert explorer.expression.input_value() == "full()"
    assert explorer.root.evaluate(focused) == word("presets")
    explorer.press("4")
    explorer.matrix(2).focus()
    explorer.page.keyboard.press("1")
    explorer.settle()
    assert explorer.root.evaluate(focused) == word("matrix").format(queries=14, keys=14)
    explorer.page.keyboard.press("5")
    assert explorer.state()["mode"] == "film"


def test_the_menu_is_walked_and_left_by_keys(open_explorer):
    explorer = open_explorer(P.window(2), WORDS)
    save, menu = explorer.root.get_by_role("button", name=word("save")), explorer.root.locator(".lm-menu")
    focused = "(host) => host.shadowRoot.activeElement.textContent || host.shadowRoot.activeElement.ariaLabel"
    save.focus()
    explorer.page.keyboard.press("Enter")
    assert (menu.is_visible(), save.get_attribute("aria-expanded")) == (True, "true")
    assert explorer.root.evaluate(focused) == word("save.svg")
    explorer.page.keyboard.press("ArrowUp")
    assert explorer.root.evaluate(focused) == word("save.json")
    explorer.page.keyboard.press("Escape")
    assert (menu.is_visible(), explorer.root.evaluate(focused)) == (False, word("save"))
    explorer.page.keyboard.press("Enter")
    explorer.matrix().click()
    assert not menu.is_visible()


# ── odd texts, paper, wide screens ────────────────────────────────────────────────────────────────────────────────


def test_a_text_from_right_to_left_keeps_its_places(open_explorer):
    """Without an isolate the place of a Hebrew word would be drawn on its other side, and “evil” turned round."""
    explorer = open_explorer(P.full(), ["שלום", "\u202eevil", "עולם"], at=[0, 1])
    assert "“\u2068שלום\u2069” (0)" in explorer.status and "“\u2068\u202eevil\u2069” (1)" in explorer.status
    chips = [chip.bounding_box()["x"] for chip in explorer.root.locator(".lm-sentence span").all()]
    assert chips == sorted(chips, reverse=True)


def test_a_token_without_end_stays_in_the_page(open_explorer):
    explorer = open_explorer(P.full(), ["x" * 400, "end"])
    assert explorer.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    box = explorer.root.locator(".lm-stage").bounding_box()
    assert explorer.root.locator(".lm-sentence span").first.bounding_box()["width"] <= box["width"]


def test_an_svg_of_control_characters_is_xml(open_explorer):
    explorer = open_explorer(P.full(), ["a\x08", "\ufffe", "b\x0b"])
    root = ElementTree.fromstring(save(explorer, "svg"))
    assert {"a\ufffd", "\ufffd", "b\ufffd"} <= {text for node in root.iter() if (text := node.text)}


@pytest.mark.parametrize("width", [390, 1280])
def test_the_largest_type_stays_in_the_page(open_explorer, width):
    explorer = open_explorer(P.bigbird_tokens(2, 3), WORDS, compare=P.causal().spec, size=220)
    explorer.page.set_viewport_size({"width": width, "height": 800})
    for i in range(len(MODES)):
        explorer.press(str(i + 1))
        assert explorer.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), MODES[i]


def test_three_pictures_stand_side_by_side_on_a_wide_screen(open_explorer):
    explorer = open_explorer(P.window(2), WORDS, compare=P.causal().spec, mode="compare")
    explorer.page.set_viewport_size({"width": 1920, "height": 1080})
    explorer.settle()
    tops = {round(figure.bounding_box()["y"]) for figure in explorer.root.locator("figure:visible").all()}
    assert len(tops) == 1


def test_a_printed_page_is_light_and_nothing_lies_over_it(open_explorer, page_offline):
    explorer = open_explorer(P.window(2), WORDS, theme="dark", at=[13, 13])
    page_offline.emulate_media(media="print")
    page_offline.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert explorer.colours([(5, 5), (5, 9)]) == [role("local"), role("blocked")]
    stage, side = (explorer.root.locator(name).bounding_box() for name in (".lm-stage", ".lm-side"))
    assert side["y"] >= stage["y"] + stage["height"]
    page_offline.evaluate("dispatchEvent(new Event('afterprint'))")
    assert explorer.colours([(5, 5)]) == [role("local", "dark")]


def test_a_saved_picture_shows_what_the_page_shows(open_explorer):
    """The numbers of a path, and the rows that the film has not come to."""
    explorer = open_explorer(P.window(3), WORDS, mode="path", path=[5, 0], at=[13, 13])
    texts = [node.text for node in ElementTree.fromstring(save(explorer, "svg")).iter() if node.tag.endswith("text")]
    assert [text for text in texts if text.isdecimal()] == ["1", "2", "3", "4", "5"]
    numbered = save(explorer, "png")
    explorer.press("1")
    assert numbered != save(explorer, "png")
    explorer = open_explorer(P.full(), WORDS, mode="film", step=3)
    paper = PALETTE["themes"]["light"]["paper"]
    rects = [node for node in ElementTree.fromstring(save(explorer, "svg")).iter() if node.tag.endswith("rect")]
    assert len([rect for rect in rects if rect.get("fill") == paper and rect.get("opacity")]) == 10
