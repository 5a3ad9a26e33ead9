"""`roll-vec replay`: equal runs are identical, and the first difference is named.

The files of runs: their format, and those that cannot be played are refused.
"""

import json
import re
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Text, Tuple

from roll_vec.storage.npz_files import read_npz
from tests.cli.conftest import changed_run
from tests.conftest import JIT_OFF
from tests.thinning import one_in

MODES = ["NextStep", "SameStep", "Disabled"]
SOKOBAN, COUNTDOWN = "roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"
LAKE, ECHO = "roll_vec/FrozenLake-v1", "user_envs:mine/Echo-v0"
# 12 steps end some episodes of these, by the rules or by the limit.
SMALL = ("--num-envs", 4, "--steps", 12, "--seed", 7)
TWO = ("--num-envs", 2, "--steps", 3)
TINY_ROOMS = ("-o", "dim_room=(5, 5)", "-o", "num_boxes=1", "-o", "max_episode_steps=5")
TEXTS = ("-o", "obs_mode=text", "-o", "action_mode=text", "-o", "group_size=2")
TASKS = ("-o", "num_numbers=2", "-o", "number_range=(1, 4)", "-o", "max_steps=3")
# Wrap-around of integers is silenced in the thread of the test alone.
WORKERS = () if JIT_OFF else ("-o", "workers=2")


@pytest.fixture
def equals(works):
    """Replay the run, and check that all is equal; return the output."""

    def equals(*arguments, num_steps=12):
        out = works("replay", "run.npz", *arguments).out
        assert re.search(rf"^identical: .* {num_steps} steps \(", out, re.MULTILINE)
        return out

    return equals


@pytest.fixture
def differs(run):
    """Replay the run, and return what the report says of the first difference."""

    def differs():
        outcome = run("replay", "run.npz")
        assert (outcome.code, outcome.err) == (1, "")
        title, *lines = outcome.out.splitlines()
        assert title.startswith("different: ")
        return [line[15:] for line in lines]

    return differs


SAME = "a long word that is the same"


class Nested(gymnasium.Env):
    """Spaces within spaces, and infos of many kinds."""

    observation_space = Dict(
        {
            "pair": Tuple((Discrete(9), Text(5))),
            "empty": Box(0, 1, (0,)),
            "row": Box(-9, 9, (3,), np.float32),
        }
    )
    action_space = Dict({"push": Discrete(2), "word": Text(3)})

    def _observe(self):
        row = self.np_random.normal(size=3).astype(np.float32)
        number = int(self.np_random.integers(9))
        return {"pair": (number, f"n{number}"), "empty": np.zeros(0, "f"), "row": row}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._observe(), {"deep": {"er": {"nan": float("nan")}}, 1: {2, 3}}

    def step(self, action):
        info = {"object": object(), "word": action["word"], "when": np.arange(2)}
        if action["push"]:
            info["deep"] = {"er": {"text": "\ud800"}}
        return self._observe(), 0.5, bool(self.np_random.integers(2)), False, info


class Script(gymnasium.Env):
    """Says the same in every step, but for `changes`, by environment and call.

    The calls of an environment, resets as well, are counted from 0.  Every fourth step
    ends an episode.
    """

    observation_space, action_space = Box(0, 255, (2, 3), np.uint8), Discrete(2)
    changes = {}  # noqa: RUF012

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.number, self.call = seed - 7, -1
        self.length = 0
        observation, *_, info = self.results()
        return observation, info

    def step(self, action):
        self.length += 1
        return self.results()

    def results(self):
        self.call += 1
        results = {
            "observation": np.zeros((2, 3), np.uint8),
            "reward": 0.0,
            "terminated": self.length == 4,
            "truncated": False,
            "info": {"success": False, "word": SAME},
        }
        results |= self.changes.get((self.number, self.call), {})
        if "error" in results:
            raise OSError(results["error"])
        return tuple(results.values())


@pytest.fixture(autouse=True)
def _registered(register, monkeypatch):
    monkeypatch.setattr(Script, "changes", {})
    register("Nested-v0", entry_point=Nested)
    register("Script-v0", entry_point=Script)


RUNS = {
    "rooms": (SOKOBAN, *TINY_ROOMS, *TEXTS),
    "lakes": ("roll_vec/RandomFrozenLake-v0", "-o", "obs_mode=rgb", "--policy=oracle"),
    "tasks": (COUNTDOWN, *TASKS, *WORKERS),
    "nested": ("Nested-v0",),
}


@one_in(3, "arguments, autoreset", RUNS, MODES)
def test_a_run_is_identical(save, equals, arguments, autoreset):
    save(*arguments, *SMALL, "--autoreset", autoreset)
    equals()


