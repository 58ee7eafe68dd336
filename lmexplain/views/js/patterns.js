/* A pattern's JSON tree, taken at given lengths: who may attend to whom, in the browser.

   Held bit for bit against lmexplain.patterns. The keys stand on a line 0 … S-1; row t of the queries stands at
   position q = t + start. A painter is one short function per primitive: paint(q, row, v) writes v into row[k] for
   every key k that the query at q may attend to, and leaves the rest of the row alone. A row at a time is some twenty
   times faster than a call per cell. */

/** What cannot be done, as the key of an interface word and its values: whoever shows it has the words. */
export class Refusal extends Error {
  constructor(word, values = {}) {
    super(`${word} ${JSON.stringify(values)}`);
    this.word = word;
    this.values = values;
  }
}

export function refuse(word, values) {
  throw new Refusal(word, values);
}

/* ── the random numbers: the 32-bit hash that Python computes alike ──────────────────────────────────────────────── */

function mix(x) {
  x = (x + 0x9e3779b9) >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

export function hash32(seed, q, i) {
  return mix(mix(q ^ mix(seed % 0x100000000)) ^ i);
}

/** Floyd's sampling: min(r, m) distinct numbers of 0 … m-1, into `chosen`; returns how many. */
function draw(seed, q, m, r, chosen) {
  const count = Math.min(r, m);
  for (let i = 0; i < count; i++) {
    const j = m - count + i;
    const t = hash32(seed, q, i) % (j + 1);
    chosen[i] = chosen.subarray(0, i).includes(t) ? j : t;
  }
  return count;
}

/* ── lengths ─────────────────────────────────────────────────────────────────────────────────────────────────────── */

/** T queries from position `start` on (null in cross-attention) among S keys, for sample b and head h. */
function lineOf(T, S, start, b, h) {
  return { T, S, start, offset: start ?? 0, b, h };
}

function inBlocks(line, size) {
  const first = Math.floor(line.offset / size);
  const last = Math.floor((line.offset + Math.max(line.T, 1) - 1) / size);
  return lineOf(last - first + 1, Math.ceil(line.S / size), line.start === null ? null : first, line.b, line.h);
}

/** The values of this sample: data comes as one list, or as one list per sample. */
function sample(values, b) {
  return Array.isArray(values[0]) ? values[Math.min(b, values.length - 1)] : values;
}

/* ── one painter per primitive ───────────────────────────────────────────────────────────────────────────────────── */

const PAINTERS = {
  full(node, { S }) {
    return (q, row, v) => row.fill(v, 0, S);
  },

  // k ≤ q
  causal(node, { S }) {
    return (q, row, v) => row.fill(v, 0, Math.min(q + 1, S));
  },

  // |q-k| ≤ ⌊w/2⌋·d and d divides q-k
  window(node, { S }) {
    const { width, dilation: d } = node;
    const reach = (width >> 1) * d;
    if (d === 1) return (q, row, v) => row.fill(v, Math.max(0, q - reach), Math.min(S, q + reach + 1));
    return (q, row, v) => {
      const last = Math.min(S - 1, q + reach);
      for (let k = Math.max(q - reach, q % d); k <= last; k += d) row[k] = v;
    };
  },

  // q ∈ G or k ∈ G
  global_tokens(node, line) {
    const marks = globalMarks(node, line);
    const chosen = Uint32Array.from(marks.keys()).filter((k) => marks[k]);
    return (q, row, v) => {
      if (marks[q]) row.fill(v, 0, line.S);
      else for (const k of chosen) row[k] = v;
    };
  },

  // r distinct keys of 0 … S-1
  random({ r, seed }, { S }) {
    const chosen = new Uint32Array(Math.min(r, S));
    return (q, row, v) => {
      for (let i = draw(seed, q, S, r, chosen) - 1; i >= 0; i--) row[chosen[i]] = v;
    };
  },

  // r blocks that are no neighbour and no end
  random_blocks({ r, block, seed }, { S }) {
    const n = Math.ceil(S / block);
    const chosen = new Uint32Array(Math.min(r, n));
    return (q, row, v) => {
      const i = Math.floor(q / block);
      if (i === 0 || i === n - 1) return;
      const gap = Math.max(1, i - 1);
      const skipped = Math.max(0, Math.min(i + 1, n - 2) - gap + 1);
      for (let c = draw(seed, i, Math.max(0, n - 2 - skipped), r, chosen) - 1; c >= 0; c--) {
        const key = chosen[c] + 1 < gap ? chosen[c] + 1 : chosen[c] + 1 + skipped;
        row.fill(v, key * block, Math.min(S, (key + 1) * block));
      }
    };
  },

  // the query's segment is the key's
  segments(node, { S, b }) {
    const ids = Float64Array.from(sample(node.ids, b));
    return (q, row, v) => {
      for (let k = 0, own = ids[q]; k < S; k++) if (ids[k] === own) row[k] = v;
    };
  },

  // k ≤ q, or both before p
  prefix(node, { S, b }) {
    const p = Array.isArray(node.length) ? node.length[Math.min(b, node.length.length - 1)] : node.length;
    return (q, row, v) => row.fill(v, 0, Math.min(S, q < p ? Math.max(p, q + 1) : q + 1));
  },

  // content: rank k ≤ rank q; query: rank k < rank q
  permutation(node, { S, offset, b }) {
    const order = Uint32Array.from(sample(node.order, b), (place) => place + offset);
    const rank = new Uint32Array(S);
    const own = node.stream === "query" ? 0 : 1;
    order.forEach((key, step) => (rank[key] = step));
    return (q, row, v) => {
      for (let step = 0, before = rank[q] + own; step < before; step++) row[order[step]] = v;
    };
  },

  // the keys right before the first query
  memory({ length }, { offset }) {
    return (q, row, v) => row.fill(v, length === null ? 0 : Math.max(0, offset - length), offset);
  },

  // k is a real token
  padding(node, { S, b }) {
    const real = Uint8Array.from(sample(node.real, b));
    return (q, row, v) => {
      if (!node.rows || real[q]) for (let k = 0; k < S; k++) if (real[k]) row[k] = v;
    };
  },

  cells(node, { S }) {
    const keys = new Map();
    for (const [q, k] of node.pairs) {
      if (!keys.has(q)) keys.set(q, []);
      if (k < S) keys.get(q).push(k);
    }
    return (q, row, v) => keys.get(q)?.forEach((k) => (row[k] = v));
  },

  // by row of the grid, in blocks
  table(node, { S, offset, b, h }) {
    const [rows, columns] = node.shape.slice(-2);
    const [B, N] = [1, 1, ...node.shape.slice(0, -2)].slice(-2);
    const bits = bitsOf(node);
    const plane = ((b % B) * N + (h % N)) * rows * columns;
    const size = node.block;
    return (q, row, v) => {
      const first = plane + Math.floor((q - offset) / size) * columns;
      for (let c = 0; c < columns; c++) {
        const at = first + c;
        if (bits[at >> 3] & (128 >> (at & 7))) row.fill(v, c * size, Math.min(S, (c + 1) * size));
      }
    };
  },

  per_head: (node, line) => painter(node.heads[line.h], { ...line, h: 0 }),

  // the part over whole blocks of tokens
  in_blocks(node, line) {
    const coarse = inBlocks(line, node.size);
    const inner = painter(node.part, coarse);
    const blocks = new Uint8Array(coarse.S);
    let painted = -1;
    return (q, row, v) => {
      const place = Math.floor(q / node.size);
      if (place !== painted) inner(place, blocks.fill(0), 1);
      painted = place;
      for (let c = 0; c < coarse.S; c++) {
        if (blocks[c]) row.fill(v, c * node.size, Math.min(line.S, (c + 1) * node.size));
      }
    };
  },

  or(node, line) {
    const parts = node.parts.map((part) => painter(part, line));
    return (q, row, v) => {
      for (const paint of parts) paint(q, row, v);
    };
  },

  and(node, { S, ...rest }) {
    const [first, ...others] = node.parts.map((part) => painter(part, { S, ...rest }));
    const all = bytes(S);
    const one = bytes(S);
    return (q, row, v) => {
      first(q, all.fill(0), 1);
      for (const paint of others) {
        paint(q, one.fill(0), 1);
        meet(all, one);
      }
      spread(all, row, v);
    };
  },

  not(node, line) {
    const inner = painter(node.part, line);
    const inside = new Uint8Array(line.S);
    return (q, row, v) => {
      inner(q, inside.fill(0), 1);
      for (let k = 0; k < line.S; k++) if (!inside[k]) row[k] = v;
    };
  },
};

function painter(node, line) {
  return PAINTERS[node.op](node, line);
}

/** A row of S bytes in a buffer of whole words. */
function bytes(S) {
  return new Uint8Array(new ArrayBuffer((S + 3) & ~3), 0, S);
}

/** row &= mask, four bytes at a time where the row allows it. */
function meet(row, mask) {
  const aligned = row.byteOffset % 4 === 0 ? row.length >> 2 : 0;
  const a = new Uint32Array(row.buffer, aligned ? row.byteOffset : 0, aligned);
  const b = new Uint32Array(mask.buffer, 0, aligned);
  for (let i = 0; i < aligned; i++) a[i] &= b[i];
  for (let k = 4 * aligned; k < row.length; k++) row[k] &= mask[k];
}

/** Writes v into the row wherever `from` is not 0; words of four zeros are skipped. */
function spread(from, row, v) {
  const words = new Uint32Array(from.buffer);
  for (let w = 0; w < words.length; w++) {
    if (words[w]) for (let k = 4 * w, end = Math.min(k + 4, row.length); k < end; k++) if (from[k]) row[k] = v;
  }
}

function globalMarks(node, { S, b }) {
  if (node.where) return Uint8Array.from(sample(node.where, b));
  const marks = new Uint8Array(S);
  for (const p of node.positions) marks[((p % S) + S) % S] = 1;
  return marks;
}

const unpacked = new WeakMap(); // a table is unpacked once, not at every slider step

function bitsOf(node) {
  if (!unpacked.has(node))
    unpacked.set(
      node,
      Uint8Array.from(atob(node.bits), (c) => c.charCodeAt(0)),
    );
  return unpacked.get(node);
}

/* ── the tree ────────────────────────────────────────────────────────────────────────────────────────────────────── */

export function childrenOf(node) {
  return node.parts ?? node.heads ?? (node.part ? [node.part] : []);
}

/** The parts that are neither `|` nor `&`, in the order written; of per_head, those of head h. */
export function leavesOf(node, h = 0) {
  if (node.op === "or" || node.op === "and") return node.parts.flatMap((part) => leavesOf(part, h));
  return node.op === "per_head" ? leavesOf(node.heads[h]) : [node];
}

/** Of each leaf, whether it stands behind an `&`: it closes pairs, and is never the first that allows one. */
export function closersOf(node, h = 0, closes = false) {
  if (node.op === "per_head") return closersOf(node.heads[h], 0, closes);
  if (node.op !== "or" && node.op !== "and") return [closes];
  return node.parts.flatMap((part, i) => closersOf(part, h, closes || (node.op === "and" && i > 0)));
}

/** Each leaf with the `&` above it, but the outermost: a part of `&` counts only where all its parts allow. */
function branchesOf(node, h, gates = null) {
  if (node.op === "per_head") return branchesOf(node.heads[h], 0, gates);
  if (node.op !== "or" && node.op !== "and") return [[node, gates ?? []]];
  const inner = node.op === "or" ? (gates ?? []) : gates ? [...gates, node] : [];
  return node.parts.flatMap((part) => branchesOf(part, h, inner));
}

/** Paints a leaf where every gate is open. */
function gated([leaf, gates], line) {
  const paint = painter(leaf, line);
  if (!gates.length) return paint;
  const doors = gates.map((gate) => painter(gate, line));
  const open = bytes(line.S);
  const door = bytes(line.S);
  return (q, row, v) => {
    paint(q, open.fill(0), 255);
    for (const step of doors) {
      step(q, door.fill(0), 255);
      meet(open, door);
    }
    spread(open, row, v);
  };
}

/** Whether the pattern compares the place of a query with that of a key: impossible in cross-attention. */
function relates(node) {
  if (["or", "and", "not", "per_head", "in_blocks"].includes(node.op)) return childrenOf(node).some(relates);
  return node.op === "padding" ? Boolean(node.rows) : !["full", "random", "cells", "table"].includes(node.op);
}

/** How many samples and heads the pattern tells apart. */
export function axesOf(node) {
  if (node.op === "per_head")
    return [
      common(
        node.heads.map((head) => axesOf(head)[0]),
        "samples",
      ),
      node.heads.length,
    ];
  if (node.op === "table") return [1, 1, ...node.shape.slice(0, -2)].slice(-2);
  if (node.op === "prefix") return [Array.isArray(node.length) ? node.length.length : 1, 1];
  const data = node.ids ?? node.order ?? node.real ?? node.where;
  if (data) return [Array.isArray(data[0]) ? data.length : 1, 1];
  const axes = childrenOf(node).map(axesOf);
  return [
    common(
      axes.map((a) => a[0]),
      "samples",
    ),
    common(
      axes.map((a) => a[1]),
      "heads",
    ),
  ];
}

function common(sizes, what) {
  const several = [...new Set(sizes)].filter((size) => size !== 1);
  if (several.length > 1) refuse(`error.${what}`, { sizes: several.join(", ") });
  return several[0] ?? 1;
}

/** Refuse, before any compute, what makes no sense at these lengths. */
export function checkLengths(node, line) {
  const { T, S, offset } = line;
  const fits = (have, want) => have === want || refuse("error.fits", { op: node.op, have, want });
  const count = (values) => (Array.isArray(values[0]) ? values[0].length : values.length);
  if (node.op === "in_blocks") return checkLengths(node.part, inBlocks(line, node.size));
  if (node.op === "global_tokens" && node.where) fits(count(node.where), S);
  else if (node.op === "global_tokens") {
    for (const value of node.positions)
      if (value < -S || value >= S) refuse("error.position", { value, last: S - 1, keys: S });
  } else if (node.op === "segments") fits(count(node.ids), S);
  else if (node.op === "padding") fits(count(node.real), S);
  else if (node.op === "permutation") fits(count(node.order), S - offset);
  else if (node.op === "prefix") {
    const value = Math.max(...[node.length].flat());
    if (value > S) refuse("error.prefix", { value, keys: S });
  } else if (node.op === "table") {
    const [rows, columns] = node.shape.slice(-2);
    fits(rows, Math.ceil(T / node.block));
    fits(columns, Math.ceil(S / node.block));
  }
  for (const child of childrenOf(node)) checkLengths(child, line);
}

/* ── the grid ────────────────────────────────────────────────────────────────────────────────────────────────────── */

/** A pattern for T queries and S keys, in sample b and head h. Raises Refusal where it does not fit these lengths. */
export function evaluate(spec, T, S, start = S - T, b = 0, h = 0) {
  if (!(T >= 1 && S >= 1)) refuse("error.lengths", { queries: T, keys: S });
  if (start === null ? relates(spec) : !(Number.isInteger(start) && start >= 0 && start <= S - T)) {
    refuse(start === null ? "error.cross" : "error.start", { queries: T, keys: S, start });
  }
  const [B, N] = axesOf(spec);
  const line = lineOf(T, S, start, Math.min(b, B - 1), Math.min(h, N - 1));
  checkLengths(spec, line);
  const paint = painter(spec, line);
  const { offset } = line;
  const branches = branchesOf(spec, line.h);
  const leaves = branches.map(([leaf]) => leaf);
  const painters = branches.map((branch) => gated(branch, line));
  const allowed = spec.op === "and" ? bytes(S) : null;
  const first = spec.op === "and" ? leavesOf(spec.parts[0], line.h).length : leaves.length; // a & b: a has the reason
  const one = new Uint8Array(S);

  return {
    spec,
    T,
    S,
    start,
    offset,
    b: line.b,
    h: line.h,
    leaves,
    lead: B * N === 1 ? null : [B, N],

    /** Writes v where row t may attend; `row` keeps its other values. */
    row: (t, row, v = 1) => paint(t + offset, row, v),

    /** Writes, where row t may attend, 1 + the index of the first leaf that allows the pair; `row` must come empty. */
    reasons(t, row) {
      if (allowed && first === 1) return void paint(t + offset, row, 1);
      for (let i = first - 1; i >= 0; i--) painters[i](t + offset, row, i + 1);
      if (!allowed) return;
      paint(t + offset, allowed.fill(0), 255);
      meet(row, allowed);
    },

    /** The indices of every leaf that allows the pair, in the order written; none where it is not allowed. */
    why(t, k) {
      const allows = (painting) => (painting(t + offset, one.fill(0), 1), one[k] === 1);
      return allows(paint) ? painters.flatMap((painting, i) => (allows(painting) ? [i] : [])) : [];
    },
  };
}

/** Every (b, h) of a pattern, in row-major order; `of` maps a grid to its values. */
function everywhere(spec, T, S, start, of, make) {
  const [B, N] = axesOf(spec);
  const out = new make(B * N * T * S);
  const row = new Uint8Array(S);
  for (let plane = 0; plane < B * N; plane++) {
    const grid = evaluate(spec, T, S, start, Math.floor(plane / N), plane % N);
    for (let t = 0; t < T; t++) of(grid, t, row.fill(0), out.subarray((plane * T + t) * S, (plane * T + t + 1) * S));
  }
  return out;
}

/** Row-major 0/1 of the whole pattern, (*lead, T, S); what Python's grid.dense() holds. */
export function dense(spec, T, S, start = S - T) {
  return everywhere(spec, T, S, start, (grid, t, row, out) => (grid.row(t, row), out.set(row)), Uint8Array);
}

/** Row-major index of the first leaf that allows each pair, -1 where none may; Python's grid.reasons(b, h). */
export function reasons(spec, T, S, start = S - T) {
  const shifted = (grid, t, row, out) => (grid.reasons(t, row), out.set(row.map((v) => v - 1)));
  return everywhere(spec, T, S, start, shifted, Int8Array);
}

/* ── how far ─────────────────────────────────────────────────────────────────────────────────────────────────────── */

/** Walks down a stack of equal layers: walk(t, layers, out) writes into out[k] the layer at which row t first draws on
    key k: 0 itself, 1 … layers, 255 never. `grids`: the heads of a layer, united; a token's own state passes by.
    `top`: another last layer without its own state, as XLNet's query stream has it: Q·(C ∪ I)^(L-1). */
export function walker(grids, top = null) {
  const { T, S, start, offset } = grids[0];
  const words = (S + 31) >> 5;
  const lower = packer(grids, words);
  const upper = top ? packer(top, words) : lower;
  const seen = new Uint32Array(words);
  const next = new Uint32Array(words);
  return (t, layers, out) => {
    out.fill(255);
    seen.fill(0);
    if (start !== null && !top) {
      out[t + offset] = 0;
      seen[(t + offset) >> 5] |= 1 << ((t + offset) & 31);
    }
    for (let layer = 1, frontier = [t]; layer <= layers && frontier.length; layer++) {
      next.fill(0);
      for (const r of frontier) (layer === 1 ? upper : lower)(r, next);
      frontier = [];
      for (let w = 0; w < words; w++) {
        let fresh = next[w] & ~seen[w];
        seen[w] |= fresh;
        for (; fresh; fresh &= fresh - 1) {
          const k = w * 32 + 31 - Math.clz32(fresh & -fresh);
          out[k] = layer;
          if (start !== null && k >= offset && k < offset + T) frontier.push(k - offset);
        }
      }
    }
    return out;
  };
}

/** add(t, words): joins row t, 32 keys to a word, to `words`; each row is painted once. */
function packer(grids, words) {
  const { T, S } = grids[0];
  const bits = new Uint32Array(T * words);
  const known = new Uint8Array(T);
  const row = new Uint8Array(S);
  return (t, into) => {
    const first = t * words;
    if (!known[t]) {
      row.fill(0);
      for (const grid of grids) grid.row(t, row);
      for (let k = 0; k < S; k++) if (row[k]) bits[first + (k >> 5)] |= 1 << (k & 31);
      known[t] = 1;
    }
    for (let w = 0; w < words; w++) into[w] |= bits[first + w];
  };
}

/** Positions from the query at position i to the key at j, one layer a step, as few as there are; null out of reach.
    `grids`: the heads of a layer, united. */
export function pathOf(grids, i, j) {
  const { T, S, start, offset } = grids[0];
  const row = new Uint8Array(S);
  const paint = (t) => grids.forEach((grid) => grid.row(t, row));
  if (start === null) return (paint(i), row[j] ? [i, j] : null);
  const cameFrom = new Int32Array(S).fill(-1);
  cameFrom[i] = i;
  for (let frontier = [i]; frontier.length && cameFrom[j] < 0;) {
    const reached = [];
    for (const at of frontier) {
      row.fill(0);
      paint(at - offset);
      for (let k = 0; k < S; k++) if (row[k] && cameFrom[k] < 0) ((cameFrom[k] = at), reached.push(k));
    }
    frontier = reached.sort((a, b) => a - b).filter((k) => k >= offset && k < offset + T);
  }
  if (cameFrom[j] < 0) return null;
  const steps = [j];
  while (steps[0] !== i) steps.unshift(cameFrom[steps[0]]);
  return steps;
}
