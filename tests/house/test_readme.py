"""What the README tells a newcomer to type can be typed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys

import pytest

from lmexplain import cli
from tests.house.lowest import ROOT
from tests.house.readme import current

README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


COMMANDS = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("lmexplain ")]


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_understood(line):
    words = shlex.split(line, comments=True)[1:]
    args = cli._parser(chosen=words[0]).parse_args(words)
    assert args.command == words[0]


@pytest.mark.parametrize("line", [line for line in COMMANDS if " show " in line])
def test_every_picture_is_drawn(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [word for word in shlex.split(line, comments=True)[1:] if word != "--open"]
    assert cli.main(words) == 0
    if "--out" in words:
        assert (tmp_path / words[words.index("--out") + 1]).stat().st_size > 1000
    else:
        assert len(capsys.readouterr().out.splitlines()) > 5


@pytest.mark.parametrize(("block", "holds"), [
    (0, "out.shape == q.shape"),
    (1, "all(torch.equal(again.state_dict()[name], x) for name, x in bert.state_dict().items())"),
])  # fmt: skip
def test_the_python_of_the_tour_runs(block, holds, tmp_path):
    code = blocks("python")[block]
    run = subprocess.run([sys.executable, "-"], input=f"{code}\nassert {holds}", cwd=tmp_path,
                         capture_output=True, text=True, encoding="utf-8")
    assert run.returncode == 0, run.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="Windows users go without make")
def test_every_make_command_is_a_target_and_every_target_is_told():
    targets = set(re.findall(r"^([a-z]+):.*##", MAKEFILE, re.MULTILINE))
    told = set(re.findall(r"`make ([a-z]+)|^make ([a-z]+)", README, re.MULTILINE))
    assert {first or second for first, second in told} <= targets
    assert f".PHONY: {' '.join(['help', 'lab', 'test'])}" in MAKEFILE
    listed = subprocess.run(["make", "-C", str(ROOT), "help"], capture_output=True, text=True, encoding="utf-8").stdout
    assert set(re.findall(r"^  make ([a-z]+)", listed, re.MULTILINE)) == targets


def test_the_table_of_the_models_is_current():
    assert current(README) == README, "run `make verify`, or `python -m tests.house.readme` where only words changed"


def test_links_lead_to_files():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


@pytest.mark.skipif(shutil.which("bash") is None, reason="Windows users go without bash")
def test_the_scripts_are_shell():
    assert subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")]).returncode == 0
    tiers = re.search(r"for tier in (.*); do", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert tiers and tiers[1].split() == ["test", "book", "sweep", "oldest"]
