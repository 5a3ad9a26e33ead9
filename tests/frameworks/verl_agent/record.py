"""Short transcripts of verl-agent; speed.

``python record.py FOLDER`` writes transcripts and rows, with a checkout of verl-agent.
Ray is a stand-in within the process, except where speed is measured.
"""

import importlib
import os
import random
import re
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import demo_shop
import numpy as np
import ray
from omegaconf import OmegaConf
from side_by_side import assert_same, measure, write

from roll_vec.adapters.verl_agent import build_sokoban_envs, build_webshop_envs
from roll_vec.seeding import retry_seed

CHECKOUT = Path(os.environ["ROLL_VEC_CHECKOUT"])
PACKAGES = "agent_system.environments.env_package"
ROOM = {"dim_room": [6, 6], "num_boxes": 1, "max_steps": 5, "search_depth": 100}
SOKOBAN = {"seed": 0, "env_num": 3, "group_n": 2, "mode": "tiny_rgb_array"}
SOKOBAN["env_kwargs"] = ROOM
# WebShop's seed of the shuffle.  An actor of verl-agent shuffles by its own seed, and
# draws prices and limits by it: with this seed its shop is WebShop's, and ours.
SEED = 233
SEEDS = 0, 1000  # of training and validation
# Instead of those of the script of an example.
SIZES = {"train_data_size": 8, "val_data_size": 12, "group_size": 4}
SIZES |= {"num_cpus_per_env_worker": 0.1}
ANSWERS = [
    *(f"<think>?</think><action>{w}</action>" for w in ("up", "Down", "LEFT", "right")),
    *("<action>still</action>", "<think>?</think><action>jump</action>", "up", ""),
]
WEBSHOP = {"seed": SEED, "env_num": 1, "group_n": 1, "is_train": False}


class LocalRay:
    """Ray in one process: actors are objects, and every call has ended at once."""

    is_initialized = staticmethod(lambda: True)
    get = staticmethod(lambda results: results)
    kill = staticmethod(lambda actor: None)

    @staticmethod
    def remote(**resources):
        """Return a decorator of an actor's class."""
        del resources
        return lambda cls: SimpleNamespace(
            remote=lambda *arguments: LocalActor(cls(*arguments))
        )


class LocalActor:
    """An object whose methods are called as those of an actor."""

    def __init__(self, instance):
        self.instance = instance

    def __getattr__(self, name):
        return SimpleNamespace(remote=getattr(self.instance, name))


def load_module(game, ray=LocalRay):
    """Return verl-agent's module of the environments of a game, over a Ray."""
    module = importlib.import_module(f"{PACKAGES}.{game}.envs")
    module.ray = ray
    return module


def load_webshop(people):
    """Return its module of WebShop, with the file of people's instructions."""
    site = CHECKOUT / PACKAGES.replace(".", "/") / "webshop" / "webshop"
    sys.path.insert(0, str(site))
    # verl-agent has fixed its place.
    engine = importlib.import_module("web_agent_site.engine.engine")
    engine.HUMAN_ATTR_PATH = str(people)
    return load_module("webshop")


def record(envs, scripts):
    """Return the results of a batch; None for environments that have ended."""
    observations, infos = envs.reset()
    done, steps = [False] * len(infos), []
    for actions in zip(*scripts, strict=True):
        results = list(zip(*envs.step(list(actions)), strict=True))
        steps.append([None if d else r for d, r in zip(done, results, strict=True)])
        done = [d or r[2] for d, r in zip(done, results, strict=True)]
    reset = list(zip(observations, infos, strict=True))
    return {"scripts": scripts, "reset": reset, "steps": steps}


def record_sokoban():
    """Return a record in which a room is solved."""
    envs = load_module("sokoban").build_sokoban_envs(
        **SOKOBAN | {"env_kwargs": dict(ROOM)}
    )
    ours = build_sokoban_envs(**SOKOBAN)
    ours.reset()
    scripts = [
        [*plan, 1, 1, 0, 2, 3, 4, 1][:7] if i % 2 == 0 else [0, 1, 2, 0, 3, 4, 1]
        for i, plan in enumerate(map(list, ours.envs.solve()))
    ]
    scripts = [[int(action) for action in script] for script in scripts]
    return {"arguments": SOKOBAN, **record(envs, scripts)}


def record_webshop(folder):
    """Return a record of a perfect purchase."""
    products, attributes, people = demo_shop.write_files(folder, 100)
    demo_shop.replace_modules(100)
    ours = build_webshop_envs(
        **WEBSHOP, env_kwargs={"num_products": 100, "catalog_seed": SEED}
    )
    ours.reset()
    plan = ours.envs.solve()[0]
    script = ["think", *plan[:2], "click[description]", "click[< prev]", *plan[2:]]
    theirs = load_webshop(people).build_webshop_envs(
        **WEBSHOP,
        resources_per_worker={},
        env_kwargs={
            "observation_mode": "text",
            "num_products": None,
            "human_goals": False,
            "file_path": str(products),
            "attr_path": str(attributes),
            # Gymnasium's predecessor would refuse the shop, which has no spaces.
            "disable_env_checker": True,
        },
    )
    return {"arguments": WEBSHOP, **record(theirs, [script])}


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
    load_module("sokoban")
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
        assert_same(both[1], both[0])
        num_steps += sum(map(len, both[0]))
    return {
        "what": "Sokoban, both managers that make_envs makes of ppo_trainer.yaml with "
        "the changes of run_sokoban.sh, pictures and texts",
        "result": f"{num_steps} equal results of batches",
        "lines_changed": 1,
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
    builds = load_module("sokoban", ray).build_sokoban_envs, build_sokoban_envs
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


def main():
    """Record and measure."""
    source = "verl-agent d0b9724, by tests/frameworks/verl_agent/record.py; the shop "
    source += "has the first 100 products of the demo shop, its Lucene is ours"
    with tempfile.TemporaryDirectory() as name:
        content = {
            "source": source,
            "sokoban": record_sokoban(),
            "webshop": record_webshop(Path(name)),
        }
    write("verl_agent", content)
    write("rows", [compare_managers(), measure_sokoban()])


if __name__ == "__main__":
    main()
