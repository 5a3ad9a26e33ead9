"""RAGEN's own classes, imported from a checkout without the packages of its trainer.

``ragen/__init__.py`` imports verl, ``ragen/env/__init__.py`` every environment: here
both are packages without contents, and three environments are registered.
"""

import os
import sys
import types
from pathlib import Path

CHECKOUT = Path(os.environ["ROLL_VEC_CHECKOUT"])


def package(name, folder):
    """Put a module without contents into the place of a package."""
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [str(folder)]
    return module


package("ragen", CHECKOUT / "ragen")
registry = package("ragen.env", CHECKOUT / "ragen" / "env")

from ragen.env.countdown.config import CountdownEnvConfig  # noqa: E402
from ragen.env.countdown.env import CountdownEnv  # noqa: E402
from ragen.env.frozen_lake.config import FrozenLakeEnvConfig  # noqa: E402
from ragen.env.frozen_lake.env import FrozenLakeEnv  # noqa: E402
from ragen.env.sokoban.config import SokobanEnvConfig  # noqa: E402
from ragen.env.sokoban.env import SokobanEnv  # noqa: E402


class WatchedSokoban(SokobanEnv):
    """RAGEN's Sokoban, which counts the attempts of a reset.

    From the second one on the seed is ``hash(str(seed))``, which differs between
    processes.
    """

    attempts = 0

    def reset(self, seed=None, mode=None):
        self.attempts += 1
        return super().reset(seed, mode)


ENVS = registry.REGISTERED_ENVS = {
    "sokoban": WatchedSokoban,
    "frozen_lake": FrozenLakeEnv,
    "countdown": CountdownEnv,
}
ENV_CONFIGS = registry.REGISTERED_ENV_CONFIGS = {
    "sokoban": SokobanEnvConfig,
    "frozen_lake": FrozenLakeEnvConfig,
    "countdown": CountdownEnvConfig,
}

from ragen.llm_agent.es_manager import EnvStateManager  # noqa: E402,F401
