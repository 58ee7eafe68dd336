"""The explorer as HTML: a notebook's output, and the standalone page.

Neither asks the network for anything. What came from the user is escaped, or stands in JSON that can't end its script.
"""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from typing import Any

from ..patterns import Grid, Pattern
from ..text import Encoding
from ..words import LANGUAGES, word, words
from . import fonts
from .modules import as_json, explorer, packed, safe_script, shared
from .names import name
from .palette import theme as theme_of
from .poster import poster
from .sizes import prepare
from .state import state_of

__all__ = ["output", "page", "shown_by"]

HTML_LANGUAGE = {"en": "en", "zh": "zh-Hans"}


def page(
    pattern: Pattern | Grid,
    text: str | None = None,
    tokens: Sequence[str] | Encoding | None = None,
    *,
    compare: Pattern | Grid | None = None,
    queries: int | None = None,
    keys: int | None = None,
    start: int | None | str = "end",
    lang: str = "en",
    theme: str = "auto",
    mode: str | None = None,
    title: str | None = None,
) -> str:
    """A standalone HTML page with the explorer of `pattern` over a text, over `tokens`, or over so many positions.

    It opens from a disk without a network; its own policy forbids every request. Up to 4096 tokens. `theme`: "auto"
    (the reader's system), "light" or "dark". `mode`: where it begins, as in `explore`. `title`: of the page, by default
    the pattern's name.
    Raises TypeError and ValueError naming what does not fit.
    """
    if text is not None and tokens is not None:
        raise ValueError("both text and tokens given; give one of them")
    grid, shown = prepare(pattern, text if text is not None else tokens, queries, keys, start)
    state = state_of(grid, shown, compare, lang, theme, mode) | {"link": True, "font": fonts.FAMILY}
    image, alt = poster(grid, shown, compare, lang, theme)
    data, heading = as_json(state), title or f"{name(grid.pattern, lang)} · lmexplain"
    key = _key(data)
    script = safe_script(f'\n{explorer()}\nsettle("{key}", {as_json(shared())});\n')
    policy = "; ".join([
        "default-src 'none'", f"script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode('ascii')}'",
        "style-src 'unsafe-inline'", "img-src data: blob:", "font-src data:", "base-uri 'none'", "form-action 'none'",
    ])  # fmt: skip
    return f"""<!doctype html>
<html lang="{HTML_LANGUAGE[lang]}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(heading)}</title>
<style>
{fonts.css(shown_by(state, both=True) + heading)}
{_ground(theme)}
html, body {{ margin: 0; min-height: 100%; background: var(--paper); color: var(--ink); }}
noscript img {{ max-width: 100%; }}
</style>
</head>
<body>
<div data-lmexplain="{key}">
<noscript>{_picture(image, alt)}<p>{escape(word("page.no_script", lang))}</p></noscript>
<script type="application/json">{data}</script>
</div>
<script type="module">{script}</script>
</body>
</html>
"""


def output(state: dict[str, Any], image: bytes, alt: str) -> str:
    """The explorer of `state` for a notebook: the poster, and a module that lets the explorer take its place when run.

    Where scripts don't run (an untrusted notebook, a code host), or are too old, the poster stays.
    """
    face = fonts.css(shown_by(state))
    data = as_json(state | {"font": fonts.FAMILY if face else None})
    key = _key(data)
    style = f"<style>{face}</style>" if face else ""
    return f"""{style}<div data-lmexplain="{key}" lang="{HTML_LANGUAGE[state["lang"]]}">
{_picture(image, alt)}
<script type="application/json">{data}</script>
<script type="module">
const bytes = Uint8Array.from(atob("{packed()}"), (c) => c.charCodeAt(0));
const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
const code = await new Response(unpacked, {{ headers: {{ "content-type": "text/javascript" }} }}).blob();
const {{ settle, shared }} = await import(URL.createObjectURL(code));
settle("{key}", shared);
</script>
</div>"""


def _key(data: str) -> str:
    """A name for the place of this state: the same state has the same, so that a notebook run again does not change."""
    return sha256(data.encode()).hexdigest()[:16]


def _picture(image: bytes, alt: str) -> str:
    data = b64encode(image).decode("ascii")
    return f'<img alt="{escape(alt)}" style="max-width:100%" src="data:image/png;base64,{data}">'


def shown_by(state: dict[str, Any], both: bool = False) -> str:
    """The text that an explorer may write and a page must have glyphs for: tokens, titles, and its words.

    The Chinese words come along where the explorer starts in Chinese, or (`both`) may be switched to it on a machine
    that we don't know; a notebook in English leaves them to the reader's own fonts, for the sake of its size.
    """
    spoken = LANGUAGES if both else (state["lang"],)
    own = [*(state["tokens"] or ()), as_json(state["spec"]), as_json(state["compare"])]
    return "".join([*own, *(text for lang in spoken for text in words(lang, "explorer.").values())])


def _ground(theme: str) -> str:
    """The page's own colours, which the explorer's match."""
    def rule(dark: bool) -> str:
        return f"--paper: {theme_of(dark)['paper']}; --ink: {theme_of(dark)['ink']};"

    if theme != "auto":
        return f":root {{ color-scheme: {theme}; {rule(theme == 'dark')} }}"
    return (f":root {{ color-scheme: light dark; {rule(False)} }}\n"
            f"@media (prefers-color-scheme: dark) {{ :root {{ {rule(True)} }} }}")
