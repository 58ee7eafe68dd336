"""Heads: from a model's states to scores and, where there are labels, a loss.

Each takes the model's `Output` and its labels and gives the output back with `logits` and `loss` filled in. Labels of
-100 are no targets; a loss is the mean over the targets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .feed_forward import activation
from .output import Output

__all__ = [
    "CausalLM",
    "Head",
    "LastTokenClassification",
    "MaskedLM",
    "MultipleChoice",
    "NextSentence",
    "Pooler",
    "Prediction",
    "PreTraining",
    "QuestionAnswering",
    "SequenceClassification",
    "TokenClassification",
    "check_classes",
    "check_labels",
    "check_tensors",
    "class_loss",
    "token_loss",
]


_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class Pooler(nn.Module):
    """tanh(W h_[CLS] + b): the first token's state for sentence-level tasks (released BERT): (B, T, H) -> (B, H).

    at: where [CLS] stands, -1 at the end.
    """

    def __init__(self, hidden: int, at: int = 0) -> None:
        super().__init__()
        self.dense, self.at = nn.Linear(hidden, hidden), at

    def forward(self, states: Tensor) -> Tensor:
        return torch.tanh(self.dense(states[:, self.at]))


class Head(nn.Module):
    """What heads share: `pooled` says whether the model must have a pooler for this one."""

    pooled = False

    def check(self, *args: Any, **targets: Any) -> None:
        """`check(shape, *, labels)`, under the names that `forward` has: raises ValueError unless the targets fit this
        head and an input of shape (B, T). A model asks before it computes.
        """
        raise NotImplementedError(f"{type(self).__name__} has no check of its own")

    def forward(self, output: Output, labels: Tensor | None = None) -> Output:
        """The output with its scores, and with a loss where there are labels."""
        raise NotImplementedError(f"{type(self).__name__} has no forward of its own")


class MaskedLM(Head):
    """LN(act(h W + b)) E^T + c: BERT's cloze head, its decoder tied to the token table (released BERT).

    labels (B, T). `table` (V, E): with E ≠ H the transform leads to E, as in ALBERT.
    """

    def __init__(self, hidden: int, table: nn.Embedding, act: str, eps: float, tied: bool = True) -> None:
        super().__init__()
        V, E = table.weight.shape
        self.dense, self.norm, self.decoder = nn.Linear(hidden, E), nn.LayerNorm(E, eps), nn.Linear(E, V)
        self.act = activation(act)
        if tied:
            self.decoder.weight = table.weight

    def scores(self, states: Tensor) -> Tensor:
        """(…, H) -> (…, V)."""
        return self.decoder(self.norm(self.act(self.dense(states))))

    def check(self, shape: tuple[int, int], *, labels: Tensor) -> None:
        check_labels(labels, shape, self.decoder.out_features)

    def forward(self, output: Output, labels: Tensor | None = None) -> Output:
        logits = self.scores(output.last_hidden_state)
        return replace(output, logits=logits, loss=token_loss(logits, labels))


class CausalLM(Head):
    """h E^T: each position predicts the next token; labels (B, T) are those of the inputs and are shifted here.

    hidden: H, where it is not the table's width and nothing is tied. bias: adds a bias for each token.
    backward: texts are read from right to left, and the next token stands before.
    """

    def __init__(
        self, table: nn.Embedding, tied: bool = True, *, hidden: int | None = None, bias: bool = False,
        backward: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        V, E = table.weight.shape
        self.decoder, self.backward = nn.Linear(hidden or E, V, bias), backward
        if tied:
            self.decoder.weight = table.weight

    def scores(self, states: Tensor) -> Tensor:
        """(…, H) -> (…, V)."""
        return self.decoder(states)

    def check(self, shape: tuple[int, int], *, labels: Tensor) -> None:
        check_labels(labels, shape, self.decoder.out_features, self.predicted(shape[1]))

    def predicted(self, T: int) -> slice:
        """The tokens that another one stands before, in the order of reading."""
        return slice(0, T - 1) if self.backward else slice(1, T)

    def loss(self, logits: Tensor, labels: Tensor | None) -> Tensor | None:
        """Of scores (B, T, V) and the inputs as labels (B, T)."""
        T = logits.shape[1]
        by, what = slice(1, T) if self.backward else slice(0, T - 1), self.predicted(T)
        return None if labels is None else token_loss(logits[:, by], labels[:, what])

    def forward(self, output: Output, labels: Tensor | None = None) -> Output:
        logits = self.scores(output.last_hidden_state)
        return replace(output, logits=logits, loss=self.loss(logits, labels))


class Prediction(Head):
    """h E^T + c: the token of each position itself; labels (B, T) stand where they are predicted, nothing is shifted.

    smoothing: in training, the share of each target that goes to the whole vocabulary alike (Szegedy et al. 2016, 7).
    """

    def __init__(self, table: nn.Embedding, bias: bool = True, tied: bool = True, smoothing: float = 0.0) -> None:
        super().__init__()
        V, H = table.weight.shape
        self.decoder, self.smoothing = nn.Linear(H, V, bias), smoothing
        if tied:
            self.decoder.weight = table.weight

    def check(self, shape: tuple[int, int], *, labels: Tensor) -> None:
        check_labels(labels, shape, self.decoder.out_features)

    def forward(self, output: Output, labels: Tensor | None = None) -> Output:
        logits = self.decoder(output.last_hidden_state)
        return replace(output, logits=logits, loss=token_loss(logits, labels, self.smoothing * self.training))


class NextSentence(Head):
    """W h_pooled + b: class 0 is *the next sentence*, class 1 a random one; labels (B,)."""

    pooled = True

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden, 2)

    def check(self, shape: tuple[int, int], *, labels: Tensor) -> None:
        check_classes(labels, shape[0], self.dense.out_features)

    def forward(self, output: Output, labels: Tensor | None = None) -> Output:
        logits = self.dense(output.pooler_output)
        return replace(output, logits=logits, loss=class_loss(logits, labels))


class PreTraining(Head):
    """BERT's two objectives at once, masked tokens and the sentence pair (Devlin et al. 2019, A.2): losses add up.

    labels (B, T), next_sentence_label (B,); with one of them alone the loss is that one's.
    """

    pooled = True

    def __init__(self, tokens: Head, pair: Head) -> None:
        super().__init__()
        self.tokens, self.pair = tokens, pair

    def check(
        self, shape: tuple[int, int], *, labels: Tensor | None = None, next_sentence_label: Tensor | None = None
    ) -> None:
        if labels is not None:
            self.tokens.check(shape, labels=labels)
        if next_sentence_label is not None:
            self.pair.check(shape, labels=next_sentence_label)

    def forward(
        self, output: Output, labels: Tensor | None = None, next_sentence_label: Tensor | None = None
    ) -> Output:
        tokens, pair = self.tokens(output, labels), self.pair(output, next_sentence_label)
        losses = [part.loss for part in (tokens, pair) if part.loss is not None]
        return replace(
            tokens, seq_relationship_logits=pair.logits, loss=torch.stack(losses).sum() if losses else None
        )  # fmt: skip


class SequenceClassification(Head):
    """W h_pooled + b. labels (B,) of classes: cross-entropy; (B,) or (B, 1) with one class: squared error;
    (B, classes) of floats: one yes or no each (binary cross-entropy).
    """

    pooled = True

    def __init__(self, hidden: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.dropout, self.dense = nn.Dropout(dropout), nn.Linear(hidden, classes)

    def check(self, shape: tuple[int, int], *, labels: Tensor) -> None:
        check_classes(labels, shape[0], self.dense.out_features)

    def summary(self, output: Output) -> Tensor | None:
        """(B, H): what the sentence is judged by."""
        return output.pooler_output

    def forward(self, output: Output, labels: Tensor | None = None) -> Output:
        logits = self.dense(self.dropout(self.summary(output)))
        return replace(output, logits=logits, loss=class_loss(logits, labels))


class LastTokenClassification(Head):
    """W h_last, without a bias: only the last token has seen the whole text (Radford et al. 2018, eq. 3).

    labels as SequenceClassification takes them; `last` (B,) is the place of each text's last token.
    """

    def __init__(self, hidden: int, classes: int) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden, classes, bias=False)

    def check(self, shape: tuple[int, int], *, labels: Tensor) -> None:
        check_classes(labels, shape[0], self.dense.out_features)

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, output: Output, last: Tensor, labels: Tensor | None = None
    ) -> Output:
        states = output.last_hidden_state
        logits = self.dense(states[torch.arange(len(states), device=states.device), last])
        return replace(output, logits=logits, loss=class_loss(logits, labels))


class MultipleChoice(Head):
    """w·h_pooled + b for each of C choices, which run as sentences of their own; labels (B,): the right choice."""

    pooled = True

    def __init__(self, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dropout, self.dense = nn.Dropout(dropout), nn.Linear(hidden, 1)

    def check(self, shape: tuple[int, int], *, labels: Tensor) -> None:
        """Raises ValueError unless the labels fit (B, C) scores."""
        check_labels(labels, shape[:1], shape[1])

    def forward(self, output: Output, labels: Tensor | None = None) -> Output:
        return replace(output, logits=self.dense(self.dropout(output.pooler_output)))            # (B · C, 1)

    def compare(self, run: Callable[..., Output], *args: Any, labels: Tensor | None = None, **given: Any) -> Output:
        """The output of `run`, a model's pass, over (B, C, T) as (B · C, T), with scores (B, C). (B, T) is C = 1."""
        ids, embedded = args[0] if args else given.get("input_ids"), given.get("inputs_embeds")
        first, depth = (embedded, 4) if ids is None else (ids, 3)
        if first is None:
            return run(*args, **given)              # which refuses it
        many = first.dim() == depth
        B, C = len(first), first.shape[1] if many else 1
        if labels is not None:
            self.check((B, C), labels=labels)

        def flat(x: Any) -> Any:
            return x.flatten(0, 1) if many and isinstance(x, Tensor) and x.dim() > 2 else x

        output = run(*map(flat, args), **{name: flat(x) for name, x in given.items()})
        logits = output.logits.view(-1, C)  # pyright: ignore[reportOptionalMemberAccess]  # forward made them
        return replace(output, logits=logits, loss=token_loss(logits, labels))


