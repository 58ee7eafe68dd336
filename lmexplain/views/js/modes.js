/* What the explorer does with a pattern: look, reach, path, compare, film, paint, predict.

   A mode speaks of the app (explorer.js):
     panel(app) -> { node, refresh }        its controls and words            plots(app)   what is drawn
     step(app, ±1)                          the presenter's next, previous    enter(app)   when it is chosen
     press, toggle, lift (app, place, …)    a cell pressed by hand or key     chip(app, k) a token of the text pressed
     say(app, cell), chips(app), cells(app) the line below, colours of the text, cells numbered over the matrix
   and of itself: needs (a second pattern), paints (a press is a stroke), hides (rows stay secret), byRow (another
   row is another picture), holdsRow (the row changes by a press alone), follows (the panel speaks of the cursor),
   plays (space starts and stops it). */

import { evaluate, pathOf, walker } from "./patterns.js";
import { permutationOf, streamed } from "./language.js";
import { tally } from "./canvas.js";
import { button, h, icon, slider, tick } from "./controls.js";
import { expressionField, presetMenu } from "./fields.js";
import { layerKinds, nameOf, swatch } from "./look.js";

const MATRIX_LIMIT = 512; // above this length only the chosen query walks the layers

/** A legend line: a cell of this kind, what it means, how many there are. */
function legend(kind, text, count) {
  return h("li.lm-name", {}, swatch(kind), h("b", {}, text), h("span", {}, count));
}

/** Classes by their role in the palette, and what they mean. */
function roles(app, names, word) {
  const kinds = names.map((name) => app.theme.role(name));
  return { classes: kinds, legend: () => kinds.map((kind, i) => ({ kind, text: app.say(word(names[i])) })) };
}

function lines(...nodes) {
  return h("div", {}, ...nodes);
}

/* ── reach ───────────────────────────────────────────────────────────────────────────────────────────────────────── */

/** The walker of the chosen sample: heads united; a query stream sits on layers of the content stream. */
function walkerOf(app) {
  const { spec } = app.A.grid;
  return app.cached("walker", [app.A], () =>
    permutationOf(spec)?.stream === "query"
      ? walker(headsOf(app, streamed(spec, "content")), headsOf(app, spec))
      : walker(headsOf(app, spec)),
  );
}

/** A pattern for the lengths on show, head by head. */
function headsOf(app, node) {
  const { T, S, start, b, lead } = app.A.grid;
  return Array.from({ length: lead?.[1] ?? 1 }, (_, head) => evaluate(node, T, S, start, b, head));
}

function distances(app) {
  const { T, S } = app.A.grid;
  const { layers } = app.state;
  return app.cached("distances", [app.A, layers], () => {
    const out = new Uint8Array(T * S);
    const walk = walkerOf(app);
    for (let t = 0; t < T; t++) walk(t, layers, out.subarray(t * S, (t + 1) * S));
    return out.map((layer) => (layer === 255 ? 0 : layer + 1));
  });
}

/** For the chosen query: the layer each key is first reached at, for as many layers as it takes (64 at most). */
function ownField(app) {
  const { t } = app.cursor;
  return app.cached("field", [app.A, t], () => walkerOf(app)(t, 64, new Uint8Array(app.A.grid.S)).slice());
}

