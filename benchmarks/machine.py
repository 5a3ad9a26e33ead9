"""What a figure was taken with: machine, load, versions, command."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

PACKAGES = ("roll-vec", "numpy", "numba", "llvmlite")


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _revision() -> str | None:
    """Return the checkout's revision, with a + where files differ from it."""
    root = Path(__file__).resolve().parent.parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def load() -> list[float] | None:
    """Return the load averages over 1, 5 and 15 minutes, where there are any."""
    return [round(value, 2) for value in os.getloadavg()] if _HAS_LOAD else None


_HAS_LOAD = hasattr(os, "getloadavg")


def describe(command: str) -> dict[str, Any]:
    """Return what a figure needs beside it, ready for JSON.

    ``command`` is what was typed.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": len(affinity(0)) if affinity else os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {n: v for n in PACKAGES if (v := _version(n)) is not None},
        "revision": _revision(),
        "command": command,
        "threads": os.environ.get("ROLL_VEC_NUM_THREADS"),
    }
