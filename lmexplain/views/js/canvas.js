/* Drawing a matrix of classes on a canvas, at any length: cells with a mark while they are large, pixels while they are
   small, and shares of cells per pixel where several fall on one. Never a DOM node per cell.

   A source is { T, S, row(t, out), kept, scattered }: row writes the class of each cell of row t into `out`, which
   comes empty; 0 is an empty cell, i + 1 is classes[i] = { colour, mark }. Rows are computed when asked, or read from
   the runs that `tally` kept where they are few: no n × n array is held. */

/* ── runs: equal neighbours of a row ─────────────────────────────────────────────────────────────────────────────── */

const SAME = Array.from({ length: 128 }, (_, c) => new Float64Array(new Uint8Array(8).fill(c).buffer)[0]);

/** A row of S bytes that can also be read two or eight at a time; what fills the last eight stays 0. */
export function rowBuffer(S) {
  const words = new Float64Array(Math.ceil(S / 8));
  const bytes = new Uint8Array(words.buffer);
  const row = bytes.subarray(0, S);
  return { row, bytes, pairs: new Uint16Array(words.buffer), words, runs: new Uint16Array(3 * S + 3) };
}

/** Writes first, end, class of each run of equal non-empty cells into `runs` from n on; returns where they end. */
export function runsOf({ bytes, words, runs: own }, S, runs = own, n = 0) {
  let open = 0; // the class of the run, or gap, that goes on
  let first = 0;
  for (let w = 0; w < words.length; w++) {
    if (words[w] === SAME[open]) continue;
    for (let k = 8 * w, end = k + 8; k < end; k++) {
      const c = bytes[k];
      if (c === open) continue;
      if (open) {
        runs[n++] = first;
        runs[n++] = k;
        runs[n++] = open;
      }
      open = c;
      first = k;
    }
  }
  if (open) {
    runs[n++] = first;
    runs[n++] = S;
    runs[n++] = open;
  }
  return n;
}

const MOST_KEPT = 1 << 21; // numbers of runs that are worth keeping for the drawing (4 MB)

/** Counts the cells: { counts, columns, kept, scattered }. counts[c]: cells of each class, counts[0] all together;
    columns[k]: cells of each column; kept: the runs of all rows, for the drawing; or scattered: the cells lie so far
    apart that they are faster read one by one. */
export function tally({ T, S, row }, classes, buffer) {
  const counts = new Float64Array(classes + 1);
  const columns = new Int32Array(S + 1);
  const starts = new Uint32Array(T + 1);
  let kept = new Uint16Array(12 * T + 3 * S + 3);
  let scattered = null;
  for (let t = 0; t < T; t++) {
    row(t, buffer.row.fill(0));
    if (scattered) {
      scattered.read(buffer.pairs);
      continue;
    }
    const runs = kept ?? buffer.runs;
    const first = kept ? starts[t] : 0;
    const n = runsOf(buffer, S, runs, first);
    for (let i = first; i < n; i += 3) {
      counts[runs[i + 2]] += runs[i + 1] - runs[i];
      columns[runs[i]]++;
      columns[runs[i + 1]]--;
    }
    starts[t + 1] = n;
    if (n > 0.3 * (t + 8) * S) scattered = pairCounter(buffer, classes); // a run, three numbers, for every ten cells or fewer
    if (scattered || n > MOST_KEPT) kept = null;
    else if (kept && n + 3 * S + 3 > kept.length) kept = grown(kept, 2 * n + 3 * S + 3);
  }
  for (let k = 1; k < S; k++) columns[k] += columns[k - 1];
  scattered?.add(counts, columns);
  counts[0] = counts.reduce((sum, count) => sum + count, 0);
  return { counts, columns, kept: kept && { runs: kept, starts }, scattered: Boolean(scattered) };
}

/** Counts scattered cells two at a time and without a branch, which could not be guessed. */
function pairCounter(buffer, classes) {
  buffer.seen ??= new Int32Array(65536); // how often each pair of classes was met: the first in the low byte
  buffer.worth ??= new Int32Array(65536); // of a pair: 1 for a cell of the first class, 65536 for one of the second
  const { seen, worth } = buffer;
  const filled = new Int32Array(buffer.pairs.length); // the sums of that for every two columns
  const all = Array.from({ length: classes + 1 }, (_, c) => c);
  for (const c of all) for (const d of all) worth[c + 256 * d] = (c ? 1 : 0) + (d ? 65536 : 0);
  return {
    read(pairs) {
      for (let i = 0; i < pairs.length; i++) {
        const pair = pairs[i];
        seen[pair]++;
        filled[i] += worth[pair];
      }
    },
    add(counts, columns) {
      for (const c of all.slice(1)) for (const d of all) counts[c] += seen[c + 256 * d] + seen[d + 256 * c];
      for (const c of all) for (const d of all) seen[c + 256 * d] = 0;
      for (let k = 0; k < columns.length - 1; k++) columns[k] += (filled[k >> 1] >> (k & 1 ? 16 : 0)) & 65535;
    },
  };
}

