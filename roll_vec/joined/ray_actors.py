"""Parts as actors of Ray."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from roll_vec.errors import InvalidOptionError, MissingExtraError
from roll_vec.joined.host import Host
from roll_vec.joined.messages import ActorDiedError, pack, unpack
from roll_vec.joined.options import RayOptions

INLINE_VARIABLE = "RAY_max_direct_call_object_size"
"""The environment variable of a cluster's nodes by which Ray sends replies of up to so
many bytes at once.  Larger ones take a detour over the object store: by default those
from 100 KiB on, which costs about a millisecond.
"""
INLINE_SIZE = 1 << 20
"""A value for it, in bytes.  From 4 MB on the object store is as fast."""

# Seconds for the actors to end by themselves.
_PATIENCE = 5.0


def import_ray() -> Any:
    """Return the module ``ray``.

    Raises
    ------
    MissingExtraError
    """
    # A worker must not send usage reports of a short local cluster.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    return MissingExtraError.import_module("ray", "make_shards", extra="ray")


class RaySession:
    """The connection to a cluster, for as long as a batch needs it.

    A connection of the program's own is used and stays.  Otherwise this connects to
    ``address``, or starts a cluster on this machine, and ends it by `close`.

    Parameters
    ----------
    address : str or None
        As for `ray.init`: ``auto``, ``host:port`` or ``ray://host:port``.
    """

    # The number of batches that use a connection that a RaySession has made.
    num_users = 0
    # Of that connection; None: a cluster of this machine.
    address: str | None = None
    # The folder of a cluster of this machine: sockets, logs, objects that were spilled.
    folder = ""

    def __init__(self, address: str | None) -> None:
        self.ray, shared = import_ray(), RaySession
        if not self.ray.is_initialized():
            shared.num_users, shared.address = 0, address
            self._connect(address)
        elif not shared.num_users and address is None:
            self.is_local = self._is_user = False
            return
        elif not shared.num_users or address not in (None, shared.address):
            message = (
                f"address: this program is connected to Ray already, got {address!r}; "
                "expected None, which takes that connection"
            )
            raise InvalidOptionError(message)
        shared.num_users += 1
        self.is_local, self._is_user = shared.address is None, True

    def _connect(self, address: str | None) -> None:
        options: dict[str, Any] = {"address": address}
        if address is None:
            # Not TMPDIR: the path of a socket has at most 103 characters.
            parent = os.environ.get("RAY_TMPDIR", "/tmp")
            folder = tempfile.mkdtemp(prefix="roll_vec-ray-", dir=parent)
            atexit.register(self._end)
            RaySession.folder = folder
            # Without "local" it would connect to a cluster of RAY_ADDRESS.
            options = {"address": "local", "include_dashboard": False}
            options["_temp_dir"] = folder
            # All processes of the cluster inherit it.
            os.environ.setdefault(INLINE_VARIABLE, str(INLINE_SIZE))
        try:
            self.ray.init(log_to_driver=False, logging_level="ERROR", **options)
        except BaseException:
            self._end()
            raise

    def close(self) -> None:
        """End the connection, if this class has made it and nobody else uses it."""
        if self._is_user:
            self._is_user = False
            RaySession.num_users -= 1
            if not RaySession.num_users:
                self._end()

    @staticmethod
    def _end() -> None:
        """End the connection; delete the folder after the last process has gone."""
        import_ray().shutdown()
        if RaySession.folder:
            # Ray itself deletes no folder of a session.
            shutil.rmtree(RaySession.folder, ignore_errors=True)
            RaySession.folder = ""
            atexit.unregister(RaySession._end)


def explain_death(error: Exception) -> ActorDiedError:
    """Return our exception, with one line, for that of Ray about an actor.

    If a node cannot make a part, for instance without this package, Ray's text ends
    with the reason.
    """
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines() or [""]
    reason = lines[-1] if "creation task" in lines[0] else lines[0]
    return ActorDiedError(f"{type(error).__name__}: {reason}")


class NodeHost(Host):
    """A host in a process of its own.

    Parameters
    ----------
    make_batch : bytes
        Of `Host`, packed.
    *arguments
        See `Host`.
    """

    def __init__(self, make_batch: bytes, *arguments: int) -> None:
        super().__init__(unpack(make_batch), *arguments)


class RayActors:
    """One actor for each part.

    Parameters
    ----------
    make_batch : callable
        See `Host`.
    sizes : sequence of int
        Environments of each part.
    options : RayOptions

    Raises
    ------
    MissingExtraError
    InvalidOptionError
        If the environments cannot be pickled, or Ray refuses the options.
    """

    def __init__(
        self, make_batch: Callable[..., Any], sizes: Sequence[int], options: RayOptions
    ) -> None:
        # Before anything is started, which takes seconds.  A class of the program
        # itself travels, too.
        try:
            self._make_batch = pack(make_batch)
        except Exception as error:
            message = f"id: the environments cannot be sent to other processes: {error}"
            raise InvalidOptionError(message) from error
        # A call may have run although it failed, so Ray must neither repeat it nor
        # restart the actor: the head does both, from the last snapshot.
        fixed: dict[str, Any] = {"max_restarts": 0, "max_task_retries": 0}
        all_options = {
            "scheduling_strategy": "SPREAD",
            **(options.actor_options or {}),
            **fixed,
        }
        actor_class = import_ray().remote(NodeHost)
        try:
            actor_class.options(**all_options)
        except (TypeError, ValueError) as error:
            message = f"actor_options: {error}"
            raise InvalidOptionError(message) from error
        self._session = RaySession(options.address)
        self._ray = self._session.ray
        # Nobody else uses a local cluster: a second batch must not wait for processors
        # that the first has reserved.
        num_cpus = 0 if self._session.is_local else options.num_cpus
        self._class = actor_class.options(num_cpus=num_cpus, **all_options)
        self._sizes, self._actors = list(sizes), dict[int, Any]()

    def start(self, part: int) -> None:
        """Start an actor, a new one if there was one; it is placed meanwhile."""
        arguments = self._make_batch, self._sizes[part], sum(self._sizes[:part])
        self._actors[part] = self._class.remote(*arguments)

    def submit(self, part: int, message: bytes) -> Any:
        """Send a packed message; return the reference of its reply."""
        return self._actors[part].answer.remote(message)

    def result(self, ticket: Any, timeout: float | None) -> bytes | None:
        """Return the packed reply of a reference; None if it is not there in time.

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

    def kill(self, part: int) -> None:
        """End an actor, if it lives: two of one part must never answer."""
        with suppress(Exception):
            self._ray.kill(self._actors[part], no_restart=True)

    def close(self) -> None:
        """End all actors, and the cluster that was started for them."""
        if self._actors and self._ray.is_initialized():
            # A process that ends by itself deletes the folders that it used last.
            with suppress(Exception):
                actors = self._actors.values()
                ends = [actor.__ray_terminate__.remote() for actor in actors]
                self._ray.wait(ends, num_returns=len(ends), timeout=_PATIENCE)
            for part in self._actors:
                self.kill(part)
        self._actors = {}
        self._session.close()
