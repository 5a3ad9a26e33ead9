"""The error of a command line that cannot be carried out."""

from __future__ import annotations

from roll_vec.errors import RollVecError

__all__ = ["UsageError", "one_line"]


class UsageError(RollVecError):
    """Raised when an argument cannot be used; the message is for the user."""


def one_line(error: BaseException) -> str:
    """Return the message of any exception as one line, never an empty one."""
    return " ".join(str(error).split()) or type(error).__name__
