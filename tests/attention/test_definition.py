"""The dense execution against a loop and against PyTorch, and what both executions promise."""

import math

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from lmexplain import attention
from lmexplain.attention import SparseWeights, additive, attend, bilinear, dot, scaled_dot
from lmexplain.patterns import (
    bigbird,
    causal,
    full,
    global_tokens,
    longformer,
    padding,
    per_head,
    segments,
    table,
    unilm,
    window,
)  # fmt: skip

from .helpers import Seen, assert_same, loop, qkv, run

pytestmark = pytest.mark.usefixtures("small_blocks")

METHODS = pytest.mark.parametrize("method", ["dense", "sparse"])
ALL_WAYS = pytest.mark.parametrize("method", ["dense", "sparse", "auto"])     # short inputs: one call for all
REAL = torch.tensor([[1] * 7 + [0] * 3, [1] * 10], dtype=torch.bool)

# patterns beside the sentence that defines each, for 6 queries after 4 cached keys
RULES = {
    "causal, cached keys": (causal(), lambda b, h, q, k: k <= q),
    "window": (window(4), lambda b, h, q, k: abs(q - k) <= 2),
    "Longformer": (longformer(2, (0, -1)), lambda b, h, q, k: abs(q - k) <= 1 or q in (0, 9) or k in (0, 9)),
    "padding": (padding(REAL) & causal(), lambda b, h, q, k: bool(REAL[b, k]) and k <= q),
    "per head": (per_head(causal(), window(2)), lambda b, h, q, k: abs(q - k) <= 1 if h else k <= q),
    "nothing": (global_tokens(), lambda b, h, q, k: False),
}


@ALL_WAYS
@pytest.mark.parametrize("name", RULES)
def test_is_the_double_loop(name, method):
    pattern, rule = RULES[name]
    q, k, v = qkv(6, 10)
    expected = loop(q, k, v, lambda b, h, t, s: rule(b, h, t + 4, s))
    assert_same(attend(q, k, v, pattern.at(6, 10), method=method), expected)


@ALL_WAYS
def test_agrees_with_pytorch(method):
    q, k, v = qkv(20, 33)
    bias = torch.randn(1, 2, 20, 33)
    mask = torch.arange(33) <= torch.arange(20)[:, None] + 13
    ours = run(attend, q, k, v, causal().at(20, 33), bias=bias, method=method)
    peer = run(lambda q, k, v, m: scaled_dot_product_attention(q, k, v, attn_mask=m), q, k, v,
               bias.masked_fill(~mask, -math.inf))  # fmt: skip
    for name, a, b in zip(("out", "q", "k", "v"), ours, peer, strict=True):
        assert_same(a, b, name)


@ALL_WAYS
def test_one_polarity(method):
    """ATTN-01: with q = k = 0 the output is the mean of what is visible; True means the opposite in MHA."""
    q, v = torch.zeros(1, 1, 4, 1), torch.arange(4.0).view(1, 1, 4, 1)
    grid = causal().at(4)
    expected = torch.tensor([0, 0.5, 1.0, 1.5])
    peer = torch.nn.MultiheadAttention(1, 1, bias=False, batch_first=True)
    with torch.no_grad():
        peer.in_proj_weight.copy_(torch.tensor([[0.0], [0.0], [1.0]]))
        peer.out_proj.weight.fill_(1.0)
    x = v[0]
    assert_same(attend(q, q, v, grid, method=method).flatten(), expected)
    assert_same(scaled_dot_product_attention(q, q, v, attn_mask=grid.dense()).flatten(), expected)
    assert_same(peer(x, x, x, attn_mask=~grid.dense())[0].flatten(), expected)


@METHODS
def test_masks_are_the_grid_and_biases_are_added(method):
    """ATTN-02: a 0/1 mask given as a bias would weaken a place by one unit instead of closing it."""
    q, v = torch.zeros(1, 1, 1, 2), torch.ones(1, 1, 3, 2)
    k = torch.zeros(1, 1, 3, 2)

    def weights(pattern, bias=None):
        _, used = attend(q, k, v, pattern.at(1, 3), bias=bias, weights=True, method=method)
        return (used if isinstance(used, torch.Tensor) else used.dense()).flatten().tolist()

    for real in ([1, 1, 0], torch.tensor([1, 1, 0]), torch.tensor([True, True, False])):
        assert weights(padding(real)) == [0.5, 0.5, 0.0]
    assert weights(table([[1, 1, 0]])) == [0.5, 0.5, 0.0]
    assert weights(full(), torch.tensor([0, 0, -math.inf])) == [0.5, 0.5, 0.0]
    with pytest.raises(ValueError, match="only 0 and 1 and reads as a mask"):
        weights(full(), torch.tensor([1.0, 1.0, 0.0]))
    for mask in (torch.tensor([True, True, False]), torch.tensor([1, 1, 0])):
        with pytest.raises(TypeError, match="who may attend by the grid"):
            weights(full(), mask)
    assert weights(full(), torch.zeros(3)) == pytest.approx([1 / 3] * 3)


