"""`MixedVectorEnv`: environments of several families as one vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.mixed.engine import Family, MixedEngine
from roll_vec.mixed.pending_steps import MixedSteps
from roll_vec.pool.send_recv import SendRecv
from roll_vec.pool.vector import PoolVectorEnv
from roll_vec.seeding import draw_missing_seeds, expand_seeds
from roll_vec.vector.attributes import BatchAttributes
from roll_vec.vector.calls import one_at_a_time
from roll_vec.vector.env import BatchOptions, RollVectorEnv

__all__ = ["MixedVectorEnv"]


# skrl looks for VectorEnv among the direct bases.
class MixedVectorEnv(SendRecv, VectorEnv[Any, Any, Any]):
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
        engine = MixedEngine(families, batches, options.group_id_info)
        # The engine itself knows the groups.
        own = {"group_size": 1, "group_id_info": False}
        super().__init__(engine, **{**vars(options), **own})
        self._pending_steps = MixedSteps(engine, self._autoreset)
        self.group_id_info = options.group_id_info
        self.families = {family.name: family for family in families}
        self.group_ids = engine.group_ids.copy()
        sizes = {family.group_size for family in families}
        self.group_size = sizes.pop() if len(sizes) == 1 else 0

    # --------------------------------------------------------------- seeds

    def _expand_seeds(self, seed: Any) -> list[int | None]:
        """Return one seed an environment; an int s is s + group of each."""
        if not isinstance(seed, (int, np.integer)):
            return expand_seeds(seed, self.num_envs)
        by_group = expand_seeds(seed, int(self.group_ids[-1]) + 1)
        return [by_group[group_id] for group_id in self.group_ids.tolist()]

    def _draw_missing_seeds(self, seeds: list[int | None]) -> list[int | None]:
        """Draw seeds for groups, and for environments that need a first seed."""
        result: list[int | None] = []
        for family, batch in zip(
            self.engine.families, self.engine.batches, strict=True
        ):
            own = [seeds[env_id] for env_id in family.env_ids]
            if family.group_size > 1:
                result += draw_missing_seeds(own, family.group_size)
            else:
                result += batch._draw_missing_seeds(own)
        return result

    # --------------------------------------------------------------- faults

    def _drop_pending(self) -> None:
        super()._drop_pending()
        for pool in self._pools:
            pool._drop_pending()

    def _needs_full_reset(self) -> bool:
        return super()._needs_full_reset() or any(
            pool._needs_full_reset() for pool in self._pools
        )

    def _warn_of_faults(self) -> None:
        for pool in self._pools:
            pool._warn_of_faults()

    @property
    def _pools(self) -> list[PoolVectorEnv]:
        return [one for one in self.engine.batches if isinstance(one, PoolVectorEnv)]

    @property
    def fault_counts(self) -> NDArray[np.int64]:
        """(num_envs,) int64: failed steps and attempts at a reset, by environment."""
        counts = np.zeros(self.num_envs, np.int64)
        for family, batch in zip(
            self.engine.families, self.engine.batches, strict=True
        ):
            if isinstance(batch, PoolVectorEnv):
                counts[family.env_ids.start : family.env_ids.stop] = batch.fault_counts
        return counts

    @property
    def faults(self) -> dict[str, int]:
        """Failed steps and attempts at a reset, by kind; see `PoolVectorEnv.faults`."""
        total: dict[str, int] = {}
        for pool in self._pools:
            for kind, count in pool.faults.items():
                total[kind] = total.get(kind, 0) + count
        return total

    @property
    def abandoned_threads(self) -> int:
        """Number of threads that were left to environments that took too long."""
        return sum(pool.abandoned_threads for pool in self._pools)

    def _snapshot_id(self) -> str:
        return "mixed"

    # ---------------------------------------------------------- attributes

    @one_at_a_time
    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it is a method."""
        self._check_idle("call")
        if name == "render":
            return self.render_envs(range(self.num_envs)) or (None,) * self.num_envs
        values: list[Any] = []
        with self._interruptible():
            for family, batch in zip(
                self.engine.families, self.engine.batches, strict=True
            ):
                if isinstance(batch, PoolVectorEnv):
                    values += batch.call(name, *args, **kwargs)
                    continue
                own = self._stacked_attribute(family, batch, name)
                if all(callable(value) for value in own):
                    own = tuple(value(*args, **kwargs) for value in own)
                values += own
        return tuple(values)

    @one_at_a_time
    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment, as `make_vec`'s batches do."""
        self._check_idle("get_attr")
        values: list[Any] = []
        for family, batch in zip(
            self.engine.families, self.engine.batches, strict=True
        ):
            if isinstance(batch, PoolVectorEnv):
                values += batch.get_attr(name)
            else:
                values += self._stacked_attribute(family, batch, name)
        return tuple(values)

    def _stacked_attribute(
        self, family: Family, batch: RollVectorEnv, name: str
    ) -> tuple[Any, ...]:
        if name == "np_random_seed":
            return tuple(self._seeds.values[i] for i in family.env_ids)
        if name == "np_random" and self._is_started:
            return batch.engine.get_attribute(name)
        return batch.get_attr(name)

    @one_at_a_time
    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment of pools; see `PoolVectorEnv.set_attr`.

        Raises
        ------
        FrozenAttributeError
            If there are families in stacked arrays.
        InvalidOptionError
            If a list or tuple has another length than num_envs.
        """
        self._check_idle("set_attr")
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if self.engine.stacked_ids:
            BatchAttributes.set_attr(self, name, values)
        if len(values) != self.num_envs:
            accepted = f"{self.num_envs} of them or a single one"
            raise InvalidOptionError.expected("values", accepted, len(values))
        with self._interruptible():
            for family, pool in zip(self.engine.families, self._pools, strict=True):
                pool.set_attr(name, [values[env_id] for env_id in family.env_ids])

    @property
    def np_random_seed(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The seed of each environment's stream; None before the first reset."""
        return self.get_attr("np_random_seed")

    def close_extras(self, **kwargs: Any) -> None:
        """Close all families."""
        self._pending_steps.clear()
        super().close_extras(**kwargs)

    @one_at_a_time
    def __getstate__(self) -> dict[str, Any]:
        self._check_idle("pickle")
        return super().__getstate__()
