"""AWD-LSTM (Merity, Keskar & Socher 2017, arXiv:1708.02182), the network of ULMFiT (Howard & Ruder 2018,
arXiv:1801.06146). Differs from a plain LSTM language model in: weights dropped from state to state, dropout that
is locked over time and drops whole words, a last layer as wide as the embeddings, whose table is the decoder's too.

Here a dropped matrix is drawn once for each call, in each layer for itself, as in the released code (fastai); so a
text that is cut into calls meets several. That code keeps the state inside the model until it is reset; here it is
carried only where it is passed: `model(next_ids, state=output.state)`, detached by the caller where gradients end.
A model for the other direction (ULMFiT averages the two) is the same network with `backward=True`, which reads texts
from right to left; there, `state` comes from the text to the right.

The classifier's order is the released one: batch norm, dropout, a linear map without bias, ReLU. It pools the real
tokens of the whole text, wherever the padding stands; the released one cuts a text into pieces (whence the pads in
front), and at plain end padding takes a pad's state for the last. QRNN layers are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..layers import CausalLM, EmbeddingDropout, Head, LockedDropout, Lstm, Output, State
from ..layers.heads import check_classes, class_loss
from ..patterns import Pattern, causal, window
from .base import Config, Model
from .inputs import check_ids, check_state, shape_of

__all__ = ["AwdLstm", "AwdLstmConfig", "LstmConfig", "LstmEmbeddings"]


@dataclass(frozen=True, kw_only=True)
class LstmConfig(Config):
    """Sizes and rates of a recurrent language model. `intermediate_size` is the layers' width, H the embeddings'."""

    hidden_size: int = 400                      # H
    intermediate_size: int = 1150
    num_hidden_layers: int = 3                  # L
    backward: bool = False                      # reads from right to left
    initializer_range: float = 0.1              # the token table begins uniform within ± this
    embedding_dropout: float = 0.05             # of words
    input_dropout: float = 0.4                  # of embedded words' features
    hidden_dropout_prob: float = 0.3            # between the layers
    output_dropout: float = 0.4                 # after the last
    weight_dropout: float = 0.5                 # of the matrices from state to state

    @property
    def widths(self) -> tuple[int, ...]:
        """Of the embeddings and each layer's output."""
        return (self.hidden_size, *(self.intermediate_size,) * self.num_hidden_layers)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("intermediate_size", "num_hidden_layers"):
            self.check(name, getattr(self, name) >= 1, "at least 1")
        for name, rate in vars(self).items():
            if "dropout" in name:
                self.check(name, 0 <= rate < 1, "0 to below 1")


