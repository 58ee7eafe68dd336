"""`lmexplain site`: the reference of the package as one page that needs no network and no server.

Every name in the `__all__` of every module stands there with its signature and its docstring, once: where several
modules offer the same object, at the shortest path. The other chapters of the site join here.
"""

from __future__ import annotations

import argparse
import ast
import html
import importlib
import inspect
import itertools
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import lmexplain

__all__ = ["Entry", "Room", "add_arguments", "page", "rooms", "run"]

EMPHASIS = r"(?<![\w*(,])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"        # *so*, but neither *args nor 2 * 3 * 4
TEMPLATE = Path(__file__).with_suffix(".html")


@dataclass(frozen=True)
class Entry:
    """A public name: its full path, what it is (function, class, value, …), how it is called, and what it says."""

    path: str
    kind: str
    signature: str
    doc: str
    members: tuple[Entry, ...] = ()

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True)
class Room:
    """A module: its docstring, the names that are described here, and (name, anchor) of those described elsewhere."""

    path: str
    doc: str
    entries: tuple[Entry, ...]
    elsewhere: tuple[tuple[str, str], ...]

    @property
    def anchor(self) -> str:
        """Its place on the page; a module and a function may share their path, as `lmexplain.study.ask` does."""
        return f"module-{self.path}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `lmexplain site`."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write into (made if absent)")


def run(args: argparse.Namespace) -> int:
    """Write `reference.html` into the folder and say where it is."""
    if args.out.exists() and not args.out.is_dir():
        raise ValueError(f"--out {args.out} is a file; name a folder")
    args.out.mkdir(parents=True, exist_ok=True)
    target = args.out / "reference.html"
    target.write_text(page(rooms()), encoding="utf-8", newline="\n")
    print(target)
    return 0


# ------------------------------------------------------------------------------------------------ reading the package

def rooms() -> tuple[Room, ...]:
    """Every public module of the package, outermost first."""
    modules = [lmexplain, *(importlib.import_module(name) for name in _module_names())]
    home: dict[int, str] = {id(module): f"module-{module.__name__}" for module in modules}    # object -> its anchor
    for module in modules:
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isroutine(thing) or inspect.isclass(thing):
                home.setdefault(id(thing), f"{module.__name__}.{name}")
    return tuple(_room(module, home) for module in modules)


def _module_names() -> list[str]:
    """Names of the package's modules, by depth and then by alphabet; names with an underscore are private."""
    found = (info.name for info in pkgutil.walk_packages(lmexplain.__path__, "lmexplain."))
    public = [name for name in found if not any(part.startswith("_") for part in name.split("."))]
    return sorted(public, key=lambda name: (name.count("."), name))


def _room(module: ModuleType, home: dict[int, str]) -> Room:
    entries, elsewhere = [], []
    comments = _value_docs(module)
    for name in module.__all__:
        thing, path = getattr(module, name), f"{module.__name__}.{name}"
        described = home.get(id(thing), path)
        if described == path:
            entries.append(_entry(path, thing, comments.get(name, "")))
        else:
            elsewhere.append((name, described))
    return Room(module.__name__, inspect.getdoc(module) or "", tuple(entries), tuple(elsewhere))


def _entry(path: str, thing: Any, comment: str) -> Entry:
    if inspect.isclass(thing):
        members = tuple(_entry(f"{path}.{name}", member, "") for name, member in _members(thing))
        return Entry(path, "class", _signature(thing), _own_doc(thing), members)
    if isinstance(thing, property):
        return Entry(path, "property", "", inspect.getdoc(thing) or "")
    if inspect.isroutine(thing):
        return Entry(path, "function", _signature(thing), inspect.getdoc(thing) or "")
    return Entry(path, "value", f" = {_short(thing)}", comment)


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties that the class itself defines and describes, in the order written."""
    for name, member in vars(cls).items():
        function = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if not name.startswith("_") and (inspect.isfunction(function) or isinstance(member, property)):
            home = getattr(function, "__module__", cls.__module__)
            if function.__doc__ and home.startswith("lmexplain"):       # its own: torch and matplotlib describe theirs
                yield name, function


def _own_doc(cls: type) -> str:
    """The class's docstring; not its parent's, and not the signature that a dataclass writes for itself."""
    doc = inspect.cleandoc(cls.__doc__ or "")
    return "" if doc.startswith(f"{cls.__name__}(") else doc


def _signature(thing: Callable[..., Any]) -> str:
    """The call as one writes it: annotations and defaults as in the source, nothing that changes from run to run."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    parameters = [parameter.replace(annotation=_plain(parameter.annotation), default=_plain_default(parameter.default))
                  for parameter in signature.parameters.values()]
    result = _plain(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty if
                                 inspect.isclass(thing) else result))


