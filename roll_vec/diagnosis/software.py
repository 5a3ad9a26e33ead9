"""Versions of Python and of packages: the core and the extras."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import roll_vec
from roll_vec.diagnosis.findings import BROKEN, OK, WARNING, Checks, Finding
from roll_vec.errors import MissingExtraError, how_to_install

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_DISTRIBUTION = "roll-vec"
_CORE = ("numpy", "numba", "gymnasium")
# Not a dependency of ours by itself: numba brings the version that it needs.
_BESIDE_NUMBA = "llvmlite"


def read_requirements() -> dict[str, list[Requirement]]:
    """Return the packages of each extra, and those of the core as ``""``.

    They are read from the installed package, else from the checkout.  Lines for other
    versions of Python are left out.

    Raises
    ------
    MissingExtraError
        Without the package packaging.
    LookupError
        If roll_vec is neither installed nor in a checkout whose ``pyproject.toml`` this
        Python can read.
    """
    try:
        from packaging.requirements import Requirement
    except ImportError as error:
        feature = "the list of packages"
        raise MissingExtraError(feature, extra="cli", package="packaging") from error
    try:
        lines = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        lines = _requirements_of_checkout()
    packages: dict[str, list[Requirement]] = {"": []}
    for line in lines:
        match = re.search(r"""extra\s*==\s*["']([^"']+)""", line)
        extra, requirement = match[1] if match else "", Requirement(line)
        marker = requirement.marker
        # An extra of extras has our own name.
        if requirement.name.replace("_", "-") != _DISTRIBUTION and (
            marker is None or marker.evaluate({"extra": extra})
        ):
            packages.setdefault(extra, []).append(requirement)
    return packages


def _requirements_of_checkout() -> list[str]:
    path = Path(roll_vec.__file__).parent.parent / "pyproject.toml"
    if sys.version_info < (3, 11) or not path.is_file():
        message = "roll_vec is not installed: its list of packages cannot be read"
        raise LookupError(message)
    import tomllib

    project = tomllib.loads(path.read_text("utf-8"))["project"]
    lines = list(project["dependencies"])
    for extra, needs in project["optional-dependencies"].items():
        for each in needs:
            line, _, marker = each.partition(";")
            condition = f"({marker}) and " if marker else ""
            lines.append(f'{line}; {condition}extra == "{extra}"')
    return lines


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


def _check_core() -> Iterator[Finding]:
    try:
        core = {each.name: each for each in read_requirements()[""]}
    except (LookupError, MissingExtraError):
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
    for extra, requirements in read_requirements().items():
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


VERSION_CHECKS: Checks = {
    "python": _check_python,
    "roll_vec": _check_roll_vec,
    "packages": _check_core,
}
EXTRA_CHECKS: Checks = {"extras": _check_extras}
