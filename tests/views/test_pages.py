"""Standalone pages: nothing runs that the page did not bring, nothing is asked of the network, and they stay small."""

import base64
import hashlib
import io
import json
import re
from html.parser import HTMLParser

import pytest
from fontTools.ttLib import TTFont

from lmexplain import patterns as P
from lmexplain import views
from lmexplain.text import read
from lmexplain.views.names import describe
from lmexplain.words import words

ENGLISH = ("Whereas recognition of the inherent dignity and of the equal and inalienable rights of all members of the "
           "human family is the foundation of freedom, justice and peace in the world, ") * 3
CHINESE = ("鉴于对人类家庭所有成员的固有尊严及其平等的和不移的权利的承认，乃是世界自由、正义与和平的基础，"
           "鉴于对人权的无视和侮蔑已发展为野蛮暴行，这些暴行玷污了人类的良心，")
HOSTILE = "</script><img src=x onerror=alert(1)>"


class Parsed(HTMLParser):
    """The elements of a page as (tag, attributes), and the text of each script, style and title."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self._inside = [], {"script": [], "style": [], "title": []}, None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._inside = tag if tag in self.texts else None
        if self._inside:
            self.texts[tag].append("")

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside:
            self.texts[self._inside][-1] += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def state_in(html):
    parsed = Parsed(html)
    return json.loads(parsed.texts["script"][0])


def first(text, count):
    return read(text, limit=count).tokens


def test_a_page_is_whole_and_asks_for_nothing():
    html = views.page(P.longformer(4, (0,)), "the cat sat on the mat")
    page = Parsed(html)
    assert html.startswith("<!doctype html>\n") and page.all("html") == [{"lang": "en"}]
    assert page.texts["title"] == ["Longformer · lmexplain"]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all("meta")
    assert not any({"src", "href", "srcset", "data"} & set(attributes) - ({"src"} if tag == "img" else set())
                   for tag, attributes in page.elements)
    assert all(image["src"].startswith("data:image/png;base64,") for image in page.all("img"))
    addresses = set(re.findall(r"https?:[^\s\"'`)]*", html))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    assert not re.search(r"@import|url\((?!data:|#)|importScripts|\bfetch\(|XMLHttpRequest|WebSocket|\beval\(", html)


def test_the_policy_allows_this_script_and_no_request():
    page = Parsed(views.page(P.causal(), "a b"))
    (policy,) = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    data, script = page.texts["script"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert rules == {
        "default-src": "'none'", "script-src": f"'sha256-{digest}'", "style-src": "'unsafe-inline'",
        "img-src": "data: blob:", "font-src": "data:", "base-uri": "'none'", "form-action": "'none'"}
    assert [attributes["type"] for attributes in page.all("script")] == ["application/json", "module"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_without_scripts_there_is_a_picture_with_its_text(lang):
    pattern = P.window(2) | P.global_tokens(0)
    html = views.page(pattern, tokens=list("abcde"), lang=lang)
    noscript = html[html.index("<noscript>") : html.index("</noscript>")]
    (image,) = Parsed(noscript).all("img")
    assert image["alt"] == describe(pattern.at(5), 19, lang) and "19" in image["alt"]
    assert base64.b64decode(image["src"].partition(",")[2]).startswith(b"\x89PNG")
    assert Parsed(html).all("html") == [{"lang": {"en": "en", "zh": "zh-Hans"}[lang]}]


def test_hostile_text_stays_text():
    tokens = [HOSTILE, "<b>", "&lt;", "'\"`", "\u2028", "</style>", "<!--"]
    html = views.page(P.window(2).titled(HOSTILE), tokens=tokens, title="</title><script>alert(1)</script>",
                      compare=P.causal().titled("<!--<script>"))
    page = Parsed(html)
    assert len(page.all("script")) == 2 and len(page.all("img")) == 1
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert page.texts["title"] == ["</title><script>alert(1)</script>"]
    state = state_in(html)
    assert state["tokens"] == tokens and state["spec"]["title"] == HOSTILE
    assert not any(tag in ("b", "style") for tag, _ in page.elements[page.elements.index(("body", {})) :])


def test_the_state_holds_the_very_pattern():
    pattern = P.bigbird_tokens(2, 3) & ~P.cells((1, 2))
    state = state_in(views.page(pattern, tokens=list("abcdef"), queries=4, compare=P.causal(), lang="zh", theme="dark"))
    assert P.from_spec(state["spec"]) == pattern and P.from_spec(state["compare"]) == P.causal()
    assert (state["queries"], state["keys"], state["start"]) == (4, 6, 2)
    assert (state["lang"], state["theme"], state["link"], state["tokens"]) == ("zh", "dark", True, list("abcdef"))


@pytest.mark.parametrize(("text", "lang"), [(ENGLISH, "en"), (CHINESE, "zh"), (CHINESE, "en"), (ENGLISH, "zh")])
def test_sixty_four_tokens_make_at_most_300_kb(text, lang):
    tokens = first(text, 64)
    assert len(tokens) == 64
    html = views.page(P.bigbird_tokens(3, 5), tokens=tokens, lang=lang, compare=P.longformer(8))
    assert len(html.encode()) <= 300_000


def glyphs_in(html):
    fonts = re.findall(r"url\(data:font/woff2;base64,([^)]*)\)", html)
    return [set(map(chr, TTFont(io.BytesIO(base64.b64decode(font))).getBestCmap())) for font in fonts]


def test_a_page_brings_the_chinese_glyphs_it_may_show():
    (glyphs,) = glyphs_in(views.page(P.causal(), "犇 in English"))
    interface = set("".join(words("zh", "explorer.").values()))
    assert {c for c in interface if c >= "\u2e80"} <= glyphs and "犇" in glyphs, "it can be switched to Chinese"


def test_the_longest_page_and_one_too_long():
    html = views.page(P.longformer(), tokens=["x"] * 4096)
    assert state_in(html)["keys"] == 4096 and len(html.encode()) < 400_000
    with pytest.raises(ValueError, match=r"5000 queries by 5000 keys.*\(4096\); take a part"):
        views.page(P.longformer(), keys=5000)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"text": "a", "tokens": ["a"]}, "both text and tokens"),
        ({"text": ""}, "no token"),
        ({"text": "a b", "lang": "de"}, "'de'"),
        ({"text": "a b", "theme": "pink"}, "theme is 'pink'; choose one of 'auto', 'light', 'dark'"),
        ({"text": "a b", "keys": 3}, "2 tokens for 3 keys"),
    ],
)
def test_bad_input_is_named(arguments, said):
    with pytest.raises(ValueError, match=said):
        views.page(P.causal(), **arguments)
