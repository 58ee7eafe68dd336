/* The pattern explorer: a picture of who may attend to whom that the reader can push.

   render({ model, el }) draws it into el and returns a function that takes it away again (the entry of an anywidget).
   The model is get(key), set(key, value), save_changes(), on("change:state", f), off("change:state", f). Its one value:

   state = {
     version: 1,
     spec, compare: spec | null,          the pattern and the one it is compared with (pattern.spec)
     tokens: [text, …] | null,            one for each key, or null: positions alone
     queries, keys, start,                T, S, the place of the first query (null: cross-attention); left out: S, S - T
     batch, head,                         the sample and head shown, where the pattern tells them apart
     mode: "look" | "reach" | "path" | "compare" | "film" | "paint" | "predict",
     layers, at: [t, k], path: [i, j], step, speed, check: bool, size: percent, paint: base64 bits | null,
     lang: "en" | "zh", theme: "auto" | "light" | "dark",
     link: bool,                          the page is its own: the address carries the state, keys work anywhere
     words: {en: {"explorer.…": text}, zh: …}, palette: palette.json,
     presets: [{name_en, name_zh, expression}],
     font: family that has the page's Chinese glyphs | null, width: D of a head, for the FLOPs (64)
   }
   All but version and spec may be left out. The state goes back to the model when the reader changes it. */

import { closersOf, evaluate, refuse } from "./patterns.js";
import { LIMITS, bitText, checkedSpec, fitted, isRefusal, parse } from "./language.js";
import { mixed, rowBuffer, tally } from "./canvas.js";
import { h } from "./controls.js";
import { kindsOf, nameOf, themeOf } from "./look.js";
import { MODES } from "./modes.js";
import { around, laid, linkOf, paintedFrom, readLink } from "./share.js";
import { heard, presenterKey } from "./hands.js";
import { makePage } from "./page.js";
import { STYLE } from "./style.js";

const DEFAULTS = {
  compare: null,
  tokens: null,
  batch: 0,
  head: 0,
  mode: "look",
  layers: 2,
  at: [0, 0],
  path: null,
  step: 0,
  speed: 3,
  check: false,
  size: 100,
  paint: null,
  lang: "en",
  theme: "auto",
  link: false,
  words: {},
  presets: [],
  font: null,
  width: 64,
};

/** Letters and signs that turn the line from right to left. */
const TURNS = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff]/;
const [OVER, PICTURE] = [1, 2]; // how much of the page a change makes stale

export function render({ model, el }) {
  const host = h("div.lmexplain-explorer", { "data-lm-suppress-shortcuts": "true" });
  const shadow = host.attachShadow({ mode: "open" });
  const root = h("div.lm-root", { tabindex: -1, "data-lm-suppress-shortcuts": "true" });
  shadow.append(h("style", {}, STYLE), root);
  el.append(host);
  return makeApp(model, host, root);
}

