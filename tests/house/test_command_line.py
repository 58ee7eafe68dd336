"""The command line: light help, one sentence for a bad input, any locale, a closed pipe, Ctrl-C."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import pytest

import lmexplain
from lmexplain import cli


def command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "lmexplain", *words], capture_output=True, text=True, encoding="utf-8",
                          env={**os.environ, **environment})


@pytest.fixture
def probe(monkeypatch):
    """A command of the test's own: `probe` runs the function that the test sets."""
    module = argparse.Namespace(add_arguments=lambda parser: parser.add_argument("--n", type=int), run=lambda args: 0)
    monkeypatch.setitem(cli.COMMANDS, "probe", cli.Command("probe", "a command of the test's own"))
    monkeypatch.setattr(cli.Command, "load", lambda self: module)
    return module


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_can_be_run_and_explains_itself(name):
    module = cli.COMMANDS[name].load()
    assert callable(module.run)
    run = command(name, "--help")
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"usage: lmexplain {name}")


def test_help_lists_the_commands_and_loads_none_of_them():
    code = ("import sys\nfrom lmexplain.cli import main\n"
            "try: main(['--help'])\nexcept SystemExit: pass\n"
            "print('LOADED', [name for name in ('torch', 'matplotlib', 'lmexplain.views', 'lmexplain.study', 'yaml') "
            "if name in sys.modules])")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8").stdout
    assert "LOADED []" in out
    assert all(f"    {name} " in out for name in cli.COMMANDS)
    assert command().stdout == command("--help").stdout


def test_version():
    assert command("--version").stdout.strip() == f"lmexplain {lmexplain.__version__}"


@pytest.mark.parametrize("error", [ValueError("width 0 is below 1;\nname a width from 1"), KeyError("no question X1"),
                                   FileNotFoundError(2, "No such file", "x.txt"), ImportError("needs plotly")])
def test_a_bad_input_is_one_sentence_and_status_2(probe, capsys, error):
    def fail(args):
        raise error

    probe.run = fail
    assert cli.main(["probe"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("lmexplain: ")
    assert "Traceback" not in err and "'no question" not in err
    with pytest.raises(type(error)):
        cli.main(["--traceback", "probe"])


def test_the_status_of_a_command_is_the_status_of_the_program(probe):
    probe.run = lambda args: args.n
    assert cli.main(["probe", "--n", "3"]) == 3


def test_a_mistake_in_the_program_is_not_dressed_up(probe):
    def fail(args):
        raise ZeroDivisionError

    probe.run = fail
    with pytest.raises(ZeroDivisionError):
        cli.main(["probe"])


def test_unknown_arguments_are_named_unless_the_command_passes_them_on(probe, capsys, monkeypatch):
    with pytest.raises(SystemExit) as stop:
        cli.main(["probe", "--colour", "red"])
    assert stop.value.code == 2
    assert "--colour red" in capsys.readouterr().err
    seen = []
    probe.run = lambda args: seen.extend(args.rest) or 0
    monkeypatch.setitem(cli.COMMANDS, "probe", cli.Command("probe", "passes on", passes_on=True))
    assert cli.main(["probe", "--no-browser", "--port", "8899", "--n", "1"]) == 0
    assert seen == ["--no-browser", "--port", "8899"]


def test_ctrl_c_ends_quietly(probe, capsys):
    def interrupt(args):
        raise KeyboardInterrupt

    probe.run = interrupt
    assert cli.main(["probe"]) == 130
    assert capsys.readouterr().err.strip() == ""


PRINTER = """
import sys
from types import SimpleNamespace
from lmexplain import cli
cli.COMMANDS["probe"] = cli.Command("probe", "prints")
module = SimpleNamespace(add_arguments=lambda parser: None, run=lambda args: print({text}) or 0)
cli.Command.load = lambda self: module
sys.exit(cli.main(["probe"]))
"""


def test_chinese_is_printed_under_any_locale():
    poor = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "latin-1"}
    run = subprocess.run([sys.executable, "-c", PRINTER.format(text=ascii("语言模型 é"))],
                         capture_output=True, env=poor)
    assert run.stdout.decode("utf-8").strip() == "语言模型 é", run.stderr


@pytest.mark.skipif(os.name == "nt", reason="a closed pipe is another error on Windows")
def test_a_closed_pipe_ends_quietly():
    process = subprocess.Popen([sys.executable, "-c", PRINTER.format(text="'x' * 1_000_000")],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141
