"""Reading: tokens are slices of the text, nothing visible is lost, and the cases others have stumbled over."""

import unicodedata

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Regex
from tokenizers.pre_tokenizers import BertPreTokenizer, Sequence, Split

from lmexplain.text import Encoding, corpus, read

# Default_Ignorable_Code_Point outside category Cf, as Unicode's DerivedCoreProperties.txt lists it.
IGNORABLE = [
    *(0x034F, 0x2065, 0x3164, 0xFFA0, *range(0x115F, 0x1161), *range(0x17B4, 0x17B6), *range(0x180B, 0x1810)),
    *(*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)),
]
TROUBLESOME = [
    *("  ", "\u00a0", "\t", "\r\n", "\u2028", "\u3000", "\u200b", "\ufeff", "\u00ad", "\u200d", "\ufe0f", "\u0301"),
    *(
        "word",
        "don't",
        "l’homme",
        "GPT2",
        "3.14",
        "2,035,456",
        "用",
        "模型",
        "\U00020000",
        "葛\U000e0100",
        "é",
        "e\u0301",
    ),
    *("？", "……", "——", "...", "'", ".", ",", "-", "_", "[", "]", "[CLS]", "[MASK]", "</s>", "<|endoftext|>"),
    *("😀", "👩\u200d👩\u200d👧", "👍🏽", "❤\ufe0f", "🇨🇳", "🇫", "1\ufe0f\u20e3", "한국", "क्षि", "ไทย", "العربية"),
]
TEXTS = st.lists(st.sampled_from(TROUBLESOME) | st.characters(codec="utf-8"), min_size=1).map("".join)


def hidden(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Zs") or ord(char) in IGNORABLE


def reading(text: str) -> Encoding:
    """Like read(), but a text without a token gives an empty encoding."""
    return read(text) if not all(map(hidden, text)) else Encoding(text, (), ())


@given(TEXTS)
def test_tokens_are_slices_in_order(text: str) -> None:
    encoding = reading(text)
    assert encoding.text == text
    assert len(encoding) == len(encoding.tokens) == len(encoding.offsets)
    assert encoding.tokens == tuple(text[start:end] for start, end in encoding.offsets)
    assert all(start < end for start, end in encoding.offsets)
    assert all(end <= start for (_, end), (start, _) in zip(encoding.offsets, encoding.offsets[1:], strict=False))


@given(TEXTS)
def test_only_hidden_characters_are_left_out(text: str) -> None:
    encoding = reading(text)
    covered = {place for start, end in encoding.offsets for place in range(start, end)}
    assert [char for place, char in enumerate(text) if place not in covered and not hidden(char)] == []
    assert not any(char.isspace() for token in encoding.tokens for char in token)


@given(TEXTS)
@example("[MASK]\u0301 2,035\u0301,456 ...\u0301 don't\u0301")
def test_a_character_with_its_accents_and_joiners_is_never_cut(text: str) -> None:
    ends = {cluster.end() for cluster in regex.finditer(r"\X", text)}
    assert {end for _, end in reading(text).offsets} <= ends


@given(TEXTS, TEXTS)
def test_a_blank_separates(left: str, right: str) -> None:
    assert reading(f"{left} {right}").tokens == reading(left).tokens + reading(right).tokens


@given(TEXTS, st.integers(1, 5))
@example("用GPT2模型", 2)
def test_a_limit_keeps_the_first_tokens_whole(text: str, limit: int) -> None:
    whole = reading(text)
    if len(whole):
        cut = read(text, limit)
        assert (cut.text, cut.tokens, cut.offsets) == (text, whole.tokens[:limit], whole.offsets[:limit])


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # Offsets that shifted elsewhere: doubled spaces, folded signs, odd blanks.
        ("where  is the mass", "where|is|the|mass"),
        ("？……", "？|……"),
        ("a\u00a0b", "a|b"),
        ("x\t\ny", "x|y"),
        ("  both ends  ", "both|ends"),
        ("zero\u200bwidth", "zero|width"),
        ("\ufeffone\r\ntwo\u2028three", "one|two|three"),
        # Words and numbers.
        ("Don't say 'tis the dogs' rock'n'roll.", "Don't|say|'|tis|the|dogs|'|rock'n'roll|."),
        ("L’homme naît libre", "L’homme|naît|libre"),
        ("2,035,456 of 4096 (12.1%), v1.2, 1,2 and .5", "2,035,456|of|4096|(|12.1|%|)|,|v1.2|,|1|,|2|and|.|5"),
        ("state-of-the-art -- wait...", "state|-|of|-|the|-|art|--|wait|..."),
        ("co\u00adoperation cafe\u0301", "co\u00adoperation|cafe\u0301"),
        ("snake_case a@b", "snake|_|case|a|@|b"),
        # Chinese, and both in one line.
        ("用GPT2模型2023年", "用|GPT2|模|型|2023|年"),
        ("他说：“你好——再见……”。", "他|说|：|“|你|好|——|再|见|……|”|。"),
        ("二〇二三年𠀀", "二|〇|二|三|年|𠀀"),
        ("ＢＥＲＴ的3.5亿参数", "ＢＥＲＴ|的|3.5|亿|参|数"),
        # Emoji, however composed.
        (
            "👩\u200d👩\u200d👧👍🏽❤\ufe0f🇨🇳🇫🇷1\ufe0f\u20e32\ufe0f\u20e3",
            "👩\u200d👩\u200d👧|👍🏽|❤\ufe0f|🇨🇳|🇫🇷|1\ufe0f\u20e3|2\ufe0f\u20e3",
        ),
        # Special tokens, as their authors write them.
        ("[CLS] the [MASK] sat.[SEP]", "[CLS]|the|[MASK]|sat|.|[SEP]"),
        ("<s>好<mask></s><|endoftext|> [unused12]", "<s>|好|<mask>|</s>|<|endoftext|>|[unused12]"),
        ("[sic] <b>", "[|sic|]|<|b|>"),
    ],
)
def test_examples(text: str, tokens: str) -> None:
    expected = tokens.replace("<|endoftext|>", "\0").split("|")
    assert list(read(text).tokens) == [token.replace("\0", "<|endoftext|>") for token in expected]


