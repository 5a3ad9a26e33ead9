"""Running the command line as a user does, with what it wrote."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from roll_vec.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run the command line in an empty directory; return code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        # Whether this process is the first to compile is not the subject here.
        lines = captured.err.splitlines(keepends=True)
        err = [line for line in lines if not line.startswith("roll_vec: compiling")]
        return Outcome(code, captured.out, "".join(err))

    return run


@pytest.fixture
def fails(run):
    """Run what must fail as users' errors do; return the one line."""

    def fails(*arguments: object) -> str:
        outcome = run(*arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith("roll-vec: error: ")
        assert outcome.err.count("\n") == 1
        return outcome.err

    return fails
