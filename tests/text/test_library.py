"""The loader: what it gives, what it verifies, what it says."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import lmexplain.text.library as module
from lmexplain.text import corpora, corpus, read

ROOT = Path(module.__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own, at a path with a space and Chinese letters."""
    folder = tmp_path / "data 语料"
    folder.mkdir()
    lines = [{"title": "one", "text": "语 é 😀\u2028same text\nnext paragraph"}, {"title": "two", "text": "[MASK]"}]
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
    (folder / "small.jsonl").write_bytes(data)
    entry = {
        **{"language": "en", "licence": "CC0-1.0", "credit": "nobody", "about": "Two documents.", "about_zh": "两篇。"},
        "source": {"registry": "PyPI", "package": "small", "version": "1.0", "url": "https://example.org"},
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    (folder / "corpora.yaml").write_text(yaml.safe_dump({"small": entry}, allow_unicode=True), encoding="utf-8")
    monkeypatch.setattr(module, "data_dir", lambda: folder)
    return folder


@pytest.mark.parametrize("name", corpora())
def test_a_corpus_says_what_it_is_and_where_it_came_from(name: str) -> None:
    loaded = corpus(name)
    for text in (str(loaded), loaded.describe("zh")):
        assert all(fact in text for fact in (name, loaded.licence, loaded.credit, loaded.source))
    assert loaded.about in str(loaded) and loaded.about_zh in loaded.describe("zh")
    assert len(repr(loaded)) < 1500  # the texts stay out of it


def test_documents_keep_every_character(folder: Path) -> None:
    one, two = corpus("small").documents
    assert (one.title, one.text) == ("one", "语 é 😀\u2028same text\nnext paragraph")
    assert one.paragraphs == ("语 é 😀\u2028same text", "next paragraph")
    assert read(two.text).tokens == ("[MASK]",)


def test_a_document_is_found_by_its_title() -> None:
    handbook = corpus("handbook-en")
    assert handbook.document("Security") in handbook.documents
    with pytest.raises(ValueError, match="did you mean 'Security'"):
        handbook.document("security")


def test_an_unknown_corpus_gets_the_names_and_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'handbook-en'") as caught:
        corpus("handbok-en")
    assert all(name in str(caught.value) for name in corpora())
    with pytest.raises(ValueError, match="the names are"):
        corpus("wikipedia")


def test_a_changed_file_is_refused(folder: Path) -> None:
    path = folder / "small.jsonl"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(ValueError, match=r"small\.jsonl has the SHA-256 .* but corpora\.yaml says .*git restore"):
        corpus("small")


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "small.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match=r"small\.jsonl.*git restore"):
        corpus("small")


def test_a_description_exists_in_two_languages() -> None:
    with pytest.raises(ValueError, match="'fr'.*'en' or 'zh'"):
        corpus("addresses").describe("fr")


def test_reading_does_not_depend_on_the_machine_s_encoding(tmp_path: Path) -> None:
    """C locale, no UTF-8 mode, Chinese letters in the path: to read without naming the encoding is an error."""
    home = tmp_path / "课程 lab"
    shutil.copytree(ROOT / "data", home / "data")
    shutil.copytree(ROOT / "lmexplain/text", home / "lmexplain/text")
    for name in ("__init__.py", "resources.py"):
        shutil.copy(ROOT / "lmexplain" / name, home / "lmexplain")
    (home / "notebooks").mkdir()
    (home / "pyproject.toml").touch()
    code = (
        "import warnings\n"
        "warnings.filterwarnings('error', category=EncodingWarning, module='lmexplain')\n"
        "from lmexplain.text import corpora, corpus, read\n"
        "for name in corpora():\n"
        "    for document in corpus(name).documents: print(ascii(document.title), len(read(document.text)))\n"
        "import os, lmexplain\n"
        "print(os.path.samefile(lmexplain.__file__, 'lmexplain/__init__.py'))"
    )
    run = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-X", "warn_default_encoding", "-c", code],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONPATH": str(home), "PYTHONCOERCECLOCALE": "0"},
        cwd=home,
        capture_output=True,
        encoding="utf-8",
    )
    assert run.returncode == 0, run.stderr
    here = [(document.title, len(read(document.text))) for name in corpora() for document in corpus(name).documents]
    assert run.stdout.splitlines() == [*(f"{ascii(title)} {size}" for title, size in here), "True"]
