"""Hypothesis: any pattern that fits given lengths, and the lengths."""

from hypothesis import strategies as st

from lmexplain import patterns as P


@st.composite
def lengths(draw, most=20):
    """(T, S): as many keys as queries, or more."""
    T = draw(st.integers(1, most))
    return T, T + draw(st.sampled_from([0, 0, 1, 3, 7]))


def tables(T, S, samples):
    """A table of single pairs or of blocks, of one head, and of each sample where there are several."""

    def made(block):
        rows, columns = -(-T // block), -(-S // block)
        row = st.lists(st.integers(0, 1), min_size=columns, max_size=columns)
        heads = st.lists(st.lists(row, min_size=rows, max_size=rows), min_size=samples, max_size=samples)
        return heads.map(lambda bits: P.table([[head] for head in bits] if samples > 1 else bits[0], block))

    return st.integers(1, 3).flatmap(made)


def primitives(T, S, samples=1, start=None):
    n = S - T if start is None else start
    small, place = st.integers(1, S + 3), st.integers(-S, S - 1)
    flags = st.lists(st.integers(0, 1), min_size=S, max_size=S)
    batched = st.lists(flags, min_size=samples, max_size=samples) if samples > 1 else flags
    orders = st.lists(st.permutations(range(S - n)), min_size=samples, max_size=samples)
    orders = orders if samples > 1 else st.permutations(range(S - n)).map(list)
    return st.one_of(
        st.just(P.full()),
        st.just(P.causal()),
        st.builds(P.window, small, st.integers(1, 4)),
        st.lists(place, max_size=3).map(lambda at: P.global_tokens(*at)),
        batched.map(lambda marks: P.global_tokens(where=marks)),
        st.builds(P.random, st.integers(0, 5), st.integers(0, 2**32 - 1)),
        st.builds(P.random_blocks, st.integers(0, 3), st.integers(1, 5), st.integers(0, 99)),
        batched.map(P.segments),
        st.integers(0, S).map(P.prefix),
        st.lists(st.integers(0, S), min_size=samples, max_size=samples).map(P.prefix),
        st.builds(P.permutation, orders, st.sampled_from(["content", "query"])),
        st.builds(P.memory, st.none() | st.integers(0, S)),
        tables(T, S, samples),
        st.builds(P.padding, batched, st.booleans()),
        st.lists(st.tuples(st.integers(0, S), st.integers(0, S)), max_size=6).map(lambda pairs: P.cells(*pairs)),
        st.builds(P.in_blocks, st.integers(1, 5), st.builds(P.window, st.integers(1, 3)) | st.just(P.causal())
                  | st.builds(P.random, st.integers(0, 3)) | st.just(P.global_tokens(0, -1))),
    )  # fmt: skip


@st.composite
def patterns(draw, T, S, samples=1, heads=False, start=None):
    """A tree of up to a handful of primitives under |, & and ~, and perhaps one pattern per head."""
    tree = st.recursive(
        primitives(T, S, samples, start),
        lambda inner: st.one_of(
            st.builds(lambda a, b: a | b, inner, inner),
            st.builds(lambda a, b: a & b, inner, inner),
            inner.map(lambda p: ~p),
        ),
        max_leaves=4,
    )
    if heads and draw(st.booleans()):
        return P.per_head(draw(tree), draw(tree)) & draw(tree)
    return draw(tree)


@st.composite
def grids(draw, most=20, heads=True):
    T, S = draw(lengths(most))
    samples = draw(st.sampled_from([1, 1, 2]))
    start = draw(st.integers(0, S - T))
    return draw(patterns(T, S, samples, heads, start)).at(T, S, start)
