"""The Transformer (Vaswani et al. 2017, arXiv:1706.03762). Differs from the recurrent encoder-decoders before it in:
attention alone relates positions, and sinusoids tell them apart.

The paper is silent on ε, on the first weights (drawn here as in tensor2tensor) and on the decoder's first input (there
a row of zeros: the padding token). tensor2tensor departs from it: no biases in attention, sinusoids in halves (all
sines, then all cosines) whose frequencies end at 1/10000 itself, and in later defaults the norm before the sublayer.
`sinusoid_halves` and `output_bias` are those of Marian, whose published translation models are this network. The bias
is trained, as there; the transformers library leaves it as it was loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..layers import FeedForward, Head, KeyValue, MultiHeadAttention, Output, PostNormBlock, Prediction, Run, sinusoids
from ..patterns import Grid, Pattern, causal, full
from .base import AttentionConfig, Model, layered
from .inputs import cached_length, check_ids, shape_of

__all__ = ["DecoderLayer", "EncoderLayer", "Transformer", "TransformerConfig", "TransformerEmbeddings"]

Patterns = Pattern | Sequence[Pattern] | None
_BIG = {"hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096, "hidden_dropout_prob": 0.3}


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(AttentionConfig):
    """The Transformer's sizes; the defaults are those of the paper's base model (table 3)."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"transformer-base": {}, "transformer-big": _BIG}

    vocab_size: int = 37000                     # of both languages
    hidden_size: int = 512
    num_hidden_layers: int = 6                  # L of the encoder, and L of the decoder
    num_attention_heads: int = 8
    intermediate_size: int = 2048
    hidden_act: str = "relu"
    attention_probs_dropout_prob: float = 0.0
    layer_norm_eps: float = 1e-5
    pad_token_id: int = 0
    decoder_start_token_id: int = 0
    label_smoothing: float = 0.1                # in training (section 5.4)
    sinusoid_halves: bool = False
    output_bias: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check("decoder_start_token_id", 0 <= self.decoder_start_token_id < self.vocab_size,
                   f"one of the {self.vocab_size} tokens")  # fmt: skip
        self.check("label_smoothing", 0 <= self.label_smoothing < 1, "0 to below 1")
        self.check("hidden_size", self.hidden_size % 2 == 0, "even: a sine and a cosine for each frequency")


class TransformerEmbeddings(nn.Module):
    """h_0 = dropout(√H E_token + PE) (sections 3.4, 3.5, 5.4): one table for both languages, and for the scores."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.token = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.dropout, self.halves = nn.Dropout(config.hidden_dropout_prob), config.sinusoid_halves

    def forward(self, tokens: Tensor, start: int = 0) -> Tensor:
        """Embedded tokens (B, T, H), the first of them at position `start` -> (B, T, H)."""
        T, H = tokens.shape[1:]
        return self.dropout(tokens * math.sqrt(H) + sinusoids(T, H, start, self.halves).to(tokens))


class EncoderLayer(nn.Module):
    """h ← LN(h + attention(h)), h ← LN(h + FFN(h)) (section 3.1)."""

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        self.attention = self.block(config, self.attend(config))
        self.feed_forward = self.block(
            config, FeedForward(config.hidden_size, config.intermediate_size, config.hidden_act)
        )

    @staticmethod
    def attend(c: AttentionConfig) -> MultiHeadAttention:
        return MultiHeadAttention(c.hidden_size, c.num_attention_heads, c.attention_probs_dropout_prob)

    @staticmethod
    def block(c: AttentionConfig, sublayer: nn.Module) -> PostNormBlock:
        return PostNormBlock(sublayer, nn.LayerNorm(c.hidden_size, c.layer_norm_eps), c.hidden_dropout_prob)

    def forward(self, x: Tensor, grid: Grid, run: Run) -> Tensor:
        return self.feed_forward(self.attention(x, grid, run))


class DecoderLayer(EncoderLayer):
    """Between the two: h ← LN(h + attention(h, encoder)), its keys and values from the encoder's last layer."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.cross = self.block(config, self.attend(config))

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # a decoder's layer reads the encoder too
        self, x: Tensor, grid: Grid, run: Run, cross: Grid, memory: Tensor
    ) -> Tensor:
        return self.feed_forward(self.cross(self.attention(x, grid, run), cross, run, memory=memory))


