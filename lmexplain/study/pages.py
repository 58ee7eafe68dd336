"""What a chapter shows of a question, a claim, an exercise or a piece of source: one self-contained fragment of HTML.

No script: an answer is hidden by `<details>`, and a checkbox switches the language through CSS alone, so that a page
works without a kernel. Where a notebook is not trusted, JupyterLab strips the style sheet; the switch then stays hidden
(it carries `hidden="hidden"`, which only the style sheet overrules; the sanitiser drops an attribute without a value)
and both languages stand one under the other.
Text and background are inherited, so that light and dark themes need no rule of their own. All text is escaped.
"""

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from typing import Any

from lmexplain.experiments.measure import Measured, Verdict
from lmexplain.study.data import Claim, Evidence, Question
from lmexplain.words import LANGUAGES, language, word

__all__ = [
    "SCROLLS", "Shown", "bilingual", "claim_page", "code", "details", "question_list", "question_page", "rich", "title",
]  # fmt: skip

MARKS = {"correct": "✓", "imprecise": "≈", "wrong": "✗", "depends": "±"}
COLOURS = {"correct": "#009E73", "imprecise": "#E69F00", "wrong": "#D55E00", "depends": "#56B4E9"}
HTML_LANG = {"en": "en", "zh": "zh-Hans"}
KEYS = 'data-lm-suppress-shortcuts="true"'  # JupyterLab would take the letters typed while a control has the focus
SCROLLS = f'tabindex="0" {KEYS}'  # what scrolls sideways can be scrolled by keys
WHOLE_LINES = 'style="white-space:pre"'  # also where the style sheet is stripped, and JupyterLab's breaks words
UNBROKEN = f'{SCROLLS} style="white-space:pre;overflow:auto"'

