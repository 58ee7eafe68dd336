"""The reference page: every public name is on it, described; its texts are escaped; it searches without a network."""

from __future__ import annotations

import importlib
import re

import pytest

import lmexplain
from lmexplain import site
from tests.house.test_package import PUBLIC

PAGE = site.page(site.rooms())
ROOMS = {room.path: room for room in site.rooms()}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_on_the_page(name):
    for offered in importlib.import_module(name).__all__:
        linked = {**{entry.name: entry.path for entry in ROOMS[name].entries}, **dict(ROOMS[name].elsewhere)}
        assert f'id="{linked[offered]}"' in PAGE, f"{name}.{offered}"


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_that_can_be_called_says_what_it_does(name):
    for entry in ROOMS[name].entries:
        if entry.kind != "value":
            assert entry.doc, f"{entry.path} has no docstring"


def test_an_object_is_described_once():
    ids = re.findall(r'<(?:article|section) id="([^"]+)"', PAGE)
    assert len(ids) == len(set(ids))
    described = [entry.path for room in ROOMS.values() for entry in room.entries]
    assert "lmexplain.patterns.window" in described
    assert not [path for path in described if path.endswith(".window") and path != "lmexplain.patterns.window"]


def test_links_lead_somewhere():
    targets = set(re.findall(r'href="#([^"]+)"', PAGE))
    assert targets - set(re.findall(r'id="([^"]+)"', PAGE)) == set()


def test_the_contents_fold_what_is_inside_a_room():
    contents = re.search(r"<ul>(.*?)</nav>", PAGE, re.DOTALL)[1]
    open_ = re.sub(r"<details>.*?</details>", "", contents)
    assert 'href="#module-lmexplain.patterns"' in open_ and "lmexplain.patterns.place" not in open_
    for room in ROOMS.values():
        assert (f'href="#{room.anchor}"' in contents) or not room.entries


def test_no_example_is_cut_and_no_description_borrowed():
    assert "pre { white-space: pre-wrap" in PAGE
    assert "recipe for forward pass" not in PAGE and "agg_filter" not in PAGE


def test_the_page_is_the_same_each_time():
    assert site.page(site.rooms()) == PAGE
    assert " at 0x" not in PAGE


@pytest.mark.parametrize(("doc", "shown"), [
    ("Takes `a < b` and <i>.", "<p>Takes <code>a &lt; b</code> and &lt;i&gt;.</p>"),
    ("One.\n\nTwo\nlines.", "<p>One.</p>\n<p>Two lines.</p>"),
    ("As in::\n\n    x = '</script>'", "<p>As in:</p>\n<pre>x = &#x27;&lt;/script&gt;&#x27;</pre>"),
    ("Like this:\n    y = 1\n    z = 2", "<p>Like this:</p><pre>y = 1\nz = 2</pre>"),
    ("This is *the next* one, `*not*` this.", "<p>This is <em>the next</em> one, <code>*not*</code> this.</p>"),
    ("(*lead, T) and *args, **kwargs, 2 * 3 * 4.", "<p>(*lead, T) and *args, **kwargs, 2 * 3 * 4.</p>"),
    (">>> 1 + 1\n2", "<pre>&gt;&gt;&gt; 1 + 1\n2</pre>"),
    ("- one\n- two\n  more", "<ul><li>one</li><li>two\n  more</li></ul>"),
    ("", ""),
])
def test_a_docstring_becomes_html(doc, shown):
    assert site.prose(doc) == shown


def test_signatures_read_as_they_are_written():
    def f(a: int | None, *, b: str = "<", c=len) -> list[int]: ...

    assert site._signature(f) == "(a: int | None, *, b: str = '<', c=len) -> list[int]"


def test_the_command_writes_the_page_and_names_it(tmp_path, capsys):
    from lmexplain.cli import main

    assert main(["site", "--out", str(tmp_path / "目录")]) == 0
    target = tmp_path / "目录" / "reference.html"
    assert capsys.readouterr().out.strip() == str(target)
    assert target.read_text(encoding="utf-8") == PAGE
    assert main(["site", "--out", str(target)]) == 2
    assert "is a file; name a folder" in capsys.readouterr().err


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_searches_offline_by_keyboard(page_offline, tmp_path, scheme):
    target = tmp_path / "reference.html"
    target.write_text(PAGE, encoding="utf-8")
    page_offline.emulate_media(color_scheme=scheme)
    page_offline.goto(target.as_uri())
    names = page_offline.locator("main > section > article")
    total = names.count()
    page_offline.keyboard.press("/")
    page_offline.keyboard.type("patterns.window sliding")
    assert page_offline.locator("#found").inner_text().endswith(f"of {total} names")
    shown = page_offline.locator("main > section > article:visible")
    assert 0 < shown.count() < total
    assert "lmexplain.patterns.window" in [shown.nth(i).get_attribute("id") for i in range(shown.count())]
    page_offline.keyboard.press("Escape")
    assert page_offline.locator("main > section > article:visible").count() == total
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page_offline.evaluate(ground)
    page_offline.click("#theme")
    assert {before, page_offline.evaluate(ground)} == {"rgb(255, 255, 255)", "rgb(22, 24, 28)"}
    assert (before == "rgb(255, 255, 255)") == (scheme == "light")
    assert page_offline.requests_out == [] and page_offline.errors == []


def test_the_version_is_on_the_page():
    assert f"lmexplain {lmexplain.__version__}" in PAGE
