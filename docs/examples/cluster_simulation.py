"""Simulate a `RayVectorEnv` on many machines, to see when shards pay.

This is a simulation: nothing runs on a cluster.  It works out the time of a step of the
whole batch from the costs of its parts, which were measured on one machine
(benchmarks/results/cluster.json), and from a network that you describe.

    python docs/examples/cluster_simulation.py
    python docs/examples/cluster_simulation.py --environment WebShop --gigabits 25
    python docs/examples/cluster_simulation.py --step-us 1000

A step: the head sends a message to every shard, one after the other.  A shard steps its
environments and begins the episodes of those that ended.  The replies come in through
the head's network card, one after the other.  The head joins each as it comes.  The
step ends with the last one, so that the slowest shard decides.  The head's own time for
an environment is a ceiling that no number of machines can lift.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FIGURES = Path(__file__).resolve().parents[2] / "benchmarks/results/cluster.json"
NODES = (1, 10, 100, 1000)
SLOW = "one of your own, 1 ms a step"
CALL = "a call of Ray"


@dataclass(frozen=True)
class Costs:
    """Costs in seconds and bytes; those of a step are of one environment.

    Parameters
    ----------
    local_step : float
        Of a local batch on one core, with the levels of episodes that end.
    step : float
        Of a shard, with its part of the messages and without levels.
    level : float
        To begin an episode.
    ends : float
        Episodes that end in a step.
    snapshot : float
        A shard's share of a snapshot, spread over the steps between two.
    head_step : float
        Of the head: to join results and to make observations.
    send, receive : float
        Of the head, for a message and for its reply.
    delay : float
        From the head to a shard and back, and of the head for a step of any size.
    request_bytes, reply_bytes, message_bytes : float
        The last are of a message and its reply, whatever the number of environments.
    bytes_per_second : float
        Of the head's network card, each way.
    """

    local_step: float
    step: float
    level: float
    ends: float
    snapshot: float
    head_step: float
    send: float
    receive: float
    delay: float
    request_bytes: float
    reply_bytes: float
    message_bytes: float
    bytes_per_second: float


@functools.cache
def step_time(
    costs: Costs, num_envs: int, num_shards: int, num_steps: int = 20, seed: int = 0
) -> float:
    """Return the mean seconds of a step of all environments; a shard has one core.

    The number of episodes that end in a shard is drawn for each step.
    """
    rng = np.random.default_rng(seed)
    sizes = np.full(num_shards, num_envs // num_shards)
    sizes[: num_envs % num_shards] += 1
    ends = rng.binomial(sizes, costs.ends, size=(num_steps, num_shards))
    work = sizes * (costs.step + costs.snapshot) + ends * costs.level

    # The message of shard k leaves after those before it.
    requests = costs.message_bytes / 2 + sizes * costs.request_bytes
    sent = np.cumsum(np.maximum(costs.send, requests / costs.bytes_per_second))
    done = np.sort(sent + work + costs.delay, axis=1)
    # The network card and the head take one reply after the other.
    replies = costs.message_bytes / 2 + sizes.mean() * costs.reply_bytes
    received = queue(done, replies / costs.bytes_per_second)
    joined = queue(received, costs.receive + sizes.mean() * costs.head_step)
    return float(joined[:, -1].mean())


def queue(arrivals: np.ndarray, duration: float) -> np.ndarray:
    """Return when each of sorted arrivals (steps, shards) leaves a queue of one server.

    Each leaves ``duration`` after its arrival, or after the one before it has left.
    """
    number = np.arange(arrivals.shape[1])
    starts = np.maximum.accumulate(arrivals - number * duration, axis=1)
    return starts + (number + 1) * duration


def local_time(costs: Costs, num_envs: int, cores: int) -> float:
    """Return the seconds of a step of a local batch that uses all cores perfectly."""
    return num_envs * costs.local_step / cores


def best_time(costs: Costs, num_envs: int, num_cores: int) -> tuple[float, int]:
    """Return the least time of a step and the number of shards, at most all cores."""
    counts = {round(2 ** (k / 4)) for k in range(4 * num_cores.bit_length())}
    # Those of fewer machines, so that more machines are never slower.
    counts |= {num_cores // 10**k for k in range(len(str(num_cores)))}
    return min(
        (step_time(costs, num_envs, count), count)
        for count in sorted(counts)
        if count <= min(num_envs, num_cores)
    )


def first_batch_that_pays(costs: Costs, nodes: int, cores: int) -> int | None:
    """Return the fewest environments, a power of 2, with which shards are faster."""
    for exponent in range(4, 23):
        num_envs = 2**exponent
        shards, _ = best_time(costs, num_envs, nodes * cores)
        if shards < local_time(costs, num_envs, cores):
            return num_envs
    return None


def bottleneck(costs: Costs, num_envs: int, num_shards: int) -> str:
    """Return what takes the largest part of a step."""
    data = num_envs * costs.reply_bytes + num_shards * costs.message_bytes / 2
    work = costs.step + costs.snapshot + costs.ends * costs.level
    parts = {
        "the head, environments": num_envs * costs.head_step,
        "the head, messages": num_shards * (costs.send + costs.receive),
        "the network card": data / costs.bytes_per_second,
        "the shards": -(-num_envs // num_shards) * work,
        "the way there and back": costs.delay,
    }
    return max(parts, key=parts.__getitem__)


def read_costs() -> dict[str, dict[str, float]]:
    """Return the measured costs of each batch and of a call of Ray, in µs and bytes."""
    rows = json.loads(FIGURES.read_text("utf-8"))["rows"]
    costs = {
        row["title"]: row["ours"]["facts"]
        for row in rows
        if row["case"] == "shard_costs"
    }
    calls = [row["values"] for row in rows if row["title"].startswith("a call of")]
    way, head = (float(np.median(values)) for values in calls)
    return {**costs, CALL: {"way": way, "head": head}}


def costs_of(
    measured: dict[str, dict[str, float]], name: str, options: argparse.Namespace
) -> Costs:
    """Return the measured costs of an environment, changed by the options."""
    figures, call = measured["Countdown" if name == SLOW else name], measured[CALL]
    micro = 1e-6
    level, local_step = micro * figures["level"], micro * figures["local step"]
    levels = level * figures["ends"]
    shard_step = micro * figures["shard's step"]
    message = micro * (figures["a message"] + call["head"])
    delay = micro * (figures["any step"] + call["way"])
    costs = Costs(
        local_step=local_step,
        step=max(shard_step - levels, local_step - levels, 0.0),
        level=level,
        ends=figures["ends"],
        snapshot=micro * figures["snapshot"] / options.snapshot_interval,
        head_step=micro * figures["head's part"],
        send=message / 2,
        receive=message / 2,
        delay=delay + micro * options.network_us,
        request_bytes=figures["bytes there"],
        reply_bytes=figures["bytes back"],
        message_bytes=figures["bytes of a message"],
        bytes_per_second=options.gigabits * 1e9 / 8,
    )
    step = 1e-3 if name == SLOW else None
    if options.step_us is not None:
        step = micro * options.step_us
    if step is not None:
        extra = step - costs.local_step
        costs = dataclasses.replace(
            costs, local_step=step, step=max(costs.step + extra, 0.0)
        )
    return costs


def table(costs: Costs, num_envs: int, cores: int) -> list[str]:
    """Return the lines of a table in Markdown, for 1 to 1000 nodes."""
    here = local_time(costs, num_envs, cores)
    lines = [
        "| nodes | shards | steps/s | beside one machine | pays from "
        "a batch of | limit |",
        "|---|---|---|---|---|---|",
    ]
    for nodes in NODES:
        seconds, shards = best_time(costs, num_envs, nodes * cores)
        first = first_batch_that_pays(costs, nodes, cores)
        pays = "never" if first is None else f"{first:,}"
        limit = bottleneck(costs, num_envs, shards)
        rate = float(f"{num_envs / seconds:.2g}")
        cells = f"{rate:,.0f} | × {here / seconds:.2g} | {pays} | {limit}"
        lines.append(f"| {nodes} | {shards} | {cells} |")
    return lines


def number_from(lowest: float, kind: type = float) -> Callable[[str], float]:
    """Return a parser of finite numbers from ``lowest`` on."""

    def number(text: str) -> float:
        if not lowest <= (value := kind(text)) < np.inf:
            message = f"expected a finite number from {lowest:g} on: {text}"
            raise argparse.ArgumentTypeError(message)
        return value

    return number


def make_parser(names: list[str]) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n\n    ")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    text = "only this one: " + "; ".join(names)
    add("--environment", choices=names, metavar="NAME", help=text)
    count, time = number_from(1, int), number_from(0.0)
    add("--num-envs", type=count, default=16384, help="of the tables (default: 16384)")
    add("--cores", type=count, default=16, help="of a node (default: 16)")
    text = "head's network card (default: 10)"
    add("--gigabits", type=number_from(0.001), default=10.0, help=text)
    add("--network-us", type=time, default=100.0, help="round trip (default: 100)")
    add("--snapshot-interval", type=count, default=100, help="steps (default: 100)")
    text = "a step of one environment; without --environment, of one of your own alone"
    add("--step-us", type=number_from(0.001), help=text)
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Print a table for each environment."""
    measured = read_costs()
    names = [name for name in measured if name != CALL] + [SLOW]
    options = make_parser(names).parse_args(arguments)
    if options.step_us is not None and options.environment is None:
        options.environment = SLOW
    for name in names if options.environment is None else [options.environment]:
        costs = costs_of(measured, name, options)
        title = name
        if options.step_us is not None:
            title = f"{name.partition(', 1 ms')[0]}, {options.step_us:g} µs a step"
        print(f"\n{title}, a batch of {options.num_envs:,} (simulated)\n")
        print("\n".join(table(costs, options.num_envs, options.cores)))


if __name__ == "__main__":
    main()
