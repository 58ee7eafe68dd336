"""A bad input gets an error that names it, its limit and the remedy, before anything is computed; for every model."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

from lmexplain.models import MODELS, Model
from lmexplain.patterns import full, padding

from .tiny import LAYERS, LONGEST, V, given, takes, tiny, tokens

IDS = tokens(2, 7)
REAL = torch.ones(2, 7)
ADDED = torch.zeros(2, 7).masked_fill(torch.tensor([False] * 5 + [True] * 2), float("-inf"))


def mask(value: Any) -> dict[str, Any]:
    return {"attention_mask": value}


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "an id over the vocabulary": (
        {"input_ids": IDS.clone().fill_(V)}, ValueError, rf"input_ids holds {V}, outside 0 to {V - 1}; encode"),
    "a negative id": ({"input_ids": IDS - V}, ValueError, r"input_ids holds -\d+, outside 0 to"),
    "an empty batch": ({"input_ids": IDS[:0]}, ValueError, r"shape \(0, 7\): give at least one sentence"),
    "no token": ({"input_ids": IDS[:, :0]}, ValueError, r"shape \(2, 0\): give at least one sentence"),
    "a sentence without its batch": ({"input_ids": IDS[0]}, ValueError, r"shape \(7,\); give \(batch, length\)"),
    "ids that are floats": ({"input_ids": IDS.float()}, TypeError, r"torch.float32; give integers"),
    "ids that are bools": ({"input_ids": IDS > 9}, TypeError, r"torch.bool; give integers"),
    "ids that no table takes": ({"input_ids": IDS.short()}, TypeError, r"torch.int16; give integers \(torch.long\)"),
    "ids in a list": ({"input_ids": IDS.tolist()}, TypeError, r"input_ids is of type list; give a tensor"),
    "a mask in a list": (mask(REAL.tolist()), TypeError, r"attention_mask is of type list; give a tensor"),
    "a mask that is added": (mask(ADDED), ValueError, r"attention_mask holds -inf; give 1 \(True\) for a real token"),
    "a mask of other numbers": (mask(REAL * 2), ValueError, r"attention_mask holds 2.0; give 1"),
    "a mask with NaN": (mask(REAL * float("nan")), ValueError, r"attention_mask holds nan; give 1"),
    "a mask of another length": (mask(REAL[:, :6]), ValueError, r"shape \(2, 6\), .*\(2, 7\); give one value for each"),
    "a mask for one of two": (mask(REAL[:1]), ValueError, r"shape \(1, 7\), .*\(2, 7\)"),
    "a mask of pairs": (mask(torch.ones(2, 1, 7, 7)), ValueError, r"shape \(2, 1, 7, 7\), .*by pattern="),
    "too few patterns": (
        {"pattern": [full()] * (LAYERS - 1)}, ValueError, rf"{LAYERS - 1} patterns (for {LAYERS} layers|given); .*one"),
    "a pattern of another length": ({"pattern": padding(torch.ones(2, 9).bool())}, ValueError, "9"),
}  # fmt: skip


def refused(model: Model, arguments: dict[str, Any], error: type[Exception], says: str) -> None:
    """The pass raises this error, and no part of the model has run."""
    ran: list[str] = []
    hooks = [module.register_forward_pre_hook(lambda *_, name=name: ran.append(name))
             for name, module in model.named_modules() if name]  # fmt: skip
    with pytest.raises(error, match=says):
        model(**arguments)
    for hook in hooks:
        hook.remove()
    assert not ran, f"{ran[0]} had run before the input was looked at"


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("name", MODELS)
def test_a_bad_input_is_refused(name: str, case: str) -> None:
    changed, error, says = BAD[case]
    model = tiny(name)
    if "pattern" in changed and not takes(model, "pattern"):
        pytest.skip("who depends on whom is not a choice in it")
    refused(model, {**given(model, IDS), **changed}, error, says)


@pytest.mark.parametrize("name", MODELS)
def test_ids_of_places_and_segments_are_looked_at(name: str) -> None:
    model = tiny(name)
    for argument in ("position_ids", "token_type_ids", "langs", "task_type_ids"):
        table = {"position_ids": ".position.", "token_type_ids": ".segment."}.get(argument, "")
        if takes(model, argument):
            outside = (
                (IDS * 0 - 1, ValueError, "holds -1"),
                (IDS * 0 + 10**6, ValueError, "holds 1000000"),
            ) if any(table in name for name, _ in model.named_parameters()) else ()     # else there is no end
            for wrong, error, says in (
                *outside,
                (IDS[:, :3] * 0, ValueError, r"has shape \(2, 3\)"),
                (IDS * 0.0, TypeError, "is torch.float32"),
            ):
                refused(model, given(model, IDS, **{argument: wrong}), error, f"{argument} {says}")


@pytest.mark.parametrize("name", MODELS)
def test_exactly_one_of_ids_and_embedded_tokens(name: str) -> None:
    model = tiny(name)
    rest = {key: value for key, value in given(model, IDS).items() if key != "input_ids"}
    refused(model, rest, ValueError, "neither of input_ids and inputs_embeds given; give exactly one")
    if takes(model, "inputs_embeds"):
        embedded = torch.zeros(2, 7, 16, dtype=torch.float64)
        refused(model, given(model, IDS, inputs_embeds=embedded), ValueError, "both of input_ids and inputs_embeds")
        refused(model, {**rest, "inputs_embeds": embedded[..., :5]}, ValueError, r"shape \(2, 7, 5\); give \(batch")


@pytest.mark.parametrize("name", MODELS)
def test_a_text_longer_than_the_position_table(name: str) -> None:
    model, long = tiny(name), tokens(1, LONGEST + 1)
    if any(p.dim() == 2 and len(p) == LONGEST for p in model.parameters()):
        refused(model, given(model, long), ValueError, r"holds \d+, outside 0 to \d+; .*shorten")
    else:       # positions that are computed have no end
        assert torch.isfinite(model(**given(model, long)).last_hidden_state).all()


@pytest.mark.parametrize("name", MODELS)
def test_a_sentence_of_padding_alone_attends_to_nothing(name: str) -> None:
    model = tiny(name)
    real = REAL.clone()
    real[1] = 0
    output = model(**given(model, IDS, attention_mask=real), output_attentions=True)
    assert all(torch.isfinite(state).all() for state in output.hidden_states)
    attentions = output.attentions if output.encoder is None else output.encoder.attentions
    assert all((weights[1] == 0).all() and (weights[0].sum(-1) - 1).abs().max() < 1e-12 for weights in attentions)
    fused = model(**given(model, IDS, attention_mask=real)).last_hidden_state
    assert (fused - output.last_hidden_state).abs().max() < 1e-12


HEADS = [(name, head) for name, model in MODELS.items() for head in model.heads]


@pytest.mark.parametrize(("name", "head"), HEADS)
def test_bad_targets_are_refused(name: str, head: str) -> None:
    model = tiny(name, head)
    assert model.head is not None
    targets = [name for name in inspect.signature(model.head.check).parameters if name != "shape"]
    if takes(model, "targets"):
        refused(model, given(model, IDS, no_such_target=IDS), ValueError, "takes .*, not no_such_target")
    for target in targets:
        refused(model, given(model, IDS, **{target: torch.zeros(2, 7, 7)}), ValueError, "give")
        refused(model, given(model, IDS, **{target: [0, 1]}), TypeError, f"{target} is of type list; give a tensor")
        if "label" in target:
            for kind in (torch.bool, torch.complex64):
                for shape in ((2, 7), (2,)):
                    odd = torch.ones(shape, dtype=kind)
                    refused(model, given(model, IDS, **{target: odd}), ValueError, "give")
            for shape in ((2, 7), (2,)):    # of tokens or of sentences: one is a wrong shape, the other out of range
                for wrong in (10**6, -1, -100):
                    refused(model, given(model, IDS, **{target: torch.full(shape, wrong)}), ValueError, "give|outside")


@pytest.mark.parametrize("name", MODELS)
def test_targets_without_a_head_are_refused(name: str) -> None:
    model = tiny(name)
    refused(model, given(model, IDS, labels=IDS), ValueError, "labels given to a model without a head; make it with")
    with pytest.raises(ValueError, match="has no head 'Nonsense'; choose one of"):
        MODELS[name](model.config, "Nonsense")  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(("places", "says"), [
    ([-1, 3], r"start_positions range from -1 to 3 over 7 tokens; give places from 0"),
    ([7, 9], r"start_positions range from 7 to 9 over 7 tokens; .*: 7 or more is no target"),
])  # fmt: skip
def test_an_answer_stands_somewhere(places: list[int], says: str) -> None:
    model, end = tiny("bert", "QuestionAnswering"), torch.tensor([3, 4])
    refused(model, {"input_ids": IDS, "start_positions": torch.tensor(places), "end_positions": end}, ValueError, says)
    found = model(IDS, start_positions=torch.tensor([2, 9]).int(), end_positions=end)
    start = torch.nn.functional.cross_entropy(found.start_logits[:1], torch.tensor([2]))
    assert torch.isclose(found.loss, (start + torch.nn.functional.cross_entropy(found.end_logits, end)) / 2)


@pytest.mark.parametrize("odd", [1.5, -100.0, float("nan")])
def test_floats_for_several_classes_say_yes_or_no(odd: float) -> None:
    labels = torch.zeros(2, 3).index_fill_(1, torch.tensor([1]), odd)
    refused(tiny("bert", "SequenceClassification"), {"input_ids": IDS, "labels": labels}, ValueError, "yes .1. or no")


@pytest.mark.parametrize(("field", "value"), [
    ("initializer_range", -1.0), ("layer_norm_eps", 0.0), ("layer_norm_eps", float("nan")), ("classifier_dropout", 2.0),
])  # fmt: skip
def test_a_rate_or_scale_that_can_not_be(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{field} is {value}; it must be"):
        tiny("bert", **{field: value})
