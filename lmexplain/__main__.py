"""`python -m lmexplain` is `lmexplain`."""

import sys

from lmexplain.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
