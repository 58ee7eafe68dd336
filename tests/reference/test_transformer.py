"""The original Transformer: its stacks against torch.nn.Transformer, the whole of it against the paper in a loop.

With Marian (`families/marian.py`) that makes three references: PyTorch's layers know neither embeddings nor the shift,
Marian orders its sinusoids otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import lmexplain
from lmexplain.layers import sinusoids
from lmexplain.models import Transformer, TransformerConfig, generate
from lmexplain.patterns import reach

from .families.marian import translator
from .naive import transformer as naive
from .peers import close, drawn

V, PAD, START = 37, 0, 2
PARTS = {
    "self_attn": "attention.sublayer", "multihead_attn": "cross.sublayer",
    "linear1": "feed_forward.sublayer.inner", "linear2": "feed_forward.sublayer.outer",
}  # fmt: skip
NORMS = {
    "encoder": {"norm1": "attention.norm", "norm2": "feed_forward.norm"},
    "decoder": {"norm1": "attention.norm", "norm2": "cross.norm", "norm3": "feed_forward.norm"},
}


def config(**changes: object) -> TransformerConfig:
    sizes = {
        "vocab_size": V, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40,
        "hidden_dropout_prob": 0.0, "decoder_start_token_id": START,
    }  # fmt: skip
    return TransformerConfig(**{**sizes, **changes})  # pyright: ignore[reportArgumentType]


def model(**changes: object) -> Transformer:
    made = drawn(Transformer(config(**changes), "ConditionalGeneration")).eval()
    assert isinstance(made, Transformer)
    return made


def stacks(c: TransformerConfig) -> nn.ModuleDict:
    """PyTorch's encoder and decoder, post-norm, without the last norms that nn.Transformer adds."""
    sizes = (c.hidden_size, c.num_attention_heads, c.intermediate_size, 0.0, c.hidden_act, c.layer_norm_eps, True)
    return nn.ModuleDict({
        "encoder": nn.TransformerEncoder(nn.TransformerEncoderLayer(*sizes), c.num_hidden_layers,
                                         enable_nested_tensor=False),
        "decoder": nn.TransformerDecoder(nn.TransformerDecoderLayer(*sizes), c.num_hidden_layers),
    })  # fmt: skip


