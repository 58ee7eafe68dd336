/* Small parts of the page: elements, sliders, and the controls of a pattern's parameters, made from its tree. */

import { FORMS } from "./language.js";

/** An element: h("button.lm-tool", {onclick, "aria-label"}, "text", child). Text never becomes HTML. */
export function h(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null && value !== undefined)
      node.setAttribute(key, value === true ? "" : value);
  }
  if (["button", "input", "select", "textarea", "summary"].includes(name))
    node.setAttribute("data-lm-suppress-shortcuts", "true");
  if (name === "button") node.type = "button";
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const ICONS = {
  full: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
  theme: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
  help: "M5.5 6a2.5 2.5 0 1 1 3.4 2.3c-.6.3-.9.7-.9 1.4M8 12.6v.1",
  link: "M6.5 9.5l3-3M7 5l1.6-1.6a2.8 2.8 0 0 1 4 4L11 9M9 11l-1.600 1.600a2.8 2.8 0 0 1-4-4L5 7",
  save: "M8 2v8M4.500 7L8 10.500 11.500 7M2.500 13.500h11",
  play: "M5 3l8 5-8 5z",
  pause: "M5 3v10M11 3v10",
  next: "M6 3l5 5-5 5",
  previous: "M10 3L5 8l5 5",
  first: "M4 3v10M12 3L7 8l5 5",
  last: "M12 3v10M4 3l5 5-5 5",
  zoom_in: "M7 2.500a4.500 4.500 0 1 0 .01 0M10.300 10.300L14 14M7 5v4M5 7h4",
  zoom_out: "M7 2.500a4.500 4.500 0 1 0 .01 0M10.300 10.300L14 14M5 7h4",
  close: "M4 4l8 8M12 4l-8 8",
  swap: "M3 5.500h10l-2.500-2.500M13 10.500H3L5.500 13",
  fit: "M2 2h12v12H2zM5 5h6v6H5z",
};

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS(svg.namespaceURI, "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "lm-icon");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export function button(label, onclick, { name = null, kind = "lm-button", ...rest } = {}) {
  return h(
    `button.${kind}`,
    { onclick, ...(name ? { "aria-label": label, title: label } : {}), ...rest },
    name ? icon(name) : label,
  );
}

/** A slider with its number beside it; `bend` > 1 gives small values more room. `set` follows a change elsewhere. */
export function slider({ label, value, least, most, change, bend = 1, remove = null }) {
  const steps = bend === 1 ? most - least : 1000;
  const toRange = (v) =>
    bend === 1 ? v : least + steps * ((Math.min(v, most) - least) / Math.max(1, most - least)) ** (1 / bend);
  const fromRange = (x) => (bend === 1 ? x : Math.round(least + (most - least) * ((x - least) / steps) ** bend));
  const range = h("input", {
    type: "range",
    min: least,
    max: least + steps,
    step: 1,
    "aria-label": label,
    oninput: () => changed(fromRange(Number(range.value)), range),
  });
  const number = h("input", {
    type: "number",
    min: least,
    max: Number.isSafeInteger(most) ? null : most,
    step: 1,
    "aria-label": label,
    inputmode: "numeric",
    oninput: () =>
      number.value !== "" &&
      Number.isSafeInteger(Number(number.value)) &&
      Number(number.value) >= least &&
      changed(Number(number.value), number),
  });
  const node = h("div.lm-slider", {}, h("span", {}, label), range, number, remove);
  function changed(v, from) {
    set(v, from);
    change(v);
  }
  function set(v, from = null) {
    if (from !== range && Number(range.value) !== toRange(v)) range.value = toRange(v);
    if (from !== number && number.value !== String(v)) number.value = v;
    range.style.setProperty("--at", `${(100 * (Number(range.value) - least)) / Math.max(1, steps)}%`);
  }
  set(value);
  return { node, set };
}

export function choice(label, options, value, change) {
  const select = h(
    "select",
    { "aria-label": label, onchange: () => change(select.value) },
    ...options.map(([key, text]) => h("option", { value: key }, text)),
  );
  select.value = value;
  return { node: h("label.lm-slider", {}, h("span", {}, label), select), set: (v) => (select.value = v), select };
}

