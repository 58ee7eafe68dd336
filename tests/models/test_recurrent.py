"""Recurrent models: state only where it is passed, padding anywhere, both directions, dropouts that are locked."""

from __future__ import annotations

import copy
import io
import pickle
from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lmexplain.layers import EmbeddingDropout, LockedDropout, Lstm
from lmexplain.models import MODELS, AwdLstm, AwdLstmConfig, SiatlConfig, generate
from lmexplain.models.counts import config_of

from .test_bad_input import refused
from .test_invariants import field, moved
from .tiny import V, given, takes, tiny, tokens

NAMES = [name for name, model in MODELS.items() if takes(model, "state")]
TURNED = [(name, way) for name in NAMES for way in (False, True)
          if not way or "backward" in {field.name for field in fields(config_of(MODELS[name]))}]  # fmt: skip
IDS = tokens(2, 9)


def close(a: Any, b: Any) -> None:
    if isinstance(a, tuple):
        for x, y in zip(a, b, strict=True):
            close(x, y)
    else:
        assert a.shape == b.shape and (a - b).detach().abs().max() <= 1e-12 * max(1.0, float(b.detach().abs().max()))


# ── the layer ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("backward", [False, True])
def test_the_layer_is_pytorchs(backward: bool) -> None:
    """Both directions of a bidirectional nn.LSTM over a packed batch, states and gradients."""
    torch.manual_seed(0)
    theirs, ours = nn.LSTM(5, 4, batch_first=True, bidirectional=True).double(), Lstm(5, 4, backward=backward).double()
    end = "_reverse" if backward else ""
    with torch.no_grad():
        for kind, module in (("ih", ours.input), ("hh", ours.recurrent)):
            module.weight.copy_(getattr(theirs, f"weight_{kind}_l0{end}"))
            module.bias.copy_(getattr(theirs, f"bias_{kind}_l0{end}"))
    x, lengths = torch.randn(3, 7, 5, dtype=torch.float64), torch.tensor([4, 7, 1])
    begin = tuple(torch.randn(2, 3, 4, dtype=torch.float64) for _ in "hc")
    packed, ended = theirs(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False), begin)
    expected = pad_packed_sequence(packed, batch_first=True)[0].unflatten(-1, (2, 4))[:, :, int(backward)]
    real = torch.arange(7) < lengths[:, None]
    out, state = ours(x, tuple(s[int(backward)] for s in begin), real)
    close(out, expected)
    close(state, tuple(s[int(backward)] for s in ended))
    out.square().sum().backward()
    expected.square().sum().backward()
    close(ours.recurrent.weight.grad, getattr(theirs, f"weight_hh_l0{end}").grad)
    assert all(p.detach().abs().max() <= 0.5 for p in Lstm(5, 4).parameters()), "1/√H"


# ── state and padding ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("name", "backward"), TURNED)
def test_in_pieces_it_is_the_same_if_the_state_is_passed(name: str, backward: bool) -> None:
    model = tiny(name, backward=backward)
    whole, state, pieces = model(IDS), None, []
    for a, b in ((5, 9), (4, 5), (0, 4)) if backward else ((0, 4), (4, 5), (5, 9)):
        pieces.append(model(IDS[:, a:b], state=state))
        state = pieces[-1].state
    alone = model(IDS[:, 4:5])
    assert not torch.allclose(pieces[1].last_hidden_state, alone.last_hidden_state), "none is carried unasked"
    ordered = pieces[::-1] if backward else pieces
    for i, states in enumerate(whole.hidden_states):
        close(torch.cat([piece.hidden_states[i] for piece in ordered], dim=1), states)
    close(state, whole.state)


@pytest.mark.parametrize(("name", "backward"), TURNED)
def test_padding_is_passed_over_wherever_it_stands(name: str, backward: bool) -> None:
    model = tiny(name, backward=backward)
    rows = ("111111000", "001111111", "011001010", "000000000")
    real, ids = torch.tensor([[x == "1" for x in row] for row in rows]), tokens(4, 9)
    begin = tuple((torch.full((4, w), 0.3).double(), torch.full((4, w), -0.2).double())
                  for w in (pair[0].shape[1] for pair in model(ids).state))  # fmt: skip
    output = model(ids, real, state=begin)
    for b in range(3):
        alone = model(ids[b : b + 1, real[b]], state=tuple((h[b : b + 1], c[b : b + 1]) for h, c in begin))
        for states, bare in zip(output.hidden_states, alone.hidden_states, strict=True):
            close(states[b, real[b]], bare[0])
        close(tuple((h[b : b + 1], c[b : b + 1]) for h, c in output.state), alone.state)
    close(tuple((h[3], c[3]) for h, c in output.state), tuple((h[3], c[3]) for h, c in begin))
    assert not any(states[~real].any() for states in output.hidden_states[1:-1]), "it gives 0"


