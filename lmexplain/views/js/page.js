/* The page of an explorer: what stands where; built anew only where elements change, refreshed with each picture. */

import { axesOf, childrenOf } from "./patterns.js";
import { LIMITS, checkedSpec } from "./language.js";
import { makePlot } from "./canvas.js";
import { button, choice, controlsOf, h, nodeAt, setText, shapeOf, slider, withNode } from "./controls.js";
import { expressionField, presetMenu } from "./fields.js";
import { boxed, conditionOf, mathOf, nameOf, shortList, swatch } from "./look.js";
import { MODES } from "./modes.js";
import { nextTheme, showKeys } from "./hands.js";
import { copyLink, exported } from "./share.js";

const MOST_CHIPS = 160; // tokens of the text shown under the picture

/** The tokens of a text as Python reads them (text/reading.py), but for its rarer cases: words and numbers, Chinese
    characters, signs and emoji with what belongs to them. */
const LETTER = "(?!\\p{Script=Han})[\\p{L}\\p{N}]\\p{M}*";
const NUMERAL = "(?<=\\p{Nd})(?:\\.|,(?=\\d{3}(?!\\d)))(?=\\p{Nd})";
const SIGN = "[^\\s\\p{Cc}\\p{Default_Ignorable_Code_Point}](?:\\p{M}|\\p{Emoji_Modifier}|\\u200d\\S)*";
const TOKENS = new RegExp(
  [
    "\\[(?:[A-Z]{2,}\\d*|unused\\d+)\\]|<(?:/?s|mask|pad|unk|cls|sep|eod|eop|\\|endoftext\\|)>",
    `${LETTER}(?:${LETTER}|['’](?=\\p{L})${LETTER}|${NUMERAL}${LETTER})*`,
    `…+|—+|\\.+|-+|\\p{Regional_Indicator}{2}|${SIGN}`,
  ].join("|"),
  "gu",
);

const BETWEEN_HAN = /(?<=[\u2e80-\uffef]) (?=[\u2e80-\uffef])/g; // where no space is written