class Transformer(Model):
    """Encoder and decoder. `layers`, states and attentions are the decoder's; the encoder has an output of its own."""

    config: TransformerConfig
    has_pooler = False
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {"ConditionalGeneration": lambda model: model.prediction()}

    def __init__(self, config: TransformerConfig, head: str | None = None) -> None:
        super().__init__(config)
        L = range(config.num_hidden_layers)
        self.embeddings = TransformerEmbeddings(config)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in L)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in L)
        self.finish(head)

    def prediction(self) -> Prediction:
        c = self.config
        return Prediction(self.embeddings.token, c.output_bias, c.tie_word_embeddings, c.label_smoothing)

    def init_weights(self, module: nn.Module) -> None:
        """Glorot's uniform weights; a table of variance 1/H, which √H scales to 1 (tensor2tensor)."""
        super().init_weights(module)
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
            nn.init.zeros_(module.weight[self.config.pad_token_id])

    def pattern(self) -> Pattern:
        """Of the decoder: no position looks ahead (section 3.2.3)."""
        return causal()

    def shifted(self, labels: Tensor) -> Tensor:
        """Decoder inputs (B, T) for labels (B, T): the start token, then all but the last; padding for -100."""
        start = labels.new_full((len(labels), 1), self.config.decoder_start_token_id)
        known = labels.masked_fill(labels == -100, self.config.pad_token_id)
        return torch.cat([start, known[:, :-1]], dim=1)

    def encode(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None, *, pattern: Patterns = None, output_attentions: bool = False,
    ) -> Output:  # fmt: skip
        """The encoder's pass over token ids (B, S), or embedded tokens (B, S, H) in their place."""
        shape = self.shape(input_ids, inputs_embeds)
        real = self.real(attention_mask, shape)
        grids = self.grids(shape[1], real=real, pattern=full() if pattern is None else pattern)
        run = Run(weights=output_attentions)
        states = [self.embeddings(self.embeddings.token(input_ids) if inputs_embeds is None else inputs_embeds)]
        for layer, grid in zip(self.encoder, grids, strict=True):
            states.append(layer(states[-1], grid, run))
        weights = None if run.weights is None else tuple(run.weights)
        return Output(hidden_states=tuple(states), attentions=weights, grids=grids)

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None, decoder_attention_mask: Tensor | None = None,
        encoder_outputs: Output | None = None, past_key_values: Sequence[KeyValue] | None = None,
        inputs_embeds: Tensor | None = None, decoder_inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None, use_cache: bool = False, *, pattern: Patterns = None,
        decoder_pattern: Patterns = None, cross_pattern: Patterns = None, output_attentions: bool = False,
    ) -> Output:  # fmt: skip
        """Source ids (B, S), or what `encode` made of them, and target ids (B, T) -> `Output` of the decoder.

        Without target ids they are `shifted` labels (B, T). Embedded tokens stand for ids before they are scaled.
        attention_mask (B, S), decoder_attention_mask (B, past + T): 1 or True at real tokens.
        past_key_values: of the target's beginning, as a pass with `use_cache` left it; its ids are then left out, the
        source stays. Each attention has its own, self and cross in turn.
        pattern, decoder_pattern, cross_pattern: who may attend to whom, instead of full, causal and full.
        Raises ValueError or TypeError before any compute.
        """
        c = self.config
        if decoder_input_ids is None and decoder_inputs_embeds is None and labels is not None:
            self.check_targets(shape_of(labels, None, c.hidden_size, "labels as decoder_"), {"labels": labels})
            decoder_input_ids = self.shifted(labels)
        B, T = self.shape(decoder_input_ids, decoder_inputs_embeds, "decoder_")
        sizes, cache = (c.num_hidden_layers, B, c.num_attention_heads, c.hidden_size), past_key_values or ()
        past, kept = (cached_length(part, *sizes) for part in (cache[::2], cache[1::2]))
        real = self.real(decoder_attention_mask, (B, past + T))
        grids = self.grids(T, past + T, real, decoder_pattern)
        self.check_targets((B, T), {"labels": labels})
        n, S = encoder_outputs.last_hidden_state.shape[:2] if encoder_outputs else self.shape(input_ids, inputs_embeds)
        if n != B:
            raise ValueError(f"{n} sources for {B} targets; give one for each")
        if cache and kept != S:
            raise ValueError(f"past_key_values hold {kept} source tokens, the source {S}; give the same source")
        across = full() if cross_pattern is None else cross_pattern
        crosses = layered(across, c.num_hidden_layers, T, S, self.real(attention_mask, (B, S)), start=None)
        encoder = encoder_outputs or self.encode(
            input_ids, attention_mask, inputs_embeds, pattern=pattern, output_attentions=output_attentions
        )
        memory = encoder.last_hidden_state                                                       # (B, S, H)

        tokens = self.embeddings.token(decoder_input_ids) if decoder_inputs_embeds is None else decoder_inputs_embeds
        run, states = Run(past_key_values, use_cache, output_attentions), [self.embeddings(tokens, past)]
        for layer, grid, cross in zip(self.layers, grids, crosses, strict=True):
            states.append(layer(states[-1], grid, run, cross, memory))
        output = replace(self.answer(states, grids, run, labels=labels), cross_grids=crosses, encoder=encoder)
        weights = output.attentions                                                   # self and cross in turn
        return output if weights is None else replace(output, attentions=weights[::2], cross_attentions=weights[1::2])

    def shape(self, ids: Tensor | None, embeds: Tensor | None, before: str = "") -> tuple[int, int]:
        """(B, T) of checked ids or embedded tokens; `before`: their name."""
        c, shape = self.config, shape_of(ids, embeds, self.config.hidden_size, before)
        if ids is not None:
            check_ids(f"{before}input_ids", ids, c.vocab_size, shape, "encode the text with the model's own vocabulary")
        return shape
