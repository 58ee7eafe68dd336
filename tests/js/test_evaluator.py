"""The browser's evaluator and language, held bit for bit against the Python value of the same pattern."""

import json
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from lmexplain import patterns as P
from lmexplain.patterns.hashing import hash32

from ..patterns.strategies import grids

LAYERS = 3

PRIMITIVES = [
    P.full().at(5), P.causal().at(4, 9), P.window(1).at(6), P.window(4).at(13), P.window(5).at(13), P.window(40).at(7),
    P.window(6, 3).at(17, 23), P.window(3, 50).at(9), P.global_tokens().at(4), P.global_tokens(0, -1).at(6),
    P.global_tokens(2, -3, 2).at(5, 9), P.global_tokens(where=[[0, 1, 0], [1, 0, 1]]).at(3), P.random(0).at(4),
    P.random(3, 7).at(11, 20), P.random(9, 2**32 - 3).at(5), P.random(3).at(4, 7, None),
    P.random_blocks(2, 4, 1).at(33), P.random_blocks(9, 3).at(20, 31), P.random_blocks(1, 64).at(10),
    P.random_blocks(2, 1).at(12), P.segments([0, 0, 1, 1, 0, 2]).at(6), P.segments([[0, 0, 1], [5, -5, 5]]).at(2, 3),
    P.prefix(0).at(6), P.prefix(4).at(6), P.prefix(8).at(3, 8), P.prefix([1, 5]).at(5),
    P.permutation([3, 1, 0, 2]).at(4), P.permutation([3, 1, 0, 2], "query").at(4, 7),
    P.permutation([[0, 1, 2], [2, 0, 1]], "query").at(3), P.memory(0).at(3, 5), P.memory(2).at(3, 8),
    P.memory(99).at(3, 8), P.padding([1, 1, 0, 1, 0]).at(5), P.padding([0, 0, 1, 1], rows=True).at(3, 4),
    P.padding([[1, 0], [0, 0]], rows=True).at(2), P.padding([1, 0, 1]).at(5, 3, None), P.cells().at(3),
    P.cells((1, 2), (2, 9), (0, 0), (1, 2)).at(4, 6), P.cells((4, 1)).at(3, 6),
    P.table([[1, 0, 1], [0, 1, 1]]).at(2, 3), P.table([[1, 0], [0, 1], [1, 1]], 3).at(7, 6, None),
    P.table(torch.arange(48).reshape(2, 2, 3, 4) % 3 == 0).at(3, 4),
    P.per_head(P.window(2) | P.global_tokens(1), ~P.causal(), P.random(2)).at(7), P.in_blocks(4, P.window(3)).at(13),
    P.in_blocks(3, P.memory(1) | P.causal()).at(5, 11), P.in_blocks(5, P.in_blocks(2, P.global_tokens(-1))).at(3, 22),
]  # fmt: skip

COMPOSITIONS = [
    P.longformer(4, (0, -1)).at(19),
    P.bigbird(2, 3, 1, 4).at(33),
    P.bigbird_tokens(2, 3, (0, 5)).at(21, 30),
    P.unilm("right-to-left").at(6),
    P.unilm("sequence-to-sequence", 3).at(8),
    P.xlnet([2, 0, 1], memory=2).at(3, 6),
    P.xlnet([2, 0, 3, 1], stream="query").at(4),
    P.transformer_xl(3, same_length=True).at(4, 9),
    ((P.window(3) | P.causal()) & P.padding([1] * 9 + [0] * 3)).at(12),
    (~(P.window(3) | P.global_tokens(0)) & P.causal() | P.cells((3, 9))).at(12),
    (P.per_head(P.window(3), P.causal()) & P.table(torch.arange(50).reshape(2, 5, 5) % 4 > 0)).at(5),
    (P.segments([[0, 0, 1, 1], [0, 1, 1, 1]]) & P.per_head(P.causal(), P.window(2)) | ~~P.global_tokens(-1)).at(4),
]


