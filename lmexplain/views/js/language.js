/* Patterns as text: `window(4) | global_tokens(0)` read into the JSON tree and written from it, and the tree checked.
   The vocabulary is Python's (lmexplain.patterns). Nothing of a text is ever executed. */

import { Refusal, axesOf, childrenOf, refuse } from "./patterns.js";

export const LIMITS = { characters: 100000, depth: 50, nodes: 256, values: 65536, places: 4000000, length: 4096 };

/** The parameters of each primitive in the order of its function: [kind, least or "", default if it may be left out].
    A name with * takes all the remaining arguments. */
export const FORMS = {
  full: {},
  causal: {},
  window: { width: ["whole", 1], dilation: ["whole", 1, 1] },
  global_tokens: { "*positions": ["place"], where: ["marks", "", null] },
  random: { r: ["whole", 0], seed: ["whole", 0, 0] },
  random_blocks: { r: ["whole", 0], block: ["whole", 1, 64], seed: ["whole", 0, 0] },
  segments: { ids: ["numbers"] },
  prefix: { length: ["lengths", 0] },
  permutation: { order: ["order"], stream: ["stream", "", "content"] },
  memory: { length: ["most", 0, null] },
  padding: { real: ["marks"], rows: ["flag", "", false] },
  cells: { "*pairs": ["pair"] },
  table: { allowed: ["table"], block: ["whole", 1, 1] },
  per_head: { "*heads": ["pattern"] },
  in_blocks: { size: ["whole", 1], part: ["pattern"] },
};

const or = (...parts) => ({ op: "or", parts });
const window_ = (width, dilation = 1) => ({ op: "window", width, dilation });
const globals = (positions) => ({ op: "global_tokens", positions });
const memory_ = (length) => ({ op: "memory", length });
const blocks = (size, part) => ({ op: "in_blocks", size, part });
const titled = (title, node) => ({ ...node, title });

/** The compositions of the papers, as in lmexplain/patterns/papers.py: parameters, and the tree they stand for. */
const PAPERS = {
  longformer: [
    { width: ["whole", 1, 512], tokens: ["places", "", [0]], dilation: ["whole", 1, 1] },
    ({ width, tokens, dilation }) => titled("Longformer", or(window_(width, dilation), globals(tokens))),
  ],
  bigbird: [
    {
      r: ["whole", 0, 3],
      width: ["whole", 1, 3],
      ends: ["whole", 0, 1],
      block: ["whole", 1, 64],
      seed: ["whole", 0, 0],
    },
    ({ r, width, ends, block, seed }) => {
      const tokens = Array.from({ length: 2 * ends }, (_, i) => (i < ends ? i : i - 2 * ends));
      const parts = [
        blocks(block, window_(width)),
        blocks(block, globals(tokens)),
        { op: "random_blocks", r, block, seed },
      ];
      return titled("BigBird, in blocks", or(...parts));
    },
  ],
  bigbird_tokens: [
    { r: ["whole", 0, 3], width: ["whole", 1, 3], tokens: ["places", "", [0]], seed: ["whole", 0, 0] },
    ({ r, width, tokens, seed }) =>
      titled("BigBird, by tokens", or(window_(width), globals(tokens), { op: "random", r, seed })),
  ],
  unilm: [
    { setting: ["text"], source: ["lengths", 0, null] },
    ({ setting, source }) => {
      const settings = {
        bidirectional: { op: "full" },
        "left-to-right": { op: "causal" },
        "right-to-left": or({ op: "not", part: { op: "causal" } }, window_(1)),
        "sequence-to-sequence": { op: "prefix", length: source },
      };
      if (!Object.hasOwn(settings, setting))
        refuse("error.choice", { name: "setting", value: setting, choices: Object.keys(settings).join(", ") });
      if ((setting === "sequence-to-sequence") !== (source !== null)) refuse("error.source", { setting });
      return titled(`UniLM, ${setting}`, settings[setting]);
    },
  ],
  xlnet: [
    { order: ["order"], memory: ["whole", 0, 0], stream: ["stream", "", "content"] },
    ({ order, memory, stream }) => {
      const pattern = { op: "permutation", order, stream };
      return titled(`XLNet, ${stream} stream`, memory ? or(pattern, memory_(memory)) : pattern);
    },
  ],
  transformer_xl: [
    { memory: ["whole", 0], same_length: ["flag", "", false] },
    ({ memory, same_length }) => {
      const segment = { op: "and", parts: [{ op: "causal" }, { op: "not", part: memory_(null) }] };
      const whole = or(memory_(memory), segment);
      return titled("Transformer-XL", same_length ? { op: "and", parts: [whole, window_(2 * memory + 1)] } : whole);
    },
  ],
};

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────────────────── */

const isWhole = (value) => Number.isSafeInteger(value);
const isList = (value, each) => Array.isArray(value) && value.length > 0 && value.every(each);
const isTable = (value, each) =>
  isList(value, each) ||
  (isList(value, (row) => isList(row, each)) && new Set(value.map((row) => row.length)).size === 1);

/** What each kind of parameter accepts; a value of another kind is refused with its name. */
const KINDS = {
  whole: (value, least) => isWhole(value) && value >= least,
  most: (value, least) => value === null || (isWhole(value) && value >= least), // null: no limit
  place: isWhole,
  places: (value) => Array.isArray(value) && value.every(isWhole),
  numbers: (value) => isTable(value, isWhole),
  lengths: (value, least) => (isWhole(value) && value >= least) || isList(value, (v) => isWhole(v) && v >= least),
  marks: (value) => isTable(value, (v) => v === 0 || v === 1 || v === true || v === false),
  order: (value) => isTable(value, isWhole) && (Array.isArray(value[0]) ? value : [value]).every(isOrder),
  stream: (value) => value === "content" || value === "query",
  flag: (value) => typeof value === "boolean",
  text: (value) => typeof value === "string",
  pair: (value) => isList(value, (v) => isWhole(v) && v >= 0) && value.length === 2,
  pattern: (value) => typeof value?.op === "string",
  table: (value) => typeof value === "object" && value !== null && typeof value.bits === "string",
};

function isOrder(order) {
  const seen = new Set(order);
  return seen.size === order.length && order.every((place) => place >= 0 && place < order.length);
}

function checked(op, name, value, [kind, least]) {
  if (!KINDS[kind](value, least)) refuse(`error.kind.${kind}`, { op, name, value: shown(value), least });
  return kind === "marks"
    ? JSON.parse(JSON.stringify(value), (_, v) => (typeof v === "boolean" ? Number(v) : v))
    : value;
}

function shown(value) {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return text.length > 60 ? `${text.slice(0, 48)} …` : text;
}

const known = new WeakSet(); // leaves that were checked before: a slider changes one and keeps the others

/** The tree with only what is known in it, or a Refusal: what comes from a link or a file is never trusted. */
export function checkedSpec(spec) {
  if (spec?.version !== undefined && spec.version !== 1) refuse("error.version", { value: shown(spec.version) });
  const budget = { nodes: LIMITS.nodes, values: LIMITS.values };
  const size = (value) => (Array.isArray(value) ? value.reduce((sum, v) => sum + size(v), 0) : 1);
  const walk = (node, depth) => {
    if (depth > LIMITS.depth || --budget.nodes < 0) refuse("error.deep", { limit: LIMITS.nodes });
    if (typeof node?.op !== "string") refuse("error.node", { value: shown(node) });
    if (known.has(node)) return node;
    const title = typeof node.title === "string" && node.title ? { title: node.title.slice(0, 200) } : {};
    const list = (parts) =>
      Array.isArray(parts) && parts.length
        ? parts.map((part) => walk(part, depth + 1))
        : refuse("error.node", { value: shown(parts) });
    const { op } = node;
    if (op === "or" || op === "and") return { op, parts: list(node.parts), ...title };
    if (op === "not") return { op, part: walk(node.part, depth + 1), ...title };
    if (!Object.hasOwn(FORMS, op)) refuse("error.unknown", { name: shown(op), names: Object.keys(FORMS).join(", ") });
    if (op === "per_head") {
      const heads = list(node.heads);
      if (heads.some((head) => axesOf(head)[1] !== 1)) refuse("error.kind.pattern", { op, name: "heads", value: op });
      return { op, heads, ...title };
    }
    if (op === "table") {
      const block = checked(op, "block", node.block ?? 1, FORMS.table.block);
      return remembered({ op, ...checkedTable(node), block, ...title });
    }
    const out = { op };
    for (const [key, form] of Object.entries(FORMS[op])) {
      const name = key.replace("*", "");
      const value = node[name];
      if (form[0] === "pattern") out[name] = walk(value, depth + 1);
      else if (key.startsWith("*")) {
        if (op === "global_tokens" && node.where !== undefined) continue;
        if (!Array.isArray(value)) refuse("error.kind.places", { op, name, value: shown(value) });
        out[name] = value.map((v) => checked(op, name, v, form));
      } else if (value !== undefined || form.length < 3) out[name] = checked(op, name, value, form);
      else if (form[2] !== null) out[name] = form[2];
      budget.values -= size(value);
      if (budget.values < 0) refuse("error.large", { limit: LIMITS.values });
    }
    return op === "in_blocks" ? { ...out, ...title } : remembered({ ...out, ...title });
  };
  const clean = walk(spec, 0);
  axesOf(clean);
  return clean;
}

