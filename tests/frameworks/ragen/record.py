"""Record what RAGEN's classes and manager do: ``python record.py FOLDER``."""

import json
import sys
from pathlib import Path

import real
from omegaconf import OmegaConf

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


def record_class(env_type, seed, actions, **keywords):
    """Return the transcript of an episode."""
    env = real.ENVS[env_type](real.ENV_CONFIGS[env_type](**keywords))
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


def record_manager():
    """Return the outputs of each turn, and the rollouts."""
    manager = real.EnvStateManager(OmegaConf.create(CONFIG), "train")
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


def main(folder):
    """Write the file."""
    classes = [
        record_class("sokoban", 11, [3, 1, 4, 2, 2], num_boxes=2),
        record_class(
            "sokoban", 3, [1, 1, 4], num_boxes=1, observation_format="grid_coord"
        ),
        record_class("frozen_lake", 5, [2, 3, 3, 2, 1, 4]),
        record_class("frozen_lake", 8, [3, 3, 2], size=3, observation_format="coord"),
    ]
    content = {"classes": classes, "manager": record_manager()}
    text = json.dumps(content, ensure_ascii=False)
    (Path(folder) / "ragen.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
