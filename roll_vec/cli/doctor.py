"""``roll-vec doctor``: versions and folders of this installation, and its faults.

The module needs no kernels: the command works in a checkout that lacks them.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import roll_vec
from roll_vec.cli._errors import FAILURE, say_error
from roll_vec.cli._options import add_command
from roll_vec.cli._tables import print_table
from roll_vec.errors import one_line
from roll_vec.options import count_cores

_CORE = ("numpy", "numba", "gymnasium")
_FOLDER = Path(roll_vec.__file__).parent

_SUMMARY = "show versions, folders and cores of this installation"

_DESCRIPTION = """\
Show the versions, the machine and the folders of this installation, for a
report of a bug. The exit code is 1 if no environment can run.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    add_command(commands, "doctor", _run, _SUMMARY, _DESCRIPTION)


def find_kernels_fault() -> str | None:
    """Return why the folder of the kernels cannot be used; None: it is there."""
    folder = _FOLDER / "kernels"
    if folder.is_dir():
        return None
    return (
        f"{folder} has to be the folder of the kernels. In a checkout it is a symbolic "
        "link: on Windows, turn on developer mode, then "
        '"git config --global core.symlinks true", and clone again'
    )


def _run(arguments: argparse.Namespace) -> int:
    del arguments
    python = f"{platform.python_implementation()} {platform.python_version()}"
    variables = (name for name in os.environ if re.match("NUMBA_|ROLL_VEC_", name))
    rows = [
        ("roll_vec", f"{roll_vec.__version__}, {_FOLDER}"),
        ("python", f"{python}, {sys.executable}"),
        ("platform", platform.platform()),
        ("cores", f"{count_cores()} of {os.cpu_count()} for this process"),
        *((name, os.environ[name]) for name in sorted(variables)),
    ]
    faults = []
    for name in _find_packages():
        try:
            rows.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            if name in _CORE:
                faults.append(f"{name} is not installed: pip install {name}")
    fault = find_kernels_fault()
    try:
        if fault is None:
            cache = importlib.import_module("roll_vec.kernels._cache")
            rows.append(("kernels", str((_FOLDER / "kernels").resolve())))
            rows.append(("compiled kernels", str(cache.cache_root())))
    except Exception as error:
        fault = f"the kernels cannot be imported: {one_line(error)}"
    if fault is not None:
        faults.append(fault)
    print_table(rows)
    for fault in faults:
        say_error(f"error: {fault}")
    return FAILURE if faults else 0


def _find_packages() -> list[str]:
    """Return the names of the packages of the core, then of those of extras."""
    try:
        lines = metadata.requires("roll-vec") or []
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        lines = []
    names = [re.split(r"[^\w.-]", line)[0] for line in lines]
    extras = sorted({*names} - {*_CORE, "roll-vec", "roll_vec"})
    return [*_CORE, *extras]
