/* The look of an explorer, inside its own shadow tree: nothing leaks out, nothing leaks in. */

export const STYLE = `
:host { display: block; }
.lm-root { container-type: inline-size; background: var(--paper); color: var(--ink);
  font: calc(14px * var(--size, 1))/1.45 var(--font); border-radius: 10px;
  -webkit-font-smoothing: antialiased; text-align: left; }
.lm-root *, .lm-root *::before { box-sizing: border-box; }
.lm-page { padding: 20px 24px 24px; max-width: 1560px; margin: 0 auto; }
.lm-root.lm-alone { border-radius: 0; min-height: 100vh; }
.lm-root.lm-full { position: fixed; inset: 0; z-index: 9999; overflow: auto; border-radius: 0; }
:host(:fullscreen) .lm-root { height: 100vh; overflow: auto; border-radius: 0; }

/* head: the expression is the title of the page */
.lm-head { display: flex; flex-wrap: wrap; gap: 10px 12px; align-items: center; }
.lm-panel .lm-expression { width: 100%; font-size: 1em; padding: 7px 10px; }
.lm-expression { flex: 1 1 260px; min-width: 0; font: 500 1.14em/1.4 var(--mono); padding: 9px 12px; }
.lm-presets { flex: 0 1 190px; min-width: 0; }
.lm-presets select { width: 100%; }
.lm-tools { display: flex; align-items: center; margin-left: auto; position: relative; }
.lm-error { color: var(--error); margin: 8px 2px 0; }
.lm-error:empty { display: none; }
.lm-tabs { display: flex; gap: 4px 22px; flex-wrap: wrap; border-bottom: 1px solid var(--line); margin: 14px 0 20px; }
.lm-tab { border: 0; background: none; padding: 6px 0 9px; margin-bottom: -1px; border-bottom: 2px solid transparent;
  color: var(--muted); border-radius: 0; }
.lm-tab:hover { color: var(--ink); }
.lm-tab[aria-selected=true] { color: var(--ink); border-bottom-color: var(--ink); font-weight: 600; }

/* stage and side */
.lm-body { display: grid; grid-template-columns: minmax(0, 1fr); gap: 24px 36px; align-items: start; }
/* three pictures take the room beside the page as well, where there is some */
.lm-three { margin-inline: calc(-1 * clamp(0px, (100cqw - 1608px) / 2, 200px)); }
.lm-stage, .lm-side, .lm-plots, .lm-figure { min-width: 0; }
.lm-plots { display: flex; flex-wrap: wrap; gap: 20px 28px; justify-content: center; position: relative; }
.lm-figure { margin: 0; }
.lm-figure figcaption { font-weight: 600; margin: 0 0 6px; overflow-wrap: anywhere; max-width: 100%; }
.lm-figure figcaption:empty { display: none; }
.lm-figure figcaption small { display: block; min-height: 1.45em; font-weight: 400; color: var(--muted);
  font-size: .93em; }
.lm-plot { position: relative; max-width: 100%; }
.lm-plot canvas { position: absolute; left: 0; top: 0; display: block; }
.lm-plot canvas[tabindex] { touch-action: pan-y pinch-zoom; cursor: crosshair; border-radius: 4px; }
.lm-plot.lm-grab canvas[tabindex] { touch-action: none; }
.lm-status { min-height: 3em; margin: 12px 0 0; font-size: 1.04em; text-align: center; text-wrap: balance;
  overflow-wrap: anywhere; }
.lm-zoom { display: flex; gap: 2px; justify-content: center; align-items: center; color: var(--muted); margin-top: 4px;
  }
.lm-zoom { flex-wrap: wrap; }
.lm-zoom small { flex-basis: 100%; text-align: center; }
.lm-zoom small:empty { display: none; }
.lm-boxes { color: var(--error); text-align: center; margin: 4px 0; overflow-wrap: anywhere; }
.lm-boxes:empty { display: none; }
.lm-sentence { margin: 6px auto 0; max-width: 66em; line-height: 2; text-align: center; overflow-wrap: anywhere; }
.lm-sentence span { cursor: pointer; display: inline-block; max-width: 100%; padding: 0 3px; margin: 2px 1px;
  border-bottom: 3px solid transparent; border-radius: 3px 3px 0 0; color: var(--muted); line-height: 1.4;
  white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
.lm-sentence span.lm-on { color: var(--ink); border-bottom-color: var(--chip);
  background: color-mix(in srgb, var(--chip) 16%, transparent); }
.lm-sentence span.lm-here { outline: 2px solid var(--ink); border-radius: 3px; color: var(--ink); }
.lm-sentence span.lm-key { outline: 2px dotted var(--ink); }

.lm-side { container: side / inline-size; display: grid; gap: 26px; grid-template-columns: minmax(0, 1fr); }
.lm-panel > :first-child, .lm-side h3 { margin-top: 0; }
.lm-side h3 { font-size: .86em; font-weight: 600; letter-spacing: .02em; color: var(--muted); margin: 0 0 10px; }
.lm-panel { background: var(--raised); border-radius: 8px; padding: 14px 16px; }
.lm-panel p { margin: 0 0 10px; overflow-wrap: anywhere; }
.lm-panel > :last-child { margin-bottom: 0; }
.lm-lead { font-size: 1.06em; }
.lm-note { color: var(--muted); margin: 2px 0 6px; font-size: .93em; }
.lm-row { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; margin: 8px 0; }

/* parts: legend and controls are one */
.lm-part { padding: 2px 0 4px; }
.lm-parts h3:not(:first-child) { margin-top: 24px; }
.lm-name { display: grid; grid-template-columns: 22px minmax(0, 1fr) auto; gap: 10px; align-items: center;
  margin-bottom: 3px; }
.lm-name b { font-weight: 600; overflow-wrap: anywhere; }
.lm-name span { color: var(--muted); font-variant-numeric: tabular-nums; white-space: nowrap; }
.lm-swatch { width: 22px; height: 22px; display: block; }
.lm-formula { font: 1.04em/1.5 var(--serif); color: var(--muted); margin: 0 0 4px 32px; overflow-wrap: anywhere; }
.lm-fields { margin-left: 32px; }
.lm-join { display: flex; align-items: center; gap: 10px; color: var(--muted); font-size: .86em; margin: 4px 0 6px; }
.lm-join::before, .lm-join::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
.lm-group { border-left: 2px solid var(--line); padding-left: 12px; margin: 10px 0; }
.lm-group > h4, .lm-fields h4 { margin: 0 0 6px; font-weight: 600; font-size: 1em; }
.lm-legend { list-style: none; margin: 0 0 6px; padding: 0; }
.lm-legend .lm-name { margin: 5px 0; }

/* numbers */
.lm-share { font-size: 2em; line-height: 1.1; font-weight: 600; font-variant-numeric: tabular-nums;
  letter-spacing: -.01em; }
.lm-share small { font-size: .45em; font-weight: 400; color: var(--muted); letter-spacing: 0; }
.lm-bar { height: 6px; border-radius: 3px; background: var(--line); margin: 8px 0 10px; overflow: hidden; }
.lm-bar div { height: 100%; background: var(--ink); border-radius: 3px; }
.lm-table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
.lm-table th, .lm-table td { text-align: right; padding: 3px 0 3px 8px; font-weight: 400; vertical-align: top;
  overflow-wrap: anywhere; }
.lm-table th:first-child, .lm-table td:first-child { text-align: left; padding-left: 0; color: var(--muted); }
.lm-table thead th { color: var(--muted); font-size: .9em; }
.lm-layer { display: flex; align-items: center; gap: 8px; }
.lm-layer .lm-swatch { width: 14px; height: 14px; }
.lm-whole { font: 1.1em/1.6 var(--serif); margin: 8px 0 0; overflow-wrap: anywhere; }

/* controls */
button, input, select, textarea, summary { font: inherit; color: inherit; }
button, select, input[type=text], input[type=number], textarea { background: var(--paper);
  border: 1px solid var(--line); border-radius: 6px; }
button { cursor: pointer; padding: 5px 11px; min-height: 32px; }
button:hover, select:hover, summary:hover { border-color: var(--muted); }
button[aria-pressed=true] { background: var(--ink); color: var(--paper); border-color: var(--ink); }
button:disabled { opacity: .4; cursor: default; }
.lm-main { background: var(--ink); color: var(--paper); border-color: var(--ink); }
.lm-tool, .lm-small { border-color: transparent; background: none; padding: 6px; min-width: 32px; line-height: 1;
  display: inline-grid; place-items: center; }
.lm-small { padding: 4px; min-width: 24px; min-height: 24px; color: var(--muted); }
.lm-link { border: 0; background: none; padding: 2px 0; min-height: 0; color: var(--muted); text-decoration: underline;
  text-underline-offset: 3px; }
.lm-icon { width: 1.15em; height: 1.15em; fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round;
  stroke-linejoin: round; display: block; }
select { padding: 5px 8px; min-height: 32px; max-width: 100%; }
input[type=text], input[type=number], textarea { padding: 4px 8px; min-width: 0; }
textarea { width: 100%; resize: vertical; line-height: 1.5; }
.lm-slider { display: grid; grid-template-columns: 6.2em minmax(0, 1fr) 5em; gap: 10px; align-items: center;
  margin: 3px 0; }
.lm-slider:has(.lm-small) { grid-template-columns: 6.2em minmax(0, 1fr) 5em auto; gap: 8px; }
.lm-panel .lm-slider { grid-template-columns: 7em minmax(0, 1fr) 5em; }
.lm-slider > span { color: var(--muted); }
.lm-slider select, .lm-wide input { grid-column: 2 / -1; }
.lm-slider input[type=number] { text-align: right; font-variant-numeric: tabular-nums; padding: 3px 4px 3px 6px; }
.lm-tick { display: flex; gap: 8px; align-items: center; margin: 6px 0; cursor: pointer; }
input[type=range] { -webkit-appearance: none; appearance: none; width: 100%; height: 24px; background: none; margin: 0;
  cursor: pointer; }
input[type=range]::-webkit-slider-runnable-track { height: 4px; border-radius: 2px;
  background: linear-gradient(to right, var(--ink) var(--at, 0), var(--line) var(--at, 0)); }
input[type=range]::-moz-range-track { height: 4px; border-radius: 2px;
  background: linear-gradient(to right, var(--ink) var(--at, 0), var(--line) var(--at, 0)); }
input[type=range]::-webkit-slider-thumb { -webkit-appearance: none; width: 16px; height: 16px; margin-top: -6px;
  border-radius: 50%; background: var(--paper); border: 2px solid var(--ink); }
input[type=range]::-moz-range-thumb { width: 12px; height: 12px; border-radius: 50%; background: var(--paper);
  border: 2px solid var(--ink); }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
details > summary { cursor: pointer; color: var(--muted); padding: 4px 0; border-radius: 4px; }
details[open] > summary { margin-bottom: 8px; }
.lm-menu { position: absolute; right: 0; top: 100%; z-index: 3; background: var(--paper);
  border: 1px solid var(--line); border-radius: 8px; padding: 6px; display: grid; min-width: 11em;
  box-shadow: 0 6px 24px rgb(0 0 0 / .14); }
.lm-menu[hidden], [hidden] { display: none !important; }
.lm-menu button { border: 0; text-align: left; }
.lm-menu button:hover { background: var(--raised); }
.lm-help { border: 0; padding: 0; border-radius: 12px; background: var(--paper); color: var(--ink);
  max-width: min(34em, calc(100vw - 32px)); max-height: 90vh; box-shadow: 0 12px 48px rgb(0 0 0 / .3); }
.lm-help::backdrop { background: rgb(0 0 0 / .45); }
.lm-help > div { padding: 22px 26px; }
.lm-help h2 { margin: 0 0 12px; font-size: 1.2em; }
.lm-help dl { display: grid; grid-template-columns: auto 1fr; gap: 7px 18px; margin: 0 0 16px; }
.lm-help dd { margin: 0; }
kbd { font: .92em var(--mono); border: 1px solid var(--line); border-radius: 4px; padding: 1px 6px;
  background: var(--raised); white-space: nowrap; }
.lm-diagram { width: 100%; height: auto; display: block; margin: 6px 0; overflow: visible; }
.lm-diagram text { font: 12px var(--font); fill: var(--ink); stroke: var(--raised); stroke-width: 4px;
  paint-order: stroke; stroke-linejoin: round; }
.lm-diagram .lm-quiet { fill: var(--muted); }
.lm-steps { margin: 0; padding-left: 1.4em; }
.lm-steps li { margin: 3px 0; overflow-wrap: anywhere; }
.lm-score { font-size: 1.5em; font-weight: 600; font-variant-numeric: tabular-nums; }
.lm-score small { font-size: .6em; font-weight: 400; color: var(--muted); }
.lm-order { display: flex; flex-wrap: wrap; gap: 4px; margin: 8px 0; }
.lm-order span { padding: 1px 7px; border-radius: 10px; border: 1px solid var(--line); color: var(--muted); }
.lm-order span.lm-past { background: var(--ink); color: var(--paper); border-color: var(--ink); }
.lm-order span.lm-here { outline: 2px solid var(--focus); outline-offset: 1px; color: var(--ink); }

@container side (max-width: 21.5em) {
  .lm-fields, .lm-formula { margin-left: 0; }
  .lm-slider, .lm-panel .lm-slider, .lm-slider:has(.lm-small) { grid-template-columns: minmax(0, 1fr) 5em; gap: 0 8px; }
  .lm-slider:has(.lm-small) { grid-template-columns: minmax(0, 1fr) 5em auto; }
  .lm-slider input[type=range] { grid-row: 2; grid-column: 1 / -1; }
  .lm-panel { padding: 12px; }
}
@container (min-width: 45em) {
  .lm-body { grid-template-columns: minmax(0, 1fr) minmax(236px, 36%); gap: 24px 24px; }
}
@container (min-width: 64em) {
  .lm-body { grid-template-columns: minmax(0, 1fr) min(40%, calc(344px * var(--size, 1))); gap: 24px 44px; }
}
@container (min-width: 100em) {
  .lm-body { grid-template-columns: minmax(0, 1fr) min(40%, calc(390px * var(--size, 1))); gap: 24px 64px; }
}
@container (max-width: 37em) {
  .lm-page { padding: 14px 14px 20px; }
  .lm-tabs { gap: 2px 8px; justify-content: space-between; font-size: .95em; }
  .lm-presets { flex: 1 1 120px; }
  .lm-tool { padding: 6px 3px; }
  .lm-expression { flex-basis: 100%; font-size: 16px; }
}
/* on paper the picture keeps its shape, above the words, and what only hands can use is left out */
@media print {
  .lm-body { display: block; margin-inline: 0 !important; }
  .lm-side { margin-top: 24px; }
  .lm-plot canvas { max-width: 100%; height: auto !important; }
  .lm-figure, .lm-part, .lm-panel, .lm-numbers { break-inside: avoid; }
  .lm-presets, .lm-tools, .lm-tabs, .lm-zoom, .lm-sequence, input[type=range], button { display: none !important; }
}
@media (prefers-reduced-motion: no-preference) {
  .lm-bar div { transition: width .12s; }
}
`;
