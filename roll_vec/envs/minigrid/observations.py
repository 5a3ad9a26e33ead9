"""Modes of observations: their spaces, and the rules that write them."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space, Text

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.views import write_view

MISSION_LENGTH = 400


@rule
def observe_parts(env: Any, out: Any) -> None:
    out.direction = env.direction
    write_view(env, out.image)


@rule
def observe_image(env: Any, out: Any) -> None:
    write_view(env, out)


OBS_MODES = {
    "dict": "MiniGrid's image, direction and mission",
    "image": "the image alone, as ImgObsWrapper",
}
OBSERVERS = {"dict": observe_parts, "image": observe_image}


def make_space(options: Any) -> Space[Any]:
    """Return the space of observations of these options."""
    shape = (options.agent_view_size, options.agent_view_size, 3)
    image = Box(0, 255, shape, np.uint8)
    if options.obs_mode == "image":
        return image
    mission = Text(MISSION_LENGTH, charset=" ,abcdefghijklmnopqrstuvwxyz")
    return Dict({"image": image, "direction": Discrete(4), "mission": mission})
