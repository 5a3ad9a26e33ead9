"""Everything of a release but the upload: ``make release``.

Checks versions, changelog and tree, then runs the targets that a release needs.
CONTRIBUTING.md has the steps that are left to a person.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGETS = ("check", "test", "docs", "test-wheels")


def read_version(root: Path) -> str:
    text = (root / "pyproject.toml").read_text("utf-8")
    match = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    return match[1] if match else ""


def find_faults(root: Path) -> list[str]:
    """Return what is not ready for a release, a line each.

    Each file has the version of ``pyproject.toml``; ``CHANGELOG.md`` has a section for
    it with a date, and nothing stands in a section "Unreleased".
    """
    version = read_version(root)
    title = rf"## \[?{re.escape(version)}\]? - \d{{4}}-\d\d-\d\d"
    wanted = {
        "roll_vec/version.py": f'^__version__ = "{re.escape(version)}"$',
        "CITATION.cff": f'^version: "{re.escape(version)}"$',
        "CHANGELOG.md": rf"^{title}\n\s*(?!## )\S",
    }
    faults = [
        f"{name}: expected a line {pattern!r}"
        for name, pattern in wanted.items()
        if not re.search(pattern, (root / name).read_text("utf-8"), re.MULTILINE)
    ]
    log = (root / "CHANGELOG.md").read_text("utf-8")
    if re.search(r"^## \[?Unreleased\]?\n\s*(?!## )\S", log, re.MULTILINE):
        faults.append('CHANGELOG.md: expected nothing in the section "Unreleased"')
    return faults


def main() -> None:
    """Check and run everything; exit with the faults, or if a target fails."""
    faults = find_faults(ROOT)
    status = subprocess.check_output(["git", "status", "--porcelain"], cwd=ROOT)
    if status:
        faults.append("the tree is not clean: commit or remove what git status shows")
    if faults:
        raise SystemExit("\n".join(faults))
    make = [os.environ.get("MAKE", "make"), f"PYTHON={sys.executable}"]
    for target in TARGETS:
        subprocess.run([*make, target], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