STYLE = """
.lm-study{max-width:52rem;line-height:1.6;margin:.6em 0;overflow-wrap:anywhere}
.lm-study .lm-between{display:none}
.lm-study p{margin:.35em 0}
.lm-study a{color:inherit;text-decoration:underline;text-decoration-thickness:1px;text-underline-offset:.15em}
.lm-study code{font-size:.92em;padding:.05em .3em;border-radius:.25em;color:inherit;white-space:nowrap;
  background:color-mix(in srgb,currentColor 9%,transparent)}
.lm-study pre code{white-space:pre;background:none;padding:0;font-size:1em}
.lm-study pre{overflow:auto;padding:.7em .9em;border-radius:.35em;font-size:.9em;line-height:1.45;color:inherit;
  background:color-mix(in srgb,currentColor 6%,transparent)}
.lm-study:has(>.lm-switch .lm-lang:not(:checked))>.lm-zh,
.lm-study:has(>.lm-switch .lm-lang:checked)>.lm-en{display:none}
.lm-study .lm-switch[hidden]{display:inline-flex!important;position:relative;z-index:1;gap:.55em;float:right;
  margin:0 0 .3em 1em;font-size:.82em;
  padding:.1em .7em;border:1px solid color-mix(in srgb,currentColor 35%,transparent);border-radius:1em;cursor:pointer}
.lm-study .lm-switch input{position:absolute;opacity:0;width:1px;height:1px}
.lm-study .lm-switch:focus-within{outline:2px solid #56B4E9;outline-offset:2px}
.lm-study .lm-switch b{font-weight:400;opacity:.65}
.lm-study .lm-lang:checked~.lm-to-zh,.lm-study .lm-lang:not(:checked)~.lm-to-en{font-weight:700;opacity:1}
.lm-study .lm-origin{font-size:.85em;opacity:.8}
.lm-study .lm-title{font-size:1.15em;font-weight:600;margin:.3em 0 .5em}
.lm-study .lm-badge{border:1px solid currentColor;border-radius:.8em;padding:0 .6em;white-space:nowrap}
.lm-study .lm-evidence{font-size:.84em;opacity:.8;margin:.1em 0 .7em}
.lm-study details{margin:.35em 0}
.lm-study details details{margin-left:1.1em}
.lm-study summary{cursor:pointer;font-weight:600;padding:.15em 0}
.lm-study summary:focus-visible{outline:2px solid #56B4E9;outline-offset:2px}
.lm-study details>:not(summary){margin-left:1.1em}
.lm-study ul.lm-points{list-style:none;padding-left:0;margin-top:.3em}
.lm-study .lm-points label{display:flex;gap:.6em;align-items:baseline}
.lm-study .lm-points input{flex:none;margin:0;transform:translateY(.1em)}
.lm-study .lm-points .lm-evidence{margin-left:1.7em}
.lm-study .lm-points input:checked+span{opacity:.6}
.lm-study .lm-verdict{border-left:.35em solid var(--lm-verdict,currentColor);padding:.1em 0 .1em .8em}
.lm-study .lm-scroll{overflow-x:auto}
.lm-study table{border-collapse:collapse;font-size:.92em;margin:.4em 0}
.lm-study table.lm-numbers td{padding:.2em .9em .2em 0;text-align:left;vertical-align:baseline;border:0;
  border-bottom:1px solid color-mix(in srgb,currentColor 15%,transparent)}
.lm-study table.lm-numbers td:last-child{text-align:right;white-space:nowrap;padding-right:0;
  font-variant-numeric:tabular-nums}
.lm-study .lm-beside{display:flex;flex-wrap:wrap;gap:.4em 2em}
.lm-study table.lm-grid{table-layout:auto;width:auto;line-height:1.2;font-size:.8em}
.lm-study table.lm-grid :is(td,th){padding:0 .25em;min-width:1.5em;height:1.5em;text-align:center;font-weight:400;
  border:1px solid color-mix(in srgb,currentColor 18%,transparent)}
.lm-study table.lm-grid th{border-color:transparent;opacity:.8}
.lm-study table.lm-grid th:first-child{text-align:right;white-space:nowrap}
@media (max-width:32rem){.lm-study table.lm-grid{font-size:.7em}
  .lm-study table.lm-grid :is(td,th){padding:0 .1em;min-width:1.45em}
  .lm-study table.lm-numbers td{display:block;padding:.2em 0 0;border:0}
  .lm-study table.lm-numbers td:last-child{text-align:left;padding:0 0 .3em;
    border-bottom:1px solid color-mix(in srgb,currentColor 15%,transparent)}}
.lm-study .highlight{background:none}
.lm-study .highlight :is(.k,.kn,.kc,.kd,.ow){font-weight:600;
  color:var(--jp-mirror-editor-keyword-color,var(--lm-keyword))}
.lm-study .highlight :is(.s,.s1,.s2,.sd,.sa,.si,.se){color:var(--jp-mirror-editor-string-color,var(--lm-string))}
.lm-study .highlight :is(.c,.c1,.cm){color:var(--jp-mirror-editor-comment-color,var(--lm-comment));font-style:italic}
.lm-study .highlight :is(.mi,.mf,.mh){color:var(--jp-mirror-editor-number-color,var(--lm-string))}
.lm-study .highlight :is(.nf,.nc,.fm,.nd){color:var(--jp-mirror-editor-def-color,var(--lm-name))}
.lm-study{--lm-keyword:#0a6640;--lm-string:#9c3a00;--lm-comment:#5c6670;--lm-name:#0b5cad}
@media (prefers-color-scheme:dark){
  .lm-study{--lm-keyword:#6fd3a3;--lm-string:#f0b37e;--lm-comment:#9aa5b1;--lm-name:#8cc4ff}}
"""


@dataclass(frozen=True)
class Shown:
    """Something a notebook displays: `html` in a page, `plain` where there is only text."""

    html: str
    plain: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.plain, "text/html": self.html}

    def __repr__(self) -> str:
        return self.plain


# building blocks


