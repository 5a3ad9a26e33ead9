"""The base of the engines of games on grids with a class for the single form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from roll_vec.arrays.engine import StackedEngine
from roll_vec.arrays.grid_observations import GridObserver
from roll_vec.errors import UnsupportedError
from roll_vec.kernels.grids import copy_grids


class GridEngine(StackedEngine):
    """An engine whose environments are grids of codes.

    A subclass gives `grids`, `action_masks`, `_named_variables` and the class
    attributes; the tuples of names are added to those of its bases.
    """

    FLAG_INFOS = ("action_is_effective", "action_is_valid", "success")
    SINGLE: ClassVar[Any]
    """The class of the single environment, which views a row."""
    PER_ENV_ATTRIBUTES: ClassVar[tuple[str, ...]] = ("num_env_steps",)
    """Attributes of the single environment that differ between environments."""
    SHARED_ATTRIBUTES: ClassVar[tuple[str, ...]] = (
        "get_all_actions",
        "get_instructions",
    )
    """Attributes and side-effect-free methods that all environments share."""

    observer: GridObserver

    def __init_subclass__(cls) -> None:
        for table in ("PER_ENV_ATTRIBUTES", "SHARED_ATTRIBUTES"):
            tuples = [owner.__dict__.get(table, ()) for owner in reversed(cls.__mro__)]
            setattr(cls, table, tuple(dict.fromkeys(sum(tuples, ()))))

    def __init__(
        self,
        options: Any,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
        prefetch: bool | None = None,
    ) -> None:
        limits = [max_episode_steps, getattr(options, "max_steps", None)]
        limit = min((limit for limit in limits if limit), default=None)
        super().__init__(options, num_envs, limit, num_threads, prefetch)

    def _observation_space(self) -> Space[Any]:
        return self.observer.space

    def set_level_options(
        self, env_ids: NDArray[np.int64], level_options: Mapping[str, Any]
    ) -> None:
        """Change the levels of next episodes; see `Engine.set_level_options`.

        Raises
        ------
        UnsupportedError
            A game without levels.
        """
        message = (
            f"{self.SINGLE.__name__} has no level options that can change between "
            f"episodes, got {', '.join(level_options) or 'none'} for "
            f"{len(env_ids)} environments: make a new environment"
        )
        raise UnsupportedError(message)

    # ---------------------------------------------------------------- steps

    def _make_observations(
        self, shape: tuple[int, int], out: Any
    ) -> tuple[NDArray[Any], ...]:
        height, width = self.observer.shape
        num_steps, n = shape
        # Grids are written straight into ``out``.
        if out is not None and self.observer.obs_mode == "grid":
            return (out.reshape(num_steps * n, height * width),)
        return (np.empty((num_steps * n, height * width), np.uint8),)

    def _shape_observations(
        self, arrays: tuple[NDArray[Any], ...], shape: tuple[int, ...], out: Any
    ) -> Any:
        return self.observer.observe_steps(arrays[0], shape, out)

    # ---------------------------------------------------------------- state

    def _named_variables(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the state that are the game's own, by name."""
        raise NotImplementedError

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._state_arrays(), **self._named_variables()}

    # ---------------------------------------------------------------- observations

    def grids(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """Return the (n, H, W) codes of all or some environments; not to be written."""
        raise NotImplementedError

    def _observed_grids(
        self, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.uint8]:
        """Return the codes to observe, with `START_MARK` if texts name starts."""
        return self.grids(rows)

    def observe(self, out: Any = None) -> Any:
        """Return the observations of all environments; see `Engine.observe`."""
        if self.observer.obs_mode == "grid":
            return self._copy_grids(out)
        return self.observer.observe(self._observed_grids(), out)

    def _copy_grids(self, out: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        """Return the codes of all environments in a new array, or in ``out``."""
        grids = self.grids()
        if out is None:
            out = np.empty(grids.shape, np.uint8)
        self.kernel_threads.run(copy_grids, len(grids), grids, out)
        return out

    def observe_envs(self, env_ids: NDArray[np.int64]) -> list[Any]:
        """Return the observations of some environments, one by one."""
        return list(self.observer.observe(self._observed_grids(env_ids)))

    def observe_one(self) -> Any:
        """Return the observation of the one environment; see `StackedEngine`."""
        if self.observer.obs_mode == "grid":
            return self.grids()[0].copy()
        return self.observer.observe(self._observed_grids())[0]

    @property
    def are_codes_enough(self) -> bool:
        """Whether grids of cell codes decide observations and frames."""
        # Not the start cells that texts of coordinates name.
        return self.options.own_space is None and self.options.text_format == "grid"

    def draws_frames(self, mode: str) -> bool:
        """Return whether grids of cell codes decide the frames of a mode."""
        return True

    def frames(self, env_ids: NDArray[np.int64], mode: str) -> tuple[Any, ...]:
        """Return a frame of each of some environments."""
        return self.observer.frames(
            self.grids(env_ids), mode, self.options.render_scale
        )

    # ---------------------------------------------------------------- attributes

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an option or another attribute of each environment."""
        rows = range(self.num_envs)
        if name in self.PER_ENV_ATTRIBUTES:
            return tuple(getattr(self.SINGLE.view(self, row), name) for row in rows)
        if name in self.SHARED_ATTRIBUTES:
            return (getattr(self.SINGLE.view(self, 0), name),) * self.num_envs
        return super().get_attribute(name)

    def _attribute_names(self) -> set[str]:
        own = {*self.PER_ENV_ATTRIBUTES, *self.SHARED_ATTRIBUTES}
        return super()._attribute_names() | own