function remembered(leaf) {
  known.add(leaf);
  return leaf;
}

function checkedTable({ shape, bits }) {
  const places =
    isList(shape, (n) => isWhole(n) && n > 0) && shape.length >= 2 && shape.length <= 4
      ? shape.reduce((a, b) => a * b)
      : 0;
  if (!places || places > LIMITS.places) refuse("error.large", { limit: LIMITS.places });
  let bytes = -1;
  try {
    bytes = atob(bits).length;
  } catch {
    /* what is no base64 has no bytes */
  }
  if (bytes !== Math.ceil(places / 8)) refuse("error.kind.table", { op: "table", name: "bits", value: shown(bits) });
  return { shape, bits };
}

/** A nested list of 0 and 1 as the table's shape and bits, eight to a byte, the first the highest. */
export function packed(nested) {
  const shape = [];
  for (let level = nested; Array.isArray(level); level = level[0]) shape.push(level.length);
  const flat = Array.isArray(nested) ? nested.flat(4).map(Number) : [];
  if (
    shape.length < 2 ||
    shape.length > 4 ||
    flat.length !== shape.reduce((a, b) => a * b, 1) ||
    flat.some((v) => v !== 0 && v !== 1)
  ) {
    refuse("error.kind.table", { op: "table", name: "allowed", value: shown(nested) });
  }
  return { shape, bits: bitText(flat) };
}

export function bitText(flat) {
  const bytes = new Uint8Array(Math.ceil(flat.length / 8));
  flat.forEach((v, i) => v && (bytes[i >> 3] |= 128 >> (i & 7)));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

export function bitList(bits, count) {
  const bytes = atob(bits);
  return Uint8Array.from({ length: count }, (_, i) => (bytes.charCodeAt(i >> 3) >> (7 - (i & 7))) & 1);
}

/* ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────── */

const TOKEN = /\s*(?:(-?\d+)|([A-Za-z_]\w*)|"([^"\\]*)"|'([^'\\]*)'|([()[\],|&~=.])|(\S))/y;

function tokensOf(text) {
  if (text.length > LIMITS.characters) refuse("error.long", { limit: LIMITS.characters });
  const tokens = [];
  TOKEN.lastIndex = 0;
  for (let found; text.slice(TOKEN.lastIndex).trim() && (found = TOKEN.exec(text));) {
    const [whole, number, name, double, single, sign, other] = found;
    const at = TOKEN.lastIndex - whole.trimStart().length + 1;
    if (other) refuse("error.syntax", { at, found: other });
    if (number) tokens.push({ kind: "value", value: Number(number), text: number, at });
    else if (name) tokens.push({ kind: "name", value: name, text: name, at });
    else if (sign) tokens.push({ kind: sign, text: sign, at });
    else tokens.push({ kind: "value", value: double ?? single, text: whole.trim(), at });
  }
  tokens.push({ kind: "end", text: "", at: text.length + 1 });
  return tokens;
}