export function tick(label, value, change) {
  const box = h("input", { type: "checkbox", onchange: () => change(box.checked) });
  box.checked = value;
  return { node: h("label.lm-tick", {}, box, label), set: (v) => (box.checked = v) };
}

export function textField(label, value, change) {
  const input = h("input", {
    type: "text",
    "aria-label": label,
    spellcheck: "false",
    onchange: () => change(input.value),
  });
  input.value = value;
  return {
    node: h("label.lm-slider.lm-wide", {}, h("span", {}, label), input),
    set: (v) => input.getRootNode().activeElement !== input && (input.value = v),
  };
}

/* ── the parameters of a pattern ─────────────────────────────────────────────────────────────────────────────────── */

/** The tree with the node at `path` (keys and indices from the root) changed. */
export function withNode(node, path, patch) {
  if (!path.length) return { ...node, ...patch };
  const [key, ...rest] = path;
  const copy = Array.isArray(node) ? [...node] : { ...node };
  copy[key] = withNode(node[key], rest, patch);
  return copy;
}

export function nodeAt(node, path) {
  return path.reduce((at, key) => at?.[key], node);
}

/** What decides which controls there are: as long as it stays, they only take new values. */
export function shapeOf(node) {
  return JSON.stringify(node, (key, value) => {
    if (key === "positions") return value.length;
    if (key === "ids") return startsOf(value.flat()).length;
    if (["real", "where", "order", "pairs", "bits"].includes(key)) return 0;
    return typeof value === "number" || typeof value === "boolean" ? 0 : value;
  });
}

/** Where a new value begins. */
function startsOf(values) {
  return values.flatMap((value, i) => (i && value !== values[i - 1] ? [i] : []));
}

const numbersIn = (text) => (text.match(/-?\d+/g) ?? []).map(Number);

