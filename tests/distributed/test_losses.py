"""A shard is lost, its environments allow no snapshots, or results cannot travel."""

import threading
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.distributed.shards import ShardTraceback
from roll_vec.errors import EnvironmentFaultError, ResetNeededError
from tests.contract.cases import (
    DISABLED,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
)
from tests.distributed.local_actors import actors_of, make_env, make_pair
from tests.pool.cases import FAULTS_ON_PURPOSE, PROCESSES, values_of
from tests.thinning import one_in


class Unpicklable(gymnasium.Env):
    """Counts steps; ends after five; cannot be pickled."""

    observation_space = gymnasium.spaces.Box(0, 1e9, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    metadata: ClassVar = {"render_modes": []}

    def __init__(self):
        self.lock = (i for i in ())  # a generator cannot be pickled

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.start = self.np_random.integers(1000)
        self.t = 0
        return np.array([self.start], np.float32), {"start": int(self.start)}

    def step(self, action):
        self.t += 1
        observation = np.array([self.start + self.t / 10], np.float32)
        return observation, 1.0, self.t == 5, False, {"t": self.t}


KEYWORDS = {"dim_room": (5, 5), "num_boxes": 1}
KILLED = "killed by the test"


def make_sokoban(mode, deaths, **shards):
    keywords = {"deaths": deaths, "shards": shards, "autoreset_mode": mode, **KEYWORDS}
    return make_pair("roll_vec/Sokoban-v0", 6, 3, **keywords)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_a_lost_shard_ends_its_episodes_and_the_others_go_on(mode):
    deaths = {(1, 4): "early", (1, 5): "late"}
    sharded, local = make_sokoban(mode, deaths=deaths, max_restarts=1)
    up, lost = np.ones(6, int), np.arange(6) // 2 == 1
    others = ~lost
    for _ in range(2):
        expected = local.step(up)
        assert_same(sharded.step(up), expected)
    for step in range(4):
        expected = local.step(up)
        observations, rewards, terminations, truncations, infos = sharded.step(up)
        assert_same(observations[others], expected[0][others])
        assert_same(rewards[others], expected[1][others])
        is_reset = mode is NEXT_STEP and step % 2 == 1
        assert truncations.tolist() == (lost & (not is_reset)).tolist()
        assert not rewards[lost].any()
        assert not terminations[lost].any()
        where = infos
        if mode is SAME_STEP:
            assert infos["_final_obs"].tolist() == lost.tolist()
            where = infos["final_info"]
        assert where["_error"].tolist() == lost.tolist()
        assert f"shard 1 is lost after 1 restarts: {KILLED}" in where["error"][2]
        assert infos["_success"].tolist() == others.tolist()
        if mode is DISABLED:
            with pytest.raises(ResetNeededError, match=r"\[2, 3\] have ended"):
                sharded.step(up)
            _, infos = sharded.reset(options={"reset_mask": lost})
            assert infos["_error"].tolist() == lost.tolist()
    assert sharded.restarts == (0, 1, 0)
    assert list(sharded.lost_shards) == [1]
    with pytest.raises(EnvironmentFaultError, match="shard 1 is lost"):
        sharded.get_state()
    assert sharded.solve()[2] is None
    observations, infos = sharded.reset(seed=5)
    assert_same(observations[others], local.reset(seed=5)[0][others])
    assert infos["_error"].tolist() == lost.tolist()
    sharded.close()
    assert actors_of(sharded).is_closed


def test_an_unroll_goes_on_without_a_lost_shard():
    deaths = {(1, 2): "late"}
    sharded, local = make_sokoban(NEXT_STEP, deaths=deaths, max_restarts=0)
    actions = np.random.default_rng(0).integers(1, 5, (6, 6))
    others = [0, 1, 4, 5]
    for _ in range(2):
        result, expected = sharded.unroll(actions), local.unroll(actions)
        assert_same(result.observations[:, others], expected.observations[:, others])
        assert_same(result.rewards[:, others], expected.rewards[:, others])
    assert result.truncations[:, 2].any()


def test_all_shards_lost():
    deaths = {(k, 2): "early" for k in range(3)}
    sharded, local = make_sokoban(NEXT_STEP, deaths=deaths, max_restarts=0)
    truncations = sharded.step(np.ones(6, int))[3]
    assert truncations.all()
    state = local.get_state().replace_row(0, {})
    for call in (lambda: sharded.reset(seed=0), lambda: sharded.set_state(state)):
        with pytest.raises(EnvironmentFaultError, match="shard 0 is lost"):
            call()


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_environments_without_snapshots_lose_the_episode_alone(mode):
    keywords = {"autoreset_mode": mode}
    deaths = {(1, 4): "late"}
    sharded, local = make_pair(Unpicklable, 4, 2, seed=3, deaths=deaths, **keywords)
    actions = np.zeros(4, int)
    for _ in range(2):
        assert_same(sharded.step(actions), local.step(actions))
    last = sharded.engine.observe()[2:]
    expected = local.step(actions)
    observations, rewards, terminations, truncations, infos = sharded.step(actions)
    assert truncations.tolist() == [False, False, True, True]
    assert rewards.tolist() == [1, 1, 0, 0]
    assert not terminations.any()
    assert_same(observations[:2], expected[0][:2])
    faults = roll_vec.faults_of(infos["final_info"] if mode is SAME_STEP else infos)
    assert [*faults] == [2, 3]
    assert "allow no snapshots" in faults[2]
    if mode is SAME_STEP:
        assert_same(np.stack(infos["final_obs"][2:]), last)
        first = observations[2:]
    elif mode is NEXT_STEP:
        assert_same(observations[2:], last)
        observations, rewards, _, truncations, infos = sharded.step(actions)
        assert_same(observations[:2], local.step(actions)[0][:2])
        first = observations[2:]
    else:
        with pytest.raises(ResetNeededError, match=r"\[2, 3\]"):
            sharded.step(actions)
        mask = np.array([False, False, True, True])
        observations, infos = sharded.reset(options={"reset_mask": mask})
        first = observations[2:]
    # The next episodes have begun, and go on.
    assert infos["start"][2:].tolist() == first[:, 0].tolist()
    assert not sharded.lost_shards
    assert sharded.restarts == (0, 1)
    observations, _, _, truncations, _ = sharded.step(actions)
    assert_same(observations[2:], first + np.float32(0.1))
    assert not truncations.any()
    again = make_env(
        Unpicklable, 4, 4, deaths={(2, 4): "late", (3, 4): "early"}, **keywords
    )
    again.reset(seed=3)
    for _ in range(3):
        again.step(actions)
    if mode is DISABLED:
        again.reset(options={"reset_mask": mask})
    elif mode is NEXT_STEP:
        again.step(actions)
    # The new episodes do not depend on the number of shards.
    assert_same(again.step(actions)[0], observations)


class Moody(gymnasium.Env):
    """Can be pickled before its first step alone; counts the attempts."""

    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)
    num_steps, num_attempts = 0, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        self.num_steps += 1
        return 1, 0.0, False, False, {"attempts": self.num_attempts}

    def __reduce_ex__(self, protocol):
        self.num_attempts += 1
        if self.num_steps:
            raise TypeError
        return super().__reduce_ex__(protocol)