@ALL_WAYS
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1.0, 300.0])
def test_no_type_overflows(dtype, method, size):
    """ATTN-04: q·k reaches 64 · 300², far beyond float16's 65504, and no fill is outside a type's range."""
    q, k, v = (x.detach() * size for x in qkv(20, D=64))
    q, k, v = q.to(dtype), k.to(dtype), (v / size).to(dtype)
    grid = (window(6) & padding(torch.arange(20) < 15)).at(20)
    for weights in (False, True):
        out = attend(q, k, v, grid, weights=weights, method=method)
        out, used = out if isinstance(out, tuple) else (out, None)
        assert out.dtype == dtype and bool(out.isfinite().all())
        exact = scaled_dot_product_attention(q.double(), k.double(), v.double(), attn_mask=grid.dense()).nan_to_num(0)
        tolerance = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 1e-4, torch.float64: 1e-9}[dtype]
        assert_same(out.double(), exact, tolerance=tolerance)
        if used is not None:
            used = used if isinstance(used, torch.Tensor) else used.dense()
            assert used.dtype == dtype and bool((used[..., ~grid.dense()] == 0).all())


@ALL_WAYS
def test_empty_rows_give_zero_and_finite_gradients(method):
    real = torch.tensor([[1] * 9 + [0] * 11, [0] * 20])
    grid = (padding(real, rows=True) & window(4)).at(20)
    q, k, v = qkv(20)
    tensors = run(attend, q, k, v, grid, method=method)
    empty = ~real.bool()[:, None, :, None]
    for name, x in zip(("out", "q", "k", "v"), tensors, strict=True):
        assert bool(x.isfinite().all()), name
        assert bool((x.masked_select(empty) == 0).all()), name
        assert bool((x[0, :, :9] != 0).any()), name


@METHODS
@pytest.mark.parametrize("pattern", [full(), causal(), window(4)], ids=str)
def test_a_bias_that_forbids_a_whole_row_empties_it(pattern, method):
    """Also where the grid alone would allow all; nothing on the way is NaN, forward or backward."""
    q, k, v = qkv(20)
    bias = torch.zeros(20, 20)
    bias[:3] = bias[9] = -math.inf
    with torch.autograd.set_detect_anomaly(True):
        tensors = run(attend, q, k, v, pattern.at(20), bias=bias, method=method)
    rest = scaled_dot_product_attention(q, k, v, attn_mask=pattern.at(20).dense() & (bias == 0)).nan_to_num(0)
    assert_same(tensors[0], rest)
    for name, x in zip(("out", "q", "k", "v"), tensors, strict=True):
        assert bool(x.isfinite().all()), name
    for x in tensors[:2]:
        assert bool((x[:, :, [0, 1, 2, 9]] == 0).all())


@METHODS
def test_half_scores_of_your_own_are_softmaxed_in_float32(method):
    q, k, v = (x.detach().half() for x in qkv(20))
    with Seen() as seen:
        out = attend(q, k, v, window(4).at(20), score=bilinear(torch.eye(8).half()), method=method)
    assert out.dtype == torch.float16 and torch.float32 in seen.types


@ALL_WAYS
def test_empty_rows_are_our_own_work(monkeypatch, method):
    """ENV-05: on some devices the fused kernel gives NaN for a row without a key; ours gives 0 all the same."""

    def as_on_some_devices(q, k, v, attn_mask=None, **options):
        out = scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, **options)
        return out if attn_mask is None else out.masked_fill(attn_mask.isneginf().all(-1, keepdim=True), math.nan)

    monkeypatch.setattr(attention, "scaled_dot_product_attention", as_on_some_devices)
    q, k, v = qkv(20)
    grid = (causal() & padding([0] * 6 + [1] * 14)).at(20)      # left padding: the first rows see nothing
    for x in run(attend, q, k, v, grid, method=method):
        assert bool(x.isfinite().all())
    assert bool((attend(q, k, v, grid, method=method)[:, :, :6] == 0).all())


@ALL_WAYS
def test_makes_no_float64(method):
    """ENV-05: some devices refuse 64-bit floats."""
    q, k, v = qkv(40)
    with Seen() as seen:
        run(attend, q, k, v, longformer(6).at(40), bias=torch.randn(40, 40), method=method)
        run(attend, q, k, v, bigbird(1, 3, 1, 8).at(40), method=method)
    assert torch.float32 in seen.types and torch.float64 not in seen.types


