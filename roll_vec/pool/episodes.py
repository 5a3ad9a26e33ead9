"""The episode that each environment is in, and the request that begins its next one.

An environment object continues with its own random numbers from reset to reset.  When
it is replaced, the new object begins the next episode of the same seed.  An environment
that can `resume`, as `roll_vec.base_envs.SeededEnv`, gets exactly the episode that the
old object would have begun.  Any other is reset with a seed for this episode,
`roll_vec.seeding.episode_seed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roll_vec.pool.tasks import ResetRequest
from roll_vec.seeding import draw_entropy, episode_seed

__all__ = ["Episodes"]


class Episodes:
    """First seeds and episode numbers of the environments.

    Parameters
    ----------
    can_resume : sequence of bool
        Whether each environment can be moved to any episode of a seed.
    """

    def __init__(self, can_resume: Sequence[bool]) -> None:
        num_envs = len(can_resume)
        self._can_resume = list(can_resume)
        # None: the environment drew it itself.
        self._first_seeds: list[int | None] = [None] * num_envs
        # -1 before the first reset.
        self._numbers = [-1] * num_envs
        # Seed and options of the resets by the user; an autoreset has no entry.
        self._arguments: dict[int, tuple[int | None, dict[str, Any] | None]] = {}

    def start(
        self, env_id: int, seed: int | None, options: dict[str, Any] | None
    ) -> None:
        """Move to episode 0 of a new seed, or with None to the next episode."""
        self.advance(env_id)
        if seed is not None:
            self._first_seeds[env_id], self._numbers[env_id] = seed, 0
        self._arguments[env_id] = seed, options

    def advance(self, env_id: int) -> None:
        """Move to the next episode, as an autoreset does."""
        self._numbers[env_id] += 1
        self._arguments.pop(env_id, None)

    def position(self, env_id: int) -> tuple[int | None, int]:
        """Return the first seed of an environment, or None, and its episode's number.

        Before its first reset the number is -1.
        """
        return self._first_seeds[env_id], self._numbers[env_id]

    def move_to(self, env_id: int, first_seed: int | None, number: int) -> None:
        """Move to an episode that has begun, with no arguments for its reset."""
        self._first_seeds[env_id], self._numbers[env_id] = first_seed, number
        self._arguments.pop(env_id, None)

    def skip(self, env_id: int) -> None:
        """Move to the next episode because the reset to this one failed."""
        self._numbers[env_id] += 1
        if env_id in self._arguments:
            self._arguments[env_id] = None, self._arguments[env_id][1]

    def reset_request(
        self, env_id: int, replace_env: bool, attributes: Mapping[str, Any]
    ) -> ResetRequest:
        """Return the request that begins the current episode of an environment.

        Parameters
        ----------
        env_id : int
        replace_env : bool
            Whether a new environment object is to be built for it.
        attributes : mapping of str to object
            To be set on a new object.
        """
        if replace_env and self._first_seeds[env_id] is None:
            # The position of the lost generator is unknown: start a new one.
            self._first_seeds[env_id], self._numbers[env_id] = draw_entropy(), 0
        first_seed, number = self._first_seeds[env_id], self._numbers[env_id]
        seed, options = self._arguments.get(env_id, (None, None))
        position = None
        if first_seed is not None and self._can_resume[env_id]:
            position = (first_seed, number)
        elif replace_env and first_seed is not None:
            seed = first_seed if number == 0 else episode_seed(first_seed, number)
        return ResetRequest(
            seed=seed,
            options=options,
            is_autoreset=env_id not in self._arguments,
            position=position,
            replace_env=replace_env,
            attributes=dict(attributes) if replace_env else {},
        )