def rich(text: str) -> str:
    """Escaped text whose backticks have become `<code>`."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if odd % 2 else part for odd, part in enumerate(parts))


def title(text: str) -> str:
    """The sentence that a card is about."""
    return f'<p class="lm-title"><strong>{rich(text)}</strong></p>'


def details(summary: str, inside: str) -> str:
    """`inside` (HTML) folded away behind `summary` (text)."""
    return f"<details><summary {KEYS}>{rich(summary)}</summary>{inside}</details>"


def bilingual(english: str, chinese: str, lang: str = "en", colour: str = "#56B4E9", common: str = "") -> str:
    """Two pieces of HTML under one switch, and what is `common` to both below; `lang` is the one shown first."""
    blocks = {"en": english, "zh": chinese}
    order = sorted(LANGUAGES, key=lambda each: each != language(lang))
    body = '<hr class="lm-between">'.join(
        f'<div class="lm-{each}" lang="{HTML_LANG[each]}">{blocks[each]}</div>' for each in order
    )
    checked = " checked" if lang == "zh" else ""
    name, face = _glyphs(f"中文{body}{common}")
    return (
        f'<div class="lm-study {name} tex2jax_ignore mathjax_ignore"'
        f' style="border-left:4px solid {colour};padding-left:16px">'
        f"<style>{face}{STYLE}</style>"
        f'<label class="lm-switch" hidden="hidden"><input type="checkbox" role="switch" class="lm-lang" {KEYS}'
        f' aria-label="中文 / English"{checked}><b class="lm-to-en" lang="en">English</b>'
        f'<b class="lm-to-zh" lang="zh-Hans">中文</b></label>{body}{common}</div>'
    )


def _glyphs(text: str) -> tuple[str, str]:
    """The Chinese glyphs of a fragment as a font of its own, for readers whose system has none: class and CSS.

    It stands first in the list (Chromium keeps the boxes of text that it has once drawn with a later family) and is
    bound to its range, so that Latin text and the height of lines stay the page's own.
    """
    from lmexplain.views import fonts  # drawing loads when something is displayed, not when a question is asked

    data = fonts.subset("".join(sorted(set(text))))
    name = f"lm-{sha256(data).hexdigest()[:10]}"
    source = f"url(data:font/woff2;base64,{b64encode(data).decode('ascii')}) format('woff2')"
    return name, (
        f"@font-face{{font-family:{name};unicode-range:U+2E80-FFFF;src:{source}}}"
        f".{name}{{font-family:{name},var(--jp-content-font-family,system-ui,sans-serif)}}"
        f".{name} :is(code,pre){{font-family:{name},var(--jp-code-font-family,ui-monospace,monospace)}}"
    )


def code(text: str) -> str:
    """A program, escaped; coloured where Pygments is at hand."""
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import PythonLexer
    except ImportError:  # it comes with IPython; without it the text stands plain
        return f"<pre {UNBROKEN}><code {WHOLE_LINES}>{escape(text)}</code></pre>"
    coloured = highlight(text, PythonLexer(), HtmlFormatter(nowrap=True))
    return f'<div class="highlight"><pre {UNBROKEN}><code {WHOLE_LINES}>{coloured}</code></pre></div>'


def evidence_line(evidence: tuple[Evidence, ...], lang: str) -> str:
    if not evidence:
        return ""
    each = [
        f'<a href="{escape(item.link)}" target="_blank" rel="noopener">{escape(item.text(lang))}</a>'
        if item.link
        else escape(item.text(lang))
        for item in evidence
    ]
    return f'<p class="lm-evidence">{_filled("study.evidence", lang, evidence=" · ".join(each))}</p>'


def origin(id: str, row: Question | Claim, lang: str, *more: str) -> str:
    """The line above a card: id, source, the source's own title, a badge where it needs one."""
    parts = [f"<b>{escape(id)}</b>", escape(row.source.text(lang))]
    if row.source.title:
        parts.append(f'<span lang="zh-Hans">{escape(row.source.title)}</span>')
    parts += [escape(each) for each in more]
    if row.badge:
        parts.append(f'<span class="lm-badge">{escape(row.badge.of(lang))}</span>')
    return f'<p class="lm-origin">{" · ".join(parts)}</p>'


# questions


def question_page(question: Question, lang: str = "en") -> str:
    """The question with its source's title; answer, points, follow-ups and trap hidden until asked."""
    return bilingual(*(_question(question, each) for each in LANGUAGES), lang=lang, colour="#0072B2")