@METHODS
@pytest.mark.parametrize("pattern", [
    padding(torch.arange(40) < torch.tensor([[30], [40]]), rows=True), causal(), longformer(6), bigbird(1, 3, 1, 8),
    unilm("sequence-to-sequence", 11), per_head(causal(), window(3)),
], ids=str)  # fmt: skip
def test_weights_are_those_that_were_used(pattern, method):
    """VIS-12: capture changes nothing, weights @ v is the output, rows sum to 1 or are empty, and None never comes."""
    q, k, v = qkv(40)
    grid = pattern.at(40)
    plain = attend(q, k, v, grid, method=method)
    out, used = attend(q, k, v, grid, weights=True, method=method)
    assert isinstance(used, SparseWeights if method == "sparse" else torch.Tensor)
    weights = used if isinstance(used, torch.Tensor) else used.dense()
    assert_same(out, plain, "capture")
    assert_same(weights @ v, out, "weights @ v")
    allowed = grid.dense().expand(2, 2, 40, 40)
    assert_same(weights.sum(-1), allowed.any(-1).float(), "sums")
    assert bool((weights[~allowed] == 0).all()) and bool((weights[allowed] > 0).all())


@METHODS
def test_dropout_drops_weights(method):
    q, k, v = qkv(64, B=1)
    grid = window(32).at(64)
    kept, whole = (attend(q, k, v, grid, weights=True, method=method, dropout=p)[1] for p in (0.25, 0.0))
    kept, whole = (x if isinstance(x, torch.Tensor) else x.dense() for x in (kept, whole))
    dropped = (kept == 0) & (whole > 0)
    assert_same(kept, (whole / 0.75).masked_fill(dropped, 0.0), "the rest is scaled up")
    assert float(dropped.sum() / (whole > 0).sum()) == pytest.approx(0.25, abs=0.03)       # 4 standard deviations: 0.03
    torch.manual_seed(3)
    out = attend(q, k, v, grid, method=method, dropout=0.25)
    torch.manual_seed(3)
    again, used = attend(q, k, v, grid, method=method, dropout=0.25, weights=True)
    assert_same(out, again, "capture changes nothing")
    assert_same((used if isinstance(used, torch.Tensor) else used.dense()) @ v, out, "the weights after dropout")


@METHODS
def test_dropout_is_the_same_in_backward(method):
    q, k, v = qkv(40)
    out, used = attend(q, k, v, longformer(6).at(40), weights=True, method=method, dropout=0.5)
    direction = torch.randn(out.shape)
    (v_grad,) = torch.autograd.grad(out, v, direction)
    weights = used if isinstance(used, torch.Tensor) else used.dense()
    assert_same(v_grad, weights.mT @ direction)


def test_scores_are_their_equations():
    q, k, v = (x.detach() for x in qkv(5, 7, B=1, D=4))
    w, heads = torch.randn(4, 4), torch.randn(2, 4, 4)
    w_q, w_k, a = torch.randn(4, 6), torch.randn(4, 6), torch.randn(6)
    cases = {
        dot: lambda b, h, t, s: float(q[b, h, t] @ k[b, h, s]),
        scaled_dot: lambda b, h, t, s: float(q[b, h, t] @ k[b, h, s]) / 2,
        bilinear(w): lambda b, h, t, s: float(q[b, h, t] @ w @ k[b, h, s]),
        bilinear(heads): lambda b, h, t, s: float(q[b, h, t] @ heads[h] @ k[b, h, s]),
        additive(w_q, w_k, a): lambda b, h, t, s: float(torch.tanh(q[b, h, t] @ w_q + k[b, h, s] @ w_k) @ a),
    }
    for score, single in cases.items():
        expected = loop(q, k, v, lambda *_: True, single)
        for method in ("dense", "sparse"):
            assert_same(attend(q, k, v, full().at(5, 7), score=score, method=method), expected)


def test_cached_keys_align_to_the_last_query():
    q, k, v = qkv(12)
    whole = attend(q, k, v, causal().at(12))
    for method in ("dense", "sparse"):
        assert_same(attend(q[:, :, -1:], k, v, causal().at(1, 12), method=method), whole[:, :, -1:])


