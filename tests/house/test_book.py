"""Every chapter runs from a clean kernel, without a network, within its time (`make book`)."""

from __future__ import annotations

import shutil
import time

import nbclient
import nbformat
import pytest

from lmexplain import resources

SECONDS = 90        # for a whole chapter on two cores
CHAPTERS = sorted(resources.notebooks_dir().glob("*.ipynb"))

pytestmark = pytest.mark.book


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_runs(chapter, tmp_path, monkeypatch, request):
    """The kernel starts in an empty folder, as for a reader who has copied the chapter elsewhere.

    conftest.py puts tests/offline on its PYTHONPATH, so the kernel refuses connections beyond this machine.
    `make book ARGS=--save-outputs` keeps what the chapters showed, for readers who do not run them.
    """
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.delenv("MPLBACKEND", raising=False)             # the kernel chooses its own, as a reader's does
    shutil.copy(chapter, tmp_path)
    notebook = nbformat.read(tmp_path / chapter.name, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=SECONDS, kernel_name="python3",
                                     resources={"metadata": {"path": str(tmp_path)}})
    begun = time.monotonic()
    client.execute()
    spent = time.monotonic() - begun
    assert spent <= SECONDS, f"{chapter.name} took {spent:.0f} s; a reader should not wait longer than {SECONDS} s"
    if request.config.getoption("--save-outputs"):
        nbformat.write(lasting(notebook), chapter)


def lasting(notebook):
    """The notebook without what differs from run to run: times, the kernel's version, the state of widgets."""
    notebook.metadata = {"kernelspec": {"name": "lmexplain", "display_name": "lmexplain", "language": "python"},
                         "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook


def test_a_kernel_cannot_ask_the_network(tmp_path):
    code = """
import socket
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
except OSError as error:
    print(error)
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(notebook, timeout=SECONDS, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert "may not ask the network" in notebook.cells[0].outputs[0].text


def test_there_are_chapters():
    assert CHAPTERS
