"""RAGEN's environments and its manager of groups, on batches.

RAGEN (commit 20daedc) has two interfaces, and both are here: `REGISTERED_ENVS` with
`REGISTERED_ENV_CONFIGS`, the classes of ``ragen/env/__init__.py``, and
`EnvStateManager`, which steps the groups of a rollout.  Nothing here imports RAGEN.

- `configs`: the configurations, with RAGEN's names and defaults.
- `coordinate_texts`: the texts of grids as lists of coordinates.
- `batches`: the environments of one tag of a RAGEN config, in one vector environment.
- `envs`: the classes of single environments, batches of one.
- `manager`: `EnvStateManager`.
- `metrics`: the metrics of its rollouts.
"""

from roll_vec.adapters.ragen.configs import (
    CountdownEnvConfig,
    FrozenLakeEnvConfig,
    SokobanEnvConfig,
    WebShopEnvConfig,
)
from roll_vec.adapters.ragen.envs import (
    REGISTERED_ENV_CONFIGS,
    REGISTERED_ENVS,
    CountdownEnv,
    FrozenLakeEnv,
    SokobanEnv,
    WebShopEnv,
)
from roll_vec.adapters.ragen.manager import EnvStateManager, EnvStatus

__all__ = [
    "REGISTERED_ENVS",
    "REGISTERED_ENV_CONFIGS",
    "CountdownEnv",
    "CountdownEnvConfig",
    "EnvStateManager",
    "EnvStatus",
    "FrozenLakeEnv",
    "FrozenLakeEnvConfig",
    "SokobanEnv",
    "SokobanEnvConfig",
    "WebShopEnv",
    "WebShopEnvConfig",
]
