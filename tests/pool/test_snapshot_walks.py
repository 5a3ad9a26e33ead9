"""Random walks over snapshots: whatever a pool goes back to, it goes on alike.

A walk builds a tree.  A node is a snapshot; an edge is a call with its results.  Two
pools with different workers go to random nodes and take edges, old ones or new ones.
Every pass over an edge must give the same results and the same snapshot.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import roll_vec
from roll_vec import VectorState
from roll_vec.pool import PoolVectorEnv
from tests.contract.cases import assert_same
from tests.pool.cases import DISABLED, FAULTS_ON_PURPOSE, PROCESSES, THREADS
from tests.pool.envs import drifters, talkers
from tests.pool.snapshot_envs import HalfStateful, Stateful, wrapped_countdown

NUM_ENVS = 4
ANSWERS = {
    "roll_vec/Countdown-v0": ["1+2", "", "oracle"],
    "roll_vec/WebShop-v0": ["search[red]", "click[next >]", "click[buy now]", "x"],
}
FNS = {
    "plain": [Stateful] * NUM_ENVS,
    "pickled": talkers(NUM_ENVS),
    "pickled states": [HalfStateful] * NUM_ENVS,
    "arrays": drifters("dict", NUM_ENVS),
    "wrapped": [wrapped_countdown] * NUM_ENVS,
}


def make(name, workers, **keywords):
    """Return a pool of four."""
    keywords = {**keywords, **workers}
    if name in FNS:
        return PoolVectorEnv(FNS[name], **keywords)
    more = {"max_steps": 3} if "Countdown" in name else {"max_episode_steps": 4}
    return roll_vec.make_vec(name, NUM_ENVS, **more, **keywords)


def draw_batch(name, rng):
    """Return random actions; those of `Talker` may be faults."""
    if name == "pickled states":
        return rng.integers(0, 4, NUM_ENVS)
    if name == "arrays":
        moves = rng.integers(0, 3, NUM_ENVS)
        return {"move": moves, "by": rng.random((NUM_ENVS, 3)).astype(np.float32)}
    words = ANSWERS.get(name, ["a", "b c"])
    if name in ("plain", "pickled"):
        words = [*words, *words, "fault:raise"]
    return tuple(rng.choice(words, NUM_ENVS).tolist())


def draw_call(name, rng, mode):
    """Return a random call: a method's name and its arguments."""
    kind = rng.choice(["step", "send", "reset", "rows", "unroll", "set"])
    mask = np.zeros(NUM_ENVS, bool)
    mask[rng.choice(NUM_ENVS, 2, replace=False)] = True
    batch = draw_batch(name, rng)
    if kind == "send":
        return kind, (mask.nonzero()[0], batch)
    if kind == "reset":
        seed = None if rng.random() < 0.5 else int(rng.integers(1 << 40))
        return kind, (seed, {"reset_mask": mask})
    if kind in ("rows", "set"):
        rows = rng.integers(0, NUM_ENVS, NUM_ENVS)
        return kind, (rows, mask if kind == "set" else None, batch)
    if kind == "unroll" and mode is not DISABLED:
        return kind, [batch, draw_batch(name, rng)]
    return "step", batch


def part_of(batch, env_ids):
    if isinstance(batch, dict):
        return {key: value[env_ids] for key, value in batch.items()}
    if isinstance(batch, tuple):
        return tuple(batch[i] for i in env_ids)
    return batch[env_ids]


def step(env, batch):
    """Step; in DISABLED mode reset the ended ones first."""
    has_ended = env._autoreset.has_ended
    results = []
    if env.autoreset_mode is DISABLED and has_ended.any():
        results.append(env.reset(options={"reset_mask": has_ended.copy()}))
    return [*results, env.step(batch)]


def run(env, state, call):
    """Return copies of the results of a call."""
    kind, arguments = call
    if kind == "send":
        env_ids, batch = arguments
        if env.autoreset_mode is DISABLED:
            env_ids = env_ids[~env._autoreset.has_ended[env_ids]]
        results: Any = []
        if len(env_ids):
            env.send(part_of(batch, env_ids), env_ids)
            results = env.recv(None)
    elif kind == "reset":
        results = env.reset(seed=arguments[0], options=arguments[1])
    elif kind in ("rows", "set"):
        rows, mask, batch = arguments
        env.set_state(state, rows=rows, mask=mask)
        results = step(env, batch)
    elif kind == "unroll":
        results = tuple(env.unroll(arguments))
    else:
        results = step(env, arguments)
    return copy.deepcopy(results)


def walk(name, mode, group_size, workers, num_calls, path):
    """Walk with two pools; compare each pass over an edge with the first one."""
    mode = AutoresetMode(mode)
    rng = np.random.default_rng(num_calls + len(name) + group_size)
    keywords = {"autoreset_mode": mode, "group_size": group_size}
    pools = [make(name, each, **keywords) for each in ({}, workers)]
    pools[0].reset(seed=5)
    nodes = [pools[0].get_state()]
    edges: dict[int, list[Any]] = {0: []}
    place: list[int | None] = [0, None]
    num_repeated = 0
    for _ in range(num_calls):
        which = int(rng.integers(2))
        env, node = pools[which], place[which]
        if node is None or rng.random() < 0.3:
            node = int(rng.integers(len(nodes)))
            state = nodes[node]
            if rng.random() < 0.1:
                state.save(path)
                state = VectorState.load(path, allow_pickle=True)
            env.set_state(state)
        if edges[node] and rng.random() < 0.5:
            call, expected, after = edges[node][int(rng.integers(len(edges[node])))]
            assert_same(run(env, nodes[node], call), expected)
            num_repeated += 1
            if "pickled" not in name and name != "arrays":
                assert env.get_state() == nodes[after]
        else:
            call = draw_call(name, rng, mode)
            results = run(env, nodes[node], call)
            after = len(nodes)
            nodes.append(env.get_state())
            edges[node].append((call, results, after))
            edges[after] = []
        place[which] = after
    assert num_repeated > num_calls // 10
    for env in pools:
        env.close()


CASES = [("NextStep", 1, PROCESSES), ("SameStep", 2, THREADS), ("Disabled", 1, THREADS)]
EACH_CASE = pytest.mark.parametrize(("mode", "group_size", "workers"), CASES)
EACH_NAME = pytest.mark.parametrize("name", [*FNS, *ANSWERS])


@FAULTS_ON_PURPOSE
@EACH_NAME
@EACH_CASE
def test_every_pass_gives_the_same_results(name, mode, group_size, workers, tmp_path):
    walk(name, mode, group_size, workers, 40, tmp_path / "state.npz")


@pytest.mark.slow
@FAULTS_ON_PURPOSE
@EACH_NAME
@EACH_CASE
def test_long_walks(name, mode, group_size, workers, tmp_path):
    walk(name, mode, group_size, workers, 800, tmp_path / "state.npz")
