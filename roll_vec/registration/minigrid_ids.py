"""The table of MiniGrid's and BabyAI's ids: a game and its keywords for each."""

from __future__ import annotations

from typing import Any

# In the order of MiniGrid: the id, ``module:class`` in `roll_vec.envs.minigrid`, keywords.
IDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "MiniGrid-LavaCrossingS9N1-v0",
        "crossing:Crossing",
        {"size": 9, "num_crossings": 1},
    ),
    (
        "MiniGrid-LavaCrossingS9N2-v0",
        "crossing:Crossing",
        {"size": 9, "num_crossings": 2},
    ),
    (
        "MiniGrid-LavaCrossingS9N3-v0",
        "crossing:Crossing",
        {"size": 9, "num_crossings": 3},
    ),
    (
        "MiniGrid-LavaCrossingS11N5-v0",
        "crossing:Crossing",
        {"size": 11, "num_crossings": 5},
    ),
    (
        "MiniGrid-SimpleCrossingS9N1-v0",
        "crossing:Crossing",
        {"size": 9, "num_crossings": 1, "obstacle_type": "wall"},
    ),
    (
        "MiniGrid-SimpleCrossingS9N2-v0",
        "crossing:Crossing",
        {"size": 9, "num_crossings": 2, "obstacle_type": "wall"},
    ),
    (
        "MiniGrid-SimpleCrossingS9N3-v0",
        "crossing:Crossing",
        {"size": 9, "num_crossings": 3, "obstacle_type": "wall"},
    ),
    (
        "MiniGrid-SimpleCrossingS11N5-v0",
        "crossing:Crossing",
        {"size": 11, "num_crossings": 5, "obstacle_type": "wall"},
    ),
    ("MiniGrid-DistShift1-v0", "dist_shift:DistShift", {"strip2_row": 2}),
    ("MiniGrid-DistShift2-v0", "dist_shift:DistShift", {"strip2_row": 5}),
    ("MiniGrid-DoorKey-5x5-v0", "door_key:DoorKey", {"size": 5}),
    ("MiniGrid-DoorKey-6x6-v0", "door_key:DoorKey", {"size": 6}),
    ("MiniGrid-DoorKey-8x8-v0", "door_key:DoorKey", {"size": 8}),
    ("MiniGrid-DoorKey-16x16-v0", "door_key:DoorKey", {"size": 16}),
    (
        "MiniGrid-Dynamic-Obstacles-5x5-v0",
        "dynamic_obstacles:DynamicObstacles",
        {"size": 5, "n_obstacles": 2},
    ),
    (
        "MiniGrid-Dynamic-Obstacles-Random-5x5-v0",
        "dynamic_obstacles:DynamicObstacles",
        {"size": 5, "n_obstacles": 2, "agent_start_pos": None},
    ),
    (
        "MiniGrid-Dynamic-Obstacles-6x6-v0",
        "dynamic_obstacles:DynamicObstacles",
        {"size": 6, "n_obstacles": 3},
    ),
    (
        "MiniGrid-Dynamic-Obstacles-Random-6x6-v0",
        "dynamic_obstacles:DynamicObstacles",
        {"size": 6, "n_obstacles": 3, "agent_start_pos": None},
    ),
    ("MiniGrid-Dynamic-Obstacles-8x8-v0", "dynamic_obstacles:DynamicObstacles", {}),
    (
        "MiniGrid-Dynamic-Obstacles-16x16-v0",
        "dynamic_obstacles:DynamicObstacles",
        {"size": 16, "n_obstacles": 8},
    ),
    ("MiniGrid-Empty-5x5-v0", "empty:Empty", {"size": 5}),
    (
        "MiniGrid-Empty-Random-5x5-v0",
        "empty:Empty",
        {"size": 5, "agent_start_pos": None},
    ),
    ("MiniGrid-Empty-6x6-v0", "empty:Empty", {"size": 6}),
    (
        "MiniGrid-Empty-Random-6x6-v0",
        "empty:Empty",
        {"size": 6, "agent_start_pos": None},
    ),
    ("MiniGrid-Empty-8x8-v0", "empty:Empty", {}),
    ("MiniGrid-Empty-16x16-v0", "empty:Empty", {"size": 16}),
    ("MiniGrid-Fetch-5x5-N2-v0", "fetch:Fetch", {"size": 5, "numObjs": 2}),
    ("MiniGrid-Fetch-6x6-N2-v0", "fetch:Fetch", {"size": 6, "numObjs": 2}),
    ("MiniGrid-Fetch-8x8-N3-v0", "fetch:Fetch", {}),
    ("MiniGrid-FourRooms-v0", "four_rooms:FourRooms", {}),
    ("MiniGrid-GoToDoor-5x5-v0", "go_to_door:GoToDoor", {}),
    ("MiniGrid-GoToDoor-6x6-v0", "go_to_door:GoToDoor", {"size": 6}),
    ("MiniGrid-GoToDoor-8x8-v0", "go_to_door:GoToDoor", {"size": 8}),
    ("MiniGrid-GoToObject-6x6-N2-v0", "go_to_object:GoToObject", {}),
    (
        "MiniGrid-GoToObject-8x8-N2-v0",
        "go_to_object:GoToObject",
        {"size": 8, "numObjs": 2},
    ),
    ("MiniGrid-LavaGapS5-v0", "lava_gap:LavaGap", {"size": 5}),
    ("MiniGrid-LavaGapS6-v0", "lava_gap:LavaGap", {"size": 6}),
    ("MiniGrid-LavaGapS7-v0", "lava_gap:LavaGap", {"size": 7}),
    ("MiniGrid-LockedRoom-v0", "locked_room:LockedRoom", {}),
    (
        "MiniGrid-MemoryS17Random-v0",
        "memory:Memory",
        {"size": 17, "random_length": True},
    ),
    (
        "MiniGrid-MemoryS13Random-v0",
        "memory:Memory",
        {"size": 13, "random_length": True},
    ),
    ("MiniGrid-MemoryS13-v0", "memory:Memory", {"size": 13}),
    ("MiniGrid-MemoryS11-v0", "memory:Memory", {"size": 11}),
    ("MiniGrid-MemoryS9-v0", "memory:Memory", {"size": 9}),
    ("MiniGrid-MemoryS7-v0", "memory:Memory", {"size": 7}),
    (
        "MiniGrid-MultiRoom-N2-S4-v0",
        "multi_room:MultiRoom",
        {"minNumRooms": 2, "maxNumRooms": 2, "maxRoomSize": 4},
    ),
    # It has 6 rooms in MiniGrid, too.
    (
        "MiniGrid-MultiRoom-N4-S5-v0",
        "multi_room:MultiRoom",
        {"minNumRooms": 6, "maxNumRooms": 6, "maxRoomSize": 5},
    ),
    (
        "MiniGrid-MultiRoom-N4-S5-v1",
        "multi_room:MultiRoom",
        {"minNumRooms": 4, "maxNumRooms": 4, "maxRoomSize": 5},
    ),
    (
        "MiniGrid-MultiRoom-N6-v0",
        "multi_room:MultiRoom",
        {"minNumRooms": 6, "maxNumRooms": 6},
    ),
    ("MiniGrid-Playground-v0", "playground:Playground", {}),
    ("MiniGrid-PutNear-6x6-N2-v0", "put_near:PutNear", {}),
    ("MiniGrid-PutNear-8x8-N3-v0", "put_near:PutNear", {"size": 8, "numObjs": 3}),
    ("MiniGrid-RedBlueDoors-6x6-v0", "red_blue_doors:RedBlueDoors", {"size": 6}),
    ("MiniGrid-RedBlueDoors-8x8-v0", "red_blue_doors:RedBlueDoors", {}),
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
