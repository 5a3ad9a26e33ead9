"""A simulation of steps on many cores; writes docs/threads.json, .md and .png.

``python -m benchmarks.thread_simulation`` measures this machine for half a minute and
simulates others; with ``--page-only`` it measures nothing.

The model: a step is work of the calling thread alone, and kernels.  A kernel is cut
into chunks as by `roll_vec.stacked.kernel_threads`; threads take them in turn, each
from its arrival on.  A thread is slowed down where all together ask for more bytes a
second than the memory gives.
"""

from __future__ import annotations

import argparse
import heapq
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.processes import ROOT
from roll_vec.factories import make_vec
from roll_vec.kernels.grids import copy_grids
from roll_vec.stacked import kernel_threads
from roll_vec.stacked.kernel_threads import KernelThreads
from roll_vec.stacked.thread_team import process_team

__all__ = ["Machine", "kernel_seconds", "render"]

PAGE = ROOT / "docs" / "threads.md"
# Name, id, keywords, bytes that the kernels of a step read and write for a row: the
# state, the draws, the results and the observation.
WORKLOADS: dict[str, tuple[str, dict[str, Any], int]] = {
    "FrozenLake": ("roll_vec/FrozenLake-v1", {}, 200),
    "RandomFrozenLake": ("roll_vec/RandomFrozenLake-v0", {"num_levels": 4096}, 240),
    "Sokoban": ("roll_vec/Sokoban-v0", {"num_levels": 4096}, 200),
}
SIZES = (1024, 4096, 16384, 65536, 262144)
LARGEST = 1 << 20
_COPY_BYTES = (1 << 20, 1 << 22, 1 << 24, 1 << 26)
# Of one chunk: its call, and the compare-and-swap that threads do one after the other.
_CHUNK_SECONDS, _CLAIM_SECONDS = 0.3e-6, 0.05e-6


@dataclass(frozen=True)
class Machine:
    """The parameters of a machine."""

    cores: int
    hand_over: float  # seconds until a waiting thread has a job
    memory_cores: float  # copies of so many cores take all the memory's bandwidth


def kernel_seconds(
    machine: Machine, alone: float, bandwidth: float, num_bytes: float
) -> float:
    """Return the time of a kernel.

    Parameters
    ----------
    machine : Machine
    alone : float
        Seconds on one thread.
    bandwidth : float
        Bytes a second that one core copies.
    num_bytes : float
        Read and written by the kernel.
    """
    threads = min(machine.cores, int(alone / kernel_threads.PART_SECONDS))
    if threads < 2 or alone < kernel_threads.HAND_OVERS * machine.hand_over:
        return alone
    demand = threads * num_bytes / alone
    slowdown = max(1.0, demand / (bandwidth * min(machine.memory_cores, threads)))
    num_chunks = threads * kernel_threads.chunks_per_thread(alone, threads)
    chunk = alone * slowdown / num_chunks + _CHUNK_SECONDS
    # The caller is there at once.
    arrivals = [0.0] + [machine.hand_over] * (threads - 1)
    heapq.heapify(arrivals)
    last_claim, end = 0.0, 0.0
    for _ in range(num_chunks):
        last_claim = max(heapq.heappop(arrivals), last_claim + _CLAIM_SECONDS)
        end = max(end, last_claim + chunk)
        heapq.heappush(arrivals, last_claim + chunk)
    return end


# ------------------------------------------------------------------- measurement


class _Watch(KernelThreads):
    """Kernels, and the times of those that have rows enough to be split."""

    seconds: dict[str, float]

    def run(self, kernel: Any, num_rows: int, *arguments: Any) -> None:
        begin = perf_counter()
        super().run(kernel, num_rows, *arguments)
        name = kernel.__name__
        self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - begin


