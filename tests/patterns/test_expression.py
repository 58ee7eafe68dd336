"""Patterns as text and JSON: round trips, and what is refused."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lmexplain import patterns as P

from .strategies import grids


@given(grids())
def test_text_and_json_round_trip(grid):
    for again in (P.parse(repr(grid.pattern)), P.from_spec(json.loads(json.dumps(grid.pattern.spec)))):
        assert torch.equal(again.at(grid.T, grid.S, grid.start).dense(), grid.dense())
        assert again.spec == grid.pattern.spec and again.name == grid.pattern.name


def test_values_come_back_equal():
    pattern = ~(P.window(4, 2) & P.causal()) | P.per_head(P.full(), P.random(3, 1)) | P.bigbird(seed=2)
    assert P.parse(repr(pattern)) == pattern == P.from_spec(pattern.spec)


def test_papers_are_words_of_the_language():
    assert P.parse("longformer(4, (0, -1))") == P.longformer(4, (0, -1))
    assert P.parse('unilm("sequence-to-sequence", source=3)') == P.unilm("sequence-to-sequence", 3)
    stream = P.permutation([2, 0, 1], "query").at(3).dense()
    assert torch.equal(P.parse("permutation([2,0,1]).query").at(3).dense(), stream)
    assert P.from_spec(P.longformer(4).spec).title == "Longformer"


@pytest.mark.parametrize(
    "text",
    ["", "window", "window(", "open('x')", "__import__('os')", "window(4).__class__", "window(2 ** 9)", "window(*[4])",
     "window(**{'width': 4})", "(lambda: 1)()", "[window(4) for _ in 'ab']", "window(4) + causal()", "3", "window('4')",
     "window(4, 1, 2)", "window(x)", "f'{1}'", "window(4) if 1 else 2", "~" * 60 + "causal()",
     "(" * 300 + "1" + ")" * 300,
     "causal().query", "window(1e9)", "per_head(4)", "window(width=4, width=5)", "causal(\x00)", "a" * 200_000],
)  # fmt: skip
def test_anything_else_is_refused_in_a_sentence(text):
    with pytest.raises(ValueError) as error:
        P.parse(text)
    assert len(str(error.value)) < 900 and "Traceback" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [("window(1e3)", "1000.0 is not understood"), ("window(-1.5)", "-1.5 is not understood"),
     ("~" * 5000 + "full()", "write it flatter"), ("|".join(["full()"] * 9000), "write it flatter")],
    ids=["float", "negative", "deep", "long"],
)  # fmt: skip
def test_a_refusal_says_what_is_wrong(text, said):
    with pytest.raises(ValueError, match=said):
        P.parse(text)


@given(st.text(max_size=40))
def test_no_text_ends_otherwise_than_in_a_pattern_or_a_sentence(text):
    try:
        assert isinstance(P.parse(text), P.Pattern)
    except ValueError:
        pass


@given(grids(), st.data())
def test_a_spec_with_other_numbers_is_a_pattern_or_a_sentence(grid, data):
    """Take a real tree and put anything in the place of one of its values."""
    spec = json.loads(json.dumps(grid.pattern.spec))
    node = spec
    while True:
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        if not isinstance(node[key], dict | list) or not node[key] or data.draw(st.booleans()):
            break
        node = node[key]
    odd = [10**30, -(10**30), 2**31, -1, 0, 1.5, float("inf"), True, None, "2", [], {}, [[]]]
    node[key] = data.draw(st.sampled_from(odd))
    try:
        P.from_spec(spec).at(grid.T, grid.S, grid.start).pairs()
    except ValueError as error:
        assert len(str(error)) < 2000


def test_a_long_row_of_parts_is_not_a_deep_one():
    pattern = P.parse(" | ".join(f"window({n})" for n in range(1, 301)))
    assert len(pattern.parts) == 300 and P.parse(repr(pattern)) == pattern
    assert P.parse("causal() & full() | window(1)") == (P.causal() & P.full()) | P.window(1)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["op", "parts", "part", "width", "dilation", "r", "seed", "positions", "bits", "shape", "title", "heads"]),
        inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@given(json_values, st.sampled_from(["window", "or", "not", "table", "per_head", "random", "global_tokens", "eval"]))
def test_no_json_ends_otherwise_than_in_a_pattern_or_a_sentence(value, op):
    spec = {**value, "op": op} if isinstance(value, dict) else value
    try:
        assert isinstance(P.from_spec(spec), P.Pattern)
    except ValueError:
        pass


def test_a_spec_of_another_version_is_refused():
    with pytest.raises(ValueError, match="version 2"):
        P.from_spec({"version": 2, "op": "full"})
