"""The visual language is one: Python and the browser share colours, marks and how like parts are told apart."""

import itertools
import re

import pytest

from lmexplain import patterns as P
from lmexplain.views.modules import JS
from lmexplain.views.palette import MARKS, looks_of, mixed, palette

PARTS = [P.full(), P.causal(), P.window(2), P.global_tokens(0), P.random(1), P.random_blocks(1), P.segments([0]),
         P.prefix(1), P.permutation([0]), P.memory(1), P.padding([1]), P.cells((0, 0)), P.table([[1]]), ~P.causal(),
         P.in_blocks(2, P.window(3)), P.global_tokens(where=[1])]  # fmt: skip


def test_the_marks_are_those_of_the_browser():
    source = (JS / "canvas.js").read_text(encoding="utf-8")
    (block,) = re.findall(r"export const MARKS = \{(.*?)\};", source, re.DOTALL)
    assert list(MARKS) == re.findall(r"(\w+):", block), "in the same order, since a free mark is taken in order"
    assert {role["mark"] for role in palette()["roles"].values()} <= set(MARKS)
    assert all(0 <= x <= 1 and 0 <= y <= 1 for strokes in MARKS.values() for line in strokes for x, y in line)


def test_every_part_has_its_look():
    looks = {part.name: looks_of([part])[0] for part in PARTS}
    assert looks["window 2"].colour == palette()["roles"]["local"]["light"]
    assert looks["window 3, in blocks of 2"] == looks["window 2"]
    assert looks_of([~P.causal()], dark=True)[0].colour == palette()["roles"]["not"]["dark"]


@pytest.mark.parametrize("dark", [False, True])
def test_parts_of_one_pattern_differ_in_colour_and_mark(dark):
    for several in ([P.window(2), P.window(8, 2), P.window(3)], PARTS[:10], [P.random(1), P.random(1, 5), P.random(2)]):
        for one, other in itertools.combinations(looks_of(several, dark), 2):
            assert one.colour != other.colour and one.mark != other.mark


def test_colours_mix_channel_by_channel():
    assert mixed("#000000", "#ffffff", 0.5) == "#808080" and mixed("#102030", "#102030", 0.3) == "#102030"
    assert mixed("#ff0000", "#0000ff", 0.25) == "#bf0040"


def luminance(colour):
    def linear(value):
        return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4

    return sum(weight * linear(int(colour[at : at + 2], 16) / 255)
               for weight, at in ((0.2126, 1), (0.7152, 3), (0.0722, 5)))  # fmt: skip


@pytest.mark.parametrize("dark", [False, True])
def test_marks_and_text_can_be_read(dark):
    """Contrast as WCAG 2 defines it: 3 for marks on their colour, 4.5 for text on paper."""
    def contrast(a, b):
        high, low = sorted((luminance(a), luminance(b)), reverse=True)
        return (high + 0.05) / (low + 0.05)

    for look in looks_of(PARTS, dark):
        assert contrast(look.colour, look.ink) >= 3, look
    theme = palette()["themes"]["dark" if dark else "light"]
    assert contrast(theme["paper"], theme["ink"]) >= 4.5 and contrast(theme["paper"], theme["muted"]) >= 4.5
