"""Recorded episodes are played as they were; those that cannot be are named."""

from dataclasses import replace

import numpy as np
import pytest

from roll_vec import make_vec
from roll_vec.evaluation import UniformPolicy
from roll_vec.evaluation.replaying import AnswerPlan, group_episodes
from roll_vec.recordings.episodes import EpisodeAccount
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.trajectories import play_seeds

SOKOBAN = "roll_vec/Sokoban-v0"
TASKS = {
    SOKOBAN: {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 9},
    "roll_vec/Pendulum-v1": {},
    "roll_vec/Countdown-v0": {"max_steps": 2},
}


def record(id, num):
    """Return episodes of uniform actions, and their trajectories."""
    envs = make_vec(id, 3, autoreset_mode="Disabled", **TASKS[id])
    old = list(play_seeds(envs, range(num), UniformPolicy(envs, 0)))
    envs.close()
    return [_episode(id, each.seed, each.actions) for each in old], old


def _episode(id, seed, answers):
    place = f"episode {seed}"
    return RecordedEpisode(
        id=id, keywords=TASKS[id], seed=seed, answers=answers, place=place
    )


def replay(group, num_envs):
    """Return the returns and ends of a group's episodes, and what went wrong."""
    envs = group.make_vec(num_envs)
    plan, account = AnswerPlan(envs, group.episodes), EpisodeAccount(envs)
    ends = {}
    for event in plan.play():
        columns = vars(account.add(event)).values()
        for env_id, *values in zip(*columns, strict=True):
            ends[int(group.places[plan.episodes[env_id]])] = values
    envs.close()
    places = group.places.tolist()
    return ends, {places[i]: text for i, text in plan.problems().items()}


@pytest.mark.parametrize("id", TASKS)
def test_episodes_are_played_again(id):
    episodes, old = record(id, 7)
    (group,) = group_episodes(episodes)
    for num_envs in (2, None):
        ends, problems = replay(group, num_envs)
        assert not problems
        for place, trajectory in enumerate(old):
            total, length, _, terminated, truncated = ends[place]
            assert total == trajectory.total_reward
            assert length == trajectory.num_steps
            assert terminated == trajectory.terminated
            assert truncated == trajectory.truncated


def test_what_cannot_be_played_stops_no_other_episode():
    episodes, old = record(SOKOBAN, 9)
    change = {
        0: replace(episodes[0], answers=[1, 9, 1]),
        2: replace(episodes[2], answers=episodes[2].answers[:4]),
        3: replace(episodes[3], answers=[*episodes[3].answers, 1, 1]),
        4: replace(episodes[4], answers=[]),
        5: replace(episodes[5], seed=-1),
        6: replace(episodes[6], answers=[1, "up"]),
        7: replace(episodes[7], answers=np.array([1, 2, 2, 1], np.uint8), fault="cut"),
    }
    episodes = [change.get(i, each) for i, each in enumerate(episodes)]
    (group,) = group_episodes(episodes)
    ends, problems = replay(group, 3)
    # Nothing of the episodes 4 and 5 is played.
    assert {place: values[1] for place, values in ends.items()} == {
        **{i: old[i].num_steps for i in (1, 3, 8)},
        0: 1,
        2: 4,
        6: 1,
        7: 4,
    }
    assert [ends[i][3:] for i in (0, 2, 7)] == [[False, False]] * 3
    assert ends[8][0] == old[8].total_reward
    assert problems.keys() == {0, 2, 3, 4, 5, 6}
    assert "turn 2 cannot be played: actions: expected 0 to 4, got [9]" in problems[0]
    assert problems[2] == "it goes on after its 4 turns"
    count = old[3].num_steps
    assert problems[3] == f"it ends after turn {count} of {count + 2}"
    assert problems[4] == "it goes on after its 0 turns"
    assert "turn 1 cannot be played: seed: expected a non-negative" in problems[5]
    assert "turn 2 cannot be played" in problems[6]


def test_groups_have_equal_keywords():
    first = _episode(SOKOBAN, 1, [1])
    others = [replace(first, keywords=dict(TASKS[SOKOBAN]), answers=[1, 2]), first]
    lake = _episode("roll_vec/Countdown-v0", 1, ["1"])
    groups = group_episodes([first, lake, *others, replace(first, keywords={})])
    assert [group.places.tolist() for group in groups] == [[2, 0, 3], [1], [4]]