const reach = {
  byRow: true,
  holdsRow: true,
  panel(app) {
    const { say } = app;
    const lead = h("p.lm-lead", { "aria-live": "polite" });
    const table = h("tbody");
    const note = h("p.lm-note");
    const layers = slider({
      label: say("layers"),
      value: app.state.layers,
      least: 1,
      most: 12,
      change: (v) => app.set({ layers: Math.min(v, 64) }),
    });
    const head = h(
      "tr",
      {},
      ...["layer", "new_tokens", "all_tokens", "share"].map((key) => h("th", { scope: "col" }, say(key))),
    );
    const rows = () => {
      const field = ownField(app);
      const { S } = app.A.grid;
      const most = app.state.layers;
      const kinds = layerKinds(app.theme, most);
      const counts = Array.from({ length: most + 1 }, () => 0);
      for (const layer of field) if (layer <= most) counts[layer]++;
      let sum = counts[0];
      table.replaceChildren(
        ...counts.slice(1).map((fresh, i) => {
          sum += fresh;
          return h(
            "tr",
            {},
            h("td.lm-layer", {}, swatch({ ...kinds[i], mark: "plain" }), i + 1),
            ...[`+${app.num(fresh)}`, app.num(sum), app.pct(sum / S)].map((text) => h("td", {}, text)),
          );
        }),
      );
      const last = field.reduce((max, layer) => (layer < 255 ? Math.max(max, layer) : max), 0);
      const never = field.filter((layer) => layer === 255).length;
      lead.textContent = say("reach.now", {
        layers: most,
        query: app.tokenAt(app.cursor.t + app.offset),
        count: app.num(sum),
        of: app.num(S),
        share: app.pct(sum / S),
      });
      note.textContent = [
        never ? say("reach.never", { count: app.num(never) }) : say("reach.all", { layers: last }),
        Math.max(app.A.grid.T, S) > MATRIX_LIMIT ? say("reach.long", { limit: MATRIX_LIMIT }) : say("reach.matrix"),
      ].join(" ");
    };
    const node = lines(lead, layers.node, h("table.lm-table", {}, h("thead", {}, head), table), note);
    return { node, refresh: () => (layers.set(app.state.layers), rows()) };
  },
  plots(app) {
    const { T, S } = app.A.grid;
    const { layers } = app.state;
    const field = ownField(app);
    const kinds = layerKinds(app.theme, layers);
    const strips = Array.from({ length: Math.min(layers, 12) }, (_, i) => ({
      label: `${app.say("layer_short")} ${i + 1}`,
      row: field.map((layer) => Number(layer <= i + 1)),
      colour: kinds[i].colour,
    }));
    if (Math.max(T, S) > MATRIX_LIMIT) return [{ ...app.picture(app.A), strips }];
    const steps = distances(app);
    const self = app.theme.role("both");
    const source = { T, S, row: (t, out) => out.set(steps.subarray(t * S, (t + 1) * S)) };
    const legend = () => kinds.map((kind, i) => ({ kind, text: `${app.say("layer")} ${i + 1}` }));
    return [{ ...app.picture(app.A), source, classes: [self, ...kinds], legend, strips }];
  },
  chips(app) {
    const field = ownField(app);
    const kinds = layerKinds(app.theme, app.state.layers);
    return (k) => kinds[field[k] - 1];
  },
  say(app, { t, k }) {
    const layer = walkerOf(app)(t, 64, new Uint8Array(app.A.grid.S))[k];
    return app.say(layer === 255 ? "reach.pair_never" : layer === 0 ? "reach.pair_self" : "reach.pair", {
      ...app.pair(t, k),
      layer,
    });
  },
  step: (app, by) => app.set({ layers: Math.max(1, Math.min(12, app.state.layers + by)) }),
};

/* ── path ────────────────────────────────────────────────────────────────────────────────────────────────────────── */

function shortest(app) {
  const [i, j] = app.path();
  return app.cached("path", [app.A, i, j], () => pathOf(headsOf(app, app.A.grid.spec), i, j));
}

