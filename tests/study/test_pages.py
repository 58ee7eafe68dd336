"""Cards as HTML: nothing shows before it is asked for, everything is escaped, no script, no request."""

import dataclasses
import re
from html.parser import HTMLParser

import pytest

from lmexplain import experiments, study
from lmexplain.experiments import Measured, Verdict
from lmexplain.study import ledger, pages
from lmexplain.study.data import Text, claims, questions

EVIL = "<script>alert(1)</script>&\"'"


def html(shown) -> str:
    return shown._repr_mimebundle_()["text/html"]


class Walker(HTMLParser):
    """Text outside and inside of <details>, the tags, and whether they close in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.seen, self.hidden = "", ""
        self.feed(page)
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}
        if tag not in ("input", "hr", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        folded = "details" in self.open and not (self.open.count("details") == 1 and "summary" in self.open)
        if folded:
            self.hidden += text
        elif "style" not in self.open:
            self.seen += text


@pytest.mark.parametrize("id", questions())
def test_the_answer_is_hidden_until_asked(id):
    question, page = questions()[id], Walker(html(study.ask(id)))
    plain = [re.sub("`", "", text) for text in (question.spoken.en, question.trap.text.zh, question.points[0].text.en)]
    assert all(text in page.hidden and text not in page.seen for text in plain)
    assert question.wording.en in page.seen and question.wording.zh in page.seen
    assert (question.source.title or "") in page.seen
    assert question.spoken.en not in study.ask(id).plain


@pytest.mark.parametrize("id", questions())
def test_a_question_shows_all_its_parts_in_both_languages(id):
    question, page = questions()[id], html(study.ask(id))
    assert page.count('<input type="checkbox" data') == 2 * len(question.points)
    for lang in ("en", "zh"):
        points, asked = (p.text for p in question.points), (f.ask for f in question.followups)
        for text in (question.spoken, question.trap.text, *points, *asked):
            assert pages.rich(text.of(lang)) in page


@pytest.mark.parametrize("lang, first, checked", [("en", "lm-en", False), ("zh", "lm-zh", True)])
def test_the_language_asked_for_comes_first(lang, first, checked):
    page = html(study.ask("B09", lang))
    assert re.search(r'<div class="(lm-..)"', page)[1] == first
    assert (" checked>" in page) == checked


def test_no_script_and_no_request():
    for shown in (study.ask("B09"), study.can_answer("14"), study.claim("C123"), study.source(study.ask)):
        page = html(shown)
        walked = Walker(page)
        assert not walked.tags & {"script", "link", "img", "iframe"}
        assert not [name for name in walked.attributes if name.startswith("on")]
        loads = re.findall(r'(?:src|url)[=(]"?([^")]+)', page)
        assert all(address.startswith("data:") for address in loads)


def test_questions_and_claims_are_escaped():
    text = Text(EVIL, EVIL)
    question = dataclasses.replace(
        questions()["B09"],
        id=EVIL,
        wording=text,
        spoken=text,
        trap=dataclasses.replace(questions()["B09"].trap, text=text),
        points=(dataclasses.replace(questions()["B09"].points[0], text=text),),
        source=dataclasses.replace(questions()["B09"].source, title=EVIL),
    )
    claim = dataclasses.replace(claims()["C123"], id=EVIL, claim=text, correction=text, where=EVIL, experiment=EVIL)
    verdict, number = Verdict("wrong", EVIL, EVIL), Measured.of(1, EVIL, EVIL)
    for page in (
        pages.question_page(question),
        pages.question_list([question]),
        pages.claim_page(claim, verdict, (number,)),
        pages.details(EVIL, ""),
    ):
        assert "<script" not in page and "alert(1)" in page
    assert "<script" not in pages.code(EVIL) and "alert" in pages.code(EVIL)


def test_backticks_become_code_and_nothing_else_is_markup():
    assert pages.rich("a `b<c` *d*") == "a <code>b&lt;c</code> *d*"


def test_a_claim_shows_the_papers_verdict_until_it_is_measured(monkeypatch, tmp_path):
    claim = claims()["C123"]
    reason = ledger.remembered(claim).result.verdict().reason("en").replace("`", "")
    assert f"✓ correct · measured: {reason}" in Walker(html(study.claim("C123"))).seen
    monkeypatch.setenv("LMEXPLAIN_CACHE", str(tmp_path))
    monkeypatch.setattr(ledger, "SHIPPED", tmp_path / "no ledger")
    assert "so the papers say; not measured yet" in Walker(html(study.claim("C123"))).seen
    page = pages.claim_page(claim, Verdict("correct", "measured so", "实测如此"), (Measured.of(5, "pairs", "counted"),))
    seen = Walker(page)
    assert "✓ correct · measured: measured so" in seen.seen and "实测：实测如此" in seen.seen
    assert "counted" in seen.hidden and "5 pairs" in seen.hidden
    assert "expect another verdict" not in seen.seen


def test_numbers_that_contradict_the_papers_say_so():
    page = Walker(pages.claim_page(claims()["C123"], Verdict("wrong", "it is not", "并非如此"))).seen
    assert "✗ wrong" in page and "expect another verdict: correct" in page
    assert "这与从论文得出的结论（正确）不同" in page


def test_a_claim_outside_the_documents_shows_its_badge():
    claim = dataclasses.replace(claims()["C123"], standing="recalled")
    assert "recalled, not in the document at hand" in Walker(pages.claim_page(claim)).seen


def test_a_question_outside_the_documents_shows_its_badge():
    question = dataclasses.replace(questions()["B09"], standing="recalled")
    assert "recalled, not in the document at hand" in Walker(pages.question_page(question)).seen
    assert "凭记忆补充" in Walker(pages.question_list([question], "zh")).seen


def test_a_claim_shows_the_section_it_comes_from():
    assert "Dilated Sliding Window（空洞滑窗机制）" in Walker(html(study.claim("C124"))).seen
    assert "Dilated Sliding Window（空洞滑窗机制）" in study.claim("C124").plain


def test_the_trap_shows_what_it_rests_on():
    trap, page = questions()["B10"].trap, html(study.ask("B10"))
    for lang in ("en", "zh"):
        assert f"{pages.rich(trap.text.of(lang))}</p>{pages.evidence_line(trap.evidence, lang)}" in page


def test_a_result_of_another_experiment_is_refused():
    @dataclasses.dataclass(frozen=True)
    class Another:
        def verdict(self):
            return Verdict("correct", "x", "x")

    with pytest.raises(TypeError, match="C123 is measured by window_cost, but this is a Another"):
        study.claim("C123", Another())


def test_a_real_result_judges_its_claim():
    result = experiments.run("window_cost", "reduced")
    shown = study.claim("C123", result, lang="zh")
    assert "正确" in shown.plain and result.verdict().because_zh in shown.plain
    assert "2,035,456 pairs" in Walker(html(shown)).hidden


def test_the_questions_of_a_chapter():
    shown = study.can_answer("14")
    assert "B09" in shown.plain and "B10" in shown.plain
    assert "answers no question yet" in study.can_answer("99").plain


def test_an_unknown_language_is_refused():
    with pytest.raises(ValueError, match="lang is 'fr'"):
        study.ask("B09", "fr")


def test_chinese_brings_its_glyphs():
    page = html(study.ask("B09"))
    assert "@font-face" in page and "data:font/woff2" in page
    assert len(page) < 100_000
