"""The state of an installation: versions, machine, kernels, extras.

`diagnose` is behind ``roll-vec doctor``.  Each line comes from a check of its own.  A
check that fails becomes a line that says so; the others run all the same.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import roll_vec
from roll_vec.errors import InvalidOptionError, MissingExtraError, how_to_install
from roll_vec.options import THREADS_VARIABLE, count_cores, resolve_num_threads

if TYPE_CHECKING:
    from packaging.requirements import Requirement

__all__ = ["BROKEN", "OK", "WARNING", "Finding", "diagnose"]

OK, WARNING, BROKEN = "ok", "warning", "broken"
_DISTRIBUTION = "roll-vec"
_CORE = ("numpy", "numba", "gymnasium")
# Not a dependency of ours by itself: numba brings the version that it needs.
_BESIDE_NUMBA = "llvmlite"
_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")
# Variables that change speed or results of compiled code, and their effect.
_SLOW_VARIABLES = {
    "NUMBA_DISABLE_JIT": "kernels run as plain Python, some hundred times as slow",
    "NUMBA_BOUNDSCHECK": "kernels check every index, and are slower",
    "NUMBA_OPT": "kernels are compiled with other optimisations",
}
_FOLDER = Path(roll_vec.__file__).parent / "kernels"


@dataclass(frozen=True)
class Finding:
    """A line about an installation.

    Parameters
    ----------
    name : str
    value : str, int, list of str or None
        None: there is none, for example of a package that is not installed.
    status : str
        `OK`; `WARNING`: something works less well; `BROKEN`: environments cannot run.
    advice : str
        What to do; empty for `OK`.
    """

    name: str
    value: Any
    status: str = OK
    advice: str = ""


def diagnose() -> dict[str, list[Finding]]:
    """Return what there is to say about this installation, by section.

    Returns
    -------
    dict from str to list of Finding
        ``versions``, ``machine``, ``kernels``, ``extras``.
    """
    return {section: [*_run(checks)] for section, checks in _SECTIONS.items()}


def _run(checks: Iterable[Callable[[], Iterator[Finding]]]) -> Iterator[Finding]:
    """Yield the lines of all checks.

    A check that raises becomes one line: a warning with its name and the error.
    """
    for check in checks:
        try:
            yield from check()
        except Exception as error:
            advice = "this line could not be checked"
            name = check.__name__.removeprefix("_check_")
            yield Finding(name, _in_one_line(error), WARNING, advice)


def _in_one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


# -------------------------------------------------------------------------- software


def _read_requirements() -> dict[str, list[Requirement]]:
    """Return the packages of each extra, and those of the core as ``""``.

    Lines for other versions of Python are left out.

    Raises
    ------
    MissingExtraError
        Without the package packaging.
    PackageNotFoundError
        If roll_vec is not installed.
    """
    packaging = MissingExtraError.import_module(
        "packaging.requirements", "the list of packages", extra="cli"
    )
    packages: dict[str, list[Requirement]] = {"": []}
    for line in metadata.requires(_DISTRIBUTION) or []:
        match = re.search(r"""extra\s*==\s*["']([^"']+)""", line)
        extra, requirement = match[1] if match else "", packaging.Requirement(line)
        marker = requirement.marker
        # An extra of extras has our own name.
        if requirement.name.replace("_", "-") != _DISTRIBUTION and (
            marker is None or marker.evaluate({"extra": extra})
        ):
            packages.setdefault(extra, []).append(requirement)
    return packages


def _check_python() -> Iterator[Finding]:
    version = f"{platform.python_implementation()} {platform.python_version()}"
    yield Finding("python", f"{version}, {sys.executable}")


def _check_roll_vec() -> Iterator[Finding]:
    version, folder = roll_vec.__version__, Path(roll_vec.__file__).parent
    yield Finding("roll_vec", f"{version}, {folder}")
    installed = _version_of(_DISTRIBUTION)
    if installed not in (None, version):
        advice = (
            f"pip has {installed} installed, this is {version}: install again, or "
            "start Python in another folder"
        )
        yield Finding("roll_vec for pip", installed, WARNING, advice)


def _check_packages() -> Iterator[Finding]:
    try:
        core = {each.name: each for each in _read_requirements()[""]}
    except (metadata.PackageNotFoundError, MissingExtraError):
        core = {}
    for name in dict.fromkeys((*core, *_CORE, _BESIDE_NUMBA)):
        version = _version_of(name)
        if version is None:
            yield Finding(name, None, BROKEN, f"pip install {name}")
        elif name in core and _is_outside(core[name], version):
            needs = f"roll_vec needs {core[name]}: pip install -U {name}"
            yield Finding(name, version, BROKEN, needs)
        else:
            yield Finding(name, version)


def _check_extras() -> Iterator[Finding]:
    for extra, requirements in _read_requirements().items():
        if not extra:
            continue
        versions = {each.name: _version_of(each.name) for each in requirements}
        texts = [f"{name} {version}" for name, version in versions.items() if version]
        missing = [name for name, version in versions.items() if not version]
        if missing:
            # An extra that nobody asked for is no fault.
            texts.append(f"not installed: {', '.join(missing)}")
            yield Finding(extra, f"{', '.join(texts)} ({how_to_install(extra)})")
            continue
        outdated = [
            f"{each.name}{each.specifier}"
            for each in requirements
            if _is_outside(each, versions[each.name] or "")
        ]
        advice = f"needs {', '.join(outdated)}: {how_to_install(extra)}"
        status = (WARNING, advice) if outdated else (OK, "")
        yield Finding(extra, ", ".join(texts), *status)


def _version_of(package: str) -> str | None:
    """Return the installed version of a package; None: it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _is_outside(requirement: Requirement, version: str) -> bool:
    """Return whether a version, maybe before a release, is none that is needed."""
    return not requirement.specifier.contains(version, prereleases=True)


# --------------------------------------------------------------------------- machine


def _check_platform() -> Iterator[Finding]:
    yield Finding("platform", f"{platform.platform()}, {platform.machine()}")


def _check_cores() -> Iterator[Finding]:
    usable, total = count_cores(), os.cpu_count() or 1
    of_total = f" of {total} may be used by this process" if usable < total else ""
    yield Finding("cores", f"{usable}{of_total}")


def _check_memory() -> Iterator[Finding]:
    names: dict[str, int] = getattr(os, "sysconf_names", {})
    if not {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= names.keys():
        yield Finding("memory", None)
        return
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    text = format_bytes(total)
    try:
        limit = int(_MEMORY_LIMIT.read_text())
    except (OSError, ValueError):  # no control groups, or "max"
        limit = total
    if limit < total:
        text = f"{format_bytes(limit)} of {text} may be used by this process"
    yield Finding("memory", text)


def _check_threads() -> Iterator[Finding]:
    text = os.environ.get(THREADS_VARIABLE)
    origin = "all usable cores" if text is None else f"{THREADS_VARIABLE}={text}"
    try:
        count = resolve_num_threads(None)
    except InvalidOptionError as error:
        advice = f"set {THREADS_VARIABLE} to a positive integer, or unset it"
        yield Finding("threads", str(error), WARNING, advice)
        return
    cores = count_cores()
    advice = f"more threads than the {cores} usable cores slow each other"
    status = (WARNING, advice) if count > cores else (OK, "")
    yield Finding("threads", f"{count} ({origin})", *status)


def _check_variables() -> Iterator[Finding]:
    for name, effect in _SLOW_VARIABLES.items():
        value = os.environ.get(name, "")
        if value not in ("", "0"):
            advice = f"{effect}: unset it if that is not meant"
            yield Finding(name, value, WARNING, advice)


def format_bytes(size: float) -> str:
    """Return a number of bytes with a unit, as ``3.4 GiB``."""
    if size < 1024:
        return f"{size:.0f} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} TiB"


# --------------------------------------------------------------------------- kernels


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
        advice = "the kernels cannot be imported: no environment can run"
        yield Finding("import", _in_one_line(error), BROKEN, advice)


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


_SECTIONS = {
    "versions": (_check_python, _check_roll_vec, _check_packages),
    "machine": (
        *(_check_platform, _check_cores, _check_memory, _check_threads),
        _check_variables,
    ),
    "kernels": (_check_folder, _check_cache),
    "extras": (_check_extras,),
}
