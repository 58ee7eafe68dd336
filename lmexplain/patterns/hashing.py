"""The random numbers of patterns: a 32-bit integer hash that Python and JavaScript compute alike.

No library's generator: the draw of a query depends on the seed and its place alone, whatever ran before.
"""

import torch
from torch import Tensor

__all__ = ["draw", "hash32", "mix"]

_LOW = 0xFFFFFFFF


def mix(x: Tensor) -> Tensor:
    """int64 tensor of 32-bit values -> int64 tensor of 32-bit values, well spread.

    A Weyl step and two rounds of multiply and shift, with the constants of C. Wellons' hash prospector ("lowbias32").
    Only the low 32 bits are kept, so int64 overflow does no harm.
    """
    x = (x + 0x9E3779B9) & _LOW
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _LOW
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _LOW
    return x ^ (x >> 16)


def hash32(seed: int, q: Tensor, i: int) -> Tensor:
    """The i-th 32-bit number of place q (int64) under `seed`."""
    return mix(mix(q ^ mix(torch.tensor(seed & _LOW, device=q.device))) ^ i)


def draw(seed: int, q: Tensor, m: Tensor, r: int) -> Tensor:
    """For each place q (P,), min(r, m) distinct numbers of 0 … m-1 -> int64 (P, r), -1 where there are fewer.

    Robert Floyd's sampling without replacement (Bentley & Floyd 1987, *A sample of brilliance*): the number
    j = m - r + i joins where the i-th draw from 0 … j was taken before. Every subset is equally likely.
    """
    count = m.clamp(max=r)
    chosen = torch.full((len(q), r), -1, dtype=torch.int64, device=q.device)
    for i in range(r):
        j = m - count + i
        t = hash32(seed, q, i) % (j + 1).clamp(min=1)
        taken = (chosen[:, :i] == t[:, None]).any(dim=1)
        chosen[:, i] = torch.where(i < count, torch.where(taken, j, t), -1)
    return chosen
