"""GPT (Radford, Narasimhan, Salimans & Sutskever 2018, OpenAI report). Differs from the Transformer's decoder
(Vaswani et al. 2017) in: no encoder and no attention to one, learned positions, GELU, a next-token objective.

Post-norm still, without a last norm. The released GELU is its tanh form, under the name "gelu". Unlike the released
code, this one can go on from cached keys and values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..layers import (
    CausalLM,
    FeedForward,
    Head,
    KeyValue,
    LastTokenClassification,
    MultiHeadAttention,
    Output,
    PostNormBlock,
    Run,
)
from ..patterns import Grid, Pattern, causal
from .base import AttentionConfig, Model
from .inputs import cached_length, check_ids, shape_of

__all__ = ["Gpt", "GptConfig", "GptEmbeddings", "GptLayer"]


@dataclass(frozen=True, kw_only=True)
class GptConfig(AttentionConfig):
    """GPT's sizes; the defaults are openai-gpt's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"openai-gpt": {}}
    ACTIVATIONS: ClassVar[Mapping[str, str]] = {"gelu": "gelu_new", "relu": "relu", "silu": "silu", "swish": "swish"}
    """What the names in published configurations stand for."""

    vocab_size: int = 40478
    intermediate_size: int = 0                  # 0 (or None): 4 H
    layer_norm_eps: float = 1e-5
    embd_pdrop: float = 0.1                     # dropout of the embeddings
    pad_token_id: int | None = None

    def __post_init__(self) -> None:
        if not self.intermediate_size:
            object.__setattr__(self, "intermediate_size", 4 * self.hidden_size)
        super().__post_init__()
        self.check("embd_pdrop", 0 <= self.embd_pdrop < 1, "0 to below 1")
        self.check("hidden_act", self.hidden_act in self.ACTIVATIONS, f"one of {', '.join(self.ACTIVATIONS)}")


class GptEmbeddings(nn.Module):
    """h_0 = dropout(U W_e + W_p) (eq. 2)."""

    def __init__(self, config: GptConfig) -> None:
        super().__init__()
        self.token = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.dropout = nn.Dropout(config.embd_pdrop)

    def forward(self, tokens: Tensor, position_ids: Tensor) -> Tensor:
        """Embedded tokens (B, T, H), places (B, T) -> (B, T, H)."""
        return self.dropout(tokens + self.position(position_ids))


class GptLayer(nn.Module):
    """h_l = block(h_{l-1}) (eq. 2): masked attention, then the feed-forward sublayer, each in a block with its norm."""

    Block: ClassVar[type[nn.Module]] = PostNormBlock

    def __init__(self, config: GptConfig) -> None:
        super().__init__()
        H, p = config.hidden_size, config.hidden_dropout_prob
        attention = MultiHeadAttention(H, config.num_attention_heads, config.attention_probs_dropout_prob)
        feed_forward = FeedForward(H, config.intermediate_size, config.ACTIVATIONS[config.hidden_act])
        self.attention = self.Block(attention, nn.LayerNorm(H, config.layer_norm_eps), p)
        self.feed_forward = self.Block(feed_forward, nn.LayerNorm(H, config.layer_norm_eps), p)

    def forward(self, x: Tensor, grid: Grid, run: Run) -> Tensor:
        return self.feed_forward(self.attention(x, grid, run))


class Gpt(Model):
    """The decoder, and the heads of its objective, P(u) = softmax(h_L W_e^T) (eq. 2), and of fine-tuning (eq. 3)."""

    config: GptConfig
    Layer: ClassVar[type[Any]] = GptLayer
    has_pooler = False
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        "CausalLM": lambda gpt: CausalLM(gpt.embeddings.token, gpt.config.tie_word_embeddings),
        "SequenceClassification": lambda gpt: LastTokenClassification(gpt.config.hidden_size, gpt.config.num_labels),
    }

    def __init__(self, config: GptConfig, head: str | None = None) -> None:
        super().__init__(config)
        self.embeddings = GptEmbeddings(config)
        self.layers = nn.ModuleList(self.Layer(config) for _ in range(config.num_hidden_layers))
        self.finish(head)

    def pattern(self) -> Pattern:
        """Each token attends to itself and those before it (eq. 1)."""
        return causal()

    def last_token(
        self, input_ids: Tensor | None, attention_mask: Tensor | None, real: Tensor | None, shape: tuple[int, int]
    ) -> Tensor:  # fmt: skip
        """(B,): the place of each sentence's last real token, by the mask, or without one by `pad_token_id`.

        The transformers library looks at `pad_token_id` alone, and takes an end token of that id for padding.
        """
        (B, T), pad = shape, self.config.pad_token_id
        if attention_mask is None and pad is None and B > 1:
            raise ValueError(f"{B} sentences, and nothing says where each ends; give attention_mask, or a pad_token_id")
        if attention_mask is None and pad is not None and input_ids is not None:
            real = input_ids != pad
        places = torch.arange(T, device=self.embeddings.position.weight.device)
        return (places.expand(B, T) if real is None else places * real[:, -T:]).argmax(1)

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None, position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None, *, past_key_values: Sequence[KeyValue] | None = None,
        use_cache: bool = False, pattern: Pattern | Sequence[Pattern] | None = None,
        output_attentions: bool = False, **targets: Tensor | None,
    ) -> Output:  # fmt: skip
        """Token ids (B, T), or embedded tokens (B, T, H) in their place -> `Output`.

        past_key_values: an earlier output's, made with `use_cache=True`: the tokens go on from there.
        attention_mask: (B, past + T), 1 or True at real tokens, the cached ones too.
        token_type_ids: (B, T), tokens whose embeddings are added (the transformers library's; the paper has none).
        position_ids: (B, T); where not given, they count on from the cached ones, padding included. For padding on
            the left `lmexplain.models.positions(attention_mask)` counts real tokens alone.
        pattern: who may attend to whom, for all layers or one for each, instead of the model's own.
        labels: as the head takes them. Raises ValueError or TypeError before any compute.
        """
        c, shape = self.config, shape_of(input_ids, inputs_embeds, self.config.hidden_size)
        B, T = shape
        S = T + cached_length(past_key_values, c.num_hidden_layers, B, c.num_attention_heads, c.hidden_size)
        device = self.embeddings.position.weight.device
        for name, ids in (("input_ids", input_ids), ("token_type_ids", token_type_ids)):
            if ids is not None:
                check_ids(name, ids, c.vocab_size, shape, "encode the text with the model's own vocabulary")
        at = torch.arange(S - T, S, device=device)[None] if position_ids is None else position_ids
        check_ids("position_ids", at, c.max_position_embeddings, shape,
                  "the position table ends there: shorten the input")  # fmt: skip
        self.check_targets(shape, targets)
        real = self.real(attention_mask, (B, S))
        if self.head_name == "SequenceClassification":
            targets["last"] = self.last_token(input_ids, attention_mask, real, shape)
        grids = self.grids(T, S, real, pattern)

        tokens = self.embeddings.token(input_ids) if inputs_embeds is None else inputs_embeds    # (B, T, H)
        if token_type_ids is not None:
            tokens = tokens + self.embeddings.token(token_type_ids)
        run = Run(past_key_values, keep=use_cache, weights=output_attentions)
        states = self.walk(self.embeddings(tokens, at), grids, run)
        return self.answer(states, grids, run, **targets)
