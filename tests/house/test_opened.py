"""A chapter that is only opened stays as it was, byte for byte; its Chinese is drawn without a font of the system."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lmexplain import lab, resources

CHAPTERS = sorted(path.name for path in resources.notebooks_dir().glob("*.ipynb"))
READY = "window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
SAVED = """async () => {
  const { context } = window.jupyterapp.shell.currentWidget;
  context.model.dirty = true;
  await window.jupyterapp.commands.execute('docmanager:save');
  return context.model.metadata;
}"""


def test_metadata_is_saved_as_the_course_has_it():
    ours = {"kernelspec": {"name": lab.KERNEL, "display_name": "?"}, "language_info": {"version": "3.13.0"}, "mine": 1}
    other = {"kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"version": "3.13.0"}}
    for metadata in (ours, other):
        lab.saved_alike({"type": "notebook", "content": {"metadata": metadata}}, path="a.ipynb")
    assert ours == {"kernelspec": {"name": lab.KERNEL, "display_name": lab.KERNEL, "language": "python"},
                    "language_info": {"name": "python"}, "mine": 1}
    assert other == {"kernelspec": {"name": "python3", "display_name": "Python 3"},
                         "language_info": {"version": "3.13.0"}}, "a notebook of another kernel is the reader's"
    lab.saved_alike({"type": "file", "content": "text"})
    lab.saved_alike({"type": "directory", "content": None})


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """`lmexplain lab` over a copy of the chapters, with Jupyter folders of its own: (address of a chapter, folder)."""
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(resources.notebooks_dir(), home / "course" / "notebooks")
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR",
             "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR")
    own = {name: str(home / name.lower()) for name in names}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "lmexplain", "lab", "--no-browser", "--expose-app-in-browser", "--ip=127.0.0.1",
         "--port", str(port), "--ServerApp.port_retries=0", "--folder", str(home / "course")],
        env={**os.environ, **own, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        encoding="utf-8")
    assert process.stdout is not None
    for line in process.stdout:
        if token := re.search(r"\?token=(\w{40,})", line):
            break
    else:
        raise AssertionError("the server did not start")
    try:
        place = f"http://127.0.0.1:{port}/lab/tree/notebooks"
        yield (lambda name: f"{place}/{name}?reset&token={token[1]}"), home / "course"
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_that_was_only_opened_is_unchanged(page_offline, served, name):
    """The kernel has said who it is, and the notebook has been saved, as autosave does."""
    address, folder = served
    page, chapter = page_offline, folder / "notebooks" / name
    before = (resources.notebooks_dir() / name).read_bytes()
    page.goto(address(name))
    page.wait_for_function(READY, timeout=90_000)
    metadata = page.evaluate(SAVED)
    assert "version" in metadata["language_info"], "JupyterLab has noted the kernel's language"
    assert chapter.read_bytes() == before


def test_chinese_in_cells_is_drawn_with_the_shipped_font(page_offline, served):
    address, _ = served
    page = page_offline
    page.goto(address(CHAPTERS[0]))
    page.locator(".jp-MarkdownOutput").first.wait_for(timeout=90_000)
    for place in (".jp-MarkdownOutput", ".cm-content"):
        family = page.locator(place).first.evaluate("element => getComputedStyle(element).fontFamily")
        assert family.startswith('"Noto Sans SC lmexplain", '), place
        assert family.count(",") > 1, "the reader's own fonts follow"
    page.wait_for_function("[...document.fonts].some(f => f.family.includes('Noto') && f.status === 'loaded')")
    assert page.requests_out == []
    assert Path(lab.CHINESE[1], "NotoSansSC-lmexplain.ttf").is_file()
