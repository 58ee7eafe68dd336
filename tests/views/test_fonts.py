"""The shipped font: what it covers, that it is drawn, and that nobody's settings change."""

import hashlib
import io
import json
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from fontTools.ttLib import TTFont
from matplotlib.figure import Figure

from lmexplain.resources import data_dir
from lmexplain.views import fonts

FOLDER = Path(fonts.__file__).parent
SAMPLE = "使用语言模型来预测下一个词的概率，“注意力”与感受野。"


def gb2312_characters():
    """The Chinese characters of the national standard, by Python's own codec: rows 16 to 87."""
    pairs = [bytes([row, cell]) for row in range(0xB0, 0xF8) for cell in range(0xA1, 0xFF)]
    return {text for pair in pairs if (text := pair.decode("gb2312", "ignore"))}


def test_the_file_is_the_one_described_with_its_licence():
    facts = json.loads((FOLDER / "font.json").read_text(encoding="utf-8"))
    data = (FOLDER / facts["file"]).read_bytes()
    assert hashlib.sha256(data).hexdigest() == facts["sha256"] and len(data) == facts["bytes"] < 3_000_000
    assert "SIL OPEN FONT LICENSE" in (FOLDER / facts["licence_file"]).read_text(encoding="utf-8")
    assert (FOLDER / facts["built_by"]).is_file()
    assert TTFont(FOLDER / facts["file"])["name"].getDebugName(1) == facts["family"] == fonts.FAMILY


def test_it_covers_simplified_chinese():
    covered = set(map(chr, TTFont(fonts.PATH).getBestCmap()))
    assert len(gb2312_characters()) == 6763
    lacking = gb2312_characters() - covered
    assert len(lacking) <= 33, "the source package lacks 33 rare ones"
    assert not lacking & set("语言模型注意力窗口全局随机感受野概率词表掩码预训练分类")
    assert set(SAMPLE + "−≤×é") <= covered | set("≤")


def test_it_draws_the_chinese_texts_of_the_course():
    covered = set(map(chr, TTFont(fonts.PATH).getBestCmap()))
    paths = sorted(data_dir().glob("*-zh.jsonl"))
    assert paths
    for path in paths:
        lines = path.read_text(encoding="utf-8").split("\n")
        han = [c for line in lines if line for c in json.loads(line)["text"] if "\u2e80" <= c]
        assert len(han) > 500
        assert sum(c not in covered for c in han) <= len(han) / 5000, path.name


def pixels(text):
    drawn = Figure(figsize=(1, 1), dpi=60)
    drawn.text(0.2, 0.3, text, fontproperties=fonts.properties(30))
    out = io.BytesIO()
    drawn.savefig(out, format="rgba")
    return np.frombuffer(out.getvalue(), np.uint8).reshape(60, 60, 4)[..., 0]


def test_characters_are_drawn_and_none_as_a_box():
    with warnings.catch_warnings():
        warnings.simplefilter("error")      # matplotlib warns of a missing glyph
        pictures = {c: pixels(c) for c in "语言模型−Aé≤"}
    assert all((picture < 128).any() for picture in pictures.values()), "ink, for the minus sign too"
    assert len({picture.tobytes() for picture in pictures.values()}) == len(pictures), "a box would look like another"


def test_a_character_without_a_glyph_becomes_its_code_with_one_warning():
    fonts._told.clear()
    with pytest.warns(UserWarning, match=r"U\+D55C, U\+1D400|U\+1D400, U\+D55C") as told:
        assert fonts.drawable("a한\U0001d400语") == "aU+D55CU+1D400语"
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fonts.drawable("한") == "U+D55C"
        assert fonts.drawable("plain 中文 −0.5") == "plain 中文 −0.5"


def test_control_characters_are_shown_not_drawn():
    with pytest.warns(UserWarning):
        fonts._told.clear()
        assert fonts.drawable("a\nb\x00") == "aU+000AbU+0000"


def test_a_page_gets_the_glyphs_it_needs_and_no_others():
    font = TTFont(io.BytesIO(fonts.subset(SAMPLE + "plain text")))
    assert set(map(chr, font.getBestCmap())) == {c for c in SAMPLE if c >= "\u2e80"}
    assert font.flavor == "woff2"
    assert fonts.subset("plain text, é") == b"" and fonts.css("plain text") == ""
    rule = fonts.css(SAMPLE)
    assert "http" not in rule and len(rule) < 400 * len(set(SAMPLE))


def test_a_page_warns_once_of_a_character_left_to_its_reader():
    fonts._told.clear()
    with pytest.warns(UserWarning, match=r"lacks U\+9750: a page leaves them to its reader's fonts"):
        fonts.css("靐语🙂")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fonts.css("靐语🙂")


def test_matplotlib_keeps_its_settings():
    before = dict(matplotlib.rcParams)
    pixels("语言")
    fonts.drawable("语言")
    assert dict(matplotlib.rcParams) == before