def test_mistakes_are_named_before_any_compute():
    q, k, v = qkv(6, 10)
    grid = causal().at(6, 10)
    ok = {"q": q, "k": k, "v": v, "grid": grid}
    for change, kind, message in (
        ({"q": q[0]}, ValueError, r"q has shape \(2, 6, 8\); give 4 axes"),
        ({"v": v.double()}, TypeError, "v is torch.float64 on cpu, q is torch.float32"),
        ({"k": k.to("meta")}, TypeError, "k is torch.float32 on meta"),
        ({"q": q.long(), "k": k.long(), "v": v.long()}, TypeError, "floating-point"),
        ({"k": k[..., :4]}, ValueError, "q and k the width"),
        ({"v": v[:, :, :9]}, ValueError, "k and v the positions"),
        ({"k": k[:1], "v": v[:1]}, ValueError, "share batch"),
        ({"grid": causal().at(6)}, ValueError, r"6 queries and 10 keys for a grid of 6 × 6; .*pattern.at\(6, 10\)"),
        ({"grid": padding(torch.ones(3, 10, dtype=torch.bool)).at(6, 10)}, ValueError, "3 samples, q has 2"),
        ({"grid": per_head(causal(), causal(), causal()).at(6, 10)}, ValueError, "3 heads, q has 2"),
        ({"dropout": 1.0}, ValueError, "dropout is 1.0, outside 0 to below 1"),
        ({"method": "fast"}, ValueError, '\'fast\'; choose "auto", "dense" or "sparse"'),
        ({"bias": torch.zeros(6, 9)}, ValueError, r"bias \(6, 9\) does not broadcast to \(2, 2, 6, 10\)"),
        ({"bias": torch.zeros(10).double()}, TypeError, "bias is torch.float64"),
    ):
        with Seen() as seen, pytest.raises(kind, match=message):
            attend(**{**ok, **change})
        assert not seen.calls, message


def test_auto_takes_the_quickest(monkeypatch):
    ran = []
    for name in ("_dense", "_sparse", "_blockwise", "_fused"):
        monkeypatch.setattr(attention, name, lambda *a, name=name: (ran.append(name), None)[:1] + (None,))
    q = k = v = torch.zeros(1, 1, 512, 4)
    short = q[:, :, :128]
    for pattern in (window(8), causal(), padding([1] * 9 + [0] * 119)):
        attend(short, short, short, pattern.at(128))
    attend(q, k, v, full().at(512))
    attend(q, k, v, causal().at(512))
    attend(q, k, v, (causal() & padding([1] * 500 + [0] * 12)).at(512))
    assert ran == ["_fused"] * 6
    ran.clear()
    attend(q, k, v, window(8).at(512))
    attend(q, k, v, padding([1] * 200 + [0] * 312).at(512))
    assert ran == ["_sparse"] * 2
    ran.clear()
    attend(short, short, short, causal().at(128), weights=True)
    attend(q, k, v, causal().at(512), weights=True)
    attend(q, k, v, window(8).at(512), weights=True)
    attend(q, k, v, segments([0] * 512).at(512), dropout=0.1)
    attend(q, k, v, longformer(8).at(512), score=bilinear(torch.zeros(4, 4)))
    assert ran == ["_dense", "_dense", "_blockwise", "_dense", "_blockwise"]


def test_one_call_for_all_has_no_mask_or_as_small_a_one_as_can_be():
    """What all queries see alike needs one row, what PyTorch knows needs none; all pairs are for short inputs."""

    def mask(pattern, *lengths):
        found = attention._whole(pattern.at(*lengths), torch.device("cpu"), torch.float32)
        return found and (found.pairs if found.pairs is None else tuple(found.pairs.shape), found.causal)

    long = padding(torch.arange(4096) < torch.tensor([[3000], [4096]]))
    assert mask(full(), 4096) == mask(padding([1] * 300), 300) == (None, False)
    assert mask(causal(), 4096) == (None, True)
    assert mask(causal(), 100, 128) == ((100, 128), False)
    assert mask(full() & long, 4096) == ((2, 1, 1, 4096), False)
    assert mask(causal() & long, 4096) is None


@pytest.mark.parametrize("pattern, T, S, start", [
    (full(), 20, 33, None), (causal(), 33, 33, "end"), (causal(), 20, 33, "end"), (window(6), 33, 33, "end"),
    (padding(torch.arange(33) < torch.tensor([[20], [0]])), 20, 33, None), (global_tokens(), 20, 33, "end"),
    (causal() & padding(torch.arange(33) >= torch.tensor([[5], [0]])), 33, 33, "end"),
    (table(torch.arange(20)[:, None] % 3 <= torch.arange(33) % 2), 20, 33, None),
    (per_head(full(), causal()), 33, 33, 0),
], ids=str)  # fmt: skip
def test_one_call_for_all_is_the_definition(pattern, T, S, start):
    q, k, v = qkv(T, S)
    grid = pattern.at(T, S, start)
    assert attention._whole(grid, q.device, q.dtype)
    for name, a, b in zip(("out", "q", "k", "v"), *(run(attend, q, k, v, grid, method=m) for m in ("auto", "dense")),
                          strict=True):  # fmt: skip
        assert_same(a, b, name)


def test_arrays_of_other_libraries_are_named():
    q = torch.zeros(1, 1, 4, 2)
    with pytest.raises(TypeError, match="attend: k is of type ndarray; give a tensor: torch.as_tensor"):
        attend(q, q.numpy(), q, causal().at(4))
