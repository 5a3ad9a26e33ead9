"""Everything is derived from the rules of an `ArrayEnv`, compiled and as Python.

Unrolls, snapshots, copies and shards of them are in ``test_scenarios.py``.
"""

import dataclasses
import json
import os
import pickle
import subprocess
import sys
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box

import roll_vec
from roll_vec.errors import InvalidOptionError, UnsupportedError
from roll_vec.evaluation import find_split, play_split, splits_of
from roll_vec.testing import check_vector_env
from tests.conftest import JIT_OFF
from tests.contract import rules
from tests.contract.cases import GAME_IDS, MODES, assert_same, play, single_info
from tests.envs.test_classic_control import CLASSES
from tests.splits import count_runs, split_all

MERGE, WALK = "tests_rules/Merge-v0", "tests_rules/Walk-v0"
# Their single environments are compared with Gymnasium's, their batches here alone.
CLASSIC = [f"roll_vec/{name}" for name in CLASSES]
EVERY = [
    pytest.param(id, mode, marks=[] if is_fast else [pytest.mark.slow])
    for id in (*rules.FAMILIES, *rules.RANDOM, *GAME_IDS)
    for mode in MODES
    for is_fast in [id in {*rules.FAMILIES} or (id in CLASSIC and mode is MODES[1])]
]


@pytest.fixture(autouse=True, scope="module")
def _families(module_forgets_ids):
    rules.register_families(rules.FAMILIES | rules.RANDOM)


@pytest.fixture(autouse=True)
def _no_class_of_another_test(forgets_ids):
    """Forget what one test has registered."""


def make(id, num_envs=4, **keywords):
    return roll_vec.make_vec(id, num_envs, **keywords)


def draw(envs, steps, seed=0):
    envs.action_space.seed(seed)
    return [envs.action_space.sample() for _ in range(steps)]


@pytest.mark.parametrize(("id", "mode"), EVERY)
def test_a_batch_equals_single_environments(id, mode):
    limit = {"max_episode_steps": 25} if id in CLASSIC else {}
    envs = make(id, autoreset_mode=mode, **limit)
    env_fns = [lambda: gymnasium.make(id, **limit)] * 4
    sync = gymnasium.vector.SyncVectorEnv(env_fns, autoreset_mode=mode)
    assert envs.observation_space == sync.observation_space
    assert envs.action_space == sync.action_space
    assert_same(envs.reset(seed=3), sync.reset(seed=3))
    actions = draw(envs, 60)
    if id in CLASSIC and actions[0].dtype.kind == "f":
        actions = [1.5 * each for each in actions]  # some are clipped
    for ours, theirs in zip(play(envs, actions), play(sync, actions), strict=True):
        assert_same(ours[:-1], theirs[:-1])
        for row in range(4):
            own = [single_info(infos, row) for infos in (ours[-1], theirs[-1])]
            assert_same(*[json.loads(json.dumps(each, default=str)) for each in own])


# Of a Dict space, levels of a method and actions of a Box.
@pytest.mark.parametrize("name", ["Merge", "Hunt", "Mass"])
def test_a_batch_passes_the_checker(name):
    check_vector_env(f"tests_rules/{name}-v0", steps=20)


@pytest.mark.parametrize("id", [MERGE, "tests_vector/Guess-v0"])
def test_an_id_of_ones_own_has_a_split(id):
    (split,) = splits_of(id).values()
    test = find_split(id, "test")
    assert (split.digest, test.seeds[0], len(test)) == ("", 1_000_000, 500)
    # A batch of fewer environments plays the episodes in parts.
    parts = dataclasses.replace(test, make_seeds=lambda: range(1_000_000, 1_000_007))
    envs = parts.make_vec(3)
    envs.action_space.seed(0)
    results = play_split(parts, envs, lambda _: envs.action_space.sample())
    assert len(results.returns) == 7
    assert parts.compute_digest() == parts.compute_digest() != test.digest
    with pytest.raises(InvalidOptionError, match=r"a split of .*: test, got 'train'"):
        find_split(id, "train")


RACE = "tests_rules/Race-v0"
ONE = {"length": 99, "autoreset_mode": MODES[2]}


