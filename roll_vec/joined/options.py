"""The keywords of `make_shards`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roll_vec.errors import InvalidOptionError
from roll_vec.options import (
    check_fields,
    check_int,
    check_number,
    check_seconds,
    option,
)

# Options of `ray.remote` that cannot be used: the head repeats calls itself, and names
# of shards have to differ.
_UNUSABLE = ("max_restarts", "max_task_retries", "name", "get_if_exists", "num_cpus")


def check_actor_options(name: str, value: Any) -> Mapping[str, Any]:
    """Return options of `ray.remote` that shards can have."""
    options = {} if value is None else value
    if not isinstance(options, Mapping) or options.keys() & set(_UNUSABLE):
        accepted = f"None or a dict of options of ray.remote but {', '.join(_UNUSABLE)}"
        raise InvalidOptionError.expected(name, accepted, value)
    return options


def check_address(name: str, value: Any) -> str | None:
    """Return the address of a cluster, or None."""
    if value is None or isinstance(value, str):
        return value
    raise InvalidOptionError.expected(name, "None, 'auto' or 'host:port'", value)


def check_limit(name: str, value: Any) -> float | None:
    """Return a number of seconds above 0; None: no limit."""
    return check_seconds(name, value, allows_zero=False)


@dataclass(frozen=True, kw_only=True)
class RayOptions:
    """The keywords of `make_shards` beside those of the environments.

    Parameters
    ----------
    snapshot_interval : int
        Steps between two snapshots of a shard, which the head keeps.  A new actor
        repeats the steps since the last one.
    max_restarts : int
        Actors of a shard that may die one after the other in one call, before its
        episodes are lost; -1: no limit.
    num_cpus : float
        Processors that Ray reserves for each shard on a cluster, and threads of a
        shard.  The local Ray that `make_shards` starts reserves none.
    actor_options : mapping or None
        More options of `ray.remote` for actors, such as ``resources``, ``memory``,
        ``runtime_env``; ``scheduling_strategy`` is ``SPREAD`` by default.
    address : str or None
        As for `ray.init`.  None: the connection that the program has, or a cluster of
        this machine that ends with `close`.
    shard_timeout : float or None
        Seconds that a call may take before its shard is ended and restarted; None: no
        limit.
    start_timeout : float or None
        The same for the first call of a new shard, which Ray has to place, and which
        makes or restores its environments.

    Raises
    ------
    InvalidOptionError
    """

    snapshot_interval: int = option(100, check_int, 1)
    max_restarts: int = option(10, check_int, -1)
    num_cpus: float = option(1, check_number, 0.0, 1e6)
    actor_options: Mapping[str, Any] | None = option(None, check_actor_options)
    address: str | None = option(None, check_address)
    shard_timeout: float | None = option(None, check_limit)
    start_timeout: float | None = option(300.0, check_limit)

    def __post_init__(self) -> None:
        check_fields(self)