def joined(ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of our layers by PyTorch's names: query, key and value stand in one."""
    theirs = {}
    for name, stack in (("encoder", "encoder"), ("decoder", "layers")):
        for n in range(1 + max(int(key.split(".")[1]) for key in ours if key.startswith(f"{stack}."))):
            for their, our in {**PARTS, **NORMS[name]}.items():
                for kind in ("weight", "bias"):
                    before, after = f"{stack}.{n}.{our}", f"{name}.layers.{n}.{their}"
                    if f"{before}.query.{kind}" in ours:
                        parts = [ours[f"{before}.{part}.{kind}"] for part in ("query", "key", "value")]
                        theirs[f"{after}.in_proj_{kind}"] = torch.cat(parts)
                        theirs[f"{after}.out_proj.{kind}"] = ours[f"{before}.output.{kind}"]
                    elif f"{before}.{kind}" in ours:
                        theirs[f"{after}.{kind}"] = ours[f"{before}.{kind}"]
    return theirs


def ids(B: int, T: int, seed: int = 0) -> Tensor:
    return torch.randint(3, V, (B, T), generator=torch.Generator().manual_seed(seed))


def real(lengths: list[int], T: int, left: bool) -> Tensor:
    mask = torch.arange(T)[None] < torch.tensor(lengths)[:, None]
    return mask.flip(1) if left else mask


SIDES = [(None, None), ("right", "right"), ("left", "right"), ("right", None)]


@pytest.mark.parametrize("back", [False, True], ids=["ours to theirs", "theirs to ours"])
@pytest.mark.parametrize(("source", "target"), SIDES)
@pytest.mark.parametrize(("S", "T"), [(7, 5), (4, 9), (1, 1)])
@pytest.mark.parametrize("act", ["relu", "gelu"])
def test_the_stacks_equal_pytorch(
    S: int, T: int, source: str | None, target: str | None, act: str, back: bool
) -> None:  # fmt: skip
    ours = model(hidden_act=act)
    theirs = stacks(ours.config)
    if back:
        drawn(theirs, seed=3)
        cut(ours, theirs)
    else:
        theirs.load_state_dict(joined({name: p.detach() for name, p in ours.named_parameters()}))
    mask = None if source is None else real([S, max(1, S - 3), 1], S, source == "left")
    decoder_mask = None if target is None else real([T, max(1, T - 2), 1], T, False)
    x, y = ids(3, S), ids(3, T, 1)

    output = ours(x, mask, y, decoder_mask)
    memory = theirs["encoder"](output.encoder.hidden_states[0].detach(),
                               src_key_padding_mask=None if mask is None else ~mask)  # fmt: skip
    ahead = torch.ones(T, T, dtype=torch.bool).triu(1)
    expected = theirs["decoder"](
        output.hidden_states[0].detach(), memory, tgt_mask=ahead,
        tgt_key_padding_mask=None if decoder_mask is None else ~decoder_mask,
        memory_key_padding_mask=None if mask is None else ~mask,
    )  # fmt: skip
    close(output.encoder.last_hidden_state, memory, "the encoder's states")
    close(output.last_hidden_state, expected, "the decoder's states")

    (output.last_hidden_state.sin().sum() + output.encoder.last_hidden_state.cos().sum()).backward()
    (expected.sin().sum() + memory.cos().sum()).backward()
    gradients = joined({name: p.grad for name, p in ours.named_parameters() if p.grad is not None})
    for name, parameter in theirs.named_parameters():
        assert parameter.grad is not None
        close(gradients[name], parameter.grad, f"gradient of {name}")


def cut(ours: Transformer, theirs: nn.ModuleDict) -> None:
    """PyTorch's weights into our layers: `joined`, the other way."""
    state = theirs.state_dict()
    with torch.no_grad():
        for name, parameter in ours.named_parameters():
            marked = {key: torch.full_like(p, float(key == name)) for key, p in ours.named_parameters()}
            for key, mark in joined(marked).items():
                if bool(mark.any()):
                    rows = mark.flatten(1).any(1) if mark.dim() > 1 else mark > 0
                    parameter.copy_(state[key][rows])


@pytest.mark.parametrize("left", [False, True], ids=["padded on the right", "padded on the left"])
def test_logits_and_loss_equal_the_paper_in_a_loop(left: bool) -> None:
    ours = model()
    c, weights = ours.config, {name: p.detach().numpy() for name, p in ours.named_parameters()}
    sizes = c.num_hidden_layers, c.num_attention_heads, c.layer_norm_eps
    x, mask, labels = ids(3, 7), real([7, 4, 1], 7, left), ids(3, 5, 1)
    output = ours(x, mask, labels=labels)
    rows = zip(x.tolist(), mask.tolist(), labels.tolist(), strict=True)
    expected = [naive.logits(weights, *sizes, source, open_to, target, START) for source, open_to, target in rows]
    close(output.logits, torch.from_numpy(np.stack(expected)).float(), "logits")
    for smoothing, training in ((0.0, False), (c.label_smoothing, True)):
        losses = [naive.smoothed_loss(scores, target, smoothing)
                  for scores, target in zip(expected, labels.tolist(), strict=True)]  # fmt: skip
        close(ours.train(training)(x, mask, labels=labels).loss, torch.tensor(float(np.mean(losses))), "loss")


def test_places_without_a_label_are_padding_for_the_decoder() -> None:
    labels = torch.tensor([[5, 6, 7, -100], [8, -100, -100, 9]])
    assert model().shifted(labels).tolist() == [[START, 5, 6, 7], [START, 8, PAD, PAD]]


def test_sinusoids_from_a_place_on_and_in_halves() -> None:
    whole = sinusoids(9, 6)
    assert torch.equal(whole[4:], sinusoids(5, 6, start=4))
    assert torch.equal(torch.cat([whole[:, ::2], whole[:, 1::2]], dim=1), sinusoids(9, 6, halves=True))
    expected = np.stack([naive.sinusoid(p, 6) for p in range(9)])
    close(whole, torch.from_numpy(expected).float(), "sinusoids")


@pytest.mark.parametrize("steps", [[1, 1, 1, 1, 1], [2, 3], [3, 1, 1]])
def test_a_cached_pass_equals_a_whole_one(steps: list[int]) -> None:
    ours = model()
    x, mask, y = ids(2, 6), real([6, 3], 6, True), ids(2, 5, 1)
    target = real([5, 4], 5, True)
    whole = ours(x, mask, y, target, output_attentions=True)
    past, seen = None, 0
    for step in steps:
        seen += step
        part = ours(None, mask, y[:, seen - step : seen], target[:, :seen], whole.encoder, past, use_cache=True,
                    output_attentions=True)  # fmt: skip
        close(part.logits, whole.logits[:, seen - step : seen], "logits")
        close(part.attentions[1], whole.attentions[1][:, :, seen - step : seen, :seen], "attentions")
        if past is not None:
            assert all(old is new for old, new in zip(past[1::2], part.past_key_values[1::2], strict=True))
        past = part.past_key_values
    assert past is not None and [len(past), past[0][0].shape[2], past[1][0].shape[2]] == [4, 5, 6]


@pytest.mark.parametrize("left", [False, True], ids=["padded on the right", "padded on the left"])
def test_a_target_is_generated_as_the_library_does(left: bool, tmp_path: Path) -> None:
    theirs = drawn(translator()).eval()
    theirs.save_pretrained(tmp_path)  # pyright: ignore[reportCallIssue]
    ours, x, mask = lmexplain.load(tmp_path), ids(3, 7), real([7, 4, 1], 7, left)
    for end in (None, 5, 30):
        expected = theirs.generate(x, attention_mask=mask.long(), max_new_tokens=9, num_beams=1, do_sample=False,
                                   forced_eos_token_id=None, eos_token_id=end)  # fmt: skip
        for use_cache in (False, True):
            found = generate(ours, x, mask, max_new_tokens=9, eos_token_id=end, use_cache=use_cache)
            assert torch.equal(found, expected), (end, use_cache)


def test_generation_needs_the_head() -> None:
    with pytest.raises(ValueError, match='needs one with "ConditionalGeneration"'):
        generate(Transformer(config()).eval(), ids(2, 3))


def test_what_moves_is_what_the_grids_reach() -> None:
    ours = model().double()
    x, mask, y = ids(1, 6), real([5], 6, False), ids(1, 5, 1)
    output = ours(x, mask, y)
    for j in range(6):
        seen = reach([*output.encoder.grids, output.cross_grids[0], output.grids[1]])[:, j]
        moved = (ours(x.index_fill(1, torch.tensor(j), 2), mask, y).logits - output.logits).abs().amax((0, 2)) > 0
        assert torch.equal(moved, seen), j
    for j in range(5):
        moved = (ours(x, mask, y.index_fill(1, torch.tensor(j), 2)).logits - output.logits).abs().amax((0, 2)) > 0
        assert torch.equal(moved, reach(output.grids)[:, j]), j


@pytest.mark.parametrize(("name", "count"), [("transformer-base", 63_082_496), ("transformer-big", 214_245_376)])
def test_published_sizes(name: str, count: int) -> None:
    with torch.device("meta"):
        made = Transformer(TransformerConfig.published(name), "ConditionalGeneration")
    assert sum(p.numel() for p in made.parameters()) == count


@pytest.mark.parametrize(("arguments", "message"), [
    ({"decoder_input_ids": ids(2, 3)}, "neither of input_ids and inputs_embeds given"),
    ({"input_ids": ids(2, 3)}, "neither of decoder_input_ids and decoder_inputs_embeds given"),
    ({"input_ids": ids(2, 3), "decoder_input_ids": ids(2, 3) + V}, "decoder_input_ids holds"),
    ({"input_ids": ids(2, 3), "decoder_input_ids": ids(3, 3)}, "2 sources for 3 targets"),
    ({"input_ids": ids(2, 3), "decoder_input_ids": ids(2, 3), "decoder_attention_mask": torch.ones(2, 4)},
     "attention_mask has shape"),
    ({"input_ids": ids(2, 3), "decoder_input_ids": ids(2, 3), "past_key_values": [(torch.zeros(2, 4, 3, 6),) * 2] * 3},
     "past_key_values hold"),
    ({"input_ids": ids(2, 4), "decoder_input_ids": ids(2, 3), "past_key_values": [(torch.zeros(2, 4, 3, 6),) * 2] * 4},
     "past_key_values hold 3 source tokens, the source 4"),
])  # fmt: skip
def test_bad_input_is_named(arguments: dict[str, Tensor], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model()(**arguments)


def test_the_paper_s_tables_can_not_be_saved_as_marian_s(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="sinusoid_halves is False"):
        lmexplain.save(model(), tmp_path / "out")
    c = replace(config(), sinusoid_halves=True, output_bias=True)
    lmexplain.save(Transformer(c, "ConditionalGeneration"), tmp_path / "out")
    assert lmexplain.load(tmp_path / "out").config == c


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (torch.tensor([3, 4]), "give .batch, length"),
        (torch.full((1, 3), V), rf"labels range from {V} to {V}, outside"),
        (torch.ones(1, 3), "integers"),
    ],
)  # fmt: skip
def test_labels_are_looked_at_before_they_become_inputs(labels: Tensor, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        Transformer(config(), "ConditionalGeneration")(torch.ones(1, 3).long(), labels=labels)
