"""Rules of mixed batches: keywords, families, faults, snapshots, send and recv."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec import BaseLanguageBasedEnv, VectorState
from roll_vec.errors import (
    EnvironmentFaultWarning,
    FrozenAttributeError,
    InvalidActionError,
    InvalidFileError,
    InvalidOptionError,
    InvalidStateError,
    LevelGenerationError,
    ResetNeededError,
    UnknownOptionError,
    UnsupportedError,
)
from roll_vec.mixed import pending_steps
from roll_vec.pool.pending_steps import PendingResult
from roll_vec.sessions import Sessions
from roll_vec.testing import check_vector_env
from tests.contract.cases import DISABLED, MODES, assert_same, single_info
from tests.mixed.families import NUM_ENVS, TEXTS, make, make_sync, seeds_of

LAKES = {"id": "roll_vec/RandomFrozenLake-v0", "size": 4}
COUNTDOWN = "roll_vec/Countdown-v0"
BRITTLE = {"id": "tests_mixed/Brittle-v0", "workers": 1}


class Brittle(BaseLanguageBasedEnv):
    """Raises when it is told to."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "whole", {}

    def step(self, action):
        if action == "break":
            raise ValueError("broken")
        return action, 1.0, False, False, {"success": action == "win"}


@pytest.fixture(scope="module", autouse=True)
def _brittle():
    roll_vec.register("tests_mixed/Brittle-v0", Brittle)
    yield
    roll_vec.registration.ENVIRONMENTS.pop("tests_mixed/Brittle-v0")
    roll_vec.registration.gymnasium.registry.pop("tests_mixed/Brittle-v0")


def texts(step):
    return [TEXTS[(7 * step + 3 * i) % len(TEXTS)] for i in range(NUM_ENVS)]


def test_layout_of_families():
    env = make(group_id_info=True)
    assert [family.env_ids for family in env.families.values()] == [
        range(4),
        range(4, 6),
        range(6, 8),
        range(8, 9),
        range(9, 12),
    ]
    infos = env.reset(seed=2)[1]
    groups = [0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 6, 6]
    assert infos["group_id"].tolist() == groups == env.group_ids.tolist()
    assert env.np_random_seed == tuple(2 + group for group in groups)
    assert infos["family"][[0, 4, 8]].tolist() == ["rooms", COUNTDOWN, "masked"]
    assert (env.group_size, make(6, {"a": LAKES}, group_size=2).group_size) == (0, 2)
    # Members of a group draw one seed where none is passed.
    seeds = [env.reset(seed=[None] * NUM_ENVS) and env.np_random_seed, groups]
    first = make()
    first.reset()
    assert len(set(first.np_random_seed)) == 7
    assert seeds[0] == env.np_random_seed


def test_keys_that_differ_between_families():
    """A number in one family and an array in another are objects in both."""
    families = {
        "a": {"id": "tests_vector/Guess-v0"},
        "b": LAKES,
    }
    env = make(4, families)
    env.reset(seed=0)
    infos = env.step(["1", "x", "Up", "no"])[4]
    assert "distance" not in single_info(infos, 1)
    assert single_info(infos, 0)["heard"] == {"words": ["1"], "digits": 1}
    assert single_info(infos, 2)["action_content"] == "Up"
    assert infos["success"].dtype == np.bool_
    assert infos["_success"].all()