def asked(grid: P.Grid) -> dict[str, Any]:
    """The questions, of which the costly ones speak of one query and a few keys."""
    queries, keys = [grid.T // 2], sorted({0, grid.S // 3, grid.S - 1})
    return {
        "spec": grid.pattern.spec,
        "T": grid.T,
        "S": grid.S,
        "start": grid.start,
        "queries": queries,
        "keys": keys,
        "layers": LAYERS,
    }


def expected(grid: P.Grid) -> dict[str, Any]:
    """The same questions, answered by Python."""
    samples, heads = grid.lead or (1, 1)
    queries, keys = asked(grid)["queries"], asked(grid)["keys"]
    planes = [(b, h) for b in range(samples) for h in range(heads)]
    stacks = [
        P.reach([grid] * n, queries=queries).reshape(samples, len(queries), -1)
        for n in (range(1, LAYERS + 1) if grid.start is not None else [1])
    ]
    first = 0 if grid.start is None else grid.start

    def own(t: int) -> int | None:
        return None if grid.start is None else t + first

    return {
        "dense": "".join(map(str, grid.dense().int().flatten().tolist())),
        "reasons": " ".join(str(v) for b, h in planes for v in grid.reasons(b, h).flatten().tolist()),
        "pairs": torch.as_tensor(grid.pairs()).flatten().tolist(),
        "why": [[indices(grid.parts(), grid.why(t, k)) for k in range(grid.S)] for t in queries],
        "reach": [[first_reached(stacks, b, i, own(t)) for i, t in enumerate(queries)] for b in range(samples)],
        "paths": [[grid.path(t + first, k) for k in keys] for t in queries],
        "text": repr(grid.pattern),
    }  # fmt: skip


def indices(parts: tuple[P.Pattern, ...], chosen: tuple[P.Pattern, ...]) -> list[int]:
    """Where the chosen parts stand; the same part may stand there twice."""
    out: list[int] = []
    for part in chosen:
        out.append(next(i for i, each in enumerate(parts) if each is part and i not in out))
    return out


def first_reached(stacks: list[torch.Tensor], b: int, i: int, own: int | None) -> list[int]:
    """For each key the least number of layers that reach it; 0 for the query itself, 255 for never."""
    out = [255] * stacks[0].shape[-1]
    for layers in range(len(stacks), 0, -1):
        for k in stacks[layers - 1][b, i].nonzero().flatten().tolist():
            out[k] = layers
    if own is not None:
        out[own] = 0
    return out


def assert_same(evaluator: Any, cases: list[P.Grid]) -> None:
    for grid, answer in zip(cases, evaluator("grids", [asked(grid) for grid in cases]), strict=True):
        wanted = expected(grid)
        for what, value in wanted.items():
            if what == "text" and "…" in value:
                continue  # Python shortens long data
            assert answer.get(what, answer) == value, (
                f"{what} of {grid.pattern!r} at {grid.T} × {grid.S} from {grid.start}"
            )


def test_every_primitive_is_there():
    assert {grid.pattern.op for grid in PRIMITIVES} == set(P.primitives.__all__)


@pytest.mark.parametrize("cases", [PRIMITIVES, COMPOSITIONS], ids=["primitives", "compositions"])
def test_cells_reasons_reach_and_paths_are_pythons(evaluator, cases):
    assert_same(evaluator, cases)


@given(st.lists(grids(most=14), min_size=2, max_size=4))
def test_any_pattern_is_pythons(evaluator, cases):
    assert_same(evaluator, cases)


def test_a_late_start_is_pythons(evaluator):
    """Queries that do not end with the last key: a window into the middle of a text."""
    pattern = P.window(4) | P.global_tokens(0, -1) | P.in_blocks(3, P.causal()) | P.random(1)
    assert_same(evaluator, [pattern.at(5, 14, start) for start in (0, 3, 9)])


def test_the_hash_is_pythons(evaluator):
    rows = [
        (seed, q, i)
        for seed in (0, 1, 2**31, 2**32 - 1, 2**32, 2**40 + 7)
        for q in (0, 1, 63, 4095, 10**6)
        for i in (0, 1, 7)
    ]
    assert evaluator("hash", rows) == [int(hash32(seed, torch.tensor(q), i)) for seed, q, i in rows]


def test_the_query_stream_stands_on_content_layers(evaluator):
    """XLNet: Q·(C ∪ I)^(L-1); the last layer has no residual path of its own."""
    content = P.permutation([3, 0, 4, 1, 2])
    stacks = [P.reach([content.at(5)] * (n - 1) + [content.query.at(5)], [True] * (n - 1) + [False]) for n in (1, 2, 3)]
    wanted = [first_reached([stack[None] for stack in stacks], 0, t, None) for t in range(5)]
    assert evaluator("streams", {"spec": content.spec, "T": 5, "layers": 3}) == wanted


# ── the language ──────────────────────────────────────────────────────────────────────────────────────────────────

TEXTS = [
    "window(4) | global_tokens(0, -1)", "window(width=4, dilation=2) & ~causal()", " ( (window( 1 )) ) ", "~~full()",
    "~(causal() | window(3)) & full()", "window(1) | window(2) & window(3) | (window(4) | window(5))", "longformer()",
    "longformer(8, (0, -1), 2) | causal()", "longformer(width=8, tokens=())", "bigbird()",
    "bigbird(2, 3, ends=2, block=4)", "bigbird_tokens(tokens=[1, 2])", "unilm('bidirectional')",
    'unilm("sequence-to-sequence", source=3)', "unilm('right-to-left')", "xlnet([1, 0, 2])",
    "xlnet(order=(1, 0, 2), memory=2, stream='query')", "transformer_xl(4, True)", "permutation([1,0]).query",
    "permutation([1,0], 'query').content", "prefix([1, 2])", "segments([[0, 1], [1, 1]])",
    "padding([1, 0], rows=True)", "padding([True, False])", "cells((0, 1), (1, 1))", "cells([0, 1],)",
    "table([[1, 0], [0, 1]], 2)", "table([[[1, 0], [0, 1]]])", "per_head(window(2) | causal(), full())",
    "in_blocks(4, (window(3) | causal()))", "global_tokens(where=[0, 1])", "random(3)", "random(3, seed=5)",
    "random_blocks(2)",
]  # fmt: skip

REFUSED = [
    "", "  ", "window(4) |", "| window(4)", "window(4", "window 4", "window", "windows(4)", "window()", "window(0)",
    "window(-2)", "window(1.5)", "window('4')", "window(True)", "window(4, 1, 2)", "window(4, width=4)",
    "window(4, size=4)", "window(4; 5)", "window(4).content", "permutation([1, 0]).rank", "permutation([1, 1])",
    "permutation([0, 2])", "permutation([0, 1], 'both')", "global_tokens(0, where=[1])", "global_tokens(1.0)",
    "cells((1,))", "cells((1, 2, 3))", "cells(3)", "cells((-1, 2))", "table([[1, 2]])", "table([1, 0])",
    "table([[1, 0], [1]])", "per_head()", "per_head(3)", "in_blocks(4)", "in_blocks(0, full())", "in_blocks(4, 4)",
    "unilm('upwards')", "unilm('bidirectional', 3)", "unilm('sequence-to-sequence')", "padding([1, 2])",
    "segments([])", "prefix(-1)", "memory(-1)", "random(-1)", "__import__('os')", "open('x')", "window(2 ** 9)",
    "window(*[4])", "window(4) and causal()", "lambda: 1", "window(4) | 3", "3", "[window(4)]", "window(x)",
    "segments([[0, 1], [1]])", "segments([0, 1]) | segments([[0, 1]] * 3)",
]  # fmt: skip


def plain(spec: dict[str, Any]) -> dict[str, Any]:
    """A spec without its version and with JSON's own values, as the browser holds it."""
    return {key: value for key, value in json.loads(json.dumps(spec)).items() if key != "version"}


def test_texts_mean_what_they_mean_in_python(evaluator):
    for text, spec in zip(TEXTS, evaluator("parse", TEXTS), strict=True):
        assert spec == plain(P.parse(text).spec), text


def test_what_python_refuses_is_refused_by_a_word(evaluator):
    from lmexplain.words import words

    known = words("en", "explorer.")
    for text, answer in zip(REFUSED, evaluator("parse", REFUSED), strict=True):
        with pytest.raises(ValueError):
            P.parse(text)
        assert f"explorer.{answer.get('refused')}" in known, (text, answer)


@given(st.lists(grids(), min_size=2, max_size=6))
def test_the_text_of_a_pattern_is_read_back_on_both_sides(evaluator, cases):
    specs = [plain(grid.pattern.spec) for grid in cases]
    texts = evaluator("format", specs)
    assert evaluator("parse", texts) == specs
    for grid, text in zip(cases, texts, strict=True):
        assert P.parse(text).at(grid.T, grid.S, grid.start).dense().equal(grid.dense()), text


DAMAGED = [
    None, 3, [], {}, {"op": 3}, {"op": "eval"}, {"op": "constructor"}, {"op": "window"},
    {"op": "window", "width": "4"}, {"op": "window", "width": 2.5}, {"op": "or", "parts": []},
    {"op": "or", "parts": {"op": "full"}}, {"op": "not"}, {"op": "in_blocks", "size": 4},
    {"op": "per_head", "heads": [3]}, {"op": "table", "shape": [2, 2], "bits": "!!"},
    {"op": "table", "shape": [2, 2], "bits": ""}, {"op": "table", "shape": [10**5, 10**5], "bits": "AA=="},
    {"op": "table", "shape": [-1, -1], "bits": "gA=="}, {"op": "cells", "pairs": [[1]]},
    {"op": "segments", "ids": [[1], [1, 2]]}, {"op": "full", "version": 2},
    {"op": "global_tokens", "positions": list(range(70000))}, {"op": "padding", "real": [0, 2]},
    {"op": "permutation", "order": [0, 0], "stream": "content"},
]  # fmt: skip


def test_a_damaged_tree_is_refused(evaluator):
    for spec, answer in zip(DAMAGED, evaluator("check", DAMAGED), strict=True):
        assert str(answer.get("refused")).startswith("error."), (spec, answer)


def test_a_tree_too_deep_is_refused(evaluator):
    deep: dict[str, Any] = {"op": "full"}
    for _ in range(80):
        deep = {"op": "not", "part": deep}
    (deep_answer,), (text_answer,) = evaluator("check", [deep]), evaluator("parse", ["~" * 80 + "full()"])
    assert deep_answer == text_answer == {"refused": "error.deep"}


@pytest.mark.parametrize(
    ("pattern", "T", "S", "start"),
    [
        (P.global_tokens(9), 4, 4, 0), (P.segments([0, 1]), 3, 3, 0), (P.padding([1]), 2, 2, 0), (P.prefix(9), 3, 3, 0),
        (P.permutation([0, 1]), 3, 3, 0), (P.table([[1]]), 2, 2, 0), (P.causal(), 3, 5, None), (P.window(2), 5, 3, -2),
        (P.full(), 3, 5, 3), (P.in_blocks(2, P.global_tokens(5)), 4, 4, 0),
    ],
)  # fmt: skip
def test_lengths_that_do_not_fit_are_refused_on_both_sides(evaluator, pattern, T, S, start):
    with pytest.raises(ValueError):
        pattern.at(T, S, start)
    assert evaluator("at", [pattern.spec, T, S, start])["refused"].startswith("error.")


@given(grids(heads=False), st.integers(1, 30), st.integers(0, 5))
def test_a_pattern_follows_other_lengths(evaluator, grid, T, cached):
    """The explorer's length slider cuts and continues a pattern's data; a table alone has a size of its own."""
    assume("table" not in repr(grid.pattern))
    assert evaluator("fitted", [grid.pattern.spec, T, T + cached, cached]) == "fits"
