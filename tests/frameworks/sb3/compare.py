"""Batches in Stable-Baselines3: the steps of its own DummyVecEnv, and speed.

``python compare.py FILE`` writes rows.
"""

import numpy as np
import torch
from side_by_side import measure, write
from stable_baselines3 import PPO
from stable_baselines3.common import env_util

from roll_vec.adapters import sb3
from roll_vec.testing.comparison import difference

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
SMALL_ROOMS = {"dim_room": (5, 5), "num_boxes": 1, "action_start": 0}
SHORT_LAKES = {"action_start": 0, "max_episode_steps": 20, "is_slippery": False}
CASES = (
    (SOKOBAN, {**SMALL_ROOMS, "max_episode_steps": 12, "seed_info": True}),
    (SOKOBAN, {"action_start": 0, "action_mask": True, "max_episode_steps": 8}),
    (SOKOBAN, {**SMALL_ROOMS, "obs_mode": "tiny_rgb", "max_episode_steps": 12}),
    (LAKE, {**SHORT_LAKES, "obs_mode": "planes", "level_info": True, "num_levels": 99}),
    ("roll_vec/FrozenLake-v1", {}),
)
NUM_ENVS = 1000
ROOMS = {"action_start": 0, "num_levels": 256, "obs_mode": "planes"}


def comparable(infos):
    """Return infos without the time, and without the key that is ours alone.

    Monitor rounds the return.
    """
    infos = [{k: v for k, v in info.items() if k != "is_success"} for info in infos]
    for info in infos:
        if "episode" in info:
            info["episode"] = round(info["episode"]["r"], 4), info["episode"]["l"]
    return infos


def compare_steps(id, keywords, num_envs):
    """Compare a batch with DummyVecEnv, step for step; return the ends of episodes."""
    ours = sb3.make_vec_env(id, num_envs, seed=0, env_kwargs=keywords)
    theirs = env_util.make_vec_env(id, num_envs, seed=0, env_kwargs=keywords)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert not difference(ours.reset(), theirs.reset())
    assert not difference(list(ours.reset_infos), list(theirs.reset_infos))
    rng, num_ends = np.random.default_rng(0), 0
    for _ in range(30):
        actions = rng.integers(0, 4, num_envs)
        *own, own_infos = ours.step(actions)
        *their, their_infos = theirs.step(actions)
        assert not difference(own, their)
        assert not difference(comparable(own_infos), comparable(their_infos))
        assert not difference(list(ours.reset_infos), list(theirs.reset_infos))
        num_ends += int(own[2].sum())
    assert num_ends
    for envs in (ours, theirs):
        envs.close()
    return num_ends


def stepping(envs):
    """Return a function that takes some random steps."""
    envs.reset()
    actions = np.random.default_rng(0).integers(0, 4, (16, envs.num_envs))

    def work():
        for batch in actions:
            envs.step(batch)
        return actions.size

    return work


def learning(envs):
    """Return a function that collects and learns once."""
    size = 32 * envs.num_envs
    sizes = {"n_steps": 32, "batch_size": size // 4, "n_epochs": 4}
    model = PPO("MlpPolicy", envs, seed=0, device="cpu", **sizes)

    def work():
        model.learn(size, reset_num_timesteps=False)
        return size

    return work


def measure_rates():
    """Return the rows of rates."""

    def make(module, num_envs, **keywords):
        return module.make_vec_env(
            SOKOBAN, num_envs, seed=0, env_kwargs=ROOMS, **keywords
        )

    rows = []
    for work, num_envs in ((stepping, 256), (learning, 16), (learning, 256)):
        title = "step" if work is stepping else "PPO"
        what = f"Sokoban, {num_envs} environments: {title}, beside DummyVecEnv"
        envs = make(env_util, num_envs), make(sb3, num_envs)
        rows.append(measure(what, *map(work, envs)))
    what = "Sokoban, 4096 environments: step_infos=False beside True"
    envs = make(sb3, 4096), make(sb3, 4096, step_infos=False)
    return [*rows, measure(what, *map(stepping, envs))]


def main():
    """Compare, measure, and write the rows."""
    torch.set_num_threads(1)
    num_ends = sum(compare_steps(id, keywords, NUM_ENVS) for id, keywords in CASES)
    what = f"{NUM_ENVS} seeds of {len(CASES)} configurations beside DummyVecEnv"
    rows = [{"what": what, "result": f"equal steps, {num_ends:,} episodes"}]
    write(rows + measure_rates())


if __name__ == "__main__":
    main()
