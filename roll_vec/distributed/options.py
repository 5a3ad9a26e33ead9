"""The keywords of `RayVectorEnv`, and the sizes of shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roll_vec.errors import InvalidOptionError
from roll_vec.options import (
    check_bool,
    check_choice,
    check_int,
    check_number,
    check_seconds,
)

RENDER_ON = ("head", "shard")

# Options of `ray.remote` that are keywords of their own; and those that cannot be used:
# the head repeats calls itself, and names of shards have to differ.
_OWN_KEYWORDS = ("max_restarts", "num_cpus", "scheduling_strategy")
_UNUSABLE = ("max_task_retries", "name", "get_if_exists")


@dataclass(frozen=True, kw_only=True)
class RayOptions:
    """The keywords of `RayVectorEnv` beside those of the environments.

    Parameters
    ----------
    snapshot_interval : int
        Steps between two snapshots of a shard, which the head keeps.  A new shard
        repeats the steps since the last one.
    max_restarts : int
        Times that a shard is restarted before its environments are given up; -1: no
        limit.
    render_on : ``head`` or ``shard``
        Where observations and frames are made from the cells of stacked environments.
        ``head``: only cell codes travel.  ``shard``: the observations do, which takes
        work from the head and costs up to 768 times as many bytes.
    num_cpus : float
        Processors that Ray reserves for each shard on a cluster, and threads of a
        shard.  The local Ray that `RayVectorEnv` starts reserves none.
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
    compress : bool
        Whether shards compress replies of 64 KiB and more, such as those with long
        texts.  That pays on connections of less than a gigabit per second; see
        `roll_vec.distributed.wire`.

    Raises
    ------
    InvalidOptionError
    """

    snapshot_interval: int = 100
    max_restarts: int = 10
    render_on: str = "head"
    num_cpus: float = 1
    scheduling_strategy: Any = "SPREAD"
    actor_options: Mapping[str, Any] | None = None
    address: str | None = None
    shard_timeout: float | None = None
    start_timeout: float | None = 300.0
    compress: bool = False

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "snapshot_interval": check_int(
                "snapshot_interval", self.snapshot_interval, 1
            ),
            "max_restarts": check_int("max_restarts", self.max_restarts, -1),
            "num_cpus": check_number("num_cpus", self.num_cpus, 0.0, 1e6),
            "compress": check_bool("compress", self.compress),
        }
        actor_options: Any = self.actor_options
        if not (actor_options is None or isinstance(actor_options, Mapping)):
            accepted = "None or a dict of options of ray.remote"
            raise InvalidOptionError.expected("actor_options", accepted, actor_options)
        checked["actor_options"] = dict(actor_options or {})
        if isinstance(self.scheduling_strategy, str):
            choices = ("SPREAD", "DEFAULT")
            check_choice("scheduling_strategy", self.scheduling_strategy, choices)
        address: Any = self.address
        if not (address is None or isinstance(address, str)):
            accepted = "None, 'auto' or 'host:port'"
            raise InvalidOptionError.expected("address", accepted, address)
        check_choice("render_on", self.render_on, RENDER_ON)
        for name in ("shard_timeout", "start_timeout"):
            value = getattr(self, name)
            checked[name] = check_seconds(name, value, allows_zero=False)
        for name in (*_OWN_KEYWORDS, *_UNUSABLE):
            if name in checked["actor_options"]:
                accepted = f"options of ray.remote other than {name}"
                hint = f"; {name} is a keyword of its own" * (name in _OWN_KEYWORDS)
                raise InvalidOptionError.expected(
                    "actor_options", accepted, checked["actor_options"], hint
                )
        if self.num_cpus == int(self.num_cpus):
            checked["num_cpus"] = int(self.num_cpus)
        self.__dict__.update(checked)


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
