"""DeBERTa against what its authors' two releases gave: attention by variant, the encoder, the enhanced mask decoder."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import lmexplain
from lmexplain.checkpoints.deberta import DEBERTA
from lmexplain.layers import Run, by_key, distances
from lmexplain.models import Deberta, DebertaConfig
from lmexplain.models.deberta import DisentangledAttention
from lmexplain.patterns import full, table

from .frozen import Frozen
from .peers import close, drawn

#: The later release's names, ours to theirs.
PARTS = {"query": "query_proj", "key": "key_proj", "value": "value_proj",
         "position_key": "pos_key_proj", "position_query": "pos_query_proj"}  # fmt: skip
SIZES = ("hidden_size", "max_position_embeddings", "max_relative_positions", "num_attention_heads")


def attention(found: Frozen, kind: str) -> DisentangledAttention:
    base = {**found.meta["config"]["base"], **found.meta["config"]["variants"][kind]}
    made = DisentangledAttention(DebertaConfig(**base, key_bias=True))
    made.output = nn.Identity()  # pyright: ignore[reportAttributeAccessIssue]  # the originals end before it
    weights = found.under(f"w/{kind}/")
    made.load_state_dict({name: weights[f"{PARTS[module]}.{last}"] for name in made.state_dict()
                          for module, _, last in [name.partition(".")]})  # fmt: skip
    return made.eval()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("deberta_attention", "c2p"), ("deberta_attention", "c2p_p2c"),
     *(("deberta_v0112_attention", kind) for kind in ("c2p", "p2c", "c2p_p2c"))],
)  # fmt: skip
def test_attention_equals_the_authors(name: str, kind: str, verified: Callable[..., None]) -> None:
    found = Frozen(name)
    verified(Deberta, "b", f"{name}, {kind}")
    ours, x = attention(found, kind), found["in/hidden"]
    grid = table(found["in/mask4"]).at(*x.shape[1:2])           # whole rows of padding attend to nothing
    run = Run(weights=True)
    with torch.no_grad():
        close(ours(x, grid, run, found[f"in/{kind}/rel_embeddings"]), found[f"out/{kind}/context"], "context")
        other = f"out/{kind}/other_query/context"
        if other in found.arrays:
            from_others = ours(found["in/query_states"], grid, Run(), found[f"in/{kind}/rel_embeddings"], x)
            close(from_others, found[other], "context of other queries")
    close(run.weights[0], found[f"out/{kind}/probs"], "weights")  # pyright: ignore[reportOptionalSubscript]


def model(found: Frozen, head: str | None) -> Deberta:
    """Ours with the weights of the file, under the later release's names."""
    known = {key: value for key, value in found.meta["config"].items() if key != "padding_idx"}
    made = Deberta(DebertaConfig(**known, key_bias=True), head)
    weights = found.under("w/")
    prefix = "deberta." if any(name.startswith("deberta.") for name in weights) else ""
    published = DEBERTA.places(Deberta(DebertaConfig(**known), head), prefix)
    state = {}
    for name in dict(made.named_parameters()):
        path, last = name.rsplit(".", 1)
        part = path.rpartition(".")[2]
        if ".attention.sublayer." in name and part in PARTS:
            state[name] = weights[f"{prefix}encoder.layer.{name.split('.')[1]}.attention.self.{PARTS[part]}.{last}"]
        else:
            state[name] = weights[published[name].key]
    made.load_state_dict(state, strict=False)
    return made.eval()


def test_the_encoder_equals_the_authors(verified: Callable[..., None]) -> None:
    found = Frozen("deberta_encoder")
    verified(Deberta, "b", "deberta_encoder")
    mask = found["in/mask"]
    output = model(found, None)(found["in/ids"], attention_mask=mask, output_attentions=True)
    for i, name in enumerate(("embeddings", "layer0", "layer1")):
        close(output.hidden_states[i], found[f"out/{name}"], name, mask.bool())
    for i, weights in enumerate(output.attentions):
        real = mask.bool()[:, None].expand(weights.shape[:3])
        close(weights, found[f"out/attention{i}"], f"attention {i}", real)


