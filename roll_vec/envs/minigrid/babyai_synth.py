"""BabyAI's levels with any instruction: MiniGrid's ``envs/babyai/synth.py``."""

from __future__ import annotations

from roll_vec.envs.minigrid.babyai_level_gen import LevelGen


class Synth(LevelGen):
    """Go to, pick up, open or move things, without going into the locked room."""

    instr_kinds: tuple[str, ...] = ("action",)
    locations: bool = False
    implicit_unlock: bool = False


class SynthLoc(Synth):
    """Go to, pick up, open or move things, which may be named by their places."""

    locations: bool = True


class SynthSeq(LevelGen):
    """Do what the mission says, without going into the locked room."""

    implicit_unlock: bool = False


class MiniBossLevel(LevelGen):
    """Do what the mission says: any of BabyAI's instructions, in small rooms."""

    room_size: int = 5
    num_rows: int = 2
    num_cols: int = 2
    num_dists: int = 7
    locked_room_prob: float = 0.25


class BossLevel(LevelGen):
    """Do what the mission says: any of BabyAI's instructions."""


class BossLevelNoUnlock(LevelGen):
    """Do what the mission says: any of BabyAI's instructions, without a locked room."""

    locked_room_prob: float = 0.0
    implicit_unlock: bool = False