/** Read an expression; raises Refusal with the place and what stands there. `~` binds before `&`, `&` before `|`. */
export function parse(text) {
  const tokens = tokensOf(text);
  if (tokens.length === 1) refuse("error.empty");
  let next = 0;
  let depth = 0;
  const peek = (kind) => tokens[next].kind === kind;
  const take = (kind) => (peek(kind) ? tokens[next++] : null);
  const stop = (token = tokens[next]) =>
    refuse(token.kind === "end" ? "error.end" : "error.syntax", { at: token.at, found: token.text });
  const need = (kind) => take(kind) ?? stop();

  function joined(op, sign, below) {
    const parts = [below()];
    while (take(sign)) parts.push(below());
    return parts.length === 1
      ? parts[0]
      : { op, parts: parts.flatMap((part) => (part.op === op ? part.parts : [part])) };
  }
  const union = () => joined("or", "|", () => joined("and", "&", unary));
  function unary() {
    if (++depth > LIMITS.depth) refuse("error.deep", { limit: LIMITS.depth });
    const node = take("~") ? { op: "not", part: unary() } : postfix();
    depth--;
    return node;
  }
  function postfix() {
    let node;
    if (take("(")) node = ((node = union()), need(")"), node);
    else node = peek("name") && tokens[next + 1].kind === "(" ? call() : stop();
    while (take(".")) {
      const stream = need("name");
      if (node.op !== "permutation" || !KINDS.stream(stream.value)) stop(stream);
      node = { op: "permutation", order: node.order, stream: stream.value };
    }
    return node;
  }
  function value() {
    const closing = take("[") ? "]" : peek("(") && isTuple() ? (need("("), ")") : null;
    if (closing) {
      if (++depth > LIMITS.depth) refuse("error.deep", { limit: LIMITS.depth });
      const items = [];
      while (!take(closing)) {
        items.push(value());
        if (!peek(closing)) need(",");
      }
      depth--;
      return items;
    }
    const word = peek("name") && ["True", "False", "None"].indexOf(tokens[next].value);
    if (typeof word === "number" && word >= 0) return (next++, [true, false, null][word]);
    return take("value")?.value ?? union();
  }
  function isTuple() {
    // a parenthesis that opens with a value or closes at once
    const after = tokens[next + 1];
    return (
      ["value", ")", "["].includes(after.kind) || (after.kind === "(" && ["value", "("].includes(tokens[next + 2].kind))
    );
  }
  function call() {
    const name = need("name").value;
    const args = [];
    const named = {};
    if (!Object.hasOwn(FORMS, name) && !Object.hasOwn(PAPERS, name)) {
      refuse("error.unknown", { name, names: [...Object.keys(FORMS), ...Object.keys(PAPERS)].sort().join(", ") });
    }
    need("(");
    while (!take(")")) {
      if (peek("name") && tokens[next + 1].kind === "=") {
        const key = need("name").value;
        need("=");
        if (Object.hasOwn(named, key)) refuse("error.twice", { op: name, name: key });
        named[key] = value();
      } else if (Object.keys(named).length) stop();
      else args.push(value());
      if (!peek(")")) need(",");
    }
    return build(name, args, named);
  }

  const node = union();
  if (!peek("end")) stop();
  return checkedSpec(node);
}

/** The tree of one call, from its arguments by place and by name. */
function build(op, args, named) {
  const [form, paper] = PAPERS[op] ?? [FORMS[op], null];
  const fields = {};
  for (const key of Object.keys(named)) if (!Object.hasOwn(form, key)) refuse("error.surplus", { op, name: key });
  const rest = [...args];
  for (const [key, kind] of Object.entries(form)) {
    const name = key.replace("*", "");
    if (key.startsWith("*")) {
      fields[name] = rest.splice(0).map((v) => checked(op, name, v, kind));
      continue;
    }
    if (rest.length && Object.hasOwn(named, name)) refuse("error.twice", { op, name });
    const given = rest.length ? rest.shift() : named[name];
    if (given === undefined && kind.length < 3) refuse("error.missing", { op, name });
    const value = given === undefined ? kind[2] : given;
    if (kind[0] === "table") Object.assign(fields, packed(value));
    else if (value === null && kind[2] === null) fields[name] = null;
    else fields[name] = checked(op, name, value, kind);
  }
  if (rest.length) refuse("error.surplus", { op, name: shown(rest[0]) });
  if (paper) return paper(fields);
  if (op === "global_tokens") {
    if (fields.where === null) delete fields.where;
    else if (fields.positions.length) refuse("error.twice", { op, name: "where" });
    else delete fields.positions;
  }
  return { op, ...fields };
}

/* ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────────── */

const texts = new WeakMap(); // what was written before: long data is written once

/** The expression text of a tree, as Python's repr writes it; `parse` reads it back (titles are not written). */
export function format(node) {
  if (!texts.has(node)) texts.set(node, written(node));
  return texts.get(node);
}

