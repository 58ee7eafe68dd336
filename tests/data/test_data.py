"""The files of data/: real, clean, licensed, and in step with what is said about them."""

import hashlib
import importlib.util
import json
import re
import unicodedata
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from packaging.licenses import canonicalize_license_expression

from lmexplain.text import corpus, read

DATA = Path(__file__).parents[2] / "data"
ENTRIES: dict[str, dict] = yaml.safe_load((DATA / "corpora.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_data", DATA / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts(name: str) -> list[str]:
    rows = (DATA / f"{name}.jsonl").read_bytes().decode("utf-8").split("\n")
    assert rows.pop() == ""
    return [value for row in rows for value in json.loads(row).values()]


@pytest.mark.parametrize("name", ENTRIES)
def test_the_checksum_is_the_file_s(name: str) -> None:
    assert hashlib.sha256((DATA / f"{name}.jsonl").read_bytes()).hexdigest() == ENTRIES[name]["sha256"]


@pytest.mark.parametrize("name", ENTRIES)
def test_the_licence_is_an_spdx_expression_whose_texts_are_here(name: str) -> None:
    licence = ENTRIES[name]["licence"]
    assert canonicalize_license_expression(licence) == licence
    for identifier in re.split(r" (?:OR|AND) ", licence):
        assert (DATA / "LICENSES" / f"{identifier}.txt").stat().st_size > 200


@pytest.mark.parametrize("name", ENTRIES)
def test_everything_is_said_about_a_corpus(name: str) -> None:
    entry = ENTRIES[name]
    assert entry["language"] in ("en", "zh", "fr") and len(entry["credit"]) > 20
    assert set(entry["source"]) == {"registry", "package", "version", "url"} and all(entry["source"].values())
    assert (DATA / entry["script"]).is_file()
    assert entry["about"].endswith(".") and entry["about_zh"].endswith("。")
    assert re.search("[\u4e00-\u9fff]", entry["about_zh"]) and not re.search("[\u4e00-\u9fff]", entry["about"])


@pytest.mark.parametrize("name", ENTRIES)
def test_the_text_is_clean(name: str) -> None:
    for text in texts(name):
        assert text and unicodedata.is_normalized("NFC", text)
        assert {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn")} <= {"\n"}
        assert all(line and line == " ".join(line.split()) for line in text.split("\n"))
        assert not re.search(r"</?(?:div|p|a|li|ul|ol|span|em|code|strong|h\d)\b|&(?:[a-z]+|#\d+);", text)


def test_long_documents_are_long_in_both_languages() -> None:
    for name, at_least in {"handbook-en": 14, "handbook-zh": 11, "addresses": 8}.items():
        sizes = [len(read(document.text)) for document in corpus(name).documents]
        assert sum(size >= 4096 for size in sizes) >= at_least, (name, sizes)


def test_each_text_is_in_its_language() -> None:
    for name, entry in ENTRIES.items():
        joined = "".join(texts(name))
        share = len(re.findall("[\u4e00-\u9fff]", joined)) / sum(map(str.isalpha, joined))
        assert share > 0.6 if entry["language"] == "zh" else share < 0.001, name


def test_translations_have_the_same_documents_in_the_same_order() -> None:
    assert len(corpus("handbook-en").documents) == len(corpus("handbook-zh").documents) == 18
    english, chinese, french = (corpus(f"declaration-{code}").documents for code in ("en", "zh", "fr"))
    assert len(english) == len(chinese) == len(french) == 31
    for a, b, c in list(zip(english, chinese, french, strict=True))[1:]:
        assert len(a.paragraphs) == len(b.paragraphs) == len(c.paragraphs)
    assert english[1].text.startswith("All human beings are born free and equal in dignity and rights.")
    assert chinese[1].text.startswith("人人生而自由，在尊严和权利上一律平等。")
    assert french[1].text.startswith("Tous les êtres humains naissent libres et égaux en dignité et en droits.")


def test_the_folder_stays_small_and_holds_nothing_unlisted() -> None:
    assert {path.stem for path in DATA.glob("*.jsonl")} == set(ENTRIES)
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) <= 2_500_000


def test_the_readme_is_in_step(build: ModuleType) -> None:
    assert (DATA / "README.md").read_text(encoding="utf-8") == build.readme()
    assert list(build.BUILDERS) == list(ENTRIES)


HANDBOOK = {
    "index": """
        <span class="preface"><a href="p.html">Preface</a></span>
        <span class="preface"><a href="p.html">Foreword</a></span>
        <span class="chapter"><a href="one.html">1. {0}</a></span>
        <span class="section"><a href="one.html#a">1.1. A</a></span>
        <span class="section"><a href="two.html">1.2. B</a></span>""",
    "one": """
        <h1>Title</h1><div class="para">{1}
        <em>b</em>. <div class="url">→ <a href="x">x</a></div> c</div><pre class="screen">code</pre>""",
    "two": """
        <div class="para">Not yet translated, see 1.</div><div class="para">{2}</div><div class="para"> </div>""",
}
PAGE = '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">{}</html>'


@pytest.mark.parametrize(
    ("language", "title", "paragraphs"),
    [
        ("en-US", "Start", ["One b. c", "Not yet translated, see 1.", "Two"]),
        ("zh-CN", "开始", ["第一 b. c", "第二"]),
    ],
)
def test_the_handbook_s_pages_become_prose(
    build: ModuleType, tmp_path: Path, language: str, title: str, paragraphs: list[str]
) -> None:
    for edition, words in {"en-US": ("Start", "One", "Two"), "zh-CN": ("开始", "第一", "第二")}.items():
        folder = tmp_path / "usr/share/doc/debian-handbook/html" / edition
        folder.mkdir(parents=True)
        for name, body in HANDBOOK.items():
            (folder / f"{name}.html").write_text(PAGE.format(body.format(*words)), encoding="utf-8")
    assert build.handbook(tmp_path, language) == [(title, paragraphs)]


def test_rows_are_written_the_same_everywhere(build: ModuleType) -> None:
    assert build.json_lines([("标题", ["一", "é"])]) == '{"title": "标题", "text": "一\\né"}\n'.encode()
