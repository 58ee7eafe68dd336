"""What a model gives back."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from torch import Tensor

from ..patterns import Grid
from .lstm import State

__all__ = ["Output"]


@dataclass(frozen=True)
class Output:
    """One forward pass. What a model or its head does not make is None.

    Names and shapes are the transformers library's, so that its tools fit: `output.logits`, `output["logits"]` and
    `output[0]` (the first that is there: the loss, if there are labels) work alike.
    """

    loss: Tensor | None = None
    """Mean over the targets, a scalar."""
    logits: Tensor | None = None
    """Scores of the head: (B, T, V) of a language model, (B, classes), (B, choices), (B, T, classes)."""
    seq_relationship_logits: Tensor | None = None
    """(B, 2): is the second segment the next one (class 0)?"""
    start_logits: Tensor | None = None
    end_logits: Tensor | None = None
    """(B, T) each: where the answer starts and ends."""
    lm_logits: Tensor | None = None
    """(B, T, V): scores of a language model beside the task's own."""
    boundary_logits: Tensor | None = None
    """(B, P, M, V): SpanBERT's scores for the M tokens after the left end of each of P pairs of boundaries."""
    hidden_states: tuple[Tensor, ...] = ()
    """L + 1 tensors (B, T, H): the embeddings, then each layer's output, each of its own width in a recurrent model."""
    pooler_output: Tensor | None = None
    """(B, H): the first token's last state through the pooler."""
    attentions: tuple[Tensor, ...] | None = None
    """L tensors (B, N, T, S): the weights that multiplied the values; on request."""
    past_key_values: tuple[tuple[Tensor, Tensor], ...] | None = None
    """Keys and values (B, N, S, D) of each attention, to go on from; on request."""
    state: tuple[State, ...] | None = None
    """h and c (B, H) of each layer of a recurrent model after the last token that it read, to go on from."""
    query_states: tuple[Tensor, ...] | None = None
    """L + 1 tensors (B, P, H) of XLNet's query stream, for P targets."""
    query_attentions: tuple[Tensor, ...] | None = None
    """L tensors (B, N, T, S): its weights, in the rows where targets stand."""
    query_grids: tuple[Grid, ...] = ()
    """L grids, bottom to top: which content its queries attended to."""
    mems: tuple[Tensor, ...] | None = None
    """States that the next segment may attend to."""
    grids: tuple[Grid, ...] = ()
    """L grids, bottom to top: who attended to whom."""
    cross_attentions: tuple[Tensor, ...] | None = None
    """L tensors (B, N, T, S): a decoder's weights over the encoder's states. One (B, 1, 1, S): a pooling's."""
    cross_grids: tuple[Grid, ...] = ()
    """L grids, bottom to top: which of the encoder's states a decoder attended to; one: which states a pooling did."""
    encoder: Output | None = None
    """The encoder's own pass, of a model that has one beside its decoder."""
    replaced: tuple[bool, ...] | None = None
    """BERT-of-Theseus: for each module, did its successor run in its place?"""

    @property
    def last_hidden_state(self) -> Tensor:
        """(B, T, H): the top layer's output; (B, P, H) of the query stream where there is one."""
        return (self.query_states or self.hidden_states)[-1]

    @property
    def prediction_logits(self) -> Tensor | None:
        """`logits`, as the transformers library calls them beside `seq_relationship_logits`."""
        return self.logits

    @property
    def sop_logits(self) -> Tensor | None:
        """`seq_relationship_logits` where the question is which of two segments came first (ALBERT)."""
        return self.seq_relationship_logits

    def to_tuple(self) -> tuple[Any, ...]:
        """All that was made, in the order above."""
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(value for value in values if value is not None and value != ())

    def __getitem__(self, key: str | int | slice) -> Any:
        return getattr(self, key) if isinstance(key, str) else self.to_tuple()[key]
