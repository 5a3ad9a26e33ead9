"""Tasks of shards on Ray beside one local batch.

`costs` counts processor time, which other load on the machine hardly changes.  The
shards run in its process, in the place of Ray's actors, so that the head's part and the
shard's part are told apart.  Both pickle their messages, as Ray does.  The other tasks
need Ray, which they start for each measurement.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Text

import roll_vec
from benchmarks.tasks import Figure, Rate, in_turns
from roll_vec.distributed import RayVectorEnv
from roll_vec.distributed.messages import pack, unpack
from roll_vec.distributed.shard import Shard


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
    "Sokoban, planes made by the head": Workload(
        "roll_vec/Sokoban-v0", _PLANES, (16384,)
    ),
    "Sokoban, planes made by the shards": Workload(
        "roll_vec/Sokoban-v0", {**_PLANES, "render_on": "shard"}, (16384,)
    ),
    "RandomFrozenLake": Workload("roll_vec/RandomFrozenLake-v0", _GRIDS, (256, 16384)),
    "Countdown": Workload(
        "roll_vec/Countdown-v0", {}, (64, 512), ("1 + 1", "3 * 4 - 2")
    ),
    "WebShop": Workload("roll_vec/WebShop-v0", {}, (128,), _PAGES),
}
# Steps: those after a reset, in which the ends of episodes come apart, and the others.
_FIRST_STEPS, _STEPS = 100, 300
# Environments of the batches that are measured, and shards of the few.
_FEW, _MANY = 4, 512


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


def make_local(workload: Workload, num_envs: int, **more: Any) -> Any:
    """Return the local batch of a workload."""
    keywords = {**workload.keywords, **more}
    keywords.pop("render_on", None)
    return roll_vec.make_vec(workload.id, num_envs, **keywords)


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


# ------------------------------------------------------------------------ with Ray


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
            shards = RayVectorEnv(
                chosen.id, num_envs, num_shards, num_cpus=0, **chosen.keywords
            )
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


def message(is_head: bool, count: int = 300) -> Figure:
    """Time an empty call of a Ray actor: on the clock, of one call at a time.

    ``is_head``: the processor time of a call in the calling process, when many are
    under way.
    """
    import ray

    class Echo:
        def handle(self, message: Any) -> Any:
            return message

    def measure(seconds: float) -> float:
        if not seconds:
            return 0.0
        with _running(ray):
            actor = ray.remote(Echo).options(num_cpus=0).remote()
            ray.get(actor.handle.remote(None))
            if is_head:
                return (
                    1e6
                    / count
                    * processor_time(
                        lambda: ray.get(
                            [actor.handle.remote(None) for _ in range(count)]
                        )
                    )
                )
            times = []
            for _ in range(count):
                start = time.perf_counter()
                ray.get(actor.handle.remote(None))
                times.append(time.perf_counter() - start)
            return 1e6 * statistics.median(times)

    return Figure(measure, "µs")


# ---------------------------------------------------------------- processor time


def processor_time(work: Callable[[], Any], seconds: float = 0.3) -> float:
    """Return the processor seconds of a call, of all threads; the least of five."""
    best, begin = float("inf"), time.process_time()
    repeats = 0
    while repeats < 5 or time.process_time() - begin < seconds:
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
        repeats += 1
    return best


class CountingActors:
    """Shards in this process; see `roll_vec.distributed.messages.Actors`.

    Attributes
    ----------
    seconds : float
        Processor time in the shards.
    request_bytes, reply_bytes : int
    """

    def __init__(self, batch_spec: Any, sizes: Sequence[int]) -> None:
        self.batch_spec, self.sizes = batch_spec, sizes
        self._shards: dict[int, Shard] = {}
        self.clear()

    def clear(self) -> None:
        """Count from 0."""
        self.seconds, self.request_bytes, self.reply_bytes = 0.0, 0, 0

    def start(self, shard: int) -> None:
        """Make a shard."""
        first = sum(self.sizes[:shard])
        self._shards[shard] = Shard(self.batch_spec, self.sizes[shard], first)

    def submit(self, shard: int, message: Any) -> bytes:
        """Execute a message; return the reply's bytes."""
        request = pack(message)
        start = time.process_time()
        reply = pack(self._shards[shard].handle(unpack(request)))
        self.seconds += time.process_time() - start
        self.request_bytes += len(request)
        self.reply_bytes += len(reply)
        return reply

    def wait(self, tickets: Sequence[bytes], timeout: float | None) -> list[bytes]:
        """Return the first reply."""
        return list(tickets)[:1]

    def result(self, ticket: bytes) -> Any:
        """Return a reply."""
        return unpack(ticket)

    def explain_delay(self) -> str:
        """Return nothing: a shard starts at once."""
        return ""

    def kill(self, shard: int) -> None:
        """Close a shard."""
        self._shards[shard].close()

    def close(self) -> None:
        """Close all shards."""
        for shard in self._shards.values():
            shard.close()


