"""Blocks of neighbouring positions: what the primitives need to answer for whole blocks at once."""

from __future__ import annotations

import torch
from torch import Tensor

from .base import ALL, NONE, SOME, Span

__all__ = ["area", "count", "cross", "extremes", "listed", "look_up", "state"]


def state(none: Tensor, all: Tensor) -> Tensor:
    """Two truths about each block -> NONE, SOME or ALL."""
    return torch.where(none, NONE, torch.where(all, ALL, SOME)).to(torch.int8)


def _pad_front(x: Tensor, dims: int) -> Tensor:
    return torch.nn.functional.pad(x, (1, 0) * dims)


def count(marks: Tensor, span: Span, b: Tensor) -> Tensor:
    """How many of `marks` (S,) or (B, S) lie in each span, for the samples b."""
    summed = _pad_front(marks.long().cumsum(-1), 1)
    return look_up(summed, b, span.last + 1) - look_up(summed, b, span.first)


def extremes(values: Tensor, span: Span, b: Tensor) -> tuple[Tensor, Tensor]:
    """Least and largest of `values` (S,) or (B, S) in each span, for the samples b."""
    spans = zip(span.first.flatten().tolist(), span.last.flatten().tolist(), strict=True)
    low, high = zip(*(values[..., first : last + 1].aminmax(dim=-1) for first, last in spans), strict=True)
    index = torch.arange(span.first.numel()).view(span.first.shape)
    return look_up(torch.stack(low, -1), b, index), look_up(torch.stack(high, -1), b, index)


def cross(q_count: Tensor, q: Span, k_count: Tensor, k: Span) -> Tensor:
    """Blocks of a pattern that opens whole rows and whole columns."""
    none = (q_count == 0) & (k_count == 0)
    return state(none=none, all=(q_count == q.length) | (k_count == k.length))


def area(marks: Tensor, rows: Span, columns: Span) -> Tensor:
    """How many of `marks` (…, T, S) lie in each rectangle of a span of rows and one of columns -> (…, nQ, nK)."""
    summed = _pad_front(marks.long().cumsum(-1).cumsum(-2), 2)
    (r0, r1), (c0, c1) = ((span.first.flatten(), span.last.flatten() + 1) for span in (rows, columns))
    return (summed[..., r1[:, None], c1] - summed[..., r0[:, None], c1]
            - summed[..., r1[:, None], c0] + summed[..., r0[:, None], c0])  # fmt: skip


def listed(q_at: Tensor, k_at: Tensor, q: Span, k: Span) -> Tensor:
    """Blocks of listed pairs. A pair falls into a rectangle of blocks, since spans of coarse places may overlap:
    its corners are marked and summed along both axes."""
    q, k = q.flat, k.flat
    corners = torch.zeros(len(q.first) + 1, len(k.first) + 1, dtype=torch.int32)
    # the spans that hold a place: from the first that ends at it or later, to the last that starts at it or before
    (q0, q1), (k0, k1) = ((torch.searchsorted(span.last.contiguous(), place),
                           torch.searchsorted(span.first.contiguous(), place, right=True))
                          for span, place in ((q, q_at.contiguous()), (k, k_at.contiguous())))  # fmt: skip
    inside = (q0 < q1) & (k0 < k1)
    for row, column, sign in ((q0, k0, 1), (q0, k1, -1), (q1, k0, -1), (q1, k1, 1)):
        ones = torch.full((int(inside.sum()),), sign, dtype=torch.int32)
        corners.index_put_((row[inside], column[inside]), ones, accumulate=True)
    count = corners.cumsum(0).cumsum(1)[:-1, :-1]
    return state(none=count == 0, all=count == q.length[:, None] * k.length)


def look_up(values: Tensor, b: Tensor, place: Tensor) -> Tensor:
    """values (S,) or (B, S) at places, for each sample where there is a batch axis."""
    values = values.to(place.device)
    return values[place] if values.dim() == 1 else values[b, place]
