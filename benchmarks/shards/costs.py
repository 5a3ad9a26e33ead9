"""Processor time of the parts of a step over shards, and the bytes that travel.

The shards run in this process, in the place of Ray's actors, so that the head's part
and the shard's part are told apart.  Both pickle their messages, as Ray does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import roll_vec
from benchmarks.shards.workloads import Workload, draw_actions
from roll_vec.distributed import RayVectorEnv
from roll_vec.distributed.messages import pack, unpack
from roll_vec.distributed.shard import Shard

__all__ = ["message_costs", "workload_costs"]

# Steps: those after a reset, in which the ends of episodes come apart, and the others.
_FIRST_STEPS, _STEPS = 100, 300
# Environments of the batches that are measured, and shards of the few.
_FEW, _MANY = 4, 512


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


def workload_costs(workload: Workload) -> dict[str, Any]:
    """Return the costs of an environment, in processor seconds and bytes.

    ``step``, of a local batch, and ``shard_step``, of a shard, contain the levels of
    the episodes that end: ``level`` each, ``ends`` an environment and step.
    ``head_message`` is the head's part of a message to one more shard, without Ray's;
    ``head_fixed`` that of a step with one message.
    """
    keywords = {**workload.keywords}
    keywords.pop("render_on", None)
    more = {} if workload.texts else {"num_threads": 1}
    with closing(roll_vec.make_vec(workload.id, _MANY, **keywords, **more)) as local:
        actions = draw_actions(workload, local, _STEPS)
        level = processor_time(lambda: local.reset(seed=0)) / _MANY
        for row in actions[:_FIRST_STEPS]:
            local.step(row)
        start = time.process_time()
        for row in actions:
            local.step(row)
        step = (time.process_time() - start) / (_STEPS * _MANY)
        snapshot = processor_time(local.get_state) / _MANY
    few, _ = _steps_of(workload, _FEW)
    split, _ = _steps_of(workload, _FEW, _FEW)
    many, ends = _steps_of(workload, _MANY)
    every, _ = _steps_of(workload, _MANY, interval=1)

    def rise(name: str) -> float:
        return max((many[name] - few[name]) / (_MANY - _FEW), 0.0)

    return {
        "id": workload.id,
        "level": level,
        "ends": ends / _MANY,
        "step": step,
        "shard_step": rise("shard"),
        "head_step": rise("head"),
        "head_message": max((split["head"] - few["head"]) / (_FEW - 1), 0.0),
        "head_fixed": few["head"],
        "request_bytes": rise("request_bytes"),
        "reply_bytes": rise("reply_bytes"),
        "message_bytes": few["request_bytes"] + few["reply_bytes"],
        "snapshot": snapshot,
        "snapshot_bytes": (every["reply_bytes"] - many["reply_bytes"]) / _MANY,
    }


def message_costs(ray: Any, count: int = 300) -> dict[str, float]:
    """Return the seconds of an empty call of a Ray actor.

    ``round_trip`` is the median on the clock, of one call at a time; ``head`` the
    processor time of a call in the calling process, when many are under way.
    """

    class Echo:
        def handle(self, message: Any) -> Any:
            return message

    actor = ray.remote(Echo).options(num_cpus=0).remote()
    ray.get(actor.handle.remote(None))
    times = []
    for _ in range(count):
        start = time.perf_counter()
        ray.get(actor.handle.remote(None))
        times.append(time.perf_counter() - start)
    head = processor_time(
        lambda: ray.get([actor.handle.remote(None) for _ in range(count)])
    )
    ray.kill(actor)
    return {"round_trip": sorted(times)[count // 2], "head": head / count}
