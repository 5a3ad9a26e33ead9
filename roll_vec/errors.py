"""The exceptions and warnings of roll_vec.

Each exception also extends the built-in or Gymnasium class that users catch already. It
has a note with the address of its section of the documentation.  Python 3.11 and newer
show notes below the message.

::

    RollVecError
    ├── InvalidActionError       ValueError
    ├── InvalidOptionError       ValueError
    │   └── InvalidOptionTypeError TypeError
    ├── UnknownOptionError       TypeError
    ├── InvalidSeedError         gymnasium.error.Error, ValueError
    ├── InvalidStateError        ValueError
    ├── InvalidFileError         ValueError
    ├── ResetNeededError         gymnasium.error.ResetNeeded
    ├── ClosedError              gymnasium.error.ClosedEnvironmentError
    ├── LevelGenerationError     RuntimeError
    ├── SolverLimitError         RuntimeError
    ├── FrozenAttributeError     AttributeError
    ├── EnvironmentFaultError    RuntimeError
    ├── PartLostError            RuntimeError
    ├── PendingResultsError      gymnasium.error.AlreadyPendingCallError
    ├── BatchInUseError          RuntimeError
    ├── SessionsFullError        RuntimeError
    ├── SpaceMismatchError       RuntimeError
    ├── UnsupportedError         NotImplementedError
    └── MissingExtraError        gymnasium.error.DependencyNotInstalled, ImportError

Warnings::

    RollVecWarning               UserWarning
    ├── ActionStartWarning
    ├── EnvironmentFaultWarning
    └── SlowPatternWarning

`FaultMessage`, a str, is the text of a fault in an info.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from gymnasium import error as gym_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

__all__ = [
    "ActionStartWarning",
    "BatchInUseError",
    "ClosedError",
    "EnvironmentFaultError",
    "EnvironmentFaultWarning",
    "FaultMessage",
    "FrozenAttributeError",
    "InvalidActionError",
    "InvalidFileError",
    "InvalidOptionError",
    "InvalidOptionTypeError",
    "InvalidSeedError",
    "InvalidStateError",
    "LevelGenerationError",
    "MissingExtraError",
    "PartLostError",
    "PendingResultsError",
    "ResetNeededError",
    "RollVecError",
    "RollVecWarning",
    "SessionsFullError",
    "SlowPatternWarning",
    "SolverLimitError",
    "SpaceMismatchError",
    "UnknownOptionError",
    "UnsupportedError",
]


# The pages of the documentation.
DOCS = "https://github.com/OWNER/roll_vec/blob/main/docs"


class RollVecError(Exception):
    """Root of the exceptions that roll_vec raises on purpose.

    Attributes
    ----------
    docs : str
        The address of the page, with the section, that explains the exception.
        Empty for classes that the page does not have.
    """

    docs: ClassVar[str] = ""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        if self.docs:
            # As `add_note` does, which Python 3.10 lacks.
            self.__notes__ = [f"See {self.docs}"]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__name__ in __all__ and cls.__module__ == __name__:
            cls.docs = f"{DOCS}/errors.md#{cls.__name__.lower()}"


def one_line(error: BaseException | str) -> str:
    """Return an exception's message, or another text, as one line, never empty."""
    return " ".join(str(error).split()) or type(error).__name__


class _InvalidValueError(RollVecError):
    """Base of errors about one value."""

    @classmethod
    def expected(cls, name: str, accepted: str, value: object, hint: str = "") -> Self:
        """Return the error ``name: expected <accepted>, got <value><hint>``.

        Parameters
        ----------
        name : str
            The argument or option, with an index or key where one element is wrong.
        accepted : str
            The values that are accepted.
        value : object
            The value that was passed; its repr is cut to 80 characters.
        hint : str
            The end of the message.
        """
        return cls(f"{name}: expected {accepted}, got {shorten(value)}{hint}")


class InvalidActionError(_InvalidValueError, ValueError):
    """Raised when actions have the wrong type, shape, dtype or range."""


class InvalidOptionError(_InvalidValueError, ValueError):
    """Raised when a keyword has a value that cannot be used."""


class InvalidOptionTypeError(InvalidOptionError, TypeError):
    """Raised where programs catch a TypeError: wrong types, an unknown render mode."""


class UnknownOptionError(RollVecError, TypeError):
    """Raised when a keyword does not exist; the message lists those that do."""


class InvalidSeedError(_InvalidValueError, gym_error.Error, ValueError):
    """Raised when a seed is negative or no integer, or seeds are too few or many."""


class InvalidStateError(_InvalidValueError, ValueError):
    """Raised when a batch or an environment cannot be set to a state."""

    @classmethod
    def of_array(cls, name: str, accepted: str, value: object) -> Self:
        """Return the error about an array of a state; see `expected`."""
        return cls.expected(f"state: {name}", accepted, value)


