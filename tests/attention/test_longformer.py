"""Longformer is two calls: local rows, and global rows with projections of their own. Its peer is transformers."""

import pytest
import torch

from lmexplain.attention import attend
from lmexplain.patterns import full, longformer, padding

from .helpers import assert_same

pytestmark = pytest.mark.usefixtures("small_blocks")

GLOBAL = [0, 20]


@pytest.mark.parametrize("method", ["dense", "sparse"])
@pytest.mark.parametrize("pads", [0, 13])
def test_agrees_with_transformers(method, pads):
    longformer_module = pytest.importorskip("transformers.models.longformer.modeling_longformer")
    config = longformer_module.LongformerConfig(hidden_size=16, num_attention_heads=2, num_hidden_layers=1,
                                                attention_window=[8], attention_probs_dropout_prob=0.0)  # fmt: skip
    torch.manual_seed(0)
    peer = longformer_module.LongformerSelfAttention(config, 0)
    x = torch.randn(2, 64, 16, requires_grad=True)
    real = torch.arange(64) < torch.tensor([[64], [64 - pads]])
    marks = torch.where(real, 0.0, -10000.0)                # its convention: below 0 padding, above 0 global
    marks[:, GLOBAL] = 10000.0
    theirs = peer(x, marks, is_index_masked=marks < 0, is_index_global_attn=marks > 0, is_global_attn=True)[0]

    def heads(projection, x):
        return projection(x).unflatten(-1, (2, 8)).transpose(1, 2)

    q, k, v = (heads(p, x) for p in (peer.query, peer.key, peer.value))
    local = attend(q, k, v, (longformer(8, GLOBAL) & padding(real, rows=True)).at(64), method=method)
    q, k, v = heads(peer.query_global, x[:, GLOBAL]), heads(peer.key_global, x), heads(peer.value_global, x)
    seen = attend(q, k, v, (full() & padding(real)).at(len(GLOBAL), 64, start=None), method=method)
    ours = local.index_copy(2, torch.tensor(GLOBAL), seen).transpose(1, 2).flatten(2)

    assert_same(ours, theirs, "out")
    direction = torch.randn(2, 64, 16)
    names, parameters = zip(*peer.named_parameters(), strict=True)
    gradients = (torch.autograd.grad(out, (x, *parameters), direction) for out in (ours, theirs))
    for name, a, b in zip(("x", *names), *gradients, strict=True):
        assert_same(a, b, name)
