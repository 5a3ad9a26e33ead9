"""Tasks of bands of difficulty: new levels, with and without a band."""

from __future__ import annotations

from typing import Any

import gymnasium

import roll_vec  # noqa: F401 - registers the ids
from benchmarks import batches
from benchmarks.tasks import Rate


def levels(id: str, num_envs: int = 64, **keywords: Any) -> Rate:
    """Begin the next episode in all environments of a batch, on one thread."""
    if id != "roll_vec/Countdown-v0":
        keywords["num_threads"] = 1
    envs = gymnasium.make_vec(id, num_envs=num_envs, **keywords)
    envs.reset(seed=0)

    def work() -> int:
        envs.reset()
        return num_envs

    names = sorted(keywords.keys() - {"num_threads"})
    described = ", ".join(f"{name}={keywords[name]}" for name in names) or "all"
    return Rate(work, "levels/s", batches.settings_of(envs, described))