function written(node) {
  const list = (values) => JSON.stringify(values);
  const grouped = (part) => (part.op === "or" || part.op === "and" ? `(${format(part)})` : format(part));
  switch (node.op) {
    case "or":
      return node.parts.map(grouped).join(" | ");
    case "and":
      return node.parts.map(grouped).join(" & ");
    case "not":
      return `~${grouped(node.part)}`;
    case "window":
      return node.dilation === 1 ? `window(${node.width})` : `window(${node.width}, ${node.dilation})`;
    case "global_tokens":
      return node.where ? `global_tokens(where=${list(node.where)})` : `global_tokens(${node.positions.join(", ")})`;
    case "segments":
      return `segments(${list(node.ids)})`;
    case "prefix":
      return `prefix(${list(node.length).replaceAll(",", ", ")})`;
    case "permutation":
      return `permutation(${list(node.order)}, "${node.stream}")`;
    case "padding":
      return `padding(${list(node.real)}${node.rows ? ", rows=True" : ""})`;
    case "cells":
      return `cells(${node.pairs.map((pair) => `(${pair.join(", ")})`).join(", ")})`;
    case "table":
      return `table(${list(nestedOf(node))}${node.block > 1 ? `, ${node.block}` : ""})`;
    case "per_head":
      return `per_head(${node.heads.map(format).join(", ")})`;
    case "in_blocks":
      return `in_blocks(${node.size}, ${format(node.part)})`;
    default:
      return `${node.op}(${Object.keys(FORMS[node.op])
        .map((name) => node[name])
        .join(", ")})`;
  }
}

function nestedOf({ shape, bits }) {
  let level = Array.from(
    bitList(
      bits,
      shape.reduce((a, b) => a * b),
    ),
  );
  for (const size of shape.slice(1).reverse()) {
    level = Array.from({ length: level.length / size }, (_, i) => level.slice(i * size, (i + 1) * size));
  }
  return level;
}

/* ── the tree at other lengths ───────────────────────────────────────────────────────────────────────────────────── */

/** The tree with its data cut or continued to T queries and S keys, so that a change of length does not break it. */
export function fitted(node, T, S, start) {
  const perSample = (values, fit) => (Array.isArray(values[0]) ? values.map(fit) : fit(values));
  const lasting = (values) => Array.from({ length: S }, (_, k) => values[Math.min(k, values.length - 1)]);
  const n = S - (start ?? 0);
  const out = { ...node };
  if (node.op === "segments") out.ids = perSample(node.ids, lasting);
  if (node.op === "padding") out.real = perSample(node.real, lasting);
  if (node.where) out.where = perSample(node.where, lasting);
  if (node.op === "permutation") {
    out.order = perSample(node.order, (order) => [
      ...order.filter((place) => place < n),
      ...Array.from({ length: n }, (_, i) => i).slice(order.length),
    ]);
  }
  if (node.op === "prefix")
    out.length = Array.isArray(node.length) ? node.length.map((p) => Math.min(p, S)) : Math.min(node.length, S);
  if (node.positions) out.positions = node.positions.filter((p) => p >= -S && p < S);
  if (node.op === "in_blocks") {
    const coarse = Math.ceil(S / node.size);
    const first = Math.floor((start ?? 0) / node.size);
    out.part = fitted(
      node.part,
      Math.floor(((start ?? 0) + T - 1) / node.size) - first + 1,
      coarse,
      start === null ? null : first,
    );
  } else {
    if (node.parts) out.parts = node.parts.map((part) => fitted(part, T, S, start));
    if (node.heads) out.heads = node.heads.map((head) => fitted(head, T, S, start));
    if (node.part) out.part = fitted(node.part, T, S, start);
  }
  return out;
}

/** The tree with every permutation turned to one stream. */
export function streamed(node, stream) {
  if (node.op === "permutation") return { ...node, stream, title: undefined };
  const out = { ...node };
  for (const key of ["parts", "heads"]) if (node[key]) out[key] = node[key].map((part) => streamed(part, stream));
  if (node.part) out.part = streamed(node.part, stream);
  return out;
}

/** The first permutation of the tree, if it has one. */
export function permutationOf(node) {
  if (node.op === "permutation") return node;
  for (const child of childrenOf(node)) {
    const found = permutationOf(child);
    if (found) return found;
  }
  return null;
}

export function isRefusal(error) {
  return error instanceof Refusal;
}
