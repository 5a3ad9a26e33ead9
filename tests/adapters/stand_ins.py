"""Stand-ins for the packages that adapters extend: the parts that the adapters use.

`make test-adapters` runs the adapters beside the packages themselves.
"""

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace

import gymnasium
import numpy as np
import pytest

from roll_vec.adapters.tiles import load_sokoban_tiles

DATA = Path(__file__).parent / "data"


def read_json(name):
    """Return what a framework has answered, as it was recorded."""
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


# ----------------------------------------------------------------------- gym-sokoban


def room_to_rgb(room):
    """Of gym-sokoban, with other tiles."""
    tiles = np.arange(7 * 16 * 16 * 3).reshape(7, 16, 16, 3) % 251
    return np.block([[[tiles[code]] for code in row] for row in room])


# ----------------------------------------------------------------- Stable-Baselines3


class VecEnv:
    """Of Stable-Baselines3."""

    def __init__(self, num_envs, observation_space, action_space):
        self.num_envs = num_envs
        self.observation_space, self.action_space = observation_space, action_space
        self.reset_infos = [{} for _ in range(num_envs)]
        self._reset_seeds()
        self._reset_options()
        self.render_mode = self.get_attr("render_mode")[0]

    def _reset_seeds(self):
        self._seeds = [None] * self.num_envs

    def _reset_options(self):
        self._options = [{} for _ in range(self.num_envs)]

    def has_attr(self, name):
        try:
            self.get_attr(name)
        except AttributeError:
            return False
        return True

    def step(self, actions):
        self.step_async(actions)
        return self.step_wait()

    def _get_indices(self, indices):
        if indices is None:
            return range(self.num_envs)
        return [indices] if isinstance(indices, int) else indices


class Monitor(gymnasium.Wrapper):
    """In name only."""


class Counter(gymnasium.Env):
    """Counts its steps from an option."""

    observation_space = gymnasium.spaces.Dict(n=gymnasium.spaces.Discrete(100))
    action_space = gymnasium.spaces.Discrete(3)
    level = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = (options or {}).get("start", 0)
        return {"n": self.count}, {}

    def step(self, action):
        self.count += 1
        return {"n": self.count}, float(action), self.count in (2, 9), False, {}


# ---------------------------------------------------------------------------- OpenEnv


class Model:
    """Fields with defaults, as a pydantic model that forbids others."""

    metadata = None

    def __init__(self, **values):
        names = [name for name in dir(type(self)) if not name.startswith("_")]
        assert values.keys() <= set(names)
        vars(self).update({name: getattr(self, name) for name in names}, **values)
        self.metadata = self.metadata or {}


class Action(Model):
    pass


class Observation(Model):
    done = False
    reward = None


class State(SimpleNamespace):
    def __init__(self, **values):
        super().__init__(**{"episode_id": None, "step_count": 0, **values})


class Plain:
    pass


def create_app(env, action_cls, observation_cls, **options):
    app = SimpleNamespace(
        state=SimpleNamespace(), env=env, action_cls=action_cls, options=options
    )
    app.add_middleware = lambda cls, **more: vars(app).update(guard=cls(None, **more))
    return app


# ----------------------------------------------------------------------- all of them

MODULES = {
    "stable_baselines3": {},
    "stable_baselines3.common": {},
    "stable_baselines3.common.monitor": {"Monitor": Monitor},
    "stable_baselines3.common.vec_env": {},
    "stable_baselines3.common.vec_env.base_vec_env": {"VecEnv": VecEnv},
    "gym_sokoban": {},
    "gym_sokoban.envs": {},
    "gym_sokoban.envs.render_utils": {"room_to_rgb": room_to_rgb},
    "openenv": {},
    "openenv.core": {"EnvClient": Plain},
    "openenv.core.client_types": {"StepResult": SimpleNamespace},
    "openenv.core.env_server": {"http_server": SimpleNamespace(create_app=create_app)},
    "openenv.core.env_server.interfaces": {"Environment": Plain},
    "openenv.core.env_server.types": {
        "Action": Action,
        "Observation": Observation,
        "State": State,
    },
}
# Those whose classes extend the packages'.
ADAPTERS = ("sb3", "openenv")


@contextmanager
def installed():
    """Put the stand-ins in the place of the packages."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ADAPTERS:
            patch.delitem(sys.modules, f"roll_vec.adapters.{name}", raising=False)
        for name, values in MODULES.items():
            module = ModuleType(name)
            vars(module).update(values)
            patch.setitem(sys.modules, name, module)
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)
        load_sokoban_tiles.cache_clear()
        yield
        load_sokoban_tiles.cache_clear()
        for name in ADAPTERS:
            sys.modules.pop(f"roll_vec.adapters.{name}", None)
