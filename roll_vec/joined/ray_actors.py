"""Actors of Ray; everything that depends on Ray is here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from roll_vec.errors import MissingExtraError
from roll_vec.joined.actors import ActorDiedError, Host

# The environment variable of a cluster's nodes by which Ray sends replies of up to so
# many bytes at once.  Larger ones take a detour over the object store: by default those
# from 100 KiB on, which costs about a millisecond.  From 4 MB on it is as fast.
INLINE_VARIABLE = "RAY_max_direct_call_object_size"
INLINE_SIZE = 1 << 20


class RayActor:
    """A `Host` in a process of Ray.

    Parameters
    ----------
    ray : module
    actor_class : object
        Of ``ray.remote``.
    *arguments
        See `Host`.
    """

    def __init__(self, ray: Any, actor_class: Any, *arguments: Any) -> None:
        self._ray, self._actor = ray, actor_class.remote(*arguments)

    def submit(self, message: bytes) -> None:
        """Send a packed message."""
        self._reply = self._actor.answer.remote(message)

    def result(self, timeout: float | None) -> bytes:
        """Return the packed reply to the last message.

        Raises
        ------
        ActorDiedError
        """
        try:
            data: bytes = self._ray.get(self._reply, timeout=timeout)
        except self._ray.exceptions.RayError as error:
            message = f"{type(error).__name__}: {error}"
            raise ActorDiedError(message) from error
        return data

    def kill(self) -> None:
        """End the process, if it lives."""
        with suppress(Exception):
            self._ray.kill(self._actor, no_restart=True)


def connect(actor_options: Mapping[str, Any] | None) -> Callable[..., RayActor]:
    """Return the function that starts an actor with the arguments of `Host`.

    Ray starts on this machine, unless the program is connected already.

    Parameters
    ----------
    actor_options : mapping or None
        Of ``ray.remote``.

    Raises
    ------
    MissingExtraError
    ValueError, TypeError
        If Ray refuses the options; nothing has started then.
    """
    # A worker must not send usage reports of a short local cluster.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray: Any = MissingExtraError.import_module("ray", "make_shards", extra="ray")
    # A call may have run although it failed, so Ray must neither repeat it nor restart
    # the actor: the head does both, from the last snapshot.
    fixed = {"max_restarts": 0, "max_task_retries": 0}
    options = {"scheduling_strategy": "SPREAD", **(actor_options or {}), **fixed}
    actor_class = ray.remote(Host).options(**options)
    if not ray.is_initialized():
        # All processes of the cluster inherit it.
        os.environ.setdefault(INLINE_VARIABLE, str(INLINE_SIZE))
        # Without "local" it would connect to a cluster of RAY_ADDRESS.
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        ray.init("local", include_dashboard=False, **quiet)
    return partial(RayActor, ray, actor_class)
