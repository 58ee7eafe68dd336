"""Transformer-XL (Dai, Yang, Yang, Carbonell, Le & Salakhutdinov 2019, arXiv:1901.02860). Differs from the causal
Transformer in: keys and values also come from the states of the segment before, kept without their gradient, and
attention scores depend on how far two tokens are apart, not on where they stand.

The softmax and the token table are adaptive (`layers/adaptive.py`). As released: u and v are each
layer's own, sines stand before cosines, distances end at `clamp_len`. The first port of the code begins with a memory
of zeros, which takes part in the attention; here a text begins without one, and those who want the zeros pass them.
Labels are not shifted: a segment's last state predicts the first token of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..layers import (
    AdaptiveEmbeddings,
    AdaptiveSoftmax,
    FeedForward,
    Head,
    KeyValuePlace,
    Output,
    RelativeAttention,
    Run,
    distances,
    sinusoids,
)
from ..patterns import Grid, Pattern, causal, window
from .base import AttentionConfig, Model
from .inputs import check_ids, check_mems, shape_of
from .transformer import EncoderLayer

__all__ = ["RelativeConfig", "RelativeLayer", "TransformerXl", "TransformerXlConfig"]


@dataclass(frozen=True, kw_only=True)
class RelativeConfig(AttentionConfig):
    """What the models with relative positions and a memory share."""

    max_position_embeddings: int = 2**31 - 1    # nothing is looked up: there is no end
    mem_len: int | None = None                  # states that are kept for the next segment; None: all
    clamp_len: int = -1                         # distances beyond it are all alike; below 1: none
    same_length: bool = False                   # each query sees mem_len keys, itself included

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("mem_len", self.mem_len is None or self.mem_len >= 0, "at least 0, or None to keep all")
        self.check("same_length", not self.same_length or bool(self.mem_len), "False where mem_len gives no length")
        self.check("hidden_size", self.hidden_size % 2 == 0, "even: a sine and a cosine for each frequency")


@dataclass(frozen=True, kw_only=True)
class TransformerXlConfig(RelativeConfig):
    """Transformer-XL's sizes on WikiText-103 (table 1); the defaults are transfo-xl-wt103's, the large one."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "transfo-xl-wt103": {},
        "transformer-xl-wt103-base": {
            "hidden_size": 410, "num_hidden_layers": 16, "num_attention_heads": 10, "intermediate_size": 2100,
            "mem_len": 640, "clamp_len": -1, "same_length": False, "div_val": 1,
        },
    }  # fmt: skip

    vocab_size: int = 267735
    hidden_size: int = 1024
    num_hidden_layers: int = 18
    num_attention_heads: int = 16
    intermediate_size: int = 4096
    hidden_act: str = "relu"
    attention_probs_dropout_prob: float = 0.0
    layer_norm_eps: float = 1e-5
    pad_token_id: int | None = None
    mem_len: int | None = 1600
    clamp_len: int = 1000
    same_length: bool = True
    cutoffs: Sequence[int] = (20000, 40000, 200000)     # where the clusters of rarer words begin
    div_val: int = 4                                    # each cluster's embeddings are narrower by this factor

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cutoffs", tuple(self.cutoffs))
        ends = (0, *self.cutoffs, self.vocab_size)
        self.check("cutoffs", all(a < b for a, b in zip(ends, ends[1:], strict=False)), f"rising, between 0 and the "
                   f"{self.vocab_size} tokens")  # fmt: skip
        self.check("div_val", self.div_val >= 1 and self.hidden_size >= self.div_val ** len(self.cutoffs),
                   "at least 1, and leave each cluster a width")  # fmt: skip

    @property
    def clusters(self) -> tuple[tuple[int, int], ...]:
        """First token and end of each."""
        return tuple(zip((0, *self.cutoffs), (*self.cutoffs, self.vocab_size), strict=True))


class RelativeLayer(EncoderLayer):
    """The Transformer's layer over the segment and its memory, dropout also inside the feed-forward (released code)."""

    Attention: ClassVar[type[RelativeAttention]] = RelativeAttention

    def __init__(self, c: AttentionConfig) -> None:
        super().__init__(c)
        inner = FeedForward(c.hidden_size, c.intermediate_size, c.hidden_act, c.hidden_dropout_prob)
        self.feed_forward = self.block(c, inner)

    @classmethod
    def attend(cls, c: AttentionConfig) -> RelativeAttention:  # pyright: ignore[reportIncompatibleMethodOverride]
        return cls.Attention(c.hidden_size, c.num_attention_heads, c.attention_probs_dropout_prob)

    def read(self, x: Tensor, places: Tensor, memory: Tensor | None) -> KeyValuePlace:
        """What the layer attends to: h̃ = [SG(memory) ∘ x]."""
        attention: Any = self.attention.sublayer
        return attention.read(x if memory is None else torch.cat([memory, x], dim=1), places)

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, x: Tensor, grid: Grid, run: Run, read: KeyValuePlace, **more: Any
    ) -> Tensor:
        return self.feed_forward(self.attention(x, grid, run, read, **more))


