"""Objects of environments change on their way, or stop a shard."""

import threading

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.distributed.shards import ShardTraceback
from tests.contract.cases import assert_same
from tests.distributed.local_actors import actors_of, make_env
from tests.pool.cases import FAULTS_ON_PURPOSE, PROCESSES
from tests.thinning import one_in


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
    local = roll_vec.pool.PoolVectorEnv([Counter] * 4, autoreset_mode=mode)
    sharded = make_env(Counter, 4, 2, autoreset_mode=mode)
    assert_same(sharded.reset(seed=1), local.reset(seed=1))
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
    for env in (shared, local):
        env.send([result, "a"], [0, 1])
    assert_same(shared.recv(2), local.recv(2))
    shared.close()
    local.close()


class Page(gymnasium.Env):
    """An environment of long texts."""

    observation_space = gymnasium.spaces.Text(1 << 20)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return f"page of {seed}\n" * 10_000, {}

    def step(self, action):
        return f"another page {action}\n" * 10_000, 0.0, False, False, {}


def test_long_texts_are_compressed_if_the_user_says_so():
    envs = [make_env(Page, 2, 2, compress=compress) for compress in (False, True)]
    actions = np.array([0, 1])
    results = [(env.reset(seed=1), env.step(actions)) for env in envs]
    assert_same(*results)
    plain, compressed = (actors_of(env).num_bytes for env in envs)
    assert compressed < plain / 20
    for env in envs:
        env.close()
