"""The exceptions that roll_vec raises; each one also is what users already catch.

::

    RollVecError
    ├── InvalidActionError       ValueError
    ├── InvalidOptionError       ValueError
    ├── UnknownOptionError       TypeError
    ├── InvalidSeedError         gymnasium.error.Error
    ├── ResetNeededError         gymnasium.error.ResetNeeded
    ├── ClosedError              gymnasium.error.ClosedEnvironmentError
    ├── LevelGenerationError     RuntimeError
    ├── FrozenAttributeError     AttributeError
    └── MissingExtraError        gymnasium.error.DependencyNotInstalled, ImportError
"""

from __future__ import annotations

import numpy as np
from gymnasium import error as gym_error
from numpy.typing import NDArray

__all__ = [
    "ClosedError",
    "FrozenAttributeError",
    "InvalidActionError",
    "InvalidOptionError",
    "InvalidSeedError",
    "LevelGenerationError",
    "MissingExtraError",
    "ResetNeededError",
    "RollVecError",
    "UnknownOptionError",
    "describe_rows",
]


class RollVecError(Exception):
    """Root of everything that roll_vec raises on purpose."""


class InvalidActionError(RollVecError, ValueError):
    """Raised when actions have the wrong type, shape, dtype or range."""


class InvalidOptionError(RollVecError, ValueError):
    """Raised when a keyword has a value that cannot be used."""


class UnknownOptionError(RollVecError, TypeError):
    """Raised when a keyword does not exist; the message lists those that do."""


class InvalidSeedError(RollVecError, gym_error.Error):
    """Raised when a seed is negative or not an integer."""


class ResetNeededError(RollVecError, gym_error.ResetNeeded):
    """Raised when an environment is stepped before a reset or after its end."""


class ClosedError(RollVecError, gym_error.ClosedEnvironmentError):
    """Raised when a closed environment is used."""


class LevelGenerationError(RollVecError, RuntimeError):
    """Raised when no level was found within the documented number of tries."""


class FrozenAttributeError(RollVecError, AttributeError):
    """Raised when an attribute that is fixed at construction is set."""


class MissingExtraError(RollVecError, gym_error.DependencyNotInstalled, ImportError):
    """Raised when a feature needs a package of an extra that is not installed.

    Parameters
    ----------
    feature : str
        What was asked for, the subject of the message.
    extra : str
        The extra that brings it.
    package : str
        The package that could not be imported.
    """

    def __init__(self, feature: str, *, extra: str, package: str) -> None:
        super().__init__(
            f'{feature} needs {package}: pip install "roll-vec[{extra}]"',
        )
        self.feature, self.extra, self.package = feature, extra, package

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions rebuild themselves from positional arguments alone.
        return (_missing_extra, (self.feature, self.extra, self.package))


def _missing_extra(feature: str, extra: str, package: str) -> MissingExtraError:
    return MissingExtraError(feature, extra=extra, package=package)


def describe_rows(rows: NDArray[np.int64]) -> str:
    """Return the indices of some environments for a message, a few at most."""
    shown = ", ".join(str(row) for row in rows[:8])
    return f"[{shown}{', ...' if len(rows) > 8 else ''}]"
