"""One batch for all environments of a process that have the same keywords.

ROLL makes its environments one by one, each for a thread of its own.  Here each of them
is a session of one vector environment, so that steps that arrive together are made
together, see `roll_vec.sessions`.  The batch is made at the first reset: ROLL has made
all environments of a worker by then, and their count is known.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from roll_vec.errors import SessionsFullError
from roll_vec.registration.factories import make_vec
from roll_vec.sessions import Session, Sessions


class SharedBatch:
    """The sessions of the environments with one id and one set of keywords.

    Parameters
    ----------
    env_id : str
    keywords : mapping from str to object
        Of `roll_vec.make_vec`; the batch has no step limit but theirs.

    Attributes
    ----------
    batches : list of Sessions
        One as a rule.  Environments that come when its rows are taken get another one,
        of at least as many rows as there are already.
    """

    def __init__(self, env_id: str, keywords: Mapping[str, Any]) -> None:
        self._env_id, self._keywords = env_id, dict(keywords)
        self._lock = threading.Lock()
        self._members: weakref.WeakSet[Any] = weakref.WeakSet()
        self.batches: list[Sessions] = []

    def join(self, member: object) -> None:
        """Count an environment that will open a session.

        Parameters
        ----------
        member : object
            Counted as long as it exists.
        """
        with self._lock:
            self._members.add(member)

    def open(self) -> Session:
        """Return a session with a free row."""
        with self._lock:
            for sessions in self.batches:
                try:
                    return sessions.open(timeout=0)
                except SessionsFullError:
                    continue
            num_rows = sum(sessions.num_envs for sessions in self.batches)
            envs = make_vec(
                self._env_id,
                max(len(self._members) - num_rows, num_rows, 1),
                max_episode_steps=-1,
                autoreset_mode="Disabled",
                **self._keywords,
            )
            self.batches.append(Sessions(envs))
            return self.batches[-1].open(timeout=0)


_shared_batches: weakref.WeakValueDictionary[Any, SharedBatch]
_shared_batches = weakref.WeakValueDictionary()
_lock = threading.Lock()


def share_batch(
    env_id: str, keywords: Mapping[str, Any], member: object
) -> SharedBatch:
    """Return the shared batch for an id and keywords, and join it.

    It is freed when the last environment that has joined it is gone.
    """
    key = env_id, _hashable(keywords)
    with _lock:
        batch = _shared_batches.get(key)
        if batch is None:
            batch = _shared_batches[key] = SharedBatch(env_id, keywords)
        batch.join(member)
        return batch


def engine_of(session: Session) -> Any:
    """Return the engine of the batch that a session has a row of."""
    return session._sessions.envs.engine


def _hashable(value: Any) -> Any:
    """Return a value that is equal for equal keywords, and hashable.

    Arrays and other objects without a hash are equal to themselves alone; the batch
    keeps them, so that no other object gets their number.
    """
    if isinstance(value, Mapping):
        return Mapping, tuple((key, _hashable(value[key])) for key in sorted(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Sequence, tuple(map(_hashable, value))
    try:
        # Its value has no effect: it finds the batch of equal keywords in a dict.
        hash(value)
    except TypeError:
        return id(value)
    return value
