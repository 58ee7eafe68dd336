"""Positions that are computed, not learned."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["sinusoids"]


def sinusoids(
    positions: int, hidden: int, start: int = 0, halves: bool = False, dtype: torch.dtype | None = None
) -> Tensor:  # fmt: skip
    """(positions, H): PE(p, 2i) = sin(p / 10000^(2i/H)), PE(p, 2i+1) = cos of it (Vaswani et al. 2017, section 3.5).

    start: the first position. halves: all sines, then all cosines, as released code orders the same columns.
    Made in float64, given in `dtype` or PyTorch's default.
    Raises ValueError for an odd H: each frequency takes a sine and a cosine.
    """
    if hidden % 2:
        raise ValueError(f"sinusoids: hidden is {hidden}; give an even width, a sine and a cosine for each frequency")
    frequency = 10000.0 ** (-torch.arange(0, hidden, 2, dtype=torch.float64) / hidden)
    angle = torch.arange(start, start + positions, dtype=torch.float64)[:, None] * frequency    # (positions, H / 2)
    table = torch.stack([angle.sin(), angle.cos()], dim=1 if halves else 2).flatten(1)
    return table.to(dtype or torch.get_default_dtype())
