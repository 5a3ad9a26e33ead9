"""How the tests of the pool play, and what they compare."""

from __future__ import annotations

import copy
import os
import signal
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from roll_vec.pool import PoolVectorEnv
from roll_vec.seeding import episode_seed
from tests.pool.envs import Counter, drifters, talkers

MODES = tuple(AutoresetMode)
NEXT_STEP, SAME_STEP, DISABLED = (
    AutoresetMode.NEXT_STEP,
    AutoresetMode.SAME_STEP,
    AutoresetMode.DISABLED,
)
# Long enough for a busy machine to begin and end a task that does nothing.
LIMIT = 0.4
OTHERS = [0, 2, 3]
THREADS = {"workers": 2, "executor": "thread"}
PROCESSES = {"workers": 2, "executor": "process"}
EXECUTORS = [{}, THREADS, PROCESSES]
EXECUTOR_IDS = ["serial", "threads", "processes"]
WORKERS = [
    {},
    {"workers": 1},
    {"workers": 2},
    {"workers": 4},
    {"workers": 1, "executor": "process"},
    {"workers": 2, "executor": "process"},
    {"workers": 4, "executor": "process"},
]
WORKER_IDS = [
    f"{kind.get('executor', 'thread')}{kind['workers']}" if kind else "serial"
    for kind in WORKERS
]

# For tests that make environments fail: the first fault of a pool warns, and warnings
# are errors here.
FAULTS_ON_PURPOSE = pytest.mark.filterwarnings(
    "ignore::roll_vec.errors.EnvironmentFaultWarning"
)

KINDS = {
    "text": lambda n: talkers(n),
    "box": lambda n: drifters("box", n),
    "dict": lambda n: drifters("dict", n),
    "discrete": lambda n: drifters("discrete", n),
    "tuple": lambda n: drifters("tuple", n),
    "counter": lambda n: [Counter] * n,
}


def draw_actions(kind: str, num_envs: int, steps: int, seed: int = 0) -> list[Any]:
    """Return batches of random actions for a kind of environments."""
    rng = np.random.default_rng(seed)
    batches: list[Any] = []
    for _ in range(steps):
        if kind == "text":
            words = rng.choice(["left", "go right", "", "ü\n"], num_envs)
            batches.append(tuple(str(word) for word in words))
        elif kind == "box":
            batches.append(rng.uniform(-1, 0.9, (num_envs, 3)).astype(np.float32))
        elif kind == "dict":
            moves = rng.integers(0, 3, num_envs)
            by = rng.uniform(-1, 1, (num_envs, 3)).astype(np.float32)
            batches.append({"move": moves, "by": by})
        elif kind == "discrete":
            batches.append(rng.integers(0, 4, num_envs))
        elif kind == "tuple":
            batches.append(rng.integers(0, 1, (num_envs, 2)))
        else:
            batches.append(rng.integers(1, 3, num_envs))
    return batches


def play(env: Any, batches: list[Any]) -> list[Any]:
    """Return copies of what `step`, and in DISABLED mode partial resets, return."""
    results = []
    for batch in batches:
        result = env.step(batch)
        results.append(copy.deepcopy(result))
        finished = result[2] | result[3]
        if env.metadata["autoreset_mode"] is DISABLED and finished.any():
            partial = env.reset(options={"reset_mask": finished, "why": "ended"})
            results.append(copy.deepcopy(partial))
    return results


def rows_of(result: Any, rows: list[int]) -> Any:
    """Return what a step or a reset returned of some environments.

    Infos become one dict an environment: a key that only others have leaves a trace
    in the layout of the batch.
    """
    *values, infos = result
    return [_take(value, rows) for value in values], [_info(infos, row) for row in rows]


def _take(value: Any, rows: list[int]) -> Any:
    if isinstance(value, dict):
        return {key: _take(part, rows) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return value[rows].tolist()
    if len(value) and isinstance(value[0], (np.ndarray, tuple)):
        return [_take(part, rows) for part in value]
    return [value[row] for row in rows]


def _plain(value: Any) -> Any:
    """Return an observation in an object array without numpy's arrays."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return value


def _info(infos: dict[str, Any], row: int) -> dict[str, Any]:
    found = {}
    for key, value in infos.items():
        if key.startswith("_") or not infos["_" + key][row]:
            continue
        if isinstance(value, dict):
            found[key] = _info(value, row)
        else:
            part = value[row]
            is_numpy = isinstance(part, (np.generic, np.ndarray))
            found[key] = part.tolist() if is_numpy else _plain(part)
    return found


def pool(fns: Any, **keywords: Any) -> closing[PoolVectorEnv]:
    """Return a context that makes a pool and closes it."""
    return closing(PoolVectorEnv(fns, **keywords))


def sync(fns: Any, **keywords: Any) -> closing[SyncVectorEnv]:
    """Return a context that makes Gymnasium's batch and closes it."""
    return closing(SyncVectorEnv(fns, **keywords))


def kill_workers(env):
    """Kill all workers, and wait until they are dead."""
    for queue in env.engine.handles.workers._queues:
        os.kill(queue.process.pid, signal.SIGKILL)
        queue.process.join()


def fail_at(env, twin, command, mode, steps=(1, 6), num_steps=10):
    """Play with a fault of environment 1, beside a twin; return its infos."""
    infos = []
    levels = []
    env.reset(seed=50)
    twin.reset(seed=50)
    for step, batch in enumerate(draw_actions("text", 4, num_steps)):
        told = list(batch)
        if step in steps:
            told[1] = f"fault:{command}"
        result, expected = env.step(told), twin.step(batch)
        assert rows_of(result, OTHERS) == rows_of(expected, OTHERS)
        own = rows_of(result, [1])[1][0]
        infos.append(own)
        if mode is DISABLED:
            for one, ended in ((env, result), (twin, expected)):
                mask = ended[2] | ended[3]
                if mask.any():
                    partial = one.reset(options={"reset_mask": mask})
                    if one is env:
                        own = rows_of(partial, [1])[1][0]
        if "level" in own:
            levels.append(own["level"])
    assert levels == [episode_seed(51, k + 1) for k in range(len(levels))]
    assert levels
    errors = [info.get("final_info", info) for info in infos]
    return [info["error"] for info in errors if "error" in info]
