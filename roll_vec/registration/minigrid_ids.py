"""The table of MiniGrid's and BabyAI's ids: a game and its keywords for each."""

from __future__ import annotations

from typing import Any

# The id, ``module:class`` in `roll_vec.envs.minigrid`, and the keywords.
IDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    *(
        (f"MiniGrid-DoorKey-{size}x{size}-v0", "door_key:DoorKey", {"size": size})
        for size in (5, 6, 8, 16)
    ),
)
