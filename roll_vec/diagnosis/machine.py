"""Platform, cores, memory, threads, and the variables that change them."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path

from roll_vec.arrays.row_threads import (
    ENVIRONMENT_VARIABLE,
    count_cores,
    resolve_num_threads,
)
from roll_vec.diagnosis.findings import WARNING, Checks, Finding
from roll_vec.errors import InvalidOptionError

_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")
# Variables that change speed or results of compiled code, and their effect.
_SLOW_VARIABLES = {
    "NUMBA_DISABLE_JIT": "kernels run as plain Python, some hundred times as slow",
    "NUMBA_BOUNDSCHECK": "kernels check every index, and are slower",
    "NUMBA_OPT": "kernels are compiled with other optimisations",
}


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
    text = os.environ.get(ENVIRONMENT_VARIABLE)
    origin = "all usable cores" if text is None else f"{ENVIRONMENT_VARIABLE}={text}"
    try:
        count = resolve_num_threads(None)
    except InvalidOptionError as error:
        advice = f"set {ENVIRONMENT_VARIABLE} to a positive integer, or unset it"
        yield Finding("threads", str(error), WARNING, advice)
        return
    cores = count_cores()
    if count > cores:
        advice = f"more threads than the {cores} usable cores slow each other"
        yield Finding("threads", f"{count} ({origin})", WARNING, advice)
    else:
        yield Finding("threads", f"{count} ({origin})")


def _check_variables() -> Iterator[Finding]:
    for name, effect in _SLOW_VARIABLES.items():
        value = os.environ.get(name, "")
        if value not in ("", "0"):
            yield Finding(
                name, value, WARNING, f"{effect}: unset it if that is not meant"
            )


def format_bytes(size: float) -> str:
    """Return a number of bytes with a unit, as ``3.4 GiB``."""
    if size < 1024:
        return f"{size:.0f} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} TiB"


CHECKS: Checks = {
    "platform": _check_platform,
    "cores": _check_cores,
    "memory": _check_memory,
    "threads": _check_threads,
    "variables": _check_variables,
}