@pytest.mark.parametrize(
    ("keywords", "max_steps"),
    [({}, 12), ({"max_episode_steps": 30}, 30), ({"action_mode": "text"}, 12)],
)
def test_rules_truncate_and_read_the_limit_of_the_batch(keywords, max_steps):
    envs = make(RACE, 3, **ONE, **keywords)
    observations, infos = envs.reset(seed=4)
    most = infos["most"]
    assert len({*most}) > 1
    assert (
        observations["numbers"][:, 2:] == np.stack([[max_steps] * 3, most], 1)
    ).all()
    step = "left" if keywords.get("action_mode") else 0
    for number in range(1, min(most) + 1):
        _, rewards, _, truncations, _ = envs.step([step] * 3)
        assert rewards.tolist() == [-number / max_steps] * 3
        assert truncations.tolist() == (most == number).tolist()


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_texts_of_parts_are_made_where_their_variable_changed(mode, copy, monkeypatch):
    calls = []
    for name in ("goal_text", "note_text"):
        method = getattr(rules.Race, name)

        def count(self, value, method=method):
            calls.append(method(self, value))
            return calls[-1]

        monkeypatch.setattr(rules.Race, name, count)
    envs = make(RACE, length=99, autoreset_mode=mode, copy=copy, max_episode_steps=30)
    observations, _ = envs.reset(seed=[3, 3, 3, 3])
    goals = observations["goal"]
    assert goals == (goals[0],) * 4
    assert observations["note"] == ("0 0",) * 4
    assert len(calls) == 8
    calls.clear()
    envs.step([0, 0, 1, 1])
    observations = envs.step([1, 0, 1, 0])[0]
    assert observations["note"] == ("1 2", "2 0", "0 4", "1 2")
    assert (observations["goal"], len(calls)) == (goals, 8)
    calls.clear()
    envs.reset(options={"reset_mask": np.array([False, True, False, True])})
    observations = envs.step([0] * 4)[0]
    assert observations["note"] == ("2 2", "1 0", "1 4", "1 0")


def test_a_rule_draws_pictures_beside_other_observations():
    more = {"tile_size": 2, "render_mode": "rgb_array"}
    envs = make(RACE, 2, render_scale=3, **more)
    observations, _ = envs.reset(seed=1)
    doors = observations["numbers"][:, 1]
    envs.step([0, 1])
    # Positions 1 and 3 of 5, seen in a mirror.
    codes = np.zeros((2, 1, 5), np.uint8)
    codes[[0, 1], 0, doors], codes[[0, 1], 0, [3, 1]] = 2, 1
    tiles = rules.Race(tile_size=2).tiles
    pictures = tiles[codes].transpose(0, 1, 3, 2, 4, 5).reshape(2, 2, 10, 3)
    assert_same(np.stack(envs.render()), pictures.repeat(3, 1).repeat(3, 2))
    for mode, expected in ("grid", codes), ("rgb", pictures):
        envs = make(RACE, 2, obs_mode=mode, **more)
        envs.reset(seed=1)
        observations = envs.step([0, 1])[0]
        assert_same(observations, expected)
        assert observations in envs.observation_space
    mine = {"observe": None, "observation": "moved", "texts": {}, "__doc__": "A race."}
    mine["observation_space"] = Box(0, 99, (2,), np.int8)
    roll_vec.register("tests_rules/Mine-v0", type("Mine", (rules.Race,), mine), 9)
    plain = make("tests_rules/Mine-v0", 2, render_mode="rgb_array")
    plain.reset(seed=1)
    assert [plain.step([1, 1])[0].tolist() for _ in "12"][-1] == [[0, 4]] * 2
    # Values beyond the codes of cells.
    plain = gymnasium.make("tests_rules/Mine-v0").unwrapped
    plain.reset(seed=1)
    plain.set_state({**plain.get_state(), "moved": np.array([0, 9], np.int8)})
    twin = pickle.loads(pickle.dumps(envs))
    assert_same(np.stack(twin.render()), pictures)


def test_a_method_draws_frames():
    class Mine(rules.Corridor):
        """A corridor with pictures."""

        def draw_frame(self, env, mode):
            """Return a pixel of the place, or a text."""
            if mode == "rgb_array":
                return np.full((1, 1, 3), env.position, np.uint8)
            return f"{mode} {env.position}"

    roll_vec.register("tests_rules/Mine-v0", Mine)
    for mode in ("rgb_array", "text", "ansi"):
        envs = make("tests_rules/Mine-v0", 2, render_mode=mode)
        envs.reset(seed=1)
        envs.step([0, 1])
        places = envs.get_attr("position")
        if mode == "rgb_array":
            assert [frame.tolist() for frame in envs.render()] == [
                [[[place] * 3]] for place in places
            ]
        else:
            assert envs.render() == tuple(f"{mode} {place}" for place in places)


def test_a_single_environment_reads_the_registered_limit_or_its_own():
    class Own(rules.Race):
        """A race with a limit of its own."""

        max_steps: int = 0

    roll_vec.register("tests_rules/Own-v0", Own, 12)
    for id, keywords, limit in (
        (RACE, {}, 12),
        ("tests_rules/Own-v0", {}, 12),
        ("tests_rules/Own-v0", {"max_steps": 9}, 9),
    ):
        env = gymnasium.make(id, obs_mode="text", length=99, **keywords)
        assert env.reset(seed=4)[0] == f"at 49 after 0 of {limit}"
        ends = [env.step(0)[3] for _ in range(9)]
        assert ends.index(True) + 1 == env.unwrapped.most


