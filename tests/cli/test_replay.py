"""`roll-vec replay`: equal runs are identical, and the first difference is named."""

import re
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Text, Tuple

from roll_vec.render.ansi import strip_colours
from tests.conftest import JIT_OFF
from tests.pool.cases import FAULTS_ON_PURPOSE

MODES = ["next_step", "same_step", "disabled"]
SOKOBAN, COUNTDOWN = "roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"
ECHO = "user_envs:mine/Echo-v0"
# 12 steps end some episodes of these, by the rules or by the limit.
SMALL = ("--num-envs", 4, "--steps", 12, "--seed", 7)
TINY_ROOMS = ("-o", "dim_room=(5, 5)", "-o", "num_boxes=1", "-o", "max_episode_steps=5")
TEXTS = ("-o", "obs_mode=text", "-o", "action_mode=text", "-o", "group_size=2")
TASKS = ("-o", "num_numbers=2", "-o", "number_range=(1, 4)", "-o", "max_steps=3")
# Wrap-around of integers is silenced in the thread of the test alone.
WORKERS = () if JIT_OFF else ("-o", "workers=2")


@pytest.fixture
def save(run):
    """Roll out, and save the run."""

    def save(*arguments):
        outcome = run("rollout", *arguments, "--no-image", "--save", "run.npz")
        assert outcome.code == 0, outcome.err
        assert "run: run.npz" in outcome.out

    return save


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


def equals(outcome, num_steps=12):
    """Return whether a replay of so many steps says that all is equal."""
    is_equal = re.match(rf"identical: .* {num_steps} steps \(", outcome.out)
    return is_equal and (outcome.code, outcome.err) == (0, "")


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
            "info": {"success": False, "word": "a long word that is the same"},
        }
        results |= self.changes.get((self.number, self.call), {})
        if "error" in results:
            raise OSError(results["error"])
        return tuple(results.values())


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setattr(Script, "changes", {})
    for name, cls in (("Nested-v0", Nested), ("Script-v0", Script)):
        spec = gymnasium.envs.registration.EnvSpec(name, entry_point=cls)
        monkeypatch.setitem(gymnasium.registry, name, spec)


@pytest.mark.parametrize("autoreset", MODES)
@pytest.mark.parametrize(
    "arguments",
    [
        (SOKOBAN, *TINY_ROOMS, *TEXTS),
        ("roll_vec/RandomFrozenLake-v0", "-o", "obs_mode=rgb", "--policy", "oracle"),
        (COUNTDOWN, *TASKS, *WORKERS),
        ("CartPole-v1",),
        ("Nested-v0",),
        ("Nested-v0", "--save-values", 0),
        (COUNTDOWN, *TASKS, "--save-values", 0),
    ],
)
def test_a_run_is_identical(run, save, arguments, autoreset):
    save(*arguments, *SMALL, "--autoreset", autoreset)
    assert equals(run("replay", "run.npz"))


def test_other_workers_and_threads_are_identical(run, save, user_module):
    save(ECHO, *SMALL, "-o", "workers=2", "-o", "executor=process")
    assert equals(run("replay", "run.npz", "-o", "workers=0"))
    save(SOKOBAN, *SMALL, "--threads", 2)
    assert equals(run("replay", "run.npz", "--threads", 1))


@FAULTS_ON_PURPOSE
def test_faults_are_played_again(run, save, user_module, policy_of):
    policy = policy_of(
        "answers = ['raise', 'silent', '3', '4']\n"
        "def act(observations):\n"
        "    answers.append(answers.pop(0))\n"
        "    return answers\n"
    )
    save(ECHO, *SMALL, "--policy", policy)
    assert equals(run("replay", "run.npz"))


# ---------------------------------------------------------------- differences


def board(place):
    board = np.zeros((2, 3), np.uint8)
    board[place] = 9
    return board


def info(**infos):
    return {"info": {"success": False, "word": "a long word that is the same"} | infos}