def _measure_size(name: str, size: int) -> dict[str, Any]:
    """Return the seconds of a step on one and two threads, and of its kernels alone."""
    id, keywords, _ = WORKLOADS[name]
    if name != "FrozenLake":
        keywords = {**keywords, "prefetch": False}
    envs = [make_vec(id, size, num_threads=threads, **keywords) for threads in (1, 2)]
    watch = _Watch(1)
    for env in envs:
        env.reset(seed=0)
        env.action_space.seed(0)
    actions = [envs[0].action_space.sample() for _ in range(16)]
    block = max(1, min(100, 400_000 // size))
    steps: list[list[float]] = [[], []]
    kernels: list[dict[str, float]] = []
    for number in range(14):
        for env, times in zip(envs, steps, strict=True):
            begin = perf_counter()
            for i in range(block):
                env.step(actions[(number + i) % 16])
            times.append((perf_counter() - begin) / block)
    engine: Any = envs[0].unwrapped.engine  # type: ignore[attr-defined]
    engine.kernel_threads = watch
    for number in range(8):
        watch.seconds = {}
        for i in range(block):
            envs[0].step(actions[(number + i) % 16])
        kernels.append({key: s / block for key, s in watch.seconds.items()})
    names = {key for one in kernels for key in one}
    return {
        "size": size,
        "one": median(steps[0][4:]),
        "two": median(steps[1][4:]),
        "kernels": {k: median(one.get(k, 0.0) for one in kernels) for k in names},
    }


def _measure_copies(num_bytes: int) -> dict[str, float]:
    """Return the bytes a second that one and two threads read and write."""
    source = np.zeros((num_bytes // 64, 8, 8), np.uint8)
    target = np.zeros_like(source)
    threads, times = [KernelThreads(1), KernelThreads(2)], ([], [])  # type: ignore[var-annotated]
    for _ in range(30):
        for one, seconds in zip(threads, times, strict=True):
            begin = perf_counter()
            one.run(copy_grids, len(source), source, target)
            seconds.append(perf_counter() - begin)
    one, two = (2 * num_bytes / median(seconds[10:]) for seconds in times)
    return {"bytes": num_bytes, "one": one, "two": two}


def measure() -> dict[str, Any]:
    """Return the figures of this machine."""
    awake, asleep = process_team().seconds()
    return {
        "machine": machine.describe("python -m benchmarks.thread_simulation"),
        "hand_over": {"awake": awake, "asleep": asleep},
        "copies": [_measure_copies(num_bytes) for num_bytes in _COPY_BYTES],
        "steps": {
            name: [_measure_size(name, size) for size in SIZES] for name in WORKLOADS
        },
    }


# ---------------------------------------------------------------------- the page


def step_seconds(
    content: Mapping[str, Any], machine: Machine, name: str, size: int
) -> tuple[float, float]:
    """Return the seconds of a step on one core and on a machine, simulated."""
    rows = {row["size"]: row for row in content["steps"][name]}
    row = rows[min(size, SIZES[-1])]
    factor = size / row["size"]
    total = sum(row["kernels"].values())
    one = serial = (row["one"] - total) * factor
    step_bytes = WORKLOADS[name][2] * size
    copies = min(content["copies"], key=lambda copy: abs(copy["bytes"] - step_bytes))
    many = serial
    for seconds in row["kernels"].values():
        alone = seconds * factor
        one += alone
        num_bytes = step_bytes * seconds / total
        many += kernel_seconds(machine, alone, copies["one"], num_bytes)
    return one, many


def machines(content: Mapping[str, Any]) -> list[Machine]:
    """Return this machine with two cores, and three others."""
    here = content["hand_over"]["awake"]
    shares = [copy["two"] / copy["one"] for copy in content["copies"]]
    return [
        Machine(2, here, median(shares)),
        Machine(8, here, 4.0),
        Machine(32, 2 * here, 10.0),
        Machine(128, 4 * here, 24.0),
    ]


def render(content: Mapping[str, Any]) -> list[str]:
    """Return the lines of the page that have figures."""
    here, *others = machines(content)
    awake, asleep = (1e6 * content["hand_over"][key] for key in ("awake", "asleep"))
    lines = [
        f"Measured on {content['machine']['cpu']} with {content['machine']['cores']} "
        f"cores: {awake:.1f} µs until a waiting thread has done an empty job, "
        f"{asleep:.1f} µs for a sleeping one. Times a step of one thread is as long:",
        "",
        "| environments | batch | 2 threads, measured | 2 threads, simulated | "
        + " | ".join(f"{one.cores} cores, simulated" for one in others)
        + " |",
        "|---|---|---|---|" + "---|" * len(others),
    ]
    for name in WORKLOADS:
        measured = {row["size"]: row for row in content["steps"][name]}
        for size in (*SIZES, LARGEST):
            cells = [name, f"{size:,}", "—"]
            if size in measured:
                cells[2] = f"{measured[size]['one'] / measured[size]['two']:.2f}"
            for each in (here, *others):
                one, many = step_seconds(content, each, name, size)
                cells.append(f"{one / many:.2f}")
            lines.append(f"| {' | '.join(cells)} |")
    lines += ["", _deviation(content, here)]
    lines += [
        "",
        "| machine | time of a hand-over | cores whose copies fill the memory |",
        "|---|---|---|",
    ]
    for one in (here, *others):
        cells = [f"{one.cores} cores", f"{1e6 * one.hand_over:.1f} µs"]
        lines.append(f"| {' | '.join(cells)} | {one.memory_cores:.1f} |")
    lines += ["", "Bytes that a plain copy reads and writes in a second:", ""]
    lines += ["| array | one thread | two threads |", "|---|---|---|"]
    for copy in content["copies"]:
        rates = [f"{copy[key] / 1e9:.0f} GB/s" for key in ("one", "two")]
        lines.append(f"| {copy['bytes'] >> 20} MB | {rates[0]} | {rates[1]} |")
    return lines


def _deviation(content: Mapping[str, Any], machine: Machine) -> str:
    """Return how far the simulation of this machine is from its measurements."""
    ratios = []
    for name, rows in content["steps"].items():
        for row in rows:
            one, many = step_seconds(content, machine, name, row["size"])
            ratios.append(one / many * row["two"] / row["one"])
    return (
        f"Two threads, simulated over measured: {min(ratios):.2f} to {max(ratios):.2f} "
        f"times, in the median {median(ratios):.2f}. Above 1 the simulation promises "
        "too much."
    )


def draw(content: Mapping[str, Any], path: Path) -> None:
    """Draw what each machine gains, by the size of the batch."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=(7.6, 2.9), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    plots = figure.subplots(1, len(WORKLOADS), sharey=True)
    sizes = (*SIZES, LARGEST)
    colors = ("#999999", "#E69F00", "#0072B2", "#D55E00")
    for axes, name in zip(plots, WORKLOADS, strict=True):
        for each, color in zip(machines(content), colors, strict=True):
            pairs = [step_seconds(content, each, name, size) for size in sizes]
            gains = [one / many for one, many in pairs]
            label = f"{each.cores} cores, simulated"
            axes.plot(sizes, gains, color=color, label=label)
        rows = content["steps"][name]
        gains = [row["one"] / row["two"] for row in rows]
        axes.plot(SIZES, gains, "k.", label="2 threads, measured")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(sizes[::3])
        axes.set_yticks((1, 2, 4))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_title(name, fontsize="medium")
        axes.set_xlabel("environments")
        axes.grid(alpha=0.3)
    plots[0].set_ylabel("times one thread")
    plots[0].legend(fontsize="x-small")
    figure.set_dpi(90)
    canvas.print_png(path, metadata={"Software": None})


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.thread_simulation", description=__doc__
    )
    parser.add_argument("--page-only", action="store_true", help="measure nothing")
    path = PAGE.with_suffix(".json")
    if not parser.parse_args().page_only:
        path.write_text(json.dumps(measure(), indent=1) + "\n")
    content = json.loads(path.read_text())
    block = "\n" + "\n".join(render(content)) + "\n\n"
    text = re.sub(
        r"(<!-- simulated -->\n).*?(<!-- end -->)",
        lambda match: match[1] + block + match[2],
        PAGE.read_text("utf-8"),
        flags=re.DOTALL,
    )
    PAGE.write_text(text, "utf-8")
    draw(content, PAGE.with_suffix(".png"))
    print(block)


if __name__ == "__main__":
    main()
