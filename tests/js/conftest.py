"""An explorer in a page of its own, from a file, without a network; and the browser's evaluator alone."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lmexplain.patterns import Pattern
from lmexplain.views import fonts
from lmexplain.views.modules import JS, as_json, join, safe_script
from lmexplain.words import words

PALETTE = json.loads((JS.parent / "palette.json").read_text(encoding="utf-8"))

# A model that remembers what it was told, and that the test may change from outside, as Python does through anywidget.
MODEL = """
function hold(state) {
  const held = { state }, heard = new Set(), model = {
    saves: 0, get: (key) => held[key], set: (key, value) => ((held[key] = value), heard.forEach((f) => f())),
    save_changes: () => model.saves++, on: (name, f) => heard.add(f), off: (name, f) => heard.delete(f), heard,
  };
  return model;
}
"""


@cache
def explorer_source() -> str:
    return safe_script(join(JS / "explorer.js"))


@cache
def interface() -> dict[str, dict[str, str]]:
    return {lang: words(lang, "explorer.") for lang in ("en", "zh")}


def html(*states: dict[str, Any]) -> str:
    """One explorer per state, below each other; `models` and `cleanups` hold what belongs to them."""
    whole = [{"version": 1, "words": interface(), "palette": PALETTE, **state} for state in states]
    face = fonts.css(json.dumps(whole, ensure_ascii=False)) if any(state.get("font") for state in states) else ""
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>explorer</title>
<meta name="viewport" content="width=device-width"><style>{face}body{{margin:0}}</style></head><body>
<script type="module">{explorer_source()}
{MODEL}
window.models = {as_json(whole)}.map(hold);
window.cleanups = models.map((model) => {{
  const el = document.body.appendChild(document.createElement("div"));
  return render({{ model, el }});
}});
</script></body></html>"""


class Explorer:
    """What a reader does with the explorer on a page, and sees there."""

    def __init__(self, page: Any, index: int = 0) -> None:
        self.page, self.root, self.index = page, page.locator(".lmexplain-explorer").nth(index), index

    def settle(self) -> None:
        """Wait until what was asked for is drawn: a frame begun after this call has passed."""
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, *keys: str) -> None:
        """Presenter's keys, on the explorer itself."""
        for key in keys:
            self.root.locator(".lm-root").focus()
            self.page.keyboard.press(key)
        self.settle()

    @property
    def status(self) -> str:
        self.settle()
        return self.root.locator(".lm-status").inner_text()

    @property
    def expression(self) -> Any:
        return self.root.get_by_label("Pattern", exact=True).or_(self.root.get_by_label("模式", exact=True))

    @property
    def error(self) -> str:
        self.settle()
        return self.root.locator(".lm-head + .lm-error").inner_text()

    @property
    def panel(self) -> str:
        self.settle()
        return self.root.locator(".lm-panel").inner_text()

    def state(self) -> dict[str, Any]:
        """What the model was last told."""
        self.sent()
        return self.page.evaluate(f"models[{self.index}].get('state')")

    def sent(self) -> None:
        """Wait until what was done is sent on, a quarter of a second later by the page's own clock, however slow."""
        self.settle()
        self.page.evaluate("new Promise((done) => setTimeout(done, 260))")

    def matrix(self, plot: int = 0) -> Any:
        return self.root.locator("figure:visible canvas[tabindex]").nth(plot)

    def places(self, plot: int = 0) -> dict[str, float]:
        """Where the cells are: left, top and side in CSS pixels, and the column and row in the corner."""
        self.settle()
        return json.loads(self.root.locator("figure:visible .lm-plot").nth(plot).get_attribute("data-cells"))

    def centre(self, t: int, k: int, plot: int = 0) -> tuple[float, float]:
        at, box = self.places(plot), self.matrix(plot).bounding_box()
        x, y = at["left"] + (k - at["column"] + 0.5) * at["cell"], at["top"] + (t - at["row"] + 0.5) * at["cell"]
        return box["x"] + x, box["y"] + y

    def click(self, t: int, k: int, plot: int = 0) -> None:
        self.page.mouse.click(*self.centre(t, k, plot))

    def colours(self, cells: list[tuple[int, int]], plot: int = 0) -> list[str]:
        """The painted colour of cells near their upper left corner, where no mark is, as #RRGGBB."""
        at = self.places(plot)
        return (
            self.root.locator("figure:visible .lm-plot")
            .nth(plot)
            .evaluate(
                """(node, [cells, at]) => {
                 const canvas = node.firstChild, ctx = canvas.getContext("2d");
                 const dpr = canvas.width / parseFloat(canvas.style.width);
                 return cells.map(([t, k]) => {
                   const x = (at.left + (k - at.column) * at.cell + Math.min(at.cell / 2, 3)) * dpr;
                   const y = (at.top + (t - at.row) * at.cell + at.cell * 0.4) * dpr;
                   const [r, g, b] = ctx.getImageData(Math.floor(x), Math.floor(y), 1, 1).data;
                   return "#" + [r, g, b].map((v) => v.toString(16).padStart(2, "0")).join("").toUpperCase();
                 });
               }""",
                [cells, at],
            )
        )


