"""Costs of a step by the number of environments and the autoreset mode.

Environments are out of phase, so that episodes end in most calls.  ``unroll`` is 128
steps in a call; in the mode Disabled ended environments are reset by a mask.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from benchmarks.batches import actions_of, make, steps
from benchmarks.conftest import Versus

GAMES: dict[str, dict[str, Any]] = {
    "FrozenLake-v1": {},
    "Sokoban-v0": {"num_levels": 4096},
}
MODES = ("NextStep", "SameStep", "Disabled")
SIZES = (1, 64, 256, 1024, 4096)


@pytest.mark.benchmark(group="modes of {game}, {size:,} environments")
@pytest.mark.parametrize("side", [*MODES, "unroll"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("game", GAMES)
def test_modes(versus: Versus, game: str, size: int, side: str) -> None:
    mode = side if side in MODES else "NextStep"
    envs = make(f"roll_vec/{game}", size, autoreset_mode=mode, **GAMES[game])
    if side == "unroll":
        plan = actions_of(envs, 128)
        unroll = envs.unwrapped.unroll
        versus(lambda: unroll(plan), 128 * size, close=envs.close, size=size)
    else:
        versus(*steps(envs), close=envs.close, size=size)


@pytest.mark.benchmark(group="snapshots of {game}, {size:,} environments")
@pytest.mark.parametrize("side", ["step", "get_state", "set_state"])
@pytest.mark.parametrize("size", [64, 4096])
@pytest.mark.parametrize("game", GAMES)
def test_snapshots(versus: Versus, game: str, size: int, side: str) -> None:
    envs = make(f"roll_vec/{game}", size, **GAMES[game])
    if side == "step":
        versus(*steps(envs), close=envs.close)
        return
    set_state = partial(envs.set_state, envs.get_state())
    work = envs.get_state if side == "get_state" else set_state
    versus(work, size, "environment", close=envs.close)


@pytest.mark.benchmark(group="threads of {game}, 65,536 environments")
@pytest.mark.parametrize("side", ["one thread", "all cores"])
@pytest.mark.parametrize("game", GAMES)
def test_threads(versus: Versus, game: str, side: str) -> None:
    threads = 1 if side == "one thread" else None
    envs = make(f"roll_vec/{game}", 65536, num_threads=threads, **GAMES[game])
    versus(*steps(envs), close=envs.close)
