"""Speeds, from benchmarks/results/speeds.json and minigrid.json."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks import tables


def ratio(words: str) -> str:
    """Return how many times as fast roll_vec is, from ``GROUP / SIDE``."""
    group, side = _side(words)
    return two_digits(statistics.median(tables.ratios(group, side)))


def rate(words: str) -> str:
    """Return the rate of ``GROUP / SIDE``."""
    group, side = _side(words)
    return tables.rate_of(group[side])


def _side(words: str) -> tuple[dict[str, Any], str]:
    name, _, side = words.partition(" / ")
    return tables.published_groups()[name], side


def ratios(pattern: str) -> str:
    """Return a table of groups: our rate, and the ratios beside the other sides."""
    return tables.pivot(pattern, tables.show_ratio)


def times(pattern: str) -> str:
    """Return a table of the times of a call, by group and side."""
    return tables.pivot(pattern, lambda group, side: tables.time_of(group[side]))


def facts(words: str) -> str:
    """Return a table of a fact of ``extra_info``: ``NAME PATTERN``."""
    name, _, pattern = words.partition(" ")

    def show(group: dict[str, Any], side: str) -> str:
        return f"{group[side]['extra_info'][name]:,.10g}"

    return tables.pivot(pattern, show)


def spread(pattern: str) -> str:
    """Return the least, the median and the greatest ratio of groups, by side."""
    return tables.spread(pattern, tables.published_groups())


def machine(name: str) -> str:
    """Return the machine, versions, date and revision of ``speeds`` or ``minigrid``."""
    content, _ = tables.read(
        tables.MINIGRID if name == "minigrid" else tables.PUBLISHED
    )
    info, commit = content["machine_info"], content["commit_info"]
    packages = ", ".join(f"{name} {x}" for name, x in info["packages"].items())
    revision = f"{(commit['id'] or 'unknown')[:8]}{'+' * bool(commit['dirty'])}"
    return (
        f"{info['cpu']['brand_raw']}, {info['cores']} cores, {info['system']} "
        f"{info['release']}, Python {info['python_version']}  \n{packages}  \n"
        f"{content['datetime'][:10]}, revision {revision}"
    )


def two_digits(value: float) -> str:
    """Return a number with two digits, because another run has others behind them."""
    return f"{float(f'{value:.2g}'):,.10g}"
