"""Exceptions that a check raises to stop early, and exceptions written as one line."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import NoReturn

TRACEBACK = "Traceback (most recent call last)"
_MAX_CHARACTERS = 240


class DoesNotApply(Exception):
    """Raised when a check makes no sense for this environment; the text says why."""


def skip(reason: str) -> NoReturn:
    """Leave the running check for this reason."""
    raise DoesNotApply(reason)


class CallFailed(Exception):
    """Raised when a documented use of the environment raised.

    Parameters
    ----------
    did : str
        The call, as a user would write it.
    error : BaseException
        The error that it raised.
    """

    def __init__(self, did: str, error: BaseException) -> None:
        super().__init__(f"{did} raised {type(error).__name__}: {error}")
        self.did, self.error = did, error


def describe_error(error: BaseException) -> str:
    """Return an exception as one line, with the place that raised it."""
    message = " ".join(str(error).split())
    if len(message) > _MAX_CHARACTERS:
        message = f"{message[: _MAX_CHARACTERS - 1]}…"
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    # A call that did not even begin was raised by the checker: no place to name.
    if frames and Path(frames[-1].filename).parent != Path(__file__).parent:
        last = frames[-1]
        text += f" ({Path(last.filename).name}:{last.lineno}, in {last.name})"
    return text


def describe_cause(error: BaseException) -> str:
    """Return the traceback of the error's cause, or an empty text without a cause."""
    if error.__cause__ is None:
        return ""
    return "".join(traceback.format_exception(error.__cause__)).rstrip()
