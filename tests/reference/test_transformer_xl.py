"""Transformer-XL against what the first port of its code gave: memories over segments, adaptive softmax."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import lmexplain
from lmexplain.checkpoints.transformer_xl import TRANSFORMER_XL
from lmexplain.models import TransformerXl, TransformerXlConfig

from .frozen import Frozen
from .peers import close


def model(found: Frozen, head: str | None, **changes: Any) -> TransformerXl:
    c = found.meta["config"]
    config = TransformerXlConfig(
        vocab_size=c["n_token"], hidden_size=c["d_model"], num_hidden_layers=c["n_layer"], mem_len=c["mem_len"],
        num_attention_heads=c["n_head"], intermediate_size=c["d_inner"], cutoffs=c["cutoffs"], div_val=c["div_val"],
        same_length=c["same_length"], clamp_len=c["clamp_len"], **changes,
    )  # fmt: skip
    made, weights = TransformerXl(config, head), found.under("w/")
    places = TRANSFORMER_XL.places(made)
    made.load_state_dict({name: places[name].ours(weights[places[name].key]) for name, _ in made.named_parameters()},
                         strict=False)  # fmt: skip
    return made.eval()


@pytest.mark.parametrize("way", ["carried", "empty_start"])
def test_segments_with_a_memory_equal_the_original(way: str, verified: Callable[..., None]) -> None:
    """`carried` begins with zeros, as that library does; `empty_start` with nothing, as ours does."""
    found = Frozen("transfoxl")
    verified(TransformerXl, "b", way)
    ours = model(found, None)
    mems: Any = [torch.zeros(6, 2, 16)] * 2 if way == "carried" else None
    for i in range(3):
        output = ours(found[f"in/ids{i}"], mems=mems, output_attentions=True)
        mems, start = output.mems, f"out/{way}/seg{i}/"
        close(output.last_hidden_state, found[f"{start}last_hidden"], "last state")
        close(torch.stack(output.hidden_states), found[f"{start}hidden_states"], "states")
        close(torch.stack(output.attentions), found[f"{start}attentions"], "weights")
        close(torch.stack(output.mems), found[f"{start}mems"], "memory")


def test_a_segment_alone_and_the_places(verified: Callable[..., None]) -> None:
    found = Frozen("transfoxl")
    verified(TransformerXl, "b", "alone")
    ours = model(found, None)
    for i in range(3):
        close(ours(found[f"in/ids{i}"]).last_hidden_state, found[f"out/alone/seg{i}/last_hidden"], "alone")
    close(ours.places(6, 12)[0, 1:13], found["out/pos_table"][:, 0], "sinusoids of the distances 11 to 0")
    forgetful = model(found, None)
    object.__setattr__(forgetful.config, "mem_len", 0)
    output = forgetful(found["in/ids0"], output_attentions=True)
    close(torch.stack(output.attentions), found["out/mem_len0/seg0/attentions"], "weights without memory")
    assert output.mems is None


def test_adaptive_softmax_equals_the_original(verified: Callable[..., None]) -> None:
    """Ours gives the losses in the order of the positions; theirs came back by cluster."""
    found = Frozen("transfoxl_lm")
    verified(TransformerXl, "b", "adaptive softmax")
    ours: Any = model(found, "CausalLM")
    mems = None
    for i in range(3):
        ids, labels = found[f"in/ids{i}"], found[f"in/labels{i}"]
        output, scored = ours(ids, mems=mems), ours(ids, mems=mems, labels=labels)
        mems, start = output.mems, f"out/seg{i}/"
        close(output.last_hidden_state, found[f"{start}last_hidden"], "last state")
        close(torch.stack(mems), found[f"{start}mems"], "memory")
        close(output.logits, found[f"{start}log_probs"], "log p")
        losses = ours.head.losses(output.last_hidden_state.flatten(0, 1), labels.flatten())
        close(losses.view_as(labels), found[f"{start}nll_in_order"], "losses")
        close(scored.loss, found[f"{start}nll_in_order"].mean(), "loss")
    close(output.hidden_states[0], found["out/embedding_last_seg"], "embedding")


def published(found: Frozen, folder: Path, **changes: Any) -> Path:
    """The folder as the library wrote it: its configuration, and a pickle of tensors, shared ones twice."""
    config = {**found.meta["config"], "model_type": "transfo-xl", "architectures": ["TransfoXLLMHeadModel"],
              "layer_norm_epsilon": 1e-5, **changes}  # fmt: skip
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    weights = found.under("w/")
    weights["crit.out_layers.0.weight"] = weights["transformer.word_emb.emb_layers.0.weight"]
    torch.save(weights, folder / "pytorch_model.bin")
    return folder


def test_a_published_folder_opens(tmp_path: Path, verified: Callable[..., None]) -> None:
    found = Frozen("transfoxl_lm")
    verified(TransformerXl, "b", "published folder")
    ours = lmexplain.load(published(found, tmp_path / "theirs"))
    again = lmexplain.load(lmexplain.save(ours, tmp_path / "ours"))
    assert isinstance(ours, TransformerXl) and again.config == ours.config and ours.head_name == "CausalLM"
    for each in (ours, again):
        close(each(found["in/ids0"]).logits, found["out/seg0/log_probs"], "log p")
    body = lmexplain.load(tmp_path / "theirs", None)
    close(body(found["in/ids0"]).last_hidden_state, found["out/seg0/last_hidden"], "last state")
    for n, (name, value, says) in enumerate((
        ("untie_r", False, "untie_r=False"), ("attn_type", 2, "attn_type=2"), ("pre_lnorm", True, "pre_lnorm=True"),
        ("proj_share_all_but_first", False, "proj_share_all_but_first=False"), ("d_embed", 8, "d_embed=8"),
        ("d_inner", 20, r"CoreNet.0.bias is \(24,\), the configuration asks for \(20,\)"),
    )):  # fmt: skip
        with pytest.raises(ValueError, match=says):
            lmexplain.load(published(found, tmp_path / str(n), **{name: value}))


def test_narrow_clusters_against_a_loop() -> None:
    """With div_val > 1 each token has its cluster's table, map and place in the head (nothing frozen has it)."""
    config = TransformerXlConfig(vocab_size=31, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                                 intermediate_size=8, cutoffs=(7, 12, 20), div_val=2)  # fmt: skip
    made: Any = TransformerXl(config, "CausalLM").double().eval()
    torch.manual_seed(0)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    ids = torch.arange(31)[None]
    x = made(ids).hidden_states[0][0]
    ends = (0, 7, 12, 20, 31)
    for token in range(31):
        c = sum(token >= end for end in ends[1:4])
        row = made.embeddings.tables[c].weight[token - ends[c]]
        expected = 4 * (made.embeddings.projections[c].weight @ row)
        assert (x[token] - expected).abs().max() < 1e-12
    h = torch.randn(3, 16).double()
    head = made.head
    for n in range(3):
        first = h[n] @ head.projections[0].weight
        scores = [float(first @ w + b) for w, b in zip(head.tables[0].weight, head.tables[0].bias, strict=True)]
        scores += [float(first @ w + b) for w, b in zip(head.rare.weight, head.rare.bias, strict=True)]
        common = torch.tensor(scores, dtype=torch.float64).log_softmax(0)
        for token in range(31):
            c = sum(token >= end for end in ends[1:4])
            p = common[token] if c == 0 else common[6 + c]
            if c:
                inner = (h[n] @ head.projections[c].weight) @ head.tables[c].weight.T + head.tables[c].bias
                p = p + inner.log_softmax(0)[token - ends[c]]
            assert abs(float(head.scores(h[None])[0, n, token] - p)) < 1e-12
            assert abs(float(head.losses(h[n : n + 1], torch.tensor([token]))[0] + p)) < 1e-12
    assert abs(float(head.scores(h[None]).exp().sum()) - 3) < 1e-12
    assert head.projections[1].weight is made.embeddings.projections[1].weight
    assert head.projections[0].weight is not made.embeddings.projections[0].weight
