"""The figures of docs/cluster.md, from docs/cluster.json alone."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.shards.rates import SHARDS

__all__ = ["render", "write"]

ROOT = Path(__file__).resolve().parents[2]
MEASURED = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)
SIMULATED = re.compile(r"(<!-- simulated -->\n).*?(<!-- end -->)", re.DOTALL)
# Of which the page has a table of the simulation.
SHOWN = ("Sokoban, grids", "Countdown", "WebShop")


def load_simulation() -> ModuleType:
    """Return the program docs/examples/cluster_simulation.py as a module."""
    path = ROOT / "docs" / "examples" / "cluster_simulation.py"
    spec = importlib.util.spec_from_file_location("cluster_simulation", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks for its module by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def render(text: str, content: Mapping[str, Any]) -> str:
    """Return the page with the figures of a file's content."""
    for pattern, lines in (
        (MEASURED, measured(content)),
        (SIMULATED, simulated(content)),
    ):
        block = "\n" + "\n".join(lines) + "\n\n"
        text, count = pattern.subn(lambda m, b=block: m[1] + b + m[2], text)
        assert count == 1, pattern.pattern
    return text


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write figures into the page, and draw its picture."""
    path.write_text(render(path.read_text("utf-8"), content), "utf-8")
    simulation = load_simulation()
    options = simulation.make_parser([]).parse_args([])
    costs = simulation.costs_of(content, simulation.SLOW, options)
    title = simulation.SLOW
    simulation.draw(path.with_suffix(".png"), costs, title, options.cores)


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
        f"{versions}; revision {machine['revision']}. Command: `{machine['command']}`; "
        "every figure: [cluster.json](cluster.json)."
    )
    return lines


def simulated(content: Mapping[str, Any]) -> list[str]:
    """Return the lines of the simulation."""
    simulation = load_simulation()
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
