"""XLNet's two streams, in float64: who sees whom by counting, batches by their rows, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from lmexplain.layers import by_key, distances
from lmexplain.models import Model
from lmexplain.patterns import permutation, window, xlnet

from .test_bad_input import refused
from .tiny import LAYERS, H, V, tiny, tokens

IDS = tokens(2, 5)


def hidden_from(order: list[int]) -> Tensor:
    """(1, T, T): 1 where i does not come after j in the order."""
    rank = torch.tensor(order).argsort()
    return (rank[:, None] <= rank[None]).long()[None]


def everywhere(T: int, *places: int, rows: int = 1) -> Tensor:
    """A target on each of these tokens, else on all."""
    return torch.eye(T)[list(places) or list(range(T))].expand(rows, -1, -1)


def moved(model: Model, states: str, **given: Tensor) -> Tensor:
    """(T, T): does anything at i change where the token at j is another one?"""
    before = getattr(model(IDS[:1], **given), states)[-1]
    columns = []
    for j in range(5):
        other = IDS[:1].clone()
        other[0, j] = 6 + (other[0, j] - 5) % (V - 6)
        columns.append((getattr(model(other, **given), states)[-1] != before).any(-1)[0])
    return torch.stack(columns, dim=1)


@pytest.mark.parametrize("order", list(itertools.permutations(range(5)))[::7], ids=str)
def test_no_query_sees_itself_nor_what_comes_later(order: tuple[int, ...]) -> None:
    """Q (C ∪ I)^(L-1): its own step strictly back, the rest along the content stream."""
    model, rank = tiny("xlnet"), torch.tensor(order).argsort()
    C, Q = rank[None] <= rank[:, None], rank[None] < rank[:, None]
    reach = Q.int() @ torch.linalg.matrix_power((C | torch.eye(5).bool()).int(), LAYERS - 1) > 0
    given = {"perm_mask": hidden_from(list(order)), "target_mapping": everywhere(5)}
    found = moved(model, "query_states", **given)
    assert torch.equal(found, reach) and not found.diagonal().any()
    assert torch.equal(moved(model, "hidden_states", **given), C)
    output = model(IDS[:1], **given)
    assert all(torch.equal(grid.dense().view(5, 5), C) for grid in output.grids)
    assert all(torch.equal(grid.dense().view(5, 5), Q) for grid in output.query_grids)


@pytest.mark.parametrize("pattern", [permutation([2, 0, 3, 1, 4]), xlnet([2, 0, 3, 1, 4])], ids=["order", "titled"])
def test_an_order_as_a_pattern_is_its_mask(pattern: Any) -> None:
    model, targets = tiny("xlnet"), everywhere(5, 1, 3, rows=2)
    a = model(IDS, pattern=pattern, target_mapping=targets)
    b = model(IDS, perm_mask=hidden_from([2, 0, 3, 1, 4]).expand(2, -1, -1), target_mapping=targets)
    for x, y in zip((*a.hidden_states, *a.query_states), (*b.hidden_states, *b.query_states), strict=True):
        assert (x - y).abs().max() < 1e-12


def test_an_order_stands_beside_the_memory() -> None:
    model, order = tiny("xlnet", mem_len=None), [2, 0, 3, 1, 4]
    mems, targets = model(tokens(2, 3, seed=1)).mems, everywhere(5, rows=2)
    a = model(IDS, mems=mems, pattern=permutation(order), target_mapping=targets)
    b = model(IDS, mems=mems, perm_mask=hidden_from(order).expand(2, -1, -1), target_mapping=targets)
    assert (a.last_hidden_state - b.last_hidden_state).abs().max() < 1e-12
    assert a.query_grids[0].dense().view(5, 8)[:, :3].all()
    both = model(IDS, pattern=[permutation(order), window(3), window(3)], target_mapping=targets)
    assert [grid.dense().view(5, 5).sum(-1).tolist() for grid in both.query_grids] == [
        [1, 3, 0, 2, 4], [1, 2, 2, 2, 1], [1, 2, 2, 2, 1],
    ]  # fmt: skip


def test_the_first_of_an_order_sees_nothing() -> None:
    """Filled with a large negative number, all scores of its row are alike and its own word leaks."""
    model = tiny("xlnet")
    given = {"perm_mask": hidden_from([2, 0, 3, 1, 4]).expand(2, -1, -1), "target_mapping": everywhere(5, 2, rows=2)}
    a = model(IDS, **given, output_attentions=True)
    b = model(tokens(2, 5, seed=9), **given)
    assert torch.equal(a.last_hidden_state, b.last_hidden_state)
    assert not any(weights[:, :, 2].any() for weights in a.query_attentions)
    assert torch.isfinite(a.last_hidden_state).all()
    a.last_hidden_state.square().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("places", [(4,), (3, 4), (1, 0, 4)], ids=str)
def test_each_row_of_a_batch_has_its_own_targets(places: tuple[int, ...]) -> None:
    model, ids = tiny("xlnet", "PermutationLM"), tokens(3, 5)
    mapping = torch.stack([everywhere(5, *((p + b) % 5 for p in places))[0] for b in range(3)])
    hides = torch.stack([hidden_from([(i + b) % 5 for i in range(5)])[0] for b in range(3)])
    together = model(ids, perm_mask=hides, target_mapping=mapping)
    assert together.logits.shape == (3, len(places), V) and together.last_hidden_state.shape == (3, len(places), H)
    for b in range(3):
        row = slice(b, b + 1)
        alone = model(ids[row], perm_mask=hides[row], target_mapping=mapping[row])
        assert (together.logits[row] - alone.logits).abs().max() < 1e-12
    labels = torch.tensor([[7] * len(places), [-100] * len(places), [9] * len(places)])
    expected = torch.nn.functional.cross_entropy(together.logits.flatten(0, 1), labels.flatten())
    assert abs(model(ids, perm_mask=hides, target_mapping=mapping, labels=labels).loss - expected) < 1e-12


def test_one_target_does_not_see_another() -> None:
    """A query's state depends on its place and the content, not on how many are asked for, nor on those that fill."""
    model, hides = tiny("xlnet"), hidden_from([2, 0, 3, 1, 4]).expand(2, -1, -1)
    all_of_them = model(IDS, perm_mask=hides, target_mapping=everywhere(5, rows=2)).last_hidden_state
    filled = torch.cat([everywhere(5, 4, 1, rows=2), torch.zeros(2, 1, 5)], dim=1)
    some = model(IDS, perm_mask=hides, target_mapping=filled).last_hidden_state
    assert (some[:, :2] - all_of_them[:, [4, 1]]).abs().max() < 1e-12 and torch.isfinite(some).all()


