"""The rewards, ends, infos and sources of Sokoban."""

from __future__ import annotations

from roll_vec.envs.game_description import (
    ACTION_INFOS,
    ACTION_MASK_INFO,
    LEVEL_INFOS,
    OTHER_INSTRUCTION,
    TEXT_INFOS,
    GameDescription,
    Reward,
    describe_grid_game,
    parse_infos,
    parse_sources,
)
from roll_vec.envs.sokoban.options import SokobanOptions
from roll_vec.kernels.sokoban import rules as kernels

_DEADLOCK = parse_infos("""
deadlock | bool | reset, step | The room surely cannot be solved any more.
   | deadlock=True
""")
_SOURCES = parse_sources("""
ROLL, SokobanEnv | commit 35bea6a2 | https://github.com/alibaba/ROLL
   | rooms from the same seeds, steps, rewards, boards as text
gym-sokoban | 0.0.6 | https://github.com/mpSchrader/gym-sokoban
   | push actions, rewards, the colours of ``tiny_rgb``
""")


def describe(options: SokobanOptions) -> GameDescription:
    """Return the description of Sokoban with these options."""
    terminated = ["All boxes are on targets: success."]
    if options.terminate_on_deadlock:
        terminated.append("The room is a recognised dead end.")
    return describe_grid_game(
        options,
        rewards=(
            Reward(kernels.PENALTY_STEP, "Each step."),
            Reward(kernels.REWARD_BOX_ON_TARGET, "A box is pushed onto a target."),
            Reward(-kernels.REWARD_BOX_ON_TARGET, "A box is pushed off a target."),
            Reward(kernels.REWARD_FINISHED, "All boxes are on targets."),
        ),
        terminated=tuple(terminated),
        infos=(
            *ACTION_INFOS,
            *LEVEL_INFOS[:2],
            ACTION_MASK_INFO,
            *_DEADLOCK,
            *TEXT_INFOS,
        ),
        sources=_SOURCES,
        differences=(
            OTHER_INSTRUCTION,
            "The step limit truncates an episode; ROLL has one flag for both ends.",
            "After an attempt that gave no room, ROLL takes the seed "
            "``hash(str(seed))``, which differs between processes; the next seed here "
            "is ``roll_vec.seeding.retry_seed(seed, t)``.",
        ),
        page="docs/games/sokoban.md",
    )
