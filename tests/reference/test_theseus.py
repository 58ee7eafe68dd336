"""BERT-of-Theseus: what runs, when, and what is trained."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

import lmexplain
from lmexplain.models import Bert, BertConfig, Theseus, TheseusConfig
from lmexplain.models.theseus import constant_rate, linear_rate
from lmexplain.patterns import full

from .exact import HEADS, SIZES, exact, released, same, texts
from .naive import bert as naive_bert
from .naive import linear
from .naive import theseus as naive_theseus


def theseus(layers: int = 4, successor: int = 2, **changes: Any) -> Any:
    config = TheseusConfig(**{**SIZES, "num_hidden_layers": layers}, successor_layers=successor, **changes)
    return exact(Theseus(config, "SequenceClassification"))


def test_theseus_runs_what_it_says() -> None:
    """In training each drawn mixture is the loop's; in evaluation the successor alone."""
    model = theseus()
    found, ids, mask = texts(6, 3)
    w, seen = released(model), set()
    torch.manual_seed(0)
    for training in [True] * 32 + [False]:
        output = model.train(training)(ids, mask, output_attentions=True)
        names = naive_theseus.layers(output.replaced, 4)
        assert len(output.grids) == len(output.attentions) == len(names) == len(output.hidden_states) - 1
        if (output.replaced, training) in seen:
            continue
        seen.add((output.replaced, training))
        for b, text in enumerate(found):
            states = naive_bert.encode(w, text, [0] * len(text), layers=names, heads=HEADS, eps=1e-12)
            for i, expected in enumerate(states):
                same(output.hidden_states[i][b, : len(text)], expected, f"{output.replaced}, text {b}, level {i}")
            same(output.logits[b], linear(w, "classifier", naive_bert.pooled(w, states[-1][0])).tolist(), "logits")
    assert len({replaced for replaced, training in seen if training}) == 4
    assert output.replaced == (True, True)


def test_theseus_saves_under_released_names(tmp_path: Path) -> None:
    model = theseus()
    lmexplain.save(model, tmp_path)
    again = lmexplain.load(tmp_path, model=Theseus)
    assert {name.split(".")[0] for name, p in again.named_parameters() if p.requires_grad} == {"successors"}
    assert again.config == model.config
    for name, value in model.state_dict().items():
        assert torch.equal(again.double().state_dict()[name], value), name


def test_each_module_is_drawn_by_itself() -> None:
    """6 modules at rate 0.5, 10,000 steps: all 64 mixtures occur, and all or none in 2 of 64 steps, about 3.1%."""
    model = theseus(12, 6).train()
    torch.manual_seed(0)
    drawn = Counter(model.draw() for _ in range(10_000))
    assert len(drawn) == 64
    extreme = drawn[(True,) * 6] + drawn[(False,) * 6]
    assert abs(extreme / 10_000 - 2 / 64) < 0.005
    _, ids, _ = texts(4)
    torch.manual_seed(0)
    first = [model(ids).replaced for _ in range(8)]
    torch.manual_seed(0)
    assert first == [model.draw() for _ in range(8)]                      # a seed repeats it, one draw in each pass
    state = torch.get_rng_state()
    assert model.eval()(ids).replaced == (True,) * 6
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("rate, replaced", [(0, False), (1, True)])
def test_rates_at_their_ends(rate: float, replaced: bool) -> None:
    """Rate 0 is the predecessor, rate 1 the successor; a layer that does not run gets no gradient."""
    model = theseus().train()
    model.replacing_rate = rate
    model.requires_grad_(True)
    _, ids, _ = texts(5)
    output = model(ids, labels=torch.tensor([1]))
    assert output.replaced == (replaced, replaced)
    output.loss.backward()
    for layers, ran in ((model.layers, not replaced), (model.successors, replaced)):
        assert all((p.grad is not None) == ran for p in layers.parameters())
    same(output.logits, [(model.successor() if replaced else predecessor(model))(ids).logits[0]], "logits")


def predecessor(model: Theseus) -> Bert:
    """The BERT whose modules are replaced."""
    sizes = {**SIZES, "num_hidden_layers": model.config.num_hidden_layers}
    bert = exact(Bert(BertConfig(**sizes), model.head_name))
    bert.load_state_dict({name: x for name, x in model.state_dict().items() if not name.startswith("successors.")})
    return bert


@pytest.mark.parametrize("rate", [1.2, -0.1, float("nan")])
def test_rates_outside_0_to_1_are_refused(rate: float) -> None:
    with pytest.raises(ValueError, match=f"the replacing rate is {rate}; it is a probability"):
        theseus().replacing_rate = rate
    with pytest.raises(ValueError, match="it is a probability"):
        TheseusConfig(replacing_rate=rate)
    with pytest.raises(ValueError, match="it is a probability"):
        constant_rate(0, rate)
    with pytest.raises(ValueError, match="it is a probability"):
        linear_rate(1, 0.0, min(rate, -0.1))


def test_schedules() -> None:
    linear_rates = [linear_rate(t, 0.1, 0.3) for t in range(10)]
    assert linear_rates == pytest.approx([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0])
    assert [constant_rate(t, 0.5) for t in (0, 9999)] == [0.5, 0.5]
    assert [constant_rate(t, 0.5, steps=2) for t in range(4)] == [0.5, 0.5, 1.0, 1.0]
    assert [constant_rate(t, 0.5, steps=0) for t in range(3)] == [0.5, 1.0, 1.0]     # it steps after the first batch


def test_the_successor() -> None:
    """It starts as the first layers, is all that is trained, and remains as a plain BERT."""
    bert = exact(Bert(BertConfig(**{**SIZES, "num_hidden_layers": 4}), "SequenceClassification"))
    model = Theseus.from_predecessor(bert, 2)
    for ours, first in zip(model.successors, bert.layers, strict=False):
        assert all(torch.equal(x, first.state_dict()[name]) for name, x in ours.state_dict().items())
    assert {name.split(".")[0] for name, p in model.named_parameters() if p.requires_grad} == {"successors"}
    _, ids, mask = texts(6, 3)
    with torch.no_grad():
        for p in model.successors.parameters():
            p.add_(0.1)
    left = model.successor()
    assert type(left) is Bert and type(left.config) is BertConfig and left.config.num_hidden_layers == 2
    assert all(p.requires_grad for p in left.parameters()) and not left.training
    assert torch.equal(left(ids, mask).logits, model(ids, mask).logits)


@pytest.mark.parametrize("name, parameters", [("theseus-6-layer", 66_955_008), ("theseus-3-layer", 45_691_392)])
def test_what_remains_of_bert_base(name: str, parameters: int) -> None:
    with torch.device("meta"):
        left = Theseus(TheseusConfig.published(name)).successor()
    assert sum(p.numel() for p in left.parameters()) == parameters


def test_theseus_refuses() -> None:
    with pytest.raises(ValueError, match="successor_layers is 5; it must be a divisor of the predecessor's 12 layers"):
        TheseusConfig(successor_layers=5)
    with pytest.raises(ValueError, match="give one for all"):
        theseus()(torch.tensor([[7]]), pattern=[full()] * 4)
