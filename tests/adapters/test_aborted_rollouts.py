"""Rollouts of ROLL that end early give the rows of the shared batch back."""

import gc
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from roll_vec.adapters.roll import GemFrozenLakeEnv, GemSokobanEnv, GemWebShopEnv
from tests.contract.cases import assert_same

ROOM = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 30}
MAKERS = {
    "Sokoban": lambda **more: GemSokobanEnv(**ROOM, **more),
    "WebShop": lambda **more: GemWebShopEnv(num_products=100, **more),
    "FrozenLake": lambda **more: GemFrozenLakeEnv(size=4, **more),
}


def count_rows(batch):
    """Return the rows of a shared batch, and how many of them are free."""
    rows = sum(sessions.num_envs for sessions in batch.batches)
    return rows, sum(len(sessions._free_rows) for sessions in batch.batches)


def answer(rng):
    return f"<answer>{rng.choice(['Up', 'Left', 'search[red]'])}</answer>"


def abandon(make, way, number):
    """Begin episodes that nobody ends."""
    rng, env = random.Random(number), make()
    for i in range(10):
        env.reset(seed=100 * number + i)
        for _ in range(rng.randrange(5)):
            if env.step(answer(rng))[2]:
                env.reset(seed=number)
        if way == "close":
            env.close()
        elif way == "delete":
            env = make()
        elif way == "branch":
            forks = env.fork(2)
            forks[0].step(answer(rng))


def play_on(env, is_over):
    """Return the results of episodes, some of them abandoned, until it is over."""
    rng, results = random.Random(0), []
    while not is_over(results):
        results.append(env.reset(seed=len(results)))
        has_ended = False
        while not has_ended and len(results) % 7:
            results.append(env.step(answer(rng)))
            has_ended = results[-1][2]
    return results


@pytest.mark.parametrize(
    ("name", "way"),
    [
        *(("Sokoban", "close"), ("Sokoban", "branch"), ("FrozenLake", "delete")),
        *(("WebShop", "reset"), ("WebShop", "branch")),
    ],
)
def test_abandoned_episodes_hold_no_rows(name, way):
    make, count, stop = MAKERS[name], 6, threading.Event()
    survivor = make()
    batch = survivor._batch
    with ThreadPoolExecutor(count + 1) as threads:
        playing = threads.submit(play_on, survivor, lambda _: stop.is_set())
        jobs = [threads.submit(abandon, make, way, i + 1) for i in range(count)]
        for job in jobs:
            job.result(60)
        stop.set()
        results = playing.result(60)
    del playing, jobs, threads
    gc.collect()
    num_rows, num_free = count_rows(batch)
    assert num_rows - num_free == 1  # the survivor's
    # As many as environments that exist at a time, and at most as many again.
    assert num_rows <= 2 * (1 + count * (5 if way == "branch" else 2))
    # Those who come later get these rows, and begin anew.
    later = [make() for _ in range(num_free)]
    episodes = [env.reset(seed=3) for env in later]
    assert count_rows(batch) == (num_rows, 0)
    alone = make()
    for episode in episodes:
        assert_same(episode, alone.reset(seed=3))
    assert_same(play_on(alone, lambda those: len(those) >= len(results)), results)
