"""What must hold of any model, whatever its weights: in float64, by changing one thing and looking at what moves."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from lmexplain.layers import Output
from lmexplain.models import MODELS, Model
from lmexplain.patterns import Grid, Pattern, causal, reach, window

from .tiny import LAYERS, V, given, takes, tiny, tokens

IDS = tokens(2, 9)
REAL = torch.ones(2, 9).bool()
REAL[1, 6:] = False
PATTERNS: dict[str, Pattern | Sequence[Pattern] | None] = {
    "its own": None,
    "a window": window(3),
    "one for each layer": [window(3), causal(), window(5, dilation=2)][:LAYERS],
}


def moved(model: Model, argument: str, options: dict[str, Any]) -> Tensor:
    """(B, T, S): does the output at T change at all where the token at S of this argument is another one?"""
    first = given(model, IDS, **options)
    before = model(**first)
    columns = []
    for s in range(IDS.shape[1]):
        other = first[argument].clone()
        other[:, s] = 6 + (other[:, s] - 5) % (V - 6)
        after = model(**{**first, argument: other})
        columns.append((after.last_hidden_state != before.last_hidden_state).any(-1))
    return torch.stack(columns, dim=-1)


def field(*grids: Grid) -> Tensor:
    """`reach` for each of two samples."""
    found = reach(grids)
    return found if found.dim() == 3 else found.expand(2, -1, -1)


def fields(output: Output) -> dict[str, Tensor]:
    """What each text may move, by the argument that it comes in."""
    if output.encoder is None:
        return {"input_ids": field(*output.grids)}
    ways = [field(*output.encoder.grids, cross, *output.grids[i + 1 :]) for i, cross in enumerate(output.cross_grids)]
    return {"input_ids": torch.stack(ways).any(0), "decoder_input_ids": field(*output.grids)}


def takes_one_for_each(model: Model) -> bool:
    try:
        model.grids(9, pattern=[window(3)] * LAYERS)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", MODELS)
def test_a_token_moves_exactly_the_positions_that_its_grids_reach(name: str, pattern: str) -> None:
    model, chosen = tiny(name), PATTERNS[pattern]
    if chosen is not None and not takes(model, "pattern"):
        pytest.skip("who depends on whom is not a choice in it")
    if isinstance(chosen, Sequence) and not takes_one_for_each(model):
        pytest.skip("all of its layers have one pattern")
    options = {} if chosen is None else {"pattern": chosen}
    for mask in ({}, {"attention_mask": REAL}):
        output = model(**given(model, IDS, **mask, **options))
        for argument, expected in fields(output).items():
            changes = moved(model, argument, {**mask, **options})
            # what stands at padding is the model's own affair (XLM sets it to 0); a decoder has none here
            rows = REAL if mask and output.encoder is None else torch.ones_like(REAL)
            assert len(output.grids) == LAYERS and torch.equal(changes[rows], expected[rows]), argument
        if chosen is not None and not mask and not takes(model, "decoder_input_ids"):
            own = [chosen] * LAYERS if isinstance(chosen, Pattern) else chosen
            assert [grid.pattern for grid in output.grids] == list(own), "it ran along the pattern that was asked for"


@pytest.mark.parametrize("name", MODELS)
def test_the_same_input_gives_the_same_output_whatever_ran_before(name: str) -> None:
    model = tiny(name)
    arguments = given(model, IDS, attention_mask=REAL)
    first = model(**arguments).last_hidden_state
    model(**given(model, tokens(1, 20, seed=3)))
    assert torch.equal(first, model(**arguments).last_hidden_state)


@pytest.mark.parametrize("name", MODELS)
def test_the_order_of_a_batch_does_not_matter(name: str) -> None:
    model = tiny(name)
    both = model(**given(model, IDS, attention_mask=REAL)).last_hidden_state
    turned = model(**given(model, IDS.flip(0), attention_mask=REAL.flip(0))).last_hidden_state
    alone = model(**given(model, IDS[:1])).last_hidden_state
    for a, b in ((turned, both.flip(0)), (alone, both[:1])):
        assert (a - b).abs().max() <= 1e-12 * both.abs().max()


@pytest.mark.parametrize("name", MODELS)
def test_padding_changes_nothing_but_itself(name: str) -> None:
    model = tiny(name)
    if takes(model, "decoder_input_ids"):
        pytest.skip("its decoder has no padding of its own here")
    padded = model(**given(model, IDS, attention_mask=REAL)).last_hidden_state[1:, :6]
    bare = model(**given(model, IDS[1:, :6])).last_hidden_state
    assert (padded - bare).abs().max() <= 1e-12 * bare.abs().max()


@pytest.mark.parametrize("name", MODELS)
def test_compiled_equals_eager(name: str) -> None:
    model = tiny(name)
    arguments = given(model, IDS, attention_mask=REAL)
    compiled = torch.compile(model, backend="aot_eager")
    with torch.no_grad():
        for a, b in zip(compiled(**arguments).hidden_states, model(**arguments).hidden_states, strict=True):
            assert (a - b).abs().max() <= 1e-12 * b.abs().max()


@pytest.mark.parametrize("name", MODELS)
def test_it_is_an_ordinary_module(name: str, tmp_path) -> None:
    """Subclassed, copied, saved, loaded, trained for one step."""
    kind: Any = type("Mine", (MODELS[name],), {})
    model = tiny(name)
    mine = kind(model.config).double().eval()
    assert not list(model.buffers())
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    mine.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    before = model(**given(model, IDS)).last_hidden_state
    assert torch.equal(before, mine(**given(model, IDS)).last_hidden_state)
    assert torch.equal(before, copy.deepcopy(model)(**given(model, IDS)).last_hidden_state)

    assert torch.isfinite(mine.train()(**given(model, IDS)).last_hidden_state).all()
    mine.eval()         # where nothing is drawn
    optimizer = torch.optim.SGD(mine.parameters(), lr=1e-3)
    losses = []
    for _ in range(2):
        loss = mine(**given(model, IDS)).last_hidden_state.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[1] < losses[0]