const path = {
  panel(app) {
    const { say } = app;
    const lead = h("p.lm-lead", { "aria-live": "polite" });
    const diagram = h("div");
    const steps = h("ol.lm-steps");
    const ends = ["from", "to"].map((key, i) =>
      slider({
        label: say(key),
        value: app.path()[i],
        least: i ? 0 : app.offset,
        most: i ? app.A.grid.S - 1 : app.offset + app.A.grid.T - 1,
        change: (v) => app.set({ path: app.path().map((old, j) => (j === i ? v : old)) }),
      }),
    );
    const swap = button(say("swap"), () => app.set({ path: [...app.path()].reverse() }));
    const refresh = () => {
      const [i, j] = app.path();
      const found = shortest(app);
      const values = { from: app.tokenAt(i), to: app.tokenAt(j), layers: found ? found.length - 1 : 0 };
      ends.forEach((end, at) => end.set(app.path()[at]));
      lead.textContent = say(
        !found ? "path.none" : found.length === 1 ? "path.self" : found.length === 2 ? "path.one" : "path.some",
        values,
      );
      const edges = (found ?? [])
        .slice(1)
        .map((k, at) => ({ q: found[at], k, reasons: app.A.grid.why(found[at] - app.offset, k) }));
      diagram.replaceChildren(...(edges.length ? [diagramOf(app, found, edges)] : []));
      const why = (reasons) => reasons.map((at) => nameOf(app.A.grid.leaves[at], say)).join(say("list_comma"));
      steps.replaceChildren(
        ...edges.map(({ q, k, reasons }) => h("li", {}, `${app.tokenAt(q)} → ${app.tokenAt(k)}: ${why(reasons)}`)),
      );
    };
    return {
      node: lines(
        h("p.lm-note", {}, say("path.help")),
        lead,
        diagram,
        steps,
        ...ends.map((end) => end.node),
        h("div.lm-row", {}, swap),
      ),
      refresh,
    };
  },
  plots: (app) => [app.picture(app.A)],
  enter(app) {
    const [i, j] = app.path();
    app.point({ t: i - app.offset, k: j });
  },
  cells: (app) => (shortest(app) ?? []).slice(1).map((k, at) => [shortest(app)[at] - app.offset, k]),
  press(app, { zone, t, k }) {
    const [i, j] = app.path();
    const inside = Math.max(app.offset, Math.min(app.offset + app.A.grid.T - 1, t + app.offset));
    app.set({ path: zone === "row" ? [inside, j] : zone === "column" ? [i, k] : [inside, k] });
  },
  chip(app, k) {
    const fresh = !app.halfway;
    const queries = k >= app.offset && k < app.offset + app.A.grid.T;
    app.halfway = fresh && queries;
    app.set({ path: fresh && queries ? [k, app.path()[1]] : [app.path()[0], k] });
  },
  step: (app, by) => app.set({ path: [app.path()[0], (app.path()[1] + by + app.A.grid.S) % app.A.grid.S] }),
};

/** The path as a stack of layers: the query on top, each step one layer down, the key at the bottom. */
function diagramOf(app, found, edges) {
  const ns = "http://www.w3.org/2000/svg";
  const S = app.A.grid.S;
  const [left, width, gap] = [64, 250, 46];
  const height = gap * (found.length - 1);
  const make = (tag, attributes, text = null) => {
    const node = document.createElementNS(ns, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== null) node.textContent = text;
    return node;
  };
  const x = (k) => left + 12 + (S > 1 ? (k * (width - 24)) / (S - 1) : 0);
  const y = (i) => 26 + i * gap;
  const svg = make("svg", {
    viewBox: `0 0 ${left + width} ${height + 56}`,
    class: "lm-diagram",
    role: "img",
    "aria-label": app.say("path.diagram"),
  });
  found.forEach((_, i) => {
    const depth = found.length - 1 - i;
    svg.append(
      make("text", { x: 0, y: y(i) + 4, class: "lm-quiet" }, depth ? `${app.say("layer")} ${depth}` : app.say("input")),
    );
    svg.append(make("line", { x1: left, x2: left + width, y1: y(i), y2: y(i), stroke: app.theme.line }));
    if (S <= 96)
      for (let k = 0; k < S; k++)
        svg.append(make("circle", { cx: x(k), cy: y(i), r: 1.6, fill: app.theme.muted, opacity: 0.5 }));
  });
  edges.forEach(({ q, k, reasons }, i) =>
    svg.append(
      make("line", {
        x1: x(q),
        y1: y(i),
        x2: x(k),
        y2: y(i + 1),
        stroke: app.A.classes[reasons[0]]?.colour ?? app.theme.ink,
        "stroke-width": 3.5,
        "stroke-linecap": "round",
      }),
    ),
  );
  found.forEach((k, i) => {
    svg.append(
      make("circle", { cx: x(k), cy: y(i), r: 6, fill: app.theme.ink, stroke: app.theme.paper, "stroke-width": 2 }),
    );
    const next = found[i + 1];
    const label = app.tokenAt(k);
    const edge = i && next !== undefined ? (next < k ? "start" : "end") : null; // away from the line that leaves below
    const anchor = edge ?? (x(k) < left + 60 ? "start" : x(k) > left + width - 60 ? "end" : "middle");
    const nudge = (anchor === "start" ? -6 : anchor === "end" ? 6 : 0) * (edge ? -1 : 1);
    svg.append(
      make(
        "text",
        { x: x(k) + nudge, y: i ? y(i) + 22 : y(i) - 12, "text-anchor": anchor },
        label.length > 24 ? `${label.slice(0, 23)}…` : label,
      ),
    );
  });
  return svg;
}

