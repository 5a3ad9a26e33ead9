"""Infos of resets on request: the seed and the number of the level of an episode.

This has been seen to fail with each of these bugs planted, one at a time:

- the seed is the one that the stream started from;
- the infos of a batch keep those of the first reset;
- the index of a level of users is counted from ``start_level``.
"""

import gymnasium
import numpy as np
import pytest

import roll_vec  # noqa: F401  registers the ids
from roll_vec.errors import InvalidOptionError, UnknownOptionError
from roll_vec.seeding import episode_seed, level_for_seed
from tests.conftest import JIT_OFF
from tests.stacked.ids import LEVEL_IDS

SOKOBAN, RANDOM_LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
GIVEN = ["#####\n#@$.#\n#####", "#####\n#.$@#\n#####", " ####\n##+ #\n# *$ #\n######"]
VARIANTS = [
    *((id, {}, {}) for id in LEVEL_IDS),
    *((id, {"num_levels": 5, "start_level": 9}, {}) for id in LEVEL_IDS),
    *((id, {"num_levels": 3}, {"group_size": 2}) for id in LEVEL_IDS),
    (SOKOBAN, {"levels": GIVEN}, {}),
    (SOKOBAN, {"levels": GIVEN, "solution_steps": (1, 1)}, {}),
    (SOKOBAN, {"num_boxes": 1, "solution_steps": (3, 5)}, {}),
    (RANDOM_LAKE, {"p": 0.6, "success_probability": (0.2, 0.9)}, {"group_size": 2}),
    (SOKOBAN, {"levels": GIVEN, "start_level": 1}, {"group_size": 3}),
]
REQUESTS = {"seed_info": True, "level_info": True}
LIMIT = 4


def play_episodes(env, num_steps):
    """Play a batch; return (first observation, info, [(action, observation, reward)]).

    One for each episode that began, in all environments.
    """
    first = env.single_action_space.start
    actions = np.random.default_rng(0).integers(first, first + 4, (num_steps, 6))
    observations, infos = env.reset(seed=11)
    episodes, current = [], [None] * 6
    for t in range(num_steps + 1):
        for i in np.flatnonzero(infos.get("_seed", [])).tolist():
            info = {key: int(infos[key][i]) for key in ("seed", "level")}
            episodes.append((observations[i], info, []))
            current[i] = episodes[-1][2]
        if t == num_steps:
            return episodes
        playing = list(current)
        observations, rewards, *_, infos = env.step(actions[t])
        true_next = env.unwrapped.final_obs(observations, infos)
        in_next_step = env.metadata["autoreset_mode"].value == "NextStep"
        for i, steps in enumerate(playing):
            if not (in_next_step and infos.get("_seed", np.zeros(6))[i]):
                steps.append((int(actions[t, i]), true_next[i], rewards[i]))
    return None


@pytest.mark.skipif(JIT_OFF, reason="draws all levels twice")
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize(("id", "more", "of_batch"), VARIANTS)
def test_the_seed_opens_the_same_episode_alone(id, more, of_batch, mode):
    more = {"max_episode_steps": LIMIT, "action_start": 1, **REQUESTS, **more}
    env = gymnasium.make_vec(id, num_envs=6, autoreset_mode=mode, **of_batch, **more)
    alone = gymnasium.make(id, **more)
    episodes = play_episodes(env, 14)
    assert len(episodes) > 12
    for first, info, steps in episodes:
        observation, own_info = alone.reset(seed=info["seed"])
        np.testing.assert_array_equal(observation, first)
        assert own_info == info
        assert type(own_info["seed"]) is type(own_info["level"]) is int
        for action, expected, reward in steps:
            observation, own_reward, *_ = alone.step(action)
            np.testing.assert_array_equal(observation, expected)
            assert own_reward == reward


@pytest.mark.parametrize("num_levels", [0, 7])
@pytest.mark.parametrize("id", LEVEL_IDS)
def test_seeds_and_levels_follow_the_documented_rules(id, num_levels):
    levels = {"num_levels": num_levels, "start_level": 100} if num_levels else {}
    env = gymnasium.make_vec(
        id, num_envs=3, autoreset_mode="Disabled", **REQUESTS, **levels
    )
    for k in range(4):
        _, infos = env.reset(seed=2**40 if k == 0 else None)
        seeds = [episode_seed(2**40 + i, k) for i in range(3)]
        assert infos["seed"].tolist() == seeds
        expected = [level_for_seed(s, num_levels, levels and 100) for s in seeds]
        assert infos["level"].tolist() == expected
        assert infos["seed"].dtype == infos["level"].dtype == np.int64


def test_the_number_of_a_level_of_users_is_its_index():
    env = gymnasium.make_vec(
        SOKOBAN, num_envs=8, levels=GIVEN, start_level=1, level_info=True
    )
    grids = env.unwrapped.engine.options.levels.grids
    observations, infos = env.reset(seed=0)
    np.testing.assert_array_equal(grids[infos["level"]], observations)
    assert set(infos["level"].tolist()) == {1, 2}


@pytest.mark.parametrize("id", LEVEL_IDS)
def test_infos_are_absent_without_a_request(id):
    env = gymnasium.make_vec(id, num_envs=2)
    assert env.reset(seed=0)[1] == {}
    assert gymnasium.make(id).reset(seed=0)[1] == {}
    alone = gymnasium.make(id, level_info=True)
    assert alone.reset(seed=5)[1] == {"level": 5}
    assert "level" not in alone.step(1)[-1]


@pytest.mark.parametrize("name", ["seed_info", "level_info"])
@pytest.mark.parametrize("id", LEVEL_IDS)
def test_values_other_than_bools_are_refused(id, name):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(InvalidOptionError, match=f"{name}: expected True or False"):
            make(id, **{name: 1})


@pytest.mark.parametrize("name", ["seed_info", "level_info"])
def test_without_levels_the_error_points_to_snapshots(name):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(UnknownOptionError, match="get_state keeps an episode"):
            make("roll_vec/FrozenLake-v1", **{name: True})
