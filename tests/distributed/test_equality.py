"""A batch over shards differs from a local one, also after errors and Ctrl-C."""

import warnings

import gymnasium
import numpy as np
import pytest

from roll_vec.errors import (
    EnvironmentFaultError,
    InvalidActionError,
    LevelGenerationError,
    ResetNeededError,
)
from tests.contract.cases import (
    DISABLED,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    draw_actions,
    id_of,
    vector_keywords,
)
from tests.distributed.local_actors import actors_of, make_env, make_pair
from tests.distributed.test_losses import Unpicklable
from tests.thinning import one_in

NUM_ENVS = 8
INFO_KEYWORDS = {"group_size": 2}


ROOMS = {"dim_room": (5, 5), "num_boxes": 1, "max_episode_steps": 6}
SOKOBAN, LAKES = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
UNROLLED = {
    "default": (SOKOBAN, ROOMS),
    "planes": (SOKOBAN, {**ROOMS, "obs_mode": "planes"}),
    "text": (SOKOBAN, {**ROOMS, "obs_mode": "text"}),
    "rgb": (SOKOBAN, {**ROOMS, "obs_mode": "rgb"}),
    "lakes": (LAKES, {"obs_mode": "text", "max_episode_steps": 4}),
}


@one_in(2, "case, mode", UNROLLED, MODES[:2])
def test_unrolls(mode, case):
    id, keywords = case
    keywords = {**keywords, "autoreset_mode": mode, "seed": 1}
    keywords["deaths"] = {(0, 3): "late", (2, 2): "early"}
    shards = {"snapshot_interval": 9}
    if keywords.get("obs_mode") == "rgb":
        shards["render_on"] = "shard"
    sharded, local = make_pair(id, 5, 3, shards=shards, **keywords)
    actions = np.random.default_rng(0).integers(1, 5, (3, 10, 5))
    first, result = (env.unroll(actions[0]) for env in (local, sharded))
    assert_same(tuple(result), tuple(first))
    second = local.unroll(actions[1], out=first)
    again = sharded.unroll(actions[1], out=result)
    assert_same(tuple(again), tuple(second))
    if keywords.get("obs_mode") != "text":
        assert np.shares_memory(again.observations, result.observations)
    assert again.rewards is result.rewards
    # A bad action in the middle demands a reset.
    bad = actions[2].copy()
    bad[7] = 9  # in NEXT_STEP mode some of them are ignored
    with pytest.raises(InvalidActionError, match="step 7"):
        sharded.unroll(bad)
    for env in (sharded, local):
        env.reset(seed=4)
    assert_same(sharded.step(actions[2][0]), local.step(actions[2][0]))
    assert_same(tuple(sharded.unroll(actions[2])), tuple(local.unroll(actions[2])))


@one_in(2, "name, mode", ["roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"], MODES)
def test_a_step_is_one_message_to_each_shard(name, mode):
    keywords = vector_keywords(name, autoreset_mode=mode, **INFO_KEYWORDS)
    shards = {"snapshot_interval": 2}
    sharded, local = make_pair(id_of(name), NUM_ENVS, 3, shards=shards, **keywords)
    messages = actors_of(sharded).messages
    count = len(messages)
    with pytest.raises(InvalidActionError, match=r"in environments \[7\]"):
        sharded.step([*draw_actions(local, 1, seed=0)[0][:-1], 9])
    assert len(messages) == count
    for actions in draw_actions(local, 8, seed=0):
        count = len(messages)
        ends = np.logical_or(*sharded.step(actions)[2:4])
        assert [shard for shard, _, _ in messages[count:]] == [0, 1, 2]
        if mode is DISABLED and ends.any():
            sharded.reset(options={"reset_mask": ends})
    count = len(messages)
    if name == "roll_vec/Sokoban-v0" and mode is not DISABLED:
        sharded.unroll(np.ones((5, NUM_ENVS), int))
        assert [shard for shard, _, _ in messages[count:]] == [0, 1, 2]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_an_error_in_one_shard_is_one_of_the_batch(mode):
    # There is no next level.
    keywords = {"dim_room": (3, 6), "num_boxes": 1, "max_episode_steps": 2}
    env, twin = make_pair(SOKOBAN, 4, 2, autoreset_mode=mode, **keywords)
    for one in (env, twin):
        one.set_level_options(num_boxes=2)
    up, error = np.ones(4, int), LevelGenerationError
    for _ in range(1 if mode is SAME_STEP else 2):
        assert_same(env.step(up), twin.step(up))
    for one in (env, twin):
        with pytest.raises(error):
            one.reset() if mode is DISABLED else one.step(up)
    for one in (env, twin):
        one.set_level_options(num_boxes=1)
    assert_same(env.reset(seed=5), twin.reset(seed=5))
    assert_same(env.step(up), twin.step(up))


