"""Helpers of the tests of the pool: executors, actions, play, comparison, faults."""

import functools
import os
import signal
import threading
import time
from collections.abc import Iterable
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from roll_vec import VectorState
from roll_vec.pool import PoolVectorEnv
from roll_vec.seeding import episode_seed
from roll_vec.vector.values import to_bytes
from tests.contract.cases import DISABLED, NEXT_STEP, item, plain, single_info
from tests.pool.envs import Counter, drifters, talkers

# A busy machine begins and ends a task that does nothing in so many seconds.
LIMIT = 0.4
THREADS = {"workers": 2, "executor": "thread"}
PROCESSES = {"workers": 2, "executor": "process"}
ONE_PROCESS = {"workers": 1, "executor": "process"}
EXECUTORS = [{}, THREADS, PROCESSES]
EXECUTOR_IDS = ["serial", "threads", "processes"]
EACH_EXECUTOR = pytest.mark.parametrize("workers", EXECUTORS, ids=EXECUTOR_IDS)
EACH_WORKER = pytest.mark.parametrize("workers", EXECUTORS[1:], ids=EXECUTOR_IDS[1:])
# By their ids, for `one_in`.
NAMED_EXECUTORS = dict(zip(EXECUTOR_IDS, EXECUTORS, strict=True))

# For tests that make environments fail: the first fault of a pool warns, and warnings
# are errors here.
FAULTS_ON_PURPOSE = pytest.mark.filterwarnings(
    "ignore::roll_vec.errors.EnvironmentFaultWarning"
)

KINDS = {
    "text": talkers,
    **{
        kind: functools.partial(drifters, kind)
        for kind in ("box", "dict", "discrete", "tuple")
    },
    "counter": lambda n: [Counter] * n,
}


def pool(fns: Any, **keywords: Any) -> closing[PoolVectorEnv]:
    """Return a context that makes a pool and closes it."""
    return closing(PoolVectorEnv(fns, **keywords))


@contextmanager
def twins(fns: Any, seed: int = 1, autoreset_mode: Any = NEXT_STEP, **keywords: Any):
    """Give a pool, and one without workers beside it; both were reset."""
    with (
        pool(fns, autoreset_mode=autoreset_mode, **keywords) as env,
        pool(fns, autoreset_mode=autoreset_mode) as twin,
    ):
        for one in (env, twin):
            one.reset(seed=seed)
        yield env, twin


def sync(fns: Any, **keywords: Any) -> closing[SyncVectorEnv]:
    """Return a context that makes Gymnasium's batch and closes it."""
    return closing(SyncVectorEnv(fns, **keywords))


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


def reset_ended(env: Any, result: Any, options: dict[str, Any] | None = None) -> Any:
    """Reset the environments that a step has ended; return the result of that.

    None in other modes than DISABLED, and if no episode has ended.
    """
    mask = result[2] | result[3]
    if env.metadata["autoreset_mode"] is not DISABLED or not mask.any():
        return None
    return env.reset(options={"reset_mask": mask, **(options or {})})


def values_of(result: Any, env_ids: Iterable[int]) -> Any:
    """Return the parts of some environments in the result of a step or a reset.

    Infos become one dict an environment: a key that only others have leaves a trace
    in the layout of the batch.
    """
    *values, infos = result
    selection = [[item(value, env_id) for env_id in env_ids] for value in values]
    return selection, [info_of(infos, env_id) for env_id in env_ids]


def info_of(infos: dict[str, Any], env_id: int) -> dict[str, Any]:
    """Return the info of one environment, without numpy's types."""
    return plain(single_info(infos, env_id))


def with_arrays(state: VectorState, **arrays: Any) -> VectorState:
    """Return a snapshot with some other arrays."""
    arrays = {**state.arrays, **arrays}
    parts = (state.id, state.configuration, arrays)
    return VectorState(*parts, allow_pickle=True)


def wait_until(condition: Any, seconds: float = 20) -> None:
    """Wait until a function returns something true; fail if it takes too long."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def threads() -> set[threading.Thread]:
    return {
        one for one in threading.enumerate() if one.name.startswith("roll_vec-pool")
    }


def step_once(workers: dict[str, Any], **keywords: Any) -> PoolVectorEnv:
    """Return a pool of three that was reset and stepped."""
    env = PoolVectorEnv(talkers(3), **workers, **keywords)
    env.reset(seed=1)
    env.step(("a",) * 3)
    return env


def queues_of(env: Any) -> Any:
    """Return the queues of a pool's workers."""
    return env.engine.envs.workers._queues


def kill_workers(env: Any) -> None:
    """Kill all worker processes, and wait until they are dead."""
    for queue in queues_of(env):
        os.kill(queue.process.pid, signal.SIGKILL)
        queue.process.join()


def with_fault(batch: Any, env_id: int, fault: str) -> tuple[str, ...]:
    """Return a batch of text actions in which one makes a `Talker` fail."""
    actions = list(batch)
    actions[env_id] = f"fault:{fault}"
    return tuple(actions)


def play_with_faults(
    env: Any, twin: Any, fault: str, fault_steps: tuple[int, ...]
) -> list[str]:
    """Play ten steps with faults of environment 1 of 4; return its errors.

    The others must play as those of a twin without faults.  Environment 1 must return
    its last observation with each error, and go through its seed's episodes in order.
    """
    errors, levels = [], []
    before, _ = env.reset(seed=50)
    twin.reset(seed=50)
    for step, batch in enumerate(draw_actions("text", 4, 10)):
        actions = with_fault(batch, 1, fault) if step in fault_steps else batch
        result, twin_result = env.step(actions), twin.step(batch)
        assert values_of(result, [0, 2, 3]) == values_of(twin_result, [0, 2, 3])
        observations, info = result[0], info_of(result[4], 1)
        failed = info.get("final_info", info)
        if "error" in failed:
            assert failed.keys() - {"final_obs"} == {"error"}
            errors.append(failed["error"])
            assert [array[1] for array in result[1:4]] == [0, False, True]
            assert info.get("final_obs", observations[1]) == before[1]
        reset_ended(twin, twin_result)
        partial = reset_ended(env, result)
        if partial is not None:
            observations, info = partial[0], info_of(partial[1], 1)
        before = observations
        if "level" in info:
            levels.append(info["level"])
    assert levels == [episode_seed(51, k + 1) for k in range(len(levels))]
    assert levels
    return errors


def replace_row(state, index, row):
    """Return a snapshot of a pool whose environment ``index`` is in another state."""
    rows = state.arrays["states"].tolist()
    rows[index] = to_bytes(row)
    return with_arrays(state, states=np.array(rows))
