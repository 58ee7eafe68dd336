/* Where an explorer lives: in a page or a notebook's output, which hold its state as JSON, or in an anywidget. */

import { render } from "./explorer.js";

/** A model whose state is completed by what all explorers share (words, palette), which never travels back. */
function completed(model, shared) {
  let kept = null, sent = null;
  return {
    get(name) {
      const held = model.get(name);
      return name !== "state" ? held : held === kept ? sent : { ...shared, ...held };
    },
    set(name, value) {
      if (name !== "state") return model.set(name, value);
      sent = value;
      kept = Object.fromEntries(Object.entries(value).filter(([key]) => !Object.hasOwn(shared, key)));
      model.set(name, kept);
    },
    save_changes: () => model.save_changes(),
    on: (...given) => model.on(...given),
    off: (...given) => model.off(...given),
  };
}

/** A model that nobody else listens to. */
function alone(state) {
  const held = { state };
  return { get: (name) => held[name], set: (name, value) => (held[name] = value), save_changes() {}, on() {}, off() {} };
}

/** The page's own glyphs: text laid out before they are there would keep its boxes. */
function glyphs(font) {
  return font ? document.fonts.load(`16px "${font}"`, "中").catch(() => {}) : null;
}

/** Let the explorer take the poster's place in the first element of this key that none has taken yet: the same output
    may stand in a notebook twice. Where the explorer can't be drawn the poster stays. */
export async function settle(key, shared) {
  const place = [...document.querySelectorAll(`[data-lmexplain="${key}"]`)].find((each) => !each.dataset.taken);
  if (!place) return;
  place.dataset.taken = "yes";
  const state = JSON.parse(place.querySelector('script[type="application/json"]').textContent), el = document.createElement("div");
  await glyphs(state.font);
  place.append(el);
  render({ model: completed(alone(state), shared), el });
  place.replaceChildren(el);
}

/** The entry of an anywidget. */
export function widget(shared) {
  return {
    async render({ model, el }) {
      await glyphs(model.get("state").font);
      return render({ model: completed(model, shared), el });
    },
  };
}
