"""RAGEN's classes and manager, from a checkout without its trainer's packages; speed.

``python record.py FOLDER`` writes transcripts and rows.  ``ragen/__init__.py`` imports
verl, ``ragen/env/__init__.py`` every environment: here both are packages without
contents, and three environments are registered.
"""

import json
import os
import random
import sys
import types
from pathlib import Path

from datasets import Dataset
from omegaconf import OmegaConf
from side_by_side import measure, write

from roll_vec.adapters import ragen

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

from ragen.llm_agent.es_manager import EnvStateManager  # noqa: E402

TAGS = {
    "SokobanTag": {
        "env_type": "sokoban",
        "max_actions_per_traj": 5,
        "env_config": {"dim_x": 6, "dim_y": 6, "num_boxes": 1, "max_steps": 100},
    },
    "LakeTag": {
        "env_type": "frozen_lake",
        "max_actions_per_traj": 4,
        "env_config": {"observation_format": "coord", "success_rate": 0.8},
    },
}
CONFIG = {
    # With this seed an environment solves its room.
    "seed": {"train": 10001, "val": 123},
    "es_manager": {
        "format_penalty": -0.1,
        "train": {
            "env_groups": 2,
            "group_size": 2,
            "env_configs": {"tags": list(TAGS), "n_groups": [1, 1]},
        },
    },
    "custom_envs": TAGS,
}
# By environment, of two of each tag.
TURNS = [
    [["Left", "Up", "Left"], ["jump"], ["right", "RIGHT"], []],
    [["down"], ["Right", "Up"], ["Down", "Left"], ["up", "sink"]],
    [["Down", "Down", "Down"], ["Left", "Left", "Up"], ["Up"], ["Right"]],
]
CLASSES = (
    ("sokoban", 11, [3, 1, 4, 2, 2], {"num_boxes": 2}),
    ("sokoban", 3, [1, 1, 4], {"num_boxes": 1, "observation_format": "grid_coord"}),
    ("frozen_lake", 5, [2, 3, 3, 2, 1, 4], {}),
    ("frozen_lake", 8, [3, 3, 2], {"size": 3, "observation_format": "coord"}),
)
# Countdown's rows: the second and the last have no sum with signs, and are left out.
TASKS = [([3, 8], 11), ([3, 8], 24), ([5, 2, 9], 2), ([44, 19, 35], 98), ([1, 2], 9)]
ANSWERS = (
    *(
        (0, text)
        for text in ("3 + 8", "3 - 8 + 0", "3 / 0", "3 + 8 = 11", "-3 + 8", "")
    ),
    *((1, text) for text in ("5 - (2 + 9)", "the numbers 9, 5 and 2")),
    *((seed, "5 + 9 - 2") for seed in range(5)),
)


def record_class(env_type, seed, actions, keywords):
    """Return the transcript of an episode."""
    env = ENVS[env_type](ENV_CONFIGS[env_type](**keywords))
    texts, results = [env.reset(seed=seed)], []
    for action in actions:
        text, reward, done, info = env.step(action)
        texts.append(text)
        results.append([reward, bool(done), {k: bool(info[k]) for k in info}])
        if done:
            break
    return {
        "env_type": env_type,
        "keywords": keywords,
        "seed": seed,
        "actions": actions[: len(results)],
        "texts": texts,
        "results": results,
    }


def record_countdown():
    """Return the rows of a data set, and episodes."""
    rows, path = [{"nums": nums, "target": t} for nums, t in TASKS], "tasks.parquet"
    Dataset.from_list(rows).to_parquet(path)
    keywords = {"train_path": path, "max_instances": len(rows)}
    episodes = [record_class("countdown", n, [text], keywords) for n, text in ANSWERS]
    return {"rows": rows, "episodes": episodes}


def record_manager():
    """Return the outputs of each turn, and the rollouts."""
    manager = EnvStateManager(OmegaConf.create(CONFIG), "train")
    outputs = manager.reset()
    steps = []
    for turn in TURNS:
        live = {rollout["env_id"] for rollout in outputs}
        inputs = [
            {
                "env_id": env_id,
                "actions": actions,
                "llm_response": f"<answer>{actions}</answer>",
                "llm_raw_response": str(actions),
            }
            for env_id, actions in enumerate(turn)
            if env_id in live
        ]
        outputs = manager.step(inputs)
        ids = [rollout["env_id"] for rollout in outputs]
        steps.append({"inputs": inputs, "env_ids": ids})
    assert all(env.attempts == 2 for env in (e["env"] for e in manager.envs[:2]))
    rollouts = json.loads(json.dumps(manager.get_rollout_states(), default=float))
    return {"config": CONFIG, "steps": steps, "rollouts": rollouts}


def measure_managers(tag):
    """Return the row of both managers, in actions per second, resets included."""
    config = OmegaConf.load(CHECKOUT / "config" / "envs.yaml")
    groups = {"env_groups": 8, "group_size": 16}
    groups["env_configs"] = {"tags": [tag], "n_groups": [8]}
    config.seed = {"train": 10000, "val": 123}
    config.es_manager = {"train": groups, "val": groups, "format_penalty": -0.1}

    def rollout_of(manager):
        def run():
            outputs, count = manager.reset(), 0
            draws = random.Random(0)
            while outputs:
                inputs = [
                    {
                        "env_id": rollout["env_id"],
                        "actions": draws.choices(["Up", "Down", "Left", "Right"], k=2),
                        "llm_response": "",
                        "llm_raw_response": "",
                    }
                    for rollout in outputs
                ]
                outputs = manager.step(inputs)
                count += 2 * len(inputs)
            manager.get_rollout_states()
            return count

        return run

    classes = EnvStateManager, ragen.EnvStateManager
    works = [rollout_of(each(config, "train")) for each in classes]
    what = f"rollouts of {tag}, 8 groups of 16"
    return measure(what, *works, "actions/s", seconds=2.0, rounds=3)


def main():
    """Record and measure."""
    content = {
        "classes": [record_class(*each) for each in CLASSES],
        "countdown": record_countdown(),
        "manager": record_manager(),
    }
    write("ragen", content)
    write("rows", [measure_managers(tag) for tag in ("SimpleSokoban", "FrozenLake")])


if __name__ == "__main__":
    main()
