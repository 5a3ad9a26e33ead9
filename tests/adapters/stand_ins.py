"""Stand-ins for the packages that adapters extend: the parts that the adapters use.

`make test-adapters` runs the adapters beside the packages themselves.
"""

import json
import random
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace

import gymnasium
import numpy as np
import pytest

from roll_vec.adapters import ragen

DATA = Path(__file__).parent / "data"


def read_json(name):
    """Return what a program of tests/frameworks has recorded."""
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


# --------------------------------------------------------------- RAGEN and gym-sokoban


class Config(dict):
    """A dict with attributes, as RAGEN's configs are."""

    __getattr__ = dict.__getitem__


def as_config(values):
    if not isinstance(values, dict):
        return values
    return Config({key: as_config(value) for key, value in values.items()})


def make_manager(mode="train", tags=(), **changes):
    """Return a manager with the config of the record."""
    config = as_config(read_json("ragen")["manager"]["config"])
    config.es_manager["val"] = config.es_manager.train
    config.custom_envs.update(as_config(dict(tags)))
    config.update(as_config(changes))
    return ragen.EnvStateManager(config, mode)


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


# ------------------------------------------------------------------------------- GEM


class Number:
    """The game of data/gem.json: gem-llm 0.1.0, ``game:GuessTheNumber-v0-hard``."""

    def __init__(self, low=1, high=50):
        self.low, self.high = low, high
        self.reset()

    def reset(self, seed=None):
        draws = sys.modules["gem.numbers"].random
        if seed is not None:
            draws.seed(seed)
        self.number = draws.randint(self.low, self.high)
        self.turn = 0
        return read_json("gem")["reset"][0], {"suffix": "Enter your next guess."}

    def step(self, action):
        self.turn += 1
        if action == "break":
            raise RuntimeError("broken")
        guess = re.search(r"\\boxed{(\d+)}", action)
        info = {"suffix": "Enter your next guess."}
        if guess is None:
            text = f"At turn {self.turn}, you did not provide a valid guess."
            return text, -0.1, True, False, info
        value = int(guess[1])
        if value == self.number:
            text = (
                f"Congratulations! You guessed the correct number {value} in "
                f"{self.turn} turns."
            )
            return text, 1.0, True, False, info
        hint = "lower" if value > self.number else "higher"
        text = (
            f"At turn {self.turn}, you guessed {value}, and the target number is "
            f"{hint} than {value}."
        )
        return text, 0.0, False, self.turn > 8, info

    def sample_random_action(self):
        draws = sys.modules["gem.numbers"].random
        return f"\\boxed{{{draws.randint(self.low, self.high)}}}"


class Loud:
    """A wrapper of GEM's kind."""

    def __init__(self, env):
        self.env = env

    def reset(self, seed=None):
        text, info = self.env.reset(seed)
        return text.upper(), info


# --------------------------------------------------------------------- reasoning-gym


class Recorded:
    """``spiral_matrix`` of reasoning-gym 0.1.25, seed 0; scores evaluate lists."""

    def __init__(self, seed=None, size=3):
        assert seed == 0, "a seed"
        assert size > 0, "size must be positive"
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        entry = read_json("reasoning_gym")["entries"][index % 3]
        draw = sys.modules["reasoning_gym.data_sets"].random.random()
        return {**entry, "draw": draw}

    def score_answer(self, answer, entry):
        if answer == entry["answer"]:
            return 1.0
        try:
            text = " ".join(map(str, eval(answer)))
        except Exception:
            return 0.0
        return 0.1 if text == entry["answer"] else 0.0


def parse_expr(text):
    """Stand for sympy's."""
    return eval(text)


class Calculated(Recorded):
    """Its score runs answers as code."""

    def score_answer(self, answer, entry):
        return float(parse_expr(answer) == 24)


SETS = {"matrix": Recorded, "puzzle": Calculated, "composite": Recorded}
for cls in SETS.values():
    cls.__module__ = "reasoning_gym.data_sets"

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
    "gem": {},
    "gem.numbers": {"random": random, "Number": Number},
    "gem.envs": {},
    "gem.envs.registration": {
        "ENV_REGISTRY": {
            "game:Number-v0": SimpleNamespace(entry_point="gem.numbers:Number")
        },
        "make": lambda env_id, **keywords: Number(**keywords),
    },
    "reasoning_gym": {},
    "reasoning_gym.data_sets": {"random": random},
    "reasoning_gym.factory": {
        # A class and the class of its config.
        "DATASETS": {name: (cls, dict) for name, cls in SETS.items()},
        "create_dataset": lambda name, **config: SETS[name](**config),
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
        yield
        for name in ADAPTERS:
            sys.modules.pop(f"roll_vec.adapters.{name}", None)