@pytest.mark.parametrize("name", ["declaration-en", "declaration-zh", "handbook-zh", "addresses"])
def test_plain_text_is_cut_where_bert_cuts_it(name: str) -> None:
    """Where no apostrophe, decimal or repeated mark is involved, BERT's own pre-tokenizer agrees, offsets included."""
    plain = regex.compile(r"(?:[A-Za-z\p{Han}\s；，。：、（）;:()“”,]|(?<![.-])[.-](?![.-])|[0-9](?![.,]))+")
    bert = Sequence([BertPreTokenizer(), Split(Regex(r"\p{Han}"), "isolated")])
    lines = [line for document in corpus(name).documents for line in document.paragraphs if plain.fullmatch(line)]
    assert len(lines) >= 20
    for line in lines:
        encoding = read(line)
        assert list(zip(encoding.tokens, encoding.offsets, strict=True)) == bert.pre_tokenize_str(line)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((b"bytes",), TypeError, ["bytes", "decode"]),
        ((None,), TypeError, ["NoneType"]),
        (("",), ValueError, ["''", "at least one visible character"]),
        ((" \u200b\n",), ValueError, ["at least one visible character"]),
        (("ab\ud83d",), ValueError, ["U+D83D", "position 2", "surrogatepass"]),
        (("text", 0), ValueError, ["0", "from 1 on", "leave it out"]),
        (("text", 2.5), ValueError, ["2.5"]),
    ],
)
def test_errors_name_value_limit_and_remedy(arguments: tuple, error: type[Exception], words: list[str]) -> None:
    with pytest.raises(error) as caught:
        read(*arguments)
    assert all(word in str(caught.value) for word in words)


def test_the_remedy_for_half_a_pair_works() -> None:
    mended = "\ud83d\ude00 \ud83d!".encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert read(mended).tokens == ("😀", "\ufffd", "!")


def test_a_long_encoding_is_short_to_look_at() -> None:
    assert len(repr(read("word " * 5000))) < 200