@pytest.mark.parametrize(
    ("change", "report"),
    [
        ({"reward": 5.0}, ["rewards", "0.0", "5.0"]),
        ({"reward": float("nan")}, ["rewards", "0.0", "nan"]),
        # Bits are compared.
        ({"reward": -0.0}, ["rewards", "0.0", "-0.0"]),
        ({"terminated": True}, ["terminations", "False", "True"]),
        ({"truncated": True}, ["truncations", "False", "True"]),
        ({"observation": board((1, 2))}, ["observations[1, 2]", "0", "9"]),
        ({"observation": board((0, 0))}, ["observations[0, 0]", "0", "9"]),
        (info(success=True), ["infos['success']", "False", "True"]),
        (
            {"info": {"word": "a long word that is the same"}},
            ["infos['success']", "False", "nothing"],
        ),
        (
            info(word="a long word that is new"),
            [
                "infos['word']",
                "from character 0: 'a long word that is the same'",
                "from character 0: 'a long word that is new'",
            ],
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_difference_is_named_with_both_values(save, differs, change, report):
    save("Script-v0", *SMALL)
    Script.changes = {(2, 3): change}
    report = [text.removeprefix("from character 0: ") for text in report]
    assert differs() == ["3 of 12", "2", *report]


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({(1, 0): {"observation": board((0, 0))}}, ["0 of 12", "1"]),
        # In mode disabled, call 5 is the reset after step 4.
        (
            {(3, 5): {"observation": board((0, 0))}},
            ["4 of 12, the reset after it", "3"],
        ),
        (
            {(2, 3): {"reward": 2.0}, (1, 3): {"reward": 1.0}, (3, 4): {"reward": 1.0}},
            ["3 of 12", "1 (the first of 2 that differ in this step)"],
        ),
        ({(0, 13): {"reward": 2.0}, (1, 14): {"reward": 1.0}}, ["11 of 12", "0"]),
        ({(3, 14): {"reward": 2.0}}, ["12 of 12", "3"]),
    ],
)
def test_the_first_difference_is_named(save, differs, changes, place):
    save("Script-v0", *SMALL, "--autoreset", "disabled")
    Script.changes = changes
    assert differs()[:2] == place


@pytest.mark.parametrize("values", [256, 0])
@pytest.mark.parametrize(("dtype", "shape"), [("u1", (7,)), ("f8", ()), ("i8", (2,))])
def test_every_byte_of_an_observation_counts(
    save, differs, monkeypatch, dtype, shape, values
):
    first = np.random.default_rng(1).integers(1, 100, shape).astype(dtype)
    space = (
        Box(-np.inf, np.inf, shape, "f8")
        if dtype == "f8"
        else Box(0, 127, shape, dtype)
    )
    monkeypatch.setattr(Script, "observation_space", space)
    plain = {(i, t): {"observation": first} for i in range(4) for t in range(4)}
    Script.changes = plain
    save(
        "Script-v0", "--num-envs", 4, "--steps", 3, "--seed", 7, "--save-values", values
    )
    for place in range(first.nbytes):
        other = first.copy()
        other.reshape(-1).view(np.uint8)[place] ^= 1
        Script.changes = plain | {(place % 4, 2): {"observation": other}}
        step, env_id, field, recorded, now = differs()
        assert (step, env_id) == ("2 of 3", str(place % 4))
        assert field.startswith("observations")
        assert recorded != now
        if not values:
            assert re.fullmatch("digest [0-9a-f]{8}, without values", recorded)
            assert re.match(r"digest [0-9a-f]{8}: ", now)


def test_long_observations_have_digests_of_each_row(save, differs, monkeypatch):
    # Larger than the part that is hashed at once.
    shape = (1_000_001,)
    monkeypatch.setattr(Script, "observation_space", Box(0, 255, shape, np.uint8))
    zeros, one = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    one[-1] = 1
    plain = {(i, t): {"observation": zeros} for i in range(4) for t in range(2)}
    Script.changes = plain
    save("Script-v0", "--num-envs", 4, "--steps", 1, "--seed", 7, "--save-values", 0)
    Script.changes = plain | {(3, 1): {"observation": one}}
    assert differs()[:3] == ["1 of 1", "3", "observations"]


def test_a_text_is_shown_from_shortly_before_its_difference_on(save, differs):
    text = "x" * 300
    Script.changes = {(1, 2): info(word=f"{text}a{text}")}
    save("Script-v0", *SMALL)
    Script.changes = {(1, 2): info(word=f"{text}b{text}")}
    for letter, value in zip("ab", differs()[3:], strict=True):
        assert value == f"from character 280: '{'x' * 20}{letter}{'x' * 99}'..."


@pytest.mark.parametrize(
    ("before", "now", "report"),
    [
        ({"more": False}, {"more": 0}, ["False (bool ())", "0 (int64 ())"]),
        ({}, {"more": [1]}, ["nothing", "[1]"]),
    ],
)
def test_an_info_of_another_dtype_is_a_difference(save, differs, before, now, report):
    Script.changes = {(i, 2): info(**before) for i in range(4)}
    save("Script-v0", *SMALL)
    Script.changes = {(i, 2): info(**now) for i in range(4)}
    env_id = "0 (the first of 4 that differ in this step)"
    assert differs() == ["2 of 12", env_id, "infos['more']", *report]


def test_an_exception_of_a_replay_is_a_difference(save, differs):
    save("Script-v0", *SMALL)
    Script.changes = {(2, 1): {"error": "shut"}}
    assert differs() == ["1 of 12", "unknown", "exception", "none", "OSError: shut"]


def test_a_run_that_an_exception_ends_is_saved(
    run, differs, user_module, policy_of, tmp_path
):
    # A pool with on_error=raise.
    policy = policy_of(
        "calls = []\n"
        "def act(observations):\n"
        "    calls.append(1)\n"
        "    return ['raise' if len(calls) == 5 else 'x'] * len(observations)\n"
    )
    flags = ("-o", "on_error=raise", "--policy", policy, "--save", "run.npz")
    outcome = run("rollout", ECHO, *SMALL, *flags, "--no-image")
    assert outcome.code == 2
    saved, reason = outcome.err.splitlines()
    assert saved == "roll-vec: a step raised an exception; run: run.npz"
    assert "out of [paper]" in reason
    outcome = run("replay", "run.npz")
    assert equals(outcome, 5)
    raises = "the last step raises, as it did: EnvironmentFaultError: environments "
    assert raises in outcome.out
    for error, end in (("'no ink'", "OSError: no ink"), (None, "none")):
        path = tmp_path / "user_envs.py"
        source = path.read_text().replace('"out of [paper]"', error or "1")
        path.write_text(source if error else source.replace('== "raise"', "is None"))
        del sys.modules[user_module]
        step, env_id, field, recorded, now = differs()
        assert (step, env_id, field) == ("5 of 5", "unknown", "exception")
        assert recorded.endswith("OSError: out of [paper]")
        assert now.endswith(end)


def test_a_quiet_replay_says_it_by_the_exit_code(run, save):
    save("Script-v0", *SMALL)
    assert run("replay", "run.npz", "--quiet").out == ""
    Script.changes = {(2, 1): {"reward": 5.0}}
    outcome = run("replay", "run.npz", "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (1, "", "")


def test_progress_is_shown_to_a_terminal_only(run, save, monkeypatch):
    save("Script-v0", *SMALL)
    assert run("replay", "run.npz").err == ""
    # rich takes this for a terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "12/12 steps" in run("replay", "run.npz").err


def test_a_new_version_of_a_module_of_the_user_is_played(
    save, differs, user_module, tmp_path
):
    save(ECHO, *SMALL, "--policy", "constant:no")
    path = tmp_path / "user_envs.py"
    path.write_text(path.read_text().replace('f"say {', 'f"say a {'))
    # The next command imports it again.
    del sys.modules[user_module]
    report = ["observations", "'say 9'", "'say a 9'"]
    assert differs()[2:] == report


# ----------------------------------------------------------- one environment


def test_steps_of_one_environment_are_shown(run, save):
    limit = ("-o", "max_episode_steps=3", "-o", "action_start=1")
    save(SOKOBAN, *SMALL, "--steps", 5, "--policy", "constant:0", *limit)
    *lines, last = run("replay", "run.npz", "--env", 2).out.splitlines()
    assert last.startswith("identical: ")
    assert [line for line in lines if line.startswith("step ")] == [
        "step 0: reset",
        "step 1: action 0, reward -0.1",
        "step 2: action 0, reward -0.1",
        "step 3: action 0, reward -0.1, truncated",
        "step 4: reset, without an action",
        "step 5: action 0, reward -0.1",
    ]
    env = gymnasium.make(SOKOBAN, render_mode="ansi")
    env.reset(seed=9)
    board = [f"  {line}" for line in strip_colours(env.render()).splitlines()]
    env.close()
    assert lines[1:7] == board


@pytest.mark.parametrize(
    ("mode", "end"), [("same_step", ", then reset"), ("disabled", "")]
)
def test_texts_of_one_environment_are_shown(run, save, mode, end):
    one = ("--num-envs", 2, "--steps", 2, "--policy", "constant:1")
    save(COUNTDOWN, *one, "--autoreset", mode)
    lines = run("replay", "run.npz", "--env", 1).out.splitlines()
    assert [line for line in lines if line.startswith("step 1")] == [
        f"step 1: action '1', reward 0, terminated{end}",
        *["step 1: reset"] * (mode == "disabled"),
    ]
    assert lines[1].startswith("  Target: ")