class _Plain:
    """Text that prints itself without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _plain(annotation: Any) -> Any:
    return _Plain(annotation) if isinstance(annotation, str) else annotation


def _plain_default(default: Any) -> Any:
    named = inspect.isroutine(default) or inspect.isclass(default) and default is not inspect.Parameter.empty
    return _Plain(default.__name__) if named else default


def _short(value: Any) -> str:
    text = re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    return textwrap.shorten(text, 100, placeholder=" …")


def _value_docs(module: ModuleType) -> dict[str, str]:
    """What is said of a module's values: a string right below the assignment, or `#:` lines right above it."""
    lines = inspect.getsource(module).splitlines()
    body = ast.parse("\n".join(lines)).body
    docs: dict[str, str] = {}
    for statement, following in zip(body, [*body[1:], None], strict=True):
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            text = inspect.cleandoc(str(following.value.value))
        else:
            above = statement.lineno - 1
            first = above
            while first > 0 and lines[first - 1].startswith("#:"):
                first -= 1
            text = " ".join(line[2:].strip() for line in lines[first:above])
        docs.update(dict.fromkeys(names, text))
    return docs


# ------------------------------------------------------------------------------------------------ writing the page

def page(reference: tuple[Room, ...]) -> str:
    """The rooms as one HTML page; every text of the package is escaped."""
    parts = {
        "version": html.escape(lmexplain.__version__),
        "contents": _contents(reference),
        "rooms": "\n".join(_room_html(room) for room in reference),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], TEMPLATE.read_text(encoding="utf-8"))


def _contents(reference: tuple[Room, ...]) -> str:
    """The rooms as a list; what lies inside one is folded under it."""
    lines = []
    for room in reference:
        inner = [each for each in reference if each.entries and each.path.startswith(f"{room.path}.")
                 and each.path.count(".") > 1 and room.path.count(".") == 1]
        if room.path.count(".") > 1 or not (room.entries or inner):
            continue
        within = "".join(f"<li>{_link(each)}</li>" for each in inner)
        fold = f"<details><summary>inside</summary><ul>{within}</ul></details>" if inner else ""
        lines.append(f"<li>{_link(room)}{fold}</li>")
    return "\n".join(lines)


def _link(room: Room) -> str:
    return f'<a href="#{room.anchor}">{room.path}</a>'


def _room_html(room: Room) -> str:
    elsewhere = ", ".join(f'<a href="#{anchor}"><code>{name}</code></a>' for name, anchor in room.elsewhere)
    also = f'<p class="also">Also here: {elsewhere}.</p>' if elsewhere else ""
    entries = "\n".join(_entry_html(entry) for entry in room.entries)
    title = f"<h2><code>{room.path}</code></h2>"
    return f'<section id="{room.anchor}">{title}\n{prose(room.doc)}\n{also}\n{entries}</section>'


def _entry_html(entry: Entry) -> str:
    inner = "\n".join(_entry_html(member) for member in entry.members)
    call = f"<code><b>{html.escape(entry.name)}</b>{html.escape(entry.signature)}</code>"
    title = f'<h3><a href="#{entry.path}">{call}</a> <small>{entry.kind}</small></h3>'
    return f'<article id="{entry.path}" data-name="{entry.path}">{title}\n{prose(entry.doc)}\n{inner}</article>'


def prose(doc: str) -> str:
    """A docstring as HTML: paragraphs, lists and indented or `>>>` examples, with `code` in backquotes."""
    blocks = re.split(r"\n\s*\n", doc.strip()) if doc.strip() else []
    return "\n".join(_block(block) for block in blocks)


def _block(block: str) -> str:
    lines = block.splitlines()
    if lines[0].startswith("- "):
        return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in re.split(r"\n- ", block[2:])) + "</ul>"
    words = list(itertools.takewhile(lambda line: not line.startswith((">>>", "    ")), lines))
    example = html.escape(textwrap.dedent("\n".join(lines[len(words):])))
    return (f"<p>{_inline(' '.join(words))}</p>" if words else "") + (f"<pre>{example}</pre>" if example else "")


def _inline(text: str) -> str:
    escaped = html.escape(re.sub(r"::$", ":", text))
    pieces = re.split(r"(`{1,2})([^`]+)\1", escaped)           # text, quotes, code, text, …
    pieces[0::3] = [re.sub(EMPHASIS, r"<em>\1</em>", piece) for piece in pieces[0::3]]
    pieces[1::3] = ["<code>"] * len(pieces[1::3])
    pieces[2::3] = [f"{code}</code>" for code in pieces[2::3]]
    return "".join(pieces)
