"""`lmexplain ask` and `lmexplain claims`, with someone at the terminal and without; and the wrapping of Chinese."""

import dataclasses
import subprocess
import sys
from io import StringIO

import pytest

from lmexplain import experiments
from lmexplain.cli import main
from lmexplain.experiments import Measured
from lmexplain.study import ledger, terminal
from lmexplain.study.ask import chosen
from lmexplain.study.data import claims, find_claim, find_question, questions


class Keyboard:
    """Someone at a terminal who types these lines; each question is noted with what had been printed before it."""

    def __init__(self, monkeypatch, capsys, *lines: str) -> None:
        self.lines, self.prompts, self.capsys = list(lines), [], capsys
        monkeypatch.setattr("builtins.input", self.answer)
        stream = StringIO()
        stream.isatty = lambda: True
        monkeypatch.setattr(sys, "stdin", stream)

    def answer(self, prompt: str) -> str:
        self.prompts.append((prompt.strip(), self.capsys.readouterr().out))
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)


def words(text: str) -> str:
    """Without line breaks and the spaces beside them, so that wrapping does not matter."""
    return "".join(text.replace("`", "").split())


def test_each_part_waits_for_enter(monkeypatch, capsys):
    question = questions()["B09"]
    count = len(question.points)
    board = Keyboard(monkeypatch, capsys, "", "", "1 3, 99", "y", "1, 3", *[""] * (len(question.followups) + 1))
    assert main(["ask", "b09"]) == 0
    prompts = [prompt for prompt, _ in board.prompts]
    printed = [words(out) for _, out in board.prompts]
    assert prompts[0].startswith("Say your answer") and prompts[1].startswith("Press Enter for the full answer")
    assert words(question.wording.en) in printed[0] and words(question.source.title or "") in printed[0]
    assert words(question.spoken.en) not in printed[0] and words(question.spoken.en) in printed[1]
    assert words(question.points[-1].text.en) in printed[2] and words(question.points[0].text.en) not in printed[1]
    assert "“13,99”isnotunderstood;givenumbersfrom1to" in printed[3] and "“y”isnotunderstood" in printed[4]
    assert f"Youmade2of{count}points." in printed[5] and "Leftout:2,4,5" in printed[5]
    assert words(question.followups[0].answer.en) in printed[6]
    assert words(question.trap.text.en) in words(capsys.readouterr().out)


@pytest.mark.parametrize(("typed", "made"), [
    ("", set()), (" none ", set()), ("0", set()), ("1-3", {1, 2, 3}), ("1 – 3, 5", {1, 2, 3, 5}), ("2~3", {2, 3}),
    ("１和３", {1, 3}), ("1、3，5", {1, 3, 5}), ("1 and 7", {1, 7}), ("1到3", {1, 2, 3}), ("all", set(range(1, 8))),
    ("ALL", set(range(1, 8))), ("全部", set(range(1, 8))), ("8", None), ("9", None), ("y", None), ("3-1", None),
    ("1-9", None), ("-2", None), ("1-", None), ("one", None)])
def test_points_are_named_by_numbers_ranges_or_all(typed, made):
    assert chosen(typed, 7) == made


@pytest.mark.parametrize("id", ["b9", "B9", "b09", " B09 ", "B009"])
def test_a_question_is_found_however_its_number_is_written(id):
    assert find_question(id).id == "B09" and find_claim("c0123").id == "C123"


@pytest.mark.parametrize("arguments", ["ask", "ask B09", "claims", "claims C123"])
def test_the_sources_are_said(capsys, monkeypatch, tmp_path, arguments):
    monkeypatch.setenv("LMEXPLAIN_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", StringIO())
    for lang, said in (("en", "document B is a collection of interview"), ("zh", "文档 B 是一份带答案的面试题集")):
        assert main([*arguments.split(), "--lang", lang]) == 0
        assert words(said) in words(capsys.readouterr().out)


def test_the_end_of_input_does_not_hide_the_rest(monkeypatch, capsys):
    board = Keyboard(monkeypatch, capsys)  # Ctrl-D at the first question
    assert main(["ask", "B10", "--lang", "zh"]) == 0
    assert len(board.prompts) == 1
    rest = words(capsys.readouterr().out)
    assert words(questions()["B10"].trap.text.zh) in rest and words(questions()["B10"].spoken.zh) in rest


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_without_a_terminal_all_is_printed(lang):
    command = [sys.executable, "-m", "lmexplain", "ask", "B09", "--lang", lang]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=True)
    out, question = words(done.stdout.decode("utf-8")), questions()["B09"]
    parts = [question.wording, question.spoken, question.trap.text, *(point.text for point in question.points)]
    parts += [text for each in question.followups for text in (each.ask, each.answer)]
    rests = [item for part in (*question.points, *question.followups, question.trap) for item in part.evidence]
    assert all(words(item.text(lang)) in out for item in rests)
    assert all(words(part.of(lang)) in out for part in parts)
    assert b"\033[" not in done.stdout


def test_asking_needs_no_torch():
    code = "import sys; from lmexplain.cli import main; main(['ask']); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, check=False).returncode == 0


def test_the_list_names_every_question(capsys):
    assert main(["ask"]) == 0
    out = words(capsys.readouterr().out)
    assert all(words(q.wording.en) in out and words(q.source.title or "") in out for q in questions().values())


