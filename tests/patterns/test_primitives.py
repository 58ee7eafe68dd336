"""What the papers and other people's troubles say of each primitive, with the right values."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.attention.flex_attention import create_mask

from lmexplain import patterns as P
from lmexplain.patterns.hashing import mix

from .naive import floyd, mixed


def rows(pattern, *lengths, **more):
    """The allowed keys of each row."""
    return [row.nonzero().flatten().tolist() for row in pattern.at(*lengths, **more).dense()]


def test_window_counts_both_sides_together():
    assert rows(P.window(4), 6)[3] == [1, 2, 3, 4, 5]
    assert rows(P.window(3), 4) == rows(P.window(2), 4) == [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3]]
    assert rows(P.window(1), 3) == [[0], [1], [2]]
    assert rows(P.window(4, 2), 9)[4] == [0, 2, 4, 6, 8]
    assert rows(P.window(512), 5) == [[0, 1, 2, 3, 4]] * 5  # wider than the text


def test_counts_of_the_released_longformer_and_bigbird():
    # Longformer: 256 keys each side at 4,096; with one global token. BigBird: 622 of 64 x 64 blocks.
    assert P.window(512).at(4096).pairs() == 4096 * 513 - 256 * 257
    assert P.longformer().at(4096).pairs() == 2_043_134
    assert P.bigbird().at(4096).pairs() == 622 * 64 * 64


def test_causal_with_cached_keys_ends_at_the_last_key():
    assert rows(P.causal(), 2, 5) == [[0, 1, 2, 3], [0, 1, 2, 3, 4]]
    assert rows(P.causal(), 2, 5, start=0) == [[0], [0, 1]]


def test_global_tokens_see_and_are_seen_and_count_from_the_end():
    dense = P.global_tokens(0, -1).at(5).dense()
    want = torch.zeros(5, 5, dtype=torch.bool)
    want[[0, 4]] = True
    want[:, [0, 4]] = True
    assert torch.equal(dense, want)
    assert P.global_tokens().at(5).pairs() == 0
    assert P.global_tokens(0).at(1).pairs() == 1


def test_global_tokens_of_each_sample():
    where = torch.tensor([[True, False, False], [False, False, True]])
    dense = P.global_tokens(where=where).at(3).dense()
    assert dense.shape == (2, 1, 3, 3)
    assert torch.equal(dense[0, 0], P.global_tokens(0).at(3).dense())
    assert torch.equal(dense[1, 0], P.global_tokens(2).at(3).dense())


def test_prefix_boundaries():
    # ten tokens: a prefix of 0 or 1 is causal, of 10 full; the rule for 6 is written out
    causal, full = P.causal().at(10).dense(), P.full().at(10).dense()
    assert torch.equal(P.prefix(0).at(10).dense(), causal) and torch.equal(P.prefix(1).at(10).dense(), causal)
    assert torch.equal(P.prefix(10).at(10).dense(), full)
    assert rows(P.prefix(6), 10) == [list(range(6))] * 6 + [list(range(i + 1)) for i in range(6, 10)]


def test_unilms_four_settings():
    assert rows(P.unilm("bidirectional"), 3) == [[0, 1, 2]] * 3
    assert rows(P.unilm("left-to-right"), 3) == [[0], [0, 1], [0, 1, 2]]
    assert rows(P.unilm("right-to-left"), 3) == [[0, 1, 2], [1, 2], [2]]
    assert rows(P.unilm("sequence-to-sequence", 2), 4) == [[0, 1], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    several = P.unilm("sequence-to-sequence", [1, 3]).at(3).dense()
    assert torch.equal(several[0, 0], P.causal().at(3).dense()) and bool(several[1].all())


def test_xlnets_streams_for_the_order_2_0_3_1():
    # blocked cells of the query stream as in the published perm_mask: [[1,1,0,1],[0,1,0,0],[1,1,1,1],[0,1,0,1]]
    order = P.permutation([2, 0, 3, 1])
    assert (~order.query.at(4).dense()).int().tolist() == [[1, 1, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1]]
    assert torch.equal(order.content.at(4).dense(), order.query.at(4).dense() | torch.eye(4, dtype=torch.bool))
    memory = P.xlnet([2, 0, 3, 1], memory=3, stream="query").at(4, 7).dense()
    assert bool(memory[:, :3].all()) and torch.equal(memory[:, 3:], order.query.at(4).dense())


def test_transformer_xl_sees_its_memory():
    assert rows(P.transformer_xl(2), 3, 5) == [[0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]]
    assert rows(P.transformer_xl(2, same_length=True), 3, 5) == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    # more is cached than the memory keeps: what is older stays closed
    assert rows(P.transformer_xl(2), 3, 7) == [[2, 3, 4], [2, 3, 4, 5], [2, 3, 4, 5, 6]]
    assert rows(P.transformer_xl(0), 2, 4) == [[2], [2, 3]]
    assert rows(P.memory(), 2, 4) == [[0, 1], [0, 1]] and rows(P.memory(1), 2, 4) == [[1], [1]]


def test_padding_on_either_side():
    pattern = P.full() & P.padding([[1, 1, 0], [0, 1, 1]])
    assert pattern.at(3).dense()[:, 0].tolist() == [[[True, True, False]] * 3, [[False, True, True]] * 3]
    own = P.padding([1, 1, 0], rows=True)
    assert rows(own, 3) == [[0, 1], [0, 1], []]


def test_longformers_map_with_pads():
    # ten tokens, window 4, token 0 global, pads at 7, 8, 9
    real = [1] * 7 + [0] * 3
    got = rows(P.longformer(4, (0,)) & P.padding(real, rows=True), 10)
    assert got[0] == [0, 1, 2, 3, 4, 5, 6] and got[1] == [0, 1, 2, 3] and got[4] == [0, 2, 3, 4, 5, 6]
    assert got[7:] == [[], [], []]


def test_cells_outside_the_lengths_fall_away():
    assert rows(P.cells((0, 1), (2, 0), (9, 0), (0, 9)), 3) == [[1], [], [0]]


def test_table_of_blocks_and_of_heads():
    assert rows(P.table([[1, 0], [0, 1]], block=2), 3) == [[0, 1], [0, 1], [2]]
    heads = P.table(torch.tensor([[[1, 0], [0, 0]], [[0, 0], [0, 1]]]).bool())
    assert heads.at(2).lead == (1, 2) and heads.at(2).pairs().tolist() == [[1, 1]]


def test_per_head():
    grid = P.per_head(P.causal(), P.full()).at(3)
    assert grid.lead == (1, 2) and grid.pairs().tolist() == [[6, 9]]
    assert [part.name for part in grid.parts(1)] == ["full"]


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_random_is_the_documented_hash(seed):
    n, r = 23, 4
    assert rows(P.random(r, seed), n) == [sorted(floyd(seed, q, n, r)) for q in range(n)]


def test_hash_values_are_fixed():
    # a published spec with a seed must mean the same for ever: these numbers may not change
    values = [0, 1, 2**31, 2**32 - 1]
    fixed = [33350994, 2672842292, 2189224271, 2767685996]
    assert mix(torch.tensor(values)).tolist() == [mixed(v) for v in values] == fixed


def test_random_does_not_depend_on_what_ran_before():
    before = P.random(3, 1).at(50).dense()
    torch.manual_seed(5)
    torch.rand(10)
    assert torch.equal(P.random(3, 1).at(50).dense(), before)
    assert not torch.equal(P.random(3, 2).at(50).dense(), before)


def test_random_draws_at_most_all_keys_and_each_once():
    assert rows(P.random(9), 4) == [[0, 1, 2, 3]] * 4
    assert P.random(5, 3).at(64).pairs() == 64 * 5


def test_random_keys_are_spread_evenly():
    counts = P.random(8, 0).at(2000).dense().sum(0).double()
    # each key is drawn 8 times on average; chi-square over 1,999 degrees of freedom, six standard deviations
    chi = ((counts - 8) ** 2 / (8 * (1 - 8 / 2000))).sum()
    assert abs(chi - 1999) < 6 * math.sqrt(2 * 1999)


def test_random_blocks_as_published():
    # 128 tokens in blocks of 4: over 500 seeds each free block about equally often, never a neighbour or an end
    counts = torch.zeros(32, 32)
    for seed in range(500):
        plan = P.random_blocks(3, 4, seed).at(128).dense()[::4, ::4]
        assert (plan.sum(1)[1:-1] == 3).all() and not plan[[0, -1]].any()
        counts += plan
    assert not counts[:, [0, 31]].any()
    for i in range(1, 31):
        assert not counts[i, max(0, i - 1) : i + 2].any()
        free = counts[i][[j for j in range(1, 31) if abs(i - j) > 1]]
        expected = 500 * 3 / len(free)
        assert (free - expected).abs().max() < 6 * math.sqrt(expected)


def test_random_blocks_of_a_length_that_does_not_divide():
    grid = P.random_blocks(3, 4, 0).at(130)
    assert grid.pairs() == int(grid.dense().sum())


def test_short_texts_are_defined():
    for pattern in (P.longformer(), P.bigbird(), P.bigbird_tokens(), P.transformer_xl(4), P.causal(), P.random(3)):
        assert pattern.at(1).pairs() == 1
    assert P.random_blocks(3).at(1).pairs() == 0  # no block is free


def test_cross_attention_refuses_patterns_of_distance():
    assert bool(P.full().at(2, 5, start=None).dense().all())
    assert rows(P.padding([1, 0, 1]), 2, 3, start=None) == [[0, 2]] * 2
    related = (P.window(3), P.causal(), P.global_tokens(0), P.full() & P.causal(), P.per_head(P.full(), P.causal()))
    for pattern in related:
        with pytest.raises(ValueError, match="cross-attention"):
            pattern.at(2, 5, start=None)


def test_cost_of_longformer_at_4096():
    cost = P.longformer().at(4096).cost(width=64, heads=12)
    assert cost.pairs == 12 * 2_043_134 and cost.flops == 4 * 64 * cost.pairs and cost.bytes == 4 * cost.pairs
    assert cost.full_flops == 4 * 64 * 12 * 4096**2
    assert cost.share == pytest.approx(2_043_134 / 4096**2)


def test_heads_of_their_own_are_not_counted_twice():
    assert P.per_head(P.full(), P.causal()).at(4).cost(heads=2).pairs == 16 + 10


def test_patterns_are_values():
    assert P.window(4) == P.window(4) and hash(P.window(4)) == hash(P.window(4)) and P.window(4) != P.window(6)
    assert P.window(4) | P.causal() == P.window(4) | P.causal()
    assert P.longformer(4).titled("mine") == P.longformer(4)
    order, ids = torch.tensor([1, 0]), [0, 1]
    for made in (P.padding, P.segments, P.prefix, P.table, lambda x: P.global_tokens(where=x), P.permutation):
        data = [ids] * 2 if made is P.table else order if made is P.permutation else ids
        one, other = made(data), made(data)
        assert one == one and one != other and (one | P.full()) != (other | P.full()) and hash(one) != hash(other)
    assert (P.window(4) | P.causal() | P.full()).parts == (P.window(4), P.causal(), P.full())
    assert (~P.causal()).name == "not causal"


def test_why_lists_every_reason_in_the_order_written():
    local, token = P.window(4), P.global_tokens(0)
    grid = (local | token).at(8)
    assert grid.why(1, 0) == (local, token) and grid.why(7, 0) == (token,) and grid.why(7, 1) == ()
    assert grid.reasons()[[1, 7, 7], [0, 0, 1]].tolist() == [0, 1, -1]


def test_a_grid_is_a_mask_mod():
    grid = P.per_head(P.longformer(4) & P.padding([[1] * 9, [0] * 3 + [1] * 6]), P.random(2) | P.causal()).at(9)
    assert torch.equal(create_mask(grid, 2, 2, 9, 9, device="cpu"), grid.dense())


def test_a_reason_counts_only_where_its_whole_branch_is_open():
    # the pad closes the window's branch; only the global token opens the cell
    local, token = P.window(4), P.global_tokens(1)
    grid = ((local & P.padding([1, 0, 1, 1])) | token).at(4)
    assert grid.why(2, 1) == (token,) and grid.reasons()[2, 1] == 2
    assert [part.name for part in grid.why(2, 3)] == ["window 4", "real tokens"]


def test_a_global_pad_has_no_effect():
    pattern = (P.window(3) | P.global_tokens(0)) & P.padding([0, 1, 1, 1, 1], rows=True)
    assert rows(pattern, 5) == [[], [1, 2], [1, 2, 3], [2, 3, 4], [3, 4]]


def test_a_published_plan_runs_as_a_table():
    with np.load(Path(__file__).parents[1] / "reference" / "bigbird_plan.npz", allow_pickle=False) as plans:
        plan = plans["out/layer/1024_64_3_h12_seed0"]  # (heads, blocks - 2, r): the key blocks of each inner block
    allowed = np.zeros((12, 16, 16), dtype=bool)
    heads, blocks, _ = np.indices(plan.shape)
    allowed[heads, blocks + 1, plan] = True
    ends = P.in_blocks(64, P.window(3)) | P.in_blocks(64, P.global_tokens(0, -1))
    grid = (P.table(allowed, block=64) | ends).at(1024)
    # the plan's notes: 38 of its 168 rows repeat a window or global block; a set holds those pairs once
    seen_twice = (P.table(allowed, block=64) & ends).at(1024).blocks(64)
    assert int((seen_twice == P.ALL).any(-1).sum()) == 38
    inner = [len({*row, i, i + 1, i + 2, 0, 15}) for head in plan for i, row in enumerate(head.tolist())]
    assert int(grid.pairs().sum()) == (sum(inner) + 12 * 2 * 16) * 64 * 64


def test_heads_unite_in_path_as_in_reach():
    grid = P.per_head(P.window(1), P.full()).at(4)
    assert grid.path(0, 3) == [0, 3] and bool(P.reach([grid]).all()) and grid.path(0, 3, h=0) is None


def test_large_draws_take_no_more_than_there_are():
    assert P.random(10**9).at(64).pairs() == 64 * 64


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: P.window(0), "width is 0, the least is 1"),
        (lambda: P.window(4, 0), "dilation is 0"),
        (lambda: P.window(2.5), "width must be a whole number, not 2.5"),
        (lambda: P.window(True), "whole number, not True"),
        (lambda: P.random(-1), "r is -1, the least is 0"),
        (lambda: P.window(10**24), "the most is 2147483647"),
        (lambda: P.cells((10**30, 0)), "the most is 2147483647"),
        (lambda: P.random(1, 2**32), "take a seed of 32 bits"),
        (lambda: P.padding(None), "not a table of numbers"),
        (lambda: P.padding([10**30]), "not a table of numbers"),
        (lambda: P.padding([1], rows="no"), "rows must be True or False"),
        (lambda: P.longformer(4, 0), "write (0,)"),
        (lambda: P.bigbird(ends=-1), "ends is -1"),
        (lambda: P.full().at(4.0), "whole number, not 4.0"),
        (lambda: P.full().at(4, start="first"), "start is 'first'"),
        (lambda: P.full().at(4).blocks(2.0), "whole number, not 2.0"),
        (lambda: P.per_head(P.full(), P.causal()).at(4).why(1, 1, h=5), "h = 5 is outside 0 … 1"),
        (lambda: P.full().at(4).region(slice(2), slice(2), b=-1), "b = -1"),
        (lambda: P.parse(3), "not from 3"),
        (lambda: P.random_blocks(3, 0), "block is 0"),
        (lambda: P.global_tokens(7).at(5), "position 7 is not among the 5 keys"),
        (lambda: P.global_tokens(0, where=[1]), "not both"),
        (lambda: P.prefix(9).at(5), "longer than the 5 keys"),
        (lambda: P.prefix(-1), "length is -1"),
        (lambda: P.segments([0, 1]).at(3), "ids has 2 places, the keys have 3"),
        (lambda: P.permutation([0, 0, 1]), "not an order of the places 0 … 2"),
        (lambda: P.permutation([1, 0], "both"), "'both'"),
        (lambda: P.permutation([1, 0]).at(3), "order has 2 places, the keys have 3"),
        (lambda: P.padding([0, 2]), "holds 2; only 0 and 1"),
        (lambda: P.padding([0.5]), "whole numbers"),
        (lambda: P.table([[1, 0]]).at(2), "1 rows of 1 do not fit 2 queries; give 2"),
        (lambda: P.per_head(), "give one for each head"),
        (lambda: P.per_head(P.per_head(P.full(), P.causal())), "plain patterns"),
        (lambda: P.in_blocks(64, 3), "not a pattern"),
        (lambda: (P.padding([[1, 1]] * 2) & P.padding([[1, 1]] * 3)).at(2), "2 and 3 samples"),
        (lambda: P.full().at(0), "queries is 0, the least is 1"),
        (lambda: P.full().at(5, 3), "do not lie among 3 keys"),
        (lambda: P.full().at(2, 5, start=4), "give start from 0 to 3"),
        (lambda: P.full().at(3).why(3, 0), "q = 3 is outside 0 … 2"),
        (lambda: P.full().at(3).path(0, 9), "j = 9 is outside 0 … 2"),
        (lambda: P.unilm("both"), "no setting 'both'"),
        (lambda: P.unilm("sequence-to-sequence"), "source=None"),
        (lambda: P.full().at(3).cost(heads=0), "heads is 0"),
        (lambda: P.reach([]), "no grid given"),
    ],
)
def test_errors_name_value_limit_and_remedy(make, says):
    with pytest.raises(ValueError) as error:
        make()
    assert says in str(error.value)


@pytest.mark.parametrize("join", [lambda: P.window(4) | 3, lambda: P.window(4) & "causal()"])
def test_a_pattern_is_joined_with_patterns_alone(join):
    with pytest.raises(TypeError, match=r"window\(4\) [|&] .*no pattern but of type .*global_tokens\(0\)"):
        join()
