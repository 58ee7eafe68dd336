"""The sparse execution: equal to the dense one for every pattern, and without anything of size T · S."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lmexplain import attention
from lmexplain.attention import attend, bilinear, dot, scaled_dot
from lmexplain.patterns import (
    bigbird,
    bigbird_tokens,
    causal,
    cells,
    full,
    global_tokens,
    in_blocks,
    longformer,
    memory,
    padding,
    per_head,
    permutation,
    prefix,
    random,
    random_blocks,
    segments,
    table,
    transformer_xl,
    unilm,
    window,
    xlnet,
)  # fmt: skip

from ..patterns.strategies import patterns
from .helpers import Seen, assert_same, qkv, run

pytestmark = pytest.mark.usefixtures("small_blocks")

LENGTHS = torch.tensor([[23], [61]])
REAL = torch.arange(61) < LENGTHS
SOURCE = torch.Generator().manual_seed(5)

# every primitive, and compositions, over 61 keys: an odd number that no block divides
CASES = [
    full(), causal(), window(1), window(7), window(14), window(40), window(200), window(6, 3),
    global_tokens(), global_tokens(0, 30, -1), global_tokens(where=torch.rand(2, 61, generator=SOURCE) < 0.05),
    random(2), random(99), random_blocks(2, 8), memory(9), cells((3, 4), (3, 50), (60, 0)),
    segments(torch.arange(61) // 13), segments(torch.randint(0, 3, (2, 61), generator=SOURCE)),
    prefix(17), prefix(torch.tensor([3, 40])), padding(REAL), padding(REAL.flip(1)), padding(REAL, rows=True),
    table(torch.rand(61, 61, generator=SOURCE) < 0.1), table(torch.rand(2, 2, 61, 61, generator=SOURCE) < 0.1),
    table(torch.rand(2, 8, 8, generator=SOURCE) < 0.4, block=8),
    permutation(torch.randperm(61, generator=SOURCE)), permutation(torch.randperm(61, generator=SOURCE), "query"),
    in_blocks(8, window(3)), in_blocks(5, causal()), in_blocks(32, window(1)),
    ~window(9), ~causal() | window(1), window(9) & causal(), longformer(8, (0, 33)), longformer(8) & padding(REAL),
    longformer(8, (0,)) & padding(REAL, rows=True), bigbird(2, 3, 1, 8), bigbird(1, 3, 1, 4) & padding(REAL),
    bigbird_tokens(1, 3), unilm("sequence-to-sequence", 20), unilm("right-to-left"),
    per_head(causal(), longformer(8)), per_head(window(8), window(8)), per_head(random(2, 1), random(2, 2)),
    per_head(full(), cells((0, 0))) & padding(REAL), per_head(bigbird(2, 3, 1, 8, seed=1), bigbird(2, 3, 1, 8, seed=2)),
]  # fmt: skip


def both(pattern, T, S, B=2, start="end", also=(), **options):
    """Output, gradients and weights of the sparse execution against those of the dense one."""
    q, k, v = qkv(T, S, B)
    grid = pattern.at(T, S, start)
    sparse, dense = (run(attend, q, k, v, grid, also, method=method, **options) for method in ("sparse", "dense"))
    names = ("out", "q", "k", "v", *(f"also {n}" for n in range(len(also))))
    for name, a, b in zip(names, sparse, dense, strict=True):
        assert_same(a, b, name)

    def captured(q, k, v, grid, **options):
        return attend(q, k, v, grid, weights=True, **options)[0]

    for name, a, b in zip(names, run(captured, q, k, v, grid, also, method="sparse", **options), dense, strict=True):
        assert_same(a, b, f"{name}, with weights")
    _, a = attend(q, k, v, grid, method="sparse", weights=True, **options)
    _, b = attend(q, k, v, grid, method="dense", weights=True, **options)
    assert_same(a.dense(), b, "weights")


@pytest.mark.parametrize("pattern", CASES, ids=lambda pattern: repr(pattern)[:60])
def test_equals_dense(pattern):
    both(pattern, 61, 61)


@pytest.mark.parametrize("pattern", [window(7), window(40), longformer(8, (0, 33)), bigbird(2, 3, 1, 8), causal(),
                                     per_head(window(8), longformer(8))], ids=str)  # fmt: skip
def test_equals_dense_for_one_sample_whose_blocks_are_joined(pattern):
    both(pattern, 61, 61, B=1)


@pytest.mark.parametrize("pattern", [random(2), random(1) | window(9), random(2) & causal(),
                                     per_head(random(1), causal())], ids=str)  # fmt: skip
def test_equals_dense_where_blocks_are_looked_into_by_columns(pattern, monkeypatch):
    monkeypatch.setattr(attention, "BLOCK", 32)
    (way,) = attention._plan(random(2).at(200), torch.device("cpu"), 32, torch.float32)
    assert sum(call.rows * call.width for call in way.single) < 0.5 * 200 * 200
    both(pattern, 201, 201, B=1)


@pytest.mark.parametrize("pattern, T, S, start", [
    (causal(), 20, 61, "end"), (causal(), 1, 61, "end"), (window(8), 30, 61, 11), (window(8), 30, 61, 0),
    (transformer_xl(20), 25, 45, "end"), (transformer_xl(20, same_length=True), 25, 45, "end"),
    (xlnet(torch.randperm(25, generator=SOURCE), memory=10), 25, 45, "end"), (longformer(6, (0, -1)), 17, 61, 40),
    (bigbird(2, 3, 1, 8), 29, 61, 13), (full(), 30, 61, None), (full(), 61, 30, None), (padding(REAL), 30, 61, None),
    (table(torch.rand(30, 61, generator=SOURCE) < 0.2), 30, 61, None), (full(), 1, 1, "end"), (window(4), 2, 3, "end"),
], ids=str)  # fmt: skip
def test_equals_dense_where_keys_are_more_or_elsewhere(pattern, T, S, start):
    both(pattern, T, S, start=start)


@given(st.data())
def test_equals_dense_for_any_composition(data):
    S = data.draw(st.integers(1, 40))
    T = data.draw(st.integers(1, S))
    both(data.draw(patterns(T, S, samples=2, heads=True)), T, S, B=2)


@pytest.mark.parametrize("shape", [(1, 2, 61, 61), (61,), (2, 1, 1, 61), (1, 2, 61, 1), (61, 61)], ids=str)
def test_bias_and_its_gradient(shape):
    bias = torch.randn(shape, generator=SOURCE).requires_grad_()
    for pattern in (window(7), longformer(8), bigbird_tokens(1, 3), per_head(causal(), window(5))):
        both(pattern, 61, 61, also=(bias,), bias=bias)


def test_bias_may_forbid():
    bias = torch.randn(61, 61, generator=SOURCE).masked_fill(torch.rand(61, 61, generator=SOURCE) < 0.5, -math.inf)
    bias[:, 20:30] = bias[5] = -math.inf
    both(window(9), 61, 61, bias=bias)


@pytest.mark.parametrize("B", [1, 2])
def test_heads_that_share_every_other_block(B):
    """What the three share are blocks with others between them: alike, and yet not neighbours."""
    own = torch.eye(8).repeat(3, 1, 1)
    own[1, 1::2], own[2, 1::2] = own[1, 1::2].roll(1, -1), own[2, 1::2].roll(2, -1)
    grid = table(own.bool(), block=8).at(64)
    assert len(attention._plan(grid, torch.device("cpu"), 8, torch.float32)) > 1
    inputs = qkv(64, B=B, N=3)
    for a, b in zip(*(run(attend, *inputs, grid, method=m) for m in ("sparse", "dense")), strict=True):
        assert_same(a, b)


def test_keys_that_are_as_many_as_tiles_but_lie_across_them():
    allowed = torch.zeros(64, 64, dtype=torch.bool)
    allowed[:, 3:11] = allowed[:, 20:28] = True
    both(table(allowed), 64, 64)


def test_plain_scores():
    both(longformer(8), 61, 61, score=dot)
    both(longformer(8), 61, 61, score=bilinear(torch.randn(8, 8, generator=SOURCE)))


class Relative(torch.nn.Module):
    """Transformer-XL's four terms (Dai et al. 2019, section 3.3), for distances -reach … reach; a closure over tables
    and projections that want gradients. Distances beyond the reach share the outermost entry."""

    def __init__(self, heads=2, width=8, reach=12):
        super().__init__()
        draw = torch.Generator().manual_seed(2)
        self.reach = reach
        self.u, self.v = (torch.nn.Parameter(torch.randn(heads, 1, width, generator=draw)) for _ in range(2))
        self.table = torch.nn.Parameter(torch.randn(2 * reach + 1, width, generator=draw))
        self.project = torch.nn.Parameter(torch.randn(heads, width, width, generator=draw) / 3)

    def forward(self, q, k, i, j):
        r = self.table @ self.project                                                       # (N, 2 reach + 1, D)
        distance = (i[:, None] - j).clamp(-self.reach, self.reach) + self.reach             # (t, s)
        by_place = (q + self.v) @ r.mT                                                      # (B, N, t, 2 reach + 1)
        by_place = by_place.gather(-1, distance.expand(*by_place.shape[:2], *distance.shape))
        return ((q + self.u) @ k.mT + by_place) / math.sqrt(q.shape[-1])


@pytest.mark.parametrize("pattern, T, S", [
    (window(7), 61, 61), (longformer(8, (30,)), 61, 61), (transformer_xl(20), 25, 45),
    (per_head(causal(), random(2)), 61, 61), (padding(REAL) & causal(), 61, 61),
], ids=str)  # fmt: skip
def test_score_with_parameters_of_its_own(pattern, T, S):
    score = Relative()
    both(pattern, T, S, also=tuple(score.parameters()), score=score)


def test_score_may_close_over_what_was_computed():
    """A table that is itself an output (a projection, say) gets the gradients of all blocks, added up."""
    raw = torch.randn(2, 25, generator=SOURCE).requires_grad_()
    bias = raw.sin()

    def score(q, k, i, j):
        return scaled_dot(q, k, i, j) + bias[:, (i[:, None] - j).clamp(-12, 12) + 12]

    both(longformer(8), 61, 61, also=(raw,), score=score)


@pytest.mark.parametrize("method", ["dense", "sparse"])
def test_gradients_by_finite_differences(method):
    q, k, v = qkv(10, 13, B=1, D=3, dtype=torch.float64)
    grid = (longformer(2, (0,)) & padding([0, 0] + [1] * 9 + [0, 0])).at(10, 13)
    assert torch.autograd.gradcheck(lambda *x: attend(*x, grid, method=method), (q, k, v))
    table = torch.randn(25, dtype=torch.float64).requires_grad_()

    def with_table(q, k, v, table):
        def score(q, k, i, j):
            return scaled_dot(q, k, i, j) + table[i[:, None] - j + 12]

        return attend(q, k, v, grid, method=method, score=score)

    assert torch.autograd.gradcheck(with_table, (q, k, v, table))


def test_only_the_gradients_that_are_wanted():
    q, k, v = qkv(30)
    grid = longformer(6).at(30)
    full_run = run(attend, q, k, v, grid, method="sparse")
    for n, x in enumerate((q, k, v)):
        inputs = [y if y is x else y.detach() for y in (q, k, v)]
        out = attend(*inputs, grid, method="sparse")
        direction = torch.randn(out.shape, generator=torch.Generator().manual_seed(1))
        (grad,) = torch.autograd.grad(out, x, direction)
        assert_same(grad, full_run[n + 1])


def test_layouts_make_no_difference():
    """Contiguous heads, expanded keys, a constant gradient: whatever the strides."""
    grid = longformer(6).at(30)
    q, k, v = (x.detach() for x in qkv(30, B=1))
    k = k[:, :1].expand(1, 2, 30, 8)
    expected = attend(q, k, v, grid, method="dense")
    contiguous = [x.contiguous().requires_grad_() for x in (q, k, v)]
    assert_same(attend(*contiguous, grid, method="sparse"), expected)
    attend(*contiguous, grid, method="sparse").sum().backward()
    mine = [x.grad for x in contiguous]
    for name, a, b in zip("qkv", mine, run_sum(contiguous, grid), strict=True):
        assert_same(a, b, name)
    assert_same(attend(q, k, v, grid, method="sparse"), expected)


def run_sum(inputs, grid):
    return torch.autograd.grad(attend(*inputs, grid, method="dense").sum(), inputs)


def test_values_may_have_a_width_of_their_own():
    q, k, _ = qkv(30)
    v = torch.randn(2, 2, 30, 5).requires_grad_()
    for a, b in zip(*(run(attend, q, k, v, longformer(6).at(30), method=m) for m in ("sparse", "dense")), strict=True):
        assert_same(a, b)


# ── what the weights look like ────────────────────────────────────────────────────────────────────────────────────


def test_weights_say_which_key_each_belongs_to():
    """SPARSE-01: T=10, window 4, global 0, pads 7, 8, 9."""
    pattern = longformer(4, (0,)) & padding([1] * 7 + [0] * 3, rows=True)
    q, k, v = qkv(10)
    _, used = attend(q, k, v, pattern.at(10), method="sparse", weights=True)
    visible = used.dense() > 0
    assert bool((visible == visible[0, 0]).all())
    rows = [row.nonzero().flatten().tolist() for row in visible[0, 0]]
    assert rows == [[0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5], [0, 2, 3, 4, 5, 6],
                    [0, 3, 4, 5, 6], [0, 4, 5, 6], [], [], []]  # fmt: skip
    assert_same(used.dense()[:, :, :7].sum(-1), torch.ones(2, 2, 7))
    assert_same(used.dense(), attend(q, k, v, pattern.at(10), method="dense", weights=True)[1])
    for rows, keys, values in zip(used.rows, used.keys, used.values, strict=True):
        assert values.shape == (2, 2, len(rows), len(keys)) and bool((keys.diff() > 0).all())
        assert_same(values, used.dense()[:, :, rows.start : rows.stop][..., keys])


# ── what it costs ─────────────────────────────────────────────────────────────────────────────────────────────────


def cost(n, pattern=None, **options):
    """What forward and backward make, beyond the plan and the grid."""
    q, k, v = qkv(n, B=1, N=1)
    grid = (pattern or longformer(16)).at(n)
    run(attend, q, k, v, grid, **options)                   # plans are kept
    with Seen() as seen:
        run(attend, q, k, v, grid, **options)
    return seen


@pytest.mark.parametrize("options", [{}, {"score": Relative(heads=1)}, {"dropout": 0.1}, {"bias": torch.ones(1)}],
                         ids=["fused", "own score", "dropout", "bias"])  # fmt: skip
def test_nothing_grows_with_the_square(options):
    short, long = cost(256, method="sparse", **options), cost(1024, method="sparse", **options)
    assert long.largest <= 4.5 * short.largest and long.largest <= 1024 * 256
    assert long.total <= 5 * short.total
    dense = cost(1024, method="dense", **options)
    assert dense.largest >= 1024 * 1024


def test_one_run_of_keys_is_a_view_and_several_are_joined():
    assert "index_select" not in cost(256, window(16), method="sparse").calls
    assert "index_select" in cost(256, longformer(16), method="sparse").calls


def test_whole_blocks_of_keys_move_as_tiles():
    (way,) = attention._plan(bigbird(2, 3, 1, 8).at(128), torch.device("cpu"), 8, torch.float32)
    joined = [call for call in way.single if call.index is not None]
    assert joined and all(call.tile == 8 and 8 * len(call.index) == call.width for call in joined)


def test_neighbours_go_in_one_call_and_share_their_mask():
    (way,) = attention._plan(window(16).at(1024), torch.device("cpu"), 8, torch.float32)
    assert len(way.single) == 128 and len(way.joined) < 128 / 2
    assert len({id(call.mask) for call in way.single}) <= 5
    assert sum("attention" in name for name in cost(1024, window(16), method="sparse").calls) < 3 * 128 / 2


def test_a_global_token_does_not_widen_its_neighbours():
    (way,) = attention._plan(longformer(16, (100,)).at(1024), torch.device("cpu"), 8, torch.float32)
    wide = [call for call in way.single if call.width > 100]
    assert [list(call.queries) for call in wide] == [[100]]
    assert sum(call.rows * call.width for call in way.single) <= 2 * longformer(16, (100,)).at(1024).pairs()


def test_random_keys_are_picked_one_by_one():
    (way,) = attention._plan(random(1).at(1024), torch.device("cpu"), 8, torch.float32)
    assert sum(call.rows * call.width for call in way.single) <= 8 * 1024


def test_planning_a_long_input_looks_into_few_blocks(monkeypatch):
    """At 32,768 tokens there are 262,144 blocks; Longformer has but a handful of kinds."""
    looked, cut = [], attention._Planner.cut
    monkeypatch.setattr(attention._Planner, "cut", lambda *given: looked.append(given[1]) or cut(*given))
    (way,) = attention._plan(longformer(512).at(32768), torch.device("cpu"), 64, torch.float32)
    assert len(way.single) == 513 and len(looked) < 32


# ── plans, second derivatives, compilation ────────────────────────────────────────────────────────────────────────


def test_plans_of_data_are_never_mistaken():
    """Patterns from tensors compare by identity, and an identity may be used again once its owner is gone."""
    q, k, v = qkv(30, B=1)
    for seed in range(12):
        real = torch.rand(30, generator=torch.Generator().manual_seed(seed)) < 0.5
        grid = (window(9) & padding(real)).at(30)
        expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=grid.dense()).nan_to_num(0)
        for method in ("dense", "sparse"):
            assert_same(attend(q, k, v, grid, method=method), expected, f"seed {seed}")
        del grid, expected
    assert attention._plan.cache_info().currsize <= 8 and attention._kept.cache_info().currsize <= 8


def test_a_plan_made_in_inference_mode_serves_training():
    q, k, v = qkv(30)
    grid = (window(5) & padding([1] * 20 + [0] * 10, rows=True)).at(30)
    for method in ("dense", "sparse"):
        with torch.inference_mode():
            attend(q.detach(), k.detach(), v.detach(), grid, method=method)
        assert all(bool(x.isfinite().all()) for x in run(attend, q, k, v, grid, method=method))


def test_second_derivatives_are_refused_with_advice():
    q, k, v = qkv(20)
    out = attend(q, k, v, window(5).at(20), method="sparse")
    with pytest.raises(RuntimeError, match='no second derivative; ask for method="dense"'):
        torch.autograd.grad(out.sum(), q, create_graph=True)
    assert torch.autograd.gradgradcheck(lambda q: attend(q, k[:1, :1].double(), v[:1, :1].double(), window(5).at(20),
                                                         method="dense"), q[:1, :1].double())  # fmt: skip


@pytest.mark.parametrize("method, weights", [("dense", False), ("auto", False), ("sparse", False), ("sparse", True)])
def test_compiled_equals_eager(method, weights):
    grid = longformer(6).at(30)

    def layer(q, k, v, grid):
        out = attend(q * 2, k, v, grid, method=method, weights=weights)
        return (out[0] if isinstance(out, tuple) else out).sin()

    q, k, v = qkv(30)
    compiled = run(torch.compile(layer, backend="aot_eager"), q, k, v, grid)
    for name, a, b in zip(("out", "q", "k", "v"), compiled, run(layer, q, k, v, grid), strict=True):
        assert_same(a, b, name)
