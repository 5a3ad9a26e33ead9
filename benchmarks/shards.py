"""Rates of shards on Ray beside one local batch; Ray starts for each measurement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Text

import roll_vec
from benchmarks.tasks import Figure, Rate, in_turns
from roll_vec.joined import make_shards


class Workload(NamedTuple):
    """A batch: the numbers of environments for which rates are measured; its texts."""

    id: str
    keywords: dict[str, Any]
    sizes: Sequence[int]
    texts: Sequence[str] = ()


_GRIDS = {"action_start": 1}
_PLANES = {**_GRIDS, "obs_mode": "planes"}
_PAGES = ("search[red shirt]", "click[next >]", "click[back to search]", "x")
WORKLOADS = {
    "Sokoban, grids": Workload("roll_vec/Sokoban-v0", _GRIDS, (256, 16384)),
    "Sokoban, planes": Workload("roll_vec/Sokoban-v0", _PLANES, (16384,)),
    "RandomFrozenLake": Workload("roll_vec/RandomFrozenLake-v0", _GRIDS, (256, 16384)),
    "Countdown": Workload(
        "roll_vec/Countdown-v0", {}, (64, 512), ("1 + 1", "3 * 4 - 2")
    ),
    "WebShop": Workload("roll_vec/WebShop-v0", {}, (128,), _PAGES),
}


def draw_actions(workload: Workload, envs: Any, num_steps: int) -> list[Any]:
    """Return random actions for some steps: (n,) int64, or lists of n texts."""
    rng = np.random.default_rng(0)
    space = envs.single_action_space
    if isinstance(space, Text):
        texts = np.array(workload.texts, object)
        shape = num_steps, envs.num_envs
        return [row.tolist() for row in texts[rng.integers(len(texts), size=shape)]]
    low, high = int(space.start), int(space.start + space.n)
    return list(rng.integers(low, high, (num_steps, envs.num_envs)))


def make_local(workload: Workload, num_envs: int) -> Any:
    """Return the local batch of a workload."""
    return roll_vec.make_vec(workload.id, num_envs, **workload.keywords)


def local_steps(workload: str, num_envs: int) -> Rate:
    """Step the local batch of a workload."""
    chosen = WORKLOADS[workload]
    envs = make_local(chosen, num_envs)
    actions = draw_actions(chosen, envs, 16)
    step = _stepping(envs, actions)

    def work() -> int:
        step()
        return len(actions) * num_envs

    return Rate(work, "steps/s", {"batch": num_envs})


@contextmanager
def _running(ray: Any) -> Iterator[None]:
    # As many actors as there are shards, whatever the machine has.
    ray.init(num_cpus=16, include_dashboard=False, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()


def ratio(workload: str, num_envs: int, num_shards: int) -> Figure:
    """Compare the steps of a batch in shards with those of a local batch."""
    # Without it the contender is skipped.
    import ray

    chosen = WORKLOADS[workload]

    def measure(seconds: float) -> float:
        if not seconds:
            return 0.0
        with _running(ray), ExitStack() as stack:
            local = stack.enter_context(closing(make_local(chosen, num_envs)))
            shards = make_shards(chosen.id, num_envs, num_shards, **chosen.keywords)
            actions = draw_actions(chosen, local, 16)
            works = [
                _stepping(envs, actions)
                for envs in (stack.enter_context(closing(shards)), local)
            ]
            theirs, ours = in_turns(works, seconds, chunk=0.3)
        return ours / theirs

    return Figure(measure, "×", {"batch": num_envs})


def _stepping(envs: Any, actions: Sequence[Any]) -> Callable[[], None]:
    """Return a function that takes some steps; the first ones are over."""

    def step() -> None:
        for row in actions:
            envs.step(row)

    envs.reset(seed=0)
    step()
    return step