class TransformerXl(Model):
    """The decoder with a memory. `mems` of one pass, L tensors (M, B, H), go into the next; else nothing is carried."""

    config: TransformerXlConfig
    Layer: ClassVar[type[RelativeLayer]] = RelativeLayer
    has_pooler = False
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        "CausalLM": lambda xl: AdaptiveSoftmax(xl.embeddings, xl.config.div_val, xl.config.tie_word_embeddings),
    }

    def __init__(self, config: TransformerXlConfig, head: str | None = None) -> None:
        super().__init__(config)
        c = config
        self.embeddings = AdaptiveEmbeddings(c.clusters, c.hidden_size, c.div_val, c.hidden_dropout_prob)
        self.build(head)

    def build(self, head: str | None) -> None:
        """The layers and the head."""
        self.layers = nn.ModuleList(self.Layer(self.config) for _ in range(self.config.num_hidden_layers))
        self.dropout = nn.Dropout(self.config.hidden_dropout_prob)
        self.finish(head)

    def init_weights(self, module: nn.Module) -> None:
        super().init_weights(module)
        if not isinstance(module, nn.Linear | nn.Embedding | nn.LayerNorm):
            for own in module.parameters(recurse=False):                # u and v
                nn.init.normal_(own, std=self.config.initializer_range)

    def pattern(self) -> Pattern:
        """No position looks ahead; with `same_length` none further back than mem_len - 1 either."""
        c = self.config
        return causal() & window(2 * (c.mem_len or 1) - 1) if c.same_length else causal()

    def places(self, T: int, S: int) -> Tensor:
        """(1, T + S, H): the sinusoids of the distances that `by_key` wants."""
        c, far, weight = self.config, distances(T, S, S - T), next(self.layers.parameters())
        table = sinusoids(T + S, c.hidden_size, int(far[-1]), halves=True, dtype=weight.dtype).flip(0)  # of far itself
        if c.clamp_len > 0:
            table = table[int(far[0]) - far.clamp(-c.clamp_len, c.clamp_len)]
        return self.dropout(table.to(weight.device))[None]

    def remember(self, states: Sequence[Tensor], mems: Sequence[Tensor] | None) -> tuple[Tensor, ...] | None:
        """The inputs (B, T, H) of each layer behind what was kept, of them the last mem_len: time first, detached."""
        if self.config.mem_len == 0:
            return None
        new = [x.transpose(0, 1) for x in states[:-1]]
        kept = new if mems is None else [torch.cat(pair) for pair in zip(mems, new, strict=True)]
        return tuple((x if self.config.mem_len is None else x[-self.config.mem_len :]).detach() for x in kept)

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None,
        mems: Sequence[Tensor] | None = None, inputs_embeds: Tensor | None = None, *,
        pattern: Pattern | Sequence[Pattern] | None = None, output_attentions: bool = False, **targets: Tensor | None,
    ) -> Output:  # fmt: skip
        """Token ids (B, T), or embedded tokens (B, T, H) in their place -> `Output` with `mems` to go on from.

        attention_mask: (B, T), or (B, M + T) with the memory's before it; 1 or True at real tokens.
        mems: an earlier output's, L tensors (M, B, H); its texts go on row by row.
        pattern: who may attend to whom, over M + T keys. Raises ValueError or TypeError before any compute.
        """
        c = self.config
        B, T = shape = shape_of(input_ids, inputs_embeds, c.hidden_size)
        if input_ids is not None:
            check_ids("input_ids", input_ids, c.vocab_size, shape, "encode the text with the model's own vocabulary")
        M = check_mems(mems, c.num_hidden_layers, B, c.hidden_size)
        self.check_targets(shape, targets)
        grids = self.grids(T, M + T, self.real_behind(attention_mask, B, M, T), pattern)

        x = self.embeddings(input_ids) if inputs_embeds is None else inputs_embeds              # (B, T, H)
        places, run, states = self.places(T, M + T), Run(weights=output_attentions), [x]
        layers: Sequence[Any] = self.stack()
        for i, (layer, grid) in enumerate(zip(layers, grids, strict=True)):
            memory = mems[i].detach().transpose(0, 1) if mems is not None and M else None
            states.append(layer(states[-1], grid, run, layer.read(states[-1], places, memory)))
        run.made["mems"] = self.remember(states, mems if M else None)
        states[-1] = self.dropout(states[-1])
        return self.answer(states, grids, run, **targets)

    def real_behind(self, attention_mask: Tensor | None, B: int, M: int, T: int) -> Tensor | None:
        """A mask of the segment, or of all keys, as (B, M + T) bool; what is remembered counts as real."""
        if attention_mask is not None and M and attention_mask.shape == (B, T):
            attention_mask = torch.cat([attention_mask.new_ones(B, M), attention_mask], dim=1)
        return self.real(attention_mask, (B, M + T))
