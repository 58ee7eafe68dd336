"""`lmexplain lab`: the reader's copy is never written over, the server stays on this machine, the kernel is found."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest

from lmexplain import lab, resources

FIRST = {"notebooks/00_start_here.ipynb": "start 1", "notebooks/14_long_inputs.ipynb": "long 1", "data/a.jsonl": "a 1",
         "data/LICENSES/MIT.txt": "licence"}
SECOND = {**FIRST, "notebooks/00_start_here.ipynb": "start 2", "notebooks/14_long_inputs.ipynb": "long 2",
          "data/a.jsonl": "a 2", "notebooks/15_new.ipynb": "new"}
START, LONG = "notebooks/00_start_here.ipynb", "notebooks/14_long_inputs.ipynb"


class Killed(BaseException):
    """The process dies here."""


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A function that makes the installed course consist of these files."""
    share = tmp_path / "share"
    monkeypatch.setattr(resources, "notebooks_dir", lambda: share / "notebooks")
    monkeypatch.setattr(resources, "data_dir", lambda: share / "data")

    def publish(files):
        for name, text in files.items():
            (share / name).parent.mkdir(parents=True, exist_ok=True)
            (share / name).write_text(text, encoding="utf-8")
    return publish


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "我的 course"


def content(folder: Path) -> dict[str, str]:
    """The reader's folder, without the manifest."""
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*")) if path.is_file() and path.name != lab.MANIFEST}


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


# ------------------------------------------------------------------------------------------------ copying

def test_a_first_copy_is_whole_and_a_second_has_nothing_to_do(course, folder):
    course(FIRST)
    assert sorted(lab.copy_course(folder).new) == sorted(FIRST)
    assert content(folder) == FIRST
    again = lab.copy_course(folder)
    assert not again.new and not again.updated and not again.beside
    assert again.sentence() == f"Course in {folder}: nothing to copy."


def test_untouched_files_follow_the_course(course, folder):
    course(FIRST)
    lab.copy_course(folder)
    course(SECOND)
    copied = lab.copy_course(folder)
    assert content(folder) == SECOND
    assert copied.new == ["notebooks/15_new.ipynb"] and sorted(copied.updated) == ["data/a.jsonl", START, LONG]


def test_a_changed_file_stays_and_the_new_version_lies_beside_it(course, folder):
    course(FIRST)
    lab.copy_course(folder)
    write(folder, START, "mine")
    assert lab.copy_course(folder).beside == [], "the course did not change, so there is nothing to say"
    course(SECOND)
    copied = lab.copy_course(folder)
    beside = "notebooks/00_start_here.new.ipynb"
    assert copied.beside == [beside] and beside in copied.sentence()
    assert content(folder) == {**SECOND, START: "mine", beside: "start 2"}
    assert lab.copy_course(folder).beside == [], "said once"


def test_an_edited_neighbour_is_the_readers_too(course, folder):
    course(FIRST)
    lab.copy_course(folder)
    write(folder, START, "mine")
    course(SECOND)
    lab.copy_course(folder)
    write(folder, "notebooks/00_start_here.new.ipynb", "mine as well")
    assert lab.copy_course(folder).beside == []
    course({START: "start 3"})
    assert lab.copy_course(folder).beside == ["notebooks/00_start_here.new2.ipynb"]
    kept = content(folder)
    assert (kept[START], kept["notebooks/00_start_here.new.ipynb"]) == ("mine", "mine as well")
    assert kept["notebooks/00_start_here.new2.ipynb"] == "start 3"


def test_an_untouched_neighbour_follows_the_course(course, folder):
    course(FIRST)
    lab.copy_course(folder)
    write(folder, START, "mine")
    for text in ("start 2", "start 3"):
        course({START: text})
        lab.copy_course(folder)
    assert {name for name in content(folder) if "start_here" in name} == {START, "notebooks/00_start_here.new.ipynb"}
    assert content(folder)["notebooks/00_start_here.new.ipynb"] == "start 3"


def test_a_removed_neighbour_stays_away_and_a_removed_chapter_comes_back(course, folder):
    course(FIRST)
    lab.copy_course(folder)
    write(folder, START, "mine")
    course(SECOND)
    lab.copy_course(folder)
    (folder / "notebooks/00_start_here.new.ipynb").unlink()
    (folder / LONG).unlink()
    copied = lab.copy_course(folder)
    assert (copied.new, copied.beside) == ([LONG], [])


