"""The table of `tests/gymnasium_versions.py` is true of the installed Gymnasium.

And so is the rest of ``docs/compatibility.md``: there ours is the same with all.
"""

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
from tests.contract.cases import MODES, SAME_STEP
from tests.gymnasium_versions import SINCE, as_in_newest
from tests.pins.sets import SETS

ID = "roll_vec/FrozenLake-v1"


def make_sync(mode=MODES[0]):
    return SyncVectorEnv([lambda: gymnasium.make(ID)] * 2, autoreset_mode=mode)


def lake_takes_success_rate():
    return "success_rate" in inspect.signature(FrozenLakeEnv).parameters


def sync_counts_actions():
    envs = make_sync()
    envs.reset(seed=0)
    try:
        envs.step([0])
    except ValueError:
        return True
    return False


def lists_take_keys_without_mask():
    envs = wrappers.DictInfoToList(
        wrappers.RecordEpisodeStatistics(
            gymnasium.make_vec(ID, num_envs=2, max_episode_steps=1)
        )
    )
    envs.reset(seed=0)
    try:
        envs.step(np.array([0, 0]))
    except KeyError:
        return False
    return True


def sync_leaves_metadata_alone():
    env = gymnasium.make("CartPole-v1")
    env.unwrapped.metadata = dict(env.metadata)
    SyncVectorEnv([lambda: env])
    return "autoreset_mode" not in env.metadata


def statistics_count_first_steps():
    envs = wrappers.RecordEpisodeStatistics(
        gymnasium.make_vec(
            ID, num_envs=1, max_episode_steps=2, autoreset_mode=SAME_STEP
        )
    )
    envs.reset(seed=0)
    lengths = [envs.step(np.array([0]))[4].get("episode") for _ in range(4)]
    return [int(x["l"][0]) for x in lengths if x] == [2, 2]


def bad_arguments_are_value_errors():
    try:
        gymnasium.make(ID, max_episode_steps=0)
    except ValueError:
        return True
    except AssertionError:
        return False
    pytest.fail("no error")


PROBES = {
    "Discrete takes a dtype": lambda: "dtype" in inspect.signature(Discrete).parameters,
    "a lake takes success_rate and reward_schedule": lake_takes_success_rate,
    "RecordVideo takes batches": lambda: hasattr(wrappers, "RecordVideo"),
    "SyncVectorEnv counts the actions": sync_counts_actions,
    "DictInfoToList takes keys without a mask": lists_take_keys_without_mask,
    "VectorEnv has no __del__": lambda: not hasattr(VectorEnv, "__del__"),
    "SyncVectorEnv leaves the metadata of its environments alone": (
        sync_leaves_metadata_alone
    ),
    "RecordEpisodeStatistics counts the first step in SAME_STEP": (
        statistics_count_first_steps
    ),
    "a bad argument is a ValueError or TypeError": bad_arguments_are_value_errors,
    "check_env looks for shared results": lambda: hasattr(
        env_checker, "check_returned_data_not_reused"
    ),
}


@pytest.mark.parametrize("difference", PROBES)
def test_the_installed_gymnasium_is_as_the_table_says(difference):
    assert PROBES[difference]() == as_in_newest(difference)


@pytest.mark.parametrize("difference", PROBES)
def test_the_documentation_has_the_difference(difference):
    since = re.sub(r"\.0$", "", ".".join(map(str, SINCE[difference])))
    rows = (ROOT / "docs" / "compatibility.md").read_text().splitlines()
    assert any(row.startswith(f"| {difference} | {since} |") for row in rows)


@pytest.mark.parametrize("mode", MODES)
def test_ours_counts_actions_and_keeps_the_options_with_every_version(mode):
    envs = gymnasium.make_vec(ID, num_envs=2, autoreset_mode=mode)
    options = {"reset_mask": np.array([True, True])}
    envs.reset(seed=0, options=options)
    assert options.keys() == {"reset_mask"}
    with pytest.raises(ValueError, match="1"):
        envs.step([0])
    with pytest.raises(ValueError, match="reset_mask"):
        envs.reset(options={"reset_mask": np.array([False, False])})
    assert envs.metadata["autoreset_mode"] is mode


def test_the_lowest_set_is_the_floors():
    text = (ROOT / "pyproject.toml").read_text()
    floors = re.findall(
        r'"([a-z]+)>=([\d.]+)"', re.search(r"\ndependencies.*", text)[0]
    )
    lowest = dict(pin.split("==") for pin in SETS["lowest"].requirements)
    assert {name: f"{floor}.0" for name, floor in floors} == lowest
