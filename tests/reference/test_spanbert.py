"""SpanBERT's boundary head against its loop."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from lmexplain.models import SpanBert, SpanBertConfig

from .exact import HEADS, LAYERS, SIZES, V, exact, near, released, same, texts
from .naive import bert as naive_bert
from .naive import cross_entropy
from .naive import spanbert as naive_spanbert

SPANS = [[(2, 4), (6, 6)], [(1, 5)], [(0, 1), (4, 4)]]      # the longer one is cut, the one at the start has no pair


def span_targets(found: Sequence[list[int]], most: int) -> tuple[Tensor, Tensor]:
    """Pairs and their labels; samples with fewer pairs are filled up with pairs that have no label."""
    pairs = torch.zeros(len(found), 2, 2, dtype=torch.long)
    labels = torch.full((len(found), 2, most), -100)
    for b, (spans, ids) in enumerate(zip(SPANS, found, strict=True)):
        inside = [(s, e) for s, e in spans if s > 0 and e < len(ids) - 1]
        for p, (first, last) in enumerate(inside):
            pairs[b, p] = torch.tensor([first - 1, last + 1])
            for i in range(first, min(last, first + most - 1) + 1):
                labels[b, p, i - first] = ids[i]
    return pairs, labels


def test_spanbert_boundary_head() -> None:
    model = exact(SpanBert(SpanBertConfig(**SIZES, max_pair_targets=4, pair_position_size=5), "SpanBoundary"))
    found, ids, mask = texts(9, 8, 7)
    pairs, pair_labels = span_targets(found, 4)
    labels = torch.full_like(ids, -100)
    for b, spans in enumerate(SPANS):
        for first, last in spans:
            labels[b, first : last + 1] = ids[b, first : last + 1]
    output = model(ids, mask, labels=labels, pairs=pairs, pair_labels=pair_labels)
    w, eps = released(model), model.config.layer_norm_eps
    tops = [naive_bert.encode(w, text, [0] * len(text), layers=LAYERS, heads=HEADS, eps=eps)[-1] for text in found]
    for b, states in enumerate(tops):
        same(output.logits[b, : len(states)], [naive_bert.cloze(w, x, eps) for x in states], f"cloze of text {b}")
        for p, (left, right) in enumerate(pairs[b].tolist()):
            expected = [naive_spanbert.scores(w, states[left], states[right], i + 1, eps) for i in range(4)]
            same(output.boundary_logits[b, p], expected, f"text {b}, pair {p}")
    masked = [(b, i) for b, spans in enumerate(SPANS) for first, last in spans for i in range(first, last + 1)]
    tokens = sum(cross_entropy(naive_bert.cloze(w, tops[b][i], eps), found[b][i]) for b, i in masked) / len(masked)
    boundary = naive_spanbert.loss(w, tops, SPANS, found, 4, eps)
    near(output.loss, tokens + boundary, "loss")


def test_spanbert_without_boundary_targets() -> None:
    """The division by targets plus one defines the loss of none: 0."""
    model = exact(SpanBert(SpanBertConfig(**SIZES), "SpanBoundary"))
    _, ids, _ = texts(6)
    pairs = torch.zeros(1, 1, 2, dtype=torch.long)
    alone = model(ids, labels=ids).loss
    assert model(ids, labels=ids, pairs=pairs, pair_labels=torch.full((1, 1, 20), -100)).loss == alone
    assert model(ids, labels=ids, pairs=pairs[:, :0], pair_labels=torch.zeros(1, 0, 20).long()).loss == alone
    for wrong, message in (
        ({"pairs": pairs + 6}, "pairs holds 6"),
        ({"pairs": pairs[0]}, "positions around a span"),
        ({"pairs": torch.tensor([[[4, 1]]])}, r"pairs holds \[4, 1\]; give the position before"),
        ({"pairs": pairs, "pair_labels": torch.full((1, 1, 3), -100)}, "20 tokens"),
        ({"pairs": pairs, "pair_labels": torch.full((1, 1, 20), V)}, f"pair_labels holds {V}"),
    ):
        with pytest.raises(ValueError, match=message):
            model(ids, **wrong)