/* ── compare ─────────────────────────────────────────────────────────────────────────────────────────────────────── */

function difference(app) {
  const { T, S } = app.A.grid;
  const one = new Uint8Array(S);
  return app.cached("difference", [app.A, app.B], () => {
    const source = {
      T,
      S,
      row(t, out) {
        // 1 only A, 2 only B, 3 both
        app.A.grid.row(t, out, 1);
        app.B.grid.row(t, one.fill(0), 2);
        for (let k = 0; k < S; k++) out[k] |= one[k];
      },
    };
    return { source, ...tally(source, 3, app.buffer(S)) };
  });
}

const compare = {
  needs: "B",
  panel(app) {
    const { say } = app;
    const field = expressionField(app, "compare", say("pattern_b"));
    const list = h("ul.lm-legend");
    const lead = h("p.lm-lead", { "aria-live": "polite" });
    const refresh = () => {
      field.refresh();
      if (!app.B) return;
      const [all, a, b, both] = difference(app).counts;
      const { T, S } = app.A.grid;
      lead.textContent = all === both ? say("compare.same") : say("compare.lead", { a: app.num(a), b: app.num(b) });
      list.replaceChildren(
        legend(app.theme.role("only_a"), say("only_a"), app.num(a)),
        legend(app.theme.role("only_b"), say("only_b"), app.num(b)),
        legend(app.theme.role("both"), say("both"), app.num(both)),
        legend(app.theme.empty, say("neither"), app.num(T * S - all)),
      );
    };
    const swap = button(say("swap_ab"), () => app.set({ spec: app.state.compare, compare: app.state.spec }));
    return {
      node: lines(
        h("h3", {}, say("pattern_b")),
        field.input,
        field.error,
        h("div.lm-row", {}, presetMenu(app, "compare"), swap),
        lead,
        list,
      ),
      refresh,
    };
  },
  plots(app) {
    const { say } = app;
    const titled = (P, letter) => ({
      ...app.picture(P),
      title: `${letter}  ${nameOf(P.grid.spec, say)}`,
      note: `${app.num(P.counts[0])} · ${app.pct(P.counts[0] / (P.grid.T * P.grid.S))}`,
    });
    if (!app.B) return [app.picture(app.A)];
    const kinds = roles(app, ["only_a", "only_b", "both"], (role) => role);
    return [
      titled(app.A, "A"),
      titled(app.B, "B"),
      { ...app.picture(app.A), ...kinds, source: difference(app).source, title: say("difference"), note: "" },
    ];
  },
  say(app, { t, k }) {
    const a = app.A.grid.why(t, k);
    const b = app.B?.grid.why(t, k) ?? [];
    const names = (grid, at) => at.map((i) => nameOf(grid.leaves[i], app.say)).join(", ") || app.say("blocked");
    return app.say("compare.pair", {
      ...app.pair(t, k),
      a: names(app.A.grid, a),
      b: app.B ? names(app.B.grid, b) : "",
    });
  },
};

/* ── film ────────────────────────────────────────────────────────────────────────────────────────────────────────── */

/** The order in which the film visits the rows: the factorization order where there is one, else from first to last. */
function orderOf(app) {
  const { spec, T, b } = app.A.grid;
  const found = permutationOf(spec);
  const order =
    found && (Array.isArray(found.order[0]) ? found.order[Math.min(b, found.order.length - 1)] : found.order);
  return order?.length === T ? order : Array.from({ length: T }, (_, t) => t);
}

