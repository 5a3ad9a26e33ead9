"""ROLL's `FrozenLakeEnv`: a config object, text to observe, ROLL's names.

Names and defaults are those of ROLL's custom environment guide.  Rules, maps and
rewards are those of the single environment that the class extends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from roll_vec.adapters.roll.configs import GridConfig, make_config
from roll_vec.adapters.roll.grid_env import MAX_STEPS, RollGridEnv
from roll_vec.envs.frozen_lake import RandomFrozenLake, RandomFrozenLakeOptions
from roll_vec.options import takes_keywords_of
from roll_vec.seeding import check_seed


@dataclass
class FrozenLakeEnvConfig(GridConfig):
    """ROLL's configuration of FrozenLake, see `RandomFrozenLakeOptions`.

    ``map_seed`` is the seed of the first episode if `reset` gets none.  ``levels`` are
    played in place of random maps; ``size`` becomes their number of rows.
    """

    OPTIONS: ClassVar[type[Any]] = RandomFrozenLakeOptions
    TAKEN: ClassVar[tuple[str, ...]] = ("size", "levels")

    size: int = RandomFrozenLakeOptions.size
    p: float = RandomFrozenLakeOptions.p
    is_slippery: bool = RandomFrozenLakeOptions.is_slippery
    max_steps: int = MAX_STEPS
    map_seed: int | None = None
    grid_lookup: Mapping[int, str] | None = None
    grid_vocab: Mapping[str, str] | None = None
    action_lookup: Mapping[int, str] | None = None
    render_mode: str = "text"
    levels: Any = None

    def __post_init__(self) -> None:
        if self.map_seed is not None:
            self.map_seed = check_seed(self.map_seed)
        super().__post_init__()


class FrozenLakeEnv(RollGridEnv, RandomFrozenLake):
    """FrozenLake for users of ROLL: ``FrozenLakeEnv(config)``.

    Parameters
    ----------
    config : FrozenLakeEnvConfig, mapping or None
        A mapping has fields of the configuration; None: the defaults.
    **keywords
        Fields that replace those of ``config``, which is not changed.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    @takes_keywords_of(FrozenLakeEnvConfig)
    def __init__(
        self,
        config: FrozenLakeEnvConfig | Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> None:
        if keywords.get("levels") is not None:
            # They have a size of their own.
            keywords = {"size": FrozenLakeEnvConfig.size, **keywords}
        config = make_config(FrozenLakeEnvConfig, config, keywords)
        RandomFrozenLake.__init__(self, **config.batch_keywords())
        self._set_config(config)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode; without a seed, the first one has ``map_seed``."""
        if seed is None and not self._has_started:
            seed = self.config.map_seed
        return super().reset(seed, options)
