/* How parts of a pattern look and are called: colours and marks from the palette, names from the words, formulas. */

import { childrenOf } from "./patterns.js";
import { MARKS, drawCell, mixed } from "./canvas.js";
import { h } from "./controls.js";

const LATIN = ["system-ui", "-apple-system", '"Segoe UI"', "Roboto", '"Noto Sans"'];
const CHINESE =
  "PingFang SC|Hiragino Sans GB|Microsoft YaHei|Noto Sans CJK SC|Noto Sans SC|Source Han Sans SC|Source Han Sans CN|" +
  "WenQuanYi Micro Hei|WenQuanYi Zen Hei|Droid Sans Fallback|SimHei|SimSun";
const FONTS = [...LATIN, ...CHINESE.split("|").map((name) => `"${name}"`)];

export function themeOf(palette, dark, scale, family) {
  const name = dark ? "dark" : "light";
  const tone = palette.themes[name];
  const own = family ? [`"${family}"`] : []; // the page's own font comes after those that the reader's system may have
  const stack = [...FONTS, ...own, "sans-serif"].join(", ");
  return {
    ...tone,
    name,
    scale,
    stack,
    font: (size) => `${size}px ${stack}`,
    empty: { colour: palette.roles.blocked[name], mark: "plain" },
    role: (role) => ({
      colour: palette.roles[role][name],
      mark: palette.roles[role].mark,
      soft: palette.roles[role].soft,
    }),
    layers: palette.layers[name],
  };
}

const UNASSIGNED = "\u2fe0"; // no font has it: what is drawn for it is the box

/** The characters of these texts for which the reader has no font: they are drawn as the box is. */
export function boxed(texts, stack) {
  const wanted = new Set(texts.join("").match(/[^\p{M}\p{Z}\p{Cc}\p{Cf}\0-\u024f]/gu));
  if (!wanted.size) return [];
  const canvas = h("canvas", { width: 20, height: 20 });
  const ctx = canvas.getContext("2d", { willReadFrequently: true });
  ctx.font = `16px ${stack}`;
  const drawn = (sign) => {
    ctx.clearRect(0, 0, 20, 20);
    ctx.fillText(sign, 1, 16);
    return ctx.getImageData(0, 0, 20, 20).data.join();
  };
  const box = drawn(UNASSIGNED);
  return [...wanted].filter((sign) => drawn(sign) === box);
}

/** The part that gives a leaf its colour: of blocks, what is taken over blocks. */
function essence(node) {
  return ["in_blocks", "or", "and", "per_head"].includes(node.op) ? essence(childrenOf(node)[0]) : node;
}

/** A colour and a mark for each leaf; a second leaf of one colour is shaded and takes a mark that is still free. */
export function kindsOf(leaves, palette, theme) {
  const seen = new Map();
  const marks = new Set();
  return leaves.map((leaf) => {
    const { colour, mark } = theme.role(palette.ops[essence(leaf).op]);
    const times = seen.get(colour) ?? 0;
    seen.set(colour, times + 1);
    const free = marks.has(mark)
      ? (Object.keys(MARKS).find((name) => name !== "plain" && !marks.has(name)) ?? mark)
      : mark;
    marks.add(free);
    return {
      colour: times ? mixed(colour, times % 2 ? theme.ink : theme.paper, 0.3 + 0.1 * Math.min(times, 4)) : colour,
      mark: free,
    };
  });
}

/** Colours for layers 1 … n, from the first reached to the last. */
export function layerKinds(theme, n) {
  const ramp = theme.layers;
  return Array.from({ length: n }, (_, i) => {
    const at = n === 1 ? 0 : (i * (ramp.length - 1)) / (n - 1);
    const low = Math.floor(at);
    return {
      colour: mixed(ramp[low], ramp[Math.min(low + 1, ramp.length - 1)], at - low),
      mark: i < 9 ? String(i + 1) : "plain",
    };
  });
}

/** A small canvas that shows one cell of this kind. */
export function swatch(kind) {
  const canvas = h("canvas.lm-swatch", { width: 44, height: 44, "aria-hidden": "true" });
  drawCell(canvas.getContext("2d"), 0, 0, 46, kind);
  return canvas;
}

