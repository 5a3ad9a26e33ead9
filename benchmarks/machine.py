"""The machine, its load, versions and revision, which a result states.

Imports only the standard library: adapters of peers count cores with it.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

PACKAGES = ("roll-vec", "numpy", "numba", "llvmlite", "ray")


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()


def version_of(package: str) -> str | None:
    """Return the version of an installed package; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def revision(generated: Sequence[str] = ()) -> str | None:
    """Return the checkout's commit, with a + if files differ from it; None if unknown.

    Parameters
    ----------
    generated : sequence of str
        Files and folders that do not count: the results themselves.
    """
    root = Path(__file__).resolve().parent.parent
    status = ["git", "status", "--porcelain", "--", ".", *(f":!{f}" for f in generated)]
    try:
        head, changes = (
            subprocess.run(
                each, cwd=root, capture_output=True, text=True, check=True
            ).stdout.strip()
            for each in (["git", "rev-parse", "--short", "HEAD"], status)
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}+" if changes else head


def usable_cores() -> int:
    """Return the number of cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load() -> list[float] | None:
    """Return the load averages over 1, 5 and 15 minutes, or None if unknown."""
    if not hasattr(os, "getloadavg"):
        return None
    return [round(value, 2) for value in os.getloadavg()]


def describe(command: str) -> dict[str, Any]:
    """Return a description of the machine, ready for JSON.

    Parameters
    ----------
    command : str
        The command that was typed.
    """
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {n: v for n in PACKAGES if (v := version_of(n)) is not None},
        "revision": revision(),
        "command": command,
        "date": date.today().isoformat(),
        "threads": os.environ.get("ROLL_VEC_NUM_THREADS"),
    }
