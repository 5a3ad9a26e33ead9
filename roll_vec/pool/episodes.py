"""Which episode each environment of a pool is in, and how its next one is begun.

An environment's own stream goes on as long as its instance lives.  An instance that
is built anew goes on with the stream's next episode: exactly, where it can `resume`
as `roll_vec.base_envs.SeededEnv` does, otherwise by a seed of its own,
`roll_vec.seeding.episode_seed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roll_vec.pool.env_runner import ResetOrder
from roll_vec.seeding import draw_entropy, episode_seed

__all__ = ["Streams"]

MAX_RETRIES = 3


class Streams:
    """Where the streams of a pool are.

    Parameters
    ----------
    resumes : sequence of bool
        Which environments can be put to any episode of a stream.

    Attributes
    ----------
    starts : list of int or None
        The seed that each stream began with, None where the environment drew it.
    episodes : list of int
        -1 before the first reset.
    retries : dict of int to int
        How often the resets that are going on have been tried again.
    """

    def __init__(self, resumes: Sequence[bool]) -> None:
        num_envs = len(resumes)
        self._resumes = list(resumes)
        self.starts: list[int | None] = [None] * num_envs
        self.episodes = [-1] * num_envs
        self.retries: dict[int, int] = {}
        # Seed and options of resets that were asked for; autoresets have neither.
        self._asked: dict[int, tuple[int | None, dict[str, Any] | None]] = {}

    def start(self, row: int, seed: int | None, options: dict[str, Any] | None) -> None:
        """Move to a new stream, or with None to the next episode."""
        self.go_on(row)
        if seed is not None:
            self.starts[row], self.episodes[row] = seed, 0
        self._asked[row] = seed, options

    def go_on(self, row: int) -> None:
        """Move to the next episode, as an autoreset does."""
        self.episodes[row] += 1
        self._asked.pop(row, None)
        self.retries.pop(row, None)

    def retry(self, row: int) -> bool:
        """Move to the next episode because this one's reset failed; not for ever."""
        tried = self.retries.get(row, 0)
        if tried == MAX_RETRIES:
            return False
        self.retries[row] = tried + 1
        self.episodes[row] += 1
        if row in self._asked:
            self._asked[row] = None, self._asked[row][1]
        return True

    def order(
        self, row: int, rebuild: bool, attributes: Mapping[str, Any]
    ) -> ResetOrder:
        """Return how the episode that a row has moved to is begun.

        Parameters
        ----------
        row : int
        rebuild : bool
            Whether the instance is to be built anew for it.
        attributes : mapping of str to object
            What is to be set on a new instance.
        """
        if rebuild and self.starts[row] is None:
            # Nobody knows where the lost stream was.
            self.starts[row], self.episodes[row] = draw_entropy(), 0
        start, episode = self.starts[row], self.episodes[row]
        seed, options = self._asked.get(row, (None, None))
        position = None
        if start is not None and self._resumes[row]:
            position = (start, episode)
        elif rebuild and start is not None:
            seed = start if episode == 0 else episode_seed(start, episode)
        return ResetOrder(
            seed=seed,
            options=options,
            is_bare=row not in self._asked,
            position=position,
            rebuild=rebuild,
            attributes=dict(attributes) if rebuild else {},
        )
