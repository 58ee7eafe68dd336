"""The explorers' ES modules, joined for inlining, and values made safe to stand inside a page.

A page that asks nobody for anything can't import files. So the modules an entry needs are joined in order, their
`import {…} from "./x.js";` lines and leading `export ` taken away: one scope, in which every top-level name is unique.
"""

import json
import re
import zlib
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

from ..words import LANGUAGES, words
from .palette import palette

__all__ = ["JS", "as_json", "explorer", "join", "lean", "packed", "safe_script", "shared"]

JS = Path(__file__).with_name("js")

# Statements at top level start at the first column, hence the (?m)^.
_IMPORT = re.compile(r'(?m)^import\s*\{(?P<names>[^}]*)\}\s*from\s*"\./(?P<file>[\w.-]+\.js)";[^\S\n]*(?:\n|\Z)')
_EXPORT = re.compile(r"(?m)^export\s+(?=(?:async\s+)?function\b|const\b|let\b|class\b)")
_LEFT_OVER = re.compile(r"(?m)^(?:import\b|export\b).*|\bimport\s*\(.*")
_TOP_LEVEL = re.compile(r"(?m)^(?:async\s+)?(?:function\s*\*?|const|let|var|class)\s+(\{[^}]*\}|\[[^\]]*\]|[\w$]+)")


def join(entry: Path) -> str:
    """The text of `entry` and all it imports, each file once, imported before importing.

    Raises ValueError where a file is missing, imports in a circle, uses another form of import or export than
    `import {…} from "./x.js";` and `export function|const|let|class`, or two files share a top-level name.
    """
    order = _order(entry, ())
    owner: dict[str, Path] = {}
    for path in order:
        for name in _names(_body(path)):
            if name in owner:
                raise ValueError(f"{owner[name].name} and {path.name} both define {name} at top level; rename one")
            owner[name] = path
    return "\n".join(_body(path).strip() for path in order) + "\n"


def _order(path: Path, above: tuple[Path, ...]) -> list[Path]:
    """`path` after all it imports, depth first."""
    if path in above:
        circle = " → ".join(each.name for each in (*above, path))
        raise ValueError(f"modules import in a circle: {circle}; move what they share into a module of its own")
    if not path.is_file():
        raise ValueError(f"{above[-1].name if above else 'the entry'} wants {path.name}, which is not in {path.parent}")
    order: list[Path] = []
    for found in _IMPORT.finditer(path.read_text(encoding="utf-8")):
        if " as " in found["names"]:
            raise ValueError(f"{path.name} renames an import ({found['names'].strip()}); joined, names are shared")
        order += [p for p in _order(path.parent / found["file"], (*above, path)) if p not in order]
    return [*order, path]


def _body(path: Path) -> str:
    """A module without its imports and exports."""
    text = _EXPORT.sub("", _IMPORT.sub("", path.read_text(encoding="utf-8")))
    if found := _LEFT_OVER.search(text):
        raise ValueError(f"{path.name}: {found[0].strip()[:60]!r} can't be joined; "
                         'write import {…} from "./x.js"; and export function, const, let or class')
    return text


def _names(text: str) -> list[str]:
    """The names a module declares at top level."""
    return [name for found in _TOP_LEVEL.finditer(text) for name in re.findall(r"[\w$]+", found[1])]


def as_json(value: Any) -> str:
    """`value` as JSON that can stand inside `<script>` and in JavaScript source: no `<`, no U+2028, no half pairs.

    Raises ValueError for NaN and infinities, which JSON does not know.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub("[<\u2028\u2029\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def safe_script(code: str) -> str:
    """JavaScript that can stand inside `<script>`: the two texts that would end it are written with a backslash.

    Both can only occur in a string, a template or a regular expression, where the backslash changes nothing.
    """
    return re.sub(r"<(?=/script|!--)", r"<\\", code, flags=re.IGNORECASE)


def lean(code: str) -> str:
    """`code` without indentation and without lines that are nothing but comment: what a page carries, a fifth shorter.

    It goes by lines and does not read JavaScript: in a template text, blanks that begin a line and lines that begin
    with `//` would go too. The source to read is in the repository.
    """
    code = re.sub(r"(?m)^[ \t]+", "", code)
    code = re.sub(r"(?ms)^/\*(?:(?!\*/).)*\*/[ \t]*\n", "", code)
    return re.sub(r"(?m)^(?://.*)?\n", "", code)


@cache
def explorer() -> str:
    """The joined source of the explorer with its homes, `settle` and `widget`."""
    return lean(join(JS / "home.js"))


@cache
def shared() -> dict[str, Any]:
    """What every explorer's state shares: the interface words of both languages and the palette."""
    return {"words": {lang: words(lang, "explorer.") for lang in LANGUAGES}, "palette": palette()}


@cache
def packed() -> str:
    """The explorer as a module of its own, with what all share, deflated, in base64: a third of its length.

    A notebook holds one copy in each output, since an output must live alone.
    """
    module = f"{explorer()}\nexport const shared = {as_json(shared())};\nexport {{ settle }};\n"
    return b64encode(zlib.compress(module.encode(), 9)).decode("ascii")
