"""RAGEN's classes and manager beside those of `roll_vec.adapters.ragen`.

``python check.py OUT.json``, with the environment variable ROLL_VEC_CHECKOUT.
"""

import copy
import json
import random
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import real
from drive import check_agent_proxy
from omegaconf import OmegaConf
from side_by_side import measure

import roll_vec
from roll_vec.adapters import ragen

NUM_SEEDS = 1000
FORMATS = ("grid", "coord", "grid_coord")
MAX_ACTIONS = 10


def both(env_type, **keywords):
    """Return RAGEN's environment and ours, of equal configurations."""
    pair = []
    for envs, configs in (
        (real.ENVS, real.ENV_CONFIGS),
        (ragen.REGISTERED_ENVS, ragen.REGISTERED_ENV_CONFIGS),
    ):
        pair.append(envs[env_type](configs[env_type](**keywords)))
    return pair


def compare(theirs, ours, seed, actions, mode="train"):
    """Play an episode in both; return the number of steps, or None after a retry."""
    before = getattr(theirs, "attempts", 0)
    first = theirs.reset(seed=seed, mode=mode)
    if getattr(theirs, "attempts", 1) - before > 1:
        return None
    assert ours.reset(seed=seed, mode=mode) == first, seed
    for number, action in enumerate(actions):
        assert ours.render() == theirs.render(), (seed, number)
        expected = theirs.step(action)
        results = ours.step(action)
        # The types count: prompts show a reward of 0 or of 0.0.
        assert repr(results) == repr(expected), (seed, number, results, expected)
        if expected[2]:
            break
    assert ours.render() == theirs.render(), seed
    return number + 1


def check_grids(env_type, rng, **keywords):
    """Compare a grid game in all formats of its texts."""
    steps, retries = 0, 0
    pairs = [both(env_type, observation_format=f, **keywords) for f in FORMATS]
    for seed in range(NUM_SEEDS):
        theirs, ours = pairs[seed % len(FORMATS)]
        actions = rng.integers(1, 5, 12).tolist()
        count = compare(theirs, ours, seed, actions)
        retries += count is None
        steps += count or 0
        for mode in (*FORMATS, "text"):
            assert count is None or ours.render(mode) == theirs.render(mode)
    result = f"equal transcripts of {NUM_SEEDS - retries} seeds, {steps} steps"
    return result + f"; {retries} with a hash retry" * (retries > 0)


def write_tasks(rng, path):
    """Write tasks of three or four numbers; some have no sum with signs."""
    rows = []
    while len(rows) < 1500:
        nums = rng.integers(1, 100, rng.integers(3, 5)).tolist()
        signs = rng.choice([-1, 1], len(nums))
        target = int(np.dot(signs, nums)) + int(rng.integers(3) == 0)
        rows.append({"nums": nums, "target": target})
    pd.DataFrame(rows).to_parquet(path)


def countdown_answers(rng, nums):
    """Return an answer: sums with signs, nonsense, and what lacks a number."""
    signs = rng.choice(["-", "+"], len(nums))
    texts = [f"{s} {n}" for s, n in zip(signs, nums, strict=True)]
    answers = [
        " ".join(texts),
        " * ".join(map(str, nums)),
        f"({nums[0]} + {nums[1]}) / {nums[2]}" + "".join(f" - {n}" for n in nums[3:]),
        "the numbers " + ", ".join(map(str, nums)),
        " ".join(texts[1:]),
        f"{nums[0]} / 0",
        "",
    ]
    return answers[rng.integers(len(answers))] if rng.integers(3) else answers[0]


def check_countdown(rng, path):
    """Compare one answer to each task."""
    theirs, ours = both("countdown", train_path=str(path), max_instances=1500)
    scores = []
    for seed in range(NUM_SEEDS):
        theirs.reset(seed=seed)
        nums = list(theirs.data[theirs.index]["nums"])
        compare(theirs, ours, seed, [countdown_answers(rng, nums)])
        scores.append(theirs.render())
    assert len(set(scores)) == 3
    return f"equal transcripts of {NUM_SEEDS} tasks"


