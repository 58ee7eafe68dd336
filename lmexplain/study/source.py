"""The package's own source of a function or a class, shown where a chapter reads it; never a copy."""

import functools
import inspect
import textwrap
from html import escape
from typing import Any

from lmexplain.study.pages import Shown, bilingual, code
from lmexplain.words import LANGUAGES, language, word

__all__ = ["source"]


def source(thing: Any, lang: str = "en") -> Shown:
    """The source of a function, class, method, property or module, with the place where it stands.

    A value (a pattern, say) shows its class. TypeError for what has no Python source.
    """
    found = _defined(thing)
    try:
        lines, first = inspect.getsourcelines(found)
    except (TypeError, OSError) as error:
        raise TypeError(f"{thing!r} has no Python source at hand; give a function, class or module") from error
    text = textwrap.dedent("".join(lines)).rstrip()
    module = getattr(inspect.getmodule(found), "__name__", "?")
    first = max(first, 1)  # a module's source begins at 0

    def place(lang: str) -> str:
        return word("study.source_at", lang, module=module, first=first, last=first + len(lines) - 1)

    places = (f'<p class="lm-origin">{escape(place(each))}</p>' for each in LANGUAGES)
    return Shown(bilingual(*places, lang=language(lang), common=code(text)), f"# {place(lang)}\n{text}")


def _defined(thing: Any) -> Any:
    """What was written down: the function inside a property, a partial, a wrapper; the class of a value."""
    if isinstance(thing, property) and thing.fget is not None:
        return thing.fget
    if isinstance(thing, functools.cached_property | functools.partial):
        return thing.func
    if inspect.isroutine(thing) or inspect.isclass(thing) or inspect.ismodule(thing):
        return inspect.unwrap(thing)  # type: ignore[arg-type]
    return type(thing)
