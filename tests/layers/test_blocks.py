"""Where the norm stands: a block whose sublayer says nothing shows it. And what a module must be for torch.save."""

from __future__ import annotations

import pickle

import pytest
import torch
from torch import nn

from lmexplain.layers import ACTIVATIONS, FeedForward, MultiHeadAttention, PostNormBlock, PreNormBlock
from lmexplain.patterns import full

X = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0))


def silent(sublayer: nn.Module) -> nn.Module:
    """All of its weights are 0."""
    for parameter in sublayer.parameters():
        nn.init.zeros_(parameter)
    return sublayer


def norm() -> nn.LayerNorm:
    made = nn.LayerNorm(16)
    nn.init.normal_(made.weight)
    nn.init.normal_(made.bias)
    return made


def test_a_silent_pre_norm_block_returns_x_itself() -> None:
    assert torch.equal(PreNormBlock(silent(FeedForward(16, 32)), norm())(X), X)
    assert torch.equal(PreNormBlock(silent(MultiHeadAttention(16, 4)), norm())(X, full().at(5)), X)


def test_a_silent_post_norm_block_returns_the_norm_of_x() -> None:
    for sublayer, rest in ((FeedForward(16, 32), ()), (MultiHeadAttention(16, 4), (full().at(5),))):
        block = PostNormBlock(silent(sublayer), norm())
        assert torch.equal(block(X, *rest), block.norm(X))


def test_after_twelve_silent_layers_the_stream_is_whole_or_normed_once() -> None:
    pre = [PreNormBlock(silent(FeedForward(16, 32)), norm()) for _ in range(12)]
    post = [PostNormBlock(silent(FeedForward(16, 32)), nn.LayerNorm(16, eps=0.0)) for _ in range(12)]
    x = y = X
    for before, after in zip(pre, post, strict=True):
        x, y = before(x), after(y)
    assert torch.equal(x, X)
    assert torch.allclose(y, nn.LayerNorm(16, eps=0.0)(X), atol=1e-5)        # norming what is normed changes nothing


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_module_with_any_activation_can_be_pickled(name: str) -> None:
    layer, x = FeedForward(3, 5, name), torch.randn(2, 3)
    assert torch.equal(pickle.loads(pickle.dumps(layer))(x), layer(x))      # noqa: S301