const film = {
  plays: true,
  holdsRow: true,
  panel(app) {
    const { say } = app;
    const lead = h("p.lm-lead", { "aria-live": "polite" });
    const order = h("div.lm-order");
    const isOrder = Boolean(permutationOf(app.A.grid.spec));
    const at = slider({
      label: say("step"),
      value: app.state.step + 1,
      least: 1,
      most: app.A.grid.T,
      change: (v) => go(app, Math.min(v, app.A.grid.T) - 1),
    });
    const speed = slider({
      label: say("speed"),
      value: app.state.speed,
      least: 1,
      most: 20,
      change: (v) => app.set({ speed: Math.min(v, 60) }),
    });
    const play = button(say("play"), () => app.playing(!app.timer), { name: "play", kind: "lm-main" });
    const row = h(
      "div.lm-row",
      {},
      button(say("first"), () => go(app, 0), { name: "first" }),
      button(say("previous"), () => film.step(app, -1), { name: "previous" }),
      play,
      button(say("next"), () => film.step(app, 1), { name: "next" }),
      button(say("last"), () => go(app, app.A.grid.T - 1), { name: "last" }),
    );
    const refresh = () => {
      const steps = orderOf(app);
      const t = steps[app.state.step] ?? 0;
      const { S, T } = app.A.grid;
      const out = app.buffer(S).row.fill(0);
      app.A.grid.row(t, out);
      const count = out.reduce((sum, v) => sum + v, 0);
      at.set(app.state.step + 1);
      speed.set(app.state.speed);
      play.replaceChildren(icon(app.timer ? "pause" : "play"));
      play.setAttribute("aria-label", say(app.timer ? "pause" : "play"));
      lead.textContent = say(isOrder ? "film.order" : "film.now", {
        step: app.state.step + 1,
        of: T,
        query: app.tokenAt(t + app.offset),
        count: app.num(count),
        before: app.state.step,
      });
      const from = Math.max(0, Math.min(app.state.step - 20, steps.length - 40));
      if (isOrder)
        order.replaceChildren(
          ...steps
            .slice(from, from + 40)
            .map((place, i) =>
              h(
                `span${from + i < app.state.step ? ".lm-past" : from + i === app.state.step ? ".lm-here" : ""}`,
                {},
                app.tokenAt(place + app.offset, true),
              ),
            ),
        );
    };
    return {
      node: lines(row, lead, at.node, speed.node, isOrder ? h("h3", {}, say("film.order_title")) : null, order),
      refresh,
    };
  },
  plots(app) {
    const steps = orderOf(app);
    const rank = app.cached("rank", [app.A], () => {
      const rank = new Uint16Array(steps.length);
      steps.forEach((t, i) => (rank[t] = i));
      return rank;
    });
    const washed = (t) => rank[t] > app.state.step;
    if (!permutationOf(app.A.grid.spec)) return [{ ...app.picture(app.A), washed }];
    return ["content", "query"].map((stream) => {
      const P = app.cached(stream, [app.A], () => app.computed(streamed(app.A.grid.spec, stream)));
      return { ...app.picture(P), washed, title: app.say(`stream.${stream}`), note: app.say(`stream.${stream}_note`) };
    });
  },
  step: (app, by) => go(app, Math.max(0, Math.min(app.A.grid.T - 1, app.state.step + by))),
  tick(app) {
    if (app.state.step + 1 >= app.A.grid.T) app.playing(false);
    else film.step(app, 1);
  },
  enter: (app) => stand(app, Math.min(app.state.step, app.A.grid.T - 1)),
  press: (app, { t }) => go(app, orderOf(app).indexOf(t)),
};

function stand(app, step) {
  const t = orderOf(app)[step];
  app.point({ t, k: t + app.offset });
}

function go(app, step) {
  stand(app, step);
  app.set({ step });
}

/* ── paint ───────────────────────────────────────────────────────────────────────────────────────────────────────── */

/** Compare what was drawn by hand with the pattern: 1 right, 2 missing, 3 extra. */
function judged(app, drawn, t, out) {
  const { S } = app.A.grid;
  const row = drawn.subarray(t * S, (t + 1) * S);
  app.A.grid.row(t, out, 2);
  for (let k = 0; k < S; k++) if (row[k]) out[k] = out[k] ? 1 : 3;
}

function score(app, drawn, rows = null) {
  const { T, S } = app.A.grid;
  const out = app.buffer(S).row;
  const counts = [0, 0, 0, 0];
  for (let t = 0; t < T; t++) {
    if (rows && !rows[t]) continue;
    judged(app, drawn, t, out.fill(0));
    for (const kind of out) counts[kind]++;
  }
  const [, right, missing, extra] = counts;
  const all = right + missing + extra;
  return { right, missing, extra, share: all ? right / all : 1 };
}

const JUDGED = ["right", "missing", "extra"];

function scoreList(app, { right, missing, extra }) {
  const counts = { right, missing, extra };
  return JUDGED.map((role) => legend(app.theme.role(role), app.say(`score.${role}`), app.num(counts[role])));
}