function makeApp(model, host, root) {
  const first = { ...DEFAULTS, ...model.get("state") };
  const caches = new Map();
  const leftovers = [];
  const frames = { count: 0, ms: 0 }; // pictures drawn so far, and how long the last one took
  let state = first;
  let stale = 0;
  let asked = 0;
  let saving = 0;
  let sent = null;
  let ready = false;
  let whole = null; // the painting at the greatest lengths so far: what a shorter text leaves out comes back
  let prefersDark = false;
  let printing = false;
  host.lmFrames = frames;

  const app = {
    say,
    num,
    pct,
    unit,
    styled,
    cached,
    computed,
    buffer,
    counted,
    picture,
    tokenAt,
    painted,
    set,
    point,
    redraw,
    write,
    resize,
    preset,
    keepPaint,
    remember,
    undo,
    usePaint,
    playing,
    enter,
    zoom,
    fullScreen,
    host,
    root,
    first,
    cursor: { t: 0, k: 0 },
    view: { zoom: 1, x: 0.5, y: 0.5 },
    errors: {},
    theme: null,
    A: null,
    B: null,
    pointed: null,
    grip: null,
    timer: 0,
    pace: 0,
    stroke: null,
    halfway: false,
    get state() {
      return state;
    },
    get offset() {
      return state.start ?? 0;
    },
    /** The two ends of the path: by default the last query and the first key. */
    path: () => {
      const last = app.offset + state.queries - 1;
      const [i, j] = state.path ?? [last, 0];
      return [Math.max(app.offset, Math.min(last, i)), Math.max(0, Math.min(state.keys - 1, j))];
    },
    pair: (t, k) => ({ query: tokenAt(t + app.offset), key: tokenAt(k) }),
  };

  /* ── words and numbers ────────────────────────────────────────────────────────────────────────────────────────── */

  /** The interface word `key` in the reader's language, its {placeholders} filled. */
  function say(key, values = {}) {
    return (wordOf(key) ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  }

  function wordOf(key) {
    const words = state.words[state.lang] ?? {};
    const whole = `explorer.${key}`;
    return Object.hasOwn(words, whole) ? words[whole] : undefined;
  }
  say.has = (key) => wordOf(key) !== undefined;

  function styled(name, options) {
    return cached(
      `number ${name}`,
      [state.lang],
      () => new Intl.NumberFormat(state.lang === "zh" ? "zh-CN" : "en-US", options),
    );
  }

  function num(v) {
    return styled("whole", {}).format(v);
  }

  function pct(v) {
    return styled(v < 0.1 ? "fine" : "share", { style: "percent", maximumFractionDigits: v < 0.1 ? 2 : 1 }).format(v);
  }

  /** Three figures and the prefix of their size: 1,048,576 is 1.05 M. */
  function unit(v, name = "") {
    const step = v < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(v) / 3));
    const figures = styled("short", { maximumSignificantDigits: 3 }).format(v / 1000 ** step);
    return `${figures} ${["", "k", "M", "G", "T"][step]}${name}`.trim();
  }

  /* ── what is computed from the state ──────────────────────────────────────────────────────────────────────────── */

  /** One value per key, made again when what it rests on is another. */
  function cached(key, rests, make) {
    const old = caches.get(key);
    if (old && old.rests.length === rests.length && old.rests.every((value, i) => value === rests[i])) return old.value;
    const value = make();
    caches.set(key, { rests, value });
    return value;
  }

  function buffer(S) {
    return cached("buffer", [S], () => rowBuffer(S));
  }

  /** A pattern at the state's lengths: its colours, and how many cells each part allows first. */
  function computed(spec) {
    const { queries: T, keys: S, start, batch, head } = state;
    const grid = evaluate(spec, T, S, start, batch, head);
    const source = { T, S, row: grid.reasons };
    const sums = tally(source, grid.leaves.length, buffer(S));
    Object.assign(source, { kept: sums.kept, scattered: sums.scattered });
    const closers = closersOf(spec, grid.h);
    return { grid, source, closers, classes: kindsOf(grid.leaves, state.palette, app.theme), ...sums };
  }

  /** How many pairs leaf i is the first to allow, in words. */
  function counted(P, i) {
    return P.closers[i] ? say("closes") : num(P.counts[i + 1]);
  }

  /** The pattern under `key` as app[name]. One that does not fit these lengths leaves the last picture, and words. */
  function compute(key, name) {
    const { [key]: spec, queries, keys, start, batch, head } = state;
    if (!spec) return void (app[name] = null);
    try {
      app[name] = cached(name, [spec, queries, keys, start, batch, head, app.theme], () => computed(spec));
      if (!app.errors[key]?.typed) delete app.errors[key];
    } catch (problem) {
      failed(key, problem);
      const { T, S } = app[name]?.grid ?? {};
      if (T !== queries || S !== keys) app[name] = computed({ op: "full" });
    }
  }

  /** Keep what went wrong as a word, so that the sentence follows the language. `typed`: its field is being written. */
  function failed(key, problem, typed = false) {
    if (!isRefusal(problem)) throw problem;
    app.errors[key] = { word: problem.word, values: problem.values, typed };
  }

  /** What every plot of a pattern has in common. */
  function picture(P) {
    const { tokens, start } = state;
    const [colText, rowText] = cached("labels", [tokens, start], () => {
      const named = (k) => tokens[k] ?? String(k);
      return tokens ? [named, start === null ? null : (t) => named(t + start)] : [null, null];
    });
    const faint = ({ colour, mark }) => ({ colour: mixed(app.theme.empty.colour, colour, 0.3), mark, soft: true });
    const isPointed = (i) => !app.pointed || (P === app[app.pointed.name] && i === app.pointed.leaf);
    const classes = P.classes.map((kind, i) => (isPointed(i) ? kind : faint(kind)));
    const legend = () =>
      P.grid.leaves.map((leaf, i) => ({ kind: P.classes[i], text: `${nameOf(leaf, say)} · ${counted(P, i)}` }));
    return {
      source: P.source,
      classes,
      legend,
      theme: app.theme,
      view: app.view,
      offset: app.offset,
      colText,
      rowText,
    };
  }

  function tokenAt(place, short = false) {
    const token = state.tokens?.[place];
    if (token === undefined) return String(place);
    return short ? token : say("token", { token: TURNS.test(token) ? `\u2068${token}\u2069` : token, place });
  }

  function painted() {
    const [T, S, start] = [state.queries, state.keys, app.offset];
    return cached("painted", [T, S, start], () =>
      whole ? laid(whole, { T, S, start }).cells : paintedFrom(state.paint, T * S),
    );
  }

  /** Before a stroke: what undo brings back, as many strokes as fit into 16 MB. */
  function remember() {
    const before = strokes();
    before.push(painted().slice());
    while (before.length > 1 && before.length * before[0].length > 1 << 24) before.shift();
  }

  function strokes() {
    return cached("strokes", [painted()], () => []);
  }

  function undo() {
    const before = strokes().pop();
    if (!before) return;
    painted().set(before);
    keepPaint();
  }

  /** Light or dark: as chosen, else as JupyterLab's theme, else as the reader's system. */
  function themed() {
    const jupyter = document.body?.dataset.jpThemeLight;
    const chosen = state.theme === "auto" ? (jupyter ? jupyter === "false" : prefersDark) : state.theme === "dark";
    const dark = chosen && !printing; // paper is white
    app.theme = cached("theme", [state.palette, dark, state.size, state.font], () =>
      themeOf(state.palette, dark, state.size / 100, state.font),
    );
  }

  /* ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────── */

  function set(patch) {
    state = { ...state, ...patch };
    schedule(PICTURE);
    saveSoon();
  }

  function saveSoon() {
    clearTimeout(saving);
    saving = setTimeout(save, 250);
  }

  function save() {
    if (state.link) {
      try {
        history.replaceState(null, "", `#${linkOf(state, first)}`);
      } catch {
        /* what is too long for an address, or has none, stays out of it */
      }
    }
    sent = state;
    model.set("state", state);
    model.save_changes();
  }

  /** However many changes there are, the page is drawn once for each frame of the screen. */
  function schedule(level) {
    stale = Math.max(stale, level);
    if (ready) asked ||= requestAnimationFrame(frame);
  }

  function redraw() {
    schedule(PICTURE);
  }

  /** Move the cursor; some pictures depend on its row. */
  function point({ t, k }) {
    const { T, S } = app.A.grid;
    const to = { t: Math.max(0, Math.min(T - 1, t)), k: Math.max(0, Math.min(S - 1, k)) };
    if (to.t === app.cursor.t && to.k === app.cursor.k) return;
    const turned = to.t !== app.cursor.t;
    app.cursor = to;
    state = { ...state, at: [to.t, to.k] };
    saveSoon();
    schedule(turned && MODES[state.mode].byRow ? PICTURE : OVER);
  }

  /** Take a pattern from `make`, or keep the sentence that says why it cannot be. */
  function write(key, make, typed = true) {
    try {
      const spec = make();
      delete app.errors[key];
      set({ [key]: spec });
    } catch (problem) {
      failed(key, problem, typed);
      redraw();
    }
  }

  /** Other lengths: the data inside the patterns is cut or continued with them. */
  function resize(T, S, start, tokens = state.tokens) {
    const fit = (spec) => spec && fitted(spec, T, S, start);
    if (whole || state.paint || caches.has("painted")) {
      const now = { T: state.queries, S: state.keys, start: app.offset, cells: painted() };
      whole = whole ? laid(now, laid(whole, around(whole, now))) : now;
    }
    app.cursor = { t: Math.min(app.cursor.t, T - 1), k: Math.min(app.cursor.k, S - 1) };
    set({
      queries: T,
      keys: S,
      start,
      tokens,
      spec: fit(state.spec),
      compare: fit(state.compare),
      path: null,
      step: Math.min(state.step, T - 1),
    });
    if (whole) keepPaint();
  }

  /** A named pattern; one with a memory makes room for its cached keys, and the next without gives it back. */
  function preset(key, expression, memory) {
    const { keys: S, start, remembers } = state;
    if (key === "spec" && start !== null && (memory || remembers)) resize(S - memory, S, memory);
    if (key === "spec") state = { ...state, remembers: memory > 0 };
    write(key, () => parse(expression), false);
  }

  /** Small paintings travel with the state; large ones stay on the page. */
  function keepPaint() {
    const drawn = painted();
    set({ paint: drawn.length <= LIMITS.values ? bitText(drawn) : null });
  }

  function usePaint() {
    set({
      compare: { op: "table", shape: [state.queries, state.keys], bits: bitText(painted()), block: 1 },
      mode: "compare",
    });
  }

  /** Choose what to do; the keys then act on the matrix, except where arrows walk along the tabs. */
  function enter(mode, walking = false) {
    playing(false);
    if (!walking) root.querySelector("canvas[tabindex]")?.focus({ preventScroll: true });
    set({ mode, ...(MODES[mode].needs && !state.compare ? { compare: { op: "causal" } } : {}) });
  }

  function playing(on) {
    clearInterval(app.timer);
    app.timer = 0;
    if (on) {
      if (state.step + 1 >= app.A.grid.T) MODES.film.step(app, -app.A.grid.T);
      app.pace = state.speed;
      app.timer = setInterval(() => MODES.film.tick(app), 1000 / app.pace);
    }
    redraw();
  }

  /** Enlarge around a cell; 0 shows all again. */
  function zoom(by, place = app.cursor) {
    const { T, S } = app.A.grid;
    const most = Math.max(1, Math.max(T, S) / 8);
    Object.assign(app.view, {
      zoom: by ? Math.max(1, Math.min(most, app.view.zoom * by)) : 1,
      x: (place.k + 0.5) / S,
      y: (place.t + 0.5) / T,
    });
    redraw();
  }

  function fullScreen() {
    if (document.fullscreenElement) return void document.exitFullscreen();
    const cover = () => (root.classList.toggle("lm-full"), redraw());
    if (root.classList.contains("lm-full") || !host.requestFullscreen) cover();
    else host.requestFullscreen().catch(cover);
  }

  /* ── a frame ──────────────────────────────────────────────────────────────────────────────────────────────────── */

  const page = makePage(app, (plot, kind, place, event) => heard(app, plot, kind, place, event));

  function frame() {
    const begun = performance.now();
    const level = stale;
    asked = stale = 0;
    if (level >= PICTURE) {
      themed();
      compute("spec", "A");
      if (MODES[state.mode].needs) compute("compare", "B");
      if (app.entered !== state.mode) MODES[(app.entered = state.mode)].enter?.(app);
      if (app.timer && app.pace !== state.speed) playing(true);
      page.build();
      page.drawPlots(); // canvases first: a canvas font flushes pending styles
      frames.count++;
    }
    page.drawOver();
    if (level >= PICTURE) page.refresh();
    page.tell();
    frames.ms = performance.now() - begun;
  }

  /* ── beginning and end ────────────────────────────────────────────────────────────────────────────────────────── */

  /** A state from Python or a link: completed and checked, and refused with a sentence where it is none. */
  function take(next) {
    try {
      const S = next.keys ?? next.S ?? next.tokens?.length ?? 16;
      const T = next.queries ?? next.T ?? S;
      const start = next.start === undefined ? S - T : next.start;
      if (Math.max(S, T) > LIMITS.length) refuse("error.too_long", { length: Math.max(S, T), limit: LIMITS.length });
      const spec = checkedSpec(next.spec);
      const compare = next.compare ? checkedSpec(next.compare) : null;
      const [{ batch, head }, { b, h: shown }] = [next, evaluate(spec, T, S, start, next.batch, next.head)];
      const mode = Object.hasOwn(MODES, next.mode) ? next.mode : "look";
      const layers = Math.max(1, Math.min(64, next.layers));
      const step = Math.max(0, Math.min(next.step, T - 1));
      const [i, j] = next.path ?? [];
      const from = start ?? 0;
      const path = i >= from && i < from + T && j >= 0 && j < S ? [i, j] : null;
      state = {
        ...next,
        T: undefined,
        S: undefined,
        keys: S,
        queries: T,
        start,
        spec,
        compare,
        batch: Math.min(batch, b),
        head: Math.min(head, shown),
        mode,
        layers,
        step,
        path,
      };
    } catch (problem) {
      failed("link", problem);
      if (!state.keys)
        state = {
          ...state,
          spec: { op: "full" },
          compare: null,
          tokens: null,
          keys: 16,
          queries: 16,
          start: 0,
          mode: "look",
        };
    }
    const within = (v, n) => Math.max(0, Math.min(n - 1, v ?? 0));
    app.cursor = { t: within(state.at?.[0], state.queries), k: within(state.at?.[1], state.keys) };
    app.entered = null;
    caches.delete("painted");
    whole = null;
    playing(false);
    redraw();
  }

  function fromLink() {
    try {
      const patch = readLink(location.hash);
      const lengths =
        patch?.tokens && !patch.keys ? { keys: patch.tokens.length, queries: patch.tokens.length, start: 0 } : {};
      delete app.errors.link;
      if (patch) take({ ...first, ...lengths, ...patch });
      else redraw();
    } catch (problem) {
      failed("link", problem);
      redraw();
    }
  }

  function fromModel() {
    const next = model.get("state");
    if (next && next !== sent) take({ ...DEFAULTS, ...next });
  }

  function listen(target, name, act) {
    target.addEventListener(name, act);
    leftovers.push(() => target.removeEventListener(name, act));
  }

  /** Text laid out before the page's own font is there keeps its boxes: the first picture waits, though not long. */
  async function begin() {
    const late = new Promise((done) => setTimeout(done, 1500));
    if (state.font) await Promise.race([document.fonts.load(`16px "${state.font}"`, "中").catch(() => {}), late]);
    ready = true;
    redraw();
  }

  function watch() {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => ((prefersDark = system.matches), redraw());
    prefersDark = system.matches;
    listen(system, "change", follow);
    listen(state.link ? document : root, "keydown", (event) => presenterKey(app, event));
    listen(document, "fullscreenchange", redraw);
    listen(globalThis, "resize", redraw);
    for (const [name, on] of [["beforeprint", true], ["afterprint", false]])
      listen(globalThis, name, () => ((printing = on), redraw(), frame()));
    if (document.fonts) listen(document.fonts, "loadingdone", () => (caches.delete("theme"), redraw())); // measure anew
    if (state.link) listen(globalThis, "hashchange", fromLink);
    const themes = new MutationObserver(redraw);
    const sizes = page.watch(redraw);
    if (document.body) themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    leftovers.push(
      () => themes.disconnect(),
      () => sizes.disconnect(),
    );
    model.on?.("change:state", fromModel);
  }

  take(first);
  if (state.link) fromLink();
  watch();
  begin();

  return function destroy() {
    ready = false;
    cancelAnimationFrame(asked);
    clearTimeout(saving);
    clearInterval(app.timer);
    leftovers.forEach((undo) => undo());
    model.off?.("change:state", fromModel);
    host.remove();
  };
}