def test_content_is_the_same_with_targets_and_without() -> None:
    model = tiny("xlnet", mem_len=None)
    a, b = model(IDS), model(IDS, target_mapping=everywhere(5, 0, rows=2))
    assert all(torch.equal(x, y) for x, y in zip(a.hidden_states, b.hidden_states, strict=True))
    assert all(torch.equal(x, y) for x, y in zip(a.mems, b.mems, strict=True))
    assert a.query_states is None and not a.query_grids and len(b.query_grids) == LAYERS


def test_segments_are_only_same_or_other() -> None:
    model, kinds = tiny("xlnet"), torch.tensor([[0, 0, 1, 1, 2]] * 2)
    a, b = model(IDS, token_type_ids=kinds), model(IDS, token_type_ids=7 - kinds)
    assert torch.equal(a.last_hidden_state, b.last_hidden_state)
    assert not torch.equal(a.last_hidden_state, model(IDS, token_type_ids=kinds.clamp(max=1)).last_hidden_state)
    mems = model(IDS).mems      # whose tokens count as segment 0
    a, b = model(IDS, token_type_ids=kinds, mems=mems), model(IDS, token_type_ids=kinds + 1, mems=mems)
    assert not torch.equal(a.last_hidden_state, b.last_hidden_state)


@pytest.mark.parametrize(("T", "S"), [(4, 4), (1, 1), (3, 8), (1, 6), (5, 9)])
def test_the_shift_brings_each_distance_to_its_pair(T: int, S: int) -> None:
    """Both ways, ahead and back: the scores stand for 100 i + (i - j), i among the keys."""
    start = S - T
    far = distances(T, S, start)
    scores = (100 * torch.arange(T)[:, None] + far[None]).expand(2, 3, T, T + S)
    expected = torch.tensor([[100 * i + (start + i - j) for j in range(S)] for i in range(T)])
    assert torch.equal(by_key(scores, S), expected.expand(2, 3, T, S))
    assert torch.equal(by_key(scores.clone(), S), expected.expand(2, 3, T, S))


