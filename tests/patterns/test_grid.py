"""Grids against plain loops, counting and boolean matrix powers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lmexplain import patterns as P
from lmexplain.patterns import ALL, NONE, SOME

from .naive import naive
from .strategies import grids


@given(grids())
def test_dense_is_the_naive_double_loop(grid):
    assert grid.dense().tolist() == naive(grid.pattern, grid)


@given(grids(most=30), st.sampled_from([1, 3, 4, 7, (2, 5), 64]))
def test_blocks_hold_what_they_say(grid, size):
    dense, states = grid.dense(), grid.blocks(size)
    rows, columns = (size, size) if isinstance(size, int) else size
    assert states.dtype == torch.int8
    for i, block_row in enumerate(dense.split(rows, dim=-2)):
        for j, block in enumerate(block_row.split(columns, dim=-1)):
            state, full, empty = states[..., i, j], block.all(-1).all(-1), ~block.any(-1).any(-1)
            assert bool((full | (state != ALL)).all()), "ALL where a cell is missing"
            assert bool((empty | (state != NONE)).all()), "NONE where a cell is allowed"
    if size == 1:
        single = grid.pattern
        if not single.parts:  # a primitive's word on one cell is final
            assert bool((states != SOME).all())


@given(grids(most=30), st.sampled_from([2, 3, 4]))
def test_equal_signatures_mean_equal_cells(grid, size):
    dense, signature = grid.dense(), grid.signature(size)
    seen = {}
    lead = [(b, h) for b in range(grid.lead[0]) for h in range(grid.lead[1])] if grid.lead else [()]
    for index in lead:
        for i, row in enumerate(dense[index].split(size, dim=-2)):
            for j, block in enumerate(row.split(size, dim=-1)):
                key = (tuple(block.shape), tuple(signature[(*index, i, j)].tolist()))
                assert torch.equal(seen.setdefault(key, block), block)


@given(grids(most=30))
def test_pairs_count_the_cells(grid):
    counted = grid.dense().flatten(-2).sum(-1)
    assert (grid.pairs() if not grid.lead else grid.pairs().tolist()) == counted.tolist()


@given(grids(), st.data())
def test_region_and_mask_mod_are_the_same_cells(grid, data):
    dense = grid.dense()
    b, h = (data.draw(st.integers(0, n - 1)) for n in (grid.lead or (1, 1)))
    own = dense[b, h] if grid.lead else dense
    rows, columns = slice(0, data.draw(st.integers(1, grid.T))), slice(data.draw(st.integers(0, grid.S - 1)), grid.S)
    assert torch.equal(grid.region(rows, columns, b, h), own[rows, columns])
    q, k = data.draw(st.integers(0, grid.T - 1)), data.draw(st.integers(0, grid.S - 1))
    assert bool(grid(*map(torch.tensor, (b, h, q, k)))) == bool(own[q, k])


@given(grids(), st.data())
def test_reasons_are_the_parts_that_allow(grid, data):
    b, h = (data.draw(st.integers(0, n - 1)) for n in (grid.lead or (1, 1)))
    own = grid.dense()[b, h] if grid.lead else grid.dense()
    reasons, parts = grid.reasons(b, h), grid.parts(h)
    q, k = data.draw(st.integers(0, grid.T - 1)), data.draw(st.integers(0, grid.S - 1))
    why = grid.why(q, k, b, h)
    if not own[q, k]:
        assert why == () and reasons[q, k] == -1
    elif why:
        assert why[0] == parts[reasons[q, k]]
        assert [part for part in parts if part in why] == list(why)


def powers(cells, layers, start):
    """(A ∪ I)^layers over the whole key line; keys without a row only know themselves."""
    S = len(cells[0])
    step = torch.eye(S)
    step[start : start + len(cells)] += torch.tensor(cells).float()
    return torch.linalg.matrix_power(step.double(), layers)[start : start + len(cells)] > 0


def united(grid, b=0):
    """The cells of one sample, allowed by any head."""
    cells = torch.tensor(naive(grid.pattern, grid))
    return (cells[b].any(0) if grid.lead else cells).tolist()


@given(grids(most=12), st.integers(1, 4))
def test_reach_is_a_power_of_the_matrix(grid, layers):
    got = P.reach([grid] * layers)
    for b in range(grid.lead[0] if grid.lead else 1):
        want = powers(united(grid, b), layers, grid.start)
        assert torch.equal(got[b] if grid.lead and grid.lead[0] > 1 else got, want)


@given(grids(most=12), st.data())
def test_path_is_as_long_as_the_power_needed(grid, data):
    i, j = data.draw(st.integers(0, grid.T - 1)), data.draw(st.integers(0, grid.S - 1))
    path = grid.path(i + grid.start, j)
    cells = united(grid)
    first = next((n for n in range(grid.S + 1) if powers(cells, n, grid.start)[i, j]), None)
    assert (len(path) - 1 if path else None) == first
    for a, c in zip(path or [], (path or [])[1:], strict=False):
        assert cells[a - grid.start][c]


def test_reach_of_some_rows_is_those_rows():
    layers = [P.window(3).at(9)] * 3
    assert torch.equal(P.reach(layers, queries=[4, 0]), P.reach(layers)[[4, 0]])


def test_reach_of_xlnets_query_stream():
    # Q · (C ∪ I)^(L-1), computed here as a matrix product
    order = P.permutation([2, 0, 3, 1])
    C, Q = (torch.tensor(naive(p, p.at(4))).double() for p in (order.content, order.query))
    want = (Q @ torch.linalg.matrix_power(C + torch.eye(4), 2)) > 0
    assert torch.equal(P.reach([order.content.at(4)] * 2 + [order.query.at(4)], residual=[True, True, False]), want)
    assert not want.diagonal().any()  # no query sees itself, in any depth


def test_reach_from_encoder_to_decoder():
    encoder, cross, decoder = P.window(3).at(6), P.full().at(3, 6, start=None), P.causal().at(3)
    got = P.reach([encoder, cross, decoder])
    assert got.shape == (3, 6) and bool(got.all())
    narrow = P.table([[1, 0, 0, 0, 0, 0], [0] * 6, [0] * 6]).at(3, 6, start=None)
    assert P.reach([encoder, narrow, decoder]).tolist() == [[True, True, False, False, False, False]] * 3


def test_reach_refuses_lengths_that_do_not_meet():
    with pytest.raises(ValueError, match="reads 5 keys where the one below it gives 4"):
        P.reach([P.full().at(4), P.full().at(5)])


def test_memory_widens_the_field_by_itself_alone():
    # one segment of 3 with 4 cached keys: the cached keys are leaves
    assert P.reach([P.transformer_xl(4).at(3, 7)] * 3).tolist()[0] == [True] * 5 + [False] * 2
