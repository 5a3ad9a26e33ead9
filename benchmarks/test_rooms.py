"""Sokoban rooms per second on one thread, ours and gym-sokoban's."""

import numpy as np
import pytest

from benchmarks import gym_sokoban
from benchmarks.workloads import RoomConfig

# Seeds a round of ours, and of gym-sokoban's, which takes seconds for a large room.
SEEDS = {
    RoomConfig(6, 1): (4000, 200),
    RoomConfig(6, 2): (4000, 100),
    RoomConfig(6, 3): (4000, 50),
    RoomConfig(10, 4): (50, 2),
}
TINY = RoomConfig(6, 1)
configs = pytest.mark.parametrize("config", SEEDS, ids=[c.name for c in SEEDS])


@configs
@pytest.mark.benchmark(group="rooms")
def test_our_rooms(benchmark, measuring, report_rate, config):
    """Draw rooms, with new seeds where an attempt fails."""
    config = config if measuring else TINY
    count = SEEDS[config][0] if measuring else 1
    seeds = np.arange(count, dtype=np.uint64)
    rooms = benchmark.pedantic(config.draw, (seeds,), rounds=5, warmup_rounds=1)
    assert rooms == count
    report_rate("rooms_per_s", rooms)


@configs
@pytest.mark.benchmark(group="rooms")
def test_gym_sokobans_rooms(benchmark, measuring, report_rate, config):
    """Draw once a seed; failed attempts cost time and give no room."""
    if gym_sokoban.version() is None:
        pytest.skip(gym_sokoban.HOW_TO_INSTALL)
    generator = gym_sokoban.load_generator()
    config = config if measuring else TINY
    seeds = range(SEEDS[config][1] if measuring else 1)
    rounds = 5 if config.size == 6 else 1
    rooms = benchmark.pedantic(
        gym_sokoban.draw, (generator, config, seeds), rounds=rounds
    )
    assert rooms > 0
    report_rate("rooms_per_s", rooms)