export function makePage(app, on) {
  const { say, num, pct, unit, root } = app;
  const plots = [];
  const pattern = expressionField(app, "spec", "");
  const presetsAt = h("div.lm-presets");
  const tools = h("div.lm-tools");
  const tabs = h("div.lm-tabs", { role: "tablist", onkeydown: turnTab });
  const plotsAt = h("div.lm-plots");
  const zoomAt = h("div.lm-zoom");
  const density = h("small");
  const status = h("p.lm-status", { role: "status", "aria-live": "polite" });
  const sentence = h("div.lm-sentence", { dir: "auto" });
  const panelAt = h("section.lm-panel");
  const partsAt = h("section.lm-parts");
  const numbersAt = h("section.lm-numbers");
  const sequenceAt = h("details.lm-sequence");
  const boxes = h("p.lm-boxes", { role: "status" });
  const stage = h("div.lm-stage", {}, plotsAt, zoomAt, status, boxes, sentence);
  const side = h("div.lm-side", {}, panelAt, partsAt, numbersAt, sequenceAt);
  root.append(
    h(
      "div.lm-page",
      {},
      h("div.lm-head", {}, pattern.input, presetsAt, tools),
      pattern.error,
      tabs,
      h("div.lm-body", {}, stage, side),
    ),
  );
  let built = "";
  let spoken = "";
  let dressed = null;
  let width = 0;
  let refreshers = [];
  let panel = null;
  let sequence = null;
  let tabTurned = false;

  /* ── building ─────────────────────────────────────────────────────────────────────────────────────────────────── */

  /** Build anew what has other elements than before; sliders that only move are left alone. */
  function build() {
    const { state, theme, A } = app;
    const { mode, lang, size, keys } = state;
    const shape = [
      mode,
      lang,
      theme.name,
      size,
      keys,
      app.offset,
      state.width,
      A.grid.lead,
      A.grid.h,
      shapeOf(state.spec),
      mode === "compare" && state.compare ? shapeOf(state.compare) : "",
    ].join();
    if (shape === built) return;
    built = shape;
    const focus = focusIndex();
    dress();
    refreshers = [];
    app.pointed = null;
    if (spoken !== lang) sequence = buildSequence();
    spoken = lang;
    root.lang = lang === "zh" ? "zh-Hans" : "en";
    pattern.input.setAttribute("aria-label", say("pattern"));
    presetsAt.replaceChildren(presetMenu(app, "spec"));
    buildTools();
    buildTabs();
    panel = MODES[mode].panel(app);
    panelAt.setAttribute("aria-label", say(`mode.${mode}`));
    panelAt.replaceChildren(panel.node);
    buildParts();
    buildNumbers();
    zoomAt.replaceChildren(
      ...[
        ["zoom_out", "zoom_out", 1 / 1.6],
        ["fit", "zoom_fit", 0],
        ["zoom_in", "zoom_in", 1.6],
      ].map(([name, word, by]) => button(say(word), () => app.zoom(by), { name, kind: "lm-small" })),
      density,
    );
    refocus(focus);
  }

  /** Colours and type, as properties that the style sheet reads. */
  function dress() {
    const { theme, state } = app;
    const { paper, raised, ink, muted, line, focus, error, stack: font } = theme;
    if (dressed === theme) return;
    dressed = theme;
    const mono = `ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace, ${font}`;
    const look = {
      paper,
      raised,
      ink,
      muted,
      line,
      focus,
      error,
      font,
      mono,
      size: state.size / 100,
      serif: '"STIX Two Text", "Cambria Math", Georgia, "Times New Roman", serif',
    };
    for (const [name, value] of Object.entries(look)) root.style.setProperty(`--${name}`, value);
    root.style.colorScheme = theme.name;
    root.classList.toggle("lm-alone", Boolean(state.link));
  }

  /** Which control has the focus, and giving it back to the one that took its place. */
  function focusIndex() {
    return [...root.querySelectorAll("button, input, select, textarea, summary")].indexOf(focused());
  }

  function focused() {
    return root.getRootNode().activeElement;
  }

  function refocus(index) {
    const all = root.querySelectorAll("button, input, select, textarea, summary");
    if (index >= 0 && !root.contains(focused())) all[Math.min(index, all.length - 1)]?.focus();
    if (tabTurned) tabs.querySelector("[aria-selected=true]").focus();
    tabTurned = false;
  }

  function buildTools() {
    const { link, lang } = app.state;
    const tool = (word, name, act, more = {}) => button(say(word), act, { name, kind: "lm-tool", ...more });
    const open = (shown) => {
      menu.hidden = !shown;
      save.setAttribute("aria-expanded", String(shown));
      (shown ? menu.firstChild : save).focus();
    };
    const save = tool("save", "save", () => open(menu.hidden), { "aria-haspopup": "menu", "aria-expanded": "false" });
    const menu = h(
      "div.lm-menu",
      {
        hidden: true,
        role: "menu",
        onkeydown(event) {
          const items = [...menu.children];
          const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (by) items[(items.indexOf(focused()) + by + items.length) % items.length].focus();
          else if (event.key === "Escape") open(false);
          else return;
          event.preventDefault();
          event.stopPropagation();
        },
        onfocusout({ relatedTarget: to }) {
          if (!to || to === save || menu.contains(to)) return;
          menu.hidden = true;
          save.setAttribute("aria-expanded", "false");
        },
      },
      ...["svg", "png", "json"].map((kind) =>
        button(say(`save.${kind}`), () => (open(false), exported(app, kind, shownPlots())), {
          kind: "lm-item",
          role: "menuitem",
        }),
      ),
    );
    const language = h(
      "button.lm-tool",
      {
        "aria-label": say("other_language"),
        title: say("other_language"),
        onclick: () => app.set({ lang: lang === "zh" ? "en" : "zh" }),
      },
      say("other_language_short"),
    );
    tools.replaceChildren(
      ...(link ? [tool("copy_link", "link", async () => setText(status, await copyLink(app)))] : []),
      save,
      menu,
      tool("other_theme", "theme", () => nextTheme(app)),
      language,
      tool("full_screen", "full", app.fullScreen),
      tool("help", "help", () => showKeys(app)),
    );
  }

  function buildTabs() {
    tabs.setAttribute("aria-label", say("modes"));
    tabs.replaceChildren(
      ...Object.keys(MODES).map((mode) => {
        const chosen = mode === app.state.mode;
        return h(
          "button.lm-tab",
          { role: "tab", "aria-selected": String(chosen), tabindex: chosen ? 0 : -1, onclick: () => app.enter(mode) },
          say(`mode.${mode}`),
        );
      }),
    );
  }

  function turnTab(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const names = Object.keys(MODES);
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    tabTurned = true;
    app.enter(names[(names.indexOf(app.state.mode) + by + names.length) % names.length], true);
  }

  /** The parts of a pattern with their colours, counts and parameters: legend and controls in one. */
  function buildParts() {
    const { state, A, B } = app;
    const [samples, heads] = A.grid.lead ?? [1, 1];
    const both = state.mode === "compare" && B;
    const picker = (key, n) =>
      choice(
        say(key),
        Array.from({ length: n }, (_, i) => [i, `${i + 1} / ${n}`]),
        state[key],
        (v) => app.set({ [key]: Number(v) }),
      ).node;
    partsAt.replaceChildren(
      ...(samples > 1 ? [picker("batch", samples)] : []),
      ...(heads > 1 ? [picker("head", heads)] : []),
      h("h3", {}, both ? say("parts_of", { letter: "A" }) : say("parts")),
      ...partsNote(),
      ...partsOf("spec", "A"),
      ...(both ? [h("h3", {}, say("parts_of", { letter: "B" })), ...partsOf("compare", "B")] : []),
    );
  }

  /** How the pairs are counted, where several parts share them. */
  function partsNote() {
    const closers = [app.A, app.B].flatMap((P) => P?.closers ?? []);
    const words = [say("parts_note"), closers.includes(true) ? say("closes_note") : ""].join(" ");
    return closers.length > 1 ? [h("p.lm-note", {}, words)] : [];
  }

  function partsOf(key, name) {
    let leaf = 0;
    const P = app[name];
    const walk = (node, path) => {
      if (node.op === "per_head") return walk(node.heads[P.grid.h], [...path, "heads", P.grid.h]);
      if (node.op !== "or" && node.op !== "and") return [cardOf(key, name, node, path, leaf++)];
      const inner = node.parts.flatMap((part, i) => [
        ...(i ? [h("div.lm-join", {}, say(node.op))] : []),
        ...walk(part, [...path, "parts", i]),
      ]);
      return path.length
        ? [h("div.lm-group", {}, node.title ? h("h4", {}, nameOf(node, say)) : null, ...inner)]
        : inner;
    };
    return walk(app.state[key], []);
  }

  /** One leaf: its cell, name, count, condition and parameters. Pointing at it lets its cells stand out. */
  function cardOf(key, name, node, path, leaf) {
    const title = h("b");
    const count = h("span");
    const formula = h("div");
    const pointed = (to) => (event) => event.pointerType === "mouse" && ((app.pointed = to), app.redraw());
    refreshers.push(() => {
      const now = app[name]?.grid.leaves[leaf];
      if (!now) return;
      setText(title, nameOf(now, say));
      card.setAttribute("aria-label", title.textContent);
      setText(count, app.counted(app[name], leaf));
      setMath(formula, "p.lm-formula", conditionOf(now));
    });
    const card = h(
      "div.lm-part",
      { role: "group", onpointerenter: pointed({ name, leaf }), onpointerleave: pointed(null) },
      h("div.lm-name", {}, swatch(app[name].classes[leaf]), title, count),
      formula,
      h("div.lm-fields", {}, ...fieldsOf(key, node, path)),
    );
    return card;
  }

  /** The controls of a node and of what it is made of. */
  function fieldsOf(key, node, path) {
    const change = (at, patch) => app.write(key, () => checkedSpec(withNode(app.state[key], at, patch)));
    const sample = () => Math.min(app.state.batch, axesOf(app.state[key])[0] - 1);
    const own = controlsOf(node, path, {
      say,
      change,
      sample,
      line: () => lineAt(key, path),
      read: () => app.state[key],
    });
    refreshers.push(...own.map((control) => control.refresh));
    const inside = childrenOf(node).flatMap((child, i) =>
      fieldsOf(key, child, [...path, ...(node.part ? ["part"] : [node.heads ? "heads" : "parts", i])]),
    );
    return [...own.map((control) => control.node), ...inside];
  }

  /** The keys a node speaks of: whole blocks inside in_blocks. */
  function lineAt(key, path) {
    let S = app.state.keys;
    let offset = app.offset;
    path.forEach((step, i) => {
      const { op, size } = nodeAt(app.state[key], path.slice(0, i));
      if (op === "in_blocks") [S, offset] = [Math.ceil(S / size), Math.floor(offset / size)];
    });
    return { S, offset };
  }

  function setMath(at, tag, text) {
    if (at.dataset.text === text) return;
    at.dataset.text = text;
    at.replaceChildren(mathOf(tag, text));
  }

  /** Pairs, share, FLOPs and bytes beside full attention, and the whole formula. */
  function buildNumbers() {
    const body = h("tbody");
    const columns =
      app.state.mode === "compare"
        ? [
            ["A", () => app.A.counts[0], () => app.A],
            ["B", () => app.B?.counts[0] ?? 0, () => app.B],
          ]
        : [[say("this_pattern"), () => app.A.counts[0], () => app.A]];
    const shares = columns.map(shareOf);
    columns.push([say("full_attention"), () => app.A.grid.T * app.A.grid.S]);
    const values = {
      pairs: num,
      flops: (pairs) => unit(4 * app.state.width * pairs),
      bytes: (pairs) => unit(4 * pairs, "B"),
    };
    for (const [word, valueOf] of Object.entries(values)) {
      const cells = columns.map(([, pairs]) => ({ pairs, node: h("td") }));
      body.append(h("tr", {}, h("td", {}, say(word)), ...cells.map(({ node }) => node)));
      refreshers.push(() => cells.forEach(({ pairs, node }) => setText(node, valueOf(pairs()))));
    }
    numbersAt.replaceChildren(
      h("h3", {}, say("cost")),
      ...shares.flatMap(({ share, bar }) => [share, bar]),
      h(
        "table.lm-table",
        {},
        h(
          "thead",
          {},
          h("tr", {}, ...["", ...columns.map(([name]) => name)].map((name) => h("th", { scope: "col" }, name))),
        ),
        body,
      ),
      h("p.lm-note", {}, say("cost_note", { width: app.state.width })),
      ...shares.map(({ whole }) => whole),
    );
  }

  /** The share of pairs that one pattern allows, large and as a bar, and its formula; two patterns have their letters. */
  function shareOf([letter, pairs, of], i, all) {
    const share = h("div.lm-share");
    const filled = h("div");
    const whole = h("div");
    const named = all.length > 1;
    refreshers.push(() => {
      if (!of()) return;
      const { T, S, spec } = of().grid;
      share.replaceChildren(
        ...(named ? [h("small", {}, letter), " "] : []),
        pct(pairs() / (T * S)),
        " ",
        h("small", {}, say("share_of", { size: T === S ? `${num(T)}²` : `${num(T)} × ${num(S)}` })),
      );
      filled.style.width = `${(100 * pairs()) / (T * S)}%`;
      setMath(whole, "p.lm-whole", `${named ? letter : "A"} = {(q, k) :  ${conditionOf(spec)}}`);
    });
    return { share, bar: h("div.lm-bar", { "aria-hidden": "true" }, filled), whole };
  }

  /** The reader's own text and the lengths; returns how to follow the state. Its sliders stay while they move. */
  function buildSequence() {
    const within = (v, most) => Math.max(1, Math.min(most, v));
    const now = () => app.state;
    let shown = null; // the tokens whose text stands in the field
    const text = h("textarea", {
      rows: 3,
      "aria-label": say("your_text"),
      placeholder: say("your_text"),
      onchange: () => {
        const tokens = text.value
          .match(TOKENS)
          ?.slice(0, LIMITS.length)
          .map((token) => token.slice(0, 80).replace(/[\ud800-\udbff]$/u, "")); // half a pair is no character
        shown = tokens ?? shown;
        if (tokens) app.resize(tokens.length, tokens.length, now().start === null ? null : 0, tokens);
      },
    });
    const keys = slider({
      label: say("keys"),
      value: now().keys,
      least: 1,
      most: LIMITS.length,
      bend: 3,
      change: (v) => {
        const { queries, keys: before, start } = now();
        const S = within(v, LIMITS.length);
        const T = start === null ? queries : Math.max(1, S - (before - queries));
        app.resize(T, S, start === null ? null : S - T);
      },
    });
    const queries = slider({
      label: say("queries"),
      value: now().queries,
      least: 1,
      most: LIMITS.length,
      bend: 3,
      change: (v) => {
        const { keys: S, start } = now();
        const T = within(v, start === null ? LIMITS.length : S);
        app.resize(T, S, start === null ? null : S - T);
      },
    });
    sequenceAt.replaceChildren(
      h("summary", {}, say("sequence")),
      text,
      keys.node,
      queries.node,
      h("p.lm-note", {}, say("sequence_note")),
    );
    return () => {
      keys.set(now().keys);
      queries.set(now().queries);
      if (shown === now().tokens || focused() === text) return;
      shown = now().tokens;
      text.value = (shown ?? []).join(" ").replace(BETWEEN_HAN, "");
    };
  }

  /* ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────── */

  /** As many plots as the mode has pictures, each in the space there is. */
  function drawPlots() {
    const { state, host } = app;
    const pictures = MODES[state.mode].plots(app);
    width ||= stage.clientWidth || 320;
    while (plots.length < pictures.length) addPlot();
    const across = pictures.length > 2 && width >= 1080 ? 3 : pictures.length > 1 && width >= 460 ? 2 : 1;
    const filling = state.link || document.fullscreenElement === host || root.classList.contains("lm-full");
    const tall = Math.max(
      340,
      Math.min(
        globalThis.innerHeight - 60, // larger type makes a larger picture, up to all there is
        (filling ? globalThis.innerHeight - 205 : Math.min(900, globalThis.innerHeight * 0.8)) * (state.size / 100),
      ),
    );
    const room = [
      Math.floor((width - 28 * (across - 1)) / across),
      Math.floor(pictures.length > 2 ? Math.max(300, tall * 0.75) : tall),
    ];
    stage.parentNode.classList.toggle("lm-three", pictures.length > 2);
    plots.forEach(({ figure, title, plot }, i) => {
      if (i >= pictures.length && figure.contains(focused())) plots[0].plot.over.focus(); // keys go where they went
      figure.hidden = i >= pictures.length;
      figure.style.maxWidth = `${room[0]}px`; // a long title must not push its picture out of the row
      if (figure.hidden) return;
      const { title: text = "", note = "" } = pictures[i];
      const whole = text + note;
      if (title.dataset.text !== whole) title.replaceChildren(...(text ? [text, h("small", {}, note)] : []));
      title.dataset.text = whole;
      plot.draw(pictures[i], ...room);
      title.style.paddingLeft = `${plot.layout.left}px`; // over its matrix, not over the labels beside it
      plot.over.setAttribute("aria-label", say("matrix", { queries: app.A.grid.T, keys: app.A.grid.S }));
      plot.node.classList.toggle("lm-grab", app.view.zoom > 1 || Boolean(MODES[state.mode].paints));
    });
  }

  function addPlot() {
    const title = h("figcaption");
    const plot = makePlot((kind, place, event) => on(plot, kind, place, event));
    const figure = h("figure.lm-figure", {}, title, plot.node);
    plots.push({ figure, title, plot });
    plotsAt.append(figure);
  }

  function shownPlots() {
    return plots.filter(({ figure }) => !figure.hidden).map(({ plot }) => plot);
  }

  function drawOver() {
    const cells = MODES[app.state.mode].cells?.(app) ?? [];
    for (const plot of shownPlots()) plot.drawOver({ cursor: app.cursor, cells });
  }

  /** Names, counts, fields: everything that follows the picture. */
  function refresh() {
    const [plot] = shownPlots();
    const perPixel = 1 / plot.layout.s;
    zoomAt.hidden = Math.max(app.A.grid.T, app.A.grid.S) <= 32 && app.view.zoom === 1;
    setText(
      density,
      perPixel > 1 ? say("density", { count: app.styled("tenth", { maximumFractionDigits: 1 }).format(perPixel) }) : "",
    );
    pattern.refresh();
    refreshers.forEach((follow) => follow());
    sequence();
    panel.refresh();
    const { tokens } = app.state;
    const undrawn = app.cached("undrawn", [tokens, app.theme], () => boxed(tokens ?? [], app.theme.stack));
    setText(boxes, undrawn.length ? say("boxes", { signs: shortList(undrawn) }) : "");
  }

  /* ── words under the picture ──────────────────────────────────────────────────────────────────────────────────── */

  /** What the cursor stands on, in words, for eyes and ears. */
  function tell() {
    const mode = MODES[app.state.mode];
    if (mode.follows) panel.refresh();
    setText(status, mode.say?.(app, app.cursor) ?? describe(app.cursor));
    tellSentence(mode);
  }

  function describe({ t, k }) {
    const { grid } = app.A;
    const reasons = grid.why(t, k).map((i) => nameOf(grid.leaves[i], say));
    return say(reasons.length ? "pair.allowed" : "pair.blocked", {
      ...app.pair(t, k),
      reasons: reasons.join(say("list_comma")),
    });
  }

  /** The text itself: what the chosen query may look at stands out. A long text shows the tokens near the query. */
  function tellSentence(mode) {
    const { tokens, start } = app.state;
    const { t, k } = app.cursor;
    const { S } = app.A.grid;
    sentence.hidden = !tokens || Boolean(mode.paints || mode.needs);
    if (sentence.hidden) return;
    const here = start === null ? -1 : t + app.offset;
    const from = Math.max(0, Math.min(here - MOST_CHIPS / 2, S - MOST_CHIPS));
    const count = Math.min(S, MOST_CHIPS);
    const kindOf = (mode.chips ?? chipsOfRow)(app);
    while (sentence.childNodes.length < count)
      sentence.append(h("span", { onclick: ({ target }) => pressChip(Number(target.dataset.at)) }));
    while (sentence.childNodes.length > count) sentence.lastChild.remove();
    sentence.childNodes.forEach((chip, i) => {
      const place = from + i;
      const kind = kindOf(place);
      const colour = kind?.colour ?? "";
      const look = [kind && "lm-on", place === here && "lm-here", place === k && place !== here && "lm-key"]
        .filter(Boolean)
        .join(" ");
      setText(chip, tokens[place] ?? String(place));
      if (chip.className !== look) chip.className = look;
      if (chip.dataset.at !== String(place)) chip.dataset.at = place;
      if (chip.dataset.colour !== colour) chip.style.setProperty("--chip", (chip.dataset.colour = colour));
    });
  }

  function chipsOfRow() {
    const out = app.buffer(app.A.grid.S).row.fill(0);
    app.A.grid.reasons(app.cursor.t, out);
    return (k) => app.A.classes[out[k] - 1];
  }

  function pressChip(place) {
    const mode = MODES[app.state.mode];
    const t = place - app.offset;
    if (mode.chip) mode.chip(app, place);
    else if (t >= 0 && t < app.A.grid.T) app.point({ t, k: app.cursor.k });
  }

  /** Follow the width there is. */
  function watch(changed) {
    const observer = new ResizeObserver(([{ contentRect }]) => {
      if (Math.floor(contentRect.width) === width) return;
      width = Math.floor(contentRect.width);
      changed();
    });
    observer.observe(stage);
    return observer;
  }

  return { build, drawPlots, drawOver, refresh, tell, watch };
}
