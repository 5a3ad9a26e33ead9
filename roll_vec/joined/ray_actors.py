"""Parts as actors of Ray."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from roll_vec.envs.webshop.storage import share_catalogues
from roll_vec.errors import InvalidOptionError, MissingExtraError
from roll_vec.joined.batch_spec import BatchSpec
from roll_vec.joined.host import Host
from roll_vec.joined.messages import (
    INLINE_SIZE,
    INLINE_VARIABLE,
    ActorDiedError,
    CannotStartError,
    pack,
    unpack,
)
from roll_vec.joined.options import RayOptions

# Seconds for the actors to end by themselves, and for a cluster to answer.
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
        raise MissingExtraError("make_shards", extra="ray", package="ray") from None
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


def explain_death(error: Exception) -> ActorDiedError:
    """Return our exception, with one line, for that of Ray about an actor.

    If a node cannot make a part, for instance without this package, Ray's text ends
    with the reason.
    """
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines() or [""]
    if "creation task" in lines[0]:
        message = f"the node cannot make a part: {lines[-1]}"
        return CannotStartError(f"{type(error).__name__}: {message}")
    return ActorDiedError(f"{type(error).__name__}: {lines[0]}")


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


class NodeHost(Host):
    """A host in a process of its own, which shares data with others on its node.

    Parameters
    ----------
    batch_spec : bytes
        A `BatchSpec`, packed.
    *arguments
        See `Host`.
    """

    def __init__(self, batch_spec: bytes, *arguments: int) -> None:
        share_catalogues()
        super().__init__(unpack(batch_spec), *arguments)


class RayActors:
    """One actor for each part; see `roll_vec.joined.messages.Actors`.

    Parameters
    ----------
    batch_spec : BatchSpec
    sizes : sequence of int
        Environments of each part.
    options : RayOptions

    Raises
    ------
    MissingExtraError
    InvalidOptionError
        If the environments cannot be pickled, the cluster cannot be reached, or Ray
        refuses the options.
    """

    def __init__(
        self, batch_spec: BatchSpec, sizes: Sequence[int], options: RayOptions
    ) -> None:
        # Before anything is started, which takes seconds.  A class of the program
        # itself travels, too.
        try:
            self._batch_spec = pack(batch_spec)
        except Exception as error:
            message = f"id: the environments cannot be sent to other processes: {error}"
            raise InvalidOptionError(message) from error
        actor_options = {
            "num_cpus": options.num_cpus,
            "scheduling_strategy": options.scheduling_strategy,
            **(options.actor_options or {}),
        }
        actor_class = import_ray().remote(NodeHost)
        try:
            actor_class.options(**actor_options)
        except (TypeError, ValueError) as error:
            message = f"actor_options: {error}"
            raise InvalidOptionError(message) from error
        self._session = RaySession(options.address)
        self._ray = self._session.ray
        # A call may have run although it failed, so Ray must neither repeat it nor
        # restart the actor: the head does both, from the last snapshot.
        actor_options |= {"max_restarts": 0, "max_task_retries": 0}
        if self._session.is_local:
            # Nobody else uses it: a second batch must not wait for processors that
            # the first has reserved.
            actor_options["num_cpus"] = 0
        self._class = actor_class.options(**actor_options)
        self._sizes, self._num_cpus = list(sizes), actor_options["num_cpus"]
        self._actors: dict[int, Any] = {}

    def start(self, part: int) -> None:
        """Start an actor; it is placed while the program goes on."""
        first = sum(self._sizes[:part])
        arguments = self._batch_spec, self._sizes[part], first
        self._actors[part] = self._class.remote(*arguments)

    def submit(self, part: int, message: bytes) -> Any:
        """Send a message; return the reference of its reply."""
        return self._actors[part].answer.remote(message)

    def result(self, ticket: Any, timeout: float | None) -> bytes | None:
        """Return a packed reply; None if it is not there in time.

        Raises
        ------
        ActorDiedError
        """
        errors = self._ray.exceptions
        try:
            data: bytes = self._ray.get(ticket, timeout=timeout)
        except errors.GetTimeoutError:
            return None
        except errors.RayTaskError:
            raise
        except errors.RayError as error:
            raise explain_death(error) from error
        return data

    def explain_delay(self) -> str:
        """Return the processors that the parts ask for, and those of the cluster."""
        total = self._ray.cluster_resources().get("CPU", 0)
        free = self._ray.available_resources().get("CPU", 0)
        return (
            f"{len(self._sizes)} shards ask for num_cpus={self._num_cpus:g} each; the "
            f"cluster has {total:g}, of which {free:g} are free"
        )

    def kill(self, part: int) -> None:
        """End an actor, if it lives: two of one part must never answer."""
        with suppress(Exception):
            self._ray.kill(self._actors[part], no_restart=True)

    def close(self) -> None:
        """End all actors, and the cluster that was started for them."""
        actors, self._actors = self._actors, {}
        if actors and self._ray.is_initialized():
            # A process that ends by itself deletes the folders that it used last.
            with suppress(Exception):
                ends = [actor.__ray_terminate__.remote() for actor in actors.values()]
                self._ray.wait(ends, num_returns=len(ends), timeout=_PATIENCE)
            for actor in actors.values():
                with suppress(Exception):
                    self._ray.kill(actor, no_restart=True)
        self._session.close()
