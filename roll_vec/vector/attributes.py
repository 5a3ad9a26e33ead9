"""Attributes of a batch's environments, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import (
    FrozenAttributeError,
    InvalidOptionError,
)
from roll_vec.vector.calls import one_at_a_time
from roll_vec.vector.engine import Engine
from roll_vec.vector.stream_seeds import StreamSeeds

__all__ = ["BatchAttributes"]


class BatchAttributes(VectorEnv[Any, Any, Any]):
    """Base of `roll_vec.vector.env.RollVectorEnv`: reads attributes of environments.

    `set_attr` raises; pools override it.
    """

    engine: Engine
    _seeds: StreamSeeds
    _is_started: bool

    @property
    def successes(self) -> NDArray[np.bool_]:
        """(num_envs,) bool: whether each environment's last step was a success."""
        return self.engine.successes.copy()

    @property
    def np_random_seed(self) -> tuple[int | None, ...]:  # type: ignore[override]
        """The seed of each environment's stream; None before the first reset."""
        return tuple(self._seeds.values)

    @property  # type: ignore[override]
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """Copies of the generators that the single environments would have.

        A copy draws the numbers that its environment draws next, and does not affect
        the environment.  Before the first reset the generators are seeded by the
        operating system.
        """
        return self.get_attr("np_random")

    @np_random.setter
    def np_random(self, value: Any) -> None:
        self.set_attr("np_random", value)

    @one_at_a_time
    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the attribute ``name`` of each environment, called if it is a method.

        There are the configuration, the state, and the methods of the single
        environment that have no side effect; see `get_attr`.
        """
        if name == "render":
            return self.render_envs(range(self.num_envs)) or (None,) * self.num_envs
        values = self.get_attr(name)
        if not all(callable(value) for value in values):
            return values
        return tuple(value(*args, **kwargs) for value in values)

    @one_at_a_time
    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment as a tuple.

        Raises
        ------
        AttributeError
            Lists the names that exist.
        """
        if name == "np_random_seed":
            return self.np_random_seed
        if name == "np_random" and not self._is_started:
            return tuple(np.random.default_rng() for _ in range(self.num_envs))
        if name in ("observation_space", "action_space"):
            return (getattr(self, f"single_{name}"),) * self.num_envs
        if name in ("metadata", "render_mode", "spec"):
            return (getattr(self, name),) * self.num_envs
        return self.engine.get_attribute(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Raise: an array environment is configured when it is made.

        Raises
        ------
        InvalidOptionError
            If ``values`` is a list or tuple of another length than num_envs.
        FrozenAttributeError
        """
        if isinstance(values, (list, tuple)) and len(values) != self.num_envs:
            accepted = f"{self.num_envs} of them or a single one"
            raise InvalidOptionError.expected("values", accepted, len(values))
        advice = (
            "make a new environment, for instance "
            f"gymnasium.make_vec(id, num_envs={self.num_envs}, {name}=...)"
        )
        if name.startswith("np_random"):
            advice = "reset(seed=...) starts other streams"
        message = f"{name} cannot be set: {advice}"
        raise FrozenAttributeError(message)

    def render_envs(self, indices: Sequence[int] | range) -> tuple[Any, ...] | None:
        """Return a frame of some environments."""
        raise NotImplementedError
