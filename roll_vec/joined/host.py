"""An actor's side: a batch that makes the calls of messages.

It knows nothing of Ray and of the other parts.
"""

from __future__ import annotations

import os
import socket
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress

from roll_vec.errors import ActionStartWarning, InvalidStateError
from roll_vec.joined.messages import Message, Reply, Restore, pack, unpack
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.state import VectorState


class Host:
    """A batch of environments that executes the messages of a head.

    Parameters
    ----------
    make_batch : callable
        Returns a batch of ``num_envs`` environments.
    num_envs : int
    first_env_id : int
        The number of its first environment in the whole batch, for messages.
    """

    def __init__(
        self,
        make_batch: Callable[[int], RollVectorEnv],
        num_envs: int,
        first_env_id: int,
    ) -> None:
        self._make_batch, self._num_envs = make_batch, num_envs
        self._first_env_id = first_env_id
        self._batch: RollVectorEnv | None = None

    def answer(self, data: bytes) -> bytes:
        """Execute a packed message; return the packed reply."""
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always")
            # The head has checked the actions, and warned.
            warnings.simplefilter("ignore", ActionStartWarning)
            reply = self._handle(unpack(data))
        texts = tuple((one.category, str(one.message)) for one in records)
        reply = reply._replace(warnings=texts, pid=os.getpid())
        try:
            return pack(reply)
        except Exception as error:
            return pack(_failure(error)._replace(pid=os.getpid()))

    def _handle(self, message: Message) -> Reply:
        """Execute a message; an exception goes into the reply."""
        try:
            if message.restore is not None:
                self._restore(message.restore)
        except Exception as error:
            self.close()
            return _failure(error)._replace(is_restored=False)
        batch = self._batch
        assert batch is not None
        try:
            value = unpack(message.call).run(batch)
            if isinstance(value, VectorState):
                _check_travels(value)
        except Exception as error:
            return _failure(error)._replace(needs_reset=batch._needs_full_reset())
        if not message.wants_state:
            return Reply(value)
        try:
            return Reply(value, state=_check_travels(batch.get_state()))
        except Exception as error:
            return Reply(value, state_error=str(error) or type(error).__name__)

    def _restore(self, restore: Restore) -> None:
        """Make a new batch, and bring it to a state."""
        self.close()
        self._batch = batch = self._make_batch(self._num_envs)
        batch._become_part(self._first_env_id)
        for call in restore.settings:
            unpack(call).run(batch)
        if restore.state is not None:
            batch.set_state(restore.state)
        for call in restore.calls:
            # A call that raised then raises now.
            with suppress(Exception):
                unpack(call).run(batch)

    def close(self) -> None:
        """Close the batch."""
        if self._batch is not None:
            self._batch.close()
        self._batch = None


def _check_travels(state: VectorState) -> VectorState:
    """Return a snapshot, if another process can use it."""
    if state.objects is not None:
        message = (
            "the environments have no get_state and cannot be pickled, so that only "
            "their process can use a snapshot"
        )
        raise InvalidStateError(message)
    return state


def _failure(error: Exception) -> Reply:
    """Return the reply for an exception; one that cannot travel becomes a text."""
    trace = f"on the node {socket.gethostname()}:\n{traceback.format_exc()}"
    try:
        unpack(pack(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return Reply(error=error, trace=trace)
