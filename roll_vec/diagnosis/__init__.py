"""The state of an installation: versions, machine, kernels, extras.

`diagnose` is behind ``roll-vec doctor``.  Each line comes from a check of its own.  A
check that fails becomes a line that says so; the others run all the same.

Files, in reading order:

- ``findings.py``: `Finding`, a line; `run_checks`, which survives failures
- ``software.py``: Python, the packages of the core, the extras
- ``machine.py``: platform, cores, memory, threads, variables
- ``kernel_files.py``: the folder of the kernels, the cache folder
"""

from __future__ import annotations

from roll_vec.diagnosis import kernel_files, machine, software
from roll_vec.diagnosis.findings import BROKEN, OK, WARNING, Finding, run_checks

__all__ = ["BROKEN", "OK", "WARNING", "Finding", "diagnose"]

_SECTIONS = {
    "versions": software.VERSION_CHECKS,
    "machine": machine.CHECKS,
    "kernels": kernel_files.CHECKS,
    "extras": software.EXTRA_CHECKS,
}


def diagnose() -> dict[str, list[Finding]]:
    """Return what there is to say about this installation, by section.

    Returns
    -------
    dict from str to list of Finding
        ``versions``, ``machine``, ``kernels``, ``extras``.
    """
    return {section: run_checks(checks) for section, checks in _SECTIONS.items()}
