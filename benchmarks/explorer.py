"""How fast the explorer follows a slider, in Chromium and from a file, as a table in Markdown.

    python benchmarks/explorer.py [--quick] [--only TEXT] [--out FILE]

A standalone page of 1024 × 1024 positions; the first slider of the pattern is moved step by step, each step once the
one before it is painted. *Compute and draw* is all that the explorer's script does for a step: the event, the pattern's
cells, their counts, the canvas, the words beside it. It is timed on the clock of the page's own thread, so that other
load on the machine is left out; the note has the frame's work by the clock on the wall, other load included.
Needs Playwright and a Chromium: its own, the system's, or LMEXPLAIN_CHROMIUM.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from timing import Row, table

from lmexplain.patterns import Pattern, bigbird, causal, global_tokens, permutation, random, window
from lmexplain.views import page as standalone

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
MIXED = [(place * 389 + 7) % 1024 for place in range(1024)]  # an order without runs: the hardest rows to draw

PATTERNS: dict[str, Pattern] = {
    "window and global tokens": window(64) | global_tokens(0),
    "window, global and random tokens": window(64) | global_tokens(0, -1) | random(3),
    "dilated window": window(64, 3) | global_tokens(0),
    "causal window": window(64) & causal(),
    "BigBird in blocks": bigbird(3, 3, 1, 64),
    "window and permutation": window(9) | permutation(MIXED),
}

# Moves the first slider for the i-th time and waits for its picture. Answers milliseconds of the frame's work, frames
# from the event to the one that drew, and milliseconds from the event until the frame after that began.
MOVE = """async (i) => {
  const host = document.querySelector(".lmexplain-explorer"), frame = () => new Promise(requestAnimationFrame);
  const slider = host.shadowRoot.querySelector(".lm-parts input[type=range]");
  await new Promise((done) => setTimeout(done, (i * 7) % 17));              // events come at any moment of a frame
  const drawn = host.lmFrames.count, begun = performance.now();
  slider.value = 1 + ((i * 37) % (Number(slider.max) - 1));
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  let frames = 0;
  for (; host.lmFrames.count === drawn; frames++) await frame();
  const work = host.lmFrames.ms;
  await frame();
  return [work, frames, performance.now() - begun];
}"""

# Many events between the frames, as a mouse that never rests sends them.
FLOOD = """async (events) => {
  const host = document.querySelector(".lmexplain-explorer");
  const slider = host.shadowRoot.querySelector(".lm-parts input[type=range]");
  const before = host.lmFrames.count, begun = performance.now();
  for (let i = 0; i < events; i++) {
    slider.value = 1 + ((i * 37) % 900);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    if (i % 50 === 49) await new Promise((done) => setTimeout(done));
  }
  const sent = performance.now(), drawn = host.lmFrames.count;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const settled = host.lmFrames.count;
  await new Promise((done) => setTimeout(done, 500));
  return { ms: sent - begun, drawn: drawn - before, after: settled - drawn, late: host.lmFrames.count - settled };
}"""


def chromium() -> str | None:
    """The browser to drive; None is Playwright's own."""
    named = os.environ.get("LMEXPLAIN_CHROMIUM")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def opened(pattern: Pattern, length: int) -> Iterator[Any]:
    """A page of the explorer in a browser with a new, empty profile."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        path.write_text(standalone(pattern, queries=length, keys=length), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        tab: Any = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.goto(path.as_uri())
        tab.wait_for_function("document.querySelector('.lmexplain-explorer')?.lmFrames.count > 0")
        tab.session = tab.context.new_cdp_session(tab)
        tab.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        yield tab
        browser.close()


def p95(values: Sequence[float]) -> float:
    return quantiles(values, n=20)[-1]


def step(tab: Any, i: int) -> tuple[float, float, float, float]:
    """One move: milliseconds of script on the thread's clock, and what MOVE answers."""
    before = script_time(tab)
    work, frames, until = tab.evaluate(MOVE, i)
    return script_time(tab) - before, work, frames, until


def script_time(tab: Any) -> float:
    """Milliseconds of script that the page's thread has run so far, by its own clock."""
    metrics = tab.session.send("Performance.getMetrics")["metrics"]
    return next(1000 * metric["value"] for metric in metrics if metric["name"] == "ScriptDuration")


def slider(length: int, steps: int, bars: bool) -> Iterator[Row]:
    """The same walk of the slider for each pattern."""
    frames: list[float] = []
    for name, pattern in PATTERNS.items():
        if length != len(MIXED) and "permutation" in name:
            continue
        with opened(pattern, length) as tab:
            for i in range(20):
                tab.evaluate(MOVE, i)
            script, work, seen, until = zip(*(step(tab, i) for i in range(steps)), strict=True)
        frames += seen
        note = f"median {median(script):.1f} ms; by the wall clock {median(work):.1f} and {p95(work):.1f} ms"
        yield Row(f"slider at {length}², {name}: compute and draw, 95th percentile", p95(script), 10 if bars else None,
                  at_least=False, unit="ms", note=f"{note}; next frame after {median(until):.0f} ms")  # fmt: skip
    yield Row(f"slider at {length}², all of these: input to painted frame, 95th percentile", p95(frames),
              2 if bars else None, at_least=False, unit="frames", note=f"longest {max(frames):.0f}")  # fmt: skip


def flood(events: int) -> Iterator[Row]:
    """Events faster than frames: what is drawn, what is left over, what stays in memory."""
    with opened(PATTERNS["window and global tokens"], 1024) as tab:

        def heap() -> float:
            tab.session.send("HeapProfiler.collectGarbage")
            return tab.session.send("Runtime.getHeapUsage")["usedSize"] / 1e6

        tab.evaluate(FLOOD, events // 10)
        before = heap()
        seen = tab.evaluate(FLOOD, events)
        grown = heap() - before
    note = f"{seen['drawn']} pictures in {seen['ms'] / 1000:.1f} s"
    left = seen["after"] + seen["late"]
    yield Row(f"{events:,} slider events: pictures drawn after the last", left, 1, at_least=False, unit="", note=note)
    yield Row(f"{events:,} slider events: growth of the heap", max(0.0, grown), 1, at_least=False, unit="MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few steps: does it run?")
    parser.add_argument("--only", default="", help="slider, long or flood")
    parser.add_argument("--out", type=Path, help="also write the table here")
    given = parser.parse_args()
    steps, events = (20, 1000) if given.quick else (150, 10_000)
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "slider": lambda: slider(1024, steps, bars=True),
        "long": lambda: slider(4096, steps // 5, bars=False),
        "flood": lambda: flood(events),
    }
    rows = []
    for row in (row for name, part in parts.items() if given.only in name for row in part()):
        print("  ".join(row.cells()), file=sys.stderr, flush=True)
        rows.append(row)
    with opened(causal(), 4) as tab:
        version = tab.context.browser.version
    head = f"Chromium {version}, headless, without a GPU; a page of 1280 × 800 from a file\n\n"
    print("\n" + head + table(rows))
    if given.out:
        given.out.write_text(head + table(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
