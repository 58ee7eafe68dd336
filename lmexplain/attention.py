"""How strongly: scores of queries and keys, and `attend`, which runs them along a grid.

Two executions give the same numbers. *Dense* is the definition, to be read: all scores, one softmax. *Sparse* walks
over blocks of queries and computes only the keys that some query of the block may attend to, so that time and memory
grow with the allowed pairs and not with their square; backward computes each block anew.

Shapes: `B` batch, `T` queries, `S` keys, `N` heads, `D` head width. `True` means *may attend*, everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from .patterns import SOME, Grid, causal

__all__ = ["Score", "SparseWeights", "additive", "attend", "bilinear", "dot", "scaled_dot"]

Score = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""`score(q, k, i, j)`: q (B, N, t, D) at positions i (t,), k (B, N, s, D) at positions j (s,) -> scores (B, N, t, s).

Positions count along the keys. A score sees blocks, never the whole; relative terms look up i[:, None] - j. What it
closes over (tables, projections) may need gradients.
"""

BLOCK = 64              # queries of a block: few enough that its scores stay in the cache
ROWS_AT_ONCE = 512      # queries of the blocks that are joined to one call
FEW_PAIRS = 128**2      # up to here one call is as fast as several, whatever the pattern
MOST_PAIRS = 512**2     # beyond, no mask of all pairs is made, whatever the share that is allowed

_F = TypeVar("_F", bound=Callable)
_T = TypeVar("_T")


def _opaque(function: _F) -> _F:
    """Hidden from torch.compile, whose graph breaks here."""
    return torch.compiler.disable(function)  # pyright: ignore


# ── scores ────────────────────────────────────────────────────────────────────────────────────────────────────────