@pytest.mark.parametrize("manifest", [None, "", "{", "[]", '{"delivered": 3, "coming": {}}'])
def test_without_a_readable_manifest_every_file_is_the_readers(course, folder, manifest):
    course(FIRST)
    lab.copy_course(folder)
    write(folder, START, "mine")
    (folder / lab.MANIFEST).unlink()
    if manifest is not None:
        write(folder, lab.MANIFEST, manifest)
    course(SECOND)
    lab.copy_course(folder)
    kept = content(folder)
    assert all(kept[name] == text for name, text in {**FIRST, START: "mine"}.items())
    assert kept["notebooks/00_start_here.new.ipynb"] == "start 2"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_at_any_moment_loses_nothing_and_the_next_run_finishes(course, folder, monkeypatch, when):
    """The process dies before or after the n-th file is put in place, for every n."""
    replace, died = os.replace, 0
    for moment in range(1, 100):
        count = 0

        def dying(source, target, moment=moment):
            nonlocal count
            count += 1
            if count == moment and when == "before":
                raise Killed
            replace(source, target)
            if count == moment:
                raise Killed

        # Each death starts from the first delivery, with the reader's one change.
        for top in (folder, folder.parent / "share"):
            shutil.rmtree(top, ignore_errors=True)
        course(FIRST)
        lab.copy_course(folder)
        write(folder, START, "mine")
        course(SECOND)
        monkeypatch.setattr(os, "replace", dying)
        try:
            lab.copy_course(folder)
        except Killed:
            died += 1
        finally:
            monkeypatch.setattr(os, "replace", replace)
        for name, text in content(folder).items():
            if not name.endswith("-half") and ".new" not in name:
                assert text in ("mine" if name == START else FIRST.get(name), SECOND[name]), name
        lab.copy_course(folder)
        assert content(folder) == {**SECOND, START: "mine", "notebooks/00_start_here.new.ipynb": "start 2"}, moment
        if count < moment:
            break
    assert died == 2 + len(SECOND) - 1 == moment - 1        # two manifests, and every file but the unchanged licence


def test_a_file_where_the_folder_should_be_is_named(course, folder):
    course(FIRST)
    folder.write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="is a file.*--folder"):
        lab.copy_course(folder)


def test_what_a_run_leaves_behind_is_not_copied(course, folder):
    course({**FIRST, "notebooks/.ipynb_checkpoints/00-checkpoint.ipynb": "x", "data/__pycache__/build.pyc": "x"})
    lab.copy_course(folder)
    assert content(folder) == FIRST


# ------------------------------------------------------------------------------------------------ chapters and kernel

@pytest.mark.parametrize(("wanted", "found"), [
    ("00", START), ("0", START), ("14", LONG), ("14_long_inputs", LONG), ("notebooks/14_long_inputs.ipynb", LONG)])
def test_a_chapter_opens_by_number_or_name(course, folder, wanted, found):
    course({**FIRST, "notebooks/14_long_inputs.new.ipynb": "not this one"})
    lab.copy_course(folder)
    assert lab._chapter(folder, wanted) == found


def test_an_absent_chapter_is_answered_with_those_there_are(course, folder):
    course(FIRST)
    lab.copy_course(folder)
    with pytest.raises(ValueError, match="no chapter '3' .*00_start_here, 14_long_inputs"):
        lab._chapter(folder, "3")


