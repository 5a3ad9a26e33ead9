"""EnvPool's games.

EnvPool is fastest with one worker thread on the caller's core if a step is cheap: a
second thread costs more than it gains.  If a step is expensive it is fastest
asynchronously, with half of the environments at a time.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import envpool
import numpy as np

from benchmarks.machine import usable_cores
from benchmarks.spaces import describe, draw_actions
from benchmarks.tasks import Rate, Unavailable

BASE_PATH = Path(envpool.__file__).parent


def level_file() -> Path:
    """Return the file of Boxoban levels in EnvPool's wheel: (1000, 10, 10, 2) uint8.

    Of each cell the fixed part (0 floor, 1 wall, 2 target), then the movable part
    (0 nothing, 3 player, 4 box), in Jumanji's format.
    """
    return BASE_PATH / "jumanji/assets/boxoban/unfiltered-test.npy"


def sokoban(num_envs: int, mode: str = "sync") -> Rate:
    """Step Sokoban-v0 with the levels of its wheel."""
    if not level_file().exists():
        raise Unavailable(f"no file of levels: {level_file()}")
    rate = steps(num_envs, mode, "Sokoban-v0", "1000 Boxoban levels")
    rate.settings["observation"] = "two grids, 10x10x2 uint8, and a step count"
    return rate


def steps(
    num_envs: int,
    mode: str = "sync",
    id: str = "FrozenLake-v1",
    levels_are: str = "the 4x4 map",
) -> Rate:
    """Step with actions drawn in advance, on one thread, or ``async`` on all cores."""
    asynchronous = mode == "async"
    batch = max(num_envs // 2, 1) if asynchronous else num_envs
    env = envpool.make(
        id,
        env_type="gymnasium",
        num_envs=num_envs,
        batch_size=batch,
        num_threads=usable_cores() if asynchronous else 1,
        seed=0,
        # By default it looks for levels in another package, does not find them, and
        # gives every Sokoban the same trivial level.
        base_path=str(BASE_PATH),
    )
    steps = max(2048 // batch, 2)
    actions = draw_actions(env.action_space, 128, num_envs)
    if actions.dtype.kind == "i":
        actions = actions.astype(np.int32)
    batches = itertools.cycle(actions)

    def work_synchronously() -> int:
        for row in itertools.islice(batches, steps):
            env.step(row)
        return steps * num_envs

    def work_asynchronously() -> int:
        for row in itertools.islice(batches, steps):
            ids = env.recv()[4]["env_id"]
            env.send(row[ids], ids)
        return steps * batch

    if asynchronous:
        env.async_reset()
    else:
        env.reset()
        _check_levels(id, env)
    work = work_asynchronously if asynchronous else work_synchronously
    for _ in range(100 // steps + 1):
        work()
    # Its integers are int32, whatever its spaces say.
    observation = describe(env.observation_space).replace("int64", "int32")
    settings = {"batch": num_envs, "observation": observation, "levels": levels_are}
    return Rate(work, "steps/s", settings)


def _check_levels(id: str, env: Any) -> None:
    """Raise Unavailable if EnvPool has not loaded the levels."""
    if id == "Sokoban-v0" and env.config["num_envs"] >= 16:
        grids = env.reset()[0]["grid"]
        if len(np.unique(grids.reshape(len(grids), -1), axis=0)) == 1:
            raise Unavailable("every environment has the same level")