# Plays pickled batches on, in a process that has not seen their ids.
PLAY = """
import hashlib, pickle, sys
import numpy as np
digest = hashlib.sha256()
for envs, actions in pickle.load(open(sys.argv[1], "rb")):
    rollout = envs.unroll(actions)
    state = envs.get_state()
    ends = rollout.terminations, rollout.truncations
    for array in (rollout.rewards, *ends, *state.arrays.values()):
        digest.update(np.ascontiguousarray(array).tobytes())
print(digest.hexdigest())
"""


def run(code, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(JIT_OFF, reason="compares with the JIT on")
@pytest.mark.parametrize(
    "ids",
    [
        [*rules.FAMILIES],
        pytest.param([*rules.RANDOM][:5], marks=pytest.mark.slow),
        pytest.param(GAME_IDS, marks=pytest.mark.slow),
    ],
    ids=len,
)
def test_compiled_rules_equal_python_also_in_another_process(ids, tmp_path):
    batches = []
    for number, id in enumerate(ids):
        envs = make(id, 3, autoreset_mode=MODES[number % 2])
        envs.reset(seed=11)
        batches.append((envs, np.stack(draw(envs, 25))))
    path = tmp_path / "batches.pkl"
    path.write_bytes(pickle.dumps(batches))
    for envs, actions in batches:
        # What kernels call is compiled here already: the other process loads them.
        envs.unroll(actions)
    assert run(PLAY, path) == run(PLAY, path, NUMBA_DISABLE_JIT="1")


@roll_vec.rule
def fail(env, rng):
    if env.kind == 1:
        raise ZeroDivisionError
    if env.kind == 2:
        raise ValueError("no such door")
    if env.kind == 3:
        rng.integers(env.door - env.door)


class Failing(rules.Corridor):
    """An array is read outside in ``observe``, or ``step`` raises."""

    kind: int = 0

    @roll_vec.rule
    def step(env, action, rng):
        env.position += 1
        if env.position == 4:
            env.door = 77
            fail(env, rng)
        return 0.0, False

    @roll_vec.rule
    def observe(env, out):
        out[env.position // 4 * 9 if env.kind == 4 else 0] = 1

    @roll_vec.rule
    def legal(env, mask):
        mask[env.position // 4 * 9 if env.kind == 5 else 0] = 1


# Machine code knows no lines, and no helpers where it is of the cache.
PLACE = r"step: line \d+: raise .*" if JIT_OFF else "step(, in fail)?: .*"
FAILURES = [
    (1, ZeroDivisionError, f"{PLACE} environment 0: ZeroDivisionError"),
    (2, ValueError, f"{PLACE} environment 0: ValueError: no such door"),
    (3, ValueError, "step.* environment 0: ValueError: rng.integers"),
    (4, IndexError, "observe: .* environment 0: IndexError: .* outside of an array"),
    (5, IndexError, "legal: .* IndexError: .* outside of an array"),
]


@pytest.mark.parametrize(("kind", "error", "message"), FAILURES)
def test_an_exception_of_a_rule_names_it_and_demands_a_reset(kind, error, message):
    roll_vec.register("tests_rules/Failing-v0", Failing)
    match = rf"Failing\.{message}"
    more = {"kind": kind, "action_mask": kind == 5}
    single = gymnasium.make("tests_rules/Failing-v0", **more).unwrapped
    envs = make("tests_rules/Failing-v0", 3, **more)
    for env, action in ((single, 0), (envs, [0, 0, 0])):
        env.reset(seed=1)
        env.step(action)
        with pytest.raises(error, match=match):
            env.step(action)
        for call in (
            lambda env=env: env.step(env.action_space.sample()),
            env.get_state,
        ):
            with pytest.raises(gymnasium.error.ResetNeeded):
                call()
        env.reset()
        env.step(action)
    # A state is whole again, too.
    state = single.get_state()
    with pytest.raises(error):
        single.step(0)
    single.set_state(state)
    with pytest.raises(error, match=match):
        envs.unroll(np.zeros((9, 3), int))
    with pytest.raises(gymnasium.error.ResetNeeded, match="must be reset: unroll"):
        envs.get_state()


@pytest.mark.parametrize("kind", [1, 4])
def test_an_exception_is_the_same_on_several_threads(kind, monkeypatch):
    roll_vec.register("tests_rules/Failing-v0", Failing)
    split_all(monkeypatch, 3)
    errors = []
    for num_threads in (1, 3):
        more = {"kind": kind, "action_mask": kind == 5, "num_threads": num_threads}
        envs = make("tests_rules/Failing-v0", 6, **more)
        envs.reset(seed=1)
        envs.step([0] * 6)
        # The others have a step more until they fail.
        envs.reset(options={"reset_mask": np.arange(6) < 3})
        runs = count_runs(monkeypatch)
        with pytest.raises((ZeroDivisionError, ValueError, IndexError)) as caught:
            envs.step([0] * 6)
        assert bool(runs) == (num_threads > 1 and not JIT_OFF)
        errors.append((type(caught.value), str(caught.value)))
    assert errors[0] == errors[1]


def test_a_text_of_ones_own_and_other_symbols():
    class Mine(rules.FAMILIES[WALK]):
        def text(self, env):
            env.place[0] += 1  # of a copy
            env.place[0] -= 1 if env.place[1] == 0 else 0
            return f"{super().text(env)}\nat {env.place[0]}, {env.place[1]}"

    roll_vec.register("tests_rules/Mine-v0", Mine)
    lookup = {2: "you"}  # the others as they are
    more = {"grid_lookup": lookup, "render_mode": "ansi", "action_mode": "text"}
    envs = make("tests_rules/Mine-v0", 2, obs_mode="text", **more)
    observations, infos = envs.reset(seed=1)
    first, *_, last = observations[0].splitlines()
    assert (first[:3], last) == ("you", "at 0, 0")
    assert envs.render() == observations
    assert ". is floor, # is wall, you is player" in infos["env_instruction"][0]
    envs.step(["right"] * 2)
    assert [place.tolist() for place in envs.get_attr("place")] == [[0, 1]] * 2


def test_an_observed_variable_may_be_narrower_than_its_space():
    class Lights(roll_vec.ArrayEnv):
        """Switch lights on."""

        state: ClassVar = {"lights": (np.bool_, (2, 3)), "success": np.bool_}
        actions = 6
        infos = ("success",)
        observation = "lights"
        observation_space = Box(0, 1, (2, 3), np.float64)

        @roll_vec.rule
        def begin(env, rng):
            env.lights[rng.integers(2), 2] = True

        @roll_vec.rule
        def step(env, action, rng):
            env.lights[action // 3, action % 3] = True
            env.success = action == 5
            return 1.0, env.success

    roll_vec.register("tests_rules/Lights-v0", Lights)
    envs, twin = (make("tests_rules/Lights-v0", autoreset_mode=MODES[1]) for _ in "12")
    batches = [envs.reset(seed=5)[0]]
    lights = [np.stack(envs.get_attr("lights"))]
    actions = np.array([[0, 1, 2, 5], [4, 5, 3, 0], [1, 1, 5, 5]])
    for batch in actions:
        batches.append(envs.step(batch)[0])
        lights.append(np.stack(envs.get_attr("lights")))
    assert_same(np.stack(batches), np.stack(lights).astype(np.float64))
    twin.reset(seed=5)
    assert_same(twin.unroll(actions).observations, np.stack(batches[1:]))


@pytest.mark.parametrize("mode", MODES[:2])
def test_a_step_that_begins_all_episodes_has_the_infos_of_resets_alone(mode):
    id, more = "tests_rules/Corridor-v0", {"max_episode_steps": 2}
    envs = make(id, autoreset_mode=mode, **more)
    env_fns = [lambda: gymnasium.make(id, **more)] * 4
    sync = gymnasium.vector.SyncVectorEnv(env_fns, autoreset_mode=mode)
    assert_same(envs.reset(seed=3), sync.reset(seed=3))
    for row in draw(envs, 7):
        assert_same(envs.step(row), sync.step(row))


def test_numbers_that_are_read_only_are_copied():
    # numba would compile the kernels of steps and unrolls once more.
    envs = make("tests_rules/Mass-v0")
    actions = envs.action_space.sample()
    check, mask = envs.unwrapped.engine.check_actions, np.zeros(4, np.bool_)
    assert check(actions, mask) is actions
    actions.flags.writeable = False
    checked = check(actions, mask)
    assert checked.flags.writeable
    assert_same(checked, actions)


def test_a_level_option_that_rules_read_cannot_change():
    content = {"__doc__": "A hunt.", "LEVEL_OPTIONS": ("num_levels", "size")}
    cls = type("Fixed", (rules.Hunt,), content)
    roll_vec.register("tests_rules/Fixed-v0", cls)
    envs = roll_vec.make_vec("tests_rules/Fixed-v0", 2)
    envs.reset(seed=0)
    with pytest.raises(UnsupportedError, match="size: rules read it"):
        envs.set_level_options(size=5)
    envs.set_level_options(num_levels=7)