def dot(q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """q·k (Luong et al. 2015, section 3.1)."""
    return _wide(q) @ _wide(k).mT


def scaled_dot(q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """q·k / √D, which keeps the variance of the scores at 1 (Vaswani et al. 2017, eq. 1)."""
    return dot(q / math.sqrt(q.shape[-1]), k, i, j)


def bilinear(w: Tensor) -> Score:
    """qᵀ W k with w (D, D) or (N, D, D): *general* in Luong et al. 2015, section 3.1."""

    def score(q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return (q @ w) @ k.mT

    return score


def additive(w_q: Tensor, w_k: Tensor, v: Tensor) -> Score:
    """vᵀ tanh(W_q q + W_k k) with w_q, w_k (D, A) and v (A,) (Bahdanau et al. 2015, appendix A.1.2).

    For teaching: it holds a vector of A numbers for each pair.
    """

    def score(q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return torch.tanh((q @ w_q).unsqueeze(-2) + (k @ w_k).unsqueeze(-3)) @ v

    return score


# ── the call ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class SparseWeights:
    """Attention weights of a sparse execution, block of queries by block of queries.

    Block n holds the queries `rows[n]`; `keys[n]` (s,) are the keys it was computed with, ascending, and `values[n]`
    (B, N, t, s) the weights that multiplied their values. Every other weight is 0.
    """

    S: int
    rows: tuple[range, ...]
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]

    def dense(self) -> Tensor:
        """(B, N, T, S), as the dense execution gives them."""
        blocks = zip(self.keys, self.values, strict=True)
        return torch.cat([v.new_zeros(*v.shape[:3], self.S).index_copy(3, k, v) for k, v in blocks], dim=2)


@overload
def attend(
    q: Tensor, k: Tensor, v: Tensor, grid: Grid, *, score: Score = ..., bias: Tensor | None = ...,
    dropout: float = ..., weights: Literal[False] = ..., method: str = ...,
) -> Tensor: ...  # fmt: skip
@overload
def attend(
    q: Tensor, k: Tensor, v: Tensor, grid: Grid, *, score: Score = ..., bias: Tensor | None = ...,
    dropout: float = ..., weights: Literal[True], method: str = ...,
) -> tuple[Tensor, Tensor | SparseWeights]: ...  # fmt: skip
def attend(
    q: Tensor, k: Tensor, v: Tensor, grid: Grid, *, score: Score = scaled_dot, bias: Tensor | None = None,
    dropout: float = 0.0, weights: bool = False, method: str = "auto",
) -> Tensor | tuple[Tensor, Tensor | SparseWeights]:  # fmt: skip
    """Attention along a grid: softmax(score(q, k) + bias) v over the pairs that the grid allows.

    q (B, N, T, D), k (B, N, S, D), v (B, N, S, Dv) -> out (B, N, T, Dv), or (out, weights) with `weights=True`.
    A query that may attend to nothing gives exactly 0 and finite gradients. Half types are softmaxed in float32.

    `bias`: added to the scores, broadcastable to (B, N, T, S), of q's type; -inf forbids a pair as the grid does.
    `dropout`: the share of weights set to 0, the rest scaled by 1 / (1 - dropout); give 0 outside training.
    `weights`: also give the very weights that multiplied v (after softmax, and after dropout where there is some):
        a tensor (B, N, T, S) from the dense execution, `SparseWeights` from the sparse one.
    `method`: "dense", "sparse" or "auto". Auto is sparse, except up to 128 × 128 pairs and where the blocks cover more
        than half of all pairs: there it is dense if weights, bias, dropout or a score of your own are wanted, and else
        one call of PyTorch's fused attention, if that needs no large mask.
    Only the dense execution has a second derivative. To torch.compile all are breaks of the graph.
    Raises ValueError or TypeError where shapes, types or devices do not fit, before any compute.
    """
    _check(q, k, v, grid, bias, dropout, method)
    bias = None if bias is None else bias[(None,) * (4 - bias.dim())]
    if score in (scaled_dot, dot) and bias is None and not weights and not dropout and method != "dense":
        scale = None if score is scaled_dot else 1.0
        whole = _whole(grid, q.device, q.dtype) if method == "auto" else None
        return _fused(q, k, v, whole, scale) if whole else _sparse(q, k, v, grid, scale)
    if method == "auto":
        method = "dense" if grid.T * grid.S <= FEW_PAIRS or _cover(grid, q.device) > 0.5 else "sparse"
    execution = _dense if method == "dense" else _blockwise
    out, used = execution(q, k, v, grid, score, bias, dropout)
    return (out, used) if weights else out


def _check(q: Tensor, k: Tensor, v: Tensor, grid: Grid, bias: Tensor | None, dropout: float, method: str) -> None:
    for name, x in (("q", q), ("k", k), ("v", v)):
        if not isinstance(x, Tensor):
            raise TypeError(f"attend: {name} is of type {type(x).__name__}; give a tensor: torch.as_tensor({name})")
        if x.dim() != 4:
            raise ValueError(f"attend: {name} has shape {tuple(x.shape)}; give 4 axes (batch, heads, positions, width)")
        if x.dtype != q.dtype or x.device != q.device or not x.dtype.is_floating_point:
            raise TypeError(
                f"attend: {name} is {x.dtype} on {x.device}, q is {q.dtype} on {q.device}; "
                f"bring q, k and v to one floating-point type and device"
            )
    B, N, T, D = q.shape
    if k.shape[:2] != (B, N) or v.shape[:3] != k.shape[:3] or k.shape[3] != D:
        raise ValueError(
            f"attend: q {tuple(q.shape)}, k {tuple(k.shape)} and v {tuple(v.shape)} do not fit; all three share batch "
            f"and heads, q and k the width, k and v the positions"
        )
    if (T, k.shape[2]) != (grid.T, grid.S):
        raise ValueError(
            f"attend: {T} queries and {k.shape[2]} keys for a grid of {grid.T} × {grid.S}; "
            f"take the pattern at these lengths: pattern.at({T}, {k.shape[2]})"
        )
    for have, want, what in zip(grid.lead, (B, N), ("samples", "heads"), strict=False):
        if have not in (1, want):
            raise ValueError(f"attend: the pattern speaks of {have} {what}, q has {want}; make them agree")
    if not 0.0 <= dropout < 1.0:
        raise ValueError(f"attend: dropout is {dropout}, outside 0 to below 1; give the share of weights to drop")
    if method not in ("auto", "dense", "sparse"):
        raise ValueError(f'attend: no method {method!r}; choose "auto", "dense" or "sparse"')
    if bias is not None:
        _check_bias(bias, q, (B, N, grid.T, grid.S))


def _check_bias(bias: Tensor, q: Tensor, shape: tuple[int, ...]) -> None:
    if bias.dtype != q.dtype or bias.device != q.device:
        raise TypeError(
            f"attend: bias is {bias.dtype} on {bias.device}, q is {q.dtype} on {q.device}; a bias is added to the "
            f"scores, so give q's type and device, and say who may attend by the grid: padding(…) or table(…)"
        )
    if bias.dim() > 4 or any(b not in (1, s) for b, s in zip(reversed(bias.shape), reversed(shape), strict=False)):
        raise ValueError(f"attend: bias {tuple(bias.shape)} does not broadcast to {shape}; make an axis so long, or 1")
    if torch.compiler.is_compiling() or bias.requires_grad:
        return
    corner = bias[tuple(slice(8) for _ in bias.shape)]
    if not bool(((corner == 0) | (corner == 1)).all()):             # most are told from a mask at a glance
        return
    ones = bias == 1
    if bool((ones | (bias == 0)).all()) and 0 < int(ones.sum()) < ones.numel():
        raise ValueError(
            "attend: bias holds only 0 and 1 and reads as a mask, but would add 1 to a score; give a mask by the grid, "
            "padding(…) or table(…), and a bias of 0 and 1 as bias - 1, which changes no weight"
        )


# ── dense: the definition ─────────────────────────────────────────────────────────────────────────────────────────


def _attention(
    q: Tensor, k: Tensor, v: Tensor, i: Tensor, j: Tensor,
    allowed: Tensor | None, score: Score, bias: Tensor | None, dropout: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    scores = score(q, k, i, j)                                      # (B, N, T, S)   e_ij
    if bias is not None:
        scores = scores + bias
    weights = _softmax(scores, allowed)                             # (B, N, T, S)   a_ij = exp e_ij / Σ_j exp e_ij
    weights = torch.dropout(weights, dropout, True).to(v.dtype)
    return weights @ v, weights                                     # (B, N, T, Dv)  Σ_j a_ij v_j


def _softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Softmax over the allowed pairs; a row without one gives zeros, and no NaN on the way back."""
    scores = _wide(scores)
    scores = scores if allowed is None else scores.masked_fill(~allowed, -math.inf)
    weights = scores.softmax(dim=-1)
    if weights.is_meta or not torch.compiler.is_compiling() and not bool(weights[..., 0].isnan().any()):
        return weights                                              # as usual: every row has something to attend to
    forbidden = scores.isneginf()
    return scores.masked_fill(forbidden, torch.finfo(scores.dtype).min).softmax(dim=-1).masked_fill(forbidden, 0.0)


def _wide(x: Tensor) -> Tensor:
    """Half types as float32, in which scores neither overflow nor lose their small differences."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _dense(
    q: Tensor, k: Tensor, v: Tensor, grid: Grid, score: Score, bias: Tensor | None, dropout: float
) -> tuple[Tensor, Tensor]:
    i, j = torch.arange(grid.T, device=q.device) + (grid.start or 0), torch.arange(grid.S, device=q.device)
    return _attention(q, k, v, i, j, _allowed(grid, q.device), score, bias, dropout)


@_opaque
def _allowed(grid: Grid, device: torch.device) -> Tensor | None:
    """The dense grid, None where it allows all; short ones are kept for the layers that ask next."""
    return (_kept if grid.T * grid.S <= 2**20 else _looked_at)(grid, device)


def _looked_at(grid: Grid, device: torch.device) -> Tensor | None:
    with torch.inference_mode(False):
        allowed = grid.dense(device)
    return allowed if allowed.is_meta or not bool(allowed.all()) else None


_kept = lru_cache(maxsize=8)(_looked_at)


# ── sparse: the plan ──────────────────────────────────────────────────────────────────────────────────────────────


class _Mask(NamedTuple):
    """Which pairs of a block are allowed: bool for the definition, numbers to add to the scores for fused attention.

    In the latter empty rows stand open, and their output is set to 0: nothing hangs on what a kernel makes of them.
    """

    pairs: Tensor | None = None     # (rows, keys) or (B, N, rows, keys), 1 where an axis makes no difference
    empty: Tensor | None = None     # bool (…, rows, 1): the queries that may attend to nothing; None: there are none
    causal: bool = False            # what fused attention may know by itself


_OPEN = _Mask()


def _mask(allowed: Tensor, device: torch.device, fused: torch.dtype | None) -> _Mask:
    cells = allowed.numpy()                                         # whose all and any are many times as quick
    if cells.all():
        return _OPEN
    sees = cells.any(-1, keepdims=True)
    empty = None if sees.all() else torch.from_numpy(~sees)
    if fused:
        stands_open = allowed if empty is None else allowed | empty
        allowed = torch.where(stands_open, torch.zeros((), dtype=fused), -math.inf)
    return _Mask(allowed.contiguous().to(device), None if empty is None else empty.to(device))


class _Block(NamedTuple):
    """A block of queries, the keys it is computed with, and which of its pairs are allowed."""

    rows: range
    keys: np.ndarray        # ascending, at least one
    mask: _Mask             # one object for all equal masks

    @property
    def ahead(self) -> int | None:
        """How far the keys begin from the queries, if they are one run, which is taken as a view; else None."""
        one_run = self.keys[-1] - self.keys[0] == len(self.keys) - 1
        return int(self.keys[0]) - self.rows.start if one_run else None


@dataclass(frozen=True)
class _Call:
    """`count` neighbouring blocks of `rows` queries from `first` on, each with `width` keys, in one call.

    The keys are a run that begins at `key` and moves on with the queries; or `index` lists them, by tiles of `tile`
    keys, and they are joined, since there is one softmax over the union.
    """

    count: int
    first: int
    rows: int
    key: int
    width: int
    index: Tensor | None    # (count * width / tile,)
    tile: int
    mask: _Mask

    @property
    def queries(self) -> range:
        return range(self.first, self.first + self.count * self.rows)

    def keys(self, device: torch.device | str = "cpu") -> Tensor:
        if self.index is None:
            return torch.arange(self.key, self.key + self.width, device=device)
        tiles = self.index.to(device)[:, None] * self.tile
        return (tiles + torch.arange(self.tile, device=device)).flatten()


class _Way(NamedTuple):
    """The walk of some samples and heads: block by block, and with like neighbours joined to fewer calls."""

    where: tuple[slice, slice]
    single: list[_Call]
    joined: list[_Call]


@contextmanager
def _planning() -> Iterator[None]:
    """Plans are made on the CPU, and serve inference and training alike."""
    elsewhere = torch.get_default_device().type != "cpu"        # to name the device costs as much as the work
    with torch.inference_mode(False), torch.device("cpu") if elsewhere else nullcontext():
        yield


@lru_cache(maxsize=8)
def _plan(grid: Grid, device: torch.device, size: int, fused: torch.dtype | None = None) -> list[_Way]:
    """How to walk over a grid, by the definition or, given a type, by fused attention.

    The definition goes one way for all samples and heads, and its masks are bool. Fused attention lets samples and
    heads that differ go their own ways where that covers less; its masks are added to the scores, so of their type.
    The cache holds the patterns themselves, so that one made from data is never taken for another.
    """
    with _planning():
        return list(_Planner(grid, device, size, fused).ways())


class _Planner:
    """Cuts a grid into blocks and finds the keys that each of them needs: one at least, be it masked."""

    def __init__(self, grid: Grid, device: torch.device, size: int, fused: torch.dtype | None) -> None:
        self.grid, self.device, self.fused = grid, device, fused
        grain = grid.pattern.grain
        self.rows = self.columns = grain * max(1, size // grain) if grain <= 2 * size else size
        state = grid.blocks(self.rows)
        if (state == SOME).float().mean() > 0.25 and self.columns > 8:      # most hold a few pairs (random tokens):
            self.columns = 8                                                # look closer
            state = grid.blocks((self.rows, self.columns))
        self.state = state.view(*(grid.lead or (1, 1)), *state.shape[-2:])
        self.masks: dict[Any, _Mask] = {}

    def ways(self) -> Iterator[_Way]:
        B, N = self.state.shape[:2]
        low, high = self.state.amin((0, 1)), self.state.amax((0, 1))
        united = torch.where(low == high, low, SOME)
        if self.fused is None or B * N * int((united > 0).sum()) <= 1.5 * int((self.state > 0).sum()):
            b, h = torch.arange(B).view(B, 1, 1, 1), torch.arange(N).view(1, N, 1, 1)
            yield self.way(slice(None), slice(None), list(self.blocks(united, b, h)), ROWS_AT_ONCE)
            return
        for b in range(B):
            heads: dict[Any, list[tuple[int, _Block]]] = {}
            for h in range(N):
                for block in self.blocks(self.state[b, h], torch.tensor(b), torch.tensor(h)):
                    same = block.rows.start, len(block.rows), block.keys.tobytes(), id(block.mask)
                    heads.setdefault(same, []).append((h, block))
            ways: dict[tuple[int, int], list[_Block]] = {}          # neighbouring heads that share a block go together
            for found in heads.values():
                for run in _alike(enumerate(found), lambda x: x[1][0] - x[0]):
                    ways.setdefault((run[0][1][0], run[-1][1][0] + 1), []).append(found[0][1])
            for (first, last), blocks in ways.items():
                yield self.way(slice(b, b + 1) if B > 1 else slice(None), slice(first, last) if N > 1 else slice(None),
                               blocks, ROWS_AT_ONCE * N // (last - first))  # fmt: skip

    def way(self, b: slice, h: slice, blocks: list[_Block], rows_at_once: int) -> _Way:
        return _Way((b, h), self.calls(blocks, 1), self.calls(blocks, rows_at_once))

    def calls(self, blocks: list[_Block], rows_at_once: int) -> list[_Call]:
        """Blocks as calls; neighbours of one height, width and mask, whose runs begin equally far ahead, join."""

        def form(at: tuple[int, _Block]) -> Any:
            n, (rows, keys, mask) = at
            return len(rows), rows.start - n * len(rows), len(keys), id(mask), at[1].ahead

        calls = []
        for alike in _alike(enumerate(blocks), form):
            (rows, keys, mask), ahead = alike[0][1], alike[0][1].ahead
            most = max(1, rows_at_once // len(rows))
            for run in (alike[n : n + most] for n in range(0, len(alike), most)):
                first, index, tile = run[0][1].rows.start, None, 1
                if ahead is None:
                    index, tile = self.tiles(np.concatenate([block.keys for _, block in run]), len(rows))
                calls.append(_Call(len(run), first, len(rows), first + (ahead or 0), len(keys), index, tile, mask))
        return calls

    def tiles(self, keys: np.ndarray, size: int) -> tuple[Tensor, int]:
        """Keys as whole tiles of `size` if they are: quicker to copy, and to add gradients to, than one by one."""
        if len(keys) % size == 0 and self.grid.S % size == 0:
            tiles = keys.reshape(-1, size)
            if (tiles == tiles[:, :1] // size * size + np.arange(size)).all():
                return torch.from_numpy(tiles[:, 0] // size).to(self.device), size
        return torch.from_numpy(keys).to(self.device), 1

    def blocks(self, state: Tensor, b: Tensor, h: Tensor) -> Iterator[_Block]:
        """The blocks from the first query to the last. Where signatures agree, the cells are looked up once."""
        tiles = state.numpy()
        touched = np.repeat(tiles > 0, self.columns, axis=1)[:, : self.grid.S]
        usual = float(np.median(touched.sum(1)))
        alone = self.grid.lead or self.columns != self.rows or not (tiles == SOME).any()
        alike = None if alone else self.grid.signature(self.rows).numpy()
        known: dict[Any, list[tuple[slice, np.ndarray, _Mask]]] = {}
        for n, tile in enumerate(tiles):
            rows = range(n * self.rows, min((n + 1) * self.rows, self.grid.T))
            keys = touched[n].nonzero()[0]
            if len(keys) and (tile != SOME).all():
                yield _Block(rows, keys, _OPEN)
                continue
            keys = keys if len(keys) else _FIRST
            cells = n if alike is None else np.where(tile == SOME, alike[n].T, -1)[:, tile > 0].tobytes()
            kind = len(rows), len(keys), cells
            if kind not in known:
                known[kind] = list(self.cut(rows, keys, b, h, usual))
            yield from (_Block(rows[part], keys[kept], mask) for part, kept, mask in known[kind])

    def cut(
        self, rows: range, keys: np.ndarray, b: Tensor, h: Tensor, usual: float
    ) -> Iterator[tuple[slice, np.ndarray, _Mask]]:
        """Look into a block cell by cell -> the parts of its rows, which of the keys each of them needs, and its mask.

        A block is cut where rows that see far more than is usual (global tokens) meet rows that do not.
        """
        q, k = torch.arange(rows.start, rows.stop)[:, None], torch.from_numpy(keys)[None, :]
        allowed = self.grid(b, h, q, k)
        allowed = allowed.expand(*torch.broadcast_shapes(allowed.shape, b.shape, h.shape)[:-2], len(rows), len(keys))
        heavy = (allowed.sum(-1).view(-1, len(rows)).amax(0) > usual).tolist()
        parts = list(_alike(range(len(rows)), heavy.__getitem__)) if len(keys) > 4 * usual else [range(len(rows))]
        for part in (slice(rows[0], rows[-1] + 1) for rows in parts):
            used = allowed[..., part, :].flatten(0, -2).any(0).numpy().nonzero()[0]
            used = used if len(used) else _FIRST
            if keys[used[-1]] - keys[used[0]] < 1.25 * len(used):
                used = np.arange(used[0], used[-1] + 1)     # few gaps: one run, a view, is cheaper than a copy
            yield part, used, self.shared(allowed[..., part, :][..., torch.from_numpy(used)])

    def shared(self, allowed: Tensor) -> _Mask:
        """One mask for all equal ones, of size 1 along axes where nothing differs."""
        if allowed.dim() == 4:
            allowed = allowed[:1] if bool((allowed == allowed[:1]).all()) else allowed
            allowed = allowed[:, :1] if bool((allowed == allowed[:, :1]).all()) else allowed
        key = allowed.shape, allowed.numpy().tobytes()
        if key not in self.masks:
            self.masks[key] = _mask(allowed, self.device, self.fused)
        return self.masks[key]


_FIRST = np.zeros(1, dtype=np.int64)


def _alike(items: Iterable[_T], key: Callable[[_T], Any]) -> Iterator[list[_T]]:
    """Neighbours of equal key."""
    return (list(same) for _, same in groupby(items, key))


def _cover(grid: Grid, device: torch.device) -> float:
    """The share of all pairs that one walk for all samples and heads computes."""
    (way,) = _plan(grid, device, BLOCK)
    return sum(call.rows * call.width for call in way.single) / (grid.T * grid.S)


# ── sparse: plain scores, by PyTorch's fused attention ────────────────────────────────────────────────────────────


@_opaque
@lru_cache(maxsize=8)
def _whole(grid: Grid, device: torch.device, dtype: torch.dtype) -> _Mask | None:
    """The mask of one call for all pairs; None where blocks are quicker, or where it would be too large."""
    if grid.T == grid.S and grid.pattern == causal():
        return _Mask(causal=True)
    with _planning():
        if grid.T * grid.S > FEW_PAIRS and (grid.blocks(BLOCK) > 0).float().mean() <= 0.5:
            return None
        if not grid.pattern.relates:
            columns = grid.blocks((grid.T, 1))
            if not bool((columns == SOME).any()):           # for all queries alike (padding): one row says it
                return _mask(columns > 0, device, dtype)
        return _mask(grid.dense(), device, dtype) if grid.T * grid.S <= MOST_PAIRS else None


@_opaque
def _sparse(q: Tensor, k: Tensor, v: Tensor, grid: Grid, scale: float | None) -> Tensor:
    return _Sparse.apply(q, k, v, _plan(grid, q.device, BLOCK, q.dtype), scale)


class _Sparse(torch.autograd.Function):
    """Keeps only its inputs. Backward computes each block once more and adds up its gradients in place."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, ways: list[_Way], scale: float | None) -> Tensor:
        ctx.save_for_backward(q, k, v)
        ctx.ways, ctx.scale = ways, scale
        out = _places(v, q.shape[2])
        for way in ways:
            for call, block in _walk(way, q, k, v):
                _rows(out[way.where], call).copy_(_fused(*block, call.mask, scale))
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError('attend: sparse execution has no second derivative; ask for method="dense"')
        wanted, inputs = ctx.needs_input_grad[:3], ctx.saved_tensors
        totals = [_places(x).zero_() if want else None for x, want in zip(inputs, wanted, strict=True)]
        for way in ctx.ways:
            where, alone = way.where, len(ctx.ways) == 1
            parts = totals if alone else [None if x is None else _places(x[where]).zero_() for x in totals]
            for call, block in _walk(way, *inputs):
                leaves = [x.requires_grad_() for x, want in zip(block, wanted, strict=True) if want]
                with torch.enable_grad():
                    out = _fused(*block, call.mask, ctx.scale)
                found = iter(torch.autograd.grad(out, leaves, _rows(grads[0][where], call)))
                for add, part in zip((_add_rows, _add_keys, _add_keys), parts, strict=True):
                    if part is not None:
                        add(part, call, next(found))
            for total, part in zip(totals, parts, strict=True):
                if total is not None and part is not None and not alone:
                    total[where] += part
        return *totals, None, None


def _places(x: Tensor, n: int | None = None) -> Tensor:
    """An empty (B, N, n, D) like x, laid out position by position, so that heads merge without a copy."""
    B, N, S, D = x.shape
    return x.new_empty(B, n or S, N, D).transpose(1, 2)


def _walk(way: _Way, *inputs: Tensor) -> Iterator[tuple[_Call, tuple[Tensor, Tensor, Tensor]]]:
    """Each call with its blocks of q, k and v, cut off from whatever made them.

    Neighbours of one sample are joined, as a batch; several samples are a batch already.
    """
    q, k, v = (x.detach()[way.where] for x in inputs)
    calls = way.joined if len(q) == 1 else way.single
    most = max(0 if call.index is None else len(call.index) * call.tile for call in calls)
    if most:                                                # or each picking would copy the whole to get there
        k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (k, v))
    rooms = [x.new_empty(most * x[:, :, 0].numel()) for x in (k, v)]        # one room for all: fresh memory is slow
    for call in calls:
        yield call, (_rows(q, call), _keys(k, call, rooms[0]), _keys(v, call, rooms[1]))


def _fused(q: Tensor, k: Tensor, v: Tensor, mask: _Mask, scale: float | None) -> Tensor:
    out = scaled_dot_product_attention(q, k, v, attn_mask=mask.pairs, is_causal=mask.causal, scale=scale)
    return out if mask.empty is None else out.masked_fill(mask.empty, 0.0)


def _rows(x: Tensor, call: _Call) -> Tensor:
    return _run(x, call, call.first, call.rows)


def _add_rows(total: Tensor, call: _Call, grad: Tensor) -> None:
    _rows(total, call).add_(grad)


def _keys(x: Tensor, call: _Call, room: Tensor) -> Tensor:
    """The keys of a call, as `_run` shapes them; those of `index` are joined, which copies them to `room`."""
    if call.index is None:
        return _run(x, call, call.key, call.width)
    tiles = _tiles(x, call)                                                 # (B, S / tile, tile * N * D)
    joined = room[: len(x) * len(call.index) * tiles.shape[2]].view(len(x), -1, tiles.shape[2])
    torch.index_select(tiles, 1, call.index, out=joined)
    return joined.view(-1, call.width, x.shape[1], x.shape[3]).transpose(1, 2)


def _add_keys(total: Tensor, call: _Call, grad: Tensor) -> None:
    if call.index is not None:
        tiles = _tiles(total, call)
        tiles.index_add_(1, call.index, grad.transpose(1, 2).reshape(len(total), -1, tiles.shape[2]))
        return
    for n, part in enumerate(grad.split(len(total))):                       # runs overlap: one after the other
        first = call.key + n * call.rows
        total[:, :, first : first + call.width] += part


def _tiles(x: Tensor, call: _Call) -> Tensor:
    return x.transpose(1, 2).unflatten(1, (-1, call.tile)).flatten(2)       # a view, where positions come first


def _run(x: Tensor, call: _Call, first: int, width: int) -> Tensor:
    """A view of `width` places for each block of a call, `rows` further on from block to block.

    (B, N, n, D) -> (B, N, width, D); blocks of one sample stand as a batch, (count, N, width, D).
    """
    if call.count == 1:
        return x[:, :, first : first + width]
    _, n, s, d = x.stride()
    shape, steps = (call.count, x.shape[1], width, x.shape[3]), (call.rows * s, n, s, d)
    return x.as_strided(shape, steps, x.storage_offset() + first * s)


# ── sparse: any score, bias, dropout, and weights, by the definition block by block ───────────────────────────────


@_opaque
def _blockwise(
    q: Tensor, k: Tensor, v: Tensor, grid: Grid, score: Score, bias: Tensor | None, dropout: float
) -> tuple[Tensor, SparseWeights]:
    """Each block is checkpointed: backward computes it anew, with the same dropout.

    Its keys are pieces of a split, joined, since the gradient of a slice is as long as the whole, once per block.
    """
    (way,) = _plan(grid, q.device, BLOCK)
    heights = [call.rows for call in way.single]
    k_tiles, v_tiles = k.split(BLOCK, dim=2), v.split(BLOCK, dim=2)
    b_rows = [bias] * len(heights) if bias is None or bias.shape[2] == 1 else bias.split(heights, dim=2)
    outs, used = [], []
    for call, q_block, b_block in zip(way.single, q.split(heights, dim=2), b_rows, strict=True):
        touched = (call.keys() // BLOCK).unique().tolist()
        tiles = [tiles[n] for tiles in (k_tiles, v_tiles) for n in touched]
        block = partial(_block, call, score, dropout, grid.start or 0)
        out, weights = checkpoint(block, q_block, b_block, *tiles, use_reentrant=False, preserve_rng_state=dropout > 0)
        outs.append(out)
        used.append(weights)
    rows, keys = tuple(call.queries for call in way.single), tuple(call.keys(q.device) for call in way.single)
    return torch.cat(outs, dim=2), SparseWeights(grid.S, rows, keys, tuple(used))


def _block(
    call: _Call, score: Score, dropout: float, start: int, q: Tensor, bias: Tensor | None, *tiles: Tensor
) -> tuple[Tensor, Tensor]:
    """The definition on one block; `tiles` are the touched pieces of k, then those of v."""
    keys = call.keys(q.device)
    piece = (keys // BLOCK).unique(return_inverse=True)[1]
    place = piece * BLOCK + keys % BLOCK                                    # of the keys among the joined tiles
    half = len(tiles) // 2
    k, v = (torch.cat(these, dim=2).index_select(2, place) for these in (tiles[:half], tiles[half:]))
    i = torch.arange(call.first, call.first + call.rows, device=q.device) + start
    if bias is not None and bias.shape[3] > 1:
        bias = bias.index_select(3, keys)
    return _attention(q, k, v, i, keys, call.mask.pairs, score, bias, dropout)