function grown(numbers, length) {
  const out = new Uint16Array(length);
  out.set(numbers);
  return out;
}

/* ── colours and marks ───────────────────────────────────────────────────────────────────────────────────────────── */

/** Marks in a unit square, stroked; the same paths serve the canvas and the exported SVG. */
export const MARKS = {
  plain: "",
  dot: "M.5 .5h.001",
  plus: "M.5 .28V.72M.28 .5H.72",
  cross: "M.32 .32L.68 .68M.68 .32L.32 .68",
  slash: "M.3 .7L.7 .3",
  backslash: "M.3 .3L.7 .7",
  bar: "M.26 .5H.74",
  bars: "M.28 .38H.72M.28 .62H.72",
  pillar: "M.5 .26V.74",
  ring: "M.5 .3A.2 .2 0 1 1 .499 .3",
  frame: "M.3 .3H.7V.7H.3Z",
  square: "M.42 .42H.58V.58H.42Z",
};

export function markWidth(mark) {
  return mark === "dot" ? 0.3 : mark === "square" ? 0.16 : 0.1;
}

function rgb(hex) {
  const v = parseInt(hex.slice(1), 16);
  return [v >> 16, (v >> 8) & 255, v & 255];
}

export function mixed(a, b, share) {
  const [x, y] = [rgb(a), rgb(b)];
  const part = x.map((v, i) => Math.round(v + (y[i] - v) * share));
  return `#${part.map((v) => v.toString(16).padStart(2, "0")).join("")}`;
}

/** Black or white, whichever stands out on this colour. */
export function inkOn(hex) {
  const [r, g, b] = rgb(hex);
  return 0.3 * r + 0.59 * g + 0.11 * b > 140 ? "#14181d" : "#ffffff";
}

function pixel(hex) {
  const [r, g, b] = rgb(hex);
  return (255 << 24) | (b << 16) | (g << 8) | r; // little-endian RGBA
}

export function gapOf(size) {
  return size >= 12 ? Math.max(1, Math.round(size * 0.08)) : size >= 5 ? 1 : 0;
}

/** Draw one cell of this size with its corner at (x, y). */
export function drawCell(ctx, x, y, size, { colour, mark, soft = false }) {
  const gap = gapOf(size);
  const side = size - gap;
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.roundRect(x, y, side, side, size >= 14 ? size * 0.13 : 0);
  ctx.fill();
  if (size < 7 || MARKS[mark] === "") return;
  ctx.save();
  ctx.globalAlpha = soft ? 0.25 : 0.8;
  ctx.strokeStyle = ctx.fillStyle = inkOn(colour);
  ctx.translate(x, y);
  if (MARKS[mark]) {
    ctx.scale(side, side);
    ctx.lineWidth = Math.max(markWidth(mark), 1 / side);
    ctx.lineCap = "round";
    ctx.stroke(new Path2D(MARKS[mark]));
  } else if (size >= 12) {
    // a figure: the number of a layer
    ctx.font = `${0.62 * side}px sans-serif`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillText(mark, side / 2, side * 0.54);
  }
  ctx.restore();
}

/* ── the matrix ──────────────────────────────────────────────────────────────────────────────────────────────────── */

