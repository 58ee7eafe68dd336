"""The package's own source, shown: the text itself, escaped, with the place where it stands."""

import functools
import html
import inspect
import re

import pytest

from lmexplain import patterns, study
from lmexplain.study import pages


def text_of(shown) -> str:
    """The program in a page, tags taken away."""
    inside = re.search(r"<pre[^>]*><code[^>]*>(.*?)</code></pre>", shown._repr_mimebundle_()["text/html"], re.DOTALL)[1]
    return html.unescape(re.sub(r"<[^>]+>", "", inside)).strip()


@pytest.mark.parametrize("thing", [patterns.window, patterns.Pattern, pages])
def test_it_is_the_source_itself(thing):
    source = inspect.getsource(thing).strip()
    assert text_of(study.source(thing)) == source
    assert source in study.source(thing).plain


def test_a_value_shows_its_class_and_a_property_its_function():
    assert text_of(study.source(patterns.window(4))).lstrip("@").find("class Window") >= 0
    assert text_of(study.source(patterns.Grid.T)).startswith("@property\ndef T")
    assert "def window" in text_of(study.source(functools.partial(patterns.window, 4)))


def test_the_place_is_named_without_a_path():
    shown = study.source(patterns.longformer)
    first = inspect.getsourcelines(patterns.longformer)[1]
    assert re.match(rf"# lmexplain\.patterns\.papers, lines {first} to \d+\n", shown.plain)
    assert "lmexplain.patterns.papers，第" in shown.html and "/lmexplain/" not in shown.html


def test_it_is_escaped_and_stands_once():
    page = study.source(escaped_on_purpose)._repr_mimebundle_()["text/html"]
    assert "<script>alert" not in page and page.count("escaped_on_purpose") == 1


def escaped_on_purpose():
    return "<script>alert(1)</script>"


def test_without_pygments_the_text_stands_plain(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pygments", None)
    assert text_of(study.source(escaped_on_purpose)) == inspect.getsource(escaped_on_purpose).strip()


@pytest.mark.parametrize("thing", [len, int, 3])
def test_what_has_no_source_is_refused(thing):
    with pytest.raises(TypeError, match="no Python source"):
        study.source(thing)
