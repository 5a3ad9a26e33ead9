"""A picture of some boards of a vector environment, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.cli._environments import make_vector
from roll_vec.cli._errors import one_line
from roll_vec.render.mosaic import mosaic

__all__ = ["MAX_RENDERED", "NoPictureError", "draw_boards", "draw_preview"]

Vector: TypeAlias = VectorEnv[Any, Any, Any]

MAX_RENDERED = 64
"""Foreign environments render all or none: so many may be asked to."""

_PREVIEW_STEPS = 20
# Frames of tile art are a few dozen pixels wide; others are large enough as they are.
_SMALL_FRAME = 256
_ENLARGED = 3


class NoPictureError(Exception):
    """Raised when there is no picture to be had; the message says why."""


def draw_boards(env: Vector, count: int) -> NDArray[np.uint8]:
    """Return one picture of the first `count` environments as they are now.

    Raises
    ------
    NoPictureError
        The environment renders no frames, or too many environments would have to.
    """
    count = min(count, env.num_envs)
    if env.render_mode != "rgb_array":
        message = 'the environment has no render_mode "rgb_array"'
        raise NoPictureError(message)
    render_envs = getattr(env.unwrapped, "render_envs", None)
    if render_envs is None and env.num_envs > MAX_RENDERED:
        message = f"it renders all of its {env.num_envs} environments or none"
        raise NoPictureError(message)
    try:
        frames = env.render() if render_envs is None else render_envs(range(count))
    except Exception as error:
        # A picture is no reason to lose a rollout, whatever the renderer lacks.
        message = f"rendering failed: {one_line(error)}"
        raise NoPictureError(message) from error
    return _arranged(frames, count)


def draw_preview(
    env_id: str, options: Mapping[str, Any], count: int, seed: int
) -> NDArray[np.uint8]:
    """Return a picture of a small vector of its own, after some random steps.

    Raises
    ------
    NoPictureError
    UsageError
        The environment cannot be made.
    """
    count = min(count, MAX_RENDERED)
    env = make_vector(env_id, count, options=options, render_mode="rgb_array")
    try:
        env.reset(seed=seed)
        env.action_space.seed(seed)
        for _ in range(_PREVIEW_STEPS):
            env.step(env.action_space.sample())
        return draw_boards(env, count)
    finally:
        env.close()


def _arranged(frames: Any, count: int) -> NDArray[np.uint8]:
    """Return the frames side by side, enlarged where they are small."""
    boards = list(frames or ())[:count]
    for board in boards:
        if not isinstance(board, np.ndarray) or board.ndim != 3 or board.shape[2] != 3:
            message = "the environment renders something else than (H, W, 3) frames"
            raise NoPictureError(message)
    if not boards:
        message = "the environment renders nothing"
        raise NoPictureError(message)
    small = max(boards[0].shape[:2]) <= _SMALL_FRAME
    return mosaic(boards, scale=_ENLARGED if small else 1)
