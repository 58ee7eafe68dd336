"""What a newcomer stumbled over, at a desk, with a telephone and before a projector."""

import xml.etree.ElementTree as ElementTree

import pytest

from lmexplain import patterns as P

from .conftest import PALETTE, Explorer
from .test_explorer import WORDS, save, word

LONG = ["internationalisation", *WORDS, "counterrevolutionaries"] * 4


def focus(explorer: Explorer) -> str:
    explorer.settle()
    return explorer.root.evaluate("(host) => host.shadowRoot.activeElement?.tagName")


def labels(explorer: Explorer) -> list[dict[str, float]]:
    """Size and place of every label beside the matrix, from the saved picture."""
    texts = [node for node in ElementTree.fromstring(save(explorer, "svg")).iter() if node.tag.endswith("text")]
    return [{"size": float(node.get("font-size")), "turned": "rotate" in node.get("transform"), "text": node.text}
            for node in texts if node.get("transform")]  # fmt: skip


def inked(explorer: Explorer, left: float, top: float, right: float, bottom: float) -> int:
    """Pixels of ink that the cursor puts there, in CSS pixels of the plot."""
    return explorer.matrix().evaluate(
        """(canvas, [x0, y0, x1, y1]) => {
             const d = canvas.width / parseFloat(canvas.style.width);
             const at = [x0, y0, x1 - x0, y1 - y0].map((v) => Math.round(v * d));
             const { data } = canvas.getContext("2d").getImageData(...at);
             let count = 0;
             for (let i = 0; i < data.length; i += 4) count += data[i + 3] > 200 && data[i] < 60;
             return count;
           }""",
        [left, top, right, bottom],
    )


# ── keys ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_mode_gives_the_keys_to_the_matrix(open_explorer, page_offline):
    explorer = open_explorer(P.window(2), WORDS, at=[3, 3], link=True)
    for key in ("7", "ArrowRight", "Space"):
        page_offline.keyboard.press(key)
    filled = word("predict.filled").format(query="“beside” (3)", key="“the” (4)")
    assert explorer.status == filled and word("predict.reveal") in explorer.panel
    explorer.root.get_by_role("tab", name=word("mode.paint")).click()
    assert focus(explorer) == "CANVAS"
    explorer.root.get_by_role("tab", selected=True).focus()
    page_offline.keyboard.press("ArrowLeft")
    assert (focus(explorer), explorer.state()["mode"]) == ("BUTTON", "film"), "tabs turned by arrows keep the focus"


def test_arrows_never_reveal_a_row(open_explorer, page_offline):
    explorer = open_explorer(P.window(2), WORDS, at=[3, 3], link=True, mode="predict")
    page_offline.keyboard.press("ArrowRight")
    page_offline.keyboard.press("ArrowDown")
    assert f"“{WORDS[4]}” (4)" in explorer.panel and explorer.root.locator(".lm-score").inner_text() == ""
    page_offline.keyboard.press("n")
    assert "0 of 3 found" in explorer.panel


@pytest.mark.parametrize("mode", ["look", "reach", "compare", "film", "predict"])
def test_space_never_scrolls(open_explorer, page_offline, mode):
    explorer = open_explorer(P.causal(), WORDS, compare=P.full().spec, link=True, mode=mode)
    page_offline.set_viewport_size({"width": 390, "height": 400})
    page_offline.keyboard.press("Space")
    explorer.sent()
    assert page_offline.evaluate("scrollY") == 0
    playing = explorer.root.get_by_role("button", name=word("pause")).count()
    assert playing == (mode == "film")


def test_space_on_the_matrix_plays_the_film(open_explorer, page_offline):
    explorer = open_explorer(P.causal(), WORDS[:3], speed=20, at=[2, 0])
    explorer.press("5")
    explorer.matrix().focus()
    page_offline.keyboard.press("Space")
    page_offline.wait_for_function("models[0].get('state').step === 2", timeout=10000)


def test_the_list_of_keys_says_what_each_mode_does_with_them(open_explorer):
    explorer = open_explorer(P.causal(), WORDS)
    explorer.press("?")
    text = explorer.root.get_by_role("dialog").inner_text()
    for mode in ("look", "compare", "paint", "reach", "path", "film", "predict"):
        assert word(f"mode.{mode}") in text
    assert "reveals" in text and "Enter" in text


# ── what is written ───────────────────────────────────────────────────────────────────────────────────────────────


