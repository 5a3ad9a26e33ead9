"""Growth of the rate with the number of environments: the plot of the pages.

FrozenLake-v1, and Sokoban of 10x10 with the same 1,000 levels for all.
"""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import peers
from benchmarks.batches import make, make_sync, steps
from benchmarks.conftest import OURS, Versus

# The sizes at which a side is measured: the greater ones take it too long.
LAKES = {
    OURS: (1, 16, 256, 1024, 4096, 16384, 65536),
    "SyncVectorEnv": (1, 16, 256, 1024),
    "EnvPool": (1, 16, 256, 1024, 4096),
    "gymnax": (256, 4096, 65536),
}
ROOMS = {
    OURS: (1, 16, 256, 1024, 4096, 16384),
    "EnvPool": (16, 256, 1024),
    "Jumanji": (256, 1024, 4096),
}
LIMIT = 120


def sized(sides: dict[str, tuple[int, ...]]) -> list[Any]:
    """Return the pairs of a size and a side."""
    return [
        pytest.param(size, side, id=f"{size}-{side}")
        for size in sides[OURS]
        for side in sides
        if size in sides[side]
    ]


@pytest.mark.benchmark(group="growth of FrozenLake-v1, {size:,} environments")
@pytest.mark.parametrize(("size", "side"), sized(LAKES))
def test_lakes(versus: Versus, size: int, side: str) -> None:
    if side == "EnvPool":
        versus(*peers.envpool_steps("FrozenLake-v1", size), size=size)
    elif side == "gymnax":
        versus(*peers.gymnax_steps("FrozenLake-misc", size), size=size)
    else:
        ours = side == OURS
        envs = (make if ours else make_sync)("roll_vec/" * ours + "FrozenLake-v1", size)
        versus(*steps(envs), close=envs.close, size=size)


@pytest.mark.benchmark(group="growth of Sokoban 10x10, {size:,} environments")
@pytest.mark.parametrize(("size", "side"), sized(ROOMS))
def test_rooms(versus: Versus, size: int, side: str) -> None:
    if side == OURS:
        envs = make_boxoban(size)
        versus(*steps(envs), close=envs.close, size=size)
    elif side == "EnvPool":
        versus(*peers.envpool_steps("Sokoban-v0", size, is_async=True), size=size)
    else:
        versus(*peers.jumanji_sokoban(size), size=size)


@pytest.mark.benchmark(group="beside C, SameStep, {size:,} environments")
@pytest.mark.parametrize("side", [OURS, "PufferLib's C"])
@pytest.mark.parametrize("size", [256, 1024, 4096, 16384])
def test_race(
    versus: Versus, size: int, side: str, request: pytest.FixtureRequest
) -> None:
    if side == OURS:
        envs = make_boxoban(size, autoreset_mode="SameStep", copy=False, num_threads=1)
        versus(*steps(envs), close=envs.close, size=size)
    else:
        checkout = request.config.getoption("pufferlib")
        versus(*peers.pufferlib_steps(size, checkout, LIMIT), size=size)


def make_boxoban(num_envs: int, **keywords: Any) -> Any:
    """Return a batch that plays `peers.levels`."""
    levels = peers.levels()
    grids = peers.CODES[levels[..., 0], levels[..., 1]]
    keywords |= {"levels": grids, "max_episode_steps": LIMIT}
    return make("roll_vec/Sokoban-v0", num_envs, **keywords)
