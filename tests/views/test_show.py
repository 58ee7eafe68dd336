"""`lmexplain show`: pages, figures and a picture in the terminal; nothing is overwritten, errors are one sentence."""

import operator
import re
import sys
import webbrowser
from functools import reduce
from typing import Any

import pytest

from lmexplain import patterns as P
from lmexplain.cli import main
from lmexplain.patterns.expression import EXAMPLES, FUNCTIONS, call
from lmexplain.study.terminal import width
from lmexplain.views.figures import figure
from lmexplain.views.show import show
from lmexplain.views.sizes import prepare
from lmexplain.views.terminal import picture

EXPRESSION = "window(2) | global_tokens(0)"
TEXT = "the cat sat on the mat"


def run(capsys, *arguments):
    status = main(["show", *map(str, arguments)])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_the_terminal_shows_the_very_cells(capsys):
    status, out, err = run(capsys, EXPRESSION, "--text", TEXT)
    assert (status, err) == (0, "")
    rows = [line.split()[1:] for line in out.splitlines()[2:8]]
    n = 6
    expected = [["W" if abs(q - k) <= 1 else "G" if 0 in (q, k) else "·" for k in range(n)] for q in range(n)]
    assert rows == expected
    assert [line.split()[0] for line in out.splitlines()[2:8]] == TEXT.split()
    flat = sum(expected, [])
    assert f"W  window 2: {flat.count('W')}" in out and f"G  global 0: {flat.count('G')}" in out
    assert f"allowed pairs: {36 - flat.count('·')} of 36" in out and "--out page.html" in out


def test_the_terminal_in_chinese(capsys):
    status, out, _ = run(capsys, EXPRESSION, "--text", "语言模型", "--lang", "zh")
    assert status == 0 and "窗口 2: 10" in out and "不可关注" in out
    assert any(line.startswith("语  ") for line in out.splitlines())


def test_hundreds_of_parts_have_their_reasons():
    grid = reduce(operator.or_, (P.cells((t, 0)) for t in range(300))).at(300)
    assert grid.reasons()[:, 0].tolist() == list(range(300))
    assert "300 of" in picture(grid)


def test_letters_differ_even_for_parts_of_one_kind():
    out = picture(P.window(2) | P.window(2, 3) | P.random(1) | P.random(1, seed=5), keys=12)
    letters = [line.split()[0] for line in out.splitlines() if line.startswith("  ") and ": " in line]
    assert len(set(letters)) == 4


def test_long_pictures_are_gathered(capsys):
    _, out, _ = run(capsys, "causal()", "--length", 1000)
    rows = [line.split()[1:] for line in out.splitlines()[2:34]]
    assert len(rows) == 32 and all(len(row) == 32 for row in rows)
    assert all(cell == ("C" if k <= q else "·") for q, row in enumerate(rows) for k, cell in enumerate(row) if q != k)
    assert "32 × 32 pairs" in out and "allowed pairs: 500,500 of 1,000,000" in out


def test_pictures_beyond_cells_are_by_blocks():
    out = picture(P.causal(), keys=32768)
    rows = [line.split()[1:] for line in out.splitlines()[2:34]]
    assert all(cell == ("C" if k <= q else "·") for q, row in enumerate(rows) for k, cell in enumerate(row) if q != k)
    assert f"{32768 * 32769 // 2:,} of {32768**2:,}" in out


def test_a_comparison_in_the_terminal(capsys):
    _, out, _ = run(capsys, "causal()", "--compare", "window(2)", "--length", 4)
    assert [line.split()[1:] for line in out.splitlines()[2:6]] == [
        list("=+··"), list("==+·"), list("-==+"), list("--==")]
    assert "causal: allowed pairs: 10 of 16" in out and "window 2: allowed pairs: 10 of 16" in out


@pytest.mark.parametrize(
    ("name", "start"),
    [("page.html", b"<!doctype html>"), ("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"),
     ("带 空格.HTML", b"<!doctype html>")],
)  # fmt: skip
def test_each_kind_of_file_is_written(capsys, tmp_path, name, start):
    path = tmp_path / name
    more = "--compare", "causal()", "--theme", "dark"
    status, out, err = run(capsys, EXPRESSION, "--text", TEXT, "--out", path, *more)
    assert (status, err) == (0, "") and path.read_bytes().startswith(start)
    assert str(path) in out and "kB" in out
    assert list(tmp_path.iterdir()) == [path], "nothing is left beside it"