def test_characters_without_a_font_are_named(open_explorer):
    """U+2FE0 … U+2FEF are assigned to no character, so that no machine has a font for them."""
    explorer = open_explorer(P.causal(), ["plain", "é", "→", "e\u0301"])
    notice = explorer.root.locator(".lm-boxes")
    assert notice.inner_text() == ""
    explorer.root.locator("summary").click()
    field = explorer.root.get_by_label(word("your_text"))
    field.fill("plain \u2fe1")
    field.blur()
    explorer.settle()
    assert "\u2fe1" in notice.inner_text() and "plain" not in notice.inner_text() and notice.is_visible()
    field.fill("plain again")
    field.blur()
    explorer.settle()
    assert notice.inner_text() == ""


def test_glyphs_brought_along_are_no_boxes(open_explorer):
    explorer = open_explorer(P.causal(), "语言模型", font="Noto Sans SC lmexplain")
    assert explorer.root.locator(".lm-boxes").inner_text() == ""


@pytest.mark.parametrize(
    ("tokens", "text"), [(["a", "模", "型", "b"], "a 模型 b"), (["it's", "so", "."], "it's so ."), (None, "")]
)
def test_the_text_shown_can_be_edited(open_explorer, tokens, text):
    explorer = open_explorer(P.causal(), tokens, keys=4 if tokens is None else len(tokens))
    explorer.root.locator("summary").click()
    field = explorer.root.get_by_label(word("your_text"))
    assert field.input_value() == text
    field.fill("my   own")
    field.blur()
    explorer.settle()
    assert field.input_value() == "my   own" and explorer.state()["tokens"] == ["my", "own"]


def test_a_link_from_a_disk_says_where_it_works(open_explorer):
    explorer = open_explorer(P.window(2), WORDS, link=True)
    explorer.root.get_by_role("button", name=word("copy_link")).click()
    assert word("link_file") in explorer.status


def test_places_from_the_end_are_explained(open_explorer):
    explorer = open_explorer(P.global_tokens(0), WORDS)
    assert word("positions_note") in explorer.root.locator(".lm-parts").inner_text()


@pytest.mark.parametrize(
    ("pattern", "counts", "noted"),
    [
        (P.causal() & P.window(3), ["27", word("closes")], True),
        (P.window(3) & P.causal(), ["27", word("closes")], True),
        (P.window(2) | (P.causal() & P.window(9)), ["40", "33", word("closes")], True),
        (P.full() | P.causal(), ["196", "0"], False),
    ],
)
def test_a_pair_counts_for_the_first_part_and_the_legend_says_so(open_explorer, pattern, counts, noted):
    explorer = open_explorer(pattern, WORDS)
    assert explorer.root.locator(".lm-parts .lm-name span").all_inner_texts() == counts
    text = explorer.root.locator(".lm-parts").inner_text()
    assert word("parts_note") in text and (word("closes_note") in text) == noted
    texts = [node.text for node in ElementTree.fromstring(save(explorer, "svg")).iter() if node.tag.endswith("text")]
    assert texts[-len(counts) :] == [text for text in texts if text and " · " in text]
    assert [text.rpartition(" · ")[2] for text in texts[-len(counts) :]] == counts


# ── compare ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_patterns_have_two_costs(open_explorer):
    a, b = P.window(4), P.causal()
    explorer = open_explorer(a, WORDS, mode="compare", compare=b.spec)
    shares = explorer.root.locator(".lm-share").all_inner_texts()
    wanted = [f"{letter} {100 * grid.pairs() / 196:.3g}%" for letter, grid in (("A", a.at(14)), ("B", b.at(14)))]
    assert [share.split(" of")[0] for share in shares] == wanted
    assert [text[0] for text in explorer.root.locator(".lm-whole").all_inner_texts()] == ["A", "B"]
    explorer.press("1")
    assert explorer.root.locator(".lm-share").count() == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_only_b_has_a_colour_that_no_part_has(theme):
    assert PALETTE["roles"]["only_b"][theme] not in {PALETTE["roles"][name][theme] for name in PALETTE["ops"].values()}


def test_titles_stand_over_their_matrices(open_explorer):
    explorer = open_explorer(P.window(4), WORDS * 2, mode="compare", compare=P.causal().spec)
    for plot in range(3):
        figure = explorer.root.locator("figure:visible").nth(plot)
        text = figure.locator("figcaption").evaluate(
            "(node) => node.getBoundingClientRect().x + parseFloat(getComputedStyle(node).paddingLeft)"
        )
        assert text == pytest.approx(explorer.matrix(plot).bounding_box()["x"] + explorer.places(plot)["left"], abs=1)