class InvalidFileError(RollVecError, ValueError):
    """Raised when a file is damaged, of another kind or version, or no regular file."""


class ResetNeededError(RollVecError, gym_error.ResetNeeded):
    """Raised when an environment is stepped before a reset or after its end."""


class ClosedError(RollVecError, gym_error.ClosedEnvironmentError):
    """Raised when a closed environment is used."""


class LevelGenerationError(RollVecError, RuntimeError):
    """Raised when the documented number of tries generated no level."""


class SolverLimitError(RollVecError, RuntimeError):
    """Raised when a search for a solution gave up at its documented limit."""


class FrozenAttributeError(RollVecError, AttributeError):
    """Raised when an attribute that is fixed at construction is set."""


class SessionsFullError(RollVecError, RuntimeError):
    """Raised when a session is opened and no environment becomes free in time."""


class SpaceMismatchError(RollVecError, RuntimeError):
    """Raised when environments of one pool have spaces that do not fit together."""


class UnsupportedError(RollVecError, NotImplementedError):
    """Raised when this kind of batch or environment lacks a method of another kind."""


class MissingExtraError(RollVecError, gym_error.DependencyNotInstalled, ImportError):
    """Raised when a feature needs a package of an extra that is not installed.

    Parameters
    ----------
    feature : str
        The subject of the message.
    extra : str
        The extra that installs the package.
    package : str
        The package that could not be imported.
    """

    def __init__(self, feature: str, *, extra: str, package: str) -> None:
        super().__init__(f"{feature} needs {package}: {how_to_install(extra)}")
        self.feature, self.extra, self.package = feature, extra, package

    @classmethod
    def import_module(
        cls, module: str, feature: str, *, extra: str, package: str = ""
    ) -> Any:
        """Return a module of an extra.

        Parameters
        ----------
        module : str
            Its full name.
        feature, extra, package : str
            Of the error; the package is by default the first part of the name.

        Raises
        ------
        MissingExtraError
        """
        try:
            return importlib.import_module(module)
        except ImportError as error:
            package = package or module.partition(".")[0]
            raise cls(feature, extra=extra, package=package) from error

    def __reduce__(self) -> tuple[object, ...]:
        # By default an exception is unpickled from positional arguments only.
        names = {"extra": self.extra, "package": self.package}
        return partial(type(self), self.feature, **names), ()


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra of this package.

    It also works where the package was installed from a checkout.
    """
    return f'pip install "roll-vec[{extra}]"'


class EnvironmentFaultError(RollVecError, RuntimeError):
    """Raised when pooled environments failed and the batch cannot go on without them.

    Parameters
    ----------
    errors : mapping of int to str
        A description of the fault, by environment.

    Attributes
    ----------
    errors : dict of int to str
    """

    def __init__(self, errors: Mapping[int, str]) -> None:
        self.errors = dict(errors)
        env_ids = sorted(self.errors)
        first = self.errors[env_ids[0]]
        super().__init__(f"environments {list_env_ids(env_ids)} failed, first: {first}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.errors,))


class PartLostError(RollVecError, RuntimeError):
    """Raised when an actor of a joined batch died and its part cannot be restored."""


class FaultMessage(str):
    """The message of a fault, which a pool writes to the info ``error``.

    The class marks a fault, not the key: an environment may have an info ``error`` of
    another meaning.  `roll_vec.faults_of` returns the faults of a batch.
    """

    __slots__ = ()


class PendingResultsError(RollVecError, gym_error.AlreadyPendingCallError):
    """Raised when a method is called while results of `send` are outstanding.

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


class BatchInUseError(RollVecError, RuntimeError):
    """Raised when a thread calls a method of a batch that another thread is in."""


class RollVecWarning(UserWarning):
    """Root of the warnings of roll_vec."""


class ActionStartWarning(RollVecWarning):
    """Issued when the action 0 is used where it means "no valid action"."""


class EnvironmentFaultWarning(RollVecWarning):
    """Issued at the first fault of a pool.

    The text ends with the traceback if the fault was an exception.
    """


class SlowPatternWarning(RollVecWarning):
    """Issued for an ``action_pattern`` that may take hours to match some texts."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the nearest line outside roll_vec and Gymnasium, in the user's code."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package not in ("roll_vec", "gymnasium"):
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def list_env_ids(env_ids: NDArray[np.int64] | list[int]) -> str:
    """Return the ids of some environments for a message, at most eight."""
    ids = ", ".join(str(env_id) for env_id in env_ids[:8])
    return f"[{ids}{', ...' if len(env_ids) > 8 else ''}]"


def shorten(value: object) -> str:
    """Return the repr of a value for a message, 80 characters at most."""
    try:
        text = repr(value)
    except Exception:
        # Python raises for integers of thousands of digits.
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."