/** The legend while nothing is judged. */
function paintedLine(app, count) {
  return legend(app.theme.role("painted"), app.say("score.painted"), app.num(count));
}

/** Set the cells from the last under the pointer to this one to what the first cell of the stroke became. */
function brush(app, drawn, { zone, t, k }, event) {
  if (zone !== "cell") return;
  const { S } = app.A.grid;
  if (event.type !== "pointermove" || !app.stroke) app.stroke = { t, k, value: drawn[t * S + k] ? 0 : 1 };
  const { t: from, k: first, value } = app.stroke;
  const steps = Math.max(Math.abs(t - from), Math.abs(k - first), 1); // a fast hand skips cells
  for (let i = 0; i <= steps; i++)
    drawn[Math.round(from + ((t - from) * i) / steps) * S + Math.round(first + ((k - first) * i) / steps)] = value;
  Object.assign(app.stroke, { t, k });
  app.redraw();
}

const paint = {
  paints: true,
  panel(app) {
    const { say } = app;
    const result = h("p.lm-score");
    const list = h("ul.lm-legend");
    const lead = h("p", { "aria-live": "polite" });
    const check = tick(say("paint.check"), app.state.check, (v) => app.set({ check: v }));
    const undo = button(say("undo"), () => app.undo());
    const fill = (value) => {
      const { T, S } = app.A.grid;
      app.remember();
      for (let t = 0; t < T; t++) {
        const row = app
          .painted()
          .subarray(t * S, (t + 1) * S)
          .fill(0);
        if (value) app.A.grid.row(t, row);
      }
      app.keepPaint();
    };
    const refresh = () => {
      check.set(app.state.check);
      const found = score(app, app.painted());
      lead.textContent = say("paint.target", { name: nameOf(app.A.grid.spec, say) });
      const asked = app.state.check;
      result.replaceChildren(...(asked ? [app.pct(found.share), " ", h("small", {}, say("paint.agree"))] : []));
      list.replaceChildren(...(asked ? scoreList(app, found) : [paintedLine(app, found.right + found.extra)]));
    };
    return {
      node: lines(
        h("p.lm-note", {}, say("paint.help")),
        lead,
        result,
        list,
        check.node,
        h(
          "div.lm-row",
          {},
          undo,
          button(say("clear"), () => fill(false)),
          button(say("paint.copy"), () => fill(true)),
          button(say("paint.use"), () => app.usePaint()),
        ),
      ),
      refresh,
    };
  },
  plots(app) {
    const { T, S } = app.A.grid;
    const drawn = app.painted();
    const source = {
      T,
      S,
      row: (t, out) => (app.state.check ? judged(app, drawn, t, out) : out.set(drawn.subarray(t * S, (t + 1) * S))),
    };
    return [
      {
        ...app.picture(app.A),
        ...roles(app, app.state.check ? JUDGED : ["painted"], (role) => `score.${role}`),
        source,
      },
    ];
  },
  say: (app, { t, k }) =>
    app.state.check
      ? undefined
      : app.say(app.painted()[t * app.A.grid.S + k] ? "predict.filled" : "predict.open", app.pair(t, k)),
  press(app, place, event) {
    if (event.type !== "pointermove") app.remember();
    brush(app, app.painted(), place, event);
  },
  lift: (app) => app.keepPaint(),
  toggle(app, place, event) {
    paint.press(app, { zone: "cell", ...place }, event);
    app.keepPaint();
  },
  undo: (app) => app.undo(),
};

/* ── predict ─────────────────────────────────────────────────────────────────────────────────────────────────────── */

/** What the audience filled in, and the rows it has been shown; begun anew when the pattern changes. */
function game(app) {
  const { spec, T, S, start, b, h: head } = app.A.grid;
  return app.cached("game", [spec, T, S, start, b, head], () => ({
    guess: new Uint8Array(app.A.grid.T * app.A.grid.S),
    shown: new Uint8Array(app.A.grid.T),
  }));
}