class CountedVectorEnv(RayVectorEnv):
    """A `RayVectorEnv` over `CountingActors`."""

    @staticmethod
    def _make_actors(batch_spec: Any, sizes: Any, options: Any) -> Any:
        return CountingActors(batch_spec, sizes)


def _least_costs(*arguments: Any, **options: Any) -> tuple[dict[str, float], float]:
    """Return the least of three of each cost of `_steps_of`, and ended episodes."""
    runs = [_steps_of(*arguments, **options) for _ in range(3)]
    costs = [costs for costs, _ in runs]
    return {name: min(each[name] for each in costs) for name in costs[0]}, runs[0][1]


def _steps_of(
    workload: Workload, num_envs: int, num_shards: int = 1, interval: int = 10**6
) -> tuple[dict[str, float], float]:
    """Return mean costs of a step of a batch, and ended episodes of it."""
    keywords = {"snapshot_interval": interval, **workload.keywords}
    with closing(
        CountedVectorEnv(workload.id, num_envs, num_shards, **keywords)
    ) as envs:
        actions = draw_actions(workload, envs, _STEPS)
        envs.reset(seed=0)
        for row in actions[:_FIRST_STEPS]:
            envs.step(row)
        actors, ends = envs.engine.shards.actors, 0
        actors.clear()
        start = time.process_time()
        for row in actions:
            _, _, terminations, truncations, _ = envs.step(row)
            ends += int((terminations | truncations).sum())
        total = time.process_time() - start
        costs = {
            "head": total - actors.seconds,
            "shard": actors.seconds,
            "request_bytes": actors.request_bytes,
            "reply_bytes": actors.reply_bytes,
        }
    return {name: cost / _STEPS for name, cost in costs.items()}, ends / _STEPS


def costs(workload: str) -> Figure:
    """Return the costs of an environment and step, in processor µs and bytes.

    ``step``, of a local batch, and ``shard's step`` contain the levels of the episodes
    that end: ``level`` each, ``ends`` an environment and step.  ``a message`` is the
    head's part of a message to one more shard, without Ray's; ``any step`` that of a
    step with one message.
    """
    chosen = WORKLOADS[workload]
    more = {} if chosen.texts else {"num_threads": 1}
    with closing(make_local(chosen, _MANY, **more)) as local:
        actions = draw_actions(chosen, local, _STEPS)
        level = processor_time(lambda: local.reset(seed=0)) / _MANY
        step = processor_time(_stepping(local, actions)) / (_STEPS * _MANY)
        snapshot = processor_time(local.get_state) / _MANY
    few, _ = _least_costs(chosen, _FEW)
    split, _ = _least_costs(chosen, _FEW, _FEW)
    many, ends = _least_costs(chosen, _MANY)
    every, _ = _least_costs(chosen, _MANY, interval=1)

    def rise(name: str) -> float:
        return max((many[name] - few[name]) / (_MANY - _FEW), 0.0)

    times = {
        "level": level,
        "local step": step,
        "shard's step": rise("shard"),
        "head's part": rise("head"),
        "snapshot": snapshot,
        "a message": max((split["head"] - few["head"]) / (_FEW - 1), 0.0),
        "any step": few["head"],
    }
    sizes = {
        "bytes there": rise("request_bytes"),
        "bytes back": rise("reply_bytes"),
        "bytes of a message": few["request_bytes"] + few["reply_bytes"],
        "bytes of a snapshot": (every["reply_bytes"] - many["reply_bytes"]) / _MANY,
    }
    settings = {name: 1e6 * seconds for name, seconds in times.items()}
    settings |= sizes | {"ends": ends / _MANY}
    return Figure(lambda _: settings["head's part"], "µs", settings)
