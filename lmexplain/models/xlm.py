"""XLM (Lample & Conneau 2019, arXiv:1901.07291). Differs from BERT in: language embeddings instead of segments, no
pooler, scores straight from the states, and a causal setting.

Three objectives, one network: CLM (`causal`), MLM, and TLM, MLM on a sentence with its translation, for which
`position_ids` restart at 0 in the second and `langs` change (section 3.4). The released code puts zeros at padding
after every layer, gives padding a language too, and takes `lengths`. The transformers library leaves padding open to a
causal model's queries (with padding on the left they see it); here no real token sees padding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..layers import (
    Head,
    KeyValue,
    Output,
    Prediction,
    QuestionAnswering,
    Run,
    SequenceClassification,
    TokenClassification,
    sinusoids,
)
from ..patterns import Grid, Pattern, causal, full
from .base import AttentionConfig, Model
from .inputs import cached_length, check_ids, shape_of
from .transformer import EncoderLayer

__all__ = ["Xlm", "XlmConfig", "XlmEmbeddings"]

_PAIR = {"hidden_size": 1024, "num_hidden_layers": 6, "num_attention_heads": 8, "n_langs": 2}
_XNLI = {**_PAIR, "vocab_size": 95000, "num_hidden_layers": 12, "n_langs": 15}
_MANY = {"vocab_size": 200000, "hidden_size": 1280, "num_hidden_layers": 16, "use_lang_emb": False}


@dataclass(frozen=True, kw_only=True)
class XlmConfig(AttentionConfig):
    """XLM's sizes; the defaults are xlm-mlm-en-2048's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "xlm-mlm-tlm-xnli15-1024": _XNLI,
        "xlm-mlm-xnli15-1024": _XNLI,
        "xlm-mlm-en-2048": {},
        **{f"xlm-{kind}-ende-1024": {**_PAIR, "vocab_size": 64699} for kind in ("clm", "mlm")},
        **{f"xlm-{kind}-enfr-1024": {**_PAIR, "vocab_size": 64139} for kind in ("clm", "mlm")},
        "xlm-mlm-enro-1024": {**_PAIR, "vocab_size": 64592},
        "xlm-mlm-17-1280": {**_MANY, "n_langs": 17},
        "xlm-mlm-100-1280": {**_MANY, "n_langs": 100},
    }

    vocab_size: int = 30145
    hidden_size: int = 2048
    num_attention_heads: int = 16
    intermediate_size: int = 0                  # 0: 4 H, as always when released
    pad_token_id: int | None = 2
    classifier_dropout: float | None = 0.1
    n_langs: int = 1
    use_lang_emb: bool = True                   # where there are several
    sinusoidal_embeddings: bool = False
    causal: bool = False
    embed_init_std: float = 2048**-0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "intermediate_size", self.intermediate_size or 4 * self.hidden_size)
        super().__post_init__()
        self.check("n_langs", self.n_langs >= 1, "at least 1")


class XlmEmbeddings(nn.Module):
    """h_0 = dropout(LN(E_token + E_position + E_language)) (figure 1)."""

    def __init__(self, config: XlmConfig) -> None:
        super().__init__()
        H = config.hidden_size
        self.token = nn.Embedding(config.vocab_size, H, padding_idx=config.pad_token_id)
        self.position = nn.Embedding(config.max_position_embeddings, H)
        self.language = nn.Embedding(config.n_langs, H) if config.use_lang_emb and config.n_langs > 1 else None
        self.norm, self.dropout = nn.LayerNorm(H, config.layer_norm_eps), nn.Dropout(config.hidden_dropout_prob)

    def forward(self, tokens: Tensor, position_ids: Tensor, langs: Tensor | None) -> Tensor:
        """Embedded tokens (B, T, H), places and languages (B, T) -> (B, T, H)."""
        x = tokens + self.position(position_ids)
        if langs is not None and self.language is not None:
            x = x + self.language(langs)
        return self.dropout(self.norm(x))


class FirstState(SequenceClassification):
    """W h_1 + b: the first token's state itself, with no pooler."""

    pooled = False

    def summary(self, output: Output) -> Tensor:
        return output.last_hidden_state[:, 0]


