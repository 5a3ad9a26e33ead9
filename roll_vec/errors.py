"""The exceptions that roll_vec raises; each one also is what users already catch.

::

    RollVecError
    ├── InvalidActionError       ValueError
    │   └── UnbatchedActionError TypeError
    ├── InvalidOptionError       ValueError
    ├── UnknownOptionError       TypeError
    ├── InvalidSeedError         gymnasium.error.Error
    ├── ResetNeededError         gymnasium.error.ResetNeeded
    ├── ClosedError              gymnasium.error.ClosedEnvironmentError
    ├── LevelGenerationError     RuntimeError
    ├── FrozenAttributeError     AttributeError
    ├── EnvironmentFaultError    RuntimeError
    ├── PendingResultsError      gymnasium.error.AlreadyPendingCallError
    ├── SpaceMismatchError       RuntimeError
    ├── UnsupportedError         NotImplementedError
    └── MissingExtraError        gymnasium.error.DependencyNotInstalled, ImportError

and the warnings that it gives::

    RollVecWarning               UserWarning
    ├── ActionStartWarning
    ├── EnvironmentFaultWarning
    └── SlowPatternWarning
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from gymnasium import error as gym_error
from numpy.typing import NDArray

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "ActionStartWarning",
    "ClosedError",
    "EnvironmentFaultError",
    "EnvironmentFaultWarning",
    "FrozenAttributeError",
    "InvalidActionError",
    "InvalidOptionError",
    "InvalidSeedError",
    "LevelGenerationError",
    "MissingExtraError",
    "PendingResultsError",
    "ResetNeededError",
    "RollVecError",
    "RollVecWarning",
    "SlowPatternWarning",
    "SpaceMismatchError",
    "UnbatchedActionError",
    "UnknownOptionError",
    "UnsupportedError",
    "list_env_ids",
    "shorten",
    "warn_caller",
]


class RollVecError(Exception):
    """Root of everything that roll_vec raises on purpose."""


class _InvalidValueError(RollVecError):
    """Base of errors about one value."""

    @classmethod
    def expected(cls, name: str, wanted: str, value: object) -> Self:
        """Return the error ``name: expected <wanted>, got <value>``.

        Parameters
        ----------
        name : str
            The argument or option, with an index or key where one element is wrong.
        wanted : str
            The values that are accepted.
        value : object
            The value that was passed; its repr is cut to 80 characters.
        """
        return cls(f"{name}: expected {wanted}, got {shorten(value)}")


class InvalidActionError(_InvalidValueError, ValueError):
    """Raised when actions have the wrong type, shape, dtype or range."""


class UnbatchedActionError(InvalidActionError, TypeError):
    """Raised when actions cannot be iterated over; a TypeError as in Gymnasium."""


class InvalidOptionError(_InvalidValueError, ValueError):
    """Raised when a keyword has a value that cannot be used."""


class UnknownOptionError(RollVecError, TypeError):
    """Raised when a keyword does not exist; the message lists those that do."""


class InvalidSeedError(_InvalidValueError, gym_error.Error):
    """Raised when a seed is negative or not an integer."""


class ResetNeededError(RollVecError, gym_error.ResetNeeded):
    """Raised when an environment is stepped before a reset or after its end."""


class ClosedError(RollVecError, gym_error.ClosedEnvironmentError):
    """Raised when a closed environment is used."""


class LevelGenerationError(RollVecError, RuntimeError):
    """Raised when no level was found within the documented number of tries."""


class FrozenAttributeError(RollVecError, AttributeError):
    """Raised when an attribute that is fixed at construction is set."""


class SpaceMismatchError(RollVecError, RuntimeError):
    """Raised when environments of one pool have spaces that do not go together."""


class UnsupportedError(RollVecError, NotImplementedError):
    """Raised when a form of an environment cannot do what another can."""


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
        super().__init__(f"{feature} needs {package}: {how_to_install(extra)}")
        self.feature, self.extra, self.package = feature, extra, package

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions rebuild themselves from positional arguments alone.
        return (_missing_extra, (self.feature, self.extra, self.package))


def how_to_install(extra: str) -> str:
    """Return the words that say how to get an extra of this package."""
    return f'in your checkout of roll_vec, pip install ".[{extra}]"'


def _missing_extra(feature: str, extra: str, package: str) -> MissingExtraError:
    return MissingExtraError(feature, extra=extra, package=package)


class EnvironmentFaultError(RollVecError, RuntimeError):
    """Raised when pooled environments failed and the batch cannot go on without them.

    Parameters
    ----------
    errors : mapping of int to str
        What happened, by environment.

    Attributes
    ----------
    errors : dict of int to str
    """

    def __init__(self, errors: Mapping[int, str]) -> None:
        self.errors = dict(errors)
        rows = np.array(sorted(self.errors), np.int64)
        first = self.errors[int(rows[0])]
        super().__init__(f"environments {list_env_ids(rows)} failed, first: {first}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.errors,))


class PendingResultsError(RollVecError, gym_error.AlreadyPendingCallError):
    """Raised when something is asked of environments whose results are outstanding.

    Parameters
    ----------
    message : str
    name : str
        The method that was called.
    """

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message, name)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.args[0], self.name))


class RollVecWarning(UserWarning):
    """Root of the warnings of roll_vec."""


class ActionStartWarning(RollVecWarning):
    """Given where 0 is played as an action and stands for "no valid action"."""


class EnvironmentFaultWarning(RollVecWarning):
    """Given at the first fault of a pool whose faults do not raise.

    The text ends with the traceback, where an exception was the fault.
    """


class SlowPatternWarning(RollVecWarning):
    """Given for an ``action_pattern`` that some texts keep busy for hours."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called, through wrappers or not."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: object) -> bool:
    """Tell whether a module is one of this package or of Gymnasium."""
    return str(module).partition(".")[0] in ("roll_vec", "gymnasium")


def list_env_ids(rows: NDArray[np.int64]) -> str:
    """Return the indices of some environments for a message, a few at most."""
    shown = ", ".join(str(row) for row in rows[:8])
    return f"[{shown}{', ...' if len(rows) > 8 else ''}]"


def shorten(value: object) -> str:
    """Return a value for a message, 80 characters at most."""
    try:
        shown = repr(value)
    except Exception:
        # Python refuses to write integers of thousands of digits.
        shown = f"an object of type {type(value).__name__}"
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
