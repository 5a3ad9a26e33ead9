"""Batches whose environments run in shards on Ray, for ``rollout --shards``."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gymnasium.vector import AutoresetMode, VectorEnv

from roll_vec.cli._environments import (
    find_spec,
    is_pooled,
    load_class,
    make_or_refuse,
)
from roll_vec.cli._errors import argument_error, one_line
from roll_vec.cli._imports import require
from roll_vec.options import keywords_of
from roll_vec.registration import ENVIRONMENTS

__all__ = [
    "check_recording",
    "describe_shards",
    "make_shards",
    "quiet_shards",
    "shard_rows",
    "without_shard_options",
]


def make_shards(
    env_id: str,
    num_envs: int,
    num_shards: int,
    *,
    address: str | None,
    options: Mapping[str, Any],
    autoreset: AutoresetMode,
    threads: int | None = None,
    render_mode: str | None = None,
) -> VectorEnv[Any, Any, Any]:
    """Return a batch over shards; see `roll_vec.distributed.RayVectorEnv`.

    Parameters
    ----------
    env_id : str
        A registered id.
    num_envs, num_shards : int
    address : str or None
        Of a cluster; None: one of this machine, which ends when the batch is closed.
    options : mapping
        Keywords of the environment.
    autoreset : AutoresetMode
    threads : int, optional
        Of each shard.
    render_mode : str, optional
        Left out if the environment does not declare it.

    Raises
    ------
    UsageError
        The environment refuses a keyword, or the id is unknown.
    MissingExtraError
        Without the extra ``ray``.
    """
    require("ray", "a rollout with --shards", extra="ray")
    from roll_vec.distributed import RayVectorEnv

    spec = find_spec(env_id)
    if num_shards > num_envs:
        text = f"expected at most {num_envs}, the number of environments"
        raise argument_error("--shards", f"{text}, got {num_shards}")
    keywords = {**options, "autoreset_mode": autoreset}
    if threads is not None:
        if spec.id not in ENVIRONMENTS or is_pooled(spec):
            text = f"{env_id} is a pool of objects in each shard: use -o workers=N"
            raise argument_error("--threads", text)
        keywords["num_threads"] = threads
    metadata = getattr(load_class(spec), "metadata", None) or {}
    if render_mode in metadata.get("render_modes", ()):
        keywords["render_mode"] = render_mode

    def make() -> VectorEnv[Any, Any, Any]:
        return RayVectorEnv(env_id, num_envs, num_shards, address=address, **keywords)

    return make_or_refuse(env_id, make)


def check_recording(env_id: str) -> None:
    """Refuse to record a run over shards that a local batch cannot repeat.

    Raises
    ------
    UsageError
    """
    if find_spec(env_id).id not in ENVIRONMENTS:
        text = (
            f"a run of {env_id} over shards cannot be replayed without them: leave out "
            "--shards, or register the class by roll_vec.register"
        )
        raise argument_error("--save", text)


def without_shard_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords that a local batch takes, too: shards change no result."""
    from roll_vec.distributed import RayOptions

    names = keywords_of(RayOptions)
    return {name: value for name, value in options.items() if name not in names}


@contextmanager
def quiet_shards() -> Iterator[None]:
    """Log nothing about shards that die: the progress bar and the report say it."""
    logger = logging.getLogger("roll_vec.distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def describe_shards(env: Any) -> str:
    """Return a text such as ``4 shards, 1 restart``; empty for a local batch."""
    batch = env.unwrapped
    num_shards = getattr(batch, "num_shards", None)
    if num_shards is None:
        return ""
    parts = [_count(num_shards, "shard")]
    restarts = sum(batch.restarts)
    if restarts:
        parts.append(_count(restarts, "restart"))
    if batch.lost_shards:
        parts.append(f"{len(batch.lost_shards):,} lost")
    return ", ".join(parts)


def shard_rows(env: Any) -> list[tuple[str, str]]:
    """Return the rows of the table about shards; none for a local batch."""
    text = describe_shards(env)
    if not text:
        return []
    rows = [("shards", text)]
    reasons = env.unwrapped.lost_shards
    if reasons:
        rows.append(("first lost shard", one_line(reasons[min(reasons)])))
    return rows


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
