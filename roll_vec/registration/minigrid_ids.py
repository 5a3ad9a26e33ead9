"""The table of MiniGrid's and BabyAI's ids: a game and its keywords for each."""

from __future__ import annotations

from typing import Any

# The agent starts on a random cell.
ANYWHERE: dict[str, Any] = {"agent_start_pos": None}
# The id, ``module:class`` in `roll_vec.envs.minigrid`, and the keywords.
IDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    *(
        (f"MiniGrid-DoorKey-{size}x{size}-v0", "door_key:DoorKey", {"size": size})
        for size in (5, 6, 8, 16)
    ),
    ("MiniGrid-Empty-5x5-v0", "empty:Empty", {"size": 5}),
    ("MiniGrid-Empty-Random-5x5-v0", "empty:Empty", {"size": 5, **ANYWHERE}),
    ("MiniGrid-Empty-6x6-v0", "empty:Empty", {"size": 6}),
    ("MiniGrid-Empty-Random-6x6-v0", "empty:Empty", {"size": 6, **ANYWHERE}),
    ("MiniGrid-Empty-8x8-v0", "empty:Empty", {"size": 8}),
    ("MiniGrid-Empty-16x16-v0", "empty:Empty", {"size": 16}),
    *(
        (
            f"MiniGrid-MultiRoom-{name}",
            "multi_room:MultiRoom",
            {"minNumRooms": rooms, "maxNumRooms": rooms, "maxRoomSize": size},
        )
        # MiniGrid's N4-S5-v0 has 6 rooms.
        for name, rooms, size in (
            ("N2-S4-v0", 2, 4),
            ("N4-S5-v0", 6, 5),
            ("N4-S5-v1", 4, 5),
            ("N6-v0", 6, 10),
        )
    ),
)