@pytest.fixture
def open_explorer(page_offline: Any, tmp_path: Path) -> Iterator[Callable[..., Explorer]]:
    """Opens an explorer of a pattern; at the end nothing was asked of the network and no error was written."""

    def show(
        pattern: Pattern,
        tokens: Any = None,
        *,
        hash: str = "",
        others: list[dict[str, Any]] | None = None,
        **state: Any,
    ) -> Explorer:
        spec = {"spec": pattern.spec, "tokens": list(tokens) if tokens is not None else None, **state}
        path = tmp_path / "explorer.html"
        path.write_text(html(spec, *(others or [])), encoding="utf-8")
        page_offline.goto(path.as_uri() + hash)
        page_offline.wait_for_function(
            "[...document.querySelectorAll('.lmexplain-explorer')].every((e) => e.lmFrames?.count > 0)"
        )
        return Explorer(page_offline)

    yield show
    assert page_offline.errors == []
    assert page_offline.requests_out == []


@pytest.fixture(scope="session")
def evaluator(chromium: Any) -> Iterator[Any]:
    """A page that holds the evaluator's functions; `call(name, argument)` runs one of `BENCH` there."""
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.set_content("<!doctype html><title>evaluator</title>")
    page.add_script_tag(content=f"{safe_script(join(JS / 'language.js'))}\n{BENCH}")
    yield lambda name, argument: page.evaluate(f"(argument) => bench.{name}(argument)", argument)
    context.close()


BENCH = """
const answer = (make) => {
  try { return make(); } catch (problem) { return { refused: problem.word ?? String(problem.stack) }; }
};
const gridsOf = (spec, T, S, start, b) =>
  Array.from({ length: axesOf(spec)[1] }, (_, h) => evaluate(spec, T, S, start, b, h));
const sum = (values) => values.reduce((a, v) => a + v, 0);
window.bench = {
  /** All that a grid is asked: cells, first reasons, every reason, receptive fields and paths from some places. */
  grids: (cases) => cases.map(({ spec: given, T, S, start, queries, keys, layers }) => answer(() => {
    const spec = checkedSpec(given), [B, N] = axesOf(spec), row = new Uint8Array(S);
    const planes = Array.from({ length: B * N }, (_, p) => evaluate(spec, T, S, start, Math.floor(p / N), p % N));
    return {
      dense: Array.from(dense(spec, T, S, start)).join(""),
      reasons: Array.from(reasons(spec, T, S, start)).join(" "),
      pairs: planes.map((grid) => sum(Array.from({ length: T }, (_, t) => (grid.row(t, row.fill(0)), sum(row))))),
      why: queries.map((t) => Array.from({ length: S }, (_, k) => planes[0].why(t, k))),
      reach: Array.from({ length: B }, (_, b) => {
        const walk = walker(gridsOf(spec, T, S, start, b)), field = new Uint8Array(S);
        return queries.map((t) => Array.from(walk(t, layers, field)));
      }),
      paths: queries.map((t) => keys.map((k) => pathOf(planes.slice(0, N), start === null ? t : t + start, k))),
      text: format(spec),
    };
  })),
  streams: ({ spec, T, layers }) => {
    const walk = walker([evaluate(streamed(spec, "content"), T, T, 0)], [evaluate(streamed(spec, "query"), T, T, 0)]);
    return Array.from({ length: T }, (_, t) => Array.from(walk(t, layers, new Uint8Array(T))));
  },
  parse: (texts) => texts.map((text) => answer(() => parse(text))),
  check: (specs) => specs.map((spec) => answer(() => checkedSpec(spec))),
  format: (specs) => specs.map((spec) => answer(() => format(checkedSpec(spec)))),
  at: ([spec, T, S, start]) => answer(() => (evaluate(checkedSpec(spec), T, S, start), "fits")),
  fitted: ([spec, T, S, start]) =>
    answer(() => (evaluate(fitted(checkedSpec(spec), T, S, start), T, S, start), "fits")),
  hash: (rows) => rows.map(([seed, q, i]) => hash32(seed, q, i)),
};
"""
