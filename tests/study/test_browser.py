"""Cards in a browser: the language switches without a script, nothing overflows, nothing leaves the page."""

import pytest

from lmexplain import study
from lmexplain.patterns import window

CARDS = {
    "question": lambda: study.ask("B09"),
    "claim": lambda: study.claim("C124"),
    "list": lambda: study.can_answer("14"),
    "exercise": lambda: study.exercise("14.1"),
    "attempt": lambda: study.exercise("14.1", window(2)),
    "source": lambda: study.source(study.ask),
}


def shown(page, *cards):
    body = "".join(card._repr_mimebundle_()["text/html"] for card in cards)
    page.set_content(f"<!doctype html><meta charset=utf-8><title>cards</title><body>{body}")
    return page


def visible(page, selector: str) -> list[bool]:
    return [each.is_visible() for each in page.locator(selector).all()]


def test_each_card_has_a_switch_of_its_own(page_offline):
    page = shown(page_offline, study.ask("B09"), study.ask("B09"))
    assert visible(page, ".lm-en") == [True, True] and visible(page, ".lm-zh") == [False, False]
    page.locator(".lm-switch").first.click()
    assert visible(page, ".lm-en") == [False, True] and visible(page, ".lm-zh") == [True, False]
    page.locator(".lm-lang").nth(1).focus()
    page.keyboard.press("Space")
    assert visible(page, ".lm-zh") == [True, True]
    assert page.requests_out == [] and page.errors == []


def test_the_answer_opens_by_keyboard(page_offline):
    page = shown(page_offline, study.ask("B09"))
    assert not page.get_by_text("Longformer puts three patterns").is_visible()
    page.locator(".lm-en summary").first.focus()
    page.keyboard.press("Enter")
    assert page.get_by_text("Longformer puts three patterns").is_visible()
    controls = page.locator("input, summary, pre, .lm-scroll").count()
    assert page.locator("[data-lm-suppress-shortcuts]").count() == controls


def test_without_the_style_sheet_the_switch_is_hidden_and_both_languages_stand(page_offline):
    page = shown(page_offline, study.ask("B09"))
    page.evaluate("document.querySelectorAll('style').forEach(style => style.remove())")
    assert visible(page, ".lm-switch") == [False]
    assert visible(page, ".lm-en") == visible(page, ".lm-zh") == visible(page, ".lm-between") == [True]


@pytest.mark.parametrize("name", CARDS)
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows(page_offline, name, width):
    page_offline.set_viewport_size({"width": width, "height": 800})
    page = shown(page_offline, CARDS[name]())
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    for _ in range(2):
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator(".lm-switch").click()


@pytest.mark.parametrize("styled", [True, False])
def test_code_scrolls_sideways_and_is_never_broken(page_offline, styled):
    """Where the page around it breaks the lines of code, as JupyterLab's does, and also strips our style sheet."""
    page_offline.set_viewport_size({"width": 740, "height": 800})
    page = shown(page_offline, study.source(window(4)))
    if not styled:
        page.evaluate("document.querySelectorAll('style').forEach(style => style.remove())")
    page.add_style_tag(content="div pre,div pre code{white-space:pre-wrap;word-break:break-all}")
    code = page.locator("pre").first
    assert code.evaluate("pre => getComputedStyle(pre.firstElementChild).whiteSpace") == "pre"
    assert code.evaluate("pre => pre.scrollWidth > pre.clientWidth")


def test_chinese_is_drawn_with_the_glyphs_that_the_card_brings(page_offline):
    page = shown(page_offline, study.ask("B09", lang="zh"))
    loaded = page.evaluate("document.fonts.ready.then(() => [...document.fonts].map(font => font.status))")
    assert loaded == ["loaded"]