def test_a_file_that_exists_is_kept(capsys, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("mine", encoding="utf-8")
    status, out, err = run(capsys, EXPRESSION, "--out", path)
    assert status == 2 and out == "" and "exists" in err and "--force" in err and len(err.splitlines()) == 1
    assert path.read_text(encoding="utf-8") == "mine"
    assert run(capsys, EXPRESSION, "--out", path, "--force")[0] == 0
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_failure_leaves_the_old_file_and_no_half_one(capsys, tmp_path, monkeypatch):
    path = tmp_path / "a.svg"
    path.write_text("mine", encoding="utf-8")

    def fail(self, fname, **_):
        fname.write_bytes(b"half")
        raise OSError("the disk is full")

    monkeypatch.setattr("lmexplain.views.figures.Drawing.savefig", fail)
    status, _, err = run(capsys, EXPRESSION, "--out", path, "--force")
    assert status == 2 and "disk is full" in err
    assert path.read_text(encoding="utf-8") == "mine" and list(tmp_path.iterdir()) == [path]


def test_text_from_a_file(capsys, tmp_path):
    path = tmp_path / "my text.txt"
    path.write_bytes("\ufeff语言 模型\r\n".encode() + b"word " * 100)
    _, out, _ = run(capsys, "causal()", "--file", path, "--length", 5)
    assert [line.split()[0] for line in out.splitlines()[2:7]] == ["语", "言", "模", "型", "word"]
    _, out, _ = run(capsys, "causal()", "--file", path)
    assert "64 × 64" in out


def test_text_from_a_corpus(capsys):
    _, out, _ = run(capsys, "causal()", "--corpus", "declaration-zh", "--length", 4)
    assert "4 × 4" in out
    _, first, _ = run(capsys, "causal()", "--corpus", "handbook-en", "--document", 1, "--length", 6)
    _, second, _ = run(capsys, "causal()", "--corpus", "handbook-en", "--document", 2, "--length", 6)
    assert first != second


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["window(4"], "window"),
        (["__import__('os')"], "__import__"),
        (["window(0)"], "width is 0, the least is 1"),
        (["widow(4)"], "no pattern 'widow'"),
        (["window(4, step=2)"], "no parameter 'step'; it is called window(width, dilation=1), for example window("),
        (["permutation()"], "order is missing; it is called permutation(order, stream='content'), for example"),
        (["xlnet()"], "xlnet: order is missing"),
        (["unilm()"], "setting is missing"),
        (["prefix()"], "prefix: length is missing"),
        (["window(4, 2, 3)"], "3 values, but it takes 2"),
        (["causal(1)"], "1 values, but it takes none"),
        (["window(4, width=3)"], "width is given twice"),
        (["causal()", "--text", " "], "no token"),
        (["causal()", "--length", "0"], "--length is 0"),
        (["causal()", "--document", "1"], "--corpus"),
        (["causal()", "--corpus", "nope"], "nope"),
        (["causal()", "--corpus", "declaration-zh", "--document", "99"], "99"),
        (["causal()", "--file", "/no/such/file"], "/no/such/file"),
        (["causal()", "--file", sys.executable], f"{sys.executable!r} is no UTF-8 text (byte "),
        (["causal()", "--out", "page.doc"], "page.doc"),
        (["causal()", "--out", "/no/such/folder/page.html"], "no folder '/no/such/folder'"),
        (["global_tokens(50)", "--text", "a b"], "position 50 is not among the 2 keys"),
        (["causal()", "--length", "5000", "--out", "OUT"], "5000 queries by 5000 keys are more"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_bad_input_ends_in_one_sentence_and_status_2(capsys, tmp_path, arguments, said):
    arguments = [str(tmp_path / "page.html") if each == "OUT" else each for each in arguments]
    status, out, err = run(capsys, *arguments)
    assert status == 2 and out == "" and said in err and len(err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_place_that_takes_no_file_is_named(capsys, tmp_path, monkeypatch, force):
    """Not the passing name of the file beside it, and nothing is left there."""
    (tmp_path / "folder.html").mkdir()
    status, _, err = run(capsys, "causal()", "--out", tmp_path / "folder.html", *force)
    assert (status, "folder.html' is a folder" in err) == (2, True)

    def refused(**_: Any) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path / ".lmexplain-x.html"))

    monkeypatch.setattr("tempfile.mkstemp", refused)
    status, _, err = run(capsys, "causal()", "--out", tmp_path / "page.html", *force)
    assert status == 2 and "page.html' can't be written: Permission denied" in err and ".lmexplain-" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]


