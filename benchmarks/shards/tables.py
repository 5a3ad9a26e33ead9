"""The figures of docs/cluster.md, from the file of results alone."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from benchmarks.examples import import_example
from benchmarks.result import RESULTS as FOLDER

SHARDS = (1, 2, 4)
RESULTS = FOLDER / "cluster.json"
# Of which the page has a table of the simulation.
SHOWN = ("Sokoban, grids", "WebShop")


@functools.cache
def content() -> dict[str, Any]:
    """Return the file of results."""
    parsed: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    return parsed


def show_table(words: str) -> str:
    """Return the figures ``measured`` or ``simulated``."""
    show = {"measured": measured, "simulated": simulated}[words]
    return "\n".join(show(content()))


def measured(content: Mapping[str, Any]) -> list[str]:
    """Return the lines with costs and rates."""
    machine, message = content["machine"], content["message"]
    lines = [
        "| an environment's | level | local step | shard's step | head's part "
        "| bytes, there and back | snapshot |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in content["workloads"].items():
        times = [_us(one[key]) for key in ("level", "step", "shard_step", "head_step")]
        data = f"{one['request_bytes']:.0f} + {one['reply_bytes']:.0f}"
        snapshot = f"{_us(one['snapshot'])}, {one['snapshot_bytes']:.0f} bytes"
        lines.append(f"| {' | '.join([name, *times, data, snapshot])} |")
    costs = [*content["workloads"].values()]
    own = [one["head_message"] for one in costs]
    fixed = [one["head_fixed"] for one in costs]
    lines += [
        "",
        f"An empty call of a Ray actor takes {_us(message['round_trip'])} there and "
        f"back, and {_us(message['head'])} of the caller's processor time when many "
        f"are under way. Each message to a shard takes {_us(min(own))} to "
        f"{_us(max(own))} more of the head's, and a step of any size "
        f"{_us(min(fixed))} to {_us(max(fixed))}.",
        "",
    ]
    if "rates" in content:
        lines += [
            f"| environments | batch | local, steps/s | {_shards()} |",
            "|---|---|---|" + "---|" * len(SHARDS),
        ]
        for row in content["rates"]:
            ratios = " | ".join(
                f"× {row['shards'][str(count)]:.2g}" for count in SHARDS
            )
            size = f"{row['workload']} | {row['num_envs']:,} | {row['local']:,.0f}"
            lines.append(f"| {size} | {ratios} |")
        lines.append("")
    versions = ", ".join(f"{n} {v}" for n, v in machine["versions"].items())
    lines.append(
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, "
        f"{versions}; revision {machine['revision']}. Command: `{machine['command']}`."
    )
    return lines


def simulated(content: Mapping[str, Any]) -> list[str]:
    """Return the lines of the simulation."""
    simulation = import_example("cluster_simulation")
    options = simulation.make_parser([]).parse_args([])
    lines: list[str] = []
    for name in (*SHOWN, simulation.SLOW):
        costs = simulation.costs_of(content, name, options)
        lines += [f"{name[0].upper()}{name[1:]}:", ""]
        lines += [*simulation.table(costs, options.num_envs, options.cores), ""]
    return lines[:-1]


def _us(seconds: float) -> str:
    """Return a time in microseconds, with two digits."""
    value = seconds * 1e6
    return f"{value:.2g} µs" if value < 10 else f"{value:.0f} µs"


def _shards() -> str:
    return " | ".join(f"{n} shard{'s' * (n > 1)}" for n in SHARDS)
