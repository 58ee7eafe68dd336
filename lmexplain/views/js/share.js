/* What leaves the page: a link that restores the state, a picture as SVG or PNG, the state as JSON. */

import { refuse } from "./patterns.js";
import { LIMITS, bitList, format, isRefusal, parse } from "./language.js";
import { MARKS, WASH, drawCell, drawStop, gapOf, inkOn, makePlot, markWidth, rowBuffer, runsOf } from "./canvas.js";

/* ── the link ────────────────────────────────────────────────────────────────────────────────────────────────────── */

const LONGEST_LINK = 60000;

const number = (least, most) => ({
  write: String,
  read: (text) => (/^-?\d{1,9}$/.test(text) && text >= least && text <= most ? Number(text) : undefined),
});
const word = (...allowed) => ({ write: String, read: (text) => (allowed.includes(text) ? text : undefined) });
const pair = {
  write: (value) => value.join("-"),
  read: (text) => (/^\d{1,4}-\d{1,4}$/.test(text) ? text.split("-").map(Number) : undefined),
};
const pattern = { write: format, read: parse };

/** What a link may say, and how each is written and read; a value outside its limits is refused by name. */
const FIELDS = {
  spec: ["pattern", pattern],
  compare: ["with", pattern],
  keys: ["keys", number(1, LIMITS.length)],
  queries: ["queries", number(1, LIMITS.length)],
  start: ["start", { write: String, read: (text) => (text === "null" ? null : number(0, LIMITS.length).read(text)) }],
  batch: ["sample", number(0, 9999)],
  head: ["head", number(0, 9999)],
  mode: ["mode", word("look", "reach", "path", "compare", "film", "paint", "predict")],
  layers: ["layers", number(1, 64)],
  at: ["at", pair],
  path: ["path", pair],
  step: ["step", number(0, LIMITS.length)],
  lang: ["lang", word("en", "zh")],
  theme: ["theme", word("auto", "light", "dark")],
  size: ["size", number(70, 220)],
  paint: [
    "paint",
    {
      write: String,
      read: (text) => (/^[A-Za-z0-9+/]*=*$/.test(text) && text.length < LONGEST_LINK ? text : undefined),
    },
  ],
  tokens: ["tokens", { write: JSON.stringify, read: tokensFrom }],
};

function tokensFrom(text) {
  try {
    const list = JSON.parse(text);
    return Array.isArray(list) &&
      list.length > 0 &&
      list.length <= LIMITS.length &&
      list.every((token) => typeof token === "string" && token.length <= 80)
      ? list
      : undefined;
  } catch {
    return undefined;
  }
}

/** The part of an address after #: what differs from the page as it came. */
export function linkOf(state, first) {
  const out = new URLSearchParams();
  for (const [key, [name, { write }]] of Object.entries(FIELDS)) {
    const value = state[key];
    if (value === undefined || (value === null && key !== "start")) continue;
    if (key === "spec" || JSON.stringify(value) !== JSON.stringify(first[key])) out.set(name, write(value));
  }
  const text = String(out);
  return text.length > LONGEST_LINK ? refuse("error.link_long", { limit: LONGEST_LINK }) : text;
}