/** Draws sources into rectangles of device pixels, and keeps its buffers from one picture to the next. */
export function makePainter() {
  const tiles = new Map();
  const one = document.createElement("canvas");
  let image = null;
  let cells = null;
  let buffer = rowBuffer(1);
  let numbers = new Int32Array(0);
  let levels = {};
  let list = buffer.runs; // the runs of the row read last: list[from] … list[to - 1]
  let from = 0;
  let to = 0;

  function read({ S, row, kept }, t) {
    if (kept) {
      list = kept.runs;
      from = kept.starts[t];
      to = kept.starts[t + 1];
    } else {
      row(t, buffer.row.fill(0));
      list = buffer.runs;
      from = 0;
      to = runsOf(buffer, S);
    }
  }

  function tileOf(ctx, size, kind) {
    const key = `${size} ${kind.colour} ${kind.mark} ${kind.soft}`;
    if (!tiles.has(key)) {
      if (tiles.size > 200) tiles.clear();
      one.width = one.height = size;
      drawCell(one.getContext("2d"), 0, 0, size, kind);
      tiles.set(key, ctx.createPattern(one, "repeat"));
    }
    return tiles.get(key);
  }

  /** Large cells: a run is one rectangle filled with the tile of its class. */
  function drawTiles(ctx, source, classes, empty, box, view) {
    const { s, col, row } = view;
    const x0 = box.x - Math.round(col * s);
    const y0 = box.y - Math.round(row * s);
    const shift = new DOMMatrix([1, 0, 0, 1, x0, y0]);
    const filled = (kind, x, y, w, h) => {
      const tile = tileOf(ctx, s, kind);
      tile.setTransform(shift);
      ctx.fillStyle = tile;
      ctx.fillRect(x, y, w, h);
    };
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.x, box.y, box.w, box.h);
    ctx.clip();
    filled(empty, box.x, box.y, box.w, box.h);
    for (let t = Math.floor(row); t < Math.min(source.T, row + box.h / s); t++) {
      read(source, t);
      for (let i = from, r = list; i < to; i += 3) {
        filled(classes[r[i + 2] - 1], x0 + r[i] * s, y0 + t * s, (r[i + 1] - r[i]) * s, s);
      }
    }
    ctx.restore();
  }

  /** Small cells: a row is painted once and copied to the pixel rows it covers. */
  function drawPixels(source, classes, empty, box, view) {
    const { s, col, row } = view;
    const { w, h } = box;
    const colours = [empty, ...classes].map((kind) => pixel(kind.colour));
    const x = (k) => Math.min(w, Math.max(0, Math.round((k - col) * s)));
    for (let y = 0; y < h;) {
      const t = Math.min(source.T - 1, Math.floor(row + (y + 0.5) / s));
      const first = y * w;
      read(source, t);
      cells.fill(colours[0], first, first + w);
      for (let i = from, r = list; i < to; i += 3) {
        cells.fill(colours[r[i + 2]], first + x(r[i]), first + x(r[i + 1]));
      }
      for (y++; y < h && Math.min(source.T - 1, Math.floor(row + (y + 0.5) / s)) === t; y++) {
        cells.copyWithin(y * w, first, first + w);
      }
    }
  }

  /** Where the pixels of a row begin among its keys: edge[p] is the first key of pixel p, place[k] the pixel of key k. */
  function pixelsOf({ S }, { w }, { s, col }) {
    const edge = new Int32Array(w + 1);
    const place = new Uint16Array(S);
    for (let p = 0; p <= w; p++) edge[p] = Math.min(S, Math.round(col + p / s));
    for (let p = 0; p < w; p++) place.fill(p, edge[p], edge[p + 1]);
    return { edge, place };
  }

  /** As many bits as count the cells of a pixel. */
  function bitsOfCount({ s }) {
    return 32 - Math.clz32(Math.ceil(1 / s) ** 2);
  }

  /** The rows of the grid that fall on pixel row y: first, and the one after the last. */
  function rowsAt(y, { T }, { s, row }) {
    const first = Math.min(T - 1, Math.round(row + y / s));
    return [first, Math.max(first + 1, Math.min(T, Math.round(row + (y + 1) / s)))];
  }

  /** More than one cell to a pixel: the share of allowed cells, in the colour of the most frequent class.
      A run adds to its two end pixels, and notes where the whole pixels between them begin and end. A pixel row then
      changes its colour only at noted pixels: it costs what it holds, not what it spans. */
  function drawShares(source, classes, empty, box, view) {
    const { w, h } = box;
    const C = classes.length;
    const W = w + 2;
    const { edge, place } = pixelsOf(source, box, view);
    const [lo, hi] = [edge[0], edge[w]];
    if (numbers.length < 2 * C * W) numbers = new Int32Array(2 * C * W);
    const part = numbers.subarray(0, C * W); // for each pixel and class: cells that a run covers in part,
    const turn = numbers.subarray(C * W, 2 * C * W); // and +1 where whole pixels begin, -1 where they end
    const whole = new Int32Array(C); // how many rows cover the whole pixel
    const noted = new Int32Array((W + 31) >> 5); // pixels where something changes, 32 to a word
    const colours = levelsOf(classes, empty);
    const nothing = pixel(empty.colour);
    const out = cells;
    let step = 0;
    const shade = (p) => {
      // the colour of pixel p, once what changes there is counted in
      const width = edge[p + 1] - edge[p];
      let sum = 0;
      let best = 0;
      let most = 0;
      for (let c = 0, i = p * C; c < C; c++, i++) {
        whole[c] += turn[i];
        const n = whole[c] * width + part[i];
        turn[i] = part[i] = 0;
        sum += n;
        if (n > most) {
          most = n;
          best = c;
        }
      }
      return sum > 0 ? colours[best * 33 + (((step * sum) / width) | 0)] : nothing;
    };
    for (let y = 0; y < h; y++) {
      const [first, end] = rowsAt(y, source, view);
      const at = y * w;
      step = 32.5 / (end - first);
      for (let t = first; t < end; t++) {
        read(source, t);
        for (let i = from, n = to, r = list; i < n; i += 3) {
          const a = r[i] < lo ? lo : r[i];
          const b = r[i + 1] > hi ? hi : r[i + 1];
          if (a >= b) continue;
          const p = place[a];
          const q = place[b - 1];
          const own = r[i + 2] - 1;
          noted[p >> 5] |= 1 << p;
          noted[(p + 1) >> 5] |= 1 << (p + 1);
          if (p === q) {
            part[p * C + own] += b - a;
            continue;
          }
          noted[q >> 5] |= 1 << q;
          noted[(q + 1) >> 5] |= 1 << (q + 1);
          part[p * C + own] += edge[p + 1] - a;
          part[q * C + own] += b - edge[q];
          turn[(p + 1) * C + own] += 1;
          turn[q * C + own] -= 1;
        }
      }
      let colour = nothing;
      let drawn = 0;
      for (let word = 0; word < noted.length; word++) {
        for (let bits = noted[word]; bits; bits &= bits - 1) {
          const p = 32 * word + 31 - Math.clz32(bits & -bits);
          if (p - drawn === 1) out[at + drawn] = colour;
          else if (p > drawn) out.fill(colour, at + drawn, at + p);
          drawn = p;
          if (p < w) colour = shade(p);
        }
        noted[word] = 0;
      }
      if (drawn < w) out.fill(colour, at + drawn, at + w);
      whole.fill(0);
    }
  }

  /** The same where the cells lie scattered: every cell is counted for its pixel, the empty ones too, which saves the
      branch that could not be guessed. The counts of a pixel stand in one number, `bits` for each class; the same
      number has the same colour, which is kept where there are few. */
  function drawScattered(source, classes, empty, box, view) {
    const { w, h } = box;
    const { edge, place } = pixelsOf(source, box, view);
    const [lo, hi] = [edge[0], edge[w]];
    const K = classes.length + 1;
    const bits = bitsOfCount(view);
    const worth = Int32Array.from({ length: K }, (_, c) => 1 << (bits * c));
    const known = new Int32Array(bits * K <= 16 ? 1 << (bits * K) : 0);
    const counts = new Int32Array(w);
    const colours = levelsOf(classes, empty);
    const nothing = pixel(empty.colour);
    const out = cells;
    const row = buffer.row;
    const shade = (count) => {
      let [best, most, sum] = [0, 0, 0];
      for (let c = 1; c < K; c++) {
        const n = (count >> (bits * c)) & ((1 << bits) - 1);
        sum += n;
        if (n > most) [best, most] = [c, n];
      }
      const all = sum + (count & ((1 << bits) - 1));
      return (known[count] = best ? colours[(best - 1) * 33 + (((32.5 * sum) / all) | 0)] : nothing);
    };
    for (let y = 0; y < h; y++) {
      const [first, end] = rowsAt(y, source, view);
      for (let t = first; t < end; t++) {
        source.row(t, row.fill(0));
        for (let k = lo; k < hi; k++) counts[place[k]] += worth[row[k]];
      }
      for (let p = 0, at = y * w; p < w; p++, at++) {
        out[at] = known[counts[p]] || shade(counts[p]);
        counts[p] = 0;
      }
    }
  }

  /** 33 steps from faint to full for each class, one after the other. */
  function levelsOf(classes, empty) {
    const key = [empty, ...classes].map((kind) => kind.colour).join();
    if (levels.key !== key) {
      levels = {
        key,
        colours: Int32Array.from({ length: 33 * classes.length }, (_, i) =>
          pixel(mixed(empty.colour, classes[Math.floor(i / 33)].colour, 0.4 + (0.6 * (i % 33)) / 32)),
        ),
      };
    }
    return levels.colours;
  }

  return {
    /** box {x, y, w, h} in device pixels; view {s, col, row}: pixels per cell, and the cell at the box's corner. */
    draw(ctx, source, classes, empty, box, view) {
      if (buffer.row.length !== source.S) buffer = rowBuffer(source.S);
      if (view.s >= 5) return drawTiles(ctx, source, classes, empty, box, view);
      if (image?.width !== box.w || image?.height !== box.h) {
        image = ctx.createImageData(box.w, box.h);
        cells = new Int32Array(image.data.buffer); // signed: a pixel then fits the engine's small integers
      }
      const packs = bitsOfCount(view) * (classes.length + 1) < 31;
      const paint = view.s >= 1 ? drawPixels : source.scattered && packs ? drawScattered : drawShares;
      paint(source, classes, empty, box, view);
      ctx.putImageData(image, box.x, box.y);
    },
  };
}

