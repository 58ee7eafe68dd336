"""`python benchmarks [NAME …]`: measure, and put the tables into the README.

The README names what it shows: between `<!-- benchmark:NAME -->` and `<!-- /benchmark:NAME -->` stands what
`benchmarks/NAME.py --out FILE` wrote.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"


def shown(readme: str) -> list[str]:
    """The names that the README has a place for, in its order."""
    return re.findall(r"<!-- benchmark:(\w+) -->", readme)


def inserted(readme: str, name: str, table: str, kind: str = "benchmark") -> str:
    """The README with the table in the place of this name."""
    start, end = f"<!-- {kind}:{name} -->", f"<!-- /{kind}:{name} -->"
    before, _, rest = readme.partition(start)
    if end not in rest:
        raise ValueError(f"README.md has {start} without {end}; write both, each on a line of its own.")
    return f"{before}{start}\n{table.strip()}\n{end}{rest.partition(end)[2]}"


def measured(name: str) -> str:
    """The table that the script of this name writes, in Markdown; its progress shows on the terminal."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "table.md"
        subprocess.run([sys.executable, str(HERE / f"{name}.py"), "--out", str(out)], check=True)
        return out.read_text(encoding="utf-8")


def main(names: list[str]) -> None:
    """Measure these (default: all that the README shows), and write each table as soon as it is there."""
    known = shown(README.read_text(encoding="utf-8"))
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"The README has no place for {', '.join(unknown)}; it has: {', '.join(known)}.")
    for name in names or known:
        print(f"== {name}", flush=True)
        table = measured(name)
        README.write_text(inserted(README.read_text(encoding="utf-8"), name, table), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
