"""BigBird (Zaheer et al. 2020, arXiv:2007.14062). Differs from BERT in: attention in blocks, to neighbours, to the
first and the last block, and to a few random ones, a plan of its own in each layer and head; 4,096 positions.

As released: plans are drawn with numpy's old generator from the layer's number, for the lengths of the paper as for
4,096 tokens among the first 1,024; a block that is both random and near or global counts twice in the softmax
(`counted_twice`; a set can not); short texts, of up to 5 + 2 r blocks, attend to all; dropout comes before the
embeddings' norm. The transformers library draws no plan outside of training, where it takes block 0 instead (which
then counts 1 + r times), and 2,048 tokens as any other length. No padding to whole blocks is needed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ..attention import attend, scaled_dot
from ..layers import Head, MultiHeadAttention, Output, Run, SequenceClassification, activation
from ..patterns import Grid, Pattern, full, global_tokens, in_blocks, table, window
from .bert import LARGE, Bert, BertConfig, BertEmbeddings
from .transformer import EncoderLayer

__all__ = ["BigBird", "BigBirdAttention", "BigBirdConfig", "random_plan"]

OLD = (1024, 2048, 3072, 4096)      # lengths whose plans are drawn as for the last one, among the first 1,024 tokens


@dataclass(frozen=True, kw_only=True)
class BigBirdConfig(BertConfig):
    """BigBird's sizes; the defaults are bigbird-roberta-base's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "bigbird-roberta-base": {},
        "bigbird-roberta-large": LARGE,
    }

    vocab_size: int = 50358
    hidden_act: str = "gelu_new"
    max_position_embeddings: int = 4096
    attention_type: str = "block_sparse"        # or "original_full"
    block_size: int = 64
    num_random_blocks: int = 3                  # r
    use_bias: bool = True                       # of queries, keys and values
    rescale_embeddings: bool = False
    counted_twice: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("attention_type", self.attention_type in ("block_sparse", "original_full"),
                   "block_sparse or original_full")  # fmt: skip
        for name in ("block_size", "num_random_blocks"):
            self.check(name, getattr(self, name) >= 1, "at least 1")


