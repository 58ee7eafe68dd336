"""Interface words and the glossary: both languages, the same placeholders, nothing unknown and nothing unused."""

import re
import string
from pathlib import Path

import pytest
import yaml

import lmexplain
from lmexplain.words import glossary, term, word, words

FOLDER = Path(lmexplain.__file__).parent
INTERFACE = yaml.safe_load((FOLDER / "words" / "interface.yaml").read_text(encoding="utf-8"))
GLOSSARY = yaml.safe_load((FOLDER / "words" / "glossary.yaml").read_text(encoding="utf-8"))
HAN = re.compile("[\u4e00-\u9fff]")


def placeholders(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def test_every_word_has_both_languages_and_the_same_placeholders():
    assert len(INTERFACE) > 200
    for key, entry in INTERFACE.items():
        assert set(entry) == {"en", "zh"}, key
        assert all(isinstance(text, str) and text.strip() for text in entry.values()), key
        assert placeholders(entry["en"]) == placeholders(entry["zh"]), key
        assert not HAN.search(entry["en"]) or key.startswith("explorer.other_language"), key


def test_no_key_stands_twice():
    lines = (FOLDER / "words" / "interface.yaml").read_text(encoding="utf-8").splitlines()
    keys = [found[1] for line in lines if (found := re.match(r'"?([\w.][^":]*?)"?:', line))]
    assert len(keys) == len(set(keys))


def test_every_word_is_used():
    """A key stands in some source as a whole, or as a beginning that the source completes: f"figure.{…}", `op.${…}`."""
    code = {suffix: "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.rglob(f"*{suffix}"))
            for suffix in (".py", ".js")}
    unused = []
    for key in INTERFACE:
        own = key.removeprefix("explorer.")
        whole = [f"{q}{key}{q}" in code[".py"] or f"{q}{own}{q}" in code[".js"] for q in "\"'`"]
        whole.append(own.isidentifier() and f" {own}: " in code[".js"])         # the name of a field that is shown
        begun = [f'"{key[:end]}{{' in code[".py"] or f"`{own[:end]}${{" in code[".js"]
                 for end in range(2, len(key)) if key[:end].endswith((".", "_")) or own[:end].endswith((".", "_"))]
        if not any(whole + begun):
            unused.append(key)
    assert unused == []


def test_the_terms_that_chinese_papers_keep_stay_and_the_others_are_translated():
    kept = {"transformer": "Transformer", "token": "token", "mlm": "MLM"}
    assert {key: term(key, "zh").name for key in kept} == kept
    translated = {"attention": "注意力", "sliding_window": "滑动窗口", "global_attention": "全局注意力",
                  "receptive_field": "感受野"}
    assert {key: term(key, "zh").name for key in translated} == translated


def test_every_term_is_defined_in_one_sentence_in_both_languages():
    assert set(glossary("en")) == set(glossary("zh")) == set(GLOSSARY)
    for key in GLOSSARY:
        english, chinese = term(key, "en").definition, term(key, "zh").definition
        assert english.endswith(".") and english.count(". ") == 0, key
        assert chinese.endswith("。") and chinese.count("。") == 1 and HAN.search(chinese), key


def test_placeholders_are_filled():
    assert word("figure.count", "en", pairs="1,234") == "pairs: 1,234"
    assert word("figure.count", "zh", pairs="1,234") == "1,234 对"
    with pytest.raises(KeyError, match="pairs"):
        word("figure.count", "en", cells=3)


def test_tables_can_be_asked_by_prefix():
    assert words("zh", "explorer.mode.")["explorer.mode.film"] == INTERFACE["explorer.mode.film"]["zh"]
    assert all(key.startswith("explorer.mode.") for key in words("zh", "explorer.mode."))
    assert len(words("en")) == len(INTERFACE)


@pytest.mark.parametrize("ask", [lambda: word("no.such.key"), lambda: term("no such term")])
def test_an_unknown_key_is_named_with_the_file_to_add_it_to(ask):
    with pytest.raises(KeyError, match=r"no.such.*(interface|glossary)\.yaml"):
        ask()


@pytest.mark.parametrize("ask", [lambda: word("figure.keys", "fr"), lambda: words("fr"), lambda: term("token", "fr")])
def test_an_unknown_language_is_named_with_the_known_ones(ask):
    with pytest.raises(ValueError, match="'fr'.*'en', 'zh'"):
        ask()


def test_a_number_that_may_be_one_stands_before_no_plural():
    """"After 1 layers" is no English: such a sentence has its number behind a colon."""
    assert [key for key, text in words("en").items() if "{layers} layers" in text] == []


def test_no_space_stands_beside_a_full_width_mark():
    """In Chinese; also where a place and its token are put into a sentence."""
    token = word("explorer.token", "zh", token="在", place=0)
    texts = [*words("zh").values(), word("explorer.predict.ask", "zh", query=token)]
    assert [text for text in texts if re.search("[（）：；，。、] | [（）：；，。、]", text)] == []