@pytest.mark.parametrize(
    ("families", "more", "error", "message"),
    [
        ({}, {}, InvalidOptionError, "not empty"),
        ({"a": 3}, {}, InvalidOptionError, r"families\['a'\]: expected a mapping"),
        ({"a": {**LAKES, "weight": 0}}, {}, InvalidOptionError, "weight: .* above 0"),
        ({"a": {**LAKES, "size": 1}}, {}, InvalidOptionError, r"\['a'\]: size"),
        ({"a": {**LAKES, "sise": 4}}, {}, UnknownOptionError, "sise"),
        ({"a": {**LAKES, "copy": True}}, {}, UnknownOptionError, "whole batch"),
        ({"a": {**LAKES, "obs_mode": "grid"}}, {}, InvalidOptionError, "needs texts"),
        ({"a": LAKES}, {"workers": 2}, UnknownOptionError, "dict of their family"),
        ({"a": {**LAKES, "group_size": 3}}, {}, InvalidOptionError, "such as 3 or 6"),
        ({"a": LAKES}, {"render_mode": "human"}, InvalidOptionError, "render_mode"),
        ({"shop": {}}, {}, gymnasium.error.Error, r"\['shop'\]: .*keyword id names"),
        ({"CartPole-v1": {}}, {}, InvalidOptionError, "id: expected an id of roll_vec"),
    ],
)
def test_bad_keywords(families, more, error, message):
    with pytest.raises(error, match=message):
        make(4, families, **more)


def test_ids_are_read_as_by_gymnasium():
    name = "roll_vec:roll_vec/RandomFrozenLake-v0"
    env = make(4, {name: {"group_size": 1}})
    infos = env.reset(seed=0)[1]
    assert infos["family"].tolist() == [name] * 4


def test_a_fault_ends_one_episode():
    families = {
        "lakes": LAKES,
        "brittle": {"id": "tests_mixed/Brittle-v0", "workers": 2},
        COUNTDOWN: {"workers": 1},
    }
    env = make(6, families, autoreset_mode="SameStep")
    env.reset(seed=1)
    with pytest.warns(EnvironmentFaultWarning, match="environment 3 failed"):
        *_, truncations, infos = env.step(["Up", "Up", "a", "break", "1", "1"])
    assert truncations.tolist()[2:4] == [False, True]
    assert infos["final_info"]["error"][3] == "exception in step: ValueError: broken"
    assert env.fault_counts.tolist() == [0, 0, 0, 1, 0, 0]
    assert env.faults["exception"] == 1
    assert env.step(["Up", "Up", "win", "b", "1", "1"])[0][2:4] == ("win", "b")
    assert env.successes.tolist()[2:4] == [True, False]
    env.close()


def test_bad_actions_move_nothing():
    env, twin = make(), make()
    for one in (env, twin):
        one.reset(seed=5)
    with pytest.raises(InvalidActionError, match=r"environments \[9\]"):
        env.step([*["Up"] * 9, 3, "1", "2"])
    assert_same(env.step(texts(0)), twin.step(texts(0)))


def test_snapshots(tmp_path):
    env = make()
    env.reset(seed=4)
    for step in range(9):
        env.step(texts(step))
    state = env.get_state()
    state.save(tmp_path / "state.npz")
    # Guess has no get_state.
    with pytest.raises(InvalidFileError, match="pickled"):
        VectorState.load(tmp_path / "state.npz")
    assert VectorState.load(tmp_path / "state.npz", allow_pickle=True) == state
    # Another number of environments, each a copy of one of its family.
    larger = make(16)
    rows = [
        env.families[name].env_ids[0]
        for name, family in larger.families.items()
        for _ in family.env_ids
    ]
    larger.set_state(state, rows=rows)
    assert larger.get_state().row(0)["seeds"] == 4
    assert state.take([4, 0]).row(0)["stream"]
    with pytest.raises(InvalidStateError, match=r"4 of roll_vec/Countdown-v0 can"):
        env.set_state(state, rows=[0] * NUM_ENVS)
    with pytest.raises(InvalidStateError, match="families"):
        env.set_state(make_other(state, "families", np.full(NUM_ENVS, 9)))
    for families in (np.full(NUM_ENVS, np.nan), np.zeros((NUM_ENVS, 1), int)):
        with pytest.raises(InvalidStateError, match="families"):
            make_other(state, "families", families).row(0)
    with pytest.raises(InvalidStateError, match="elapsed_steps"):
        env.set_state(make_other(state, "0.elapsed_steps", np.full(NUM_ENVS, -1, "i4")))