class TokenClassification(Head):
    """W h_i + b for each token; labels (B, T)."""

    def __init__(self, hidden: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.dropout, self.dense = nn.Dropout(dropout), nn.Linear(hidden, classes)

    def check(self, shape: tuple[int, int], *, labels: Tensor) -> None:
        check_labels(labels, shape, self.dense.out_features)

    def forward(self, output: Output, labels: Tensor | None = None) -> Output:
        logits = self.dense(self.dropout(output.last_hidden_state))
        return replace(output, logits=logits, loss=token_loss(logits, labels))


class QuestionAnswering(Head):
    """Start and end scores w·h_i of an answer's span (Devlin et al. 2019, section 4.2).

    start_positions, end_positions (B,): a place after the last token is no target.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden, 2)

    def check(
        self, shape: tuple[int, int], *, start_positions: Tensor | None = None, end_positions: Tensor | None = None
    ) -> None:  # fmt: skip
        for name, places in (("start_positions", start_positions), ("end_positions", end_positions)):
            if places is None:
                raise ValueError(f"{name} is not given; give start_positions and end_positions together")
            if places.shape != shape[:1] or places.dtype not in _INTEGERS:
                raise ValueError(f"{name} has shape {tuple(places.shape)} and type {places.dtype}; give one integer "
                                 f"for each of {shape[0]} sentences")  # fmt: skip
            if not places.is_meta and (int(places.min()) < 0 or int(places.min()) >= shape[1]):
                raise ValueError(
                    f"{name} range from {int(places.min())} to {int(places.max())} over {shape[1]} tokens; give places "
                    f"from 0, at least one of them a token's: {shape[1]} or more is no target"
                )

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, output: Output, start_positions: Tensor | None = None, end_positions: Tensor | None = None
    ) -> Output:
        start, end = self.dense(output.last_hidden_state).unbind(-1)         # (B, T) each
        loss = None
        if start_positions is not None and end_positions is not None:
            T = start.shape[1]
            targets = [x.long().clamp(max=T) for x in (start_positions, end_positions)]
            loss = sum(
                F.cross_entropy(_wide(s), t, ignore_index=T) for s, t in zip((start, end), targets, strict=True)
            ) / 2
        return replace(output, start_logits=start, end_logits=end, loss=loss)


def token_loss(logits: Tensor, labels: Tensor | None, smoothing: float = 0.0) -> Tensor | None:
    """Mean cross-entropy over the targets of (…, V)."""
    if labels is None:
        return None
    return F.cross_entropy(_wide(logits.flatten(0, -2)), labels.flatten().long(), label_smoothing=smoothing)


def class_loss(logits: Tensor, labels: Tensor | None) -> Tensor | None:
    """Of scores (B, classes), with labels as `SequenceClassification` takes them."""
    if labels is None:
        return None
    B, classes = logits.shape
    if classes == 1:
        return F.mse_loss(_wide(logits.view(B)), _wide(labels.view(B).to(logits)))
    if labels.is_floating_point():
        return F.binary_cross_entropy_with_logits(_wide(logits), _wide(labels.to(logits)))
    return F.cross_entropy(_wide(logits), labels.view(B).long())


def _wide(x: Tensor) -> Tensor:
    """Half types as float32, in which a loss is summed."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def check_tensors(given: Mapping[str, object]) -> None:
    """Raises TypeError for what is no tensor: lists and arrays."""
    odd = next((name for name, x in given.items() if not isinstance(x, Tensor)), None)
    if odd is not None:
        raise TypeError(f"{odd} is of type {type(given[odd]).__name__}; give a tensor (torch.as_tensor)")


def check_classes(labels: Tensor, B: int, classes: int) -> None:
    """Raises ValueError unless labels are what a head of this many classes takes for B sentences."""
    check_tensors({"labels": labels})
    if classes > 1 and not labels.is_floating_point():
        return check_labels(labels[:, 0] if tuple(labels.shape) == (B, 1) else labels, (B,), classes)
    wanted = [(B,), (B, 1)] if classes == 1 else [(B, classes)]
    if tuple(labels.shape) not in wanted or labels.is_complex():
        raise ValueError(f"labels have shape {tuple(labels.shape)} and type {labels.dtype}; give {classes} for each of "
                         f"{B} sentences: shape {wanted[0]}")  # fmt: skip
    if classes > 1 and not labels.is_meta and not bool(((labels >= 0) & (labels <= 1)).all()):
        raise ValueError(f"labels range from {float(labels.min())} to {float(labels.max())}; floats say yes (1) or no "
                         f"(0) for each class, and a class is named by an integer: labels.long()")  # fmt: skip


def check_labels(labels: Tensor, shape: tuple[int, ...], classes: int, columns: slice = slice(None)) -> None:
    """Raises ValueError unless labels are classes, or -100, in this shape. `columns`: those that are targets."""
    check_tensors({"labels": labels})
    if tuple(labels.shape) != shape or labels.dtype not in _INTEGERS:
        raise ValueError(
            f"labels have shape {tuple(labels.shape)} and type {labels.dtype}; give integers of shape {shape}"
        )
    if labels.is_meta:
        return
    targets = labels[..., columns]
    targets = targets[targets != -100]
    if not targets.numel():
        raise ValueError(
            f"labels hold no target, only -100{'' if columns == slice(None) else ', or the first token that is read'}; "
            f"the mean over none is not defined: give at least one"
        )
    if int(targets.min()) < 0 or int(targets.max()) >= classes:
        raise ValueError(
            f"labels range from {int(targets.min())} to {int(targets.max())}, outside 0 to {classes - 1}; "
            f"-100 marks what is no target"
        )
