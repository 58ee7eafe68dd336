"""XLM beyond `families/xlm.py`: caches, padding, sizes, bad input."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

import lmexplain
from lmexplain.models import Xlm, XlmConfig
from lmexplain.patterns import reach

from .families.xlm import V, config
from .peers import close, drawn


def model(head: str | None = "MaskedLM", **changes: object) -> Xlm:
    sizes = {
        "vocab_size": V, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "n_langs": 3,
        "max_position_embeddings": 12, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    }  # fmt: skip
    made = drawn(Xlm(XlmConfig(**{**sizes, **changes}), head)).eval()  # pyright: ignore[reportArgumentType]
    assert isinstance(made, Xlm)
    return made


def ids(B: int, T: int) -> Tensor:
    return torch.randint(5, V, (B, T), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("left", [False, True], ids=["padded on the right", "padded on the left"])
def test_a_cached_pass_equals_a_whole_one(left: bool) -> None:
    ours, x = model(causal=True), ids(2, 6)
    mask = torch.arange(6)[None] < torch.tensor([6, 4])[:, None]
    mask, langs = mask.flip(1) if left else mask, torch.arange(6)[None] % 3
    whole = ours(x, mask, langs)
    first = ours(x[:, :3], mask[:, :3], langs[:, :3], use_cache=True)
    second = ours(x[:, 3:], mask, langs[:, 3:], past_key_values=first.past_key_values)
    for i, states in enumerate(whole.hidden_states):
        close(torch.cat([first.hidden_states[i], second.hidden_states[i]], dim=1), states, f"hidden_states[{i}]")
    close(torch.cat([first.logits, second.logits], dim=1), whole.logits, "logits")


def test_a_cached_pass_equals_the_library_s(tmp_path: Path) -> None:
    theirs = drawn(transformers.XLMWithLMHeadModel(config(causal=True))).eval()
    theirs.save_pretrained(tmp_path)  # pyright: ignore[reportCallIssue]
    ours, x = lmexplain.load(tmp_path), ids(2, 6)
    cache = transformers.EncoderDecoderCache(transformers.DynamicCache(), transformers.DynamicCache())
    past = None
    for seen in (2, 5, 6):
        done = 0 if past is None else past[0][0].shape[2]
        b = theirs(x[:, :seen], cache=cache)
        a = ours(x[:, done:seen], past_key_values=past, use_cache=True)
        close(a.logits, b.logits, f"logits up to {seen}")
        past = a.past_key_values


def test_padding_is_zero_after_every_layer_and_is_not_seen() -> None:
    for causal in (False, True):
        ours, x = model(causal=causal), ids(1, 7)
        for mask in ([0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]):
            real = torch.tensor([mask]) > 0
            output = ours(x, real)
            assert all(not states[~real].any() for states in output.hidden_states)
            changed = ours(x.where(real, (x + 1) % V), real)
            assert torch.equal(output.logits, changed.logits)


def test_what_moves_is_what_the_grids_reach() -> None:
    for causal in (False, True):
        ours, x = model(causal=causal).double(), ids(1, 6)
        output = ours(x)
        for j in range(6):
            moved = (ours(x.index_fill(1, torch.tensor(j), 3)).logits - output.logits).abs().amax((0, 2)) > 0
            assert torch.equal(moved, reach(output.grids)[:, j]), j


def test_sinusoids_are_the_library_s_and_do_not_learn(tmp_path: Path) -> None:
    theirs = transformers.XLMModel(config(sinusoidal_embeddings=True))
    ours = Xlm(XlmConfig(vocab_size=V, hidden_size=24, num_attention_heads=4, num_hidden_layers=3, n_langs=3,
                         max_position_embeddings=24, sinusoidal_embeddings=True))  # fmt: skip
    close(ours.embeddings.position.weight, theirs.position_embeddings.weight, "sinusoids")
    lmexplain.save(ours, tmp_path)
    again = lmexplain.load(tmp_path)
    assert torch.equal(again.embeddings.position.weight, ours.embeddings.position.weight)
    assert not again.embeddings.position.weight.requires_grad and again.embeddings.token.weight.requires_grad


def test_published_sizes() -> None:
    counts = {}
    for name in XlmConfig.PUBLISHED:
        with torch.device("meta"):
            made = Xlm(XlmConfig.published(name), "MaskedLM")
        counts[name] = sum(p.numel() for p in made.parameters())
    assert counts["xlm-mlm-tlm-xnli15-1024"] == 249_071_384


def test_files_of_old_are_understood_and_what_we_lack_is_refused(tmp_path: Path) -> None:
    layout = lmexplain.checkpoints.LAYOUTS["xlm"]
    old = layout.read_config({"n_words": 77, "pad_index": 3, "emb_dim": 16, "n_heads": 2, "gelu_activation": False})
    assert (old.vocab_size, old.pad_token_id, old.intermediate_size, old.hidden_act) == (77, 3, 64, "relu")
    for field, value in (("asm", True), ("is_encoder", False), ("summary_type", "last")):
        with pytest.raises(ValueError, match=f"{field}={value!r}"):
            layout.read_config({field: value})
    with pytest.raises(ValueError, match="hidden_act is 'silu'"):
        lmexplain.save(model(hidden_act="silu"), tmp_path / "out")


@pytest.mark.parametrize(("arguments", "message"), [
    ({"langs": torch.full((2, 3), 3)}, "langs holds 3, outside 0 to 2"),
    ({"lengths": torch.tensor([4, 1])}, "lengths holds 4, outside 0 to 3"),
    ({"lengths": torch.tensor([3, 1]), "attention_mask": torch.ones(2, 3)}, "give one of them"),
    ({"lengths": torch.tensor([3, 2, 1])}, "lengths has shape"),
    ({"position_ids": torch.full((2, 3), 12)}, "position_ids holds 12"),
    ({"use_cache": True}, "a cache needs causal=True"),
])  # fmt: skip
def test_bad_input_is_named(arguments: dict[str, Tensor], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model()(ids(2, 3), **arguments)
