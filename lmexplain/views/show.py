"""`lmexplain show`: an attention pattern as a page, a figure or a picture in the terminal."""

import argparse
import inspect
import os
import re
import sys
import tempfile
import textwrap
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from ..patterns import Grid, Pattern, parse
from ..patterns.expression import FUNCTIONS, call
from ..text import corpus, read
from ..words import LANGUAGES, word
from .figures import figure
from .pages import page
from .sizes import MOST_TOKENS
from .terminal import picture

__all__ = ["add_arguments", "run", "show", "vocabulary"]

FIGURES = (".svg", ".png", ".pdf")
FIRST_TOKENS = 64               # of a file or document, unless --length asks for more


def show(
    expression: str | Pattern | Grid,
    text: str | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    tokens: Sequence[str] | None = None,
    compare: str | Pattern | None = None,
    length: int | None = None,
    lang: str = "en",
    theme: str = "auto",
    title: str | None = None,
    force: bool = False,
) -> str:
    """Draw `expression` over a text, over `tokens`, or over `length` positions, and say what was made.

    `out`: a file to write, `.html` (a page that needs no network), `.svg`, `.png` or `.pdf`; without it the answer is a
    picture for the terminal. A file that exists is not replaced unless `force`.
    Raises ValueError and TypeError naming what does not fit, FileExistsError for a file that stands in the way.
    """
    pattern = parse(expression) if isinstance(expression, str) else expression
    other = parse(compare) if isinstance(compare, str) else compare
    if text is not None and tokens is not None:
        raise ValueError("both text and tokens given; give one of them")
    shown = read(text, limit=length).tokens if text is not None else None if tokens is None else tokens[:length]
    keys = length if shown is None and isinstance(pattern, Pattern) else None
    target = None if out is None else _target(Path(out), force)
    if target is None:
        return picture(pattern, shown, keys=keys, compare=other, lang=lang)
    if target.suffix.lower() in FIGURES:
        drawn = figure(pattern, shown, keys=keys, compare=other, lang=lang, dark=theme == "dark", title=title)
        with _new(target) as beside:
            drawn.savefig(beside, format=target.suffix[1:].lower(), dpi=200)
    else:
        made = page(pattern, tokens=shown, keys=keys, compare=other, lang=lang, theme=theme, title=title)
        with _new(target) as beside:
            beside.write_text(made, encoding="utf-8", newline="\n")
    return word("show.written", lang, path=target, size=f"{target.stat().st_size / 1000:,.0f}")


def _target(path: Path, force: bool) -> Path:
    """The file to write, if its kind is known, its folder is there and nothing stands in its place."""
    if path.suffix.lower() not in (".html", ".htm", *FIGURES):
        raise ValueError(f"{path.name!r} has no ending that says what to write; end it in .html, {', '.join(FIGURES)}")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!r}; make it, or write elsewhere")
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder; name a file")
    if path.exists() and not force:
        raise FileExistsError(f"{str(path)!r} exists and is kept as it is; choose another name, or add --force")
    return path


class _new:
    """A file beside the target, which takes its place when the block ends well: never half a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __enter__(self) -> Path:
        try:
            handle, name_ = tempfile.mkstemp(dir=self.target.parent, prefix=".lmexplain-", suffix=self.target.suffix)
        except OSError as error:
            raise OSError(f"{str(self.target)!r} can't be written: {error.strerror}; write elsewhere") from None
        os.close(handle)
        self.path = Path(name_)
        return self.path

    def __exit__(self, kind: type | None, *_: object) -> None:
        if kind is not None:
            self.path.unlink(missing_ok=True)
            return
        mask = os.umask(0)
        os.umask(mask)
        self.path.chmod(0o666 & ~mask)              # as any new file; a temporary one is the owner's alone
        self.path.replace(self.target)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `lmexplain show`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = vocabulary()
    parser.add_argument("expression", help='the pattern, such as "window(4) | global_tokens(0)"; see below')
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--text", help="the text whose tokens attend")
    source.add_argument("--file", metavar="PATH", help="a UTF-8 text file instead; - reads what is piped in")
    source.add_argument("--corpus", metavar="NAME", help="a text of the course instead: its first document")
    parser.add_argument("--document", metavar="TITLE", help="another document of it, by title or number from 1")
    parser.add_argument("--length", type=int, metavar="N", help="so many tokens from the start (of a file or corpus: "
                        f"{FIRST_TOKENS}); without a text, so many positions")
    parser.add_argument("--compare", metavar="EXPRESSION", help="a second pattern, to see the difference")
    parser.add_argument("--out", metavar="FILE", help="write FILE.html, .svg, .png or .pdf; without it, a picture here")
    parser.add_argument("--open", action="store_true", help="open what was written in the browser")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--title", help="title of the page or figure")
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="language of labels")
    parser.add_argument("--theme", choices=("auto", "light", "dark"), default="auto", help="of the page or figure")


def vocabulary() -> str:
    """The patterns, with their parameters and a sentence each, as their functions say it."""
    lines = ["patterns, joined by | (or), & (and) and ~ (not):"]
    for name, function in FUNCTIONS.items():
        said = inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0]
        sentence = re.split(r"(?<=[.])(?<!al[.])\s", " ".join(said.split()).replace("`", ""))[0]
        lines += [f"  {call(name)}", *textwrap.wrap(sentence, 76, initial_indent=" " * 6, subsequent_indent=" " * 6)]
    return "\n".join([*lines, "", "A width counts both sides and the token itself: window(4) is ±2, five cells a row,",
                      "as is window(5); window(2) and window(3) are ±1. In quotes, as the shell knows | and & too."])


def run(args: argparse.Namespace) -> int:
    """Run the command; bad input raises ValueError, TypeError, LookupError or OSError in one sentence."""
    if args.length is not None and not 1 <= args.length <= 2**20:
        raise ValueError(f"--length is {args.length}; give 1 or more (a page takes up to {MOST_TOKENS})")
    if args.document is not None and args.corpus is None:
        raise ValueError("--document without --corpus; name the corpus it belongs to")
    text, length = args.text, args.length
    if args.file is not None:
        text = sys.stdin.read() if args.file == "-" else _content(Path(args.file))
    elif args.corpus is not None:
        text = _document(args.corpus, args.document)
    if text is not None and args.text is None:
        length = length or FIRST_TOKENS
    out = args.out
    if args.open and out is None:
        out = Path(tempfile.mkdtemp(prefix="lmexplain-")) / "pattern.html"
    said = show(args.expression, text, out, compare=args.compare, length=length, lang=args.lang, theme=args.theme,
                title=args.title, force=args.force)
    print(said)
    if args.open:
        _open(Path(out).resolve(), args.lang)
    return 0


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{str(path)!r} is no UTF-8 text (byte {error.start + 1}); save it as UTF-8") from None


def _open(path: Path, lang: str) -> None:
    """Open a file in the browser; where there is none, say so."""
    try:
        opened = webbrowser.open(path.as_uri())
    except webbrowser.Error:
        opened = False
    if not opened:
        print(word("show.no_browser", lang, path=path))


def _document(corpus_name: str, title: str | None) -> str:
    """The text of a corpus' document: by its title, its number from 1, or the first."""
    found = corpus(corpus_name)
    number = 1 if title is None else int(title) if title.isdecimal() else 0
    if 1 <= number <= len(found.documents):
        return found.documents[number - 1].text
    return found.document(str(title)).text
