"""The table of `tests/gymnasium_versions.py` is true of the installed Gymnasium."""

import inspect
import re

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.spaces import Discrete
from gymnasium.utils import env_checker
from gymnasium.vector import SyncVectorEnv, VectorEnv
from gymnasium.wrappers import vector as wrappers

import roll_vec  # noqa: F401  registers the ids
from tests.conftest import ROOT
from tests.contract.cases import SAME_STEP
from tests.gymnasium_versions import as_in_newest
from tests.pins.sets import SETS

ID = "roll_vec/FrozenLake-v1"


def is_refused(call, error):
    try:
        call()
    except error:
        return True
    return False


def sync_counts_actions():
    envs = SyncVectorEnv([lambda: gymnasium.make(ID)] * 2)
    envs.reset(seed=0)
    return is_refused(lambda: envs.step([0]), ValueError)


def lists_take_keys_without_mask():
    envs = gymnasium.make_vec(ID, num_envs=2, max_episode_steps=1)
    envs = wrappers.DictInfoToList(wrappers.RecordEpisodeStatistics(envs))
    envs.reset(seed=0)
    return not is_refused(lambda: envs.step(np.array([0, 0])), KeyError)


def sync_leaves_metadata_alone():
    env = gymnasium.make("CartPole-v1")
    env.unwrapped.metadata = dict(env.metadata)
    SyncVectorEnv([lambda: env])
    return "autoreset_mode" not in env.metadata


def statistics_count_first_steps():
    envs = gymnasium.make_vec(
        ID, num_envs=1, max_episode_steps=2, autoreset_mode=SAME_STEP
    )
    envs = wrappers.RecordEpisodeStatistics(envs)
    envs.reset(seed=0)
    lengths = [envs.step(np.array([0]))[4].get("episode") for _ in range(4)]
    return [int(x["l"][0]) for x in lengths if x] == [2, 2]


def has(thing, name):
    return lambda: hasattr(thing, name)


def takes(function, name):
    return lambda: name in inspect.signature(function).parameters


def limit_of_0_is_a_value_error():
    try:
        gymnasium.make(ID, max_episode_steps=0)
    except (ValueError, AssertionError) as error:
        return isinstance(error, ValueError)


# What the newest version does, by what `tests/gymnasium_versions.py` says of it.
PROBES = {
    "Discrete takes a dtype": takes(Discrete, "dtype"),
    "a lake takes success_rate and reward_schedule": takes(
        FrozenLakeEnv, "success_rate"
    ),
    "RecordVideo takes batches": has(wrappers, "RecordVideo"),
    "SyncVectorEnv counts the actions": sync_counts_actions,
    "DictInfoToList takes keys without a mask": lists_take_keys_without_mask,
    "VectorEnv has no __del__": lambda: not hasattr(VectorEnv, "__del__"),
    "SyncVectorEnv leaves the metadata of its environments alone": (
        sync_leaves_metadata_alone
    ),
    "RecordEpisodeStatistics counts the first step in SAME_STEP": (
        statistics_count_first_steps
    ),
    "a bad argument is a ValueError or TypeError": limit_of_0_is_a_value_error,
    "check_env looks for shared results": has(
        env_checker, "check_returned_data_not_reused"
    ),
}


@pytest.mark.parametrize("difference", PROBES)
def test_the_installed_gymnasium_is_as_the_table_says(difference):
    assert PROBES[difference]() == as_in_newest(difference)


def test_the_lowest_set_is_the_floors():
    text = (ROOT / "pyproject.toml").read_text()
    floors = re.findall(
        r'"([a-z]+)>=([\d.]+)"', re.search(r"\ndependencies.*", text)[0]
    )
    lowest = dict(pin.split("==") for pin in SETS["lowest"].requirements)
    assert {name: f"{floor}.0" for name, floor in floors} == lowest
