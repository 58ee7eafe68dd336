/* Two ways to say which pattern: by its text, and by a name that is known. */

import { format, parse } from "./language.js";
import { h, setText } from "./controls.js";

/** Named patterns that make sense for S keys: [word, expression, cached keys]. */
function presetsFor(S) {
  const w = Math.max(2, 2 * Math.round(S / 16));
  const block = 2 ** Math.max(0, Math.round(Math.log2(S / 16)));
  const m = Math.floor(S / 3);
  const mixedUp = (n) =>
    `[${Array.from({ length: n }, (_, i) => i).sort((a, b) => ((a * 61 + 7) % 97) - ((b * 61 + 7) % 97) || a - b)}]`;
  return [
    ["full", "full()", 0],
    ["causal", "causal()", 0],
    ["window", `window(${w})`, 0],
    ["dilated", `window(${w}, 2)`, 0],
    ["longformer", `longformer(${w}, (0,))`, 0],
    ["bigbird", `bigbird(2, 3, 1, ${block})`, 0],
    ["bigbird_tokens", `bigbird_tokens(2, ${Math.max(3, w - 1)}, (0,))`, 0],
    ["unilm_bi", 'unilm("bidirectional")', 0],
    ["unilm_lr", 'unilm("left-to-right")', 0],
    ["unilm_rl", 'unilm("right-to-left")', 0],
    ["unilm_seq", `unilm("sequence-to-sequence", ${S >> 1})`, 0],
    ["xlnet_content", `xlnet(${mixedUp(S)})`, 0],
    ["xlnet_query", `xlnet(${mixedUp(S)}, stream="query")`, 0],
    ["xlnet_memory", `xlnet(${mixedUp(S - m)}, ${m})`, m],
    ["transformer_xl", `transformer_xl(${m})`, m],
  ];
}

/** A menu of patterns by name: the page's own, then the known ones. */
export function presetMenu(app, key) {
  const { presets, lang, keys } = app.state;
  const all = [
    ...presets.map((own) => [own[`name_${lang}`] ?? own.name_en, own.expression, 0]),
    ...presetsFor(keys).map(([word, ...rest]) => [app.say(`preset.${word}`), ...rest]),
  ];
  const select = h(
    "select",
    {
      "aria-label": app.say("presets"),
      onchange: () => {
        const [, expression, memory] = all[select.value];
        select.value = "";
        app.preset(key, expression, memory);
      },
    },
    h("option", { value: "" }, app.say("presets")),
    ...all.map(([name], i) => h("option", { value: i }, name)),
  );
  return select;
}

/** A field for a pattern's text. It follows the pattern, but never the hand that is writing in it. */
export function expressionField(app, key, label) {
  const input = h("input.lm-expression", {
    type: "text",
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": label,
    oninput: () => app.write(key, () => parse(input.value)),
  });
  const error = h("p.lm-error", { role: "alert" });
  const refresh = () => {
    const problem = app.errors[key] ?? (key === "spec" ? app.errors.link : null);
    const writing = app.root.getRootNode().activeElement === input;
    if (!writing && !app.errors[key]?.typed) {
      const text = app.state[key] ? format(app.state[key]) : "";
      if (input.value !== text) input.value = text;
    }
    input.setAttribute("aria-invalid", String(Boolean(app.errors[key])));
    setText(error, problem ? app.say(problem.word, problem.values) : "");
  };
  return { input, error, refresh };
}