def test_open_shows_what_was_written(capsys, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    run(capsys, EXPRESSION, "--out", tmp_path / "page.html", "--open")
    assert opened == [(tmp_path / "page.html").as_uri()]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    status, out, _ = run(capsys, EXPRESSION, "--open")
    assert status == 0 and opened[1].endswith("pattern.html") and "pattern.html" in out
    assert "no browser" not in out


def none_found(url):
    raise webbrowser.Error("could not locate runnable browser")


@pytest.mark.parametrize("open_", [lambda url: False, none_found])
def test_without_a_browser_the_file_is_named(capsys, tmp_path, monkeypatch, open_):
    monkeypatch.setattr(webbrowser, "open", open_)
    status, out, _ = run(capsys, EXPRESSION, "--out", tmp_path / "page.html", "--open")
    assert status == 0 and f"no browser was found here; open {tmp_path / 'page.html'}" in out


@pytest.mark.parametrize("columns", [20, 50, 80])
@pytest.mark.parametrize("text", [TEXT * 9, "一个很长的句子" * 4])
def test_the_picture_keeps_to_the_terminal(capsys, monkeypatch, columns, text):
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = run(capsys, "window(4)", "--text", text)
    rows = out.partition("\n\n")[2].partition("\n\n")[0].splitlines()
    assert rows and all(width(row) <= columns for row in rows)
    assert ("gathers" in out) == (columns < 80 or text[0] == "t")


@pytest.mark.parametrize(("expression", "counts"), [
    ("causal() & window(3)", ["causal and window 3: 31"]),
    ("window(3) & causal() & ~cells((0, 0))", ["window 3 and causal and not 1 cells by hand: 30"]),
    ("(window(2) | global_tokens(0)) & padding([1, 1, 1, 0])",
     ["window 2 and real tokens: 8", "global 0 and real tokens: 3"]),
    ("transformer_xl(2, same_length=True)", None), ("window(2) | causal()", ["window 2: 46", "causal: 105"]),
])
def test_a_pair_counts_for_the_part_that_allows_it_and_no_part_counts_nothing(expression, counts):
    pattern = P.parse(expression)
    out, legend = picture(pattern), [t.get_text() for t in figure(pattern).legends[0].get_texts()]
    lines = [line[5:] for line in out.splitlines() if re.match(r"  \S  .*: [\d,]+$", line)]
    assert not any(line.endswith(": 0") for line in lines)
    assert [int(line.rpartition(" ")[2]) for line in lines] == [
        int(line.rpartition("pairs: ")[2].replace(",", "")) for line in legend[:-1]], "the figure counts the same"
    grid = prepare(pattern)[0]
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == grid.pairs()
    if counts:
        assert lines == counts


def test_a_gathered_comparison_says_what_its_signs_are(capsys):
    _, out, _ = run(capsys, "window(4)", "--compare", "window(8)", "--length", 64)
    assert "each sign gathers 2 × 2 pairs" in out and "capital" not in out


def test_help_lists_every_pattern_with_its_parameters(capsys):
    with pytest.raises(SystemExit):
        main(["show", "--help"])
    out = capsys.readouterr().out
    assert set(EXAMPLES) == set(FUNCTIONS)
    for name in FUNCTIONS:
        assert f"  {call(name)}\n" in out
        assert isinstance(P.parse(EXAMPLES[name]), P.Pattern)
    assert "window(width, dilation=1)" in out and "window(4) is ±2" in out and "(Yang et al.\n" not in out
    assert P.window(4).at(9).dense()[4].sum() == 5 and P.window(2).at(9).dense().equal(P.window(3).at(9).dense())


def test_patterns_and_grids_can_be_shown_too(tmp_path):
    assert "2 × 5" in show(P.causal().at(2, 5))
    assert "wrote" in show(P.causal(), tokens=["a", "b"], out=tmp_path / "a.svg")
    with pytest.raises(ValueError, match="both text and tokens"):
        show(P.causal(), "a", tokens=["a"])
