"""Ours beside theirs, in turns, in one run: ``python -m benchmarks.ratios``.

Each round measures every contender once, one after the other, so that what else the
machine does falls on all of them.  A ratio is taken within a round; the table has the
median of the rounds, and the least and the greatest.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import gym_sokoban, machine
from benchmarks.workloads import (
    FROZEN_LAKE,
    OURS,
    SOKOBAN_CACHED,
    SYNC_FROZEN_LAKE,
    RoomConfig,
    StepLoop,
    Workload,
    seconds,
)

# The least that is aimed at.
TARGETS = {
    (FROZEN_LAKE.title, 4096): 150.0,
    (SOKOBAN_CACHED.title, 4096): 150.0,
    RoomConfig(6, 3): 500.0,
}
# Environments: steps of ours and of theirs in one round.
STEPS = {1: (4000, 2000), 64: (2000, 100), 4096: (400, 20)}
QUICK_STEPS = {4096: (100, 4)}
# Boxes in a 6x6 room: seeds of one round, the same for both.
SEEDS = {1: 200, 2: 100, 3: 100}
QUICK_SEEDS = {3: 20}
# Our generator draws the same rooms so many times a round: it would be too quick.
REPEATS = 10


@dataclass
class Contender:
    """Something that does ``units`` of work a call, and how long its calls took."""

    title: str
    units: float
    call: Callable[[], Any]
    rates: list[float]

    def measure(self) -> None:
        """Call once and note the rate."""
        self.rates.append(self.units / seconds(self.call))


def short(rate: float) -> str:
    """Return a rate to three digits: 12.3, 1.23k, 12.3M."""
    for divisor, suffix in ((1e6, "M"), (1e3, "k"), (1, "")):
        if rate >= divisor:
            return f"{rate / divisor:#.3g}".rstrip(".") + suffix
    return f"{rate:.3g}"


@dataclass
class Row:
    """A line of the table: rates of ours and of theirs, round by round."""

    task: str
    unit: str
    baseline: str
    target: float | None
    ours: list[float]
    theirs: list[float]

    @property
    def ratios(self) -> list[float]:
        """Ours over theirs, in each round."""
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]

    def cells(self) -> list[str]:
        """Return the line as text."""
        ratios = self.ratios
        target = "" if self.target is None else f">= {self.target:g}x"
        return [
            self.task,
            short(statistics.median(self.ours)),
            short(statistics.median(self.theirs)),
            self.unit,
            f"{statistics.median(ratios):,.1f}x",
            f"{min(ratios):,.1f} - {max(ratios):,.1f}",
            target,
        ]

    def record(self) -> dict[str, Any]:
        """Return the line for JSON."""
        return {
            **self.__dict__,
            "ratios": self.ratios,
            "median_ratio": statistics.median(self.ratios),
        }


def in_turns(
    baseline: Contender, ours: Sequence[Contender], rounds: int, tell: Callable[[], Any]
) -> None:
    """Measure all contenders once a round."""
    for _ in range(rounds):
        for contender in (baseline, *ours):
            contender.measure()
        tell()


def compare_steps(
    num_envs: int, steps: tuple[int, int], rounds: int, tell: Callable[[], Any]
) -> list[Row]:
    """Compare env-steps/s with Gymnasium's SyncVectorEnv on FrozenLake-v1."""
    with ExitStack() as stack:

        def contender(workload: Workload, num_steps: int) -> Contender:
            loop = stack.enter_context(closing(StepLoop(workload, num_envs, num_steps)))
            return Contender(workload.title, loop.env_steps, loop.run, [])

        baseline = contender(SYNC_FROZEN_LAKE, steps[1])
        ours = [contender(workload, steps[0]) for workload in OURS]
        in_turns(baseline, ours, rounds, tell)
    return [
        Row(
            f"{entry.title}, n={num_envs}",
            "steps/s",
            baseline.title,
            TARGETS.get((entry.title, num_envs)),
            entry.rates,
            baseline.rates,
        )
        for entry in ours
    ]


def compare_rooms(
    generator: Any,
    config: RoomConfig,
    count: int,
    rounds: int,
    tell: Callable[[], Any],
) -> Row:
    """Compare rooms/s on one thread with gym-sokoban's generator, same seeds.

    Ours draws again where an attempt fails, so that every seed gives a room; theirs
    does not, and its failures give none.
    """
    seeds = np.arange(count, dtype=np.uint64)
    repeated = np.tile(seeds, REPEATS)
    rooms = gym_sokoban.draw(generator, config, seeds)
    ours = Contender("", config.draw(repeated), lambda: config.draw(repeated), [])
    theirs = Contender(
        "", rooms, lambda: gym_sokoban.draw(generator, config, seeds), []
    )
    in_turns(theirs, [ours], rounds, tell)
    return Row(
        f"rooms, {config.title}, 1 thread",
        "rooms/s",
        f"gym-sokoban {gym_sokoban.version()}",
        TARGETS.get(config),
        ours.rates,
        theirs.rates,
    )


def compare_all(rounds: int, *, quick: bool) -> list[Row]:
    """Return every row; progress goes to stderr."""

    def tell() -> None:
        sys.stderr.write(".")
        sys.stderr.flush()

    rows = []
    for num_envs, steps in (QUICK_STEPS if quick else STEPS).items():
        rows += compare_steps(num_envs, steps, rounds, tell)
    if gym_sokoban.version() is None:
        sys.stderr.write(f"\nno rooms: {gym_sokoban.HOW_TO_INSTALL}")
    else:
        generator = gym_sokoban.load_generator()
        for boxes, count in (QUICK_SEEDS if quick else SEEDS).items():
            config = RoomConfig(6, boxes)
            rows.append(compare_rooms(generator, config, count, rounds, tell))
    sys.stderr.write("\n")
    return rows


HEADER = ("task", "ours", "theirs", "unit", "ratio", "min - max", "target")


def print_table(lines: Iterable[Sequence[str]]) -> None:
    """Print the table, with rich where it is installed."""
    lines = list(lines)
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(map(len, column)) for column in zip(HEADER, *lines, strict=True)]
        for line in (HEADER, *lines):
            cells = zip(line, widths, strict=True)
            print("  ".join(cell.ljust(width) for cell, width in cells).rstrip())
        return
    table = Table()
    for number, title in enumerate(HEADER):
        justify = "left" if number == 0 else "right"
        table.add_column(title, justify=justify, no_wrap=True)
    for line in lines:
        table.add_row(*line)
    # A file has no width: whole lines, then.
    Console(width=None if sys.stdout.isatty() else 100).print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the table and what it was taken with, write the JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ratios",
        description=(
            "Measure roll_vec beside Gymnasium's SyncVectorEnv and gym-sokoban's room "
            "generator, in turns, and print the ratios."
        ),
        epilog="Takes some two minutes, with --quick a quarter of one.",
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer tasks, shorter rounds"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds (default %(default)s)"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write every figure to FILE"
    )
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds: expected at least 1")

    before = machine.load()
    rows = compare_all(options.rounds, quick=options.quick)
    description = {
        **machine.describe(),
        "load_before": before,
        "load_after": machine.load(),
        "rounds": options.rounds,
    }
    print_table(row.cells() for row in rows)
    for unit, baseline in dict.fromkeys((row.unit, row.baseline) for row in rows):
        print(f"theirs, {unit}: {baseline}")
    for key, value in description.items():
        print(f"{key}: {value}")
    if options.json:
        result = {**description, "rows": [row.record() for row in rows]}
        options.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
