"""`MixedVectorEnv`: environments of several families as one vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium.vector import VectorEnv

from roll_vec.mixed.engine import Family, MixedEngine
from roll_vec.vector.env import BatchOptions, RollVectorEnv


# skrl looks for VectorEnv among the direct bases.
class MixedVectorEnv(RollVectorEnv, VectorEnv[Any, Any, Any]):
    """Environments of several families, which act by text, in one batch.

    `roll_vec.make_mixed` makes it.  Each family has consecutive environments, and is
    itself a batch of `roll_vec.make_vec`: its results equal to the bit those of that
    batch alone with the same seeds.  An int s seeds environment i with
    ``s + group_ids[i]``.

    Parameters
    ----------
    families : sequence of Family
    batches : sequence of RollVectorEnv
        One a family; they become this environment's own.
    options : BatchOptions
        Its ``group_size`` is not used: each family has its own.

    Attributes
    ----------
    families : dict of str to Family
        By name.
    group_ids : (num_envs,) int64
        The group of each environment, counted through all families.
    group_size : int
        That of all families; 0 if they differ.
    """

    engine: MixedEngine

    def __init__(
        self,
        families: Sequence[Family],
        batches: Sequence[RollVectorEnv],
        options: BatchOptions,
    ) -> None:
        engine = MixedEngine(families, batches)
        # The engine itself knows the groups.
        super().__init__(engine, **{**vars(options), "group_size": 1})
        self.families = {family.name: family for family in families}
        self.group_ids = engine.group_ids.copy()
        sizes = {family.group_size for family in families}
        self.group_size = sizes.pop() if len(sizes) == 1 else 0