/** The name of a part in the reader's language; a title given in the tree comes first. */
export function nameOf(node, say) {
  if (node.title) return say.has(`title.${node.title}`) ? say(`title.${node.title}`) : node.title;
  const join = (word) =>
    node.parts
      .map((part) => (part.parts && !part.title ? `(${nameOf(part, say)})` : nameOf(part, say)))
      .join(` ${say(word)} `);
  switch (node.op) {
    case "or":
      return join("or");
    case "and":
      return join("and");
    case "not":
      return say("op.not", { part: nameOf(node.part, say) });
    case "in_blocks":
      return say("op.in_blocks", { part: nameOf(node.part, say), size: node.size });
    case "window":
      return say(node.dilation > 1 ? "op.window_dilated" : "op.window", node);
    case "global_tokens":
      return node.positions
        ? say("op.global_tokens", { positions: shortList(node.positions) || "∅" })
        : say("op.marked_tokens");
    case "permutation":
      return say(`op.permutation_${node.stream}`);
    case "prefix":
      return Array.isArray(node.length) ? say("op.prefix_each") : say("op.prefix", node);
    default:
      return say(`op.${node.op}`, { ...node, count: node.pairs?.length ?? "", size: node.shape?.join(" × ") ?? "" });
  }
}

export function shortList(values) {
  const shown = values
    .slice(0, 6)
    .map((v) => (v < 0 ? `−${-v}` : v))
    .join(", ");
  return values.length > 6 ? `${shown}, …` : shown;
}

/** The condition on (q, k) as text: letters become variables when it is set. */
export function conditionOf(node) {
  const grouped = (part) => (part.op === "or" || part.op === "and" ? `(${conditionOf(part)})` : conditionOf(part));
  const set = (positions) => `{${shortList(positions)}}`;
  const sub = (n) => String(n).replace(/\d/g, (d) => "₀₁₂₃₄₅₆₇₈₉"[d]);
  switch (node.op) {
    case "or":
      return node.parts.map(grouped).join("  ∨  ");
    case "and":
      return node.parts.map(grouped).join("  ∧  ");
    case "not":
      return `¬(${conditionOf(node.part)})`;
    case "full":
      return "⊤";
    case "causal":
      return "k ≤ q";
    case "window":
      return `|q − k| ≤ ${(node.width >> 1) * node.dilation}${node.dilation > 1 ? `,  ${node.dilation} ∣ q − k` : ""}`;
    case "global_tokens":
      return node.positions
        ? node.positions.length
          ? `q ∈ ${set(node.positions)}  ∨  k ∈ ${set(node.positions)}`
          : "⊥"
        : "q ∈ G  ∨  k ∈ G";
    case "random":
      return `k ∈ R${sub(node.r)}(q)`;
    case "random_blocks":
      return `⌊k/${node.block}⌋ ∈ R${sub(node.r)}(⌊q/${node.block}⌋)`;
    case "segments":
      return "s(q) = s(k)";
    case "prefix":
      return Array.isArray(node.length) ? "k ≤ q  ∨  q, k < p" : `k ≤ q  ∨  q, k < ${node.length}`;
    case "permutation":
      return node.stream === "query" ? "z⁻¹(k) < z⁻¹(q)" : "z⁻¹(k) ≤ z⁻¹(q)";
    case "memory":
      return node.length === null ? "k < t₀" : `t₀ − ${node.length} ≤ k < t₀`;
    case "padding":
      return node.rows ? "q, k ∈ real" : "k ∈ real";
    case "cells":
      return "(q, k) ∈ C";
    case "table":
      return node.block > 1 ? `A[⌊q/${node.block}⌋, ⌊k/${node.block}⌋] = 1` : "A[q, k] = 1";
    case "in_blocks":
      return conditionOf(node.part).replace(/\b[qk]\b/g, (letter) => `⌊${letter}/${node.size}⌋`);
    case "per_head":
      return node.heads.map((head, i) => `h = ${i}: ${conditionOf(head)}`).join("; ");
    default:
      return node.op;
  }
}

/** Text of a formula with its letters in italics, as elements. */
export function mathOf(tag, text) {
  return h(tag, {}, ...text.split(/([A-Za-z]+)/).map((piece, i) => (i % 2 ? h("i", {}, piece) : piece)));
}
