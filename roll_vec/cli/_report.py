"""What a rollout leaves behind: a table on the screen and a file of its episodes."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from roll_vec.cli._episodes import UNKNOWN, Episodes, Rollout
from roll_vec.cli._errors import one_line

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Facts", "fault_rows", "result_table", "save_episodes"]

NOT_KNOWN = "\N{EN DASH}"
_FAULTS = {
    "exception": "by exceptions",
    "timeout": "by timeouts",
    "worker_death": "by dead workers",
    "reset": "resets given up",
}


@dataclass(frozen=True)
class Facts:
    """What was asked for, so that a file or a table can be told from another."""

    id: str
    num_envs: int
    steps: int
    seed: int
    policy: str
    autoreset: AutoresetMode
    options: Mapping[str, Any]


def fault_rows(env: Any, rollout: Rollout) -> list[tuple[str, str]]:
    """Return rows of a table about the environments of a pool that failed, if any.

    Parameters
    ----------
    env : VectorEnv
        After the rollout, and not closed yet.
    rollout : Rollout
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
    if rollout.first_error is not None:
        rows.append(("first fault", one_line(rollout.first_error)))
    return rows


def result_table(
    facts: Facts, rollout: Rollout, more: Sequence[tuple[str, str]] = ()
) -> Table:
    """Return the table of one rollout, with more rows; rich must be installed."""
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=f"{facts.id} \N{MULTIPLICATION SIGN} {facts.num_envs:,}",
        show_header=False,
    )
    table.add_column(style="bold")
    table.add_column(justify="right")
    for name, value in (*_rows(facts, rollout), *more):
        # What an environment says is no markup.
        table.add_row(name, Text(value))
    return table


def _rows(facts: Facts, rollout: Rollout) -> list[tuple[str, str]]:
    episodes = rollout.episodes
    rate = rollout.steps_per_second
    return [
        ("environment steps", f"{rollout.env_steps:,}"),
        ("steps/s", NOT_KNOWN if rate is None else f"{rate:,.0f}"),
        ("episodes", f"{len(episodes):,}"),
        ("return", _spread(episodes.returns)),
        ("success rate", _success_rate(episodes)),
        ("length", _spread(episodes.lengths)),
        ("elapsed", f"{rollout.timed_seconds:.2f} s"),
        ("first reset and step", f"{rollout.startup_seconds:.2f} s"),
        ("seed", str(facts.seed)),
        ("policy", facts.policy),
        ("autoreset", facts.autoreset.name.lower()),
    ]


def _spread(values: np.ndarray[Any, Any]) -> str:
    """Return mean, standard deviation and range of the ended episodes."""
    if not values.size:
        return NOT_KNOWN
    return (
        f"{values.mean():.3f} ± {values.std():.3f} "
        f"({values.min():g} to {values.max():g})"
    )


def _success_rate(episodes: Episodes) -> str:
    known = episodes.success[episodes.success != UNKNOWN]
    return f"{known.mean():.2%}" if known.size else NOT_KNOWN


def save_episodes(path: Path, facts: Facts, episodes: Episodes) -> None:
    """Write the episodes as an .npz file, replacing what is there.

    Arrays, one entry an ended episode, in the order of their ends: ``env_index``
    int64, ``returns`` float64, ``lengths`` int64, ``success`` int8 (1, 0, or -1 where
    the environment does not say), ``terminated`` bool, ``truncated`` bool. Strings:
    ``id``, ``seed``, ``config`` and ``versions``; the last two are JSON. Nothing in
    it needs ``allow_pickle``.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    config = asdict(facts)
    del config["id"], config["seed"]
    config["autoreset"] = facts.autoreset.value
    # A seed may be larger than any numpy integer, so it is text.
    strings = {
        "id": facts.id,
        "seed": str(facts.seed),
        "config": json.dumps(config, default=repr),
        "versions": json.dumps(_versions()),
    }
    columns: dict[str, Any] = asdict(episodes)
    columns.update({name: np.array(text) for name, text in strings.items()})
    # Through a handle: numpy would otherwise add an ending to the name.
    with path.open("wb") as file:
        np.savez(file, **columns)


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in ("roll-vec", "gymnasium", "numpy", "numba"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions
