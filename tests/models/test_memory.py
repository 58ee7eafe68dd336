"""Models with a memory: what goes in and out, what it reaches, and text written from it.

Any model that takes `mems`, in float64, against the same model over the whole text, and against counting.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from lmexplain.models import MODELS, Model, generate
from lmexplain.patterns import causal, window

from .test_bad_input import refused
from .tiny import LAYERS, H, takes, tiny, tokens

NAMES = [name for name, model in MODELS.items() if takes(model, "mems")]
TEXT = tokens(2, 12)
PROMPT = {"input_ids": tokens(3, 4), "attention_mask": torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 1]])}


def one_way(name: str, head: str | None = None, **changes: Any) -> Model:
    """It keeps all states, unless it is told otherwise, and looks ahead nowhere."""
    direction = {"attn_type": "uni"} if hasattr(tiny(name).config, "attn_type") else {}
    return tiny(name, head, **{"mem_len": None, "same_length": False, **direction, **changes})


def segments(model: Model, lengths: tuple[int, ...], **given: Tensor) -> list[Any]:
    """The outputs of neighbouring segments of the text, each with the memory of those before."""
    outputs, first, mems = [], 0, None
    for length in lengths:
        part = {name: x[:, first : first + length] for name, x in given.items()}
        outputs.append(model(TEXT[:, first : first + length], mems=mems, **part))
        first, mems = first + length, outputs[-1].mems
    return outputs


def same(a: Tensor, b: Tensor) -> None:
    assert a.shape == b.shape and (a - b).abs().max() <= 1e-12 * max(1.0, float(b.abs().max()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lengths", [(7, 1, 4), (1, 11), (3, 3, 3, 3)], ids=str)
def test_segments_with_a_memory_of_all_are_one_pass(name: str, lengths: tuple[int, ...]) -> None:
    model = one_way(name)
    whole, parts = model(TEXT), segments(model, lengths)
    for level in range(LAYERS + 1):
        same(torch.cat([part.hidden_states[level] for part in parts], 1), whole.hidden_states[level])
    for kept, again, states in zip(parts[-1].mems, whole.mems, whole.hidden_states, strict=False):
        same(kept, again)
        same(kept, states.transpose(0, 1))          # the inputs of the layers, time first


def test_of_same_length_segments_are_one_pass_whatever_is_kept() -> None:
    """Each token sees mem_len keys, itself among them, and the memory holds what it needs of those."""
    model = tiny("transformer-xl", mem_len=3, same_length=True)
    whole = model(TEXT).last_hidden_state
    same(torch.cat([part.last_hidden_state for part in segments(model, (5, 1, 1, 2, 3))], 1), whole)
    assert model(TEXT).grids[0].dense().sum(-1).tolist() == [1, 2] + [3] * 10


@pytest.mark.parametrize("name", NAMES)
def test_a_memory_moves_exactly_what_its_grids_reach(name: str) -> None:
    M, T = 4, 5
    model = tiny(name, mem_len=M, same_length=False)
    mems = [*model(TEXT[:, :M]).mems]
    before = model(TEXT[:, M : M + T], mems=mems)
    sees = [grid.dense().expand(T, M + T) for grid in before.grids]
    for level in range(LAYERS):
        for place in range(M):
            other = [x.clone() for x in mems]
            other[level][place] += 1.0
            moved = (model(TEXT[:, M : M + T], mems=other).last_hidden_state != before.last_hidden_state).any(-1)
            expected = sees[level][:, place]
            for above in sees[level + 1 :]:
                expected = expected | (above[:, M:] & expected).any(1)
            assert expected.any() and torch.equal(moved, expected.expand(2, T))


@pytest.mark.parametrize("name", NAMES)
def test_no_gradient_goes_into_a_memory_and_none_comes_out(name: str) -> None:
    model = tiny(name, mem_len=4, same_length=False)
    mems = [x.requires_grad_() for x in model(TEXT[:, :4]).mems]
    kept = [x.detach().clone() for x in mems]
    output = model(TEXT[:, 4:], mems=mems)
    output.last_hidden_state.sum().backward()
    assert all(x.grad is None for x in mems) and not any(x.requires_grad for x in output.mems)
    assert all(torch.equal(a, b) for a, b in zip(mems, kept, strict=True)), "nor is it written to"


@pytest.mark.parametrize("name", NAMES)
def test_a_memory_holds_the_last_states_and_grows_to_its_length(name: str) -> None:
    model = tiny(name, mem_len=5, same_length=False)
    lengths = [[len(x) for x in output.mems] for output in segments(model, (2, 2, 4))]
    assert lengths == [[2] * LAYERS, [4] * LAYERS, [5] * LAYERS]
    assert tiny(name, mem_len=0, same_length=False)(TEXT).mems is None
    if hasattr(model.config, "reuse_len"):
        again = tiny(name, mem_len=5, reuse_len=3)
        first, second = segments(again, (4, 4))
        assert torch.equal(first.mems[0], first.hidden_states[0][:, :3].transpose(0, 1))
        assert torch.equal(second.mems[0][-3:], second.hidden_states[0][:, :3].transpose(0, 1))


@pytest.mark.parametrize("name", NAMES)
def test_a_memory_of_zeros_is_not_none(name: str) -> None:
    """The trap of the first port, which begins with zeros: they take part in the attention."""
    model = tiny(name, same_length=False)
    zeros = [torch.zeros(6, 2, H, dtype=torch.float64)] * LAYERS
    weights = model(TEXT, mems=zeros, output_attentions=True).attentions[0]
    assert weights.shape[-1] == 18 and (weights[..., :6].sum(-1) > 0).all()
    empty = [torch.zeros(0, 2, H, dtype=torch.float64)] * LAYERS
    same(model(TEXT, mems=empty).last_hidden_state, model(TEXT).last_hidden_state)


@pytest.mark.parametrize("name", NAMES)
def test_padding_stays_closed_in_the_memory(name: str) -> None:
    model = one_way(name)
    real = torch.ones(2, 12)
    real[1, :3] = 0                                                     # padding before the text
    first = model(TEXT[:, :5], attention_mask=real[:, :5])
    output = model(TEXT[:, 5:], mems=first.mems, attention_mask=real)
    same(output.last_hidden_state[1:], model(TEXT[1:, 3:]).last_hidden_state[:, 2:])
    open_again = model(TEXT[:, 5:], mems=first.mems, attention_mask=real[:, 5:])     # of the segment alone
    assert not torch.allclose(open_again.last_hidden_state[1], output.last_hidden_state[1])


@pytest.mark.parametrize("name", NAMES)
def test_a_memory_of_other_texts_is_refused(name: str) -> None:
    model = tiny(name, mem_len=None, same_length=False)
    mems = model(TEXT).mems
    for wrong, says in (
        (mems[:-1], rf"for each of the {LAYERS} layers"),
        ([x[:, :1] for x in mems], r"\(12, 1, 16\).*of texts that go on row by row"),
        ([x[..., :8] for x in mems], r"\(12, 2, 8\)"),
        ([x.transpose(0, 1) for x in mems], r"\(2, 12, 16\).*time first"),
        ([mems[0][1:], *mems[1:]], r"mems hold \(11, 2, 16\), \(12, 2, 16\)"),
        ([], "mems hold nothing"),
    ):
        refused(model, {"input_ids": TEXT, "mems": wrong}, ValueError, says)
    refused(model, {"input_ids": TEXT, "mems": mems, "attention_mask": torch.ones(2, 13)}, ValueError, r"\(2, 13\)")


@pytest.mark.parametrize(("changes", "says"), [
    ({"mem_len": -1}, "mem_len is -1; it must be at least 0"),
    ({"mem_len": 0, "same_length": True}, "same_length is True; .*False where mem_len"),     # nothing would be seen
    ({"mem_len": None, "same_length": True}, "same_length is True"),
    ({"cutoffs": (9, 9)}, r"cutoffs is \(9, 9\); it must be rising"),
    ({"cutoffs": (40,)}, r"cutoffs is \(40,\); .*between 0 and the 37"),
    ({"div_val": 8, "cutoffs": (9, 20)}, "div_val is 8; .*leave each cluster a width"),
    ({"hidden_size": 15, "num_attention_heads": 3}, "hidden_size is 15; it must be even"),
], ids=str)  # fmt: skip
def test_sizes_that_can_not_be_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"TransformerXlConfig: {says}"):
        tiny("transformer-xl", **changes)


# ── text from a memory ────────────────────────────────────────────────────────────────────────────────────────────


def written(model: Model, **given: Any) -> tuple[Tensor, Tensor]:
    """The text, and log p (B, new, V) of what could have come."""
    seen: list[Tensor] = []
    hook = model.register_forward_hook(lambda module, inputs, output: seen.append(output.logits[:, -1]))
    text = generate(model, **given)
    hook.remove()
    return text, torch.stack(seen, dim=1)


LONG_ENOUGH = {
    "all of it": {"mem_len": None, "same_length": False},
    "as long as the text": {"mem_len": 24, "same_length": False, "clamp_len": 5},
    "as far as a token sees": {"mem_len": 4, "same_length": True},
}


@pytest.mark.parametrize("kept", LONG_ENOUGH)
@pytest.mark.parametrize("prompt", [PROMPT, {"input_ids": tokens(1, 1)}], ids=["padded", "one token"])
def test_from_a_memory_that_is_long_enough_it_writes_the_same(kept: str, prompt: dict[str, Tensor]) -> None:
    model = tiny("transformer-xl", "CausalLM", **LONG_ENOUGH[kept])
    text, scores = written(model, **prompt, max_new_tokens=20)
    again, anew = written(model, **prompt, max_new_tokens=20, use_cache=False)
    assert torch.equal(text, again)
    same(scores, anew)
    assert torch.equal(written(model, **prompt, max_new_tokens=20)[1], scores), "nothing is carried over"


def test_from_a_shorter_memory_it_writes_as_if_it_saw_no_further() -> None:
    """Token by token, each of the layers reads 4 states of the one below and the token's own."""
    model, prompt = tiny("transformer-xl", "CausalLM", mem_len=4, same_length=False), tokens(2, 1)
    text, scores = written(model, input_ids=prompt, max_new_tokens=16)
    near = model(text[:, :-1], pattern=causal() & window(9))
    same(scores, near.logits)
    assert not torch.allclose(scores[:, -1], model(text[:, :-1]).logits[:, -1])


def test_each_step_reads_one_token() -> None:
    model, read = tiny("transformer-xl", "CausalLM", mem_len=6, same_length=False), []
    model.register_forward_pre_hook(lambda module, inputs: read.append((inputs[0].shape[1], inputs[2])))
    generate(model, tokens(1, 4), max_new_tokens=5)
    assert [(T, mems and len(mems[0])) for T, mems in read] == [(4, None), (1, 4), (1, 5), (1, 6), (1, 6)]


def test_without_a_memory_to_go_on_from_it_says_so() -> None:
    model = tiny("transformer-xl", "CausalLM", mem_len=0, same_length=False)
    hook = model.register_forward_pre_hook(lambda *_: pytest.fail("computed before it was refused"))
    with pytest.raises(ValueError, match="mem_len is 0, .*use_cache=False"):
        generate(model, tokens(1, 3))
    hook.remove()
    text = generate(model, tokens(1, 3), use_cache=False, max_new_tokens=6)
    assert torch.equal(text[:, 3:], model(text[:, :-1]).logits.argmax(-1)[:, 2:])
    for other in ("xlnet", "transformer-xl"):
        with pytest.raises(ValueError, match="has head None; generation needs"):
            generate(tiny(other), tokens(1, 3))
