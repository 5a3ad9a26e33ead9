"""A picture of some boards of any vector environment."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import one_line
from roll_vec.render.mosaic import mosaic

Vector: TypeAlias = VectorEnv[Any, Any, Any]

# Boards of a picture.
_NUM_BOARDS = 16
# Most environments to render: those of other packages render all or none.
_MAX_RENDERED = 64
# Tile art is a few dozen pixels wide and is scale; larger frames are not.
_SMALL_FRAME = 256
_SCALE = 3


class NoPictureError(Exception):
    """Raised when no picture can be made; the message says why."""


def draw_boards(env: Vector, *, has_scale: bool) -> tuple[NDArray[np.uint8], str]:
    """Return a picture of the first 16 environments, and its caption.

    Parameters
    ----------
    env : VectorEnv
    has_scale : bool
        Whether the user has set the size of the boards.

    Raises
    ------
    NoPictureError
        The environment cannot render frames, lacks a package for it, or would render
        thousands of them.
    """
    count = min(_NUM_BOARDS, env.num_envs)
    scale = 1 if has_scale else _SCALE
    caption = "boards at the end"
    if count < env.num_envs:
        caption = f"{count:,} of {env.num_envs:,} {caption}"
    if env.render_mode != "rgb_array":
        message = 'the environment has no render_mode "rgb_array"'
        raise NoPictureError(message)
    try:
        if hasattr(env.unwrapped, "render_envs"):
            frames = env.unwrapped.render_envs(range(count))
        elif env.num_envs <= _MAX_RENDERED:
            frames = list(env.render() or ())[:count]
        else:
            message = (
                f"the environment can only render all of its {env.num_envs:,}, and a "
                f"picture has at most {_MAX_RENDERED} of them (--num-envs)"
            )
            raise NoPictureError(message)
        return _arrange(frames, scale), caption
    except NoPictureError:
        raise
    except Exception as error:
        # An error of the renderer must not lose the rollout.
        message = f"rendering failed: {one_line(error)}"
        raise NoPictureError(message) from error


def _arrange(boards: Any, scale: int) -> NDArray[np.uint8]:
    """Return the frames side by side, scaled if they are small."""
    boards = list(boards)
    shapes = [np.shape(board) for board in boards]
    if not boards or any(len(shape) != 3 or shape[2] != 3 for shape in shapes):
        message = "the environment renders something else than (H, W, 3) frames"
        raise NoPictureError(message)
    small = max(boards[0].shape[:2]) <= _SMALL_FRAME
    return mosaic(boards, scale=scale if small else 1)
