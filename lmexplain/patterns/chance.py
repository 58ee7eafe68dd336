"""Patterns of chance: BigBird's random keys, token by token and in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from .arguments import seed_number, whole
from .base import At, Line, Pattern, Span
from .hashing import draw
from .spans import listed

__all__ = ["random", "random_blocks"]


@dataclass(frozen=True, repr=False)
class Random(Pattern):
    """Each query draws r distinct keys over the whole length (BigBird, Zaheer et al. 2020, section 2)."""

    r: int
    seed: int = 0

    op = "random"

    @property
    def relates(self) -> bool:
        return False

    @property
    def block(self) -> int:
        return 1

    def draws(self, line: Line) -> Tensor:
        """(P, r) keys, or blocks of keys, of each place from the first query's on; -1 where there are fewer."""
        return _draws(type(self), self.r, self.seed, line)

    @staticmethod
    def candidates(q: Tensor, keys: int) -> tuple[int, Tensor, Tensor, Tensor]:
        """What place q draws from: the first number, how many there are, and the `width` numbers left out at `gap`."""
        return 0, torch.full_like(q, keys), torch.zeros_like(q), torch.zeros_like(q)

    def allows(self, q: Tensor, k: Tensor, at: At) -> Tensor:
        line = at.line.in_blocks(self.block)
        draws = self.draws(line).to(q.device)
        row, key = q // self.block - line.offset, k // self.block
        return sum((draw[row] == key for draw in draws.T), start=(q != q) | (k != k))

    def blocks(self, q: Span, k: Span, at: At) -> Tensor:
        line = at.line.in_blocks(self.block)
        return listed(*self._pairs(line), q.in_blocks(self.block), k.in_blocks(self.block))

    def _pairs(self, line: Line) -> tuple[Tensor, Tensor]:
        draws = self.draws(line)
        row, i = (draws >= 0).nonzero(as_tuple=True)
        return row + line.offset, draws[row, i]

    def entries(self, line: Line) -> tuple[Tensor, Tensor] | None:
        return self._pairs(line)

    def fields(self) -> dict[str, Any]:
        return {"r": self.r, "seed": self.seed}

    @property
    def name(self) -> str:
        return self.title or f"random {self.r}, seed {self.seed}"

    @property
    def formula(self) -> str:
        return rf"k \in R_{{{self.r}}}(q)"


@dataclass(frozen=True, repr=False)
class RandomBlocks(Random):
    """Each block of queries draws r distinct blocks of keys that are neither its neighbours nor at an end (BigBird)."""

    size: int = 64

    op = "random_blocks"

    @property
    def relates(self) -> bool:
        return True

    @property
    def block(self) -> int:
        return self.size

    @property
    def grain(self) -> int:
        return self.size

    @staticmethod
    def candidates(q: Tensor, keys: int) -> tuple[int, Tensor, Tensor, Tensor]:
        """Blocks 1 … keys-2 but q-1, q, q+1; the first and the last block draw none, since they see all."""
        gap = (q - 1).clamp(min=1)
        width = ((q + 1).clamp(max=keys - 2) - gap + 1).clamp(min=0)
        inner = (q > 0) & (q < keys - 1)
        return 1, torch.where(inner, keys - 2 - width, 0).clamp(min=0), gap, width

    def entries(self, line: Line) -> tuple[Tensor, Tensor] | None:
        return None

    def fields(self) -> dict[str, Any]:
        return {"r": self.r, "block": self.size, "seed": self.seed}

    @property
    def name(self) -> str:
        return self.title or f"random {self.r} blocks of {self.size}, seed {self.seed}"

    @property
    def formula(self) -> str:
        return rf"\lfloor k/{self.size} \rfloor \in R_{{{self.r}}}(\lfloor q/{self.size} \rfloor)"


@lru_cache(maxsize=64)
def _draws(kind: type[Random], r: int, seed: int, line: Line) -> Tensor:
    q = torch.arange(line.queries) + line.offset
    first, count, gap, width = kind.candidates(q, line.keys)
    drawn = draw(seed, q, count, min(r, line.keys))
    key = drawn + first
    key = torch.where(key >= gap[:, None], key + width[:, None], key)       # skip what is left out
    return torch.where(drawn < 0, -1, key)


def random(r: int, seed: int = 0) -> Pattern:
    """Each query attends to r distinct keys over the whole length, or to all if there are fewer (BigBird, section 2).

    The draw is a documented 32-bit hash of the seed and the query's place (`patterns.hashing`): the same in every
    process and in the browser, whatever ran before.
    """
    return Random(whole("random", "r", r, 0, "0 draws none"), seed_number("random", seed))


def random_blocks(r: int, block: int = 64, seed: int = 0) -> Pattern:
    """Each block of queries attends to r distinct blocks of keys (BigBird, section 2 and appendix D).

    The draw leaves out the block itself, its two neighbours and both ends of the text, which window and global
    attention see anyway; the first and the last block draw none. Where fewer blocks are left, all are taken.

    Differs from the released code in: the draw goes over the whole length (the released plans for 1,024, 2,048, 3,072
    and 4,096 tokens are drawn among the first 1,024 and cut, and may repeat a window or global block there), and it is
    one for all heads (there, one per layer and head: `per_head(*(bigbird(seed=s) for s in range(12)))`). A published
    plan runs as it is by `table(plan, block=64)`. Raises ValueError below the least of each parameter.
    """
    return RandomBlocks(
        whole("random_blocks", "r", r, 0, "0 draws none"),
        seed_number("random_blocks", seed),
        whole("random_blocks", "block", block, 1, "BigBird's is 64"),
    )
