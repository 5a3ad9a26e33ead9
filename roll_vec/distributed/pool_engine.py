"""The engine over shards whose environments are objects."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.distributed.engine import ShardsEngine
from roll_vec.distributed.shards import Shards
from roll_vec.distributed.steps import ShardsSteps
from roll_vec.pool.actions import check_action_batch
from roll_vec.pool.observations import Observations, copy_data
from roll_vec.vector.composite import Ids


class PoolShardsEngine(ShardsEngine):
    """Pools of environment objects in shards.

    Parameters
    ----------
    make_shards, sizes, mode
        See `ShardsEngine`.
    """

    has_objects = True

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
        self._accepts_noop = description.accepts_noop
        self.raises_faults = description.raises_faults
        self._configuration = description.configuration
        self.observations = Observations(self.single_observation_space, self.num_envs)

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return one action for each of some environments; see `check_action_batch`."""
        single = self.single_action_space
        space = batch_space(single, len(skip_mask))
        return check_action_batch(single, space, actions, skip_mask, self._accepts_noop)

    def check_some(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return copies of actions of some environments; see `Engine.check_some`."""
        return [copy_data(one) for one in self.check_actions(actions, skip_mask)]

    def make_steps(self) -> ShardsSteps:
        """Return an object that begins steps of some environments."""
        return ShardsSteps(self)

    def _set_observations(self, shard: int, observations: Any) -> None:
        first = self.starts[shard]
        for local_id, observation in enumerate(observations):
            self.observations.set_latest(first + local_id, observation)

    def observe(self) -> Any:
        """Return a new batch of all observations."""
        batch = self.observations.batch()
        return batch if self.observations.is_text else copy.deepcopy(batch)

    def observe_in_place(self) -> Any:
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
                latest = self.observations.latest[self.starts[shard] + local_id]
                result.append(copy_data(finals.get(local_id, latest)))
        return result

    def configuration(self) -> dict[str, Any]:
        """Return the keywords that batches must share; see `Engine.configuration`."""
        return self._configuration

    def find_attribute(self, name: str, known: Any) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it can be called."""
        return self.call(name, (), {}, known)

    def call(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        known: Any,  # noqa: ARG002
    ) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it can be called.

        None in a shard that is lost.
        """
        return tuple(self.join(self.ask_all("call", name, args, kwargs)))
