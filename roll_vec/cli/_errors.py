"""Error messages and exit codes of the command line."""

from __future__ import annotations

import sys

from roll_vec.errors import RollVecError

__all__ = [
    "FAILURE",
    "INTERRUPTED",
    "USER_ERROR",
    "UsageError",
    "argument_error",
    "say_error",
]

# Exit codes.
FAILURE = 1
USER_ERROR = 2
INTERRUPTED = 130


class UsageError(RollVecError):
    """Raised when an argument cannot be used; the message is for the user."""


def argument_error(argument: str, text: str) -> UsageError:
    """Return the error ``argument NAME: text``."""
    return UsageError(f"argument {argument}: {text}")


def say_error(message: str) -> None:
    """Write one line on stderr, after the program's name."""
    sys.stderr.write(f"roll-vec: {message}\n")