def make_other(state, name, array):
    """Return a snapshot with another array."""
    arrays = {**state.arrays, name: array}
    return VectorState(
        state.id, state.configuration, arrays, state.shared, allow_pickle=True
    )


def test_rows_of_snapshots_are_those_of_single_environments():
    env = make()
    env.reset(seed=4)
    state = env.get_state()
    row = {**state.row(0), "elapsed_steps": 5}
    changed = state.replace_row(0, row)
    assert changed.row(0)["elapsed_steps"] == 5
    assert changed.row(1) is not None
    assert changed.replace_row(0, state.row(0)) == state
    task = {**state.row(4), "num_env_steps": 2}
    changed = changed.replace_row(4, task)
    env.set_state(changed)
    assert env.get_attr("num_env_steps")[:6] == (5, 0, 0, 0, 2, 0)


def test_attributes_frames_and_solutions():
    families = {"lakes": LAKES, COUNTDOWN: {}}
    env = make(4, families, render_mode="ansi")
    env.reset(seed=4)
    assert env.get_attr("num_env_steps") == (0, 0, 0, 0)
    assert len(set(env.call("get_instructions"))) == 2
    frames = env.render()
    assert [frames[i] for i in (3, 0)] == list(env.render_envs([3, 0]))
    solutions = env.solve()
    assert isinstance(solutions[0], roll_vec.envs.frozen_lake.LakeSolution)
    assert env.step(["Up", "Up", *(answer[0] for answer in solutions[2:])])[1][2:].all()
    with pytest.raises(FrozenAttributeError):
        env.set_attr("x", 1)
    assert [env.np_random[i].bit_generator.state for i in (0, 3)]
    assert set(env.action_space.sample()) != set()


def test_level_options_of_one_family():
    env = make()
    mask = np.zeros(NUM_ENVS, np.bool_)
    mask[6:8] = True
    env.set_level_options(mask=mask, num_levels=1)
    infos = env.reset(seed=4) and env.get_state()
    assert infos.row(6)["level_options"] != infos.row(0).get("level_options")
    with pytest.raises(UnsupportedError, match="families rooms, masked"):
        env.set_level_options(mask=np.arange(NUM_ENVS) % 8 == 0, num_levels=1)


def test_successes_outside_of_a_mask_stay():
    env = make(4, {"lakes": LAKES, "brittle": {"id": "tests_mixed/Brittle-v0"}})
    env.reset(seed=1)
    env.step(["Up", "Up", "win", "a"])
    env.step([None, None, None, "win"], mask=np.arange(4) == 3)
    assert env.successes.tolist() == [False, False, True, True]


def test_sessions_of_several_families():
    envs = make(4, {"lakes": LAKES, COUNTDOWN: {}}, autoreset_mode="Disabled")
    sessions = Sessions(envs)
    opened = [sessions.open() for _ in range(4)]
    infos = [session.reset(seed=1)[1] for session in opened]
    names = {info["family"] for info in infos}
    assert names == {"lakes", COUNTDOWN}
    results = [session.step("Up") for session in opened]
    assert [result[4]["family"] for result in results] == [i["family"] for i in infos]
    sessions.close()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_family_that_raises_leaves_the_others_where_they_are(mode, monkeypatch):
    families = {"one": {**LAKES, "is_slippery": False}, "two": LAKES}
    env, twin = (make(4, families, autoreset_mode=mode) for _ in range(2))
    for each in (env, twin):
        each.reset(seed=3)

    def fail(*args):
        raise LevelGenerationError("no level")

    with monkeypatch.context() as patch:
        patch.setattr(env.engine.engines[1], "reset", fail)
        with pytest.raises(LevelGenerationError):
            env.reset()
    for step in range(12):
        assert_same(env.step(["Right"] * 4), twin.step(["Right"] * 4), f"step {step}")