def test_the_kernel_is_registered_in_the_environment_for_this_interpreter(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    spec = tmp_path / "prefix/share/jupyter/kernels/lmexplain/kernel.json"
    lab.register_kernel()
    kernel = json.loads(spec.read_text(encoding="utf-8"))
    assert kernel["argv"][0] == sys.executable and kernel["language"] == "python"
    assert kernel["display_name"] == lab.KERNEL
    for chapter in sorted(resources.notebooks_dir().glob("*.ipynb")):
        metadata = json.loads(chapter.read_text(encoding="utf-8"))["metadata"]
        assert metadata["kernelspec"] == {"display_name": lab.KERNEL, "language": "python", "name": lab.KERNEL}, chapter
    spec.write_text(json.dumps({**kernel, "display_name": "lmexplain (Python 3.11)"}), encoding="utf-8")
    lab.register_kernel()
    assert json.loads(spec.read_text(encoding="utf-8")) == kernel, "an earlier name is mended"
    spec.write_text("{ broken", encoding="utf-8")
    lab.register_kernel()
    assert json.loads(spec.read_text(encoding="utf-8")) == kernel
    assert not list((tmp_path / "home").rglob("kernel.json")), "the reader's home holds none"


def test_a_prefix_that_cannot_be_written_is_said_and_not_fatal(tmp_path, monkeypatch):
    (tmp_path / "share").write_text("", encoding="utf-8")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert "choose the kernel Python 3" in lab.register_kernel()


# ------------------------------------------------------------------------------------------------ serving

@pytest.mark.parametrize("words", [
    ["--ip", "0.0.0.0"], ["--ip=0.0.0.0"], ["--ip=*"], ["--ServerApp.ip=192.0.2.7"], ["--ip="], ["--ip"],
    ["--NotebookApp.ip", "example.org"], ["--ip=localhost", "--ip=0.0.0.0"], ["--ip='0.0.0.0'"]])
def test_another_address_is_refused_before_anything_is_written(words, folder):
    with pytest.raises(ValueError, match="serves this machine only.*SSH"):
        lab.run(argparse.Namespace(rest=words, folder=folder, open="00"))
    assert not folder.exists()


def test_other_options_are_passed_on_and_the_servers_own_come_last(tmp_path):
    arguments = lab.jupyter_arguments(["--no-browser", "--port", "8899", "--ip=127.0.0.1"], tmp_path, START)
    assert arguments[:4] == ["--no-browser", "--port", "8899", "--ip=127.0.0.1"]
    assert not any(word.startswith("--ServerApp.ip") for word in arguments), "Jupyter refuses an option given twice"
    assert "--ServerApp.ip=localhost" in lab.jupyter_arguments(["--no-browser"], tmp_path, START)
    assert f"--ServerApp.root_dir={tmp_path}" in arguments
    assert f"--LabApp.default_url=/lab/tree/{START}" in arguments


@pytest.mark.parametrize("setting", [
    {"ip": "0.0.0.0"}, {"ip": ""}, {"allow_remote_access": True}, {"allow_origin": "*"}, {"allow_origin_pat": ".*"},
    {"disable_check_xsrf": True}, {"identity_provider": SimpleNamespace(auth_enabled=False)}])
def test_a_server_that_lets_others_in_is_not_started(setting):
    closed = {"ip": "localhost", "allow_remote_access": False, "allow_origin": "", "allow_origin_pat": "",
              "disable_check_xsrf": False, "identity_provider": SimpleNamespace(auth_enabled=True)}
    lab.refuse_open_server(SimpleNamespace(**closed))
    with pytest.raises(ValueError, match="only with a token"):
        lab.refuse_open_server(SimpleNamespace(**{**closed, **setting}))


@pytest.fixture
def reader(tmp_path):
    """The environment of a reader with a home of their own, whose Jupyter settings open the server wide."""
    (tmp_path / "settings").mkdir()
    return {**os.environ, "HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "PYTHONUNBUFFERED": "1",
            "JUPYTER_RUNTIME_DIR": str(tmp_path / "run"), "JUPYTER_DATA_DIR": str(tmp_path / "data"),
            "JUPYTER_CONFIG_DIR": str(tmp_path / "settings")}


def start(reader: dict[str, str], settings: str, *words: str) -> subprocess.Popen[str]:
    Path(reader["JUPYTER_CONFIG_DIR"], "jupyter_server_config.py").write_text(settings, encoding="utf-8")
    return subprocess.Popen([sys.executable, "-m", "lmexplain", "lab", "--no-browser", *words], env=reader,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8")


def status(url: str) -> int:
    try:
        return urllib.request.urlopen(url, timeout=30).status
    except urllib.error.HTTPError as error:
        return error.code


def test_the_server_answers_here_and_only_with_its_token(reader, tmp_path):
    """A real server, started against settings that ask for an open one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = start(reader, "c.ServerApp.ip = '0.0.0.0'", "--port", str(port), "--folder", str(tmp_path / "课 程"))
    try:
        output, url = [], None
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            url = re.search(r"(http://localhost:\d+)(/lab/tree/notebooks/00_start_here\.ipynb)\?token=(\w{40,})", line)
            if url:
                break
        assert url, "".join(output)
        base, path, token = url.groups()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                assert status(f"{base}/api/contents") == 403
                break
            except urllib.error.URLError:
                time.sleep(0.2)
        assert status(f"{base}/api/contents?token={token}") == 200
        assert status(f"{base}{path}?token={token}") == 200
        settings = f"{base}/lab/api/settings/@jupyterlab/apputils-extension:notification?token={token}"
        schema = json.load(urllib.request.urlopen(settings, timeout=30))["schema"]["properties"]
        assert (schema["fetchNews"]["default"], schema["checkForUpdates"]["default"]) == ("false", False)
        other = next((info[4][0] for info in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)
                      if not info[4][0].startswith("127.")), None)
        if other:
            with pytest.raises(OSError):
                socket.create_connection((other, port), timeout=2)
    finally:
        process.terminate()
        process.communicate()
    assert (tmp_path / "课 程" / START).is_file()


def test_settings_without_a_token_are_refused(reader, tmp_path):
    process = start(reader, "c.IdentityProvider.token = ''", "--folder", str(tmp_path / "course"))
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 2
    assert "only with a token, but Jupyter is set otherwise: token (empty)" in output