def test_an_unknown_question_is_one_sentence(capsys):
    assert main(["ask", "Z99"]) == 2
    assert "no question 'Z99'; there are B09, B10" in capsys.readouterr().err


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_ledger_lists_source_claim_verdict_evidence_and_chapter(capsys, tmp_path, monkeypatch, lang):
    monkeypatch.setenv("LMEXPLAIN_CACHE", str(tmp_path))
    assert main(["claims", "--lang", lang]) == 0
    out = capsys.readouterr().out
    for claim in claims().values():
        line = next(line for line in out.splitlines() if line.startswith(claim.id))
        assert claim.source.text(lang) in line and line.rstrip().endswith(claim.chapter)
        kinds = {"count": ("count", "计数"), "experiment": ("experiment", "实验"), "citation": ("cited:", "引用")}
        rests = claim.experiment or claim.evidence[0].text(lang)
        assert f"{kinds[claim.kind][lang == 'zh']} {rests}" in line
        by = ("(papers)", "（论文）") if claim.kind == "citation" else ("(measured)", "（实测）")
        assert by[lang == "zh"] in line, "a fresh clone has its ledger"
        assert words(claim.claim.of(lang)) in words(out)


def test_a_claim_is_measured_remembered_and_then_measured_in_the_ledger(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("LMEXPLAIN_CACHE", str(tmp_path))
    assert main(["claims", "c123", "--run", "--length", "reduced"]) == 0
    out = capsys.readouterr().out
    assert "✓ correct · measured:" in out and "2,035,456 pairs" in out and "Measured (reduced, seed 0) in" in out
    assert main(["claims", "C123", "--lang", "zh"]) == 0
    out = capsys.readouterr().out
    assert "✓ 正确 · 实测：" in out and "2,035,456 个配对" in out and "此前已实测" in out
    assert main(["claims", "--chapter", "14"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "✓ correct (measured)" in next(line for line in lines if line.startswith("C123"))


def test_a_shipped_result_says_where_it_comes_from(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("LMEXPLAIN_CACHE", str(tmp_path))
    assert main(["claims", "C124"]) == 0
    out = words(capsys.readouterr().out)
    assert words("comes with the package (quick, seed 0; lmexplain ") in out and "12,288positions" in out
    assert "DilatedSlidingWindow（空洞滑窗机制）" in out


@pytest.mark.parametrize("id", [[], ["C126"]])
@pytest.mark.parametrize("cache", ["cache", "file/below"])  # and where nothing can be kept
def test_what_is_measured_is_what_is_shown(capsys, tmp_path, monkeypatch, id, cache):
    """Whatever the seed: each claim's own result, not one of another seed from memory, nor the papers' word."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("LMEXPLAIN_CACHE", str(tmp_path / cache))
    asked = []

    def made(name, length, seed):
        asked.append(seed)
        result = ledger.shipped(next(claim for claim in claims().values() if claim.experiment == name)).result
        return dataclasses.replace(result, fewest=Measured.of(1)) if name == "random_keys" else result  # wrong

    monkeypatch.setattr(experiments, "run", made)
    assert main(["claims", *id, "--run", "--seed", "3"]) == 0
    out = capsys.readouterr().out
    cited = sum(claim.kind == "citation" for claim in claims().values())
    assert set(asked) == {3} and out.count("(papers)") == (0 if id else cited)
    wrong = "✗ wrong" if id else "✗ wrong (measured)"
    assert wrong in out and ("seed 3" in out or not id)
    if cache == "cache":
        assert main(["claims", *id, "--seed", "3"]) == 0
        assert wrong in capsys.readouterr().out
    assert main(["claims", *id]) == 0
    assert wrong not in capsys.readouterr().out


def test_run_and_write_make_the_ledger(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("LMEXPLAIN_CACHE", str(tmp_path))
    result = {c.experiment: ledger.shipped(c).result for c in claims().values() if c.experiment}
    monkeypatch.setattr(experiments, "run", lambda name, length, seed: result[name])
    written = []
    monkeypatch.setattr("lmexplain.study.claims.write", written.append)
    assert main(["claims", "--run", "--write"]) == 0
    assert "Wrote" in capsys.readouterr().out
    (records,) = written
    assert {name: record.result for name, record in records.items()} == result


@pytest.mark.parametrize("arguments", ["--write", "C123 --run --write", "--run --write --chapter 14"])
def test_a_part_of_the_ledger_is_not_written(capsys, arguments):
    assert main(["claims", *arguments.split()]) == 2
    assert "use it with --run, without an id or --chapter" in capsys.readouterr().err


def test_an_unknown_chapter_is_one_sentence(capsys):
    assert main(["claims", "--chapter", "99"]) == 2
    assert "no claim in chapter '99'; there are some in 06, 10, 13, 14, 15" in capsys.readouterr().err


# wrapping


@pytest.mark.parametrize("cells", [20, 33, 40, 80])
@pytest.mark.parametrize("text", [questions()["B09"].spoken.zh, questions()["B09"].spoken.en, "词" * 60, "a" * 10])
def test_lines_keep_within_the_width_and_lose_nothing(text, cells):
    lines = terminal.fill(text, "1 ", cells=cells).splitlines()
    assert all(terminal.width(line) <= cells + 2 for line in lines)  # a closing mark may hang over the edge
    assert words("".join(lines)) == words("1 " + text)
    assert not any(line.strip()[0] in terminal.NO_START for line in lines)
    assert lines[0].startswith("1 ") and all(line.startswith("  ") for line in lines[1:])


def test_width_counts_cells():
    assert terminal.width("ab") == 2 and terminal.width("词，") == 4 and terminal.width("e\u0301") == 1
    assert terminal.pad("词", 4) == "词  "
