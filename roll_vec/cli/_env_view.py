"""The steps of one environment of a batch, written as lines of text."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TextIO

import numpy as np
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode, VectorEnv

from roll_vec.cli._environments import mode_of
from roll_vec.cli._screen import wants_colour
from roll_vec.render.ansi import strip_colours

__all__ = ["EnvView"]


class EnvView:
    """Writes the action, reward, ends and board or text of one environment.

    Parameters
    ----------
    env : VectorEnv
        Boards are written if its render mode is ``ansi``.
    env_id : int
    out : text stream
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], env_id: int, out: TextIO) -> None:
        self._env, self._env_id, self._out = env, env_id, out
        self._is_text = isinstance(env.single_observation_space, Text)
        self._colour = wants_colour(out)
        self._mode = mode_of(env)
        self._has_ended = False

    def show(self, step: int, actions: Any, results: Mapping[str, Any]) -> None:
        """Write the results of a step, or of a reset, which has no rewards."""
        env_id = self._env_id
        if "rewards" not in results:
            if step and not self._has_ended:
                return  # a reset of other environments
            self._has_ended = False
            words = ["reset"]
        elif self._has_ended and self._mode is AutoresetMode.NEXT_STEP:
            self._has_ended = False
            words = ["reset, without an action"]
        else:
            ends = [
                name
                for name, field in (
                    ("terminated", "terminations"),
                    ("truncated", "truncations"),
                )
                if results[field][env_id]
            ]
            action = actions[env_id]
            if isinstance(action, (np.ndarray, np.generic)):
                action = action.tolist()
            words = [f"action {action!r}", f"reward {results['rewards'][env_id]:g}"]
            words += ends
            self._has_ended = bool(ends)
            if ends and self._mode is AutoresetMode.SAME_STEP:
                self._has_ended = False
                words.append("then reset")
        self._out.write(f"step {step}: {', '.join(words)}\n")
        picture = self._picture(results["observations"])
        if picture:
            lines = picture if self._colour else strip_colours(picture)
            self._out.write("".join(f"  {line}\n" for line in lines.splitlines()))

    def _picture(self, observations: Any) -> str:
        """Return the board, or the text of the observation; empty without either."""
        if self._is_text:
            return str(observations[self._env_id])
        render = getattr(self._env.unwrapped, "render_envs", None)
        if render is not None and self._env.render_mode == "ansi":
            # A renderer of a user's may raise anything.
            with suppress(Exception):
                return str(render([self._env_id])[0])
        return ""