def _question(question: Question, lang: str) -> str:
    points = "".join(
        f'<li><label><input type="checkbox" {KEYS}><span>{rich(point.text.of(lang))}</span></label>'
        f"{evidence_line(point.evidence, lang)}</li>"
        for point in question.points
    )
    followups = "".join(
        details(each.ask.of(lang), f"<p>{rich(each.answer.of(lang))}</p>{evidence_line(each.evidence, lang)}")
        for each in question.followups
    )
    return "".join([
        origin(question.id, question, lang),
        title(question.wording.of(lang)),
        details(word("study.spoken", lang), f"<p>{rich(question.spoken.of(lang))}</p>"),
        details(word("study.points", lang, count=len(question.points)), f'<ul class="lm-points">{points}</ul>'),
        details(word("study.followups", lang, count=len(question.followups)), followups),
        details(
            word("study.trap", lang),
            f"<p>{rich(question.trap.text.of(lang))}</p>{evidence_line(question.trap.evidence, lang)}",
        ),
    ])  # fmt: skip


def question_list(questions: list[Question], lang: str = "en") -> str:
    """What the reader of a chapter will be able to answer: the questions alone."""
    return bilingual(*(_question_list(questions, each) for each in LANGUAGES), lang=lang, colour="#0072B2")


def _question_list(questions: list[Question], lang: str) -> str:
    items = "".join(
        f"<li>{rich(question.wording.of(lang))}{origin(question.id, question, lang)}</li>" for question in questions
    )
    return f"{title(word('study.can_answer', lang))}<ul>{items}</ul>"


# claims


def claim_page(
    claim: Claim, verdict: Verdict | None = None, numbers: tuple[Measured, ...] = (), lang: str = "en"
) -> str:
    """The claim, what became of it and why, the correction; the measured numbers folded away."""
    judgement = verdict.judgement if verdict else claim.verdict
    blocks = (_claim(claim, judgement, verdict, numbers, each) for each in LANGUAGES)
    return bilingual(*blocks, lang=lang, colour=COLOURS[judgement])


def _claim(claim: Claim, judgement: str, verdict: Verdict | None, numbers: tuple[Measured, ...], lang: str) -> str:
    rows = "".join(
        f"<tr><td>{rich(number.label(lang))}</td><td>{escape(number.text(lang))}</td></tr>" for number in numbers
    )
    table = f'<div class="lm-scroll" {SCROLLS}><table class="lm-numbers"><tbody>{rows}</tbody></table></div>'
    chapter = word("study.chapter", lang, chapter=claim.chapter)
    return "".join([
        origin(claim.id, claim, lang, claim.question, chapter),
        title(claim.claim.of(lang)),
        f'<p class="lm-verdict" style="--lm-verdict:{COLOURS[judgement]}">{verdict_line(claim, verdict, lang)}</p>',
        f"<p>{rich(claim.correction.of(lang))}</p>",
        evidence_line(claim.evidence, lang),
        details(word("study.numbers", lang, count=len(numbers)), table) if numbers else "",
    ])  # fmt: skip


def verdict_line(claim: Claim, verdict: Verdict | None, lang: str) -> str:
    """`✓ correct`, and whether numbers or papers say so; where they differ, both."""
    judged = verdict or Verdict(claim.verdict, "-", "-")
    head = f"<b>{MARKS[judged.judgement]} {escape(judged.word(lang))}</b>"
    if verdict is None:
        return _filled("study.by_papers", lang, verdict=head)
    line = _filled("study.measured", lang, verdict=head, reason=rich(verdict.reason(lang)))
    if verdict.judgement != claim.verdict:
        papers_say = escape(Verdict(claim.verdict, "-", "-").word(lang))
        line += f"<br>{_filled('study.contradicts', lang, verdict=papers_say)}"
    return line


def _filled(key: str, lang: str, **pieces: str) -> str:
    """An interface word, escaped, its placeholders filled with pieces of HTML."""
    return escape(word(key, lang)).format(**pieces)
