"""Write the generated parts of README.md and docs/, or check them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from docs.build.pages import PAGES, ROOT, fill


def main(arguments: Sequence[str] | None = None) -> int:
    """Write pages; with ``--check`` return 1 if one is not up to date."""
    parser = argparse.ArgumentParser(prog="python -m docs.build", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    is_check = parser.parse_args(arguments).check
    status = 0
    for page in PAGES:
        old = page.read_text("utf-8")
        new = fill(old)
        if new != old and is_check:
            status = 1
            print(f"{page.relative_to(ROOT)} is not up to date; run: {parser.prog}")
        elif new != old:
            page.write_text(new, "utf-8")
            print(f"{page.relative_to(ROOT)} is written")
    return status


if __name__ == "__main__":
    sys.exit(main())
