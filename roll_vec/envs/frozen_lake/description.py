"""The rewards, ends, infos and sources of the FrozenLake ids."""

from __future__ import annotations

from collections.abc import Sequence

from roll_vec.envs.frozen_lake.options import FrozenLakeOptions, RandomFrozenLakeOptions
from roll_vec.envs.game_description import (
    ACTION_INFOS,
    ACTION_MASK_INFO,
    LEVEL_INFOS,
    OTHER_INSTRUCTION,
    TEXT_FRAMES,
    TEXT_INFOS,
    GameDescription,
    Reward,
    describe_grid_game,
    missing_attributes,
    parse_infos,
    parse_sources,
)

_PAGE = "docs/games/frozen_lake.md"
_EFFECT = "nothing moves, nothing is drawn, the reward is 0"
_TERMINATED = ("The player is on the goal: success.", "The player is in a hole.")
_PROB = parse_infos("prob | float64 | reset, step | The probability of the outcome.")
_GYMNASIUM = parse_sources("""
Gymnasium, FrozenLake-v1 | 1.4.0
   | https://gymnasium.farama.org/environments/toy_text/frozen_lake/
   | slips from the same seeds, steps, rewards, infos
""")
_ROLL = parse_sources("""
ROLL, FrozenLakeEnv | commit 35bea6a2 | https://github.com/alibaba/ROLL
   | maps, starts and slips from the same seeds, steps, rewards, boards as text
""")


def _rewards(schedule: Sequence[float]) -> tuple[Reward, ...]:
    goal, hole, ice = (float(reward) for reward in schedule)
    return (
        Reward(goal, "The player enters the goal."),
        Reward(hole, "The player enters a hole."),
        Reward(ice, "The player enters ice."),
    )


def describe_gymnasium_lake(options: FrozenLakeOptions) -> GameDescription:
    """Return the description of FrozenLake-v1 and FrozenLake8x8-v1."""
    with_text = "action_mode='text'"
    return describe_grid_game(
        options,
        _EFFECT,
        rewards=_rewards(options.reward_schedule),
        terminated=_TERMINATED,
        infos=(
            *_PROB,
            *(info._replace(keyword=with_text) for info in ACTION_INFOS),
            ACTION_MASK_INFO,
            *TEXT_INFOS,
        ),
        sources=_GYMNASIUM,
        differences=(
            "``map_name=None`` is an error: ``roll_vec/RandomFrozenLake-v0`` has "
            "random maps.",
            TEXT_FRAMES,
            "``get_attr`` of a batch has no ``lastaction``.",
            missing_attributes(),
        ),
        page=_PAGE,
    )


def describe_random_lake(options: RandomFrozenLakeOptions) -> GameDescription:
    """Return the description of RandomFrozenLake-v0."""
    return describe_grid_game(
        options,
        _EFFECT,
        rewards=_rewards(options.reward_schedule),
        terminated=_TERMINATED,
        infos=(
            *ACTION_INFOS,
            *LEVEL_INFOS[:2],
            ACTION_MASK_INFO,
            *TEXT_INFOS,
        ),
        sources=_ROLL,
        differences=(OTHER_INSTRUCTION,),
        page=_PAGE,
    )
