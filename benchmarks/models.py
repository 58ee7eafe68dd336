"""How fast the models are beside the transformers library's, as a table in Markdown.

    python benchmarks/models.py [--quick] [--only TEXT] [--out FILE]

Two threads, float32, no dropout on either side; the published base size, the same weights, and the library's own fused
attention (sdpa; where it has none, for GPT and XLM, its eager one). Ours and the peer's run in turn in one process, and
a ratio is the median over such pairs; pairs that other processes disturbed are measured again. A training step is
forward, loss, backward and AdamW.

Every registered model is measured, at its first published size of base width, that the library opens from what ours
saves and that is not one measured before under another name (SpanBERT's network is BERT's).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

import torch
from timing import Pairs, Row, in_turn, table
from torch import Tensor, nn

import lmexplain
from lmexplain.models import MODELS, Model
from lmexplain.models.counts import config_of

BAR = 0.95
VOCABULARY = 1000       # ids below this are in all of them
WIDEST = 1024           # XLM's sizes begin there
NETWORK = ("forward", "walk", "position_ids", "pattern", "Embeddings", "Layer")


def base_size(name: str) -> str | None:
    """The first published size of base width."""
    config = config_of(MODELS[name])
    return next((size for size in config.PUBLISHED if config.published(size).hidden_size <= WIDEST), None)


def pair(name: str, size: str) -> tuple[Model, nn.Module] | None:
    """Ours, without dropout, and the library's model opened from what ours saved; None where it has no such model."""
    import transformers

    model = MODELS[name]
    rates = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
    ours = model(config_of(model).published(size, **rates), None)  # pyright: ignore[reportCallIssue]
    with tempfile.TemporaryDirectory() as folder:
        try:
            lmexplain.save(ours, folder)
            try:
                peer = transformers.AutoModel.from_pretrained(folder, attn_implementation="sdpa")
            except ValueError:                                  # GPT and XLM have nothing faster there
                peer = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager")
        except (ValueError, KeyError) as error:
            print(f"{name}: not measured ({error})", file=sys.stderr)
            return None
    for module in (*ours.modules(), *peer.modules()):
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return ours, peer


def same(ours: nn.Module, peer: nn.Module, arguments: dict[str, Tensor]) -> bool:
    """Do both compute the same? BERT-of-Theseus, opened as BERT, is its predecessor."""
    with torch.no_grad():
        a, b = ours(**arguments).last_hidden_state, peer(**arguments).last_hidden_state
    difference = float((a - b).abs().max())
    return difference <= 1e-4 * max(1.0, float(b.abs().max()))


def step(model: nn.Module, arguments: dict[str, Tensor]) -> Callable[[], None]:
    """One training step; the loss is the mean square of the last states, which costs next to nothing."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)

    def run() -> None:
        optimizer.zero_grad()
        model(**arguments).last_hidden_state.square().mean().backward()
        optimizer.step()

    return run


def measured(name: str, size: str, lengths: tuple[int, ...], batch: int, pairs: int) -> Iterator[Row]:
    """Forward and training step at each length."""
    made = pair(name, size)
    if made is None:
        return
    ours, peer = made
    inputs = [torch.randint(6, VOCABULARY, (batch, n)) for n in lengths]
    given = [{"input_ids": ids, "attention_mask": torch.ones_like(ids)} for ids in inputs]
    if not all(same(ours.eval(), peer.eval(), arguments) for arguments in given):       # before any training step
        print(f"{name}: not measured (the library's is another network)", file=sys.stderr)
        return
    for n, arguments in zip(lengths, given, strict=True):
        ours.eval()
        peer.eval()
        with torch.no_grad():
            took = in_turn(partial(ours, **arguments), partial(peer, **arguments), pairs)
        yield Row(f"{size}, {batch} × {n}, forward: transformers", took.ratio, BAR, note=times(took))
        took = in_turn(step(ours.train(), arguments), step(peer.train(), arguments), pairs)
        yield Row(f"{size}, {batch} × {n}, training step: transformers", took.ratio, BAR, note=times(took))


def times(took: Pairs) -> str:
    return f"medians {1e3 * median(took.ours):.0f} ms and {1e3 * median(took.peer):.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short length and few pairs: does it run?")
    parser.add_argument("--only", default="", help="models with this in their name")
    parser.add_argument("--out", type=Path, help="also write the table here")
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(2)
    lengths, batch, pairs = ((64,), 1, 2) if given.quick else ((128, 512), 1, 9)
    rows, seen = [], set()
    for name, model in MODELS.items():
        size, network = base_size(name), tuple(getattr(model, part, None) for part in NETWORK)
        if given.only not in name or size is None or network in seen:
            continue
        seen.add(network)
        for row in measured(name, size, lengths, batch, pairs):
            print("  ".join(row.cells()), file=sys.stderr, flush=True)
            rows.append(row)
    import transformers

    head = (f"2 threads, float32, torch {torch.__version__}, transformers {transformers.__version__} with sdpa; "
            f"the peer's time over ours\n\n")  # fmt: skip
    print("\n" + head + table(rows))
    if given.out:
        given.out.write_text(head + table(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