@pytest.mark.parametrize("name", [name for name, backward in TURNED if backward])
def test_a_model_that_reads_backward_is_the_other_one_turned(name: str) -> None:
    a, b = tiny(name, "CausalLM", backward=False), tiny(name, "CausalLM", backward=True)
    b.load_state_dict(a.state_dict())
    x, y = a(IDS.flip(1), labels=IDS.flip(1)), b(IDS, labels=IDS)
    for states, turned in zip((*x.hidden_states, x.logits), (*y.hidden_states, y.logits), strict=True):
        close(states.flip(1), turned)
    close(x.loss, y.loss)
    close(x.state, y.state)
    for mask in ({}, {"attention_mask": torch.tensor([[1] * 9, [0, 1, 1, 1, 1, 1, 1, 0, 0]])}):
        rows = mask.get("attention_mask", torch.ones(2, 9)).bool()
        assert torch.equal(moved(b, "input_ids", mask)[rows], field(*b(IDS, **mask).grids)[rows])
    short = tokens(1, 1)
    with pytest.raises(ValueError, match="labels hold no target"):
        b(short, labels=short)


@pytest.mark.parametrize("name", NAMES)
def test_a_state_of_other_texts_is_refused(name: str) -> None:
    model = tiny(name)
    state = model(IDS).state
    wide = tuple((h[:, 1:], c) for h, c in state)
    for wrong, says in ((state[:2], r"state holds \(\(2, "), (tuple((h[:1], c[:1]) for h, c in state), r"\(\(1, "),
                        (wide, "for the 3 layers"), ((), "state holds nothing; give an earlier output's")):  # fmt: skip
        refused(model, given(model, IDS, state=wrong), ValueError, says)


@pytest.mark.parametrize("name", NAMES)
def test_it_writes_the_same_with_its_state_and_without(name: str) -> None:
    model = tiny(name, "CausalLM")
    prompt = {"input_ids": tokens(3, 4), "attention_mask": torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 1]])}
    text = generate(model, **prompt, max_new_tokens=30)
    assert text.shape == (3, 34) and torch.equal(text, generate(model, **prompt, max_new_tokens=30, use_cache=False))
    assert torch.equal(text[1, 4:], model(text[1:2, :-1]).logits.argmax(-1)[0, 3:])
    with pytest.raises(ValueError, match="reads from right to left"):
        generate(tiny(name, "CausalLM", backward=True), **prompt)


# ── dropouts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def dropped() -> Any:
    """Nothing is dropped but weights."""
    return tiny("awd-lstm", "CausalLM", weight_dropout=0.5).train()


def test_weights_are_dropped_anew_for_each_call_and_their_own_matrix_stays() -> None:
    model: Any = dropped()
    own, names = copy.deepcopy(model.state_dict()), list(model.state_dict())
    torch.manual_seed(0)
    a, b = model(IDS).logits, model(IDS).logits
    torch.manual_seed(0)
    assert torch.equal(model(IDS).logits, a) and not torch.equal(a, b)
    assert list(model.state_dict()) == names
    assert all(torch.equal(x, own[name]) for name, x in model.state_dict().items())
    assert sum("recurrent.weight" in name for name in names) == 3
    calm = model.eval()(IDS).logits
    assert torch.equal(calm, tiny("awd-lstm", "CausalLM")(IDS).logits), "in evaluation nothing is dropped"


def test_dropped_weights_get_no_gradient_and_the_others_are_trained() -> None:
    model: Any = dropped()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = [layer.recurrent.weight.detach().clone() for layer in model.layers]
    model(IDS, labels=IDS).loss.backward()
    optimizer.step()
    for layer, old in zip(model.layers, before, strict=True):
        grad, new = layer.recurrent.weight.grad, layer.recurrent.weight.detach()
        assert 0.4 < float((grad == 0).double().mean()) < 0.6 and torch.equal(grad == 0, new == old)
        assert not (layer.input.weight.grad == 0).any(), "only matrices from state to state are dropped"


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "torch.save"])
def test_a_copy_in_the_midst_of_training_is_whole(way: str) -> None:
    model: Any = dropped()
    model(IDS, labels=IDS).loss.backward()
    if way == "deepcopy":
        again = copy.deepcopy(model)
    elif way == "pickle":
        again = pickle.loads(pickle.dumps(model))      # noqa: S301
    else:
        torch.save(model, file := io.BytesIO())
        again = torch.load(io.BytesIO(file.getvalue()), weights_only=False)
    for x in (model, again):
        x.float().double()
    torch.manual_seed(1)
    a = model(IDS).logits
    torch.manual_seed(1)
    assert torch.equal(again(IDS).logits, a)
    with torch.no_grad():
        again.layers[0].recurrent.weight.zero_()
    assert model.layers[0].recurrent.weight.any(), "the two share nothing"
    assert not torch.equal(again.eval()(IDS).logits, model.eval()(IDS).logits), "what is changed is what runs"


