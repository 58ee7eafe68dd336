"""How fast the models are beside the transformers library's, as a table in Markdown.

    python benchmarks/models.py [--quick] [--only TEXT] [--out FILE]

Two threads, float32, no dropout on either side; the published base size, the same weights, and the library's own fused
attention (sdpa; where it has none, for GPT and XLM, its eager one). Ours and the peer's run in turn in one process, and
a ratio is the median over such pairs; pairs that other processes disturbed are measured again. A training step is
forward, loss, backward and AdamW, in memory that both sides keep.

Every registered model is measured, at its first published size of base width, that the library opens from what ours
saves and that is not one measured before under another name (SpanBERT's network is BERT's). Lengths and bars are in
`BARS`: parity where both run the same sums, more where the library's way leaves room.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import signature
from pathlib import Path
from statistics import median

import torch
from timing import Pairs, Row, in_turn, keep_memory, table
from torch import Tensor, nn

import lmexplain
from lmexplain.checkpoints import layout_of
from lmexplain.models import MODELS, Model
from lmexplain.models.counts import config_of

PARITY = {128: 0.95, 512: 0.95}
BARS = {"xlnet": {512: 1.15}, "deberta": {512: 1.15}, "longformer": {4096: 1.5}, "bigbird": {4096: 1.5}}
VOCABULARY = 1000       # ids below this are in all of them
WIDEST = 1024           # XLM's sizes begin there
LONGEST = 512           # up to here a pair takes seconds; beyond, a third as many pairs
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
    try:
        as_published = layout_of(model).implied             # the Transformer: as Marian's files have it
    except ValueError as error:
        print(f"{name}: not measured ({error})", file=sys.stderr)
        return None
    ours = model(config_of(model).published(size, **rates, **as_published), None)  # pyright: ignore[reportCallIssue]
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
    peer.config.use_cache = False                               # nor do ours keep keys and values
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


def inputs(model: Model, n: int) -> dict[str, Tensor]:
    """One sentence of n tokens, and as many for a decoder."""
    ids = torch.randint(6, VOCABULARY, (1, n))
    decoder = {"decoder_input_ids": ids} if "decoder_input_ids" in signature(model.forward).parameters else {}
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), **decoder}


def measured(name: str, size: str, bars: Mapping[int, float], pairs: int) -> Iterator[Row]:
    """Forward and training step at each length."""
    made = pair(name, size)
    if made is None:
        return
    ours, peer = made
    given = [inputs(ours, n) for n in bars]
    # before any training step; in training, since the library's BigBird has its random blocks only there
    if not all(same(ours.train(), peer.train(), arguments) for arguments in given):
        print(f"{name}: not measured (the library's is another network)", file=sys.stderr)
        return
    for (n, bar), arguments in zip(bars.items(), given, strict=True):
        some = pairs if n <= LONGEST else math.ceil(pairs / 3)
        ours.eval()
        peer.eval()
        with torch.no_grad():
            took = in_turn(partial(ours, **arguments), partial(peer, **arguments), some)
        yield Row(f"{size}, n={n}, forward: transformers", took.ratio, bar, note=times(took))
        took = in_turn(step(ours.train(), arguments), step(peer.train(), arguments), some)
        yield Row(f"{size}, n={n}, training step: transformers", took.ratio, bar, note=times(took))


def times(took: Pairs) -> str:
    return f"medians {1e3 * median(took.ours):.0f} ms and {1e3 * median(took.peer):.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short length and few pairs: does it run?")
    parser.add_argument("--only", default="", help="models with this in their name")
    parser.add_argument("--out", type=Path, help="also write the table here")
    given = parser.parse_args()
    keep_memory()
    torch.manual_seed(0)
    torch.set_num_threads(2)
    rows, seen = [], set()
    for name, model in MODELS.items():
        size, network = base_size(name), tuple(getattr(model, part, None) for part in NETWORK)
        if given.only not in name or size is None or network in seen:
            continue
        seen.add(network)
        for row in measured(name, size, {64: 0.0} if given.quick else BARS.get(name, PARITY), 2 if given.quick else 9):
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
