"""RAGEN's own classes, imported from a checkout without the packages of its trainer.

``ragen/__init__.py`` imports verl, ``ragen/env/__init__.py`` every environment: here
both are packages without contents, and the four environments are registered.  The shop
of WebShop is roll_vec's own behind the names of ``webshop_minimal``, whose data are not
in the checkout: RAGEN's class around it is the real one.
"""

import os
import sys
import types
from pathlib import Path

from roll_vec.envs.webshop import WebShop
from roll_vec.envs.webshop.actions import parse_action

CHECKOUT = Path(os.environ["ROLL_VEC_CHECKOUT"])


class WebAgentTextEnv:
    """The part of webshop_minimal's environment that RAGEN's class uses."""

    def __init__(self, **keywords):
        self.shop = WebShop()
        goals = range(len(self.shop.catalogue.goals))
        self.server = types.SimpleNamespace(goals=goals)
        self.observation = None

    def reset(self, session=None, instruction_text=None):
        options = {"session": session, "instruction_text": instruction_text}
        self.observation, self.info = self.shop.reset(seed=0, options=options)
        return self.observation, None

    def step(self, action):
        self.observation, reward, done, _, self.info = self.shop.step(action)
        return self.observation, reward, done, None

    def get_available_actions(self):
        return self.info["available_actions"]

    def get_instruction_text(self):
        return self.shop.get_instruction_text()

    def close(self):
        self.shop.close()


def package(name, folder=None, **contents):
    """Put a module into the place of a package."""
    module = types.ModuleType(name)
    module.__path__ = [] if folder is None else [str(folder)]
    module.__dict__.update(contents)
    sys.modules[name] = module
    return module


sys.path[:] = [path for path in sys.path if not (Path(path) / "ragen").is_dir()]
package("ragen", CHECKOUT / "ragen")
package("ragen.env", CHECKOUT / "ragen" / "env")
package("webshop_minimal", WebAgentTextEnv=WebAgentTextEnv, init_basedir=lambda _: None)
package("webshop_minimal.engine", parse_action=parse_action)
package("webshop_minimal.utils", DEFAULT_FILE_PATH="")

from ragen.env.countdown.config import CountdownEnvConfig  # noqa: E402
from ragen.env.countdown.env import CountdownEnv  # noqa: E402
from ragen.env.frozen_lake.config import FrozenLakeEnvConfig  # noqa: E402
from ragen.env.frozen_lake.env import FrozenLakeEnv  # noqa: E402
from ragen.env.sokoban.config import SokobanEnvConfig  # noqa: E402
from ragen.env.sokoban.env import SokobanEnv  # noqa: E402
from ragen.env.webshop.config import WebShopEnvConfig  # noqa: E402
from ragen.env.webshop.env import WebShopEnv  # noqa: E402


class WatchedSokoban(SokobanEnv):
    """RAGEN's Sokoban, which counts the attempts of a reset.

    From the second one on the seed is ``hash(str(seed))``, which differs between
    processes.
    """

    attempts = 0

    def reset(self, seed=None, mode=None):
        self.attempts += 1
        return super().reset(seed, mode)


ENVS = {
    "sokoban": WatchedSokoban,
    "frozen_lake": FrozenLakeEnv,
    "countdown": CountdownEnv,
    "webshop": WebShopEnv,
}
ENV_CONFIGS = {
    "sokoban": SokobanEnvConfig,
    "frozen_lake": FrozenLakeEnvConfig,
    "countdown": CountdownEnvConfig,
    "webshop": WebShopEnvConfig,
}
sys.modules["ragen.env"].__dict__.update(
    REGISTERED_ENVS=ENVS, REGISTERED_ENV_CONFIGS=ENV_CONFIGS
)

from ragen.llm_agent.es_manager import EnvStateManager  # noqa: E402,F401