@dataclass(frozen=True, kw_only=True)
class AwdLstmConfig(LstmConfig):
    """ULMFiT's sizes and its paper's rates (section 4.1); the defaults are its WikiText-103 model's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "wikitext-103": {},
        "penn-treebank": {"vocab_size": 10000},
        "fwd_wt103": {"vocab_size": 238462, "output_bias": False},      # as released with the paper
        "wt103-fwd": {"intermediate_size": 1152},                       # as released later
    }

    vocab_size: int = 60000
    pad_token_id: int | None = 1
    output_bias: bool = True                    # of the decoder
    classifier_hidden: tuple[int, ...] = (50,)
    classifier_dropout: float = 0.1             # after the first of the classifier's maps

    @property
    def widths(self) -> tuple[int, ...]:
        return (*super().widths[:-1], self.hidden_size)

    def __post_init__(self) -> None:
        super().__post_init__()
        widths: Any = self.classifier_hidden
        whole = isinstance(widths, list | tuple) and all(type(width) is int and width >= 1 for width in widths)
        self.check("classifier_hidden", whole, "whole widths of at least 1, as a tuple")
        object.__setattr__(self, "classifier_hidden", tuple(widths))


class LstmEmbeddings(nn.Module):
    """Words, some dropped wherever they stand, then features of them, the same ones at all steps (or of all texts)."""

    def __init__(self, config: LstmConfig, axis: int = 1) -> None:
        super().__init__()
        self.token = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.words, self.dropout = EmbeddingDropout(config.embedding_dropout), LockedDropout(config.input_dropout, axis)

    def forward(self, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> Tensor:
        """(B, T), or (B, T, H) of which no words are dropped -> (B, T, H)."""
        if input_ids is not None:
            inputs_embeds = self.words(self.token(input_ids), input_ids, self.token.weight)
        return self.dropout(inputs_embeds)


class NextWord(CausalLM):
    """dropout(h) E^T + c, E the token table."""

    def __init__(self, config: AwdLstmConfig, table: nn.Embedding) -> None:
        super().__init__(table, config.tie_word_embeddings, bias=config.output_bias, backward=config.backward)
        self.dropout = LockedDropout(config.output_dropout)

    def scores(self, states: Tensor) -> Tensor:
        return self.decoder(self.dropout(states))


class ConcatPooling(Head):
    """Blocks, W dropout(batch norm(x)), with ReLU between them, over h_c = [h_T, maxpool(H), meanpool(H)] (Howard &
    Ruder 2018, section 3.3).

    labels as SequenceClassification takes them.
    """

    def __init__(self, config: AwdLstmConfig) -> None:
        super().__init__()
        widths = [3 * config.hidden_size, *config.classifier_hidden, config.num_labels]
        rates = [config.output_dropout, *[config.classifier_dropout] * (len(widths) - 2)]
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.BatchNorm1d(a), nn.Dropout(rate), nn.Linear(a, b, bias=False))
            for a, b, rate in zip(widths[:-1], widths[1:], rates, strict=True)
        )

    def check(self, shape: tuple[int, int], *, labels: Tensor) -> None:
        check_classes(labels, shape[0], self.blocks[-1][-1].out_features)  # pyright: ignore

    @staticmethod
    def pool(H: Tensor, last: Tensor, real: Tensor | None) -> Tensor:
        """H (B, T, H), h_T (B, H) of the last token that was read, real (B, T) -> (B, 3 H)."""
        real = torch.ones_like(H[..., :1], dtype=torch.bool) if real is None else real[..., None]
        most = H.masked_fill(~real, -torch.inf).amax(1).masked_fill(~real.any(1), 0.0)
        mean = H.masked_fill(~real, 0.0).sum(1) / real.sum(1).clamp(min=1)
        return torch.cat([last, most, mean], dim=-1)

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, output: Output, labels: Tensor | None = None, real: Tensor | None = None
    ) -> Output:
        assert output.state is not None
        x = self.pool(output.last_hidden_state, output.state[-1][0], real)
        for i, block in enumerate(self.blocks):
            x = block(F.relu(x) if i else x)
        return replace(output, logits=x, loss=class_loss(x, labels))


class AwdLstm(Model):
    """The encoder, and the heads of its two uses: the next word, and classes of texts."""

    config: AwdLstmConfig
    has_pooler = False
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        "CausalLM": lambda model: NextWord(model.config, model.embeddings.token),
        "SequenceClassification": lambda model: ConcatPooling(model.config),
    }

    def __init__(self, config: AwdLstmConfig, head: str | None = None) -> None:
        super().__init__(config)
        self.embeddings, self.between = LstmEmbeddings(config), LockedDropout(config.hidden_dropout_prob)
        self.build(head)

    def build(self, head: str | None) -> None:
        """The layers and the head."""
        c = self.config
        self.layers = nn.ModuleList(Lstm(*pair, c.weight_dropout, c.backward) for pair in pairwise(c.widths))
        self.finish(head)

    def init_weights(self, module: nn.Module) -> None:
        """A uniform token table, no bias of a decoder; layers and maps as PyTorch draws them (released code)."""
        table = module if isinstance(module, nn.Embedding) else module.decoder if isinstance(module, CausalLM) else None
        if table is not None:
            nn.init.uniform_(table.weight, -self.config.initializer_range, self.config.initializer_range)
        if isinstance(table, nn.Linear) and table.bias is not None:
            nn.init.zeros_(table.bias)

    def pattern(self) -> Pattern:
        """What a state may depend on: itself and what was read before."""
        return ~causal() | window(1) if self.config.backward else causal()

    def encode(self, x: Tensor, state: Sequence[State] | None, real: Tensor | None) -> tuple[list[Tensor], list[State]]:
        """x (B, T, H) through the layers -> L + 1 states (B, T, width), and each layer's own to go on from."""
        states, ends = [x], []
        for i, layer in enumerate(self.layers):
            above, end = layer(self.between(states[-1]) if i else x, None if state is None else state[i], real)
            states.append(above)
            ends.append(end)
        return states, ends

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None, *, state: Sequence[State] | None = None,
        output_attentions: bool = False, **targets: Tensor | None,
    ) -> Output:  # fmt: skip
        """Token ids (B, T), or embedded tokens (B, T, H) in their place -> `Output`, with the `state` to go on from.

        attention_mask: (B, T), 1 or True at real tokens; padding, wherever it stands, is passed over and gives 0.
        state: an earlier output's, h and c (B, width) for each layer: the rows go on from there. The grids are those of
        this piece. output_attentions: of a head that pools by attention; the layers have none.
        labels: as the head takes them. Raises ValueError or TypeError before any compute.
        """
        c, shape = self.config, shape_of(input_ids, inputs_embeds, self.config.hidden_size)
        if input_ids is not None:
            check_ids("input_ids", input_ids, c.vocab_size, shape, "encode the text with the model's own vocabulary")
        check_state(state, c.widths[1:], shape[0])
        self.check_targets(shape, targets)
        real = self.real(attention_mask, shape)
        grids = self.grids(shape[1], real=real)
        if self.training and isinstance(self.head, ConcatPooling) and shape[0] == 1:
            raise ValueError("one text in training, where batch norm needs several; give at least two, or model.eval()")

        states, ends = self.encode(self.embeddings(input_ids, inputs_embeds), state, real)
        attentions = () if output_attentions else None
        output = Output(hidden_states=tuple(states), attentions=attentions, state=tuple(ends), grids=grids)
        if self.head is None:
            return output
        if self.head_name == "SequenceClassification":
            targets["real"] = real
        return self.head(output, **{name: target for name, target in targets.items() if target is not None})
