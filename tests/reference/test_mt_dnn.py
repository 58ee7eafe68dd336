"""MT-DNN's four heads against their loops."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from lmexplain.models import MtDnn, MtDnnConfig

from .exact import HEADS, LAYERS, SIZES, exact, near, released, same, texts
from .naive import bert as naive_bert
from .naive import linear
from .naive import mt_dnn as naive_mt_dnn

TASKS = {"cola": ("SingleSentence", 2), "stsb": ("Similarity", 1), "mnli": ("Pairwise", 3), "qnli": ("Ranking", 1)}


def mt_dnn(**changes: Any) -> Any:
    return exact(MtDnn(MtDnnConfig(**SIZES, tasks=TASKS, **changes), "MultiTask"))


def test_mt_dnn_pairs() -> None:
    model = mt_dnn()
    found, ids, mask = texts(9, 6, 2)
    first = [4, 5, 1]
    segments = (torch.arange(9) >= torch.tensor(first)[:, None]).long()
    labels = torch.tensor([2, 0, 1])
    output = model(ids, mask, segments, task="mnli", labels=labels)
    w, losses = released(model), []
    for b, (text, n) in enumerate(zip(found, first, strict=True)):
        told = segments[b, : len(text)].tolist()
        states = naive_bert.encode(w, text, told, layers=LAYERS, heads=HEADS, eps=1e-12)[-1]
        answers = naive_mt_dnn.turns(w, 2, states[:n], states[n:], 5)
        expected = naive_mt_dnn.mean(answers, [True] * 5, 0.0)
        same(output.logits[b], expected, f"text {b}")
        losses.append(-expected[int(labels[b])])
    near(output.loss, sum(losses) / 3, "loss")


def test_mt_dnn_drops_turns_in_training_only() -> None:
    """A dropped turn counts in the mean, a kept one is scaled; one at least is kept (released code)."""
    head = mt_dnn(answer_dropout=0.5).head.tasks[2]
    K, n = 5, 4000
    answers = torch.eye(K, dtype=torch.float64).expand(n, K, K)           # turn k says class k
    assert torch.equal(head.mean(answers), torch.full((n, K), 1 / K, dtype=torch.float64))
    torch.manual_seed(0)
    found = head.train().mean(answers) * K * (1 - 0.5)
    assert set(found.unique().tolist()) == {0.0, 1.0}
    kept = found.bool()
    assert bool(kept.any(1).all())
    assert abs(float(kept.double().mean()) - (0.5 + 0.5 / K)) < 0.02      # one stays, whatever is drawn for it
    random = torch.rand(n, K, 3, dtype=torch.float64).softmax(-1)
    torch.manual_seed(0)
    for b, expected in enumerate(head.mean(random)[:20]):
        same(expected.log(), naive_mt_dnn.mean(random[b].tolist(), kept[b].tolist(), 0.5), f"sample {b}")


def test_mt_dnn_drops_the_same_features_at_all_places() -> None:
    head = mt_dnn().head.tasks[2].train()
    head.dropout = 0.5
    torch.manual_seed(0)
    gone = head.locked(torch.ones(64, 5, 8)) == 0
    assert bool((gone == gone[:, :1]).all()) and 0.4 < float(gone.float().mean()) < 0.6


def test_mt_dnn_other_heads() -> None:
    model = mt_dnn(ranking_gamma=1.7)
    found, ids, mask = texts(6, 3, 5, 4, 6, 2)
    w = released(model)
    tops = [naive_bert.encode(w, t, [0] * len(t), layers=LAYERS, heads=HEADS, eps=1e-12)[-1] for t in found]
    pooled = [naive_bert.pooled(w, states[0]) for states in tops]
    sentence = model(ids, mask, task="cola", labels=torch.tensor([0, 1, 1, 0, 1, 0]))
    same(sentence.logits, [linear(w, "scoring_list.0", x).tolist() for x in pooled], "single sentence")
    similar = model(ids, mask, task="stsb", labels=torch.arange(6.0))
    same(similar.logits, [linear(w, "scoring_list.1", x).tolist() for x in pooled], "similarity")
    errors = [(float(linear(w, "scoring_list.1", x)) - i) ** 2 for i, x in enumerate(pooled)]
    near(similar.loss, sum(errors) / 6, "similarity loss")

    ranked = model(ids.view(2, 3, 6), mask.view(2, 3, 6), task="qnli", labels=torch.tensor([2, 0]))
    relevance = [float(linear(w, "scoring_list.3", x)) for x in pooled]
    chances = [naive_mt_dnn.rank(relevance[:3], 1.7), naive_mt_dnn.rank(relevance[3:], 1.7)]
    same(ranked.logits.softmax(-1), chances, "ranking")
    near(ranked.loss, -math.log(chances[0][2] * chances[1][0]) / 2, "ranking loss")


def test_mt_dnn_refuses() -> None:
    model, (_, ids, mask) = mt_dnn(), texts(6, 3)
    segments = (torch.arange(6) > 0).long().expand(2, 6)
    for given, message in (
        ({}, "give one of cola, stsb, mnli, qnli"),
        ({"task": "rte"}, "task='rte'"),
        ({"task": "mnli"}, "compares two segments"),
        ({"task": "mnli", "token_type_ids": torch.zeros_like(ids)}, "compares two segments"),
        ({"task": "mnli", "token_type_ids": segments, "labels": torch.zeros(2, 3)}, "give integers"),
        ({"task": "qnli"}, "ranks candidates"),
    ):
        with pytest.raises(ValueError, match=message):
            model(ids, mask, **given)
    with pytest.raises(ValueError, match="head='MultiTask'"):
        MtDnn(MtDnnConfig(**SIZES))(ids, task="cola")
    with pytest.raises(ValueError, match="of kind 'Regression'"):
        MtDnnConfig(tasks={"stsb": ("Regression", 1)})
    for odd in (("Pairwise",), ("Pairwise", "3"), ("Pairwise", 1), ("Ranking", 2)):
        with pytest.raises(ValueError, match=r"of kind \('Pairwise',\)|tasks is .*; it must be one class for"):
            MtDnnConfig(tasks={"a": odd})  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"attention_mask has shape \(2, 6\), the keys \(4, 6\)"):
        model(ids.expand(2, 2, 6), torch.ones(2, 6), task="qnli")


def test_mt_dnn_ranks_a_candidate_alone() -> None:
    """Its chance is 1, whatever its relevance."""
    model, (_, ids, mask) = mt_dnn(), texts(6, 3)
    assert float(model(ids[:, None], mask[:, None], task="qnli", labels=torch.tensor([0, 0])).loss) == 0.0