def shop_action(rng, env):
    """Return an action that the page offers, or another one."""
    actions = env.get_available_actions()
    action = actions[rng.integers(len(actions))]
    if action == "search[<content>]":
        words = env.render().split("Instruction:")[1].split()
        action = f"search[{' '.join(words[3:7])}]"
    others = ["click[nothing]", "search[red shoes]", "buy", "click[search]", "search[]"]
    return others[rng.integers(len(others))] if rng.integers(8) == 0 else action


def check_shop(rng):
    """Compare episodes of RAGEN's class around the shop; see `real`."""
    theirs = real.ENVS["webshop"](real.ENV_CONFIGS["webshop"](dataset=None))
    ours = ragen.WebShopEnv()
    steps = 0
    for seed in range(NUM_SEEDS):
        mode = ("train", "val", "test")[seed % 3]
        assert ours.reset(seed=seed, mode=mode) == theirs.reset(seed=seed, mode=mode)
        for _ in range(15):
            assert ours.render() == theirs.render()
            action = shop_action(rng, theirs)
            expected = theirs.step(action)
            assert ours.step(action) == expected, (seed, action)
            assert ours.get_available_actions() == theirs.get_available_actions()
            steps += 1
            if expected[2]:
                break
    return f"equal transcripts of {NUM_SEEDS} seeds, {steps} steps, over one shop"


def make_config(tasks, tags, groups, group_size):
    """Return a config of RAGEN, with its own tags of ``config/envs.yaml``."""
    config = OmegaConf.load(real.CHECKOUT / "config" / "envs.yaml")
    custom_envs = config.custom_envs
    tasks = {"train_path": str(tasks), "max_instances": 1500}
    custom_envs.Countdown.env_config = tasks
    custom_envs.WebShop.env_config = {"dataset": None}
    modes = {
        "env_groups": groups * len(tags),
        "group_size": group_size,
        "env_configs": {"tags": tags, "n_groups": [groups] * len(tags)},
    }
    return OmegaConf.create(
        {
            "seed": {"train": 10000, "val": 123},
            "es_manager": {"train": modes, "val": modes, "format_penalty": -0.1},
            "custom_envs": {tag: custom_envs[tag] for tag in tags},
        }
    )


def make_proxy_config():
    """Return a config with what the agent proxy reads, RAGEN's defaults."""
    base = OmegaConf.load(real.CHECKOUT / "config" / "base.yaml")
    tags = ["SimpleSokoban", "CoordSokoban", "FrozenLake", "CoordFrozenLake"]
    config = make_config(None, tags, groups=1, group_size=2)
    config.agent_proxy = base.agent_proxy
    config.enable_response_mask = base.enable_response_mask
    rollout = {"response_length": 400, "max_model_len": 16000}
    config.actor_rollout_ref = {"rollout": rollout}
    return config


def answer(rng, rollout):
    """Return a model's actions in a turn."""
    tag, state = rollout["tag"], rollout["history"][-1]["state"]
    if tag == "Countdown":
        nums = json.loads(state.split("nums: ")[1])
        return [countdown_answers(rng, nums)]
    if tag == "WebShop":
        offers = state.rsplit("these actions:", 1)[1].rstrip(".").split(", ")
        offer = offers[rng.integers(len(offers))]
        return [offer.replace("<content>", "wall chargers")]
    names = ["Up", "down", "LEFT", "Right", "jump"]
    return [names[i] for i in rng.integers(0, 5, rng.integers(0, 4))]


def turn_of(rng, outputs):
    """Return the inputs of a turn, in any order."""
    inputs = []
    for rollout in outputs:
        actions = answer(rng, rollout)
        text = " || ".join(actions)
        inputs.append(
            {
                "env_id": rollout["env_id"],
                "actions": actions,
                "llm_response": f"<answer>{text}</answer>",
                "llm_raw_response": text,
            }
        )
    rng.shuffle(inputs)
    return inputs


