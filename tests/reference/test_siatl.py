"""SiATL against its loop."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import lmexplain
from lmexplain.checkpoints import layout_of
from lmexplain.models import Siatl, SiatlConfig

from .exact import SIZES, V, exact, near, released, same, texts
from .naive import cross_entropy
from .naive import siatl as naive_siatl
from .peers import drawn

SMALL = {name: SIZES[name] for name in ("vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size")}
GAMMA = 0.17
FORMS = {"tied": {}, "tied, of one width": {"intermediate_size": 8}, "untied": {"tie_word_embeddings": False}}


def siatl(head: str | None = "SequenceClassification", **changes: Any) -> Any:
    return exact(Siatl(SiatlConfig(**{**SMALL, "task_hidden_size": 5, "num_labels": 3, **changes}), head))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("padding", ["at the end", "in front"])
def test_siatl_task_and_language_model(form: str, padding: str) -> None:
    model = siatl(**FORMS[form])
    assert (model.projection is None) == (form != "tied")
    model.head.lm_weight = GAMMA
    found, ids, mask = texts(7, 4, 1)
    if padding == "in front":
        ids = torch.stack([row.roll(len(row) - len(text)) for row, text in zip(ids, found, strict=True)])
        mask = mask.flip(1)
    labels = torch.tensor([2, 0, 1])
    lm_labels = ids.masked_fill(~mask, -100)
    for row, text in zip(lm_labels, found, strict=True):        # a first word is predicted by no one
        row[7 - len(text) if padding == "in front" else 0] = -100
    output = model(ids, mask, labels=labels, lm_labels=lm_labels, output_attentions=True)
    w, task, words = released(model), [], []
    for b, text in enumerate(found):
        states = naive_siatl.bottom(w, text, 2)
        scores, shares = naive_siatl.classes(w, states)
        predicted = naive_siatl.next_words(w, states)
        same(output.last_hidden_state[b][mask[b]], states, f"states of text {b}")
        same(output.logits[b], scores, f"classes of text {b}")
        same(output.cross_attentions[0][b, 0, 0][mask[b]], shares, f"attention of text {b}")
        same(output.lm_logits[b][mask[b]], predicted, f"next words of text {b}")
        assert not output.cross_attentions[0][b, 0, 0][~mask[b]].any()
        task.append(cross_entropy(scores, int(labels[b])))
        words += naive_siatl.lm_losses(predicted, text)
    task_loss, lm_loss = sum(task) / len(task), sum(words) / len(words)
    near(output.loss, task_loss + GAMMA * lm_loss, "loss")
    near(model(ids, mask, labels=labels).loss, task_loss, "the task's alone")
    assert torch.equal(output.cross_grids[0].dense().squeeze(), mask)


@pytest.mark.parametrize("form", FORMS)
def test_siatl_language_model(form: str) -> None:
    model = siatl("CausalLM", **FORMS[form])
    (text,), ids, _ = texts(6)
    output = model(ids, labels=ids)
    w = released(model)
    predicted = naive_siatl.next_words(w, naive_siatl.bottom(w, text, 2))
    same(output.logits[0], predicted, "next words")
    losses = naive_siatl.lm_losses(predicted, text)
    near(output.loss, sum(losses) / len(losses), "loss")


def test_names_of_the_released_language_model_and_what_the_task_takes_over(tmp_path) -> None:
    """Released: `encoder` becomes `bottom_rnn`, `decoder` becomes `vocab`."""
    lm = drawn(Siatl(SiatlConfig(**SMALL), "CausalLM")).eval()
    lmexplain.save(lm, tmp_path)  # pyright: ignore[reportArgumentType]
    state = {place.key.replace("bottom_rnn", "encoder").replace("vocab", "decoder"): dict(lm.named_parameters())[name]
             for name, place in layout_of(Siatl).places(lm).items()}  # pyright: ignore[reportArgumentType]  # fmt: skip
    state["decoder.weight"] = state["embed.embedding.weight"]
    (tmp_path / "model.safetensors").unlink()
    torch.save({name: x.detach() for name, x in state.items()}, tmp_path / "pytorch_model.bin")
    again = lmexplain.load(tmp_path)
    assert again.head_name == "CausalLM"
    assert all(torch.equal(x, again.state_dict()[name]) for name, x in lm.state_dict().items())
    task: Any = lmexplain.load(tmp_path, "SequenceClassification")
    for name, x in lm.state_dict().items():
        assert name.startswith("head.") or torch.equal(x, task.state_dict()[name]), name
    assert task.head.lm.decoder.weight is task.embeddings.token.weight


def test_siatl_dropout_is_shared_over_the_batch_and_falls_on_scores() -> None:
    model = siatl(
        input_dropout=0.5, output_dropout=0.5, embedding_dropout=0.0, hidden_dropout_prob=0.0, attention_dropout=0.0
    ).train()  # fmt: skip
    torch.manual_seed(0)
    x = model(inputs_embeds=torch.ones(4, 9, 8, dtype=torch.float64)).hidden_states[0]
    assert bool((x == x[:1]).all()) and not bool((x == x[:, :1]).all()) and set(x.unique().tolist()) == {0.0, 2.0}
    texts = model(torch.full((4, 9), 7), output_attentions=True)        # four times the same one
    for made in (texts.logits, texts.lm_logits):
        assert torch.equal(made, made[:1].expand_as(made))
    model.eval()
    model.head.pooling.dropout.p = 1.0
    model.head.pooling.dropout.train()          # all scores are 0: the mean of the states is pooled
    output = model(torch.randint(5, V, (2, 4)), output_attentions=True)
    assert torch.equal(output.cross_attentions[0], torch.full((2, 1, 1, 4), 0.25, dtype=torch.float64))
