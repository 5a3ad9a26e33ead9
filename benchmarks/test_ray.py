"""Two shards on Ray beside one local batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import roll_vec
from benchmarks import peers
from benchmarks.batches import steps
from benchmarks.conftest import OURS, Versus

BATCHES: dict[str, tuple[int, dict[str, Any]]] = {
    "Sokoban-v0": (16384, {"obs_mode": "planes"}),
    "WebShop-v0": (128, {}),
}


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    """Run Ray on this machine."""
    ray = peers.require("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.benchmark(group="Ray: {game}")
@pytest.mark.parametrize("side", [OURS, "2 shards"])
@pytest.mark.parametrize("game", BATCHES)
def test_shards(
    versus: Versus, game: str, side: str, request: pytest.FixtureRequest
) -> None:
    num_envs, keywords = BATCHES[game]
    if game == "WebShop-v0":
        pytest.importorskip("rapidfuzz", reason="pip install -e '.[webshop]'")
    request.getfixturevalue("ray")
    if side == OURS:
        envs: Any = roll_vec.make_vec(f"roll_vec/{game}", num_envs, **keywords)
    else:
        from roll_vec.joined import make_shards

        envs = make_shards(f"roll_vec/{game}", num_envs, 2, **keywords)
    envs.reset(seed=0)
    versus(*steps(envs, 16), close=envs.close, size=num_envs)
