"""ROLL's environments, over ours: the classes of its guide, and those of its pipeline.

The guide's classes take a config object and are stepped one by one; names and defaults
are those of the guide "Customer Env" in ROLL's documentation.  The pipeline's classes
have the interface of GEM's environments that ROLL's environment managers make by name;
`register_gem_envs` registers the names.

In reading order:

=================== ====================================================================
`configs`           ROLL's names and defaults, for keywords of ours
`shared_batch`      one batch for all environments of a process with the same keywords
`evaluation_split`  each episode of an evaluation split once, over all processes
`gem_env`           the base of the pipeline's classes; `register_gem_envs`
`grids`             `SokobanEnv`, `FrozenLakeEnv`, `GemSokobanEnv`, `GemFrozenLakeEnv`
`native`            `GemSokobanNativeEnv`, `GemSokobanToolCallEnv`: messages, a tool
`webshop`           `WebShopEnv`, `GemWebShopEnv`
`countdown`         `CountdownEnv`, `GemCountdownEnv`
=================== ====================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roll_vec.adapters.roll.countdown import (
        CountdownEnv,
        CountdownEnvConfig,
        GemCountdownEnv,
    )
    from roll_vec.adapters.roll.gem_env import register_gem_envs
    from roll_vec.adapters.roll.grids import (
        FrozenLakeEnv,
        FrozenLakeEnvConfig,
        GemFrozenLakeEnv,
        GemSokobanEnv,
        SokobanEnv,
        SokobanEnvConfig,
    )
    from roll_vec.adapters.roll.native import (
        GemSokobanNativeEnv,
        GemSokobanToolCallEnv,
    )
    from roll_vec.adapters.roll.webshop import (
        GemWebShopEnv,
        WebShopEnv,
        WebShopEnvConfig,
    )

__all__ = [
    "CountdownEnv",
    "CountdownEnvConfig",
    "FrozenLakeEnv",
    "FrozenLakeEnvConfig",
    "GemCountdownEnv",
    "GemFrozenLakeEnv",
    "GemSokobanEnv",
    "GemSokobanNativeEnv",
    "GemSokobanToolCallEnv",
    "GemWebShopEnv",
    "SokobanEnv",
    "SokobanEnvConfig",
    "WebShopEnv",
    "WebShopEnvConfig",
    "register_gem_envs",
]

# Each file imports its games alone: WebShop needs no compiled kernels.
_FILES = {
    "Countdown": "countdown",
    "Native": "native",
    "ToolCall": "native",
    "WebShop": "webshop",
    "register": "gem_env",
}

# Hidden from type checkers, which would accept any attribute of this module.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        import importlib

        if name not in __all__:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        file = next((_FILES[word] for word in _FILES if word in name), "grids")
        return getattr(importlib.import_module(f"{__name__}.{file}"), name)
