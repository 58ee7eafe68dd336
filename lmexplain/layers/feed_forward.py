"""The position-wise feed-forward sublayer and its activations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["ACTIVATIONS", "FeedForward", "activation"]

_tanh_gelu = partial(F.gelu, approximate="tanh")


def _sigmoid_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


#: Activations by the names that published configurations use. Two GELUs are in use: x·Φ(x) itself (BERT's code), and
#: its tanh form (GPT; Hendrycks & Gimpel 2016, section 2). They differ by up to 5e-4.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_python": F.gelu,
    "gelu_new": _tanh_gelu,
    "gelu_fast": _tanh_gelu,
    "gelu_pytorch_tanh": _tanh_gelu,
    "quick_gelu": _sigmoid_gelu,
    "silu": F.silu,
    "swish": F.silu,
    "tanh": torch.tanh,
}


def activation(name: str) -> Callable[[Tensor], Tensor]:
    """The activation of this name. Raises ValueError for an unknown one."""
    if name not in ACTIVATIONS:
        raise ValueError(f"no activation {name!r}; choose one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


class FeedForward(nn.Module):
    """FFN(x) = f(x W_1 + b_1) W_2 + b_2, for each position alike (Vaswani et al. 2017, eq. 2): (…, H) -> (…, H)."""

    def __init__(self, hidden: int, inner: int, act: str = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
        self.act, self.dropout = activation(act), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.dropout(self.act(self.inner(x))))