def test_a_snapshot_that_fails_is_tried_less_often():
    env = make_env(Moody, 2, 2, snapshot_interval=4)
    env.reset(seed=0)
    for _ in range(100):
        infos = env.step([0, 0])[4]
    # At the first reset; then, as pickle and as copy, after 4, 8, 16, 32 and 64 steps.
    assert infos["attempts"].tolist() == [11, 11]


def test_a_shard_that_no_process_can_make():
    # At the start it is an error at once; later a death like others.
    with pytest.raises(EnvironmentFaultError, match=r"\[2\] failed.*no node can make"):
        make_env("roll_vec/Sokoban-v0", 6, 3, deaths={(1, 0): "unable"}, **KEYWORDS)
    sharded, local = make_sokoban(NEXT_STEP, deaths={(1, 2): "late", (1, 3): "unable"})
    up = np.ones(6, int)
    assert_same(sharded.step(up), local.step(up))
    assert sharded.restarts == (0, 2, 0)


def split_results(batch):
    """Return, by environment, what `recv` says of it."""
    env_ids = batch[4]["env_id"].tolist()
    assert env_ids == sorted(env_ids)
    return {env_id: values_of(batch, [i]) for i, env_id in enumerate(env_ids)}


# ------------------------------------------------- objects of environments


class Counter(gymnasium.Env):
    """An environment with one info dict and one observation for its whole life."""

    observation_space = gymnasium.spaces.Box(0, 99, (2,), np.int64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self):
        self.lock = threading.Lock()
        self.observation = np.zeros(2, np.int64)
        self.info = {"count": 0, "deep": {"counts": np.zeros(1, np.int64)}}

    def _results(self, count):
        self.observation[0] = self.info["count"] = count
        self.info["deep"]["counts"][0] = count
        return self.observation, self.info

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._results(10 * int(self.np_random.integers(3)))

    def step(self, action):
        observation, info = self._results(self.info["count"] + 1)
        return observation, 1.0, action == 1, False, info


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_results_are_those_of_their_step(mode):
    sharded, local = make_pair(Counter, 4, 2, seed=1, autoreset_mode=mode)
    for actions in np.random.default_rng(0).integers(0, 2, (12, 4)):
        assert_same(sharded.step(actions), local.step(actions))
    sharded.close()


