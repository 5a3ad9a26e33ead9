"""verl-agent's own environment managers over its environments and over ours.

`make_envs` builds both: the only change is the name of the build function.
"""

import importlib
import random

import numpy as np
from omegaconf import OmegaConf
from stand_ins import PACKAGES, load_sokoban

from roll_vec.adapters.verl_agent import build_sokoban_envs

MAX_STEPS = 12
DIRECTIONS = ("up", "down", "left", "right")


def make_config(**changes):
    """Return verl-agent's configuration, as far as `make_envs` reads it."""
    config = {
        "data": {"train_batch_size": 3, "val_batch_size": 4},
        "env": {
            "env_name": "Sokoban",
            "seed": 0,
            "max_steps": MAX_STEPS,
            "history_length": 2,
            "rollout": {"n": 2},
            "resources_per_worker": {"num_cpus": 0.1},
            "sokoban": {
                "dim_room": [6, 6],
                "num_boxes": 1,
                "search_depth": 100,
                "mode": "tiny_rgb_array",
            },
            "webshop": {"use_small": True, "human_goals": False},
        },
    }
    return OmegaConf.merge(OmegaConf.create(config), OmegaConf.create(changes))


def make_managers(config, build):
    """Return the managers of training and validation that `make_envs` returns."""
    manager = importlib.import_module("agent_system.environments.env_manager")
    package = importlib.import_module(f"{PACKAGES}.sokoban")
    package.build_sokoban_envs = build
    return manager.make_envs(config)


def answer(rng, words):
    """Return an answer of a model: mostly well formed."""
    text = f"<think>so</think><action>{words}</action>"
    kind = rng.random()
    if kind < 0.05:
        return words
    return text.replace("<think>", "") if kind < 0.1 else text


def run_rollout(manager, choose, seed):
    """Run verl-agent's loop of a rollout with a script in the place of the model.

    Parameters
    ----------
    manager : EnvironmentManagerBase
    choose : callable
        ``choose(rng, i, info, step)`` returns the words of an action.
    seed : int

    Returns
    -------
    list
        Of all that the trainer keeps, for each step of each environment that is active:
        prompt, anchor, answer, reward, done and info; and the success at the end.
    """
    rng = random.Random(seed)
    observations, infos = manager.reset(kwargs=None)
    count = len(infos)
    is_done = np.zeros(count, bool)
    batches, all_infos = [[] for _ in infos], [[] for _ in infos]
    returns, lengths = np.zeros(count), np.zeros(count)
    kept = []
    for step in range(MAX_STEPS):
        active = ~is_done
        # The script of an environment must not depend on the others.
        answers = [
            answer(random.Random(rng.random() + i), choose(rng, i, infos[i], step))
            for i in range(count)
        ]
        after, rewards, dones, infos = manager.step(list(answers))
        for i in range(count):
            batches[i].append({"active_masks": active[i]})
            all_infos[i].append(infos[i])
            if active[i]:
                prompt, anchor = observations["text"][i], observations["anchor"][i]
                kept.append((i, prompt, freeze(anchor), answers[i], float(rewards[i])))
                kept.append((bool(dones[i]), freeze(infos[i])))
        returns[active] += rewards[active]
        lengths[active] += 1
        is_done |= dones.astype(bool)
        observations = after
        if is_done.all():
            break
    success = manager.success_evaluator(
        total_infos=all_infos,
        total_batch_list=batches,
        episode_rewards=returns,
        episode_lengths=lengths,
    )
    kept.append((returns.tolist(), lengths.tolist(), freeze(success)))
    return kept


def freeze(value):
    """Return a value in a form that can be compared."""
    if isinstance(value, dict):
        return {key: freeze(one) for key, one in value.items()}
    return (value.shape, value.tolist()) if isinstance(value, np.ndarray) else value


def compare_sokoban(mode, rollouts):
    """Compare whole rollouts; return how many and how many steps they have."""
    config = make_config(env={"sokoban": {"mode": mode}})
    steps = 0
    for is_train in (True, False):
        kept = []
        for build in (load_sokoban().build_sokoban_envs, build_sokoban_envs):
            managers = make_managers(config, build)
            manager = managers[0] if is_train else managers[1]
            # Theirs draws from numpy's global generator, seeded by what is built last.
            np.random.seed(0 if is_train else 1000)
            kept.append(
                [
                    run_rollout(
                        manager, lambda rng, *_: rng.choice(DIRECTIONS), rollout
                    )
                    for rollout in range(rollouts)
                ]
            )
            manager.close()
        assert kept[0] == kept[1]
        steps += sum(len(rollout) // 2 for rollout in kept[0])
    return 2 * rollouts, steps


def compare_webshop(shops, rollouts):
    """Compare whole rollouts of a group of two environments, and of one in validation.

    The managers are made as `make_envs` makes them, but for its fixed paths.
    """
    manager = importlib.import_module("agent_system.environments.env_manager")
    project = importlib.import_module(f"{PACKAGES}.webshop.projection")
    config = make_config(env={"env_name": "Webshop"})
    steps = 0
    for group_n, is_train in ((2, True), (1, False)):
        kept = []
        for build in (shops.build_theirs, shops.build_ours):
            envs = manager.WebshopEnvironmentManager(
                build(1, group_n, is_train), project.webshop_projection, config
            )
            kept.append([run_rollout(envs, shop_action, k) for k in range(rollouts)])
            envs.close()
        assert kept[0] == kept[1]
        steps += sum(len(rollout) // 2 for rollout in kept[0])
    return 2 * rollouts, steps


def shop_action(rng, i, info, step):
    """Return a search, or a click on the page; purchases come late."""
    del i
    clickables = info["available_actions"]["clickables"]
    draw = rng.random()
    if step % 6 == 0 or not clickables:
        return f"search[{('shoes', 'speaker', 'pasta')[int(3 * draw)]}]"
    if step > 8 and "buy now" in clickables:
        return "click[buy now]"
    products = [name for name in clickables if len(name) == 10] or clickables
    return f"click[{products[int(draw * len(products))]}]"
