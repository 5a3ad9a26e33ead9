"""RAGEN's Countdown beside ours, and the speed of its manager.

Its grids and its manager are in the transcripts of `record`.  ``python check.py
OUT.json``, with the environment variable ROLL_VEC_CHECKOUT.
"""

import json
import random
import sys
from pathlib import Path

import real
from datasets import Dataset
from omegaconf import OmegaConf
from side_by_side import measure

from roll_vec.adapters import ragen

NUM_SEEDS = 200


def play(env, seed, mode, actions):
    """Return all that an episode shows; the types of rewards count."""
    results = [env.reset(seed=seed, mode=mode), env.render()]
    for action in actions:
        results += [repr(env.step(action)), env.render()]
    return results


def compare_countdown(path):
    """Play an answer to each task; return the number of tasks."""
    rng, rows = random.Random(0), []
    while len(rows) < NUM_SEEDS:
        nums = [rng.randint(1, 99) for _ in range(rng.choice((3, 4)))]
        target = sum(rng.choice((-1, 1)) * number for number in nums)
        # Some have no sum with signs: both leave them out.
        rows.append({"nums": nums, "target": target + (rng.random() < 0.3)})
    Dataset.from_list(rows).to_parquet(path)
    keywords = {"train_path": str(path), "max_instances": NUM_SEEDS}
    theirs = real.CountdownEnv(real.CountdownEnvConfig(**keywords))
    ours = ragen.CountdownEnv(ragen.CountdownEnvConfig(**keywords))
    for seed in range(NUM_SEEDS):
        theirs.reset(seed=seed)
        nums = theirs.data[theirs.index]["nums"]
        signs = [f"{rng.choice('+-')} {number}" for number in nums]
        answers = [" ".join(signs), f"the numbers {nums}", " ".join(signs[1:])]
        answers += [" * ".join(map(str, nums)), f"{nums[0]} / 0", ""]
        actions = [rng.choice(answers)]
        results = [play(env, seed, "train", actions) for env in (theirs, ours)]
        assert results[0] == results[1], (seed, actions)
    return NUM_SEEDS


def measure_managers(tag):
    """Return the rates of both managers, in actions per second, resets included."""
    config = OmegaConf.load(real.CHECKOUT / "config" / "envs.yaml")
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

    classes = real.EnvStateManager, ragen.EnvStateManager
    works = [rollout_of(each(config, "train")) for each in classes]
    return measure(*works, seconds=2.0, rounds=3)


def main(out):
    """Compare, measure, and write the rows."""
    count = compare_countdown(Path(out).resolve().with_name("tasks.parquet"))
    rows = [{"what": "Countdown", "result": f"equal transcripts of {count} tasks"}]
    for tag in ("SimpleSokoban", "FrozenLake"):
        row = {"what": f"rollouts of {tag}, 8 groups of 16", "result": "measured"}
        rows.append(row | measure_managers(tag) | {"unit": "actions/s"})
    Path(out).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
