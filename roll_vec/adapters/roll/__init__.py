"""ROLL's environments, over ours: the classes of its guide, and those of its pipeline.

The guide's classes take a config object and are stepped one by one; names and defaults
are those of the guide "Customer Env" in ROLL's documentation.  The pipeline's classes
have the interface of GEM's environments that ROLL's environment managers make by name;
`register_gem_envs` registers the names.

In reading order:

================  =====================================================================
`configs`         the base of configurations, and values of a yaml
`grid_env`        the methods that ROLL adds to Sokoban and FrozenLake
`sokoban`         `SokobanEnv`, `SokobanEnvConfig`
`frozen_lake`     `FrozenLakeEnv`, `FrozenLakeEnvConfig`
`webshop`         `WebShopEnv`, `WebShopEnvConfig`
`countdown`       `CountdownEnv`, `CountdownEnvConfig`
`shared_batch`    one batch for all environments of a process with the same keywords
`answer_options`  the keywords of a model's answers
`gem_env`         the base of the pipeline's classes
`gem_grid_env`    the base of its Sokoban and FrozenLake
`gem_sokoban`     `GemSokobanEnv`; likewise `gem_frozen_lake`, `gem_webshop`,
                  `gem_countdown`
`registration`    `register_gem_envs`, the names in a ROLL yaml
================  =====================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roll_vec.adapters.roll.countdown import CountdownEnv, CountdownEnvConfig
    from roll_vec.adapters.roll.frozen_lake import FrozenLakeEnv, FrozenLakeEnvConfig
    from roll_vec.adapters.roll.gem_countdown import GemCountdownEnv
    from roll_vec.adapters.roll.gem_frozen_lake import GemFrozenLakeEnv
    from roll_vec.adapters.roll.gem_sokoban import GemSokobanEnv
    from roll_vec.adapters.roll.gem_webshop import GemWebShopEnv
    from roll_vec.adapters.roll.registration import register_gem_envs
    from roll_vec.adapters.roll.sokoban import SokobanEnv, SokobanEnvConfig
    from roll_vec.adapters.roll.webshop import WebShopEnv, WebShopEnvConfig

__all__ = [
    "CountdownEnv",
    "CountdownEnvConfig",
    "FrozenLakeEnv",
    "FrozenLakeEnvConfig",
    "GemCountdownEnv",
    "GemFrozenLakeEnv",
    "GemSokobanEnv",
    "GemWebShopEnv",
    "SokobanEnv",
    "SokobanEnvConfig",
    "WebShopEnv",
    "WebShopEnvConfig",
    "register_gem_envs",
]

_FILE_OF = {
    "CountdownEnv": "countdown",
    "CountdownEnvConfig": "countdown",
    "FrozenLakeEnv": "frozen_lake",
    "FrozenLakeEnvConfig": "frozen_lake",
    "GemCountdownEnv": "gem_countdown",
    "GemFrozenLakeEnv": "gem_frozen_lake",
    "GemSokobanEnv": "gem_sokoban",
    "GemWebShopEnv": "gem_webshop",
    "SokobanEnv": "sokoban",
    "SokobanEnvConfig": "sokoban",
    "WebShopEnv": "webshop",
    "WebShopEnvConfig": "webshop",
    "register_gem_envs": "registration",
}

# Each class imports its game alone.  Hidden from type checkers, which would accept any
# attribute of this module.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        import importlib

        if name not in _FILE_OF:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        module = importlib.import_module(f"{__name__}.{_FILE_OF[name]}")
        return getattr(module, name)
