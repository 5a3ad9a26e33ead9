"""The table of a rollout."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roll_vec.errors import one_line
from roll_vec.recordings import Episodes, RolloutSummary
from roll_vec.vector.successes import UNKNOWN

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["fault_rows", "result_table"]

_NO_VALUE = "\N{EN DASH}"
_FAULTS = {
    "exception": "by exceptions",
    "timeout": "by timeouts",
    "worker_death": "by dead workers",
    "reset": "resets given up",
}


def fault_rows(env: Any, summary: RolloutSummary) -> list[tuple[str, str]]:
    """Return rows of the table about the faults of a pool, if there were any.

    Parameters
    ----------
    env : VectorEnv
        After the rollout, before it is closed.
    summary : RolloutSummary
    """
    faults = getattr(env.unwrapped, "faults", None) or {}
    counts = [
        f"{count:,} {_FAULTS.get(kind, kind)}"
        for kind, count in faults.items()
        if count
    ]
    if not counts:
        return []
    rows = [("faults", ", ".join(counts))]
    if summary.first_error is not None:
        rows.append(("first fault", one_line(summary.first_error)))
    return rows


def result_table(
    arguments: argparse.Namespace,
    summary: RolloutSummary,
    more: Sequence[tuple[str, str]] = (),
) -> Table:
    """Return the table of one rollout, with more rows at its end; needs rich."""
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=f"{arguments.id} \N{MULTIPLICATION SIGN} {arguments.num_envs:,}",
        show_header=False,
    )
    table.add_column(style="bold")
    table.add_column(justify="right")
    for name, value in (*_rows(arguments, summary), *more):
        # Text: brackets in an environment's messages must not be read as markup.
        table.add_row(name, Text(value))
    return table


def _rows(
    arguments: argparse.Namespace, summary: RolloutSummary
) -> list[tuple[str, str]]:
    episodes = summary.episodes
    rate = summary.steps_per_second
    return [
        ("environment steps", f"{summary.env_steps:,}"),
        ("steps/s", _NO_VALUE if rate is None else f"{rate:,.0f}"),
        ("episodes", f"{len(episodes):,}"),
        ("return", _spread(episodes.returns)),
        ("success rate", _success_rate(episodes)),
        ("length", _spread(episodes.lengths)),
        ("elapsed", f"{summary.timed_seconds:.2f} s"),
        ("first reset and step", f"{summary.startup_seconds:.2f} s"),
        ("seed", str(arguments.seed)),
        ("policy", arguments.policy),
        ("autoreset", arguments.autoreset.name.lower()),
    ]


def _spread(values: np.ndarray[Any, Any]) -> str:
    """Return mean, standard deviation and range of the ended episodes."""
    if not values.size:
        return _NO_VALUE
    return (
        f"{values.mean():.3f} ± {values.std():.3f} "
        f"({values.min():g} to {values.max():g})"
    )


def _success_rate(episodes: Episodes) -> str:
    success = episodes.success[episodes.success != UNKNOWN]
    return f"{success.mean():.2%}" if success.size else _NO_VALUE