/* ── one plot: matrix, labels, strips, and what lies over them ───────────────────────────────────────────────────── */

const LEAST_LABEL = 9; // smallest cell, in CSS pixels, whose token is written beside it
const LEAST_TYPE = 11; // smallest type, in CSS pixels: where rows are narrower, every second label is written
const LARGEST_CELL = 64;

/** How much of a row that is not yet shown the paper hides. */
export const WASH = 0.82;

/** The number of a cell on a path. */
export function drawStop(ctx, { x, y, radius, size, text }, theme) {
  ctx.fillStyle = theme.ink;
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 7);
  ctx.fill();
  ctx.fillStyle = theme.paper;
  ctx.font = theme.font(size);
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(text, x, y);
}

/** A matrix with labels. `on(kind, place, event)` hears hover, press, drag, lift, leave, wheel, key. */
export function makePlot(on) {
  const node = document.createElement("div");
  const base = document.createElement("canvas");
  const over = document.createElement("canvas");
  node.className = "lm-plot";
  base.setAttribute("aria-hidden", "true");
  over.tabIndex = 0;
  over.setAttribute("role", "application");
  over.setAttribute("data-lm-suppress-shortcuts", "true");
  node.append(base, over);
  const ctx = base.getContext("2d");
  const top = over.getContext("2d");
  const painter = makePainter();
  let layout = null;
  let shown = null;
  let space = [0, 0];
  const measured = [];
  const furniture = [];
  const laidOver = [];
  let written = []; // the labels as they were drawn
  let path = []; // the cells numbered over the matrix
  const widest = new WeakMap();

  /** The widest label, measured once for the same text and theme. */
  function longestOf(text, n, theme) {
    if (widest.get(text)?.theme !== theme) {
      const width = Math.max(...Array.from({ length: n }, (_, i) => ctx.measureText(text(i)).width));
      widest.set(text, { theme, width });
    }
    return widest.get(text).width;
  }

  /** Whether these are the very values that `old` holds; they take their place there. */
  function unchanged(old, now) {
    const same = old.length === now.length && now.every((value, i) => value === old[i]);
    if (!same) old.splice(0, old.length, ...now);
    return same;
  }

  /** Cells and margins for the space there is; picture: {source, classes, strips, rowText, colText, theme, view}. */
  function measure(picture, width, height, dpr) {
    const {
      source: { T, S },
      theme,
      view,
      rowText,
      colText,
    } = picture;
    const count = picture.strips?.length ?? 0;
    const font = 13 * theme.scale; // the largest that labels take
    const strip = count ? Math.round(14 * theme.scale) : 0;
    const below = count * strip + (count ? 10 : 0);
    ctx.font = theme.font(font);
    const longest = (text, n) => longestOf(text, Math.min(n, 400), theme);
    const fit = (beside, over) => {
      const [left, above] = [Math.ceil(beside), Math.ceil(over)];
      const [w, h] = [Math.max(40, width - left - 2) * dpr, Math.max(40, height - above - below) * dpr];
      const wide = Math.min(w / S, h / T, LARGEST_CELL * dpr * theme.scale);
      const s = wide * view.zoom;
      return { left, above, w, h, s: s >= 5 ? Math.floor(s) : s };
    };
    const digits = ctx.measureText(String(Math.max(S, T))).width + 12;
    const beside = Math.max(digits, ...(picture.strips ?? []).map(({ label }) => ctx.measureText(label).width + 10));
    const texts = rowText && longest(rowText, T);
    const written = fit(
      Math.max(beside, Math.min(100 * theme.scale, texts ?? 0) + 12),
      Math.min(84 * theme.scale, (colText && longest(colText, S)) || 20) + 12,
    );
    const text = Boolean(rowText || colText) && written.s / dpr >= LEAST_LABEL * theme.scale;
    const numbered = fit(Math.max(beside, rowText ? 56 * theme.scale : 0), 24 * theme.scale);
    const { left, above, w, h, s } = text ? written : numbered;
    const box = {
      w: Math.round(Math.min(w, S * s)),
      h: Math.round(Math.min(h, T * s)),
      x: Math.round(left * dpr),
      y: Math.round(above * dpr),
    };
    const corner = (at, n, size) => Math.round(Math.max(0, Math.min(at * n - size / s / 2, n - size / s)) * s) / s;
    const [col, row] = [corner(view.x, S, box.w), corner(view.y, T, box.h)];
    return {
      dpr,
      left,
      above,
      text,
      box,
      s,
      col,
      row,
      strip,
      width: left + box.w / dpr + 2,
      height: above + box.h / dpr + below + 2,
    };
  }

  function resize(canvas) {
    const w = Math.ceil(layout.width * layout.dpr);
    const h = Math.ceil(layout.height * layout.dpr);
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.width = `${layout.width}px`;
      canvas.style.height = `${layout.height}px`;
      node.style.width = canvas.style.width;
      node.style.height = canvas.style.height;
    }
  }

  function draw(picture, width, height, dpr = Math.min(2, globalThis.devicePixelRatio || 1)) {
    shown = picture;
    space = [width, height];
    const { source, classes, theme, view, rowText, colText, offset, strips: below = [] } = picture;
    const given = [
      width,
      height,
      dpr,
      source.T,
      source.S,
      theme,
      view.zoom,
      view.x,
      view.y,
      rowText,
      colText,
      below.length,
    ];
    if (!unchanged(measured, given)) layout = measure(picture, width, height, dpr);
    const { box } = layout;
    resize(base);
    resize(over);
    const where = JSON.stringify({
      left: layout.left,
      top: layout.above,
      cell: layout.s / dpr,
      column: layout.col,
      row: layout.row,
    });
    if (node.dataset.cells !== where) {
      // where the cells are, for whoever drives the page
      node.dataset.cells = where;
    }
    const bare = !unchanged(furniture, [layout, theme, rowText, colText, offset, where]) || below.length > 0;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    if (bare) ctx.clearRect(0, 0, base.width, base.height);
    else ctx.clearRect(box.x, box.y, box.w, box.h);
    painter.draw(ctx, source, classes, theme.empty, box, layout);
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    if (picture.washed) drawWash(picture);
    if (bare) drawLabels(picture);
    for (const { x, y, width: w, height: h, fill } of strips()) {
      ctx.fillStyle = fill;
      ctx.fillRect(x, y, w, h);
    }
  }

  const xOf = (k) => layout.left + ((k - layout.col) * layout.s) / layout.dpr;
  const yOf = (t) => layout.above + ((t - layout.row) * layout.s) / layout.dpr;
  const side = () => layout.s / layout.dpr;
  const right = () => layout.left + layout.box.w / layout.dpr;
  const bottom = () => layout.above + layout.box.h / layout.dpr;

  /** Rows not yet shown lie under a wash of paper. */
  function drawWash({ source: { T }, washed, theme }) {
    ctx.fillStyle = theme.paper;
    ctx.globalAlpha = WASH;
    for (let t = 0; t < T; t++) {
      if (!washed(t)) continue;
      const first = t;
      while (t + 1 < T && washed(t + 1)) t++;
      const [y0, y1] = [Math.max(layout.above, yOf(first)), Math.min(bottom(), yOf(t + 1))];
      if (y1 > y0) ctx.fillRect(layout.left, y0, right() - layout.left, y1 - y0);
    }
    ctx.globalAlpha = 1;
  }

  function clipped(text, width, pen = ctx) {
    if (pen.measureText(text).width <= width) return text;
    let n = text.length;
    while (n > 1 && pen.measureText(`${text.slice(0, n)}…`).width > width) n--;
    return `${text.slice(0, n)}…`;
  }

  /** Every token beside its row and over its column where cells are large enough; round numbers otherwise. */
  function labels() {
    const {
      source: { T, S },
      rowText,
      colText,
      theme,
      offset = 0,
    } = shown;
    const out = [];
    const size = layout.text
      ? Math.min(13 * theme.scale, Math.max(LEAST_TYPE * theme.scale, side() * 0.8))
      : LEAST_TYPE * theme.scale;
    const room = (layout.text ? 0.9 * size : 24 * theme.scale) / side();
    const step = 2 ** Math.max(0, Math.ceil(Math.log2(room)));
    ctx.font = theme.font(size);
    const seen = (i) => xOf(i) + side() > layout.left && xOf(i) < right();
    const turned =
      layout.text &&
      colText &&
      Array.from({ length: S }, (_, i) => seen(i) && ctx.measureText(colText(i)).width > side()).some(Boolean);
    for (const [n, at, text] of [
      [T, yOf, rowText],
      [S, xOf, colText],
    ]) {
      const across = at === xOf;
      const [from, to] = across ? [layout.left, right()] : [layout.above, bottom()];
      for (let i = 0; i < n; i += step) {
        const place = at(i) + side() / 2;
        if (place < from || place > to) continue;
        const words = layout.text && text ? text(i) : String(across ? i : i + offset);
        if (!across)
          out.push({ text: clipped(words, layout.left - 10), x: layout.left - 7, y: place, size, align: "right" });
        else if (turned)
          out.push({
            text: clipped(words, layout.above - 10),
            x: place,
            y: layout.above - 6,
            size,
            align: "left",
            turned: true,
          });
        else out.push({ text: words, x: place, y: layout.above - 10 * theme.scale, size, align: "center" });
      }
    }
    shown.strips?.forEach(({ label }, i) =>
      out.push({
        text: label,
        x: layout.left - 7,
        y: bottom() + 10 + i * layout.strip + (layout.strip - 3) / 2,
        size: 11 * theme.scale,
        align: "right",
      }),
    );
    return out;
  }

  function drawLabels({ theme }) {
    ctx.fillStyle = theme.muted;
    ctx.textBaseline = "middle";
    written = labels().map((label) => ({ ...label, box: boxOf(label, theme) }));
    for (const { text, x, y, size, align, turned } of written) {
      ctx.save();
      ctx.font = theme.font(size);
      ctx.textAlign = align;
      ctx.translate(x, y);
      if (turned) ctx.rotate(-Math.PI / 2);
      ctx.fillText(text, 0, 0);
      ctx.restore();
    }
  }

  /** The room a label takes: left, top, right, bottom. */
  function boxOf({ text, x, y, size, align, turned }, theme) {
    ctx.font = theme.font(size);
    const w = ctx.measureText(text).width;
    if (turned) return [x - size / 2, y - w, x + size / 2, y];
    const from = x - { left: 0, center: 0.5, right: 1 }[align] * w;
    return [from, y - size / 2, from + w, y + size / 2];
  }

  /** The strips under the matrix, one per layer, as rectangles. */
  function strips() {
    const {
      source: { S },
      theme,
    } = shown;
    const height = layout.strip - 3;
    const width = right() - layout.left;
    const out = [];
    shown.strips?.forEach(({ row, colour }, i) => {
      const y = bottom() + 10 + i * layout.strip;
      out.push({ x: layout.left, y, width, height, fill: theme.empty.colour });
      for (let k = 0; k < S; k++) {
        if (!row[k]) continue;
        const first = k;
        while (k + 1 < S && row[k + 1]) k++;
        const [x0, x1] = [Math.max(layout.left, xOf(first)), Math.min(right(), xOf(k + 1) - (side() >= 5 ? 1 : 0))];
        if (x1 > x0 - 1) out.push({ x: x0, y, width: Math.max(1, x1 - x0), height, fill: colour });
      }
    });
    return out;
  }

  /** What changes with the cursor: the row and column it stands in, a path of cells, the labels in full. */
  function drawOver({ cursor, cells = [] }) {
    if (!layout) return;
    const { theme, rowText, colText, offset = 0 } = shown;
    path = cells;
    if (unchanged(laidOver, [layout, theme, rowText, colText, offset, cursor.t, cursor.k, cells.join()])) return;
    const unit = Math.max(side(), 1.5);
    top.setTransform(layout.dpr, 0, 0, layout.dpr, 0, 0);
    top.clearRect(0, 0, layout.width, layout.height);
    top.save();
    top.beginPath();
    top.rect(layout.left - 3, layout.above - 3, right() - layout.left + 6, bottom() - layout.above + 6);
    top.clip();
    top.strokeStyle = top.fillStyle = theme.ink;
    const [x, y] = [xOf(cursor.k), yOf(cursor.t)];
    top.globalAlpha = unit < 4 ? 0.35 : 0.1;
    top.fillRect(layout.left, y, right() - layout.left, unit);
    top.fillRect(x, layout.above, unit, bottom() - layout.above);
    top.globalAlpha = unit < 4 ? 0 : 0.55;
    top.lineWidth = 1;
    top.strokeRect(layout.left - 0.5, y - 0.5, right() - layout.left + 1, unit);
    top.strokeRect(x - 0.5, layout.above - 0.5, unit, bottom() - layout.above + 1);
    top.globalAlpha = 1;
    top.lineWidth = 2;
    const grown = Math.max(0, 5 - unit) / 2;
    top.strokeRect(x - 1 - grown, y - 1 - grown, unit + 1 + 2 * grown, unit + 1 + 2 * grown);
    for (const stop of stops()) drawStop(top, stop, theme);
    top.restore();
    const words = [rowText?.(cursor.t) ?? String(cursor.t + offset), colText?.(cursor.k) ?? String(cursor.k)];
    const middle = side() / 2;
    pill(words[0], { x: layout.left - 5, y: y + middle, room: layout.left - 5, align: "right" });
    if (written.some(({ turned }) => turned))
      pill(words[1], { x: x + middle, y: layout.above - 4, room: layout.above - 4, turned: true });
    else
      pill(words[1], { x: x + middle, y: layout.above - 12 * theme.scale, room: layout.width - layout.left });
  }

  /** A label of the cursor, on ink, in the margin; the labels that it would cover in part are covered whole. */
  function pill(text, { x, y, room, align, turned }) {
    const { theme } = shown;
    const size = 12 * theme.scale;
    const half = size * 0.75;
    top.font = theme.font(size);
    const words = clipped(text, room - 10, top);
    const length = top.measureText(words).width + 10;
    const from = Math.max(layout.left - 4, Math.min(x - length / 2, layout.width - length)); // beside the row's label
    const box = turned
      ? [x - half, y - length, x + half, y]
      : align === "right"
        ? [x - length, y - half, x, y + half]
        : [from, y - half, from + length, y + half];
    top.fillStyle = theme.paper;
    for (const { box: b } of written)
      if (b[0] < box[2] && b[2] > box[0] && b[1] < box[3] && b[3] > box[1])
        top.fillRect(b[0], b[1], b[2] - b[0], b[3] - b[1]);
    top.fillStyle = theme.ink;
    top.beginPath();
    top.roundRect(box[0], box[1], box[2] - box[0], box[3] - box[1], 4);
    top.fill();
    top.save();
    top.translate(...(turned ? [x + 0.5, y - 5] : [box[0] + 5, y + 0.5]));
    if (turned) top.rotate(-Math.PI / 2);
    top.fillStyle = theme.paper;
    top.textAlign = "left";
    top.textBaseline = "middle";
    top.fillText(words, 0, 0);
    top.restore();
  }

  /** Where the numbers of the path stand, as far as they are in sight. */
  function stops(cells = path) {
    const radius = Math.max(side() * 0.62, 8 * shown.theme.scale);
    const size = Math.min(14, radius * 1.25);
    return cells
      .map(([t, k], i) => ({ x: xOf(k) + side() / 2, y: yOf(t) + side() / 2, radius, size, text: String(i + 1) }))
      .filter(({ x, y }) => x >= layout.left && x <= right() && y >= layout.above && y <= bottom());
  }

  function placeOf(event) {
    if (!layout) return null;
    const frame = over.getBoundingClientRect();
    const [x, y] = [
      (event.clientX - frame.left) * (layout.width / frame.width),
      (event.clientY - frame.top) * (layout.height / frame.height),
    ];
    const inside = (v, n) => Math.max(0, Math.min(n - 1, Math.floor(v)));
    const { T, S } = shown.source;
    const zone =
      y < layout.above
        ? x < layout.left
          ? null
          : "column"
        : x < layout.left
          ? "row"
          : y > bottom() || x > right()
            ? null
            : "cell";
    return {
      zone,
      t: inside((y - layout.above) / side() + layout.row, T),
      k: inside((x - layout.left) / side() + layout.col, S),
    };
  }

  const listeners = {
    pointermove: (e) => on(e.buttons ? "drag" : "hover", placeOf(e), e),
    pointerleave: (e) => on("leave", null, e),
    pointerdown: (e) => on("press", placeOf(e), e),
    pointerup: (e) => on("lift", placeOf(e), e),
    pointercancel: (e) => on("lift", null, e),
    wheel: (e) => on("wheel", placeOf(e), e),
    keydown: (e) => on("key", null, e),
    dblclick: (e) => on("double", placeOf(e), e),
  };
  for (const [name, listen] of Object.entries(listeners)) over.addEventListener(name, listen, { passive: false });

  return {
    node,
    base,
    over,
    draw,
    drawOver,
    labels,
    strips,
    stops,
    get path() {
      return path;
    },
    get layout() {
      return layout;
    },
    get picture() {
      return shown;
    },
    get space() {
      return space;
    },
  };
}
