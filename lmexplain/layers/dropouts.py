"""Dropouts of recurrent networks: what is dropped stays so for a whole sequence, or for all of a word's occurrences."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["EmbeddingDropout", "LockedDropout"]


class LockedDropout(nn.Module):
    """One mask for all steps: (B, T, H) drops the same features at every T (Gal & Ghahramani 2016).

    axis: along which the mask is the same, 1 of the steps or 0 of the batch. In training the rest is scaled by
    1 / (1 - rate).
    """

    def __init__(self, rate: float, axis: int = 1) -> None:
        super().__init__()
        self.rate, self.axis = rate, axis

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return x
        return x * F.dropout(torch.ones_like(x.narrow(self.axis, 0, 1)), self.rate)


class EmbeddingDropout(nn.Module):
    """Drops rows of the table: a word is zero wherever the batch has it (Merity et al. 2017, section 4.3)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, tokens: Tensor, ids: Tensor, table: Tensor) -> Tensor:
        """Embedded tokens (B, T, H) of ids (B, T), rows of the table (V, H) -> (B, T, H)."""
        if not self.training or not self.rate:
            return tokens
        return tokens * F.dropout(torch.ones_like(table[:, :1]), self.rate)[ids]
