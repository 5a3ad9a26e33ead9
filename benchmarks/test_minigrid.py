"""Steps and resets of MiniGrid's and BabyAI's ids beside minigrid, EnvPool and NAVIX.

One thread, and the time of the processor: it counts the threads of all sides alike, and
holds on a machine that does other work as well.  Actions are drawn before, the
environments are in different steps of their episodes.  SyncVectorEnv has 8: its rate
hardly depends on their number.  All ids take half an hour; some, or shorter rounds::

    pytest benchmarks/test_minigrid.py -k "DoorKey-8x8 and 4096"
    pytest benchmarks/test_minigrid.py --benchmark-max-time 0.25

``python -m benchmarks.tables run.json --spread PATTERN`` prints the least, the median
and the greatest ratio of a run.
"""

from __future__ import annotations

import contextlib
import io
import time
from typing import Any

import gymnasium
import pytest

from benchmarks import peers
from benchmarks.batches import make, make_sync, steps
from benchmarks.conftest import OURS, Versus
from roll_vec.registration.minigrid_ids import IDS

GAMES = [id for id, *_ in IDS]
# Of NAVIX's table; it has no other games.
NAVIX = (
    "MiniGrid-Empty-8x8-v0",
    "MiniGrid-Empty-Random-6x6-v0",
    "MiniGrid-DoorKey-8x8-v0",
    "MiniGrid-FourRooms-v0",
    "MiniGrid-KeyCorridorS3R2-v0",
    "MiniGrid-LavaGapS7-v0",
    "MiniGrid-SimpleCrossingS9N2-v0",
    "MiniGrid-Dynamic-Obstacles-8x8-v0",
    "MiniGrid-DistShift1-v0",
    "MiniGrid-GoToDoor-8x8-v0",
)
# Resets of one environment of minigrid in a call.
NUM_RESETS = 20
# Resets of EnvPool and of minigrid may never return.
ENDLESS = "BabyAI-SynthS5R2-v0"
PAIRS = [
    pytest.param(game, side, id=f"{game}-{side}")
    for game in GAMES
    for side in (OURS, "SyncVectorEnv", "EnvPool", *["NAVIX"] * (game in NAVIX))
    if side == OURS or game != ENDLESS
]


@pytest.mark.benchmark(group="steps of {game}, {size:,} environments, one thread")
@pytest.mark.parametrize(("game", "side"), PAIRS)
@pytest.mark.parametrize("size", [1024, 4096])
def test_steps(versus: Versus, game: str, side: str, size: int) -> None:
    if side == OURS:
        envs = make(f"roll_vec/{game}", size, num_threads=1)
        versus(*steps(envs, 32), close=envs.close, clock=time.process_time)
    elif side == "SyncVectorEnv":
        with contextlib.redirect_stdout(io.StringIO()):
            envs = make_sync(peers.require_minigrid(game), 8)
            versus(*steps(envs, 64), close=envs.close, clock=time.process_time)
    elif side == "EnvPool":
        versus(*peers.envpool_steps(game, size), clock=time.process_time)
    else:
        versus(*peers.navix_steps(game, size), clock=time.process_time)


@pytest.mark.benchmark(group="resets of {game}, one thread")
@pytest.mark.parametrize("side", [OURS, "minigrid"])
@pytest.mark.parametrize("game", [x for x in GAMES if x != ENDLESS])
def test_resets(versus: Versus, game: str, side: str) -> None:
    if side == OURS:
        envs: Any = make(f"roll_vec/{game}", 1024, num_threads=1)
        versus(envs.reset, 1024, "reset", close=envs.close, clock=time.process_time)
        return
    env = gymnasium.make(peers.require_minigrid(game), disable_env_checker=True)
    env.reset(seed=0)

    def work() -> None:
        # BabyAI prints why it draws a level again.
        with contextlib.redirect_stdout(io.StringIO()):
            for _ in range(NUM_RESETS):
                env.reset()

    versus(work, NUM_RESETS, "reset", close=env.close, clock=time.process_time)
