"""BigBird's plans and attention against what its authors' code gave."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch

from lmexplain.layers import Run
from lmexplain.models import BigBird, BigBirdConfig
from lmexplain.models.bigbird import BigBirdAttention, random_plan
from lmexplain.patterns import global_tokens, in_blocks, padding, table, window

from .frozen import Frozen
from .peers import close

PLANS = Frozen("bigbird_plan")
NAMES = [name for name in PLANS.arrays if name.startswith(("out/layer/", "out/with_head/"))]


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_the_authors(name: str) -> None:
    T, block, r, heads, seed = map(int, re.findall(r"\d+", name.rpartition("/")[2]))
    assert torch.equal(torch.from_numpy(random_plan(T, block, r, heads, seed)), PLANS[name].long())


def test_a_plan_that_can_not_be_is_refused() -> None:
    """The original broke off there: eleven blocks leave the last rows of the second half one block too few."""
    with pytest.raises(ValueError, match=r"block \d+ has \d random blocks to choose from, and is to have"):
        random_plan(704, 64, 3, 2, 0)


@pytest.mark.parametrize("method", ["auto", "with weights"])
@pytest.mark.parametrize(("plan", "out"), [("", "context"), ("", "context_nopad"), ("_repeat", "context_repeat")])
def test_attention_equals_the_authors(plan: str, out: str, method: str, verified: Callable[..., None]) -> None:
    """With a block named twice too: it weighs double."""
    found = Frozen("bigbird_attention")
    verified(BigBird, "b", f"{out}, {method}")
    chosen = torch.zeros(2, 10, 10, dtype=torch.bool)
    chosen[:, 1:-1].scatter_(2, found[f"in/rand_attn{plan}"].long(), True)
    near = window(3) | global_tokens(0, -1)
    pattern = in_blocks(4, window(3)) | in_blocks(4, global_tokens(0, -1)) | table(chosen, block=4)
    real = found["in/mask"].bool() if out == "context" else torch.ones(2, 40).bool()
    attention = BigBirdAttention(BigBirdConfig(hidden_size=8, num_attention_heads=2, block_size=4)).eval()
    run = Run(weights=method == "with weights")
    run.beside = iter([chosen & near.at(10).dense()])
    q, k, v = (found[f"in/{name}"] for name in "qkv")
    context = attention.attend(q, k, v, (pattern & padding(real, rows=True)).at(40), run)
    close(context.transpose(1, 2), found[f"out/{out}"], out)


def test_a_set_counts_a_block_once() -> None:
    """The paper's attention is a set; `counted_twice=False` is that, and differs where a plan repeats one."""
    sizes = {"vocab_size": 31, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
             "intermediate_size": 8, "max_position_embeddings": 1024, "block_size": 64}  # fmt: skip
    models = [BigBird(BigBirdConfig(**sizes, counted_twice=twice)).eval() for twice in (True, False)]
    models[1].load_state_dict(models[0].state_dict())
    for parameter in models[0].parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    models[1].load_state_dict(models[0].state_dict())
    ids = torch.randint(5, 31, (1, 1024), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        a, b = (model(ids).last_hidden_state[0] for model in models)
    twice = models[0].released(1024)[0][1]
    assert twice is not None
    rows = twice.any(2).any(0).repeat_interleave(64)
    moved = (a - b).abs().amax(1)
    assert (moved[rows] > 1e-6).all() and (moved[~rows] < 1e-5).all() and 0 < int(rows.sum()) < 1024