# ------------------------------------------------- errors of pools, and Ctrl-C


class Sum(gymnasium.Env):
    """Adds its gain; action 1 raises.  A snapshot has the sum and not the gain."""

    observation_space = gymnasium.spaces.Box(-1e9, 1e9, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)
    gain = 1.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.sum = float(self.np_random.integers(100))
        return np.array([self.sum]), {}

    def step(self, action):
        if action == 1:
            raise ValueError("action 1")
        self.sum += self.gain
        return np.array([self.sum]), self.gain, False, False, {}

    def get_state(self):
        return {"sum": self.sum, "generator": self.np_random.bit_generator.state}

    def set_state(self, state):
        self.sum = state["sum"]
        self.np_random.bit_generator.state = state["generator"]


def interrupt_next_wait(env):
    """Let Ctrl-C strike while the head waits for the next reply."""
    actors = actors_of(env)
    wait = actors.wait

    def interrupt(*_):
        actors.wait = wait
        raise KeyboardInterrupt

    actors.wait = interrupt


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_replay_sets_attributes_at_their_time(is_interrupted):
    deaths = {} if is_interrupted else {(1, 6): "early"}
    sharded, local = make_pair(Sum, 4, 2, deaths=deaths)
    actions = np.zeros(4, int)
    for gain in (10.0, 100.0):
        assert_same(sharded.step(actions), local.step(actions))
        for env in (sharded, local):
            env.set_attr("gain", gain)
    if is_interrupted:
        interrupt_next_wait(sharded)
        with pytest.raises(KeyboardInterrupt):
            sharded.step(actions)
        with pytest.raises(ResetNeededError, match="interrupted"):
            sharded.step(actions)
        assert_same(sharded.reset(seed=1), local.reset(seed=1))
    for _ in range(3):
        assert_same(sharded.step(actions), local.step(actions))
    assert sum(sharded.restarts) == len(deaths)


def test_a_question_is_no_reset():
    env = make_env(Unpicklable, 4, 2)
    actions = np.zeros(4, int)
    env.reset(seed=0)
    with pytest.raises(AttributeError, match="nothing"):
        env.get_attr("nothing")
    assert env.step(actions)[4]["t"].tolist() == [1] * 4
    interrupt_next_wait(env)
    with pytest.raises(KeyboardInterrupt):
        env.step(actions)
    assert not env.fault_counts.any()
    with pytest.raises(ResetNeededError, match="interrupted"):
        env.step(actions)
    env.reset()
    assert not env.step(actions)[3].any()


class Switch(Sum):
    """Its resets fail while a switch of the class is on; episodes have two steps."""

    is_broken = False

    def reset(self, *, seed=None, options=None):
        if Switch.is_broken:
            raise ValueError("no reset")
        self.count = 0
        return super().reset(seed=seed)

    def step(self, action):
        self.count += 1
        return *super().step(action)[:2], self.count == 2, False, {}


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_an_error_tells_that_no_environment_can_be_reset(mode, monkeypatch):
    sharded, local = make_pair(Switch, 4, 2, autoreset_mode=mode)
    for env in (local, sharded):
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            env.step([0] * 4)
            if mode is NEXT_STEP:
                env.step([0] * 4)
            patch.setattr(Switch, "is_broken", True)
            with pytest.raises(EnvironmentFaultError, match="no reset") as error:
                env.reset() if mode is DISABLED else env.step([0] * 4)
            assert sorted(error.value.errors) == [0, 1, 2, 3]
    assert_same(sharded.reset(seed=1), local.reset(seed=1))
    assert_same(sharded.step([0] * 4), local.step([0] * 4))
