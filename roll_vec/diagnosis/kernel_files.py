"""The folder of the kernels, and the folder of those that are compiled."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import roll_vec
from roll_vec.diagnosis.findings import BROKEN, WARNING, Checks, Finding
from roll_vec.diagnosis.machine import format_bytes

_FOLDER = Path(roll_vec.__file__).parent / "kernels"


def _check_folder() -> Iterator[Finding]:
    if not _FOLDER.is_dir():
        value = "a file" if _FOLDER.exists() else "missing"
        advice = (
            f"{_FOLDER} has to be the folder of the kernels. In a checkout it is a "
            "symbolic link: on Windows, turn on developer mode, then "
            '"git config --global core.symlinks true", and clone again'
        )
        yield Finding("folder", value, BROKEN, advice)
        return
    kind = f"a link to {_FOLDER.resolve()}" if _FOLDER.is_symlink() else str(_FOLDER)
    yield Finding("folder", kind)
    try:
        importlib.import_module("roll_vec.kernels.rng.pcg64")
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        advice = "the kernels cannot be imported: no environment can run"
        yield Finding("import", text, BROKEN, advice)


def _check_cache() -> Iterator[Finding]:
    from roll_vec.kernels._cache import cache_root

    root = cache_root()
    files = [path for path in root.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    versions = len({path.parent for path in files})
    text = f"{root}, {format_bytes(size)}"
    if versions:
        text += f", kernels of {versions} version{'s' * (versions > 1)}"
    if _is_writable(root):
        yield Finding("cache", text)
    else:
        advice = (
            "every process compiles its kernels again: set NUMBA_CACHE_DIR to a folder "
            "that you may write into"
        )
        yield Finding("cache", f"{text}, not writable", WARNING, advice)


def _is_writable(folder: Path) -> bool:
    """Return whether a folder, or the one that it will be made in, can be written."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        # The permissions alone do not tell: root has all of them, also in /proc.
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


CHECKS: Checks = {"folder": _check_folder, "cache": _check_cache}
