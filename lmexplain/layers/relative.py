"""Scores by distance, brought to their keys."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["by_key", "distances"]


def distances(T: int, S: int, start: int = 0, device: torch.device | None = None) -> Tensor:
    """(T + S,): the distances i - j that the columns of `by_key` stand for, from start + T down to start - S + 1.

    The first is no pair's: it makes the rows as long as the shift needs them.
    """
    return torch.arange(start + T, start - S, -1, device=device)


def by_key(scores: Tensor, S: int) -> Tensor:
    """The relative shift (Dai et al. 2019, appendix B): scores (…, T, T + S) by distance -> (…, T, S) by key.

    Query i finds key j in column T - i + j. Written one after the other and read anew in rows that are one shorter,
    each row starts one column further left than the one before: nothing is gathered.
    """
    T = scores.shape[-2]
    return scores.flatten(-2)[..., T:].unflatten(-1, (T, T + S - 1))[..., :S]
