"""A picture of some boards of any vector environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.cli._environments import make_vector
from roll_vec.cli._errors import UsageError, one_line
from roll_vec.render.mosaic import mosaic

__all__ = ["MAX_BOARDS", "NoPictureError", "draw_boards"]

Vector: TypeAlias = VectorEnv[Any, Any, Any]

MAX_BOARDS = 1024
"""Most boards of a picture."""
# Most environments to render: those of other packages render all or none.
_MAX_RENDERED = 64
_PREVIEW_STEPS = 20
# Tile art is a few dozen pixels wide and is scale; larger frames are not.
_SMALL_FRAME = 256
_SCALE = 3


class NoPictureError(Exception):
    """Raised when no picture can be made; the message says why."""


def draw_boards(
    env: Vector, env_id: str, *, options: Mapping[str, Any], count: int, seed: int
) -> tuple[NDArray[np.uint8], str]:
    """Return a picture of some environments, and its caption.

    It shows the first `count` of `env` as they are now. If that would render thousands
    of environments, it shows a small batch of the same id after some random steps.

    Raises
    ------
    NoPictureError
        The environment cannot render frames, or lacks a package for it.
    """
    count = min(count, env.num_envs)
    # The size in the user's options is not changed.
    scale = 1 if "render_scale" in options else _SCALE
    caption = "boards at the end"
    if count < env.num_envs:
        caption = f"{count:,} of {env.num_envs:,} {caption}"
    if env.render_mode != "rgb_array":
        message = 'the environment has no render_mode "rgb_array"'
        raise NoPictureError(message)
    try:
        if hasattr(env.unwrapped, "render_envs"):
            frames = env.unwrapped.render_envs(range(count))
            return _arrange(frames, scale), caption
        if env.num_envs <= _MAX_RENDERED:
            return _arrange(_frames(env)[:count], scale), caption
        frames = _preview(env_id, options, min(count, _MAX_RENDERED), seed)
        return _arrange(frames, scale), "boards of another, smaller rollout"
    except (NoPictureError, UsageError) as error:
        raise NoPictureError(one_line(error)) from error
    except Exception as error:
        # An error of the renderer must not lose the rollout.
        message = f"rendering failed: {one_line(error)}"
        raise NoPictureError(message) from error


def _preview(
    env_id: str, options: Mapping[str, Any], count: int, seed: int
) -> list[Any]:
    env = make_vector(env_id, count, options=options, render_mode="rgb_array")
    try:
        env.reset(seed=seed)
        env.action_space.seed(seed)
        for _ in range(_PREVIEW_STEPS):
            env.step(env.action_space.sample())
        return _frames(env)
    finally:
        env.close()


def _frames(env: Vector) -> list[Any]:
    return list(env.render() or ())


def _arrange(boards: Any, scale: int) -> NDArray[np.uint8]:
    """Return the frames side by side, scaled if they are small."""
    boards = list(boards)
    for board in boards:
        if not isinstance(board, np.ndarray) or board.ndim != 3 or board.shape[2] != 3:
            message = "the environment renders something else than (H, W, 3) frames"
            raise NoPictureError(message)
    if not boards:
        message = "the environment renders nothing"
        raise NoPictureError(message)
    small = max(boards[0].shape[:2]) <= _SMALL_FRAME
    return mosaic(boards, scale=scale if small else 1)
