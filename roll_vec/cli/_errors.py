"""Error messages and exit codes of the command line; packages that are missing."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from roll_vec.errors import MissingExtraError, RollVecError, one_line

# Exit codes.
FAILURE = 1
USER_ERROR = 2
INTERRUPTED = 130


class UsageError(RollVecError):
    """Raised when an argument cannot be used; the message is for the user."""


def argument_error(argument: str, text: str) -> UsageError:
    """Return the error ``argument NAME: text``."""
    return UsageError(f"argument {argument}: {text}")


def as_argument(error: RollVecError, arguments: Mapping[str, str]) -> UsageError:
    """Return an error ``keyword: text`` as one about the keyword's argument."""
    keyword, _, text = one_line(error).partition(": ")
    if keyword not in arguments:
        return UsageError(one_line(error))
    return argument_error(arguments[keyword], text)


def require(
    package: str, feature: str, *, module: str | None = None, extra: str = "cli"
) -> None:
    """Check that a package of an extra can be imported.

    Parameters
    ----------
    package : str
        Its name for pip.
    feature : str
        The feature that needs it, subject of the message.
    module : str, optional
        Its name for import, if that is different.
    extra : str

    Raises
    ------
    MissingExtraError
    """
    module = module or package
    MissingExtraError.import_module(module, feature, extra=extra, package=package)


def say_error(message: str) -> None:
    """Write one line on stderr, after the program's name."""
    sys.stderr.write(f"roll-vec: {message}\n")


def say_all_faults(count: int, first: str) -> int:
    """Say that faults ended all episodes, and return the exit code."""
    say_error(
        f"error: all {count:,} episodes ended by faults, the first by this: "
        f"{one_line(first)}"
    )
    return FAILURE
