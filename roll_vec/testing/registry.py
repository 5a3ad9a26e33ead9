"""All checks by subject, in the order in which they run."""

from __future__ import annotations

from types import ModuleType

from roll_vec.testing import (
    checks_autoreset,
    checks_construction,
    checks_infos,
    checks_lifecycle,
    checks_memory,
    checks_misuse,
    checks_partial_reset,
    checks_results,
    checks_seeds,
)
from roll_vec.testing.check import Check

# Codes and titles of findings that belong to no check.
GENERAL = {
    "raises": "documented uses raise nothing",
    "close-raises": "close() raises nothing",
    "call-limit": "calls return in time",
}


def _checks_of(module: ModuleType) -> tuple[Check, ...]:
    """Return the checks of a module, in the order of their definitions."""
    return tuple(each for each in vars(module).values() if isinstance(each, Check))


# The order matters: later checks skip features that an earlier one found unsupported.
GROUPS = {
    "Construction": _checks_of(checks_construction),
    "Results of reset and step": _checks_of(checks_results),
    "Infos": _checks_of(checks_infos),
    "Seeds and streams": _checks_of(checks_seeds),
    "Memory": _checks_of(checks_memory),
    "Partial reset": _checks_of(checks_partial_reset),
    "Autoreset": _checks_of(checks_autoreset),
    "Misuse": _checks_of(checks_misuse),
    "Lifecycle and rendering": _checks_of(checks_lifecycle),
}
