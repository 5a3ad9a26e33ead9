"""Check what a machine can check of a release: ``make release``.

Then the program prints the steps left to a person.  ``--owner NAME`` only writes the
account that owns the repository into every address.
"""

import datetime as dt
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGETS = ("check", "test", "docs", "test-wheels")
# The account in an address of the project.
_OWNER = re.compile(
    r"(?:(?<=\bgithub\.com/)|(?<=/github/)|(?<=/stars/)|(?<=githubusercontent\.com/))"
    r"[\w-]+(?=/roll_vec\b)|(?<=//)[\w-]+(?=\.github\.io/roll_vec\b)"
)


def read_setting(root: Path, name: str) -> str:
    """Return a text of ``pyproject.toml``; Python 3.10 has no reader of TOML."""
    text = (root / "pyproject.toml").read_text("utf-8")
    return re.findall(rf'^{name} = "(.+)"$', text, re.MULTILINE)[0]


def git(root: Path, *arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=root, text=True)


def find_owners(root: Path) -> dict[str, set[str]]:
    """Return the owners in the project's addresses, by file that Git knows."""
    files = git(root, "grep", "-lIE", "github.*roll_vec", "--", ":!tests").splitlines()
    owners = {
        name: {*_OWNER.findall((root / name).read_text("utf-8"))} for name in files
    }
    return {name: accounts for name, accounts in owners.items() if accounts}


def write_owner(root: Path, owner: str) -> None:
    """Write an owner into every address."""
    if not re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", owner):
        raise SystemExit(f"OWNER: expected an account of GitHub, got {owner!r}")
    for name in find_owners(root):
        text = (root / name).read_text("utf-8")
        (root / name).write_text(_OWNER.sub(owner, text), "utf-8")
        print(f"{name}: the owner is {owner}")  # noqa: T201


def find_faults(root: Path, date: str) -> list[str]:
    """Return what is not ready for a release on a date, a line each."""
    version = read_setting(root, "version")
    number = re.escape(version)
    (owner,) = _OWNER.findall(read_setting(root, "Repository"))
    section, head = f"## [{version}] - {date}", rf"^## \[?{number}\]? - "
    untrue = "no sentence that is untrue from now on"
    rules = [
        ("roll_vec/version.py", f'^__version__ = "{number}"$', f"version {version}"),
        ("CITATION.cff", f'^version: "{number}"$', f"version {version}"),
        ("CITATION.cff", f'^date-released: "{date}"$', f"the date {date}"),
        ("CHANGELOG.md", rf"{head}{date}\n\s*(?!## )\S", f"changes under {section}"),
        ("CHANGELOG.md", f"{head}(?!{date}).*", f"no other section of {version}"),
        ("CHANGELOG.md", r"^## \[?Unreleased\]?\n\s*(?!## )\S", "no Unreleased"),
        ("CHANGELOG.md", r"No version has been published", untrue),
        ("README.md", r"not on PyPI", untrue),
        ("docs/installation.md", r"not on PyPI", untrue),
    ]
    faults = []
    for name, pattern, words in rules:
        match = re.search(pattern, (root / name).read_text("utf-8"), re.MULTILINE)
        if (match is None) is not words.startswith("no "):
            text = f": {match[0].splitlines()[0]!r}" if match else ""
            faults.append(f"{name}: expected {words}{text}")
    if git(root, "status", "--porcelain"):
        faults.append("the tree is not clean: commit or remove what git status shows")
    if git(root, "tag", "--list", f"v{version}"):
        faults.append(f"the tag v{version} exists: raise the version")
    if owner == "OWNER":
        faults.append("the repository has no owner: make owner OWNER=name, and commit")
    faults += [
        f"{name}: expected the owner {owner} in addresses, got {', '.join(owners)}"
        for name, owners in find_owners(root).items()
        if owners != {owner}
    ]
    return faults


def main(arguments: list[str]) -> None:
    """Check and run everything; exit with the faults, or if a target fails."""
    if arguments[:1] == ["--owner"]:
        write_owner(ROOT, arguments[1])
        return
    today = dt.datetime.now(dt.timezone.utc).date().isoformat()
    if faults := find_faults(ROOT, today):
        raise SystemExit("\n".join(faults))
    make = [os.environ.get("MAKE", "make"), f"PYTHON={sys.executable}"]
    for target in TARGETS:
        if subprocess.run([*make, target], cwd=ROOT, check=False).returncode:
            raise SystemExit(f"make {target} failed: nothing is released")
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    steps = guide.partition("\n## Releases\n")[2].partition("\n1. ")[2]
    print(f"\nReady.\n\n1. {steps.partition('## ')[0]}")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
