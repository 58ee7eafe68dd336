"""A layer of long short-term memory, over texts of unequal length, from left to right or from right to left."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

__all__ = ["Lstm", "State"]

State = tuple[Tensor, Tensor]
"""h and c (B, H) of a recurrent layer after the last token that it read."""


class Lstm(nn.Module):
    """(i, f, g, o) = W x_t + b + U h_{t-1} + b′; c_t = σ(f) c_{t-1} + σ(i) tanh(g); h_t = σ(o) tanh(c_t).

    weight_dropout: the share of U's entries that are 0 in training, the same ones at all steps of a call, drawn anew
    for each (DropConnect: Merity et al. 2017, section 2). The dropped matrix lives in that call alone: U itself is the
    only parameter, so that copies, files and types know nothing of it.
    """

    def __init__(self, inputs: int, hidden: int, weight_dropout: float = 0.0, backward: bool = False) -> None:
        super().__init__()
        self.hidden, self.weight_dropout, self.backward = hidden, weight_dropout, backward
        self.input, self.recurrent = nn.Linear(inputs, 4 * hidden), nn.Linear(hidden, 4 * hidden)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform weights and biases within ±1/√H, as PyTorch's."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(self.hidden**-0.5), self.hidden**-0.5)

    @torch.compiler.disable         # lengths are read, which no graph holds; the kernel is one call as it is
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # of a function that the decorator has hidden
        self, x: Tensor, state: State | None = None, real: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """x (B, T, inputs) -> h_t of each token (B, T, H), and the state to go on from; without `state` it begins at 0.

        real: (B, T), True at real tokens. Padding, wherever it stands, is passed over: it gives 0 and moves no state.
        """
        B, T, _ = x.shape
        before = state or (x.new_zeros(B, self.hidden), x.new_zeros(B, self.hidden))
        if real is None and not self.backward:
            return self.read(x, before)
        real = x.new_ones(B, T, dtype=torch.bool) if real is None else real
        places = torch.arange(T, device=x.device)
        places = places.flip(0) if self.backward else places
        order = places[(~real[:, places]).byte().argsort(dim=1, stable=True)]       # (B, T) as read, padding last
        out, after = self.read(x.gather(1, order[..., None].expand_as(x)), before, real.sum(1))
        return torch.zeros_like(out).scatter(1, order[..., None].expand_as(out), out), after

    def read(self, x: Tensor, before: State, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """x (B, T, inputs) from left to right, of each row the first `lengths` (B,) tokens."""
        drop = self.weight_dropout if self.training else 0.0
        U = F.dropout(self.recurrent.weight, drop) if drop else self.recurrent.weight
        weights = [self.input.weight, U, self.input.bias, self.recurrent.bias]
        if lengths is None:
            out, h, c = torch.lstm(x, [s[None] for s in before], weights, True, 1, 0.0, self.training, False, True)
            return out, (h[0], c[0])
        some = lengths.clamp(min=1).cpu()                       # an empty row reads one token, and forgets it below
        packed = pack_padded_sequence(x, some, batch_first=True, enforce_sorted=False)
        begin = [s[packed.sorted_indices][None] for s in before]
        data, h, c = torch.lstm(packed.data, packed.batch_sizes, begin, weights, True, 1, 0.0, self.training, False)
        out, _ = pad_packed_sequence(PackedSequence(data, *packed[1:]), batch_first=True, total_length=x.shape[1])
        filled = lengths[:, None] > 0
        ended = [s[0, packed.unsorted_indices] for s in (h, c)]
        h, c = (torch.where(filled, new, old) for new, old in zip(ended, before, strict=True))
        return out * filled[..., None], (h, c)
