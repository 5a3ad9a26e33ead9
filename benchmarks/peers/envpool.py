"""EnvPool's FrozenLake-v1 and Sokoban-v0.

EnvPool is fastest with one worker thread on the caller's core if a step is cheap: a
second thread costs more than it gains.  If a step is expensive it is fastest
asynchronously, with half of the environments at a time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import envpool
import numpy as np

from benchmarks.machine import usable_cores
from benchmarks.tasks import Rate, Unavailable

BASE_PATH = Path(envpool.__file__).parent


def level_file() -> Path:
    """Return the file of Boxoban levels in EnvPool's wheel: (1000, 10, 10, 2) uint8.

    Of each cell the fixed part (0 floor, 1 wall, 2 target), then the movable part
    (0 nothing, 3 player, 4 box), in Jumanji's format.
    """
    return BASE_PATH / "jumanji/assets/boxoban/unfiltered-test.npy"


def frozen_lake(num_envs: int, mode: str = "sync") -> Rate:
    """Step FrozenLake-v1."""
    settings = {"observation": "position, int32", "levels": "the 4x4 map"}
    return _steps("FrozenLake-v1", num_envs, mode, settings)


def sokoban(num_envs: int, mode: str = "sync", levels: str = "") -> Rate:
    """Step Sokoban-v0 with the levels of its wheel.

    By default EnvPool looks for them in another package, does not find them, and
    silently gives every environment the same trivial level.
    """
    if not level_file().exists():
        raise Unavailable(f"no file of levels: {level_file()}")
    settings = {
        "observation": "two grids, 10x10x2 uint8, and a step count",
        "levels": "1000 Boxoban levels",
    }
    return _steps("Sokoban-v0", num_envs, mode, settings, base_path=str(BASE_PATH))


def _steps(
    id: str, num_envs: int, mode: str, settings: dict[str, Any], **keywords: Any
) -> Rate:
    asynchronous = mode == "async"
    batch = max(num_envs // 2, 1) if asynchronous else num_envs
    env = envpool.make(
        id,
        env_type="gymnasium",
        num_envs=num_envs,
        batch_size=batch,
        num_threads=usable_cores() if asynchronous else 1,
        seed=0,
        **keywords,
    )
    steps = max(2048 // batch, 2)
    actions = np.random.default_rng(0).integers(0, 4, (steps, num_envs))
    actions = actions.astype(np.int32)

    def work_synchronously() -> int:
        for row in actions:
            env.step(row)
        return steps * num_envs

    def work_asynchronously() -> int:
        for row in actions:
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
    return Rate(work, "steps/s", {"batch": num_envs, **settings})


def _check_levels(id: str, env: Any) -> None:
    """Raise Unavailable if EnvPool has not loaded the levels."""
    if id == "Sokoban-v0" and env.config["num_envs"] >= 16:
        grids = env.reset()[0]["grid"]
        if len(np.unique(grids.reshape(len(grids), -1), axis=0)) == 1:
            raise Unavailable("every environment has the same level")
