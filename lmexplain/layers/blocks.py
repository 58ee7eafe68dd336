"""Where the norm stands: after the sum, or before the sublayer.

A block wraps one sublayer; a Transformer layer is two of them, attention and feed-forward. What follows x goes to the
sublayer as it is.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

__all__ = ["PostNormBlock", "PreNormBlock"]


class PostNormBlock(nn.Module):
    """norm(x + sublayer(x)): every layer rescales the residual stream (Vaswani et al. 2017, section 3.1)."""

    def __init__(self, sublayer: nn.Module, norm: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.sublayer, self.norm, self.dropout = sublayer, norm, nn.Dropout(dropout)

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return self.norm(x + self.dropout(self.sublayer(x, *args, **kwargs)))


class PreNormBlock(nn.Module):
    """x + sublayer(norm(x)): the residual stream stays clean, and one last norm ends it (Radford et al. 2019, 2.3)."""

    def __init__(self, sublayer: nn.Module, norm: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.sublayer, self.norm, self.dropout = sublayer, norm, nn.Dropout(dropout)

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return x + self.dropout(self.sublayer(self.norm(x), *args, **kwargs))
