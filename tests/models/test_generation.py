"""Generation: the same with a cache and without, as the transformers library's, and refused before it goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

import lmexplain
from lmexplain.models import Gpt, Gpt2, Gpt2Config, GptConfig, Model, Xlm, generate, positions

from ..reference.families.gpt import LONGEST, V, gpt, gpt2
from ..reference.peers import close, drawn

SMALL = {
    "vocab_size": V, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "max_position_embeddings": LONGEST,
}  # fmt: skip
MAKERS = {"gpt": lambda: Gpt(GptConfig(**SMALL), "CausalLM"), "gpt2": lambda: Gpt2(Gpt2Config(**SMALL), "CausalLM")}
UNEVEN = {
    "input_ids": torch.tensor([[1, 1, 5, 6], [7, 8, 9, 1], [1, 1, 1, 3]]),          # a real token of the padding's id
    "attention_mask": torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 1]]),
}


@pytest.fixture(params=MAKERS)
def model(request: pytest.FixtureRequest) -> Model:
    return drawn(MAKERS[request.param]()).eval()  # pyright: ignore[reportReturnType]


def with_logits(model: Model, **arguments: Any) -> tuple[Tensor, Tensor]:
    """The text, and the logits (B, new, V) that its tokens were taken from."""
    seen: list[Tensor] = []
    hook = model.register_forward_hook(lambda module, inputs, output: seen.append(output.logits[:, -1]))
    text = generate(model, **arguments)
    hook.remove()
    return text, torch.stack(seen, dim=1)


@pytest.mark.parametrize("prompt", [UNEVEN, {"input_ids": torch.tensor([[4]])}], ids=["padded", "one token"])
def test_with_a_cache_and_without_it_is_the_same(model: Model, prompt: dict[str, Tensor]):
    length = LONGEST + 1 - prompt["input_ids"].shape[1]                             # to the end of the position table
    a, b = (with_logits(model, **prompt, max_new_tokens=length, use_cache=use) for use in (True, False))
    assert a[0].shape[1] == LONGEST + 1 and torch.equal(a[0], b[0])
    close(a[1], b[1], "logits")


@pytest.mark.parametrize("use_cache", [True, False])
def test_what_it_takes_is_the_likeliest_token_of_one_pass_over_the_text(model: Model, use_cache: bool):
    ids = torch.tensor([[5, 6, 7]])
    text = generate(model, ids, max_new_tokens=9, use_cache=use_cache)
    assert torch.equal(text[:, 3:], model(text[:, :-1]).logits.argmax(-1)[:, 2:])


def test_it_generates_what_the_library_generates(tmp_path: Path):
    for name, make in (("gpt", lambda: transformers.OpenAIGPTLMHeadModel(gpt())),
                       ("gpt2", lambda: transformers.GPT2LMHeadModel(gpt2()))):     # fmt: skip
        theirs = drawn(make()).eval()
        theirs.save_pretrained(tmp_path / name)
        ours = lmexplain.load(tmp_path / name)
        for prompt in (UNEVEN, {"input_ids": torch.tensor([[4, 5]]), "attention_mask": torch.ones(1, 2).long()}):
            if name == "gpt" and prompt is UNEVEN:      # the library's GPT counts padding among the places
                continue
            for eos in (None, int(generate(ours, **prompt, max_new_tokens=5)[0, -1])):
                arguments = {**prompt, "max_new_tokens": 12, "eos_token_id": eos, "pad_token_id": 2}
                expected = theirs.generate(**arguments, do_sample=False)  # pyright: ignore[reportCallIssue]
                assert torch.equal(generate(ours, **arguments), expected), (name, eos)


def test_a_sentence_goes_on_alike_in_a_padded_batch_and_alone(model: Model):
    together, logits = with_logits(model, **UNEVEN, max_new_tokens=8)
    for row, mask in enumerate(UNEVEN["attention_mask"].bool()):
        text, alone = with_logits(model, input_ids=UNEVEN["input_ids"][row][mask][None], max_new_tokens=8)
        assert torch.equal(together[row, 4:], text[0, mask.sum():])
        close(logits[row], alone[0], f"logits of row {row}")


def test_positions_count_real_tokens():
    assert positions(torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]])).tolist() == [[0, 0, 0, 1], [0, 1, 2, 3]]


def test_a_row_ends_at_its_end_token_and_is_filled(model: Model):
    free = generate(model, **UNEVEN, max_new_tokens=10)
    end = int(free[1, 6])                                                           # the third new token of row 1
    text = generate(model, **UNEVEN, max_new_tokens=10, eos_token_id=end, pad_token_id=2)
    for row, whole in zip(text[:, 4:].tolist(), free[:, 4:].tolist(), strict=True):
        kept = whole[: whole.index(end) + 1] if end in whole else whole
        assert row == (kept + [2] * 10)[: len(row)]
    assert torch.equal(generate(model, UNEVEN["input_ids"][1:2], max_new_tokens=10, eos_token_id=end)[0],
                       free[1, : 5 + free[1, 4:].tolist().index(end)])  # fmt: skip


def test_it_carries_nothing_over(model: Model):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    first = generate(model, **UNEVEN, max_new_tokens=6)
    generate(model, torch.tensor([[9, 9]]), max_new_tokens=3)
    assert torch.equal(generate(model, **UNEVEN, max_new_tokens=6), first)
    assert before.keys() == model.state_dict().keys() and not list(model.buffers())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    past = model(UNEVEN["input_ids"], use_cache=True).past_key_values
    kept = [x.clone() for pair in past for x in pair]
    model(torch.tensor([[3], [4], [5]]), past_key_values=past, use_cache=True)      # a cache is not written to
    assert all(torch.equal(a, b) for a, b in zip(kept, (x for pair in past for x in pair), strict=True))


# ── sampling ──────────────────────────────────────────────────────────────────────────────────────────────────────


def sampled(model: Model, seed: int = 0, rows: int = 1, **arguments: Any) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.tensor([[5, 6]]).expand(rows, 2)
    return generate(model, ids, do_sample=True, generator=generator, **arguments)


def test_the_same_seed_gives_the_same_text(model: Model):
    torch.manual_seed(1)
    first = sampled(model, temperature=2.0)
    torch.manual_seed(2)
    assert torch.equal(sampled(model, temperature=2.0), first)
    assert torch.equal(sampled(model, temperature=2.0, use_cache=False), first)
    assert not torch.equal(sampled(model, seed=3, temperature=2.0), first)


def test_sampling_from_one_token_is_greedy(model: Model):
    greedy = generate(model, torch.tensor([[5, 6]]), max_new_tokens=8)
    for narrow in ({"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}, {"temperature": 1e-44}):
        assert torch.equal(sampled(model, max_new_tokens=8, **narrow), greedy), narrow


@pytest.mark.parametrize("limits", [{}, {"top_k": 5}, {"top_p": 0.7}, {"top_k": 9, "top_p": 0.8}], ids=str)
def test_tokens_come_as_often_as_the_library_s_warpers_say(model: Model, limits: dict[str, Any]):
    from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    warpers = LogitsProcessorList([TemperatureLogitsWarper(3.0)])
    if "top_k" in limits:
        warpers.append(TopKLogitsWarper(limits["top_k"]))
    if "top_p" in limits:
        warpers.append(TopPLogitsWarper(limits["top_p"]))
    ids, n = torch.tensor([[5, 6]]), 20_000
    expected = warpers(ids, model(ids).logits[:, -1].detach()).softmax(-1)[0]  # pyright: ignore[reportArgumentType]
    found = sampled(model, rows=n, max_new_tokens=1, temperature=3.0, **limits)[:, 2].bincount(minlength=V) / n
    assert torch.equal(found > 0, found * (expected > 0) > 0)                       # nothing that is cut away
    assert float((found - expected).abs().max()) < 4 * 0.5 / n**0.5                 # four standard deviations at most


# ── a causal XLM, whose head does not say whether it looks ahead ──────────────────────────────────────────────────


def test_a_causal_xlm_writes_in_the_language_asked_for(tmp_path: Path) -> None:
    config = transformers.XLMConfig(vocab_size=V, emb_dim=12, n_layers=2, n_heads=3, max_position_embeddings=LONGEST,
                                    n_langs=3, causal=True)  # fmt: skip
    theirs = drawn(transformers.XLMWithLMHeadModel(config)).eval()
    theirs.save_pretrained(tmp_path)
    ours, ids, langs = lmexplain.load(tmp_path, model=Xlm), torch.tensor([[5, 6, 7], [8, 9, 4]]), torch.tensor([0, 2])
    expected = ids
    while expected.shape[1] < LONGEST + 1:
        scores = theirs(expected, attention_mask=torch.ones_like(expected), langs=langs[:, None].expand_as(expected))
        expected = torch.cat([expected, scores.logits[:, -1].argmax(1, keepdim=True)], dim=1)
    for use_cache in (True, False):
        assert torch.equal(generate(ours, ids, max_new_tokens=LONGEST - 2, use_cache=use_cache, langs=langs), expected)
    assert not torch.equal(generate(ours, ids, max_new_tokens=LONGEST - 2, langs=langs.flip(0)), expected)
    with pytest.raises(ValueError, match="langs holds 3, outside 0 to 2"):
        generate(ours, ids, langs=langs + 1)
    with pytest.raises(ValueError, match=r"Xlm has head MaskedLM; generation needs a causal model"):
        generate(lmexplain.load(tmp_path, causal=False), ids)


# ── refused before any compute ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_new_tokens": LONGEST}, rf"position table of {LONGEST}.*at most {LONGEST - 1}"),
        ({"max_new_tokens": 0}, "at least 1"),
        ({"attention_mask": torch.tensor([[1, 0]])}, "row 0 ends in padding.*pad on the left"),
        ({"attention_mask": torch.tensor([[0, 0]])}, "row 0 ends in padding"),
        ({"attention_mask": torch.tensor([[1, 2]])}, "attention_mask holds 2"),
        ({"input_ids": torch.tensor([[1, V]])}, f"input_ids holds {V}"),
        ({"input_ids": torch.zeros(0, 2).long()}, "at least one sentence"),
        ({"input_ids": torch.zeros(1, 0).long()}, "at least one token"),
        ({"max_new_tokens": 2.5}, "max_new_tokens is 2.5; ask for a whole number"),
        ({"eos_token_id": V}, f"eos_token_id is {V}"),
        ({"eos_token_id": [3, 4]}, r"eos_token_id is \[3, 4\], .*give a token's id"),
        ({"pad_token_id": V}, f"pad_token_id is {V}"),
        ({"temperature": 0.5}, "do_sample=True"),
        ({"do_sample": True}, "generator="),
        ({"do_sample": True, "generator": torch.Generator(), "temperature": 0.0}, "temperature is 0.0"),
        ({"do_sample": True, "generator": torch.Generator(), "top_k": 0}, "top_k is 0"),
        ({"do_sample": True, "generator": torch.Generator(), "top_k": 2.5}, "top_k is 2.5"),
        ({"do_sample": True, "generator": torch.Generator(), "top_p": 1.5}, "top_p is 1.5"),
    ],
    ids=lambda x: x if isinstance(x, str) else ", ".join(x),
)
def test_bad_input_is_refused(model: Model, changes: dict[str, Any], message: str):
    model.register_forward_pre_hook(lambda *_: pytest.fail("computed before it was refused"))
    with pytest.raises(ValueError, match=message):
        generate(model, **{"input_ids": torch.tensor([[5, 6]]), **changes})


def test_a_model_that_cannot_generate_says_so(model: Model):
    with pytest.raises(ValueError, match="CausalLM"):
        generate(type(model)(model.config).eval(), torch.tensor([[5, 6]]))
    with pytest.raises(ValueError, match=r"model\.eval\(\)"):
        generate(model.train(), torch.tensor([[5, 6]]))
