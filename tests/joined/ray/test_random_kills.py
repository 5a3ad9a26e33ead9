"""Kills at random times change a result, or leave something behind."""

import hashlib
import os
import random
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.joined import make_shards
from tests.golden import update_digest
from tests.joined.local_actors import pids_of, restarts_of
from tests.pool.cases import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

CASES = {
    "rooms": ("roll_vec/Sokoban-v0", 32, {"dim_room": (6, 6), "num_boxes": 1}),
    "tasks": ("roll_vec/Countdown-v0", 12, {"max_steps": 3}),
}


class Killer(threading.Thread):
    """Kills processes of random shards, at random times, so many in total."""

    def __init__(self, envs, count, seed):
        super().__init__(daemon=True)
        self.envs, self.count, self.rng = envs, count, random.Random(seed)
        self.num_kills = 0

    def run(self):
        victims = set()
        while self.num_kills < self.count:
            time.sleep(self.rng.random() * 0.2)
            pids = [pid for pid in pids_of(self.envs) if pid and pid not in victims]
            if not pids:
                continue
            victim = self.rng.choice(pids)
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue
            victims.add(victim)
            self.num_kills += 1


def play(envs, is_done):
    """Play at random; return a digest after each round, until the round when done."""
    rng, digest, digests = np.random.default_rng(0), hashlib.sha256(), []
    update_digest(digest, envs.reset(seed=0))
    is_text = isinstance(envs.single_action_space, gymnasium.spaces.Text)
    n = envs.num_envs
    while not is_done(len(digests)):
        for _ in range(3):
            actions = [f"{k} + 1" for k in rng.integers(9, size=n)]
            if not is_text:
                actions = rng.integers(1, 5, n)
            update_digest(digest, envs.step(actions))
        if not is_text:
            update_digest(digest, tuple(envs.unroll(rng.integers(1, 5, (5, n)))))
        if rng.random() < 0.1:
            mask = rng.random(n) < 0.5
            update_digest(digest, envs.reset(options={"reset_mask": mask}))
        if rng.random() < 0.05:
            update_digest(
                digest, envs.set_state(envs.get_state().select_rows(rng.permutation(n)))
            )
        digests.append(digest.hexdigest())
    return digests


def descendants():
    """Return the processes that this process has started, and those of them."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            pid, _, rest = path.read_text().partition(" (")
            parents[int(pid)] = int(rest.rpartition(")")[2].split()[1])
    family = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in family} - family
        if not more:
            return family - {os.getpid()}
        family |= more


def mapped_files(pids):
    """Return the shared memory of some processes that has a name."""
    files = set()
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                if "/dev/shm/" in line:
                    files.add(Path(line[line.index("/dev/shm/") :].split(" ")[0]))
    return files


@pytest.mark.parametrize(("name", "count"), [("rooms", 20), ("tasks", 10)])
def test_random_kills_change_nothing(name, count):
    ray = pytest.importorskip("ray")
    id, num_envs, keywords = CASES[name]
    envs = make_shards(id, num_envs, 3, snapshot_interval=7, **keywords)
    killer = Killer(envs, count, seed=1)
    killer.start()
    pids, files = set(), set()

    def is_done(num_rounds):
        pids.update(descendants(), pids_of(envs))
        if num_rounds % 20 == 0:
            files.update(mapped_files(pids))
        return not killer.is_alive()

    digests = play(envs, is_done)
    assert killer.num_kills == count
    # A shard can be killed once more before the head has noticed its death.
    assert restarts_of(envs) >= 0.5 * count
    envs.close()
    ray.shutdown()
    local = roll_vec.make_vec(id, num_envs, **keywords)
    assert play(local, lambda i: i == len(digests)) == digests
    files |= {Path(f"/proc/{pid}") for pid in pids}
    wait_until(lambda: not any(path.exists() for path in files))