class Xlm(Model):
    """The encoder, one head for all objectives (labels stand where they are predicted), and those of fine-tuning."""

    config: XlmConfig
    Layer: ClassVar[type[Any]] = EncoderLayer
    has_pooler = False
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        "MaskedLM": lambda xlm: Prediction(xlm.embeddings.token, tied=xlm.config.tie_word_embeddings),
        "SequenceClassification": lambda xlm: FirstState(*xlm.classifier()),
        "TokenClassification": lambda xlm: TokenClassification(
            xlm.config.hidden_size, xlm.config.num_labels, xlm.config.hidden_dropout_prob),
        "QuestionAnsweringSimple": lambda xlm: QuestionAnswering(xlm.config.hidden_size),
    }

    def __init__(self, config: XlmConfig, head: str | None = None) -> None:
        super().__init__(config)
        self.embeddings = XlmEmbeddings(config)
        self.layers = nn.ModuleList(self.Layer(config) for _ in range(config.num_hidden_layers))
        self.finish(head)

    def init_weights(self, module: nn.Module) -> None:
        super().init_weights(module)
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=self.config.embed_init_std)
            if module.padding_idx is not None:
                nn.init.zeros_(module.weight[module.padding_idx])
        if module is self.embeddings and self.config.sinusoidal_embeddings:
            table = sinusoids(self.config.max_position_embeddings, self.config.hidden_size)
            self.embeddings.position.weight = nn.Parameter(table, requires_grad=False)

    def pattern(self) -> Pattern:
        return causal() if self.config.causal else full()

    def walk(self, x: Tensor, grids: Sequence[Grid], run: Run, real: Tensor | None = None) -> list[Tensor]:
        """x (B, T, H) through the layers, zeros at padding after each of them -> L + 1 states."""
        kept = None if real is None else real[:, -x.shape[1] :, None]
        states = [x if kept is None else x * kept]
        for layer, grid in zip(self.layers, grids, strict=True):
            x = layer(states[-1], grid, run)
            states.append(x if kept is None else x * kept)
        return states

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, langs: Tensor | None = None,
        token_type_ids: Tensor | None = None, position_ids: Tensor | None = None, lengths: Tensor | None = None,
        inputs_embeds: Tensor | None = None, *, past_key_values: Sequence[KeyValue] | None = None,
        use_cache: bool = False, pattern: Pattern | Sequence[Pattern] | None = None,
        output_attentions: bool = False, **targets: Tensor | None,
    ) -> Output:  # fmt: skip
        """Token ids (B, T), or embedded tokens (B, T, H) in their place -> `Output`.

        attention_mask: (B, past + T), 1 or True at real tokens; or lengths: (B,) of padding on the right. With neither
        the padding token is padding. langs: (B, T) languages, none where not given. token_type_ids: (B, T) of *tokens*,
        whose embeddings are added (the transformers library). position_ids: (B, T), which count on from the past.
        past_key_values: of a causal model's beginning, as a pass with `use_cache` left it.
        labels and other targets: as the head takes them. Raises ValueError or TypeError before any compute.
        """
        c, shape = self.config, shape_of(input_ids, inputs_embeds, self.config.hidden_size)
        B, T = shape
        past = cached_length(past_key_values, c.num_hidden_layers, B, c.num_attention_heads, c.hidden_size)
        if (past or use_cache) and not c.causal:
            raise ValueError("a cache needs causal=True: without it the earlier tokens attend to the later ones")
        own = "encode the text with the model's own vocabulary"
        if input_ids is not None:
            check_ids("input_ids", input_ids, c.vocab_size, shape, own)
        if token_type_ids is not None:
            check_ids("token_type_ids", token_type_ids, c.vocab_size, shape, own)
        if langs is not None:
            check_ids("langs", langs, c.n_langs, shape, "number the languages from 0, as the model's lang2id does")
        device = self.embeddings.position.weight.device
        places = torch.arange(past, past + T, device=device)[None] if position_ids is None else position_ids
        check_ids("position_ids", places, c.max_position_embeddings, shape,
                  "the position table ends there: shorten the input")  # fmt: skip
        self.check_targets(shape, targets)
        real = self.real(self.mask(input_ids, attention_mask, lengths, B, past + T), (B, past + T))
        grids = self.grids(T, past + T, real, pattern)

        tokens = self.embeddings.token(input_ids) if inputs_embeds is None else inputs_embeds    # (B, T, H)
        if token_type_ids is not None:
            tokens = tokens + self.embeddings.token(token_type_ids)
        run = Run(past_key_values, use_cache, output_attentions)
        states = self.walk(self.embeddings(tokens, places, langs), grids, run, real)
        return self.answer(states, grids, run, **targets)

    def mask(self, ids: Tensor | None, mask: Tensor | None, lengths: Tensor | None, B: int, S: int) -> Tensor | None:
        """The attention mask (B, S), from whichever of the three tells of padding."""
        if mask is not None and lengths is not None:
            raise ValueError("attention_mask and lengths both given; give one of them")
        if lengths is not None:
            check_ids("lengths", lengths, S + 1, (B,), "a length counts the real tokens of a row")
            return (torch.arange(S, device=lengths.device) < lengths[:, None]).expand(B, S)
        if mask is None and ids is not None and ids.shape[1] == S and self.config.pad_token_id is not None:
            return ids != self.config.pad_token_id
        return mask