/** What a link says, checked field by field; null where the text after # is no state of an explorer. */
export function readLink(hash) {
  const text = hash.replace(/^#/, "");
  if (text.length > LONGEST_LINK) refuse("error.link_long", { limit: LONGEST_LINK });
  const given = new URLSearchParams(text);
  const patch = {};
  if (!given.has("pattern")) return null;
  for (const [key, [name, { read }]] of Object.entries(FIELDS)) {
    if (!given.has(name)) continue;
    const value = read(given.get(name));
    if (value === undefined) refuse("error.link", { name, value: given.get(name).slice(0, 60) });
    patch[key] = value;
  }
  return patch;
}

/** Puts the link into the address bar and the clipboard; returns the sentence that says so. */
export async function copyLink({ state, first, say }) {
  const where = location.protocol === "file:" ? ` ${say("link_file")}` : "";
  try {
    const address = `${location.href.split("#")[0]}#${linkOf(state, first)}`;
    history.replaceState(null, "", address);
    await navigator.clipboard.writeText(address);
    return say("link_copied") + where;
  } catch (problem) {
    return isRefusal(problem) ? say(problem.word, problem.values) : say("link_shown") + where;
  }
}

/** Painted cells from a link or a saved state, or an empty page where they do not fit these lengths. */
export function paintedFrom(bits, count) {
  try {
    return bits && atob(bits).length === Math.ceil(count / 8) ? bitList(bits, count) : new Uint8Array(count);
  } catch {
    return new Uint8Array(count);
  }
}

/** The cells of one sheet on another of T × S cells, place by place; `start` is the place of its first row. */
export function laid(from, { T, S, start, cells = new Uint8Array(T * S) }) {
  const n = Math.min(from.S, S);
  for (let q = Math.max(from.start, start), end = Math.min(from.start + from.T, start + T); q < end; q++) {
    const at = (q - from.start) * from.S;
    cells.set(from.cells.subarray(at, at + n), (q - start) * S);
  }
  return { T, S, start, cells };
}

/** The lengths of a sheet that has room for two. */
export function around(a, b) {
  const start = Math.min(a.start, b.start);
  return { T: Math.max(a.start + a.T, b.start + b.T) - start, S: Math.max(a.S, b.S), start };
}

/* ── pictures ────────────────────────────────────────────────────────────────────────────────────────────────────── */

const NOT_XML = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu; // a file that holds one opens nowhere

/** Save what is shown: "svg", "png", or the state as "json". */
export async function exported({ state, theme, A, say, num, pct }, kind, plots) {
  const {
    counts,
    grid: { T, S },
  } = A;
  const expression = format(state.spec);
  const head = [
    expression.slice(0, 160),
    say("export_line", { queries: num(T), keys: num(S), pairs: num(counts[0]), share: pct(counts[0] / (T * S)) }),
  ];
  const entries = plots.flatMap(({ picture }) => picture.legend());
  const legend = entries.filter(({ text }, i) => entries.findIndex((other) => other.text === text) === i);
  const brought = ["words", "palette", "presets"]; // by the page itself, and left out
  const own = Object.fromEntries(Object.entries(state).filter(([key]) => !brought.includes(key)));
  if (kind === "svg") download("pattern.svg", svgOf(plots, head, legend, theme, state.font), "image/svg+xml");
  else if (kind === "png") download("pattern.png", await pngOf(plots, head, legend, theme), "image/png");
  else download("pattern.json", JSON.stringify({ ...own, expression }, null, 1), "application/json");
}

/** Hand a text or blob to the reader as a file. */
function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** Where each plot stands on an exported sheet, with its title above and the legend below. */
function sheetOf(plots, head, legend) {
  let x = 20;
  let tallest = 0;
  const places = plots.map((plot) => {
    const place = { plot, x, y: plots.some(({ picture }) => picture.title) ? 96 : 76 };
    x += plot.layout.width + 28;
    tallest = Math.max(tallest, plot.layout.height);
    return place;
  });
  const width = Math.max(x - 8, 420, 40 + 9 * Math.min(80, head[0].length));
  const columns = Math.max(1, Math.floor((width - 40) / 250));
  const keys = legend.map((entry, i) => ({
    ...entry,
    x: 20 + (i % columns) * 250,
    y: places[0].y + 20 + tallest + Math.floor(i / columns) * 24,
  }));
  return {
    width: Math.ceil(width),
    height: Math.ceil(places[0].y + 36 + tallest + Math.ceil(legend.length / columns) * 24),
    places,
    keys,
  };
}

/** The picture as SVG text; every word stays text and is escaped by the serializer. */
function svgOf(plots, head, legend, theme, font) {
  const ns = "http://www.w3.org/2000/svg";
  const sheet = sheetOf(plots, head, legend);
  const doc = document.implementation.createDocument(ns, "svg");
  const add = (parent, tag, attributes, text = null) => {
    const node = doc.createElementNS(ns, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== null) node.textContent = text.replace(NOT_XML, "\ufffd");
    return parent.appendChild(node);
  };
  const root = doc.documentElement;
  for (const [key, value] of Object.entries({
    viewBox: `0 0 ${sheet.width} ${sheet.height}`,
    width: sheet.width,
    height: sheet.height,
    "font-family": theme.stack,
  }))
    root.setAttribute(key, value);
  add(root, "title", {}, head.join(" · "));
  const defs = add(root, "defs", {});
  add(root, "rect", { width: "100%", height: "100%", fill: theme.paper });
  add(root, "text", { x: 20, y: 32, "font-size": 16, "font-weight": 600, fill: theme.ink }, head[0]);
  add(root, "text", { x: 20, y: 54, "font-size": 13, fill: theme.muted }, head[1]);
  let ids = 0;
  const cellInto = (parent, size, { colour, mark }) => {
    const side = size - gapOf(size);
    add(parent, "rect", { width: side, height: side, fill: colour, rx: size >= 14 ? size * 0.13 : 0 });
    if (MARKS[mark])
      add(parent, "path", {
        d: MARKS[mark],
        transform: `scale(${side})`,
        "stroke-width": markWidth(mark),
        stroke: inkOn(colour),
        "stroke-linecap": "round",
        fill: "none",
        opacity: 0.8,
      });
    else if (mark && MARKS[mark] === undefined)
      add(
        parent,
        "text",
        { x: side / 2, y: side * 0.72, "font-size": side * 0.6, "text-anchor": "middle", fill: inkOn(colour) },
        mark,
      );
  };
  for (const { plot, x, y } of sheet.places) {
    const { layout, picture } = plot;
    const { box, dpr, s } = layout;
    const group = add(root, "g", { transform: `translate(${x} ${y})` });
    if (picture.title)
      add(group, "text", { x: layout.left, y: -6, "font-size": 13, "font-weight": 600, fill: theme.ink }, picture.title);
    const [w, h, side] = [box.w / dpr, box.h / dpr, s / dpr];
    if (s >= 5) cellsInto(group, picture, layout, w, h, side);
    else
      add(group, "image", {
        x: layout.left,
        y: layout.above,
        width: w,
        height: h,
        href: cropped(plot),
        style: "image-rendering: pixelated",
      });
    for (const strip of plot.strips()) add(group, "rect", strip);
    for (const { x: cx, y: cy, radius, size, text } of plot.stops()) {
      add(group, "circle", { cx, cy, r: radius, fill: theme.ink });
      const middle = { x: cx, y: cy, dy: "0.35em", "text-anchor": "middle" };
      add(group, "text", { ...middle, "font-size": size, fill: theme.paper }, text);
    }
    for (const { text, x: tx, y: ty, size, align, turned } of plot.labels()) {
      const anchor = { left: "start", center: "middle", right: "end" }[align];
      add(
        group,
        "text",
        {
          transform: `translate(${tx} ${ty})${turned ? " rotate(-90)" : ""}`,
          dy: "0.35em",
          "font-size": size,
          "text-anchor": anchor,
          fill: theme.muted,
        },
        text,
      );
    }
  }
  for (const { kind, text, x, y } of sheet.keys) {
    cellInto(add(root, "g", { transform: `translate(${x} ${y - 13})` }), 18, kind);
    add(root, "text", { x: x + 26, y, "font-size": 13, fill: theme.ink }, text);
  }
  if (font && /[\u2e80-\uffff]/.test(root.textContent)) {
    add(defs, "style", {}, facesOf(font));
    root.setAttribute("font-family", `"${font}", ${theme.stack}`); // first, so that no box is drawn while it loads
  }
  return new XMLSerializer().serializeToString(doc);

  /** One rectangle per run, filled with a repeated cell. */
  function cellsInto(group, { source, classes, washed }, layout, w, h, side) {
    const first = Math.floor(layout.row);
    const shift = `translate(${layout.left - layout.col * side} ${layout.above - layout.row * side})`;
    const fills = [theme.empty, ...classes].map((kind) => {
      const id = `cell${ids++}`;
      cellInto(
        add(defs, "pattern", {
          id,
          width: side,
          height: side,
          patternUnits: "userSpaceOnUse",
          patternTransform: shift,
        }),
        side,
        kind,
      );
      return `url(#${id})`;
    });
    const clip = `clip${ids++}`;
    const buffer = rowBuffer(source.S);
    const inner = add(group, "g", { "clip-path": `url(#${clip})` });
    add(add(defs, "clipPath", { id: clip }), "rect", { x: layout.left, y: layout.above, width: w, height: h });
    add(inner, "rect", { x: layout.left, y: layout.above, width: w, height: h, fill: fills[0] });
    for (let t = first; t < Math.min(source.T, layout.row + h / side); t++) {
      source.row(t, buffer.row.fill(0));
      for (let i = 0, n = runsOf(buffer, source.S), r = buffer.runs; i < n; i += 3) {
        add(inner, "rect", {
          x: layout.left + (r[i] - layout.col) * side,
          y: layout.above + (t - layout.row) * side,
          width: (r[i + 1] - r[i]) * side,
          height: side,
          fill: fills[r[i + 2]],
        });
      }
      const y = layout.above + (t - layout.row) * side;
      if (washed?.(t))
        add(inner, "rect", { x: layout.left, y, width: w, height: side, fill: theme.paper, opacity: WASH });
    }
  }
}

/** The page's own font, which has its Chinese glyphs, to travel with the picture. */
function facesOf(family) {
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const faces = rules.filter((rule) => rule instanceof CSSFontFaceRule && rule.style.fontFamily.includes(family));
  return faces.map((rule) => rule.cssText).join("\n");
}

/** The matrix of a plot alone, as a data address. */
function cropped({ base, layout: { box } }) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [box.w, box.h];
  canvas.getContext("2d").drawImage(base, box.x, box.y, box.w, box.h, 0, 0, box.w, box.h);
  return canvas.toDataURL("image/png");
}

