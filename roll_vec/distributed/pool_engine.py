"""The engine over shards whose environments are objects."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.distributed.engine import Ids, ShardsEngine
from roll_vec.distributed.messages import Operation
from roll_vec.distributed.shards import Dead, Shards
from roll_vec.pool.actions import check_action_batch
from roll_vec.pool.observations import Observations, copy_data

__all__ = ["PoolShardsEngine"]


class PoolShardsEngine(ShardsEngine):
    """Pools of environment objects in shards.

    Parameters
    ----------
    make_shards, sizes, mode
        See `ShardsEngine`.
    """

    def __init__(
        self,
        make_shards: Callable[..., Shards],
        sizes: Sequence[int],
        mode: AutoresetMode,
    ) -> None:
        super().__init__(make_shards, sizes, mode)
        description = self.describe()
        self.set_spaces(description)
        self.spec = description.spec
        self.accepts_noop = description.accepts_noop
        self.raises_faults = description.raises_faults
        self._configuration = description.configuration
        self.observations = Observations(self.single_observation_space, self.num_envs)

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return one action an environment; see `check_action_batch`."""
        return check_action_batch(
            self.single_action_space,
            self.action_space,
            actions,
            skip_mask,
            self.accepts_noop,
        )

    def _set_observations(self, shard: int, observations: Any) -> None:
        first = int(self.starts[shard])
        for local_id, observation in enumerate(observations):
            self.observations.set_latest(first + local_id, observation)

    def observe(self, out: Any = None) -> Any:  # noqa: ARG002
        """Return a new batch of all observations; ``out`` is not used."""
        batch = self.observations.batch()
        return batch if self.observations.is_text else copy.deepcopy(batch)

    def observe_without_copy(self) -> Any:
        """Return the batch of all observations; the next step writes into it."""
        return self.observations.batch()

    def observe_envs(self, env_ids: Ids) -> list[Any]:
        """Return observations of some environments, of an ended episode its last."""
        result: list[Any] = []
        for shard, _, ids in self.parts(env_ids):
            finals = {}
            if shard in self._finals:
                final_ids, values = self._finals[shard]
                finals = dict(zip(final_ids.tolist(), values, strict=True))
            for local_id in ids.tolist():
                env_id = int(self.starts[shard]) + local_id
                latest = self.observations.latest[env_id]
                result.append(copy_data(finals.get(local_id, latest)))
        return result

    def frames(self, env_ids: Ids, mode: str) -> tuple[Any, ...]:
        """Return the results of `render`; None in a shard that is lost."""
        frames: list[Any] = []
        for _, _, ids, value in self._ask_parts(env_ids, "frames", mode):
            frames += [None] * len(ids) if isinstance(value, Dead) else list(value)
        return tuple(frames)

    def configuration(self) -> dict[str, Any]:
        """Return the keywords that batches must share; see `Engine.configuration`."""
        return self._configuration

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it can be called."""
        return self.call(name, (), {})

    def call(
        self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it can be called.

        None in a shard that is lost.
        """
        return self.join(self.ask_all("call", name, arguments, keywords))

    def set_attr(self, name: str, values: Sequence[Any]) -> None:
        """Set an attribute of each environment, also of those made later."""
        operations = {
            shard: Operation("set_attr", (name, list(values[self.rows(shard)])))
            for shard in range(len(self.shards))
        }
        self._ask(operations)

    @property
    def fault_counts(self) -> NDArray[np.int64]:
        """(num_envs,) int64: failed steps and attempts at a reset."""
        counts = np.zeros(self.num_envs, np.int64)
        for shard, value in self.ask_all("count_faults").items():
            if not isinstance(value, Dead):
                counts[self.rows(shard)] = value[0]
        return counts

    @property
    def faults(self) -> dict[str, int]:
        """Failed steps and attempts at a reset, by kind."""
        total: dict[str, int] = {}
        for value in self.ask_all("count_faults").values():
            if not isinstance(value, Dead):
                for kind, count in value[1].items():
                    total[kind] = total.get(kind, 0) + count
        return total
