"""Managers that verl-agent makes of its yaml, with its environments and ours; speed.

``python compare.py FILE`` writes rows, with a checkout of verl-agent.  Ray is a
stand-in within the process, except where speed is measured.
"""

import importlib
import os
import random
import re
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import ray
from omegaconf import OmegaConf
from side_by_side import measure, write

from roll_vec.adapters.verl_agent import build_sokoban_envs
from roll_vec.seeding import retry_seed
from roll_vec.testing.comparison import difference

CHECKOUT = Path(os.environ["ROLL_VEC_CHECKOUT"])
PACKAGES = "agent_system.environments.env_package"
ROOM = {"dim_room": [6, 6], "num_boxes": 1, "max_steps": 5, "search_depth": 100}
SOKOBAN = {"seed": 0, "env_num": 3, "group_n": 2, "mode": "tiny_rgb_array"}
SOKOBAN["env_kwargs"] = ROOM
SEEDS = 0, 1000  # of training and validation
# Instead of those of the script of an example.
SIZES = {"train_data_size": 8, "val_data_size": 12, "group_size": 4}
SIZES |= {"num_cpus_per_env_worker": 0.1}
ANSWERS = [
    *(f"<think>?</think><action>{w}</action>" for w in ("up", "Down", "LEFT", "right")),
    *("<action>still</action>", "<think>?</think><action>jump</action>", "up", ""),
]


def make_actor(instance):
    """Return an object whose methods are called as those of an actor of Ray."""

    class Actor:
        def __getattr__(self, name):
            return SimpleNamespace(remote=getattr(instance, name))

    return Actor()


# Ray in one process: actors are objects, and every call has ended at once.
LOCAL_RAY = SimpleNamespace(
    is_initialized=lambda: True,
    get=lambda results: results,
    kill=lambda actor: None,
    remote=lambda **_: (
        lambda cls: SimpleNamespace(remote=lambda *values: make_actor(cls(*values)))
    ),
)


def load_module(ray=LOCAL_RAY):
    """Return verl-agent's module of the environments of Sokoban, over a Ray."""
    module = importlib.import_module(f"{PACKAGES}.sokoban.envs")
    module.ray = ray
    return module


def load_config(script):
    """Return verl-agent's yaml with the changes that a script of its examples makes.

    Batches are small.
    """
    config = OmegaConf.load(CHECKOUT / "verl/trainer/config/ppo_trainer.yaml")
    text = (CHECKOUT / "examples/gigpo_trainer" / script).read_text("utf-8")
    for name, number in SIZES.items():
        text = re.sub(rf"\${name}\b", str(number), text)
    changes = re.findall(r"^ +((?:data|env)\.[\w.]+=[\w./']+) ", text, re.MULTILINE)
    return OmegaConf.merge(config, OmegaConf.from_dotlist(changes))


class Retries:
    """In the place of Python's salted `hash`: roll_vec's seed after one that fails."""

    def __init__(self):
        self.tries = {}

    def __call__(self, text):
        """Return the seed after this one."""
        seed, number = self.tries.get(int(text), (int(text), 0))
        following = retry_seed(seed, number + 1)
        self.tries[following] = seed, number + 1
        return following


def play_manager(manager):
    """Return the results of random answers through a manager, until each has ended."""
    rng = random.Random(0)
    observations, infos = manager.reset(kwargs=None)
    results, playing = [[observations, infos]], range(len(infos))
    for _ in range(manager.config.env.max_steps):
        observations, *parts = manager.step([rng.choice(ANSWERS) for _ in infos])
        parts += [part for part in observations.values() if part is not None]
        results.append([[part[i] for i in playing] for part in parts])
        playing = [i for i in playing if not parts[1][i]]
    return results


def compare_managers():
    """Return the row of managers that verl-agent makes of its yaml.

    With theirs and with ours; `build_sokoban_envs` is the line that changes.
    """
    load_module()
    package = importlib.import_module(f"{PACKAGES}.sokoban")
    importlib.import_module(f"{PACKAGES}.sokoban.sokoban.env").hash = Retries()
    make_envs = importlib.import_module(
        "agent_system.environments.env_manager"
    ).make_envs
    num_steps = 0
    for mode in ("rgb_array", "tiny_rgb_array"):
        config = load_config("run_sokoban.sh")
        assert config.env.sokoban.mode == "rgb_array"
        config.env.sokoban.mode = mode
        both = []
        for build in (package.build_sokoban_envs, build_sokoban_envs):
            with patch.object(package, "build_sokoban_envs", build):
                managers = make_envs(config)
            plays = []
            for manager, seed in zip(managers, SEEDS, strict=True):
                # Its two batches draw seeds from one global generator.
                np.random.seed(seed)
                plays += [play_manager(manager) for _ in range(2)]
            both.append(plays)
        assert not difference(both[1], both[0])
        num_steps += sum(map(len, both[0]))
    return {
        "what": "Sokoban, both managers of run_sokoban.sh, pictures and texts",
        "result": f"{num_steps} equal results of batches",
    }


def rollout_of(envs):
    """Return a function that plays 15 steps in 16 environments."""

    def work():
        envs.reset()
        for step in range(15):
            envs.step([1 + step % 4] * 16)
        return 15 * 16

    return work


def measure_sokoban():
    """Return the row of rollouts, theirs in 16 actors of Ray."""
    ray.init(include_dashboard=False, log_to_driver=False)
    arguments = SOKOBAN | {"env_num": 4, "group_n": 4, "is_train": False}
    builds = load_module(ray).build_sokoban_envs, build_sokoban_envs
    room = ROOM | {"max_steps": 15, "search_depth": 30}
    theirs, ours = (build(**arguments | {"env_kwargs": dict(room)}) for build in builds)
    what = "Sokoban, 16 environments, rollouts of 15 steps"
    works = rollout_of(theirs), rollout_of(ours)
    row = measure(what, *works, result="beside an actor of Ray an environment")
    theirs.close()
    # Its batch closes itself once more when it is collected, and Ray would abort.
    theirs.workers.clear()
    ray.shutdown()
    return row


if __name__ == "__main__":
    write([compare_managers(), measure_sokoban()])
