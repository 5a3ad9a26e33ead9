"""One environment of a pool: its episode, its latest reset, what a new object needs.

An environment object continues with its random numbers from reset to reset.  When
it is replaced, the new object begins the next episode of the same seed.  An environment
that can `resume`, as `SeededEnv`, gets exactly the episode that the old object would
have begun.  Any other is reset with a seed for this episode,
`roll_vec.seeding.episode_seed`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from roll_vec.pool.tasks import ResetRequest
from roll_vec.seeding import draw_entropy, episode_seed

ResetArguments = tuple[int | None, dict[str, Any] | None]
"""Seed and options of a reset."""


@dataclass(slots=True)
class EnvRecord:
    """What a pool knows of one of its environments, besides the observation."""

    can_resume: bool = False
    """Whether the environment can be moved to any episode of a seed."""
    attributes: dict[str, Any] = field(default_factory=dict)
    """The attributes that the user has set; new objects get them too."""
    first_seed: int | None = None
    """Of the present stream of episodes; None: the environment drew it itself."""
    episode: int = -1
    """Its number in this stream; -1 before the first reset."""
    reset_arguments: ResetArguments | None = None
    """Seed and options of the reset to this episode; None: it was an autoreset."""
    num_retries: int = 0
    """Of the present reset."""
    needs_replacement: bool = False
    """Whether the next reset builds a new object."""
    elapsed_steps: int = 0
    """Of the present episode; 0 if there is no limit, and after a fault."""
    reset_info: dict[str, Any] = field(default_factory=dict)
    """Of the last reset."""

    def start_episode(self, arguments: ResetArguments | None = None) -> None:
        """Move to the next episode, or with a seed to episode 0 of it.

        Parameters
        ----------
        arguments : ResetArguments or None
            Those of the user's reset; None: an autoreset.
        """
        self.episode += 1
        self.reset_arguments, self.num_retries = arguments, 0
        if arguments is not None and arguments[0] is not None:
            self.first_seed, self.episode = arguments[0], 0

    def skip_episode(self) -> None:
        """Move to the next episode because the reset to this one failed."""
        self.episode += 1
        self.num_retries += 1
        if self.reset_arguments is not None:
            self.reset_arguments = None, self.reset_arguments[1]

    def reset_request(self) -> ResetRequest:
        """Return the request that begins the present episode."""
        is_new = self.needs_replacement
        if is_new and self.first_seed is None:
            # The position of the lost generator is unknown: start a new one.
            self.first_seed, self.episode = draw_entropy(), 0
        seed, options = self.reset_arguments or (None, None)
        position = None
        if self.first_seed is not None and self.can_resume:
            position = (self.first_seed, self.episode)
        elif is_new and self.first_seed is not None:
            seed = self.first_seed
            if self.episode:
                seed = episode_seed(seed, self.episode)
        request = ResetRequest(seed, options, self.reset_arguments is None, position)
        if is_new:
            attributes = dict(self.attributes)
            request = request._replace(replace_env=True, attributes=attributes)
        return request