def test_other_workers_and_threads_are_identical(save, equals, user_module):
    save(ECHO, *SMALL, "-o", "workers=2", "-o", "executor=process")
    equals("-o", "workers=0")
    save(SOKOBAN, *SMALL, "-o", "num_threads=2")
    equals("-o", "num_threads=1")
    save(LAKE, "--num-envs", 2, "--steps", 520, "-o", "max_episode_steps=9")
    equals(num_steps=520)


# ---------------------------------------------------------------- differences


def board(place):
    board = np.zeros((2, 3), np.uint8)
    board[place] = 9
    return {"observation": board}


def info(**infos):
    return {"info": {"success": False, "word": SAME} | infos}


def all_say(**infos):
    return {(i, 2): info(**infos) for i in range(4)}


def reward(value):
    return {"reward": value}


ALL = "0 (the first of 4 that differ in this step)"
DIGESTS = "observations or infos"
# What a step of one environment says now, and the report after its place.
FIELDS = [
    (reward(5.0), ["rewards", "0.0", "5.0"]),
    (reward(float("nan")), ["rewards", "0.0", "nan"]),
    # Bits are compared.
    (reward(-0.0), ["rewards", "0.0", "-0.0"]),
    ({"terminated": True}, ["terminations", "False", "True"]),
    ({"truncated": True}, ["truncations", "False", "True"]),
    (board((1, 2)), [DIGESTS]),
    (board((0, 0)), [DIGESTS]),
    (info(success=True), [DIGESTS]),
    ({"info": {"word": SAME}}, [DIGESTS]),
    (info(word="a new word"), [DIGESTS]),
    ({"error": "shut"}, ["exception", "none", "OSError: shut"]),
]
# The mode, the changes when the run was saved and now, and the report.
PLACES = [
    ("Disabled", {}, {(1, 0): board((0, 0))}, ["0 of 12", "1", DIGESTS]),
    # In this mode, call 5 is the reset after step 4.
    ("Disabled", {}, {(3, 5): board((0, 0))}, ["4 of 12, the reset after it", "3"]),
    (
        "Disabled",
        {},
        {(2, 3): reward(2.0), (1, 3): reward(1.0), (3, 4): reward(1.0)},
        ["3 of 12", "1 (the first of 2 that differ in this step)"],
    ),
    ("Disabled", {}, {(3, 14): reward(2.0)}, ["12 of 12", "3"]),
    # Another dtype is a difference.
    ("NextStep", all_say(more=False), all_say(more=0), ["2 of 12", ALL, DIGESTS]),
]