def random_plan(T: int, block: int, r: int, heads: int, seed: int) -> np.ndarray:
    """(heads, blocks - 2, r): the random blocks of each block of queries but the first and last (released code).

    Raises ValueError where a row has fewer than r blocks to choose from.
    """
    rng, n = np.random.RandomState(seed), -(-T // block)
    if T in OLD:
        return np.stack([_old_rows(rng, OLD[-1] // block, 1024 // block - 1, r)[: n - 2] for _ in range(heads)])
    plan = np.zeros((heads, n, r), dtype=np.int64)
    for rows, first, end, a, b in _stages(n, r):
        for row in rows:
            for head in range(heads):
                plan[head, row, a:b] = _row(rng, row, first, end, b - a)
    return plan[:, 1:-1]


def _old_rows(rng: np.random.RandomState, n: int, last: int, r: int) -> np.ndarray:
    """The plan of the paper's lengths: any block up to `last` but those near, which the last two rows do not spare."""
    middle, rows = np.arange(1, n - 1), []
    for i in range(1, n - 1):
        start = min(i - 2, last)
        if i <= 2:
            among = middle[i + 1 : last]
        elif i >= n - 3:
            among = middle[:last]
        elif i - 2 > last or i + 1 == last:
            among = middle[:start]
        else:
            among = np.concatenate((middle[:start], middle[i + 1 : last]))
        rows.append(rng.permutation(among)[:r])
    return np.stack(rows)


def _stages(n: int, r: int) -> Iterator[tuple[range, int, int, int, int]]:
    """Rows, the blocks first … end - 1 that they choose from, and which of the r choices, in the order of drawing."""
    if 2 * r + 5 < n:           # all r among the first blocks
        a, c = 2 * r + 5, r
    elif r + 5 < n:             # half of them there, half among the rest
        a, c = r + 5, r // 2
    else:
        a, c = n, r
    yield range(1, a), 0, a, 0, c
    if a < n:
        if c < r:
            yield range(1, a), a, n, c, r
        yield range(a, n), 0, a, 0, c
        if c < r:
            yield range(a, n), a, n, c, r


def _row(rng: np.random.RandomState, row: int, first: int, end: int, count: int) -> list[int]:
    near = {row - 1, row, row + 1, 0, end - 1} | ({end - 2} if row == 1 else set()) | ({1} if row == end - 2 else set())
    found = [int(x) for x in rng.permutation(np.arange(first, end)) if x not in near][:count]
    if len(found) < count:
        raise ValueError(f"block {row} has {len(found)} random blocks to choose from, and is to have {count}; shorten "
                         f"the text, lengthen it, or lower num_random_blocks")  # fmt: skip
    return found


@lru_cache(maxsize=64)
def _released(T: int, block: int, r: int, heads: int, seed: int) -> tuple[Pattern, Tensor | None]:
    """A layer's pattern for T tokens, and the blocks (heads, blocks, blocks) that count twice, if there are some."""
    n = -(-T // block)
    chosen = torch.zeros(heads, n, n, dtype=torch.bool)
    chosen[:, 1:-1].scatter_(2, torch.from_numpy(random_plan(T, block, r, heads, seed)), True)
    near = in_blocks(block, window(3)) | in_blocks(block, global_tokens(0, -1))
    twice = chosen & (window(3) | global_tokens(0, -1)).at(n).dense()
    return near | table(chosen, block=block), twice if bool(twice.any()) else None


class BigBirdEmbeddings(BertEmbeddings):
    """h_0 = LN(dropout(E_token + E_position + E_segment)), √H E_token if rescaled."""

    def __init__(self, config: BigBirdConfig) -> None:
        super().__init__(config)
        self.scale = math.sqrt(config.hidden_size) if config.rescale_embeddings else 1.0

    def forward(self, tokens: Tensor, position_ids: Tensor, token_type_ids: Tensor) -> Tensor:
        x = tokens * self.scale + self.segment(token_type_ids) + self.position(position_ids)
        return self.norm(self.dropout(x))


class BigBirdAttention(MultiHeadAttention):
    """Multi-head attention, in which some blocks may count twice: ln 2 on their scores."""

    def __init__(self, c: BigBirdConfig) -> None:
        H = c.hidden_size
        super().__init__(H, c.num_attention_heads, c.attention_probs_dropout_prob)
        self.query, self.key, self.value = (nn.Linear(H, H, bias=c.use_bias) for _ in range(3))
        self.block = c.block_size

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, grid: Grid, run: Run, bias: Tensor | None = None
    ) -> Tensor:  # fmt: skip
        twice = next(run.beside) if run.beside is not None else None
        if twice is None:
            return super().attend(q, k, v, grid, run, bias)
        more = math.log(2) * twice.to(q)                                                        # (N, blocks, blocks)

        def counted(q: Tensor, k: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return scaled_dot(q, k, i, j) + more[:, i[:, None] // self.block, j // self.block]

        dropout = self.dropout if self.training else 0.0
        if run.weights is None:
            return attend(q, k, v, grid, score=counted, dropout=dropout)
        out, weights = attend(q, k, v, grid, score=counted, dropout=dropout, weights=True, method="dense")
        run.weights.append(weights)  # pyright: ignore[reportArgumentType]  # dense weights are one tensor
        return out


class BigBirdLayer(EncoderLayer):
    @staticmethod
    def attend(c: Any) -> BigBirdAttention:
        return BigBirdAttention(c)


class BigBirdClassification(SequenceClassification):
    """W dropout(act(U dropout(h_1) + b)) + c: its own layer in the pooler's place; labels as there."""

    pooled = False

    def __init__(self, act: str, hidden: int, classes: int, dropout: float) -> None:
        super().__init__(hidden, classes, dropout)
        self.pooler, self.act = nn.Linear(hidden, hidden), activation(act)

    def summary(self, output: Output) -> Tensor:
        return self.act(self.pooler(self.dropout(output.last_hidden_state[:, 0])))


class BigBird(Bert):
    """BERT's encoder for long texts."""

    config: BigBirdConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
    Embeddings: ClassVar[type[Any]] = BigBirdEmbeddings
    Layer: ClassVar[type[Any]] = BigBirdLayer
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        **{name: head for name, head in Bert.heads.items()
           if name not in ("NextSentencePrediction", "QuestionAnswering")},
        "SequenceClassification": lambda model: BigBirdClassification(model.config.hidden_act, *model.classifier()),
    }  # fmt: skip

    def finish(self, head: str | None, pooler: bool | None = None) -> None:
        """Published files hold the pooler beside any head."""
        super().finish(head, True if pooler is None else pooler)

    def released(self, T: int) -> list[tuple[Pattern, Tensor | None]]:
        """Each layer's pattern, and what counts twice in it."""
        c = self.config
        if c.attention_type == "original_full" or T <= (5 + 2 * c.num_random_blocks) * c.block_size:
            return [(full(), None)] * c.num_hidden_layers
        sizes = T, c.block_size, c.num_random_blocks, c.num_attention_heads
        return [_released(*sizes, layer) for layer in range(c.num_hidden_layers)]

    def grids(
        self, queries: int, keys: int | None = None, real: Tensor | None = None,
        pattern: Pattern | Sequence[Pattern] | None = None,
    ) -> tuple[Grid, ...]:  # fmt: skip
        own = [p for p, _ in self.released(queries)] if pattern is None else pattern
        return super().grids(queries, keys, real, own)

    def walk(self, x: Tensor, grids: Sequence[Grid], run: Run) -> list[Tensor]:
        released = self.released(x.shape[1])
        if self.config.counted_twice and run.own:
            run.beside = iter([twice for _, twice in released])
        return super().walk(x, grids, run)