def without_retries(manager, rollouts):
    """Return what can be compared: no rollouts of seeds that RAGEN drew again."""
    return [rollout for rollout in rollouts if rollout["env_id"] not in manager.retried]


def check_managers(rng, tasks):
    """Compare all that the agent proxy gets from a manager, turn by turn."""
    tags = [
        "SimpleSokoban",
        "LargerSokoban",
        "SokobanDifferentGridVocab",
        "CoordSokoban",
        "FrozenLake",
        "CoordFrozenLake",
        "Countdown",
        "WebShop",
    ]
    config = make_config(tasks, tags, groups=3, group_size=4)
    compared = 0
    for mode, num_resets in (("train", 6), ("val", 2)):
        theirs = real.EnvStateManager(config, mode)
        ours = ragen.EnvStateManager(config, mode)
        for number in range(num_resets):
            seed = 77 if number == 3 else None
            before = [getattr(entry["env"], "attempts", 0) for entry in theirs.envs]
            outputs = theirs.reset(seed)
            theirs.retried = {
                entry["env_id"]
                for entry, attempts in zip(theirs.envs, before, strict=True)
                if getattr(entry["env"], "attempts", 0) - attempts > 1
            }
            own = ours.reset(seed)
            while outputs:
                outputs = without_retries(theirs, outputs)
                own = without_retries(theirs, own)
                assert own == outputs
                inputs = turn_of(rng, outputs)
                outputs = copy.deepcopy(theirs.step(inputs))
                own = copy.deepcopy(ours.step(inputs))
            for entry, other in zip(theirs.envs, ours.envs, strict=True):
                if entry["env_id"] not in theirs.retried:
                    pair = vars(entry["status"]), vars(other["status"])
                    assert pair[0] == pair[1], (entry["tag"], pair)
                    assert entry["env"].render() == other["env"].render()
            if not theirs.retried:
                assert ours.get_rollout_states() == theirs.get_rollout_states()
                compared += len(theirs.envs)
        theirs.close()
        ours.close()
    assert compared
    return f"equal outputs of each turn and {compared} equal rollouts with metrics"


def measure_managers(rng, tasks, tag):
    """Return the rates of both managers, in actions per second, resets included."""
    config = make_config(tasks, [tag], groups=8, group_size=16)
    names = ["Up", "Down", "Left", "Right"]

    def rollout_of(manager):
        def run():
            outputs, count = manager.reset(), 0
            draws = random.Random(0)
            while outputs:
                inputs = [
                    {
                        "env_id": rollout["env_id"],
                        "actions": draws.choices(names, k=2),
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

    managers = real.EnvStateManager(config), ragen.EnvStateManager(config)
    return measure(*map(rollout_of, managers), seconds=2.0, rounds=3)


def main(out):
    """Run all, and write the rows."""
    assert roll_vec.__file__
    rng = np.random.default_rng(0)
    tasks = Path(out).resolve().with_name("tasks.parquet")
    write_tasks(rng, tasks)
    rows = [
        ("Sokoban, three formats", check_grids("sokoban", rng, num_boxes=1)),
        ("FrozenLake, three formats", check_grids("frozen_lake", rng)),
        ("Countdown", check_countdown(rng, tasks)),
        ("WebShop", check_shop(rng)),
        ("EnvStateManager, eight tags", check_managers(rng, tasks)),
        ("its agent proxy, a tiny model", check_agent_proxy(make_proxy_config())),
    ]
    rows = [{"what": what, "result": result} for what, result in rows]
    for tag in ("SimpleSokoban", "FrozenLake"):
        rates = measure_managers(rng, tasks, tag)
        what = f"rollouts of {tag}, 8 groups of 16"
        rows.append(
            {
                "what": what,
                "result": "measured",
                **rates,
                "unit": "actions/s",
                "lines_changed": 1,
            }
        )
    Path(out).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