@pytest.mark.parametrize("axis", [0, 1])
def test_locked_dropout(axis: int) -> None:
    drop, x = LockedDropout(0.75, axis), torch.ones(20, 30, 16)
    torch.manual_seed(0)
    y = drop(x)
    assert set(y.unique().tolist()) == {0.0, 4.0} and abs(float((y == 0).float().mean()) - 0.75) < 0.05
    assert torch.equal(y, y.narrow(axis, 0, 1).expand_as(y)), "the same along the axis"
    assert not torch.equal(y, y.narrow(1 - axis, 0, 1).expand_as(y))
    assert drop.eval()(x) is x


def test_embedding_dropout_drops_a_word_wherever_it_stands() -> None:
    drop, table, ids = EmbeddingDropout(0.5), torch.ones(50, 4), torch.arange(50).repeat(3, 2)
    torch.manual_seed(0)
    y = drop(table[ids], ids, table)
    assert set(y.unique().tolist()) == {0.0, 2.0} and bool((y == y[..., :1]).all()), "whole rows"
    words = torch.stack([y[ids == word] for word in range(50)])
    assert bool((words == words[:, :1]).all()) and 0.3 < float((words == 0).float().mean()) < 0.7
    assert drop.eval()(table[ids], ids, table).eq(1).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("rate", "first"), [
    ("embedding_dropout", 0), ("input_dropout", 0), ("hidden_dropout_prob", 2), ("output_dropout", None),
])  # fmt: skip
def test_where_each_dropout_falls(name: str, rate: str, first: int | None) -> None:
    """`first`: the first of the states that it moves; after the last one it moves the scores alone."""
    calm: Any = tiny(name, "SequenceClassification")
    model: Any = tiny(name, "SequenceClassification", **{rate: 0.5})
    for module in model.modules():
        module.train(not isinstance(module, nn.BatchNorm1d))
    torch.manual_seed(0)
    a, b = model(IDS), calm(IDS)
    moved = [not torch.equal(x, y) for x, y in zip(a.hidden_states, b.hidden_states, strict=True)]
    assert moved == [first is not None and i >= first for i in range(len(moved))]
    assert not torch.equal(a.logits, b.logits)
    if name == "awd-lstm":
        words = tiny(name, "CausalLM", **{rate: 0.5}).train()
        assert not torch.equal(words(IDS).logits, words.eval()(IDS).logits)


# ── the classifier, and refusals ──────────────────────────────────────────────────────────────────────────────────


def test_classes_of_a_text_of_padding_alone_are_finite_and_of_others_its_own() -> None:
    model = tiny("awd-lstm", "SequenceClassification")
    real = torch.ones(2, 9).bool()
    real[1] = False
    assert torch.isfinite(model(IDS, real).logits).all()
    close(model(IDS, real).logits[:1], model(IDS[:1]).logits)


def test_batch_norm_needs_several_texts() -> None:
    model = tiny("awd-lstm", "SequenceClassification").train()
    refused(model, {"input_ids": IDS[:1]}, ValueError, "one text in training, where batch norm needs several")
    assert torch.isfinite(model(IDS, labels=torch.tensor([0, 2])).loss)


@pytest.mark.parametrize(("kind", "changes", "says"), [
    (AwdLstmConfig, {"weight_dropout": 1.0}, "weight_dropout is 1.0; it must be 0 to below 1"),
    (AwdLstmConfig, {"classifier_hidden": (0,)}, "classifier_hidden is .* whole widths of at least 1"),
    (AwdLstmConfig, {"classifier_hidden": 50}, "classifier_hidden is 50; it must be whole widths"),
    (AwdLstmConfig, {"num_hidden_layers": 0}, "num_hidden_layers is 0; it must be at least 1"),
    (SiatlConfig, {"task_hidden_size": 0}, "task_hidden_size is 0; it must be at least 1"),
    (SiatlConfig, {"lm_weight": -1.0}, "lm_weight is -1.0; it must be at least 0"),
])  # fmt: skip
def test_sizes_and_rates_that_cannot_be(kind: Any, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        kind(**changes)


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_the_last_layer_is_as_wide_as_the_table(layers: int) -> None:
    config = AwdLstmConfig(vocab_size=V, hidden_size=6, intermediate_size=10, num_hidden_layers=layers)
    model: Any = AwdLstm(config, "CausalLM")
    widths = [x.shape[-1] for x in model(IDS).hidden_states]
    assert widths == [6, *[10] * (layers - 1), 6] and model.head.decoder.weight is model.embeddings.token.weight
    assert 0.05 < float(model.embeddings.token.weight.detach().abs().max()) <= 0.1 and not model.head.decoder.bias.any()
