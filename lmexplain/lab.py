"""`lmexplain lab`: the course in JupyterLab, on this machine only.

In a clone the notebooks open where they lie. For an installed package they are first copied to a folder of the
reader's, and never over anything the reader has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import itertools
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from lmexplain import __version__, resources

__all__ = ["Copied", "add_arguments", "copy_course", "jupyter_arguments", "refuse_open_server",
           "register_kernel", "run", "saved_alike"]

KERNEL = "lmexplain"                    # its name, and what JupyterLab calls it: a chapter carries both
MANIFEST = ".lmexplain.json"
HOME = Path("~/lmexplain")
JUPYTER_SETTINGS = Path(__file__).parent / "jupyter"
CHINESE = (JUPYTER_SETTINGS / "custom", Path(__file__).parent / "views" / "fonts")     # a style sheet, and its font
HERE_ONLY = ("localhost", "127.0.0.1", "::1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `lmexplain lab`."""
    parser.add_argument("--folder", type=Path, help=f"where the course is copied to (default outside a clone: {HOME})")
    parser.add_argument("--open", default="00", metavar="CHAPTER", help="chapter to open: 14, or a file (default: 00)")
    parser.epilog = "Every other option goes to JupyterLab: --no-browser, --port 8899, …"


def run(args: argparse.Namespace) -> int:
    """Check, lay out the course, register the kernel, and serve it until the reader stops it."""
    _refuse_other_addresses(args.rest)                      # before anything is written
    root = resources.clone_root()
    if root is None or args.folder is not None:
        root = (args.folder or HOME).expanduser().resolve()
        print(copy_course(root).sentence(), flush=True)
    notebook = _chapter(root, args.open)
    print(register_kernel(), flush=True)
    # Defaults that ask nothing of the network and nothing of the reader: no news, no check for updates.
    settings = [str(JUPYTER_SETTINGS), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(settings)
    lab = importlib.import_module("jupyterlab.labapp").LabApp
    server = lab.initialize_server(jupyter_arguments(args.rest, root, notebook))
    refuse_open_server(server)
    server.contents_manager.register_pre_save_hook(saved_alike)
    server.web_app.settings["static_custom_path"][1:1] = map(str, CHINESE)    # after the reader's own custom.css
    server.start()
    return 0


# ------------------------------------------------------------------------------------------------ serving

def jupyter_arguments(rest: Sequence[str], root: Path, notebook: str) -> list[str]:
    """JupyterLab's arguments: the reader's own, then those that say where and what to serve."""
    address = _refuse_other_addresses(rest)
    arguments = [
        *rest,
        *(["--ServerApp.ip=localhost"] if address is None else []),         # Jupyter refuses an option given twice
        f"--ServerApp.root_dir={root}",
        f"--LabApp.default_url=/lab/tree/{quote(notebook)}",
        "--LabApp.custom_css=True",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")                    # as in a container; the server is local and has a token
    return arguments


def _refuse_other_addresses(rest: Sequence[str]) -> str | None:
    """The address to serve on where the reader names one; ValueError for one that others could reach."""
    address = None
    for word, following in zip(rest, [*rest[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        if option.startswith("--") and option.lstrip("-").rpartition(".")[2] == "ip":
            address = value.strip("'\"") if equals else following
    if address is not None and address not in HERE_ONLY:
        raise ValueError(
            f"`lmexplain lab` serves this machine only, so --ip {address or '(empty)'} is refused "
            f"(allowed: {', '.join(HERE_ONLY)}); to reach it from elsewhere, forward its port through SSH"
        )
    return address


def refuse_open_server(server: Any) -> None:
    """ValueError if the server, by an option or by the reader's own Jupyter settings, would let others in.

    It judges what Jupyter made of all its settings, just before the first request is answered.
    """
    open_by = {
        "ip": server.ip not in HERE_ONLY,
        "allow_remote_access": server.allow_remote_access,
        "allow_origin": server.allow_origin or server.allow_origin_pat,
        "disable_check_xsrf": server.disable_check_xsrf,
        "token (empty)": not server.identity_provider.auth_enabled,
    }
    names = [name for name, is_open in open_by.items() if is_open]
    if names:
        raise ValueError(
            f"`lmexplain lab` serves this machine only, and only with a token, but Jupyter is set otherwise: "
            f"{', '.join(names)}; leave that setting out, or start `jupyter lab` yourself"
        )


def _chapter(root: Path, wanted: str) -> str:
    """The path of a chapter below `root`, with forward slashes, from its number or its file name."""
    folder = root / "notebooks"
    chapters = sorted(path for path in folder.glob("*.ipynb") if not any(s.startswith(".new") for s in path.suffixes))
    number = wanted.zfill(2) if wanted.isdigit() else None
    for path in chapters:
        if path.name == Path(wanted).name or path.stem == wanted or (number and path.name.startswith(f"{number}_")):
            return path.relative_to(root).as_posix()
    names = ", ".join(path.stem for path in chapters) or "none"
    raise ValueError(f"there is no chapter {wanted!r} in {folder}; there is: {names}")


def register_kernel() -> str:
    """Register the kernel `lmexplain` for this interpreter in the environment's own prefix; say what was done."""
    kernelspec = importlib.import_module("ipykernel.kernelspec")
    target = Path(sys.prefix) / "share" / "jupyter" / "kernels" / KERNEL / "kernel.json"
    try:
        known = json.loads(target.read_text(encoding="utf-8")) if target.is_file() else {}
        if known and (known["argv"][0], known["display_name"]) == (sys.executable, KERNEL):
            return f"Kernel `{KERNEL}` is registered in {sys.prefix}."
    except (ValueError, LookupError, TypeError):
        pass                                                # a broken file: write it anew
    try:
        kernelspec.install(kernel_name=KERNEL, display_name=KERNEL, prefix=sys.prefix)
    except OSError as error:
        return f"Kernel `{KERNEL}` could not be registered ({error}); choose the kernel Python 3 in JupyterLab instead."
    return f"Kernel `{KERNEL}` registered in {sys.prefix}."


def saved_alike(model: dict[str, Any], **_: Any) -> None:
    """Before a notebook is saved: leave out of its metadata which Python opened it.

    JupyterLab writes that into every notebook that it opens, so that a chapter only looked at would count as changed.
    """
    metadata = model["content"]["metadata"] if model.get("type") == "notebook" and model.get("content") else {}
    if metadata.get("kernelspec", {}).get("name") == KERNEL:
        metadata["kernelspec"] = {"display_name": KERNEL, "language": "python", "name": KERNEL}
        metadata["language_info"] = {"name": "python"}


# ------------------------------------------------------------------------------------------------ the reader's copy

@dataclass
class Copied:
    """What `copy_course` did, by path below the folder."""

    folder: Path
    new: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)     # the reader's file stands; the course's new one lies beside it

    def sentence(self) -> str:
        """One line for the reader."""
        counts = {"copied": len(self.new), "updated": len(self.updated)}
        done = ", ".join(f"{count} files {what}" for what, count in counts.items() if count) or "nothing to copy"
        if not self.beside:
            return f"Course in {self.folder}: {done}."
        return (f"Course in {self.folder}: {done}. Files that you have changed stay as they are; "
                f"the newer versions lie beside them: {', '.join(self.beside)}.")


def copy_course(folder: Path) -> Copied:
    """Copy the installed notebooks and data to `folder`, and bring an earlier copy up to date.

    A file the reader has changed is never written over: the course's version goes beside it as `name.new.ipynb`.
    The manifest lists the checksums this course has delivered. It names the coming ones before the first file is
    written, and every file is put in place at once: a kill at any moment leaves each file old or new, and known.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, so the course cannot be copied there; name a folder with --folder")
    folder.mkdir(parents=True, exist_ok=True)
    _sweep(folder)

    content = {f"{top.name}/{path.relative_to(top).as_posix()}": path.read_bytes()
               for top in (resources.notebooks_dir(), resources.data_dir())
               for path in sorted(top.rglob("*")) if path.is_file() and not _left_behind(path.relative_to(top))}
    delivered, coming = _read_manifest(folder)
    plan = {name: _place(folder, name, new, delivered, coming) for name, new in content.items()}
    coming = {plan[name][0]: _checksum(new) for name, new in content.items()}
    _write_manifest(folder, delivered, coming)
    copied = Copied(folder)
    for name, (target, kind) in plan.items():
        if kind is not None:
            _write(folder / target, content[name])
            getattr(copied, kind).append(target)
    for target, checksum in coming.items():
        delivered[target] = list(dict.fromkeys([*delivered.get(target, ()), checksum]))
    _write_manifest(folder, delivered, {})
    return copied


def _place(folder: Path, name: str, new: bytes, delivered: dict[str, list[str]],
           coming: dict[str, str]) -> tuple[str, str | None]:
    """Where the course's version of `name` goes, and as what: new, updated, beside, or None (nothing to write)."""
    checksum, path = _checksum(new), PurePosixPath(name)
    for turn in itertools.count():
        mark = "" if turn == 0 else ".new" if turn == 1 else f".new{turn}"
        target = str(path.with_name(f"{path.stem}{mark}{path.suffix}"))
        present = _checksum((folder / target).read_bytes()) if (folder / target).is_file() else None
        if present == checksum:
            return target, None
        if present and present in (*delivered.get(target, ()), coming.get(target)):
            return target, "beside" if turn else "updated"              # as the course left it
        if checksum in delivered.get(target, ()) and (present or turn):
            return target, None                 # the reader has had this version, and changed or removed it since
        if not (folder / target).exists():
            return target, "beside" if turn else "new"
    raise AssertionError("unreachable: the count has no end")


def _left_behind(path: Path) -> bool:
    """Caches and checkpoints of somebody's run."""
    return any(part in ("__pycache__", ".ipynb_checkpoints") for part in path.parts)


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(path: Path, data: bytes) -> None:
    """Put a file in place at once: all of it, or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"{path.name}.lmexplain-half")
    with open(half, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(half, path)


def _sweep(folder: Path) -> None:
    """Remove what an interrupted copy left half written."""
    for top in (folder, folder / "notebooks", folder / "data"):
        for half in top.glob("*.lmexplain-half") if top == folder else top.rglob("*.lmexplain-half"):
            half.unlink(missing_ok=True)


def _read_manifest(folder: Path) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Checksums delivered, and those of an interrupted copy, by path; none known: every file is the reader's."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        delivered = {str(name): [str(checksum) for checksum in sums] for name, sums in manifest["delivered"].items()}
        return delivered, {str(name): str(checksum) for name, checksum in manifest["coming"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}, {}


def _write_manifest(folder: Path, delivered: dict[str, list[str]], coming: dict[str, str]) -> None:
    manifest = {"version": 1, "package": __version__, "delivered": delivered, "coming": coming}
    _write(folder / MANIFEST, (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode("utf-8"))
