"""GPT and GPT-2: sizes, names in old files, first weights, who moves whom, and caches that do not fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import lmexplain
from lmexplain.models import Gpt, Gpt2, Gpt2Config, GptConfig, Model
from lmexplain.patterns import reach, window

from ..reference.families.gpt import gpt, gpt2
from ..reference.peers import close, drawn
from .test_generation import LONGEST, SMALL, V


@pytest.fixture(params=["gpt", "gpt2"])
def made(request: pytest.FixtureRequest) -> tuple[type[Model], Any]:
    return {"gpt": (Gpt, GptConfig(**SMALL)), "gpt2": (Gpt2, Gpt2Config(**SMALL))}[request.param]


def test_gpt2_reads_the_first_released_files(tmp_path: Path):
    """No prefix before the names, and the buffers of the attention among the weights."""
    theirs = drawn(transformers.GPT2LMHeadModel(gpt2())).eval()
    theirs.save_pretrained(tmp_path)
    tensors = {k.removeprefix("transformer."): v for k, v in load_file(tmp_path / "model.safetensors").items()}
    for i in range(3):
        tensors[f"h.{i}.attn.bias"] = torch.ones(1, 1, LONGEST, LONGEST).tril()
        tensors[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    save_file(tensors, tmp_path / "model.safetensors")
    ours, ids = lmexplain.load(tmp_path), torch.tensor([[3, 4, 5]])
    close(ours(ids).logits, theirs(ids).logits, "logits")


def test_square_matrices_are_transposed_and_come_back_bit_for_bit(tmp_path: Path):
    drawn(transformers.GPT2LMHeadModel(gpt2())).save_pretrained(tmp_path / "theirs")
    ours = lmexplain.load(tmp_path / "theirs")
    stored = load_file(tmp_path / "theirs" / "model.safetensors")
    x, layer = torch.randn(5, 24, generator=torch.Generator().manual_seed(0)), ours.layers[1]
    attention, feed_forward = layer.attention.sublayer, layer.feed_forward.sublayer
    for name, mine in (("attn.c_proj", attention.output), ("mlp.c_fc", feed_forward.inner),
                       ("mlp.c_proj", feed_forward.outer)):  # fmt: skip
        weight, bias = (stored[f"transformer.h.1.{name}.{part}"] for part in ("weight", "bias"))
        y = x if mine.in_features == 24 else x.repeat(1, 4)
        close(mine(y), y @ weight + bias, name)
    lmexplain.save(ours, tmp_path / "ours")
    again = load_file(tmp_path / "ours" / "model.safetensors")
    assert stored.keys() == again.keys() and all(torch.equal(stored[k], again[k]) for k in stored)


@pytest.mark.parametrize("head", ["CausalLM", "SequenceClassification"])
def test_a_new_head_over_a_published_body_leaves_the_body_as_it_is(tmp_path: Path, head: str):
    theirs = drawn(transformers.GPT2Model(gpt2())).eval()
    theirs.save_pretrained(tmp_path)
    ours, ids = lmexplain.load(tmp_path, head=head), torch.tensor([[3, 4, 5]])
    output = ours(ids)
    close(output.last_hidden_state, theirs(ids).last_hidden_state, "states")
    if head == "CausalLM":
        close(output.logits, output.last_hidden_state @ theirs.wte.weight.T, "logits")


@pytest.mark.parametrize(
    ("field", "value"),
    [("add_cross_attention", True), ("scale_attn_by_inverse_layer_idx", True), ("scale_attn_weights", False)],
)
def test_settings_that_we_do_not_have_are_refused_by_name(tmp_path: Path, field: str, value: bool):
    drawn(transformers.GPT2Model(gpt2())).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps({**config, field: value}), encoding="utf-8")
    with pytest.raises(ValueError, match=f"{field}={value}"):
        lmexplain.load(tmp_path)


def test_gpt_knows_the_activations_of_its_released_code(tmp_path: Path):
    drawn(transformers.OpenAIGPTModel(gpt())).save_pretrained(tmp_path)
    assert lmexplain.load(tmp_path).config.hidden_act == "gelu"
    with pytest.raises(ValueError, match="hidden_act is 'gelu_new'.*gelu, relu, silu"):
        GptConfig(hidden_act="gelu_new")


def test_residual_projections_of_gpt2_start_smaller():
    torch.manual_seed(0)
    model = Gpt2(Gpt2Config(**{**SMALL, "hidden_size": 256, "num_hidden_layers": 8}))
    for layer in model.layers:
        for weight in (layer.attention.sublayer.output.weight, layer.feed_forward.sublayer.outer.weight):
            assert float(weight.detach().std()) == pytest.approx(0.02 / 4, rel=0.02)             # 1 / √16 of the rest
        assert float(layer.feed_forward.sublayer.inner.weight.detach().std()) == pytest.approx(0.02, rel=0.02)


def test_with_idle_sublayers_pre_norm_passes_x_on_and_post_norm_norms_it(made: tuple[type[Model], Any]):
    model = made[0](made[1]).eval()
    for layer in model.layers:
        for last in (layer.attention.sublayer.output, layer.feed_forward.sublayer.outer):
            torch.nn.init.zeros_(last.weight)
    x, *states = model(torch.tensor([[3, 4, 5]])).hidden_states
    for i, state in enumerate(states):
        norms = 2 if made[0] is Gpt else i // (len(states) - 1)                         # GPT-2's only one is the last
        for _ in range(norms):
            x = torch.nn.functional.layer_norm(x, x.shape[-1:])
        assert torch.equal(state, x), i


def test_a_changed_token_moves_what_its_grids_reach(made: tuple[type[Model], Any]):
    model = drawn(made[0](made[1])).eval().double()
    ids = torch.randint(0, V, (1, 12), generator=torch.Generator().manual_seed(0))
    for pattern in (None, window(4) & model.pattern()):
        before = model(ids, pattern=pattern)
        reached = reach(before.grids)
        for j in range(12):
            other = ids.index_fill(1, torch.tensor(j), int(ids[0, j] + 1) % V)
            moved = (model(other, pattern=pattern).last_hidden_state != before.last_hidden_state).any(-1)[0]
            assert torch.equal(moved, reached.reshape(12, 12)[:, j]), j


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention_mask": torch.ones(1, 2)}, "cached ones too"),
        ({"input_ids": torch.ones(1, LONGEST - 2).long()}, f"position_ids holds {LONGEST}"),
        ({"input_ids": torch.ones(2, 1).long()}, "past_key_values hold 6 tensors, of shape"),
        ({"layers": 2}, "past_key_values hold 4 tensors.*3 layers"),
        ({"token_type_ids": torch.tensor([[0, V]])}, "token_type_ids holds"),
    ],
    ids=str,
)
def test_what_does_not_fit_the_cache_is_refused(made: tuple[type[Model], Any], changes: dict[str, Any], message: str):
    model = made[0](made[1]).eval()
    past = model(torch.tensor([[3, 4, 5]]), use_cache=True).past_key_values
    arguments = {"input_ids": torch.tensor([[6, 7]]), **changes}
    model.register_forward_hook(lambda *_: pytest.fail("computed before it was refused"))
    with pytest.raises(ValueError, match=message):
        model(**arguments, past_key_values=past[: arguments.pop("layers", 3)])


def test_several_sentences_must_say_where_they_end(made: tuple[type[Model], Any]):
    model = made[0](made[1], "SequenceClassification").eval()
    ids = torch.tensor([[3, 4, 5], [6, 1, 1]])
    with pytest.raises(ValueError, match="2 sentences.*attention_mask, or a pad_token_id"):
        model(ids)
    masked = model(ids, attention_mask=torch.tensor([[1, 1, 1], [1, 0, 0]])).logits
    close(masked[1:], model(ids[1:, :1]).logits, "the second sentence alone")
