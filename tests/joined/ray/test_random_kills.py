"""Kills at random times change a result."""

import os
import random
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

import roll_vec
from roll_vec.joined import make_shards
from tests.joined.local_actors import pids_of, restarts_of
from tests.joined.test_shards import Play
from tests.pool.cases import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

CASES = {
    "rooms": ("roll_vec/Sokoban-v0", 32, {"dim_room": (6, 6), "num_boxes": 1}),
    "tasks": ("roll_vec/Countdown-v0", 12, {"max_steps": 3}),
}


class Killer(threading.Thread):
    """Kills processes of random shards, at random times, so many in total."""

    def __init__(self, envs, count, seed):
        super().__init__(daemon=True)
        self.envs, self.count, self.rng = envs, count, random.Random(seed)

    def run(self):
        victims = set()
        while len(victims) < self.count:
            time.sleep(self.rng.random() * 0.2)
            pids = {pid for pid in pids_of(self.envs) if pid} - victims
            with suppress(ProcessLookupError, IndexError):
                victim = self.rng.choice([*pids])
                os.kill(victim, signal.SIGKILL)
                victims.add(victim)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("rooms", 3),
        pytest.param("rooms", 20, marks=pytest.mark.slow),
        pytest.param("tasks", 10, marks=pytest.mark.slow),
    ],
)
def test_random_kills_change_nothing(cluster, name, count):
    id, num_envs, keywords = CASES[name]
    envs = make_shards(id, num_envs, 3, snapshot_interval=7, **keywords)
    killer = Killer(envs, count, seed=1)
    play = Play(envs, roll_vec.make_vec(id, num_envs, **keywords), seed=0)
    play.both(lambda env: env.reset(seed=0), "the first reset")
    killer.start()
    while killer.is_alive():
        play.run(3)
    # A shard can be killed once more before the head has noticed its death.
    assert restarts_of(envs) >= 0.5 * count
    pids = pids_of(envs)
    for _ in range(2):
        envs.close()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    with pytest.raises(roll_vec.errors.ClosedError):
        envs.reset()
