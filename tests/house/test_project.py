"""What the project declares holds together: dependencies, environments, licences, versions."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import yaml
from packaging.utils import canonicalize_name

from benchmarks.__main__ import inserted
from tests.house.lowest import ROOT, lowest, name, requirements

CONDA_NAMES = {
    "torch": "pytorch",
    "matplotlib": "matplotlib-base",
    "brotli": "brotli-python",
    "huggingface-hub": "huggingface_hub",
}
#: Needed though no line of the package imports them: programs that are run, or parts that another one loads.
RUN_NOT_IMPORTED = {"jupyterlab", "ipykernel", "ipywidgets", "brotli"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def spec(requirement: str) -> str:
    """The version part of a requirement, without extras and spaces."""
    return re.sub(r"^[A-Za-z0-9._-]+(\[[^]]*\])?", "", requirement).replace(" ", "")


def test_conda_users_get_the_same():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    listed = {name(item): spec(item) for item in environment["dependencies"] if isinstance(item, str)}
    declared = {CONDA_NAMES.get(name(item), name(item)): spec(item) for item in requirements()}
    assert listed == {**declared, "python": PROJECT["project"]["requires-python"], "pip": ""}


def test_constraints_pin_every_declared_package_within_its_range():
    from packaging.requirements import Requirement

    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    for requirement in map(Requirement, [*requirements(), *requirements("test")]):
        assert requirement.specifier.contains(pins[requirement.name]), requirement
    assert all(re.fullmatch(r"[\w.]+", version) for version in pins.values()), "no local builds, no paths"


def test_every_dependency_says_why_it_is_there_and_has_a_lowest_version():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for requirement in [*requirements(), *requirements("test")]:
        assert re.search(rf'^ *"{re.escape(requirement)}", *# \S', text, re.MULTILINE), requirement
        assert ">=" in requirement
    assert len(list(lowest())) == len(requirements()) + 3


def imports(path: Path) -> set[str]:
    """Top-level names that a file imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found


def test_what_the_package_imports_is_declared_and_what_is_declared_is_used():
    used = set().union(*(imports(path) for path in (ROOT / "lmexplain").rglob("*.py")))
    used -= set(sys.stdlib_module_names) | {"lmexplain"}
    provided = packages_distributions()
    distributions = {canonicalize_name(found) for module in used for found in provided.get(module, [module])}
    declared = {canonicalize_name(name(item)) for item in requirements()}
    assert distributions - declared == set()
    assert declared - distributions <= RUN_NOT_IMPORTED


def test_licence_expression_covers_the_data_and_the_fonts():
    expression = PROJECT["project"]["license"]
    corpora = yaml.safe_load((ROOT / "data" / "corpora.yaml").read_text(encoding="utf-8"))
    for key, corpus in corpora.items():
        assert corpus["licence"] in expression, key
        for licence in corpus["licence"].split(" OR "):
            assert (ROOT / "data" / "LICENSES" / f"{licence}.txt").is_file(), licence
    assert "OFL-1.1" in expression and (ROOT / "lmexplain/views/fonts/OFL.txt").is_file()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert set(citation["license"]) <= set(re.findall(r"[\w.-]+", expression))


def test_one_version_everywhere():
    import lmexplain

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert citation["version"] == lmexplain.__version__
    assert re.search(r"^## \[(Unreleased|" + re.escape(lmexplain.__version__) + r")\]", changelog, re.MULTILINE)


def tracked() -> list[Path]:
    """The files that belong to the project: git's list in a clone, otherwise all but caches and environments."""
    git = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True)
    if git.returncode == 0:
        return [path for path in (ROOT / item for item in git.stdout.decode().split("\0") if item) if path.is_file()]
    hidden = re.compile(r"(^|/)(\.venv[^/]*|\.git|\.hypothesis|__pycache__|[^/]*_cache)/")
    return [path for path in ROOT.rglob("*") if path.is_file() and not hidden.search(path.relative_to(ROOT).as_posix())]


BINARY = {".png", ".ttf", ".woff2", ".npz", ".gz", ".safetensors"}


def test_every_text_file_is_utf8_with_plain_line_ends():
    for path in tracked():
        if path.suffix not in BINARY:
            data = path.read_bytes()
            data.decode("utf-8")
            assert b"\r\n" not in data, path
            assert not data.startswith(b"\xef\xbb\xbf"), path


# Written in pieces, so that this file does not find itself.
PLACES = ("work", "root", "home/[a-z]+", "Users/[a-z]+", "tmp/[a-z]+")
OF_ONE_MACHINE = re.compile("|".join(["/" + place + "/" for place in PLACES]))
FROM_A_NETWORK = re.compile("|".join(["cdn" + r"\.", "cdn" + "js", "unpkg" + r"\.com", "jsdelivr", "esm" + r"\.sh",
                                      r"""(src|href)=["']?https?://""", r"""from ["']https?://""", r"@import +url"]))


def test_no_file_names_a_machine():
    for path in tracked():
        if path.suffix not in {*BINARY, ".jsonl"} and path != Path(__file__):      # corpora speak of what they like
            found = OF_ONE_MACHINE.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{path}: {found and found[0]}"


def test_no_page_loads_anything_from_a_network():
    for path in tracked():
        if ROOT / "lmexplain" in path.parents and path.suffix in (".py", ".js", ".html", ".css", ".json"):
            found = FROM_A_NETWORK.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{path}: {found and found[0]}"


def test_benchmarks_and_the_places_of_their_tables_belong_together():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"<!-- benchmark:(\w+) -->", readme)
    assert shown and len(set(shown)) == len(shown)
    for script in shown:
        assert (ROOT / "benchmarks" / f"{script}.py").is_file()
        replaced = inserted(readme, script, "| a table |")
        place = f"<!-- benchmark:{script} -->\n| a table |\n<!-- /benchmark:{script} -->"
        assert place in replaced and inserted(replaced, script, "| a table |") == replaced
        assert replaced.partition(place)[0] == readme.partition(f"<!-- benchmark:{script} -->")[0]


def test_notebooks_are_light_and_hold_no_error():
    import nbformat

    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert path.stat().st_size <= 1_500_000, path
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert notebook.metadata.kernelspec.name == "lmexplain", f"{path}: the kernel that `lmexplain lab` registers"
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
        assert not [output for output in outputs if output.output_type == "error"], path
        assert outputs, f"{path} reads well without a kernel only if its outputs are committed"
