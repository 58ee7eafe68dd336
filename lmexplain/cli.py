"""The command line: `lmexplain lab | show | models | claims | ask | site`.

Each command lives in a module of its own, with `add_arguments(parser)` and `run(args) -> int`, and is imported only
when it is asked for: `lmexplain --help` loads neither torch nor matplotlib.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from lmexplain import __version__

__all__ = ["COMMANDS", "Command", "main"]


@dataclass(frozen=True)
class Command:
    """A subcommand: the module that runs it, its line in the help, and whether unknown options are passed on."""

    module: str
    help: str
    passes_on: bool = False

    def load(self) -> ModuleType:
        """The module, imported now."""
        return importlib.import_module(self.module)


#: The subcommands, in the order a newcomer meets them.
COMMANDS: dict[str, Command] = {
    "lab": Command("lmexplain.lab", "open the course in JupyterLab", passes_on=True),
    "show": Command("lmexplain.views.show", "draw an attention pattern as a page or a figure"),
    "models": Command("lmexplain.study.models", "list the models, their sizes and how each was proved"),
    "claims": Command("lmexplain.study.claims", "list the sources' claims and what became of them"),
    "ask": Command("lmexplain.study.ask", "be asked an interview question in the terminal"),
    "site": Command("lmexplain.site", "write the reference of the package as a page"),
}

INTERRUPTED = 130      # 128 + SIGINT, as shells have it
PIPE_CLOSED = 141      # 128 + SIGPIPE
BAD_INPUT = 2          # as argparse has it


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with these arguments (default: the process's own) and return its exit status.

    A bad input ends with one sentence on stderr and status 2; `--traceback` shows where it came from instead.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    _speak_utf8()
    try:
        status = _run(argv)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:         # the reader, `head` perhaps, has seen enough: let the last flush go nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except (ValueError, TypeError, LookupError, OSError, ImportError) as error:
        if "--traceback" in argv:
            raise
        print(f"lmexplain: {_sentence(error)}", file=sys.stderr)
        return BAD_INPUT


def _run(argv: list[str]) -> int:
    name = next((word for word in argv if not word.startswith("-")), None)
    parser = _parser(chosen=name)
    args, rest = parser.parse_known_args(argv)
    command = COMMANDS.get(args.command)
    if command is None:
        parser.print_help()
        return 0
    if rest and not command.passes_on:
        parser.error(f"unknown arguments: {' '.join(rest)}; `lmexplain {args.command} --help` lists the known ones")
    args.rest = rest
    return command.load().run(args)


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    """The parser; only the chosen command's own arguments are loaded."""
    parser = argparse.ArgumentParser(
        prog="lmexplain",
        description="A course and laboratory for pretrained language models.",
        epilog="`lmexplain COMMAND --help` explains one command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"lmexplain {__version__}")
    parser.add_argument("--traceback", action="store_true", help="on an error, show where it came from")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, command in COMMANDS.items():
        sub = commands.add_parser(name, help=command.help, description=_capital(command.help), allow_abbrev=False)
        if name == chosen:
            command.load().add_arguments(sub)
    return parser


def _capital(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _sentence(error: BaseException) -> str:
    """The error as one line; a KeyError's own text would come in quotes."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(text.split()) or type(error).__name__


def _speak_utf8() -> None:
    """Chinese must not fail where the locale knows only Latin letters."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and (stream.encoding or "").lower().replace("-", "") != "utf8":
            stream.reconfigure(encoding="utf-8", errors="replace")
