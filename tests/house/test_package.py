"""Importing the package: every module loads, says what it offers, reads files as UTF-8; naming it costs little."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lmexplain

MODULES = ["lmexplain", *sorted(info.name for info in pkgutil.walk_packages(lmexplain.__path__, "lmexplain."))]
PUBLIC = [name for name in MODULES if not any(part.startswith("_") for part in name.split("."))]


def python(code: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, encoding="utf-8",
                          env={**os.environ, **environment})


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_module_loads_and_keeps_its_word(name):
    module = importlib.import_module(name)
    assert module.__doc__, "a module opens with what it is for"
    assert len(set(module.__all__)) == len(module.__all__)
    for offered in module.__all__:
        getattr(module, offered)


def test_every_module_loads_where_the_locale_is_poor_and_no_encoding_is_guessed():
    code = f"import importlib\nfor name in {MODULES!r}: importlib.import_module(name)"
    # Only what the package itself reads is judged: other packages guess encodings while they load.
    strict = f"import warnings\nwarnings.filterwarnings('error', category=EncodingWarning, module='lmexplain')\n{code}"
    poor = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    # torch itself does not load from a path that the locale cannot spell.
    run = python(strict, "-X", "warn_default_encoding", **(poor if sys.prefix.isascii() else {}))
    assert run.returncode == 0, run.stderr


def test_naming_the_package_loads_nothing_heavy():
    heavy = ("torch", "numpy", "matplotlib", "yaml", "jupyterlab", "plotly", "anywidget", "IPython")
    for code in ("import lmexplain", "import lmexplain.cli", "import lmexplain.lab", "import lmexplain.resources"):
        run = python(f"{code}\nimport sys\nprint(sorted(set({heavy!r}) & set(sys.modules)))")
        assert run.stdout.strip() == "[]", (code, run.stdout, run.stderr)


def test_rooms_load_when_they_are_named_and_an_unknown_one_is_named_back():
    run = python("import lmexplain, sys\nassert 'lmexplain.patterns' not in sys.modules\n"
                 "lmexplain.patterns.window(3)\nassert 'patterns' in dir(lmexplain)\nlmexplain.patern")
    assert "AttributeError: lmexplain has no 'patern'; it offers attention" in run.stderr


def test_in_ipython_a_pattern_displays_itself_and_nothing_heavy_loads_before():
    code = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
import lmexplain
assert not {"torch", "matplotlib", "anywidget"} & set(sys.modules), "loading the displays must stay light"
from lmexplain.patterns import window
data, metadata = shell.display_formatter.format(window(4))
print(*sorted(data))
"""
    run = python(code, MPLBACKEND="Agg")
    assert run.returncode == 0, run.stderr
    assert {"image/png", "text/html", "text/plain"} <= set(run.stdout.split())


def test_errors_are_written_in_one_style():
    """What is raised begins small (a name may be large) and ends without a full stop, as the command line prints it."""
    odd = []
    for path in sorted(Path(lmexplain.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                said = node.exc.args[0]
                pieces = said.values if isinstance(said, ast.JoinedStr) else [said]
                first, last = pieces[0], pieces[-1]
                if isinstance(last, ast.Constant) and str(last.value).endswith("."):
                    odd.append(f"{path.name}:{node.lineno} ends with a full stop")
                if isinstance(first, ast.Constant) and re.match(r"(There|The|This|No|It|A|An) ", str(first.value)):
                    odd.append(f"{path.name}:{node.lineno} begins with a capital")
    assert not odd, "\n".join(odd)