def test_a_difference_is_named(run, save, differs):
    save("Script-v0", *SMALL)
    for change, report in FIELDS:
        Script.changes = {(2, 3): change}
        place, env_id, *values = differs()
        assert [place, env_id] == ["3 of 12", "unknown" if "error" in change else "2"]
        assert values[: len(report)] == report
        if report == [DIGESTS]:
            assert re.fullmatch("digest [0-9a-f]{8}", values[1])
            assert re.match(r"digest [0-9a-f]{8}: array\(", values[2])
            assert values[1] not in values[2]
    quiet = run("replay", "run.npz", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (1, "", "")


@pytest.mark.parametrize(
    ("mode", "before", "now", "report"), PLACES, ids=range(len(PLACES))
)
def test_the_first_difference_is_named(save, differs, mode, before, now, report):
    Script.changes = before
    save("Script-v0", *SMALL, "--autoreset", mode)
    Script.changes = now
    assert differs()[: len(report)] == report


def test_a_run_that_an_exception_ends_is_saved(
    run, equals, differs, user_module, policy_of, tmp_path
):
    policy = policy_of(
        "calls = []\n"
        "def act(observations):\n"
        "    calls.append(1)\n"
        "    return ['raise' if len(calls) == 5 else 'x'] * len(observations)\n"
    )
    flags = ("--policy", policy, "--out", "run.npz")
    outcome = run("rollout", "user_envs:mine/BareEcho-v0", *SMALL, *flags)
    assert outcome.code == 2
    saved, reason = outcome.err.splitlines()
    assert saved == "roll-vec: a step raised an exception; run: run.npz"
    assert "out of [paper]" in reason
    raises = "the last step raises, as it did: RollVecError: out of [paper]"
    assert raises in equals(num_steps=5)
    for error, end in (("'no ink'", "RollVecError: no ink"), (None, "none")):
        path = tmp_path / "user_envs.py"
        source = path.read_text().replace('"out of [paper]"', error or "1")
        path.write_text(source if error else source.replace('== "raise"', "is None"))
        del sys.modules[user_module]
        step, env_id, field, recorded, now = differs()
        assert (step, env_id, field) == ("5 of 5", "unknown", "exception")
        assert recorded.endswith("RollVecError: out of [paper]")
        assert now.endswith(end)


# ---------------------------------------------------------------------- files

# A run of texts and numbers in version 3 of the format; without `versions`.
GOLDEN_RUN = Path(__file__).parent / "golden" / "run-3.npz"


def test_the_format_is_that_of_version_3(run, save):
    # The digests are those of any platform, Python and numpy.
    outcome = run("replay", GOLDEN_RUN)
    assert outcome.out.startswith("identical: "), outcome
    path = save(COUNTDOWN, "-o", "max_steps=2", *TWO, "--steps", 5)
    runs = [read_npz(each, "run", 3) for each in (path, GOLDEN_RUN)]
    (header, arrays), (golden, golden_arrays) = runs
    for each in (header, golden):
        del each["versions"]
        # Of older versions.
        each["setup"].pop("defaults", None)
    assert header == golden
    assert arrays.keys() == golden_arrays.keys()
    for key in arrays.keys() - {"versions"}:
        assert arrays[key].dtype == golden_arrays[key].dtype
        np.testing.assert_array_equal(arrays[key], golden_arrays[key], key)


# `tests/test_file_formats.py` changes the bytes of such a file.


def test_other_versions_of_packages_are_a_hint_and_of_files_refused(works, fails, save):
    path = save(LAKE, *TWO)
    with changed_run() as (header, _):
        header["versions"]["numpy"] = "1.0"
    hint = f"versions that differ: numpy 1.0 (now {np.__version__})\n"
    assert works("replay", "run.npz").out.endswith(hint)
    with changed_run(version=1):
        pass
    line = fails("replay", path)
    assert f"{path} cannot be read: it has version 1 of the format" in line
    assert "reads version 3 (roll_vec 0.2.0 reads version 1)" in line


FALSE = [
    ({"setup id": "no_such:mine/Env-v0"}, "No module named 'no_such'"),
    (
        {"setup options": json.dumps({"num_crates": 3})},
        "run.npz cannot be played here: roll_vec/FrozenLake-v1: got an unexpected "
        "keyword argument 'num_crates'",
    ),
    ({"setup options": ...}, "it is damaged"),
    ({"rewards": ...}, "it is damaged"),
    ({"dtype": "|O8"}, "it is damaged (ValueError("),
    ({"is_reset": np.zeros(4, bool)}, "arrays that do not belong together"),
    ({"is_reset": np.array([True, False, True, False])}, "do not belong together"),
    ({"rewards": np.array([["a", "b"]] * 3)}, "arrays that do not belong together"),
    ({"digests": np.zeros((4, 3), np.uint32)}, "arrays that do not belong together"),
]


def test_false_content_behind_a_true_digest_is_refused(fails, save):
    path = save(LAKE, *TWO)
    whole = path.read_bytes()
    for edits, message in FALSE:
        path.write_bytes(whole)
        with changed_run() as (header, arrays):
            for place, value in edits.items():
                *keys, last = place.split()
                parent = arrays if place in arrays else header
                for key in keys:
                    parent = parent[key]
                if value is ...:
                    del parent[last]
                else:
                    parent[last] = value
        assert message in fails("replay", "run.npz")


# --------------------------------------------------------- keywords and data files


WALL = "#####\n"
LEVEL = f"{WALL}#@$.#\n{WALL}"


def test_files_have_to_be_the_same(equals, fails, save, tmp_path):
    levels = tmp_path / "levels"
    levels.mkdir()
    text_file = levels / "1.txt"
    text_file.write_text(LEVEL)
    save(SOKOBAN, *TWO, "-o", f"levels={levels.name}")
    equals(num_steps=3)
    text_file.write_text(LEVEL + "\n" + LEVEL)
    line = fails("replay", "run.npz")
    assert f"run.npz cannot be played here: levels: the content of {levels}" in line
    assert "has changed since the run was saved" in line
    text_file.write_text(LEVEL)
    moved = levels.rename(tmp_path / "moved")
    line = fails("replay", "run.npz")
    assert f"levels: {levels} cannot be read" in line
    assert "if it has moved, use -o levels=PATH" in line
    equals("-o", f"levels={moved}", num_steps=3)
    # A text that is no path stays a keyword.
    save(SOKOBAN, *TWO, "-o", f"levels={[LEVEL]}")
    equals(num_steps=3)
