"""The explorer in a browser with the network blocked: from disk, in nbconvert's HTML, in JupyterLab, run or not."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from lmexplain import patterns as P
from lmexplain import views
from lmexplain.views.names import part_names
from lmexplain.views.palette import palette

EXPLORER = ".lmexplain-explorer"
CHINESE = "语言模型用注意力看上下文"
PATTERN = P.window(2) | P.global_tokens(0)

# How many pixels of the matrix have this colour (a list of three numbers).
COUNT = """(canvas, [r, g, b]) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) count += data[i] === r && data[i + 1] === g && data[i + 2] === b;
  return count;
}"""


def painted(explorer, role, theme="light"):
    """How many pixels of the explorer's matrix have the colour of this role."""
    colour = palette()["roles"][role][theme]
    canvas = explorer.locator(".lm-plot canvas").first
    canvas.wait_for()
    explorer.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return canvas.evaluate(COUNT, [int(colour[at : at + 2], 16) for at in (1, 3, 5)])


def write(folder, html, name="page.html"):
    (folder / name).write_text(html, encoding="utf-8", newline="\n")
    return (folder / name).as_uri()


@pytest.mark.parametrize(("lang", "theme"), [("en", "light"), ("zh", "dark")])
def test_a_page_from_disk_is_painted_and_asks_for_nothing(page_offline, tmp_path, lang, theme):
    page = page_offline
    page.goto(write(tmp_path, views.page(PATTERN, CHINESE, lang=lang, theme=theme)))
    explorer = page.locator(EXPLORER)
    assert painted(explorer, "local", theme) > 500 and painted(explorer, "global", theme) > 500
    assert page.locator("img").count() == 0, "the explorer has taken the poster's place"
    tokens = explorer.locator(".lm-sentence span")
    assert tokens.all_inner_texts() == list(CHINESE)
    assert explorer.locator(".lm-name b").all_inner_texts() == part_names(PATTERN.at(12), lang), "as Python names them"
    pictures = [tokens.nth(place).screenshot() for place in (5, 6, 7)]
    assert len(set(pictures)) == 3, "boxes would all look the same"
    assert page.requests_out == [] and page.errors == []


def test_hostile_tokens_do_nothing_in_a_page(page_offline, tmp_path):
    page = page_offline
    hostile = "</script><img src=x onerror='window.broken=1'>"
    tokens = [hostile, "<i id=italic>i</i>"]
    page.goto(write(tmp_path, views.page(P.full().titled(hostile), tokens=tokens, title=hostile)))
    painted(page.locator(EXPLORER), "full")
    assert page.locator(EXPLORER).locator(".lm-sentence span").first.inner_text() == hostile
    assert page.evaluate("window.broken") is None and page.locator("img, #italic").count() == 0
    assert page.requests_out == [] and page.errors == []


def test_without_scripts_a_page_is_the_poster(chromium, tmp_path):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(write(tmp_path, views.page(PATTERN, CHINESE)))
    assert page.locator("img").bounding_box()["width"] > 300 and page.locator("noscript p").is_visible()
    context.close()


def output_cell(shown, source="…"):
    data, metadata = shown._repr_mimebundle_()
    return v4.new_code_cell(source, outputs=[v4.new_output("display_data", data=data, metadata=metadata)])


@pytest.fixture(scope="module")
def notebook():
    """A notebook with outputs, as it lies in a repository: nobody's kernel has run it, nobody trusts it."""
    explorer = views.explore(PATTERN, CHINESE, lang="zh")
    live = views.live(P.causal(), "one two three four")
    cells = [output_cell(explorer), output_cell(explorer), output_cell(views.explore(P.causal())), output_cell(live)]
    return v4.new_notebook(cells=cells)


def test_nbconvert_exports_explorers_that_run(page_offline, tmp_path, notebook):
    nbformat.write(notebook, tmp_path / "with.ipynb")
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell("1")]), tmp_path / "without.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "with.ipynb", "without.ipynb"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=90)
    page = page_offline
    page.goto((tmp_path / "without.html").as_uri())
    own = set(page.requests_out)            # nbconvert's template itself asks for MathJax and RequireJS
    page.errors.clear()
    page.goto((tmp_path / "with.html").as_uri())
    explorers = page.locator(EXPLORER)
    explorers.nth(3).wait_for()
    assert explorers.count() == 4, "the same output twice, another, and the widget's"
    for place, role in enumerate(("local", "local", "causal", "causal")):
        assert painted(explorers.nth(place), role) > 500
    assert set(page.requests_out) <= own
    assert [error for error in page.errors if "ERR_FAILED" not in error] == []