/** The picture as a PNG blob, two pixels to one of the page. */
function pngOf(plots, head, legend, theme) {
  const sharp = plots.map((plot) => {
    const copy = makePlot(() => {});
    const { width, height } = plot.layout;
    copy.draw(plot.picture, plot.space[0] ?? width, plot.space[1] ?? height, 2);
    return copy;
  });
  const sheet = sheetOf(sharp, head, legend);
  const canvas = document.createElement("canvas");
  const ctx = canvas.getContext("2d");
  [canvas.width, canvas.height] = [sheet.width * 2, sheet.height * 2];
  ctx.scale(2, 2);
  ctx.fillStyle = theme.paper;
  ctx.fillRect(0, 0, sheet.width, sheet.height);
  const write = (text, x, y, size, colour, weight = "") => {
    ctx.font = `${weight} ${theme.font(size)}`.trim();
    ctx.fillStyle = colour;
    ctx.fillText(text, x, y);
  };
  write(head[0], 20, 32, 16, theme.ink, "600");
  write(head[1], 20, 54, 13, theme.muted);
  for (const [i, { plot, x, y }] of sheet.places.entries()) {
    if (plot.picture.title) write(plot.picture.title, x + plot.layout.left, y - 6, 13, theme.ink, "600");
    ctx.drawImage(plot.base, x, y, plot.base.width / 2, plot.base.height / 2);
    ctx.save();
    ctx.translate(x, y);
    for (const stop of plot.stops(plots[i].path)) drawStop(ctx, stop, theme);
    ctx.restore();
  }
  for (const { kind, text, x, y } of sheet.keys) {
    drawCell(ctx, x, y - 13, 18, kind);
    write(text, x + 26, y, 13, theme.ink);
  }
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
