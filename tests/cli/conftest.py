"""Fixtures that run the command line as a user does, and return its output."""

import io
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import gymnasium
import pytest

from roll_vec.cli import main, make_parser
from roll_vec.storage.npz_files import read_npz, write_npz


@contextmanager
def changed_run(version=3):
    """Give the header and the arrays of a saved run, to be changed.

    The digests are made anew: what is changed is false, and not damaged.
    """
    header, arrays = read_npz("run.npz", "run", 3)
    yield header, arrays
    write_npz("run.npz", "run", version, header, arrays)


@dataclass(frozen=True)
class Outcome:
    """The exit code of a command, and its output."""

    code: int
    out: str
    err: str

    @property
    def table(self):
        """The rows of the printed table as a dict."""
        return dict(re.findall(r"^  (\S.*?)  +(\S.*)$", self.out, re.MULTILINE))


ONE_PARSER = cache(make_parser)


@pytest.fixture(autouse=True)
def _one_parser(monkeypatch):
    """Make the parser once: that takes longer than most commands."""
    monkeypatch.setattr("roll_vec.cli.make_parser", ONE_PARSER)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run the command line in an empty directory; return code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    # Importing the user's modules leaves the directory on the path.
    monkeypatch.setattr(sys, "path", sys.path.copy())

    def run(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        # The notice depends on the cache of compiled kernels.
        lines = captured.err.splitlines(keepends=True)
        err = [line for line in lines if not line.startswith("roll_vec: compiling")]
        return Outcome(code, captured.out, "".join(err))

    return run


@pytest.fixture
def works(run):
    """Run a command that succeeds, with nothing on stderr; return its outcome."""

    def works(*arguments: object) -> Outcome:
        outcome = run(*arguments)
        assert (outcome.code, outcome.err) == (0, "")
        return outcome

    return works


@pytest.fixture
def fails(run):
    """Run a command with a user's error; return the one line on stderr."""

    def fails(*arguments: object) -> str:
        outcome = run(*arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith("roll-vec: error: ")
        assert outcome.err.count("\n") == 1
        return outcome.err

    return fails


@pytest.fixture
def save(run, tmp_path):
    """Roll out, and save the run; return its path."""

    def save(*arguments):
        outcome = run("rollout", *arguments, "--out", "run.npz")
        assert outcome.code == 0, outcome.err
        assert "run: run.npz" in outcome.out
        return tmp_path / "run.npz"

    return save


@pytest.fixture
def play(works, monkeypatch):
    """Play with the lines of a text; return the output."""

    def play(text, *arguments):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        out = works("play", *arguments).out
        assert "\x1b" not in out
        return out

    return play


@pytest.fixture
def register(forgets_ids):
    """Register a class for one test."""

    def register(name, **entry_points):
        spec = gymnasium.envs.registration.EnvSpec(name, **entry_points)
        gymnasium.registry[name] = spec

    return register


@pytest.fixture
def policy_of(tmp_path):
    """Return a function that writes a module and returns the name of its `act`."""

    def policy_of(source):
        (tmp_path / "policy_of_mine.py").write_text(source)
        return "policy_of_mine:act"

    yield policy_of
    sys.modules.pop("policy_of_mine", None)


USER_MODULE = """
import os
from typing import ClassVar

import gymnasium
import roll_vec


class Echo(roll_vec.BaseLanguageBasedEnv):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.number = int(self.np_random.integers(10))
        return f"say {self.number}", {}

    def step(self, action):
        if action == "raise":
            raise OSError("out of [paper]")
        if action == "exit":
            os._exit(3)
        right = action == str(self.number)
        info = {"success": right}
        if action == "silent":
            info = {"said": f"you said {action}"}
        return f"heard {action}", float(right), right, False, info

    def get_instructions(self):
        return "Say the number."


class BareEcho(Echo):  # in no pool: what it raises ends the step
    def step(self, action):
        try:
            return super().step(action)
        except OSError as error:
            raise roll_vec.errors.RollVecError(str(error)) from error


class Corridor(roll_vec.BaseDiscreteActionEnv):
    ACTION_LOOKUP: ClassVar = {1: "Walk back", 2: "Right"}
    metadata: ClassVar = {"render_modes": ["text"]}

    def __init__(self, length=5, render_mode=None):
        self.observation_space = gymnasium.spaces.Discrete(length)
        self.action_space = gymnasium.spaces.Discrete(2, start=1)
        assert render_mode in (None, "text")
        self.length, self.render_mode = length, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position = self.length // 2
        return self.position, {}

    def step(self, action):
        self.position += {0: 0, 1: -1, 2: 1}[action]
        ended = self.position in (0, self.length - 1)
        return self.position, float(ended), ended, False, {}

    def render(self):
        return "".join(".@"[place == self.position] for place in range(self.length))

    @property
    def oracle_action(self):
        return None if self.position in (0, self.length - 1) else 2


gymnasium.register("mine/BareEcho-v0", BareEcho, max_episode_steps=3)
roll_vec.register("mine/Echo-v0", Echo, max_episode_steps=3)
roll_vec.register("mine/Corridor-v0", Corridor)
"""


@pytest.fixture
def user_module(tmp_path, forgets_ids):
    """Write a module that registers environments; return its name."""
    (tmp_path / "user_envs.py").write_text(USER_MODULE)
    yield "user_envs"
    sys.modules.pop("user_envs", None)
