"""The table of MiniGrid's and BabyAI's ids: a game and its keywords for each."""

from __future__ import annotations

from typing import Any

# The id, ``module:class`` in `roll_vec.envs.minigrid`, and the keywords.
IDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "MiniGrid-BlockedUnlockPickup-v0",
        "blocked_unlock_pickup:BlockedUnlockPickup",
        {},
    ),
    *(
        (f"MiniGrid-DoorKey-{size}x{size}-v0", "door_key:DoorKey", {"size": size})
        for size in (5, 6, 8, 16)
    ),
    *(
        (
            f"MiniGrid-KeyCorridorS{size}R{rows}-v0",
            "key_corridor:KeyCorridor",
            {"room_size": size, "num_rows": rows},
        )
        for size, rows in ((3, 1), (3, 2), (3, 3), (4, 3), (5, 3), (6, 3))
    ),
    *(
        (
            f"MiniGrid-ObstructedMaze-1Dl{letters}-v0",
            "obstructed_maze:ObstructedMaze",
            {"key_in_box": "h" in letters, "blocked": "b" in letters},
        )
        for letters in ("", "h", "hb")
    ),
    *(
        (
            f"MiniGrid-ObstructedMaze-{name}",
            f"obstructed_maze:ObstructedMazeFull{'V1' * name.endswith('-v1')}",
            {
                "agent_room": agent_room,
                "key_in_box": "Dl-" not in name,
                "blocked": "Dl-" not in name and "Dlh-" not in name,
                "num_quarters": num_quarters,
                "num_rooms_visited": num_rooms_visited,
            },
        )
        for name, agent_room, num_quarters, num_rooms_visited in (
            ("2Dl-v0", (2, 1), 1, 4),
            ("2Dlh-v0", (2, 1), 1, 4),
            ("2Dlhb-v0", (2, 1), 1, 4),
            ("1Q-v0", (1, 1), 1, 5),
            ("2Q-v0", (2, 1), 2, 11),
            ("Full-v0", (1, 1), 4, 25),
            ("2Dlhb-v1", (2, 1), 1, 4),
            ("1Q-v1", (1, 1), 1, 5),
            ("2Q-v1", (2, 1), 2, 11),
            ("Full-v1", (1, 1), 4, 25),
        )
    ),
    ("MiniGrid-Unlock-v0", "unlock:Unlock", {}),
    ("MiniGrid-UnlockPickup-v0", "unlock_pickup:UnlockPickup", {}),
)