def wrong() -> dict[str, tuple[dict[str, Any], type[Exception], str]]:
    hides, targets = torch.zeros(2, 5, 5), everywhere(5, 1, 4, rows=2)
    two, twice, nowhere = targets.clone(), targets.clone(), targets.clone()
    two[1, 0, 3] = 1
    twice[1, 0] = twice[1, 1]
    nowhere[1] = 0
    labels = torch.tensor([[7, 8], [9, -100]])
    return {
        "a mask of another length": ({"perm_mask": hides[:, :4]}, ValueError, r"perm_mask has shape \(2, 4, 5\)"),
        "a mask for one of two": ({"perm_mask": hides[:1]}, ValueError, r"perm_mask has shape \(1, 5, 5\)"),
        "a mask of numbers": ({"perm_mask": hides - 1e30}, ValueError, "perm_mask holds -1.*give 0 and 1 alone"),
        "a list": ({"perm_mask": hides.tolist()}, TypeError, "perm_mask is of type list"),
        "both masks": ({"attention_mask": torch.ones(2, 5), "input_mask": torch.zeros(2, 5)}, ValueError, "give one"),
        "an input mask of 2": ({"input_mask": torch.full((2, 5), 2)}, ValueError, "input_mask holds 2"),
        "a short input mask": ({"input_mask": torch.zeros(2, 4)}, ValueError, r"input_mask has shape \(2, 4\)"),
        "targets without a text": ({"target_mapping": targets[0]}, ValueError, r"shape \(2, 5\); give \(batch"),
        "no target": ({"target_mapping": targets[:, :0]}, ValueError, r"\(2, 0, 5\); give \(batch, targets"),
        "targets of one text": ({"target_mapping": targets[:1]}, ValueError, r"shape \(1, 2, 5\)"),
        "half a target": ({"target_mapping": targets / 2}, ValueError, "target_mapping holds 0.5"),
        "a target on two": ({"target_mapping": two}, ValueError, "target 0 of text 1 stands on 2 tokens; give each"),
        "two targets on one": ({"target_mapping": twice}, ValueError, "text 1 has 2 targets on token 4; give each"),
        "a label on nothing": (
            {"target_mapping": nowhere, "labels": labels}, ValueError,
            "target 0 of text 1 has a label and stands on no token; give it its own, or the label -100"),
        "labels of the text": (
            {"target_mapping": targets, "labels": IDS}, ValueError, r"labels .*\(2, 5\).*\(2, 2\)"),
        "labels in a list": ({"target_mapping": targets, "labels": [[1, 2]]}, TypeError, "labels is of type list"),
    }  # fmt: skip


@pytest.mark.parametrize("case", wrong())
def test_bad_streams_are_refused(case: str) -> None:
    changes, error, says = wrong()[case]
    refused(tiny("xlnet", "PermutationLM"), {"input_ids": IDS, **changes}, error, says)


def test_what_it_has_not_is_refused() -> None:
    for changes, says in (
        ({"attn_type": "left"}, "attn_type is 'left'; it must be bi or uni"),
        ({"reuse_len": 0}, "reuse_len is 0"),
        ({"same_length": True, "mem_len": 4}, "same_length is True; it must be False"),
        ({"hidden_dropout_prob": 0.2}, "attention_probs_dropout_prob is 0.0"),
    ):
        with pytest.raises(ValueError, match=says):
            tiny("xlnet", **changes)
    model = tiny("xlnet", bi_data=True)
    refused(model, {"input_ids": tokens(3, 5)}, ValueError, "a batch of 3: half of it reads backwards")
    halves = model(IDS[:1].expand(2, -1)).last_hidden_state
    assert not torch.allclose(halves[0], halves[1])
    turned = model(IDS[:1].flip(1).expand(2, -1)).last_hidden_state.flip(1)
    assert (halves[0] - turned[1]).abs().max() < 1e-12          # the other way round it is the same text
