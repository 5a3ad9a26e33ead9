"""The table of MiniGrid's and BabyAI's ids: a game and its keywords for each."""

from __future__ import annotations

from typing import Any

# The id, ``module:class`` in `roll_vec.envs.minigrid`, and the keywords; as MiniGrid
# orders them.
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
    (
        "MiniGrid-BlockedUnlockPickup-v0",
        "blocked_unlock_pickup:BlockedUnlockPickup",
        {},
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
    # BabyAI: one thing to go to.
    ("BabyAI-GoToRedBallGrey-v0", "babyai_goto:GoToRedBallGrey", {}),
    ("BabyAI-GoToRedBall-v0", "babyai_goto:GoToRedBall", {}),
    ("BabyAI-GoToRedBallNoDists-v0", "babyai_goto:GoToRedBallNoDists", {}),
    ("BabyAI-GoToObj-v0", "babyai_goto:GoToObj", {}),
    ("BabyAI-GoToObjS4-v0", "babyai_goto:GoToObj", {"room_size": 4}),
    ("BabyAI-GoToObjS6-v1", "babyai_goto:GoToObj", {"room_size": 6}),
    ("BabyAI-GoToLocal-v0", "babyai_goto:GoToLocal", {}),
    *(
        (
            f"BabyAI-GoToLocalS{size}N{count}-v0",
            "babyai_goto:GoToLocal",
            {"room_size": size, "num_dists": count},
        )
        for size, counts in ((5, (2,)), (6, (2, 3, 4)), (7, (4, 5)), (8, range(2, 8)))
        for count in counts
    ),
    ("BabyAI-GoTo-v0", "babyai_goto:GoTo", {}),
    ("BabyAI-GoToOpen-v0", "babyai_goto:GoTo", {"doors_open": True}),
    ("BabyAI-GoToObjMaze-v0", "babyai_goto:GoTo", {"num_dists": 1}),
    (
        "BabyAI-GoToObjMazeOpen-v0",
        "babyai_goto:GoTo",
        {"num_dists": 1, "doors_open": True},
    ),
    (
        "BabyAI-GoToObjMazeS4R2-v0",
        "babyai_goto:GoTo",
        {"num_dists": 1, "room_size": 4, "num_rows": 2, "num_cols": 2},
    ),
    *(
        (
            f"BabyAI-GoToObjMazeS{size}-v0",
            "babyai_goto:GoTo",
            {"num_dists": 1, "room_size": size},
        )
        for size in range(4, 8)
    ),
    ("BabyAI-GoToImpUnlock-v0", "babyai_goto:GoToImpUnlock", {}),
    ("BabyAI-GoToSeq-v0", "babyai_goto:GoToSeq", {}),
    (
        "BabyAI-GoToSeqS5R2-v0",
        "babyai_goto:GoToSeq",
        {"room_size": 5, "num_rows": 2, "num_cols": 2, "num_dists": 4},
    ),
    ("BabyAI-GoToRedBlueBall-v0", "babyai_goto:GoToRedBlueBall", {}),
    ("BabyAI-GoToDoor-v0", "babyai_goto:GoToDoor", {}),
    ("BabyAI-GoToObjDoor-v0", "babyai_goto:GoToObjDoor", {}),
    # BabyAI: doors to open.
    ("BabyAI-Open-v0", "babyai_open:Open", {}),
    ("BabyAI-OpenRedDoor-v0", "babyai_open:OpenRedDoor", {}),
    ("BabyAI-OpenDoor-v0", "babyai_open:OpenDoor", {}),
    ("BabyAI-OpenDoorDebug-v0", "babyai_open:OpenDoor", {"debug": True}),
    ("BabyAI-OpenDoorColor-v0", "babyai_open:OpenDoor", {"select_by": "color"}),
    ("BabyAI-OpenDoorLoc-v0", "babyai_open:OpenDoor", {"select_by": "loc"}),
    ("BabyAI-OpenTwoDoors-v0", "babyai_open:OpenTwoDoors", {}),
    (
        "BabyAI-OpenRedBlueDoors-v0",
        "babyai_open:OpenTwoDoors",
        {"first_color": "red", "second_color": "blue"},
    ),
    (
        "BabyAI-OpenRedBlueDoorsDebug-v0",
        "babyai_open:OpenTwoDoors",
        {"first_color": "red", "second_color": "blue", "strict": True},
    ),
    *(
        (
            f"BabyAI-OpenDoorsOrderN{count}{'Debug' if debug else ''}-v0",
            "babyai_open:OpenDoorsOrder",
            {"num_doors": count, **({"debug": True} if debug else {})},
        )
        for debug in (False, True)
        for count in (2, 4)
    ),
    # BabyAI: an object to pick up.
    ("BabyAI-Pickup-v0", "babyai_pickup:Pickup", {}),
    ("BabyAI-UnblockPickup-v0", "babyai_pickup:UnblockPickup", {}),
    ("BabyAI-PickupLoc-v0", "babyai_pickup:PickupLoc", {}),
    ("BabyAI-PickupDist-v0", "babyai_pickup:PickupDist", {}),
    ("BabyAI-PickupDistDebug-v0", "babyai_pickup:PickupDist", {"debug": True}),
    ("BabyAI-PickupAbove-v0", "babyai_pickup:PickupAbove", {}),
    # BabyAI: an object to move.
    ("BabyAI-PutNextLocal-v0", "babyai_putnext:PutNextLocal", {}),
    *(
        (
            f"BabyAI-PutNextLocalS{size}N{count}-v0",
            "babyai_putnext:PutNextLocal",
            {"room_size": size, "num_objs": count},
        )
        for size, count in ((5, 3), (6, 4))
    ),
    *(
        (
            f"BabyAI-PutNextS{size}N{count}-v0",
            "babyai_putnext:PutNext",
            {"room_size": size, "objs_per_room": count},
        )
        for size, count in ((4, 1), (5, 2), (5, 1), (6, 3), (7, 4))
    ),
    *(
        (
            f"BabyAI-PutNextS{size}N{count}Carrying-v0",
            "babyai_putnext:PutNext",
            {"room_size": size, "objs_per_room": count, "start_carrying": True},
        )
        for size, count in ((5, 2), (6, 3), (7, 4))
    ),
    # BabyAI: locked doors.
    ("BabyAI-Unlock-v0", "babyai_unlock:Unlock", {}),
    ("BabyAI-UnlockLocal-v0", "babyai_unlock:UnlockLocal", {}),
    ("BabyAI-UnlockLocalDist-v0", "babyai_unlock:UnlockLocal", {"distractors": True}),
    ("BabyAI-KeyInBox-v0", "babyai_unlock:KeyInBox", {}),
    ("BabyAI-UnlockPickup-v0", "babyai_unlock:UnlockPickup", {}),
    (
        "BabyAI-UnlockPickupDist-v0",
        "babyai_unlock:UnlockPickup",
        {"distractors": True},
    ),
    ("BabyAI-BlockedUnlockPickup-v0", "babyai_unlock:BlockedUnlockPickup", {}),
    ("BabyAI-UnlockToUnlock-v0", "babyai_unlock:UnlockToUnlock", {}),
    # BabyAI: others.
    ("BabyAI-ActionObjDoor-v0", "babyai_other:ActionObjDoor", {}),
    *(
        (f"BabyAI-FindObjS{size}-v0", "babyai_other:FindObjS5", {"room_size": size})
        for size in (5, 6, 7)
    ),
    ("BabyAI-KeyCorridor-v0", "babyai_other:KeyCorridor", {}),
    *(
        (
            f"BabyAI-KeyCorridorS{size}R{rows}-v0",
            "babyai_other:KeyCorridor",
            {"room_size": size, "num_rows": rows},
        )
        for size, rows in ((3, 1), (3, 2), (3, 3), (4, 3), (5, 3), (6, 3))
    ),
    *(
        (f"BabyAI-OneRoomS{size}-v0", "babyai_other:OneRoomS8", {"room_size": size})
        for size in (8, 12, 16, 20)
    ),
    *(
        (
            f"BabyAI-MoveTwoAcrossS{size}N{count}-v0",
            "babyai_other:MoveTwoAcross",
            {"room_size": size, "objs_per_room": count},
        )
        for size, count in ((5, 2), (8, 9))
    ),
    # BabyAI: any instruction.
    ("BabyAI-Synth-v0", "babyai_synth:Synth", {}),
    ("BabyAI-SynthS5R2-v0", "babyai_synth:Synth", {"room_size": 5, "num_rows": 2}),
    ("BabyAI-SynthLoc-v0", "babyai_synth:SynthLoc", {}),
    ("BabyAI-SynthSeq-v0", "babyai_synth:SynthSeq", {}),
    ("BabyAI-MiniBossLevel-v0", "babyai_synth:MiniBossLevel", {}),
    ("BabyAI-BossLevel-v0", "babyai_synth:BossLevel", {}),
    ("BabyAI-BossLevelNoUnlock-v0", "babyai_synth:BossLevelNoUnlock", {}),
)