def test_a_reply_that_cannot_travel_is_an_error():
    sharded = make_env(Counter, 4, 2)
    results = sharded.reset(seed=1)
    with pytest.raises(TypeError, match="pickle") as error:
        sharded.call("lock")
    # The shard has raised it, and lives.
    assert isinstance(error.value.__cause__, ShardTraceback)
    assert_same(sharded.reset(seed=1), results)
    sharded.close()


class Stubborn(Exception):
    """An error that can be pickled, and not be had back."""

    def __init__(self, place, reason):
        super().__init__(f"{place}: {reason}")


class Note(str):
    """A text with an attribute."""

    def __new__(cls, text, attribute):
        note = super().__new__(cls, text)
        note.attribute = attribute
        return note


RESULTS = {
    "lock": lambda: ("ok", {"lock": threading.Lock()}),
    "error": lambda: ("ok", {"error": Stubborn("here", "so")}),
    "note": lambda: (Note("ok", threading.Lock()), {}),
}


class Holder(roll_vec.BaseLanguageBasedEnv):
    """Returns what its action names, of `RESULTS`; the action "end" ends it."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return RESULTS.get(options, lambda: ("start", {"level": self.level_seed}))()

    def step(self, action):
        observation, info = RESULTS.get(action, lambda: (action, {"why": action}))()
        return observation, 1.0, action == "end", False, info


@FAULTS_ON_PURPOSE
@one_in(2, "result, mode, workers", [*RESULTS], ["NextStep", "SameStep"], [0, 2])
def test_a_result_that_cannot_travel_is_a_fault_of_one(result, mode, workers):
    """As in the processes of a local pool."""
    keywords = {"autoreset_mode": mode}
    shared = make_env(Holder, 4, 2, workers=workers, **keywords)
    local = roll_vec.PoolVectorEnv([Holder] * 4, **PROCESSES, **keywords)
    assert_same(shared.reset(seed=1), local.reset(seed=1))
    for actions in (["a", "b", result, "end"], ["a", "b", "c", "d"], [result] * 4):
        step = shared.step(actions)
        assert_same(step, local.step(actions))
    infos = step[4].get("final_info", step[4])
    assert "cannot be pickled" in infos["error"][2]
    shared.close()
    local.close()


def test_long_texts_are_compressed_if_the_user_says_so():
    envs = [make_env(Holder, 2, 2, compress=compress) for compress in (False, True)]
    actions = ["page of a shop\n" * 10_000] * 2
    results = [(env.reset(seed=1), env.step(actions)) for env in envs]
    assert_same(*results)
    plain, compressed = (actors_of(env).num_bytes for env in envs)
    assert compressed < plain / 20
