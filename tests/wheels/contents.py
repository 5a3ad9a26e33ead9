"""The files that the sdist and the wheel must have, and those that they must not."""

from __future__ import annotations

import re
import tarfile
import zipfile
from pathlib import Path

# Folders of a checkout that are no part of the package.
_UNWANTED = re.compile(
    r"(^|/)(__pycache__|tests|benchmarks|docs|kernels/kernels)/|(^|/)\.|"
    r"\.(pyc|pyo|orig|rej|nbi|nbc)$|^kernels/"
)
# Beside the package, in the sdist alone.
_BESIDE = ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml")


def read(path: Path) -> dict[str, bytes]:
    """Return the files of an sdist or a wheel, without the sdist's outer folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            return {name: archive.read(name) for name in names}
    files = {}
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                files[member.name.partition("/")[2]] = content.read()
            elif not member.isdir():
                # A link in an sdist would lead nowhere on Windows.
                message = f"{path.name}: {member.name} is neither a file nor a folder"
                raise ValueError(message)
    return files


def needed_files(root: Path, is_sdist: bool) -> set[str]:
    """Return the files of a checkout that an archive must have.

    All files of the package: also those that are not Python.  The kernels stand in
    ``roll_vec/kernels`` in both archives, although they are a link in the checkout.
    """
    files = [*(root / "roll_vec").rglob("*"), *(root / "kernels").rglob("*")]
    names = {path.relative_to(root).as_posix() for path in files if path.is_file()}
    names = {
        name for name in names if not _UNWANTED.search(name.removeprefix("kernels/"))
    }
    package = {re.sub(r"^kernels/", "roll_vec/kernels/", name) for name in names}
    return package | set(_BESIDE) if is_sdist else package


def unwanted_files(names: set[str]) -> list[str]:
    """Return the files that an archive should not have: tests, caches, hidden files."""
    return sorted(name for name in names if _UNWANTED.search(name))