def test_the_mask_decoder_equals_the_authors(verified: Callable[..., None]) -> None:
    """Label 0 is no target there; the losses are compared one by one, and their mean is ours."""
    found = Frozen("deberta_emd")
    verified(Deberta, "b", "deberta_emd")
    ids, mask, targets = found["in/ids"], found["in/mask"], found["in/labels"]
    chosen = targets > 0
    plain = model(found, None)(ids, attention_mask=mask)
    for i in range(3):
        close(plain.hidden_states[i + 1], found[f"out/layer{i}"], f"layer {i}", mask.bool())
    ours = model(found, "EnhancedMaskedLM")
    output = ours(ids, attention_mask=mask, labels=targets.masked_fill(~chosen, -100), output_attentions=True)
    places = ours.embeddings.position(torch.arange(6))
    close(places.expand(2, -1, -1), found["out/z"], "places")
    first = ours.layers[-1](places + plain.hidden_states[2], output.grids[-1], Run(), ours.relative.weight,
                            plain.hidden_states[2])  # fmt: skip
    close(first[chosen], found["out/emd_step0"], "first pass")
    close(output.last_hidden_state[chosen], found["out/emd_step1"], "second pass")
    close(output.logits[chosen], found["out/logits"], "logits")
    close(output.loss, found["out/loss"].mean(), "loss")
    assert len(output.hidden_states) == 4 and len(output.attentions) == 4


# ── the terms, one by one ─────────────────────────────────────────────────────────────────────────────────────────


def looped(layer: DisentangledAttention, x: Tensor, rows: Tensor) -> Tensor:
    """The scores of equation 4, pair by pair, with the third term's index as chosen."""
    q, k, _ = (layer.split(part(x))[0] for part in (layer.query, layer.key, layer.value))
    far_k, far_q = (layer.split(part(rows)[None])[0] for part in (layer.position_key, layer.position_query))
    N, T, D = q.shape
    found = torch.zeros(N, T, T, dtype=x.dtype)
    for i in range(T):
        for j in range(T):
            there, back = (min(max(d + layer.span, 0), 2 * layer.span - 1) for d in (i - j, j - i))
            third = back if layer.printed else there
            terms = (q[:, i] * k[:, j], q[:, i] * far_k[:, there], k[:, j] * far_q[:, third])
            found[:, i, j] = sum(term.sum(-1) for term in terms) / math.sqrt(3 * D)
    return found


@pytest.mark.parametrize("printed", [False, True])
def test_the_third_term_has_the_index_that_was_chosen(printed: bool) -> None:
    config = DebertaConfig(hidden_size=12, num_attention_heads=2, max_relative_positions=3, printed_index=printed)
    layer: Any = drawn(DisentangledAttention(config)).double().eval()
    x, rows = torch.randn(1, 7, 12).double(), torch.randn(6, 12).double()
    run = Run(weights=True)
    layer(x, full().at(7), run, rows)
    assert (run.weights[0][0] - looped(layer, x, rows).softmax(-1)).abs().max() < 1e-12  # pyright: ignore


@pytest.mark.parametrize(("T", "S", "start"), [(1, 1, 0), (3, 3, 0), (2, 5, 3), (5, 2, 0), (1, 4, 3)])
def test_the_shift_brings_each_distance_to_its_key(T: int, S: int, start: int) -> None:
    far = distances(T, S, start).expand(T, -1)
    expected = start + torch.arange(T)[:, None] - torch.arange(S)
    assert torch.equal(by_key(far, S), expected)


def test_the_authors_files_hold_the_decoders_head(tmp_path) -> None:
    """They name no architecture: the body loads and says what is left over, the head on request."""
    config = {"vocab_size": 31, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
              "intermediate_size": 12, "max_position_embeddings": 16}  # fmt: skip
    ours: Any = drawn(Deberta(DebertaConfig(**config), "EnhancedMaskedLM"))
    folder = lmexplain.save(ours, tmp_path)
    text = (folder / "config.json").read_text(encoding="utf-8")
    (folder / "config.json").write_text(text.replace('"architectures"', '"was"'), encoding="utf-8")
    with pytest.warns(UserWarning, match=r"also holds deberta\.embeddings\.position.*lm_predictions"):
        body = lmexplain.load(folder)
    assert body.head is None and torch.equal(body.embeddings.token.weight, ours.embeddings.token.weight)
    again = lmexplain.load(folder, head="EnhancedMaskedLM")
    assert all(torch.equal(x, again.state_dict()[name]) for name, x in ours.state_dict().items())
