/* What hands do: pointer and keys on the matrix, and the presenter's keys. */

import { MODES, stepQuery } from "./modes.js";
import { button, h } from "./controls.js";

const inView = (at, share) => Math.max(share / 2, Math.min(1 - share / 2, at));

/** An event of a plot; `place` is the cell or label under the pointer. */
export function heard(app, plot, kind, place, event) {
  const mode = MODES[app.state.mode];
  const { view } = app;
  if (kind === "key") return matrixKey(app, mode, event);
  if (kind === "wheel" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    return app.zoom(event.deltaY < 0 ? 1.25 : 0.8, place);
  }
  if (kind === "double" && !mode.paints) return app.zoom(view.zoom > 1 ? 0 : 3, place);
  if (kind === "lift") {
    if (app.grip?.paints) mode.lift?.(app);
    app.grip = null;
  }
  if (!place?.zone) return;
  if (kind === "press") press(app, mode, place, event);
  else if (kind === "drag" && app.grip?.paints) {
    if (!mode.hides) app.point(place);
    mode.press?.(app, place, event);
  } else if (kind === "drag" && app.grip && view.zoom > 1) pan(app, plot, event);
  else if (place.zone === "cell" && (kind === "drag" || (kind === "hover" && !mode.holdsRow))) app.point(place);
  else if (place.zone === "cell" && kind === "hover") app.point({ t: app.cursor.t, k: place.k });
}

function press(app, mode, place, event) {
  app.grip = {
    x: event.clientX,
    y: event.clientY,
    at: { ...app.view },
    paints: Boolean(mode.paints) && !event.shiftKey,
  };
  if (app.grip.paints || app.view.zoom > 1) event.target.setPointerCapture(event.pointerId);
  if (!mode.hides) app.point(place);
  if (app.grip.paints || !mode.paints) mode.press?.(app, place, event);
}

function pan(
  app,
  {
    layout: { box, dpr, s },
    picture: {
      source: { T, S },
    },
  },
  event,
) {
  app.view.x = inView(app.grip.at.x - ((event.clientX - app.grip.x) * dpr) / (s * S), box.w / s / S);
  app.view.y = inView(app.grip.at.y - ((event.clientY - app.grip.y) * dpr) / (s * T), box.h / s / T);
  app.redraw();
}

/** Arrow keys walk over the cells, and the view follows where it is enlarged; space and enter press. */
function matrixKey(app, mode, event) {
  const by = event.shiftKey ? 10 : 1;
  const { t, k } = app.cursor;
  const [dt, dk] = {
    ArrowUp: [-by, 0],
    ArrowDown: [by, 0],
    ArrowLeft: [0, -by],
    ArrowRight: [0, by],
    Home: [0, -k],
    End: [0, app.A.grid.S - 1 - k],
  }[event.key] ?? [0, 0];
  if (dt || dk) {
    app.point({ t: t + dt, k: k + dk });
    if (app.view.zoom > 1) app.zoom(1);
  } else if (event.key === "Enter" || (event.key === " " && !mode.plays)) {
    if (mode.toggle) mode.toggle(app, app.cursor, event);
    else mode.press?.(app, { zone: "cell", ...app.cursor }, event);
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

/** The presenter's keys: over the explorer, and on the whole page where the page is its own. */
export function presenterKey(app, event) {
  const target = event.composedPath()[0];
  const { mode, size, lang } = app.state;
  if (MODES[mode].undo && (event.ctrlKey || event.metaKey) && event.key === "z" && !isWriting(target)) {
    event.preventDefault();
    event.stopPropagation();
    return MODES[mode].undo(app);
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isWriting(target)) return;
  const pressable = target.matches?.("button, summary, [type=checkbox]");
  if (MODES[mode].paints && target.type !== "range" && !(pressable && [" ", "Enter"].includes(event.key)))
    matrixKey(app, MODES[mode], event);
  if (event.defaultPrevented) return;
  const step = (by) => () => (MODES[mode].step ?? stepQuery)(app, by);
  const larger = (by) => () => app.set({ size: Math.max(70, Math.min(220, size + by)) });
  const acts = {
    n: step(1),
    p: step(-1),
    PageDown: step(1),
    PageUp: step(-1),
    f: app.fullScreen,
    t: () => nextTheme(app),
    l: () => app.set({ lang: lang === "zh" ? "en" : "zh" }),
    "?": () => showKeys(app),
    "+": larger(10),
    "=": larger(10),
    "-": larger(-10),
    z: () => app.zoom(1.6),
    Z: () => app.zoom(1 / 1.6),
    ...Object.fromEntries(Object.keys(MODES).map((name, i) => [String(i + 1), () => app.enter(name)])),
  };
  if (target.type !== "range")
    Object.assign(acts, { ArrowRight: step(1), ArrowDown: step(1), ArrowLeft: step(-1), ArrowUp: step(-1) });
  if (!pressable) acts[" "] = () => MODES[mode].plays && app.playing(!app.timer); // and never scrolls
  if (!Object.hasOwn(acts, event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  acts[event.key]();
}

function isWriting({ tagName, type }) {
  return (
    tagName === "TEXTAREA" || tagName === "SELECT" || (tagName === "INPUT" && (type === "text" || type === "number"))
  );
}

export function nextTheme(app) {
  app.set({ theme: app.theme.name === "dark" ? "light" : "dark" });
}

/** The list of keys, as a dialog over the page. */
export function showKeys(app) {
  const open = app.root.querySelector("dialog");
  if (open) return open.close();
  const rows = [
    ["← → ↑ ↓", "cursor"],
    ["n  p  PageDown  PageUp", "next"],
    ["1 … 7", "mode"],
    ["Space  Enter", "toggle"],
    ["Ctrl z", "undo"],
    ["+  −", "larger"],
    ["z  Shift z", "zoom"],
    ["f", "full"],
    ["t", "theme"],
    ["l", "language"],
    ["?", "help"],
  ];
  const close = button(app.say("close"), () => dialog.close(), { kind: "lm-main" });
  const list = rows.flatMap(([keys, what]) => [
    h("dt", {}, ...keys.split("  ").flatMap((key) => [h("kbd", {}, key), " "])),
    h("dd", {}, app.say(`key.${what}`)),
  ]);
  const dialog = h(
    "dialog.lm-help",
    {
      "aria-label": app.say("help"),
      onclose: () => dialog.remove(),
      onclick: (event) => event.target === dialog && dialog.close(),
    },
    h("div", {}, h("h2", {}, app.say("help")), h("dl", {}, ...list), close),
  );
  app.root.append(dialog);
  dialog.showModal();
}
