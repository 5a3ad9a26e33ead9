"""The keywords of `make_shards`, and the sizes of shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roll_vec.errors import InvalidOptionError
from roll_vec.options import (
    check_choice,
    check_fields,
    check_int,
    check_number,
    check_seconds,
    option,
)

# Options of `ray.remote` that are keywords of their own; and those that cannot be used:
# the head repeats calls itself, and names of shards have to differ.
_OWN_KEYWORDS = ("max_restarts", "num_cpus", "scheduling_strategy")
_UNUSABLE = ("max_task_retries", "name", "get_if_exists")


def check_strategy(name: str, value: Any) -> Any:
    """Return a name of a strategy, or an object of Ray's."""
    if isinstance(value, str):
        check_choice(name, value, ("SPREAD", "DEFAULT"))
    return value


def check_actor_options(name: str, value: Any) -> dict[str, Any]:
    """Return options of `ray.remote` that are no keywords of their own."""
    if not (value is None or isinstance(value, Mapping)):
        accepted = "None or a dict of options of ray.remote"
        raise InvalidOptionError.expected(name, accepted, value)
    options = dict(value or {})
    for key in (*_OWN_KEYWORDS, *_UNUSABLE):
        if key in options:
            accepted = f"options of ray.remote other than {key}"
            hint = f"; {key} is a keyword of its own" * (key in _OWN_KEYWORDS)
            raise InvalidOptionError.expected(name, accepted, options, hint)
    return options


def check_address(name: str, value: Any) -> str | None:
    """Return the address of a cluster, or None."""
    if value is None or isinstance(value, str):
        return value
    raise InvalidOptionError.expected(name, "None, 'auto' or 'host:port'", value)


def check_positive_seconds(name: str, value: Any) -> float | None:
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
    scheduling_strategy : str or object
        As for `ray.remote`.  ``SPREAD`` spreads the shards over the nodes.
    actor_options : mapping or None
        More options of `ray.remote` for actors, such as ``resources``, ``memory``,
        ``runtime_env``.
    address : str or None
        As for `ray.init`.  None: the connection that the program has, or a cluster of
        this machine that ends with `close`.
    shard_timeout : float or None
        Seconds that a message may take before its shard is ended and restarted; None:
        no limit.
    start_timeout : float or None
        The same for the first message of a new shard, which Ray has to place, and which
        makes or restores its environments.

    Raises
    ------
    InvalidOptionError
    """

    snapshot_interval: int = option(100, check_int, 1)
    max_restarts: int = option(10, check_int, -1)
    num_cpus: float = option(1, check_number, 0.0, 1e6)
    scheduling_strategy: Any = option("SPREAD", check_strategy)
    actor_options: Mapping[str, Any] | None = option(None, check_actor_options)
    address: str | None = option(None, check_address)
    shard_timeout: float | None = option(None, check_positive_seconds)
    start_timeout: float | None = option(300.0, check_positive_seconds)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.num_cpus == int(self.num_cpus):
            object.__setattr__(self, "num_cpus", int(self.num_cpus))


def split_sizes(num_envs: int, num_shards: Any, group_size: int) -> list[int]:
    """Return the numbers of environments of shards, which differ by at most one group.

    Parameters
    ----------
    num_envs, num_shards, group_size : int

    Raises
    ------
    InvalidOptionError
        If the groups are not complete, or there are fewer groups than shards.
    """
    num_groups, remainder = divmod(num_envs, group_size)
    if remainder:
        divisor = f"a divisor of num_envs={num_envs}"
        raise InvalidOptionError.expected("group_size", divisor, group_size)
    count = check_int("num_shards", num_shards, 1)
    if count > num_groups:
        what = "environments" if group_size == 1 else f"groups of {group_size}"
        accepted = f"at most {num_groups}, the number of {what}"
        raise InvalidOptionError.expected("num_shards", accepted, count)
    fewest, more = divmod(num_groups, count)
    return [group_size * (fewest + (k < more)) for k in range(count)]
