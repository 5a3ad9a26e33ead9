"""Everything of a release but the upload: ``make release``.

Checks the versions and the changelog, then runs the checks, the tests, the
documentation and `tests.wheels`, and prints the steps that are left to a person.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGETS = ("check", "test", "docs", "test-wheels")
_LEFT = """
All checks have passed for version {version}. Left to do by hand:

1. Before the first upload: README.md, docs/installation.md and roll_vec.errors say that
   the package is not on PyPI yet. There the links and pictures of README.md, and the
   constant DOCS of roll_vec.errors, need the address of the repository.
2. git tag -a v{version} -m "roll_vec {version}" && git push origin main v{version}
   Wait until the workflow is green for the tag: it has macOS, Windows and the Pythons
   that are not on this machine.
3. {python} -m twine upload {archives}
4. In an empty folder, in a new virtual environment: pip install roll-vec=={version},
   roll-vec doctor, roll-vec envs.
5. Announce it with the section of CHANGELOG.md.
6. In CHANGELOG.md begin a new section "Unreleased".
"""


def read_version(root: Path) -> str:
    text = (root / "pyproject.toml").read_text("utf-8")
    match = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    return match[1] if match else ""


def find_faults(root: Path) -> list[str]:
    """Return what is not ready for a release, a line each.

    The version of ``pyproject.toml`` has to be that of ``roll_vec.__version__`` and of
    ``CITATION.cff``.  ``CHANGELOG.md`` has to have a section with this version, its
    date and a text; nothing may stand in a section "Unreleased".
    """
    version = read_version(root)
    places = {
        "roll_vec/version.py": f'__version__ = "{version}"',
        "CITATION.cff": f'version: "{version}"',
    }
    faults = []
    for name, line in places.items():
        if line not in (root / name).read_text("utf-8").splitlines():
            faults.append(f"{name}: expected the line {line}")
    sections = re.split(r"^## ", (root / "CHANGELOG.md").read_text("utf-8"), flags=re.M)
    pairs = [section.partition("\n")[::2] for section in sections[1:]]
    titles = [title.strip() for title, text in pairs if text.strip()]
    pattern = rf"\[?{re.escape(version)}\]? - \d{{4}}-\d\d-\d\d"
    if not any(re.fullmatch(pattern, title) for title in titles):
        accepted = f'a section "## [{version}] - YYYY-MM-DD" with a text'
        faults.append(f"CHANGELOG.md: expected {accepted}")
    if any("unreleased" in title.lower() for title in titles):
        faults.append('CHANGELOG.md: expected nothing in the section "Unreleased"')
    return faults


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout.strip()


def main() -> None:
    """Check and run everything.

    Raises
    ------
    SystemExit
        With the faults; or if a target fails.
    """
    version = read_version(ROOT)
    faults = find_faults(ROOT)
    if _git("status", "--porcelain"):
        faults.append("the tree is not clean: commit or remove what git status shows")
    if _git("tag", "--list", f"v{version}"):
        faults.append(f"there is a tag v{version} already: raise the version")
    if faults:
        raise SystemExit("\n".join(faults))
    make = os.environ.get("MAKE", "make")
    for target in TARGETS:
        code = subprocess.run([make, target, f"PYTHON={sys.executable}"], cwd=ROOT)
        if code.returncode:
            raise SystemExit(f"make {target} has failed")
    files = (f"roll_vec-{version}.tar.gz", f"roll_vec-{version}-py3-none-any.whl")
    archives = " ".join(f"dist/{name}" for name in files)
    text = _LEFT.format(version=version, python=sys.executable, archives=archives)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
