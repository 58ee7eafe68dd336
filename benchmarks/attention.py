"""How fast sparse attention is, beside FlexAttention and the transformers library, as a table in Markdown.

    python benchmarks/attention.py [--quick] [--only TEXT] [--out FILE]

Two threads, float32, no dropout on either side. Ours and the peer's run in turn in one process, and a ratio is the
median over such pairs; pairs that other processes disturbed are measured again. What can be equal is first held equal.
FlexAttention is compiled, which needs a C++ compiler. Memory is the peak of a process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from timing import Pairs, Row, exponent, in_turn, seconds, table
from torch import Tensor, nn

from lmexplain.attention import attend
from lmexplain.patterns import Grid, bigbird, full, longformer, per_head, window

HIDDEN, HEADS, WIDTH = 768, 12, 64


def heads(x: Tensor) -> Tensor:
    """(B, n, H) -> (B, N, n, D)"""
    return x.unflatten(-1, (HEADS, WIDTH)).transpose(1, 2)


def merged(x: Tensor) -> Tensor:
    """(B, N, n, D) -> (B, n, H)"""
    return x.transpose(1, 2).flatten(2)


# ── layers: projections and attend ────────────────────────────────────────────────────────────────────────────────


class BigBirdLayer(nn.Module):
    """Self-attention along a grid, with the projections of the peer."""

    def __init__(self, peer: Any, grid: Grid) -> None:
        super().__init__()
        self.query, self.key, self.value, self.grid = peer.query, peer.key, peer.value, grid

    def forward(self, x: Tensor) -> Tensor:
        return merged(attend(heads(self.query(x)), heads(self.key(x)), heads(self.value(x)), self.grid))


class LongformerLayer(BigBirdLayer):
    """The same; then token 0 attends to all with projections of its own (Longformer, section 3.1)."""

    def __init__(self, peer: Any, grid: Grid) -> None:
        super().__init__(peer, grid)
        self.query_global, self.key_global, self.value_global = peer.query_global, peer.key_global, peer.value_global

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = heads(self.query_global(x[:, :1])), heads(self.key_global(x)), heads(self.value_global(x))
        first = merged(attend(q, k, v, full().at(1, x.shape[1])))
        return torch.cat([first, super().forward(x)[:, 1:]], dim=1)


def longformer_pair(n: int) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    from transformers import LongformerConfig
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

    config = LongformerConfig(attention_window=[512], num_hidden_layers=1, attention_probs_dropout_prob=0.0)
    peer = LongformerSelfAttention(config, 0).train()
    tokens = torch.zeros(1, n)
    tokens[:, 0] = 1                                        # its convention: above 0 is global, below 0 is padding
    marks = {"attention_mask": tokens, "is_index_masked": tokens < 0, "is_index_global_attn": tokens > 0}
    ours = LongformerLayer(peer, longformer(512, (0,)).at(n))
    return ours, lambda x: peer(x, **marks, is_global_attn=True)[0]


def bigbird_pair(n: int) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    from transformers import BigBirdConfig
    from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention

    peer = BigBirdBlockSparseAttention(BigBirdConfig(attention_probs_dropout_prob=0.0)).train()
    blocks = torch.ones(1, n // 64, 64)
    marks = {"band_mask": torch.ones(1, 1, n // 64 - 4, 64, 192), "from_mask": torch.ones(1, 1, n, 1),
             "to_mask": torch.ones(1, 1, 1, n), "from_blocked_mask": blocks, "to_blocked_mask": blocks}  # fmt: skip
    each = per_head(*(bigbird(r=3, width=3, block=64, seed=seed) for seed in range(HEADS)))
    return BigBirdLayer(peer, each.at(n)), lambda x: peer(x, **marks)[0]


# ── what is measured ──────────────────────────────────────────────────────────────────────────────────────────────


def qkv(n: int, heads: int = HEADS, grad: bool = False) -> list[Tensor]:
    """As projections give them: (B, n, N, D) seen as (B, N, n, D)."""
    return [torch.randn(1, n, heads, WIDTH).transpose(1, 2).requires_grad_(grad) for _ in range(3)]


def window_core(n: int, pairs: int) -> Iterator[Row]:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    grid = window(512).at(n)
    q, k, v = qkv(n)
    flex = torch.compile(flex_attention, dynamic=False)

    def ours() -> Tensor:
        return attend(q, k, v, grid)

    with torch.no_grad():
        for size, bar in ((128, 1.5), (64, None)):
            mask = create_block_mask(grid, None, None, n, n, device="cpu", BLOCK_SIZE=size)

            def peer(mask: Any = mask) -> Any:
                return flex(q, k, v, block_mask=mask)

            assert_same(ours(), peer())
            took = in_turn(ours, peer, pairs)
            note = "its default block" if bar else "a block that suits it better here"
            yield Row(f"window 512, n={n}, core, forward: FlexAttention, block {size}", took.ratio, bar,
                      note=f"{note}; {times(took)}")  # fmt: skip

        a, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
        took = in_turn(ours, lambda: a @ b, pairs)
        share = grid.cost(WIDTH, HEADS).flops / (2 * 2048**3)
        yield Row(f"window 512, n={n}, core, forward: time over that of a matrix product of the same FLOP",
                  median(o / (p * share) for o, p in zip(took.ours, took.peer, strict=True)), 2.5, at_least=False,
                  note="useful FLOP only: what the mask hides is not counted")  # fmt: skip


def layer(name: str, pair: Callable[[int], Any], n: int, pairs: int, same: bool) -> Iterator[Row]:
    ours, peer = pair(n)
    x, grad = torch.randn(1, n, HIDDEN), torch.randn(1, n, HIDDEN)
    with torch.no_grad():
        if same:
            assert_same(ours(x), peer(x))
        took = in_turn(lambda: ours(x), lambda: peer(x), pairs)
    yield Row(f"{name} layer, n={n}, forward: transformers", took.ratio, 2.5, note=times(took))
    x.requires_grad_()
    took = in_turn(lambda: ours(x).backward(grad), lambda: peer(x).backward(grad), pairs)
    yield Row(f"{name} layer, n={n}, forward and backward: transformers", took.ratio, 2.0, note=times(took))


def growth(lengths: tuple[int, ...], repeats: int) -> Iterator[Row]:
    """In rounds over all lengths, so that a busy moment falls on each of them alike; the best round counts."""
    for name, pattern in (("window 512", window(512)), ("Longformer", longformer()), ("BigBird", bigbird())):
        planning: dict[int, float] = {}
        took: dict[str, dict[int, list[float]]] = {"forward": {}, "forward and backward": {}}
        for _ in range(repeats):
            for n in lengths:
                inputs, grid = qkv(n, grad=True), pattern.at(n)
                few = [x[:, :1, :, :1].detach() for x in inputs]    # next to no work but the plan
                first = seconds(partial(attend, *few, grid))
                planning.setdefault(n, first - seconds(partial(attend, *few, grid)))
                with torch.no_grad():
                    took["forward"].setdefault(n, []).append(seconds(partial(attend, *inputs, grid)))
                took["forward and backward"].setdefault(n, []).append(seconds(partial(forth_and_back, inputs, grid)))
        for what, rounds in took.items():
            best = [min(rounds[n]) for n in lengths]
            note = ", ".join(f"{n}: {1e3 * t:.0f} ms" for n, t in zip(lengths, best, strict=True))
            yield Row(f"{name}, {what}: time grows as n to the power", exponent(lengths, best), 1.1, at_least=False,
                      unit="", note=note)  # fmt: skip
        yield Row(f"{name}: planning, once for n={lengths[-1]}", 1e3 * planning[lengths[-1]], unit="ms")


def forth_and_back(inputs: list[Tensor], grid: Grid, method: str = "auto") -> None:
    q, k, v = inputs
    torch.autograd.grad(attend(q, k, v, grid, method=method).sum(), inputs)


def memory(n: int) -> Iterator[Row]:
    """Of one head: at 16,384 tokens a single tensor of its dense scores takes 1 GiB."""
    status = Path("/proc/self/clear_refs")
    if not status.exists():
        return                                              # the peak can be set back on Linux alone
    took = {}
    for method in ("sparse", "dense"):
        command = [sys.executable, __file__, "--peak", method, "--length", str(n)]
        took[method] = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    yield Row(f"Longformer, 1 head, n={n}, forward and backward: peak memory of dense over sparse",
              took["dense"] / took["sparse"], 8,
              note=f"{took['sparse']:.0f} MiB and {took['dense']:.0f} MiB above the inputs")  # fmt: skip


def peak(method: str, n: int) -> float:
    """MiB that forward and backward take above what was there before."""
    inputs, grid = qkv(n, 1, grad=True), longformer().at(n)
    forth_and_back([x[:, :, :1024] for x in inputs], longformer().at(1024), method="sparse")    # loads the libraries
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")         # sets the peak back
    before = high_water()
    forth_and_back(inputs, grid, method)
    return (high_water() - before) / 1024


def high_water() -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))     # kiB


def pairs_count(n: int) -> Iterator[Row]:
    for name, pattern in (("window 512", window(512)), ("Longformer", longformer()), ("BigBird", bigbird())):
        took = median(seconds(pattern.at(n).pairs) for _ in range(9))
        yield Row(f"{name}: exact pairs at n={n}", took, 0.1, at_least=False, unit="s")


def assert_same(ours: Tensor, peer: Tensor) -> None:
    difference = float((ours - peer).abs().max())
    if not difference <= 1e-4 * max(1.0, float(peer.abs().max())):
        raise SystemExit(f"the two executions differ by {difference}; a ratio of their times means nothing")


def times(took: Pairs) -> str:
    return f"medians {1e3 * median(took.ours):.0f} ms and {1e3 * median(took.peer):.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short lengths and few pairs: does it run?")
    parser.add_argument("--only", default="", help="window, layers, growth, memory or pairs")
    parser.add_argument("--out", type=Path, help="also write the table here")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    parser.add_argument("--length", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(2)
    if given.peak:
        print(peak(given.peak, given.length))
        return
    n, pairs = (1024, 3) if given.quick else (4096, 15)
    lengths = (1024, 2048, 4096) if given.quick else (4096, 8192, 16384, 32768)
    parts: dict[str, Callable[[], list[Iterator[Row]]]] = {
        "window": lambda: [window_core(n, 2 * pairs)],
        "layers": lambda: [layer("Longformer", longformer_pair, n, pairs, same=True),
                           layer("BigBird", bigbird_pair, n, pairs, same=False)],  # fmt: skip
        "growth": lambda: [growth(lengths, max(1, pairs // 3))],
        "memory": lambda: [memory(lengths[-1] // 2)],
        "pairs": lambda: [pairs_count(lengths[-1])],
    }
    rows = []
    for part in (part() for name, part in parts.items() if given.only in name):
        for row in (row for several in part for row in several):
            print("  ".join(row.cells()), file=sys.stderr, flush=True)
            rows.append(row)
    import transformers

    head = f"2 threads, float32, torch {torch.__version__}, transformers {transformers.__version__}\n\n"
    print("\n" + head + table(rows))
    if given.out:
        given.out.write_text(head + table(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
