"""Errors name the section of the docs that explains them."""

import pickle
import traceback

import pytest

from roll_vec import errors


@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidOptionError.expected("num_envs", "an int", None),
        errors.MissingExtraError("play", extra="cli", package="rich"),
        errors.PendingResultsError("text", "step"),
        errors.EnvironmentFaultError({1: "text"}),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_traceback_shows_the_section(error):
    section = f"docs/errors.md#{type(error).__name__.lower()}"
    again = pickle.loads(pickle.dumps(error))
    assert error.docs == again.docs == section
    assert error.__notes__ == again.__notes__ == [f"See {section}"]
    lines = traceback.format_exception_only(type(error), error)
    if hasattr(error, "add_note"):  # Python 3.11
        assert lines[-1] == f"See {section}\n"


def test_a_class_without_a_section_has_no_note():
    class Error(errors.RollVecError):
        pass

    assert Error("text").docs == ""
    assert not hasattr(Error("text"), "__notes__")
    assert not hasattr(errors.RollVecError("text"), "__notes__")