def test_recv_looks_at_busy_pools_less_and_less_often(monkeypatch):
    """A result is late by a few percent of the time waited."""
    env = make(2, {"one": BRITTLE, "two": BRITTLE})
    env.reset(seed=3)
    count, now = 0, 0.0

    def look(patience):
        nonlocal count, now
        count, now = count + 1, now + patience
        return [] if now < 100 else [(0, PendingResult("late"))]

    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(pending_steps, "time", clock)
    for pool in env._pending_steps._pools.values():
        monkeypatch.setattr(pool, "take_ready", look)
    env.send(["a", "b"], [0, 1])
    env.recv()
    assert 100 <= now < 105
    assert count < 600


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_next_episode_without_a_level_in_recv(mode, monkeypatch):
    """The environment needs a reset, as after a step that raises; others go on."""
    families = {"lakes": LAKES, COUNTDOWN: {}}
    env = make(4, families, autoreset_mode=mode, group_id_info=True)
    env.reset(seed=3)

    def fail(*args):
        raise LevelGenerationError("no level")

    def play():
        for _ in range(100):
            env.send(["Right"], [lake])
            env.recv()

    lake = env.families["lakes"].env_ids[0]
    with monkeypatch.context() as patch:
        patch.setattr(env.engine.engines[0], "advance", fail)
        with pytest.raises(LevelGenerationError):
            play()
    if mode == "SameStep":
        with pytest.raises(ResetNeededError, match=rf"\[{lake}\] have ended"):
            env.step(["Right"] * 4)
    env.reset(options={"reset_mask": np.arange(4) == lake})
    env.send([""], [lake])
    # It has stepped, and was not reset.
    assert "group_id" not in env.recv()[4]


# ------------------------------------------------------------------ the contract


def draw_texts(rng):
    """Return a text for each environment."""
    return [TEXTS[i] for i in rng.integers(len(TEXTS), size=NUM_ENVS)]


@pytest.mark.parametrize("mode", MODES)
def test_batch_equals_sync_vector_env(mode):
    env = make(autoreset_mode=mode, group_id_info=True)
    expected = make_sync(mode, group_id_info=True)
    rng, ends = np.random.default_rng(0), np.zeros(NUM_ENVS, np.bool_)
    assert_same(env.reset(seed=7), expected.reset(seed=seeds_of(7)))
    count = 0
    for step in range(40):
        if step % 20 == 19:
            mask = rng.random(NUM_ENVS) < 0.5
            mask[0] = True
            seeds = [i if i % 3 else None for i in range(NUM_ENVS)]
            options = [{"reset_mask": mask.copy()} for _ in range(2)]
            assert_same(
                env.reset(seed=seeds, options=options[0]),
                expected.reset(seed=seeds, options=options[1]),
            )
            ends &= ~mask
        if mode is DISABLED and ends.any():
            masks = [{"reset_mask": ends.copy()} for _ in range(2)]
            assert_same(env.reset(options=masks[0]), expected.reset(options=masks[1]))
        texts = draw_texts(rng)
        result = env.step(texts)
        assert_same(result, expected.step(texts), f"step {step}")
        ends = result[2] | result[3]
        count += ends.sum()
    assert count > 30
    assert env.np_random_seed == expected.np_random_seed
    env.close()
    expected.close()


@pytest.mark.slow
def test_public_checker():
    small = {"max_episode_steps": 6}
    lakes = {"id": "roll_vec/RandomFrozenLake-v0", "size": 4, **small}
    families = {"lakes": lakes, "tests_vector/Guess-v0": small}

    def factory(num_envs, **keywords):
        own = dict(list(families.items())[:num_envs])
        return make(num_envs, own, **keywords)

    # Environment 1 of 3 is of another family than environment 0 of 1.
    check_vector_env(factory, steps=25, ignore={"seed-batch"})
