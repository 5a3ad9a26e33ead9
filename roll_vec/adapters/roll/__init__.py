"""ROLL's environments, over ours: the classes of its guide, and those of its pipeline.

The guide's classes accept a config object and are stepped one by one; names and
defaults are those of the guide "Customer Env" in ROLL's documentation.  Its base
classes, for environments of users, are here as well.  The pipeline's classes have the
interface of GEM's environments that ROLL's environment managers make by name;
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
`countdown`         `CountdownEnv`
=================== ====================================================================
"""

from roll_vec.adapters.roll.countdown import CountdownEnv, CountdownEnvConfig
from roll_vec.adapters.roll.gem_env import register_gem_envs
from roll_vec.adapters.roll.grids import (
    FrozenLakeEnv,
    FrozenLakeEnvConfig,
    GemFrozenLakeEnv,
    GemSokobanEnv,
    SokobanEnv,
    SokobanEnvConfig,
)
from roll_vec.adapters.roll.native import GemSokobanNativeEnv, GemSokobanToolCallEnv
from roll_vec.adapters.roll.webshop import GemWebShopEnv, WebShopEnv, WebShopEnvConfig
from roll_vec.objects.base_envs import BaseDiscreteActionEnv, BaseLanguageBasedEnv

__all__ = [
    "BaseDiscreteActionEnv",
    "BaseLanguageBasedEnv",
    "CountdownEnv",
    "CountdownEnvConfig",
    "FrozenLakeEnv",
    "FrozenLakeEnvConfig",
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
