"""Reading a text into words, numbers, Chinese characters and punctuation marks, each with its place in the text.

Nothing is folded, normalised or replaced, so a token always is a slice of the text it was read from.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from itertools import islice

import regex

__all__ = ["Encoding", "read"]


@dataclass(frozen=True, repr=False)
class Encoding:
    """A text and its tokens: with `start, end = offsets[i]`, `tokens[i] == text[start:end]`.

    Offsets count code points (Python's own string positions), rise, and never overlap.
    """

    text: str
    tokens: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"Encoding({len(self)} tokens: {reprlib.repr(self.tokens)})"


# \X is one character as a reader sees it, with its accents, variation selectors and joined emoji (Unicode UAX #29).
_HIDDEN = r"[\s\p{Cc}\p{Default_Ignorable_Code_Point}]"
_LETTER = r"(?:(?=[\p{L}\p{N}]) (?!\p{Han} | [0-9]\uFE0F?\u20E3) \X)"  # or a digit; a keycap such as 1️⃣ is an emoji
_TOKEN = regex.compile(
    rf"""(?!{_HIDDEN}) (?:
      (?: \[(?:[A-Z]{{2,}}\d*|unused\d+)(?=\])                                  # [CLS], [MASK], <s>
        | <(?:/?s|mask|pad|unk|cls|sep|eod|eop|\|endoftext\|)(?=>) ) \X
    | {_LETTER} (?: \u00AD*+ {_LETTER}                                         # words; a soft hyphen doesn't cut one
                  | ['’] (?=\p{{L}}) {_LETTER}                                 # don't, l’homme, 90's
                  | (?<=\p{{Nd}}) (?: \. | , (?=\d{{3}}(?!\d)) ) (?=\p{{Nd}}) {_LETTER} )*   # 3.14, 2,035,456
    | (?=(?P<mark>[…—.\-])) (?: (?=(?P=mark)) \X )+                            # …… —— ... -- are one mark each
    | \X )""",
    regex.VERBOSE,
)
_HALF_PAIR = regex.compile(r"[\uD800-\uDFFF]")


def read(text: str, limit: int | None = None) -> Encoding:
    """Read `text` into tokens with offsets into it; at most the first `limit` of them, none cut in two.

    A token is a word or a number ("don't", "GPT2", "2,035,456"), a Chinese character, a punctuation mark or symbol,
    an emoji however it is composed, or the name of a special token such as "[MASK]" or "</s>". Between tokens only
    white space, control characters and characters that Unicode calls ignorable (zero-width space, byte-order mark)
    are left out. `encoding.text` stays the whole text, whatever the limit.

    Raises TypeError for anything but a str, ValueError for a text without a token, half a surrogate pair, or a limit
    below 1.
    """
    if not isinstance(text, str):
        raise TypeError(f"read() takes a str, not {type(text).__name__}; decode bytes first: data.decode('utf-8')")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise ValueError(f"limit is {limit!r}, but must be a whole number from 1 on; leave it out to keep all tokens")
    if half := _HALF_PAIR.search(text):
        raise ValueError(
            f"the text holds half a surrogate pair, U+{ord(half[0]):04X} at position {half.start()}, which is no "
            "character; mend it with text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        )
    found = list(islice(_TOKEN.finditer(text), limit))
    if not found:
        raise ValueError(f"the text {reprlib.repr(text)} holds no token; give at least one visible character")
    return Encoding(text, tuple(m[0] for m in found), tuple(m.span() for m in found))