/** Controls for one primitive: [{ node, refresh }]. `ask` has say, line() and change(path, patch). */
export function controlsOf(node, path, { say, line, read, change, sample }) {
  const { S, offset } = line();
  const out = [];
  const now = () => nodeAt(read(), path);
  const add = (control, value) => out.push({ node: control.node, refresh: () => now() && control.set(value(now())) });
  const whole = (key, least, most, bend = 1) => {
    const value = node[key];
    add(
      slider({
        label: say(`field.${key}`),
        value,
        least,
        most: Math.max(most, value, least + 1),
        bend,
        change: (v) => change(path, { [key]: v }),
      }),
      (at) => at[key],
    );
  };
  const own = (values) => (Array.isArray(values[0]) ? values[Math.min(sample(), values.length - 1)] : values);
  const put = (key, list) => {
    const values = now()[key];
    const b = sample();
    change(path, {
      [key]: Array.isArray(values[0])
        ? values.map((row, i) => (i === Math.min(b, values.length - 1) ? list : row))
        : list,
    });
  };
  const note = (text) => out.push({ node: h("p.lm-note", {}, text), refresh() {} });

  const CONTROLS = {
    window() {
      whole("width", 1, 2 * S, S > 200 ? 2 : 1);
      whole("dilation", 1, Math.max(4, Math.min(64, S >> 2)));
    },
    random() {
      whole("r", 0, Math.min(S, 64));
      whole("seed", 0, 99);
    },
    random_blocks() {
      whole("r", 0, Math.min(16, Math.ceil(S / node.block)));
      whole("block", 1, S);
      whole("seed", 0, 99);
    },
    global_tokens() {
      if (node.where) return note(say("from_data"));
      const positions = () => now().positions;
      const replace = (list) => change(path, { positions: list });
      if (node.positions.length <= 6) {
        node.positions.forEach((value, i) =>
          add(
            slider({
              label: `${say("field.position")} ${i + 1}`,
              value,
              least: -S,
              most: S - 1,
              change: (v) => replace(positions().map((p, j) => (j === i ? v : p))),
              remove: button(say("remove"), () => replace(positions().filter((_, j) => j !== i)), {
                name: "close",
                kind: "lm-small",
              }),
            }),
            (at) => at.positions[i],
          ),
        );
      } else
        add(
          textField(say("field.positions"), node.positions.join(", "), (text) => replace(numbersIn(text))),
          (at) => at.positions.join(", "),
        );
      if (node.positions.length) note(say("positions_note"));
      const free = () =>
        [0, S - 1, S >> 1, ...Array(S).keys()].find((p) => !positions().some((taken) => (taken + S) % S === p)) ?? 0;
      out.push({
        node: button(say("add_position"), () => replace([...positions(), free()]), { kind: "lm-link" }),
        refresh() {},
      });
    },
    segments() {
      const starts = startsOf(own(node.ids));
      if (starts.length > 8) return note(say("from_data"));
      starts.forEach((value, i) =>
        add(
          slider({
            label: `${say("field.boundary")} ${i + 1}`,
            value,
            least: 1,
            most: S - 1,
            change: (v) => {
              const at = startsOf(own(now().ids));
              const ids = own(now().ids);
              const names = [0, ...at].map((k) => ids[k]);
              const to = Math.max(i + 1, Math.min(S - at.length + i, v));
              const moved = at.map((k, j) => (j < i ? Math.min(k, to - i + j) : j > i ? Math.max(k, to - i + j) : to));
              put(
                "ids",
                Array.from({ length: S }, (_, k) => names[moved.filter((m) => m <= k).length]),
              );
            },
          }),
          (at) => startsOf(own(at.ids))[i] ?? S - 1,
        ),
      );
    },
    prefix() {
      const length = (at) =>
        Array.isArray(at.length) ? at.length[Math.min(sample(), at.length.length - 1)] : at.length;
      add(
        slider({
          label: say("field.length"),
          value: length(node),
          least: 0,
          most: S,
          change: (v) =>
            change(path, {
              length: Array.isArray(now().length) ? now().length.map((p, i) => (i === sample() ? v : p)) : v,
            }),
        }),
        length,
      );
    },
    memory: () => node.length !== null && whole("length", 0, Math.max(offset, 1)),
    padding() {
      const ends = (at) => [own(at.real).indexOf(1), own(at.real).lastIndexOf(1) + 1];
      const set = (from, to) =>
        put(
          "real",
          Array.from({ length: S }, (_, k) => Number(k >= from && k < to)),
        );
      add(
        slider({
          label: say("field.pads_before"),
          value: Math.max(0, ends(node)[0]),
          least: 0,
          most: S - 1,
          change: (v) => set(v, Math.max(v + 1, ends(now())[1])),
        }),
        (at) => Math.max(0, ends(at)[0]),
      );
      add(
        slider({
          label: say("field.pads_after"),
          value: S - ends(node)[1],
          least: 0,
          most: S - 1,
          change: (v) => set(Math.min(Math.max(0, ends(now())[0]), S - v - 1), S - v),
        }),
        (at) => S - ends(at)[1],
      );
      add(
        tick(say("field.rows"), node.rows, (v) => change(path, { rows: v })),
        (at) => at.rows,
      );
    },
    permutation() {
      const n = own(node.order).length;
      const order = () => own(now().order);
      add(
        choice(
          say("field.stream"),
          [
            ["content", say("stream.content")],
            ["query", say("stream.query")],
          ],
          node.stream,
          (stream) => change(path, { stream }),
        ),
        (at) => at.stream,
      );
      add(
        textField(say("field.order"), own(node.order).join(" "), (text) => put("order", numbersIn(text))),
        (at) => own(at.order).join(" "),
      );
      out.push({
        node: h(
          "div.lm-row",
          {},
          button(say("shuffle"), () => put("order", shuffled(order()))),
          button(say("in_order"), () => put("order", [...Array(n).keys()])),
          button(say("reversed"), () => put("order", [...Array(n).keys()].reverse())),
        ),
        refresh() {},
      });
    },
    cells: () => note(say("cells_by_hand", { count: node.pairs.length })),
    table: () => note(say("from_data")),
    in_blocks: () => whole("size", 1, S),
  };
  if (Object.hasOwn(FORMS, node.op)) CONTROLS[node.op]?.();
  return out;
}

/** Another order, the same for the same order: a fixed multiplicative shuffle needs no clock and no generator. */
function shuffled(order) {
  const out = [...order];
  for (
    let i = out.length - 1, x = 1 + order.reduce((sum, place, at) => (sum * 31 + place * (at + 1)) % 0x7fffffff, 7);
    i > 0;
    i--
  ) {
    x = (x * 48271) % 0x7fffffff;
    const j = x % (i + 1);
    [out[i], out[j]] = [out[j], out[i]];
  }
  return out;
}
