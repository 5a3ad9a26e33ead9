"""The interface of the processes in which shards run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from roll_vec.distributed.messages import Message, Reply


class ShardDiedError(Exception):
    """Raised by `Actors.result` when the process of a shard is gone."""


class CannotStartError(ShardDiedError):
    """Raised when a process cannot make its shard, for instance without this package.

    Another process of the same node could not either.
    """


class Actors(Protocol):
    """The processes of the shards; `roll_vec.distributed.ray_actors` has Ray's."""

    def start(self, shard: int) -> None:
        """Start a process for a shard, a new one if there was one before."""

    def submit(self, shard: int, message: Message) -> Any:
        """Send a message, and return a ticket for its reply."""

    def wait(self, tickets: Sequence[Any], timeout: float | None) -> list[Any]:
        """Wait at most so long for the first reply, and return the tickets of all."""

    def result(self, ticket: Any) -> Reply:
        """Return the reply of a ticket that is ready.

        Raises
        ------
        ShardDiedError
        """

    def explain_delay(self) -> str:
        """Return what may delay the start of processes."""

    def kill(self, shard: int) -> None:
        """End the process of a shard, if it lives."""

    def close(self) -> None:
        """End all processes."""