# ── JupyterLab ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab on a free port of this machine, with settings of its own: (address of a notebook, its folder)."""
    root = tmp_path_factory.mktemp("lab")
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR",
             "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR")  # fmt: skip
    own = {name: str(tmp_path_factory.mktemp(name.lower())) for name in names}
    here = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), here]))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser",
               "--ServerApp.ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0",
               f"--ServerApp.root_dir={root}", "--IdentityProvider.token=secret", "--LabApp.news_url=None",
               "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]  # fmt: skip
    log = (root / ".log").open("wb")
    server = subprocess.Popen(command, env={**os.environ, **own, "PYTHONPATH": path}, stdout=log, stderr=log)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/status?token=secret", timeout=2)
                break
            except OSError:
                assert server.poll() is None, (root / ".log").read_text(encoding="utf-8", errors="replace")
                time.sleep(0.2)
        yield (lambda name: f"http://127.0.0.1:{port}/doc/tree/{name}?token=secret"), root
    finally:
        server.terminate()
        server.wait(timeout=30)
        log.close()


def test_an_untrusted_notebook_in_jupyterlab_shows_the_posters(page_offline, lab, notebook):
    address, root = lab
    nbformat.write(notebook, root / "untrusted.ipynb")
    page = page_offline
    page.goto(address("untrusted.ipynb"))
    posters = page.locator(".jp-OutputArea img")
    posters.nth(3).wait_for(timeout=60_000)
    assert posters.count() == 4
    for poster in posters.all():
        assert poster.evaluate("image => image.naturalWidth") > 300
    assert "12 × 12" in posters.nth(0).get_attribute("alt") or "12 个 query" in posters.nth(0).get_attribute("alt")
    assert page.locator(EXPLORER).count() == 0
    assert page.requests_out == []


def test_a_notebook_run_in_jupyterlab(page_offline, lab):
    address, root = lab
    sources = [
        "import lmexplain\nfrom lmexplain.patterns import causal, global_tokens, window\nfrom lmexplain import views",
        f"views.explore(window(2) | global_tokens(0), {CHINESE!r}, lang='zh')",
        "window(4) | global_tokens(0)",
        "heard = views.live(window(2), 'one two three four'); heard",
        "print('Python has', heard.pattern)",
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell(s) for s in sources], metadata=kernel), root / "run.ipynb")
    page = page_offline
    page.set_viewport_size({"width": 1300, "height": 4000})             # JupyterLab draws only the cells in view
    page.goto(address("run.ipynb"))
    page.wait_for_function("window.jupyterapp?.commands.hasCommand('notebook:run-all-cells')", timeout=60_000)
    page.locator(".jp-CodeCell").nth(4).wait_for()
    page.wait_for_function("window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'",
                           timeout=60_000)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    explorers = page.locator(EXPLORER)
    explorers.nth(2).wait_for(timeout=60_000)
    assert explorers.count() == 3
    for place in range(3):
        assert painted(explorers.nth(place), "local") > 500
    assert explorers.nth(0).locator(".lm-sentence span").all_inner_texts() == list(CHINESE)

    # keys meant for an explorer stay in it: a and b would insert cells
    explorers.nth(0).locator("canvas[tabindex]").first.press("b")
    explorers.nth(2).locator(".lm-expression").press("a")
    assert page.locator(".jp-CodeCell").count() == len(sources)

    # the widget tells Python
    explorers.nth(2).locator(".lm-expression").fill("causal()")
    explorers.nth(2).locator(".lm-expression").press("Enter")
    assert painted(explorers.nth(2), "causal") > 200
    page.evaluate("new Promise((done) => setTimeout(done, 260))")  # by the page's clock: it is sent after 250 ms
    page.evaluate("""async () => {
      const notebook = window.jupyterapp.shell.currentWidget.content;
      notebook.activeCellIndex = 4;
      await window.jupyterapp.commands.execute('notebook:run-cell');
    }""")
    page.locator(".jp-OutputArea-output", has_text="Python has causal()").wait_for(timeout=20_000)
    assert page.requests_out == []
    assert [error for error in page.errors if "lmexplain" in error or "Uncaught" in error or "blob:" in error] == []