# ── room ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_more_layers_push_down_what_stands_below(open_explorer):
    explorer = open_explorer(P.window(2), WORDS * 4, mode="reach", layers=1)
    explorer.page.set_viewport_size({"width": 390, "height": 844})
    explorer.press("n", "n", "n", "n", "n")
    plot, canvas = explorer.root.locator(".lm-plot").first.bounding_box(), explorer.matrix().bounding_box()
    assert plot["height"] == pytest.approx(canvas["height"], abs=1)
    assert explorer.root.locator(".lm-zoom").bounding_box()["y"] >= canvas["y"] + canvas["height"] - 1


@pytest.mark.parametrize("width", [390, 700, 1024, 1280, 1920])
def test_larger_type_makes_no_smaller_picture(open_explorer, width):
    explorer = open_explorer(P.window(2) | P.global_tokens(0, -1), WORDS, link=True)
    explorer.page.set_viewport_size({"width": width, "height": 800})
    before = explorer.places()["cell"]
    for _ in range(4):
        explorer.press("+")
        side = explorer.root.locator(".lm-side").bounding_box()
        ends = [box["x"] + box["width"] for button in explorer.root.get_by_role("button", name=word("remove")).all()
                if (box := button.bounding_box())]  # fmt: skip
        assert max(ends) <= side["x"] + side["width"] + 0.5
    assert explorer.places()["cell"] >= before - (4 if width < 800 else 0), "on a telephone, labels need their room"
    signs = explorer.root.locator(".lm-zoom path").evaluate_all("(all) => all.map((one) => one.getAttribute('d'))")
    assert all("a4.500" in sign for sign in (signs[0], signs[2])), "zoom has a lens, type has + and −"


@pytest.mark.parametrize("count", [14, 64])
def test_the_matrix_takes_the_room_of_a_projector(open_explorer, count):
    explorer = open_explorer(P.window(4), LONG[:count], link=True)
    explorer.page.set_viewport_size({"width": 1920, "height": 1080})
    assert explorer.matrix().bounding_box()["height"] > 0.75 * 1080
    assert explorer.root.locator(".lm-status").bounding_box()["y"] < 1080 - 20, "and leaves room for its words"


@pytest.mark.parametrize("width", [390, 768, 1280, 1920])
def test_labels_can_be_read_or_are_left_out(open_explorer, width):
    explorer = open_explorer(P.window(4), LONG[:32], link=True)
    explorer.page.set_viewport_size({"width": width, "height": 900})
    explorer.settle()
    assert min(label["size"] for label in labels(explorer)) >= 11


def test_the_cursors_labels_cover_no_other_in_part(open_explorer):
    """Turned as the labels are; beside each other where both are short of room."""
    explorer = open_explorer(P.window(4), LONG[:30], link=True, at=[0, 0])
    explorer.page.set_viewport_size({"width": 1280, "height": 900})
    at = explorer.places()
    assert any(label["turned"] for label in labels(explorer))
    assert inked(explorer, at["left"] + 2.5 * at["cell"], 0, at["left"] + 30 * at["cell"], at["top"] - 4) == 0
    explorer.page.set_viewport_size({"width": 390, "height": 844})
    at = explorer.places()
    assert not any(label["turned"] for label in labels(explorer))
    below = at["top"] + 3 * at["cell"]
    assert inked(explorer, at["left"] + 2, below, at["left"] + 30 * at["cell"], below + 200) == 0
    assert inked(explorer, 0, 0, at["left"] - 5, at["top"] + at["cell"] / 2 - 10) == 0, "a column's is not over a row's"


def test_a_label_of_the_path_keeps_off_its_line(open_explorer):
    """An intermediate token's label stands on the side that the line does not leave by."""
    explorer = open_explorer(P.window(4) | P.global_tokens(7), WORDS, mode="path", path=[13, 0])
    label = explorer.root.locator(".lm-diagram text[text-anchor]").filter(has_text="coins")
    assert label.get_attribute("text-anchor") == "start"
    explorer.root.get_by_role("button", name=word("swap")).click()
    explorer.settle()
    assert label.get_attribute("text-anchor") == "end"
