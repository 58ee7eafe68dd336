"""Longformer (Beltagy, Peters & Cohan 2020, arXiv:2004.05150). Differs from RoBERTa in: each token attends to a window
around it and to a few global tokens, which attend to all with projections of their own; 4,096 positions.

`global_attention_mask` chooses the global tokens of each text; the network has none by itself, the classifier makes the
first token one, question answering the question (section 3.1, released code). A width of w is w / 2 on each side.
Released code pads texts to whole windows and puts zeros at padding; here any length goes, and no real token sees
padding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from ..layers import Head, MultiHeadAttention, Output, Run
from ..patterns import Grid, Pattern, full, global_tokens, padding, window
from .bert import LARGE
from .inputs import check_ones, shape_of
from .roberta import Roberta, RobertaConfig
from .transformer import EncoderLayer

__all__ = ["GlobalTokens", "Longformer", "LongformerAttention", "LongformerConfig"]


@dataclass(frozen=True, kw_only=True)
class LongformerConfig(RobertaConfig):
    """Longformer's sizes; the defaults are longformer-base-4096's."""

    PUBLISHED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "longformer-base-4096": {},
        "longformer-large-4096": LARGE,
    }

    max_position_embeddings: int = 4098
    attention_window: int | Sequence[int] = 512     # of all layers, or of each, bottom to top
    sep_token_id: int = 2                           # ends the question

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.attention_window, int):
            object.__setattr__(self, "attention_window", tuple(self.attention_window))
        fits = len(self.widths) == self.num_hidden_layers and all(w >= 2 and w % 2 == 0 for w in self.widths)
        self.check("attention_window", fits, f"even widths from 2 on, one or {self.num_hidden_layers}")

    @property
    def widths(self) -> tuple[int, ...]:
        """Of each layer's window."""
        w = self.attention_window
        return (w,) * self.num_hidden_layers if isinstance(w, int) else tuple(w)


class GlobalTokens(NamedTuple):
    """Where they stand: places (B, G), of which `real` (B, G) are meant, and the grid (G, T) along which they look."""

    places: Tensor
    real: Tensor
    grid: Grid

    def put(self, whole: Tensor, rows: Tensor) -> Tensor:
        """whole (B, N, T, ·) with rows (B, N, G, ·) in their places."""
        index = self.places[:, None, :, None].expand_as(rows)
        return whole.scatter(2, index, torch.where(self.real[:, None, :, None], rows, whole.gather(2, index)))


class LongformerAttention(MultiHeadAttention):
    """Rows of the window and the global columns; then global rows from Q_g, K_g, V_g (section 3.1)."""

    def __init__(self, hidden: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__(hidden, heads, dropout)
        self.query_global, self.key_global, self.value_global = (nn.Linear(hidden, hidden) for _ in range(3))

    def forward(self, x: Tensor, grid: Grid, run: Run | None = None, memory: Tensor | None = None) -> Tensor:
        run = run or Run()
        out = self.attend(self.split(self.query(x)), *self.keys(x), grid, run)                  # (B, N, T, D)
        if run.beside is not None:
            out = run.beside.put(out, self.look(x, run.beside, run))
        return self.output(self.merge(out))

    def look(self, x: Tensor, chosen: GlobalTokens, run: Run) -> Tensor:
        """x (B, T, H) -> what the global tokens make of all of it (B, N, G, D)."""
        here = x.gather(1, chosen.places[..., None].expand(-1, -1, x.shape[-1]))                # (B, G, H)
        q, k, v = (self.split(part(y)) for part, y in
                   ((self.query_global, here), (self.key_global, x), (self.value_global, x)))  # fmt: skip
        seen = self.attend(q, k, v, chosen.grid, run)
        if run.weights is not None:
            rows = run.weights.pop()
            run.weights[-1] = chosen.put(run.weights[-1], rows)
        return seen


class LongformerLayer(EncoderLayer):
    @staticmethod
    def attend(c: Any) -> LongformerAttention:
        return LongformerAttention(c.hidden_size, c.num_attention_heads, c.attention_probs_dropout_prob)


class Longformer(Roberta):
    """RoBERTa's encoder for long texts."""

    config: LongformerConfig  # pyright: ignore[reportIncompatibleVariableOverride]  # its own class
    Layer = LongformerLayer
    heads: ClassVar[Mapping[str, Callable[[Any], Head]]] = {
        name: head for name, head in Roberta.heads.items() if name != "MultipleChoice"
    }

    def patterns(self, marked: Tensor | None) -> list[Pattern]:
        """Each layer's window, and the global tokens (B, T)."""
        made: dict[int, Pattern] = {}
        for w in self.config.widths:
            made[w] = made.get(w) or (window(w) if marked is None else window(w) | global_tokens(where=marked))
        return [made[w] for w in self.config.widths]

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]  # global tokens are given too
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None,
        global_attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None, inputs_embeds: Tensor | None = None, *,
        pattern: Pattern | Sequence[Pattern] | None = None, output_attentions: bool = False, **targets: Tensor | None,
    ) -> Output:  # fmt: skip
        """As BERT's, and global_attention_mask (B, T), 1 or True at the tokens that see all and are seen by all.

        pattern: instead of windows and global columns; the global rows are then those of global_attention_mask alone.
        """
        shape = shape_of(input_ids, inputs_embeds, self.embeddings.token.embedding_dim)
        if global_attention_mask is not None:
            marked: Tensor | None = check_ones("global_attention_mask", global_attention_mask, shape)
        else:
            marked = self.usual_globals(input_ids, shape) if pattern is None else None
        real = self.real(attention_mask, shape)
        if marked is not None and real is not None:
            marked = marked & real
        chosen = None if marked is None or not bool(marked.any()) else self.chosen(marked, real)
        own = self.patterns(marked if chosen else None) if pattern is None else pattern
        more: dict[str, Any] = {**targets, "globals": chosen}
        return super().forward(input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds, pattern=own,
                               output_attentions=output_attentions, **more)  # fmt: skip

    def told(self, given: dict[str, Any], shape: tuple[int, int], run: Run) -> tuple[Tensor, ...]:
        run.beside = given.pop("globals")
        return ()

    def usual_globals(self, input_ids: Tensor | None, shape: tuple[int, int]) -> Tensor | None:
        """(B, T): the first token for the classifier, all before the first separator for answers (without one, no
        question is known), else none.
        """
        if self.head_name == "SequenceClassification":
            return (torch.arange(shape[1], device=next(self.parameters()).device) == 0).expand(shape)
        if self.head_name != "QuestionAnswering" or input_ids is None:
            return None
        ended = (input_ids == self.config.sep_token_id).long().cumsum(1) > 0
        return ~ended & ended[:, -1:]

    def chosen(self, marked: Tensor, real: Tensor | None) -> GlobalTokens:
        """The marked places (B, T), filled up to the same number in each text."""
        most = int(marked.sum(1).max())
        places = marked.int().argsort(dim=1, descending=True, stable=True)[:, :most]
        sees = full() if real is None else full() & padding(real)
        return GlobalTokens(places, marked.gather(1, places), sees.at(most, marked.shape[1], None))
