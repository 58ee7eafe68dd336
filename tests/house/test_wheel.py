"""What travels: the wheel and the sdist hold the course, and an installed package finds it."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.house.lowest import ROOT
from tests.house.release import problems

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with wheel and sdist, built as a release builds them: the wheel from the sdist."""
    out = tmp_path_factory.mktemp("dist")
    run = subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)],
                         capture_output=True, text=True, encoding="utf-8")
    assert run.returncode == 0, run.stdout + run.stderr
    return out


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A folder into which the wheel was installed, alone."""
    target = tmp_path_factory.mktemp("有 spaces")
    (wheel,) = built.glob("*.whl")
    install = ["install", "--no-deps", "--no-index", "--target", str(target), str(wheel)]
    run = subprocess.run([sys.executable, "-m", "pip", *install], capture_output=True, text=True, encoding="utf-8")
    assert run.returncode == 0, run.stderr
    return target


def python(installed: Path, *words: str) -> str:
    """Run python on the installed package, from a folder that is not the clone."""
    path = os.pathsep.join([str(installed), os.environ["PYTHONPATH"]])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"}
    run = subprocess.run([sys.executable, *words], cwd=installed, env=environment, capture_output=True, text=True,
                         encoding="utf-8")
    assert run.returncode == 0, run.stderr
    return run.stdout


def files(folder: Path) -> set[str]:
    """The files of a folder of the clone that belong to the project."""
    return {path.relative_to(ROOT).as_posix() for path in folder.rglob("*") if path.is_file()
            and not {"__pycache__", ".ipynb_checkpoints"} & set(path.parts)}


# What a reader gets: all but the scripts that made the data, which a clone has.
COURSE = {name for top in ("notebooks", "data") for name in files(ROOT / top) if not name.endswith(".py")}


def test_a_release_has_no_problems(built):
    assert problems(built) == []


def test_the_wheel_holds_the_package_the_notebooks_and_the_data(built):
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    share = {f"lmexplain/_share/{name}" for name in COURSE}
    assert names == files(ROOT / "lmexplain") | share
    assert any(name.endswith(".ipynb") for name in share) and "lmexplain/py.typed" in names


def test_the_sdist_can_be_tested(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers()}
    assert {"pyproject.toml", "Makefile", "constraints.txt", "tests/conftest.py"} <= names
    assert {"notebooks/00_start_here.ipynb", "data/corpora.yaml", "lmexplain/__init__.py"} <= names
    assert not [name for name in names if name.startswith((".venv", ".git/")) or "__pycache__" in name]


def test_the_installed_package_finds_its_course_and_copies_it(installed, tmp_path):
    code = "import lmexplain.resources as r; print(r.clone_root(), r.data_dir(), r.notebooks_dir(), sep='\\n')"
    out = python(installed, "-c", code)
    root, data, notebooks = out.splitlines()
    assert root == "None"
    assert Path(data) == installed / "lmexplain/_share/data" and (Path(data) / "corpora.yaml").is_file()
    assert (Path(notebooks) / "00_start_here.ipynb").is_file()
    copy = tmp_path / "课程"
    python(installed, "-c", f"import pathlib, lmexplain.lab as lab; lab.copy_course(pathlib.Path({str(copy)!r}))")
    copied = {path.relative_to(copy).as_posix() for path in copy.glob("*/**/*") if path.is_file()}
    assert copied == COURSE


def test_the_installed_package_reads_its_corpora_and_words(installed):
    code = "from lmexplain import text, words; print(len(text.corpora()), len(words.words('zh')))"
    out = python(installed, "-c", code)
    corpora, words = map(int, out.split())
    assert corpora > 0 and words > 0


def test_in_the_clone_the_course_lies_beside_the_package():
    from lmexplain import resources

    assert resources.clone_root() == ROOT
    assert resources.data_dir() == ROOT / "data" and resources.notebooks_dir() == ROOT / "notebooks"


def test_an_incomplete_installation_says_so(tmp_path, monkeypatch):
    from lmexplain import resources

    monkeypatch.setattr(resources, "PACKAGE", tmp_path / "lmexplain")
    with pytest.raises(FileNotFoundError, match="incomplete; install again"):
        resources.data_dir()
