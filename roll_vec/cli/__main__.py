"""The command line as ``python -m roll_vec.cli``."""

from __future__ import annotations

import sys

from roll_vec.cli import main

if __name__ == "__main__":
    sys.exit(main())
