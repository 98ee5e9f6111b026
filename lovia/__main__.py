"""`python -m lovia` is the `lovia` command."""

from __future__ import annotations

import sys

from lovia.cli import main

if __name__ == "__main__":
    sys.exit(main())