const predict = {
  paints: true,
  hides: true,
  byRow: true,
  holdsRow: true,
  panel(app) {
    const { say } = app;
    const lead = h("p.lm-lead", { "aria-live": "polite" });
    const result = h("p.lm-score");
    const list = h("ul.lm-legend");
    const reveal = button("", () => predict.next(app), { kind: "lm-main" });
    const again = button(say("predict.again"), () => {
      game(app).guess.fill(0);
      game(app).shown.fill(0);
      app.redraw();
    });
    const refresh = () => {
      const { guess, shown } = game(app);
      const { t } = app.cursor;
      const one = new Uint8Array(app.A.grid.T);
      one[t] = 1;
      const rows = shown.reduce((sum, v) => sum + v, 0);
      const all = score(app, guess, shown);
      const here = score(app, guess, one);
      lead.textContent = shown[t]
        ? say("predict.shown", {
            query: app.tokenAt(t + app.offset),
            right: here.right,
            of: here.right + here.missing,
            extra: here.extra,
          })
        : say("predict.ask", { query: app.tokenAt(t + app.offset) });
      reveal.textContent = say(shown[t] ? "predict.next" : "predict.reveal");
      result.replaceChildren(
        ...(rows ? [app.pct(all.share), " ", h("small", {}, say("predict.score", { rows }))] : []),
      );
      list.replaceChildren(...(rows ? scoreList(app, all) : []));
    };
    return {
      node: lines(lead, h("div.lm-row", {}, reveal, again), result, list, h("p.lm-note", {}, say("predict.help"))),
      refresh,
    };
  },
  /** Show the row; where it is shown, go on to the next that is not. */
  next(app) {
    const { shown } = game(app);
    const { t } = app.cursor;
    const T = app.A.grid.T;
    if (!shown[t]) shown[t] = 1;
    else for (let i = 1; i < T; i++) if (!shown[(t + i) % T]) return app.point({ t: (t + i) % T, k: app.cursor.k });
    app.redraw();
  },
  plots(app) {
    const { T, S } = app.A.grid;
    const { guess, shown } = game(app);
    const current = app.cursor.t;
    const row = (t, out) => {
      if (shown[t]) return judged(app, guess, t, out);
      for (let k = 0; k < S; k++) out[k] = guess[t * S + k] ? 4 : t === current ? 0 : 5;
    };
    return [
      {
        ...app.picture(app.A),
        ...roles(app, [...JUDGED, "painted", "hidden"], (role) => `score.${role}`),
        source: { T, S, row },
      },
    ];
  },
  press(app, place, event) {
    if (event.type === "pointermove" && place.t !== app.cursor.t) return;
    if (event.type !== "pointermove" && place.t !== app.cursor.t) {
      app.stroke = null;
      app.point(place);
    } else if (!game(app).shown[place.t]) brush(app, game(app).guess, place, event);
  },
  toggle: (app, place, event) =>
    game(app).shown[place.t] || brush(app, game(app).guess, { zone: "cell", ...place }, event),
  say(app, { t, k }) {
    const { guess, shown } = game(app);
    const S = app.A.grid.S;
    return shown[t] ? undefined : app.say(guess[t * S + k] ? "predict.filled" : "predict.open", app.pair(t, k));
  },
  step: (app, by) => (by > 0 ? predict.next(app) : app.point({ t: Math.max(0, app.cursor.t - 1), k: app.cursor.k })),
};

/* ── all of them ─────────────────────────────────────────────────────────────────────────────────────────────────── */

const look = {
  follows: true,
  panel(app) {
    const row = h("p.lm-lead");
    const column = h("p");
    return {
      node: lines(row, column, h("p.lm-note", {}, app.say("look.help"))),
      refresh() {
        // how far the chosen query looks, and who looks at the key
        const { grid } = app.A;
        const { t, k } = app.cursor;
        const one = app.buffer(grid.S).row.fill(0);
        const share = (n, of) => ({ count: app.num(n), of: app.num(of), share: app.pct(n / of) });
        grid.row(t, one);
        row.textContent = app.say("look.row", {
          ...app.pair(t, k),
          ...share(
            one.reduce((sum, v) => sum + v, 0),
            grid.S,
          ),
        });
        column.textContent = app.say("look.column", { ...app.pair(t, k), ...share(app.A.columns[k], grid.T) });
      },
    };
  },
  plots: (app) => [app.picture(app.A)],
};

export const MODES = { look, reach, path, compare, film, paint, predict };

/** What next and previous do where a mode has no steps of its own: the next query. */
export function stepQuery(app, by) {
  app.point({ t: Math.max(0, Math.min(app.A.grid.T - 1, app.cursor.t + by)), k: app.cursor.k });
}
