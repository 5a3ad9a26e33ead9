"""The table of MiniGrid's and BabyAI's ids: a game and its keywords for each."""

from __future__ import annotations

from typing import Any

# The id, ``module:class`` in `roll_vec.envs.minigrid`, and the keywords.
IDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    *(
        (f"MiniGrid-DoorKey-{size}x{size}-v0", "door_key:DoorKey", {"size": size})
        for size in (5, 6, 8, 16)
    ),
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
