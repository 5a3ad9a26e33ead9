"""Shards as actors of Ray."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from roll_vec.distributed.batch_spec import BatchSpec
from roll_vec.distributed.messages import (
    INLINE_SIZE,
    INLINE_VARIABLE,
    CannotStartError,
    Message,
    Reply,
    ShardDiedError,
    pack,
    unpack,
)
from roll_vec.distributed.shard import Shard
from roll_vec.errors import InvalidOptionError, MissingExtraError

# Seconds for the shards to end by themselves, and for a cluster to answer.
_PATIENCE = 5.0


def import_ray() -> Any:
    """Return the module ``ray``.

    Raises
    ------
    MissingExtraError
    """
    # A worker must not send usage reports of a short local cluster.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise MissingExtraError("RayVectorEnv", extra="ray", package="ray") from None
    return ray


class RaySession:
    """The connection to a cluster, for as long as a batch needs it.

    A connection of the program's own is used and stays.  Otherwise this connects to
    ``address``, or starts a cluster on this machine, and ends it by `close`.

    Parameters
    ----------
    address : str or None
        As for `ray.init`: ``auto``, ``host:port`` or ``ray://host:port``.
    """

    # The number of users of a connection that a RaySession has made.
    _num_users = 0
    _is_own = False
    # Of that connection; None: a cluster of this machine.
    _address: str | None = None
    # The folder of a cluster of this machine: sockets, logs, objects that were spilled.
    _folder = ""

    def __init__(self, address: str | None) -> None:
        self.ray = ray = import_ray()
        if ray.is_initialized():
            own_address = RaySession._address if RaySession._is_own else None
            if address is not None and address != own_address:
                message = (
                    f"address: this program is connected to Ray already, got "
                    f"{address!r}; expected None, which takes that connection"
                )
                raise InvalidOptionError(message)
        else:
            if address is not None:
                _check_reachable(address)
            RaySession._is_own, RaySession._num_users = True, 0
            RaySession._address = address
            options: dict[str, Any] = {"address": address}
            if address is None:
                # Without "local" it would connect to a cluster of RAY_ADDRESS.
                options = {
                    "address": "local",
                    "include_dashboard": False,
                    **self._own_folder(),
                }
                # All processes of the cluster inherit it.
                os.environ.setdefault(INLINE_VARIABLE, str(INLINE_SIZE))
            try:
                ray.init(log_to_driver=False, logging_level="ERROR", **options)
            except BaseException as error:
                RaySession._is_own = False
                self._end()
                expected = (ConnectionError, RuntimeError, ValueError)
                if address is not None and isinstance(error, expected):
                    raise _unreachable(address, error) from error
                raise
        RaySession._num_users += 1
        self._is_open = True

    @property
    def is_local(self) -> bool:
        """Whether it is to a cluster that a RaySession has started on this machine."""
        return RaySession._is_own and RaySession._address is None

    def close(self) -> None:
        """End the connection, if this class has made it and nobody else uses it."""
        if not self._is_open:
            return
        self._is_open = False
        RaySession._num_users -= 1
        if RaySession._is_own and RaySession._num_users == 0:
            RaySession._is_own = False
            self._end()

    @classmethod
    def _own_folder(cls) -> dict[str, str]:
        """Return an option of `ray.init`: Ray deletes no folder of a session."""
        # Not TMPDIR: the path of a socket has at most 103 characters.
        parent = os.environ.get("RAY_TMPDIR", "/tmp")
        if not os.access(parent, os.W_OK):
            return {}
        cls._folder = tempfile.mkdtemp(prefix="roll_vec-ray-", dir=parent)
        atexit.register(cls._end)
        return {"_temp_dir": cls._folder}

    @classmethod
    def _end(cls) -> None:
        """End the connection; delete the folder after the last process has gone."""
        import_ray().shutdown()
        if cls._folder:
            shutil.rmtree(cls._folder, ignore_errors=True)
            cls._folder = ""
            atexit.unregister(cls._end)


def explain_death(error: Exception) -> ShardDiedError:
    """Return our exception, with one line, for that of Ray about an actor.

    If a node cannot make a shard, for instance without this package, Ray's text ends
    with the reason.
    """
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines() or [""]
    if "creation task" in lines[0]:
        message = f"the node cannot make a shard: {lines[-1]}"
        return CannotStartError(f"{type(error).__name__}: {message}")
    return ShardDiedError(f"{type(error).__name__}: {lines[0]}")


def _check_reachable(address: str) -> None:
    """Refuse an address that does not answer: Ray would try for minutes.

    Raises
    ------
    InvalidOptionError
    """
    match = re.fullmatch(r"(?:ray://)?\[?([^\[\]]+)\]?:(\d+)", address)
    if match is not None:
        try:
            place = match[1], int(match[2])
            socket.create_connection(place, timeout=_PATIENCE).close()
        except (OSError, OverflowError) as error:
            raise _unreachable(address, error) from error


def _unreachable(address: str | None, error: BaseException) -> InvalidOptionError:
    accepted = "the address of a cluster that can be reached, or None"
    return InvalidOptionError.expected("address", accepted, address, f"; {error}")


class NodeShard(Shard):
    """A shard in a process of its own.

    Parameters
    ----------
    batch_spec : bytes
        An `BatchSpec`, packed.
    *arguments
        See `Shard`.
    """

    def __init__(self, batch_spec: bytes, *arguments: Any) -> None:
        super().__init__(unpack(batch_spec), *arguments)


class RayActors:
    """One actor for each shard; see `roll_vec.distributed.shards.Actors`.

    Parameters
    ----------
    batch_spec : BatchSpec
    sizes : sequence of int
        Environments of each shard.
    address : str or None
    options : mapping
        Of the actors, as for `ray.remote`.
    compress : bool
        Of `Shard`.

    Raises
    ------
    MissingExtraError
    InvalidOptionError
        If the environments cannot be pickled, the cluster cannot be reached, or Ray
        refuses the options.
    """

    def __init__(
        self,
        batch_spec: BatchSpec,
        sizes: Sequence[int],
        address: str | None,
        options: Mapping[str, Any],
        compress: bool,
    ) -> None:
        # Before anything is started, which takes seconds.  A class of the program
        # itself travels, too.
        try:
            self._batch_spec = pack(batch_spec)
        except Exception as error:
            message = f"id: the environments cannot be sent to other processes: {error}"
            raise InvalidOptionError(message) from error
        actor_class = import_ray().remote(NodeShard)
        try:
            actor_class.options(**options)
        except (TypeError, ValueError) as error:
            message = f"actor_options: {error}"
            raise InvalidOptionError(message) from error
        self._session = RaySession(address)
        self._ray = self._session.ray
        # A call may have run although it failed, so Ray must neither repeat it nor
        # restart the actor: the head does both, from the last snapshot.
        fixed: dict[str, Any] = {"max_restarts": 0, "max_task_retries": 0}
        if self._session.is_local:
            # Nobody else uses it: a second batch must not wait for processors that
            # the first has reserved.
            fixed["num_cpus"] = 0
        self._class = actor_class.options(**{**options, **fixed})
        self._sizes, self._compress = list(sizes), compress
        self._num_cpus = {**options, **fixed}.get("num_cpus", 1)
        self._actors: dict[int, Any] = {}

    def start(self, shard: int) -> None:
        """Start an actor; it is placed while the program goes on."""
        first = sum(self._sizes[:shard])
        self._actors[shard] = self._class.remote(
            self._batch_spec, self._sizes[shard], first, self._compress
        )

    def submit(self, shard: int, message: Message) -> Any:
        """Send a message; return the reference of its reply."""
        return self._actors[shard].answer.remote(pack(message, compress=self._compress))

    def wait(self, tickets: Sequence[Any], timeout: float | None) -> list[Any]:
        """Wait at most so long for the first reply; return those that are ready."""
        ready, others = self._ray.wait(list(tickets), num_returns=1, timeout=timeout)
        if ready and others:
            more, _ = self._ray.wait(others, num_returns=len(others), timeout=0)
            ready += more
        return list(ready)

    def result(self, ticket: Any) -> Reply:
        """Return a reply.

        Raises
        ------
        ShardDiedError
        """
        errors = self._ray.exceptions
        try:
            reply: Reply = unpack(self._ray.get(ticket))
        except errors.RayTaskError:
            raise
        except errors.RayError as error:
            raise explain_death(error) from error
        return reply

    def explain_delay(self) -> str:
        """Return the processors that the shards ask for, and those of the cluster."""
        total = self._ray.cluster_resources().get("CPU", 0)
        free = self._ray.available_resources().get("CPU", 0)
        return (
            f"{len(self._sizes)} shards ask for num_cpus={self._num_cpus:g} each; the "
            f"cluster has {total:g}, of which {free:g} are free"
        )

    def kill(self, shard: int) -> None:
        """End an actor, if it lives: two of one shard must never answer."""
        with suppress(Exception):
            self._ray.kill(self._actors[shard], no_restart=True)

    def close(self) -> None:
        """End all actors, and the cluster that was started for them."""
        actors, self._actors = self._actors, {}
        if self._ray.is_initialized():
            # A process that ends by itself deletes the folders that it used last.
            with suppress(Exception):
                ends = [actor.__ray_terminate__.remote() for actor in actors.values()]
                self._ray.wait(ends, num_returns=len(ends), timeout=_PATIENCE)
            for actor in actors.values():
                with suppress(Exception):
                    self._ray.kill(actor, no_restart=True)
        self._session.close()
