"""Batches in Stable-Baselines3: the steps of its own DummyVecEnv, wrappers, learning.

`tests.frameworks` runs this file where Stable-Baselines3 and sb3-contrib are installed.
"""

import functools
import json
import sys
import tempfile
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import torch
from gymnasium.vector import SyncVectorEnv
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import (
    evaluate_policy as evaluate_masked_policy,
)
from side_by_side import measure, share_of_calls
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common import env_util
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import (
    VecCheckNan,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
    VecTransposeImage,
)

import roll_vec
from roll_vec.adapters.sb3 import BatchVecEnv, make_vec_env

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
SMALL_ROOMS = {"dim_room": (5, 5), "num_boxes": 1, "action_start": 0}
SHORT_LAKES = {"action_start": 0, "max_episode_steps": 20, "is_slippery": False}
CASES = (
    (SOKOBAN, {**SMALL_ROOMS, "max_episode_steps": 12, "seed_info": True}),
    (SOKOBAN, {"action_start": 0, "action_mask": True, "max_episode_steps": 8}),
    (SOKOBAN, {**SMALL_ROOMS, "obs_mode": "tiny_rgb", "max_episode_steps": 12}),
    (LAKE, {**SHORT_LAKES, "obs_mode": "planes", "level_info": True, "num_levels": 99}),
    (LAKE, {"action_start": 0}),
    ("roll_vec/FrozenLake-v1", {}),
)
NUM_ENVS = 1000
# Four lakes; about three of ten random episodes reach the goal.
TASK = {**SHORT_LAKES, "start_level": 16, "num_levels": 4, "obs_mode": "planes"}
COMMON = {"seed": 0, "device": "cpu"}
PPO_KEYWORDS = COMMON | {
    "n_steps": 64,
    "batch_size": 256,
    "n_epochs": 4,
    "learning_rate": 2e-3,
    "ent_coef": 0.01,
}
TRAININGS = (
    (PPO, 20_000, PPO_KEYWORDS),
    (MaskablePPO, 20_000, PPO_KEYWORDS),
    (
        A2C,
        30_000,
        COMMON
        | {"n_steps": 8, "learning_rate": 2e-3, "ent_coef": 0.01, "gae_lambda": 0.95},
    ),
    (
        DQN,
        12_000,
        COMMON
        | {
            "train_freq": 1,
            "gradient_steps": 4,
            "learning_rate": 1e-3,
            "target_update_interval": 1600,
            "gamma": 0.95,
            "exploration_fraction": 0.6,
            "exploration_final_eps": 0.1,
            "batch_size": 128,
            "learning_starts": 1000,
            "buffer_size": 20_000,
        },
    ),
)
# The rooms are drawn before the measurement.
ROOMS = {"action_start": 0, "num_levels": 256, "obs_mode": "planes"}


def assert_same(ours, theirs):
    """Compare observations, infos and the rest, with types."""
    assert type(ours) is type(theirs), (ours, theirs)
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), (ours, theirs)
        for key in ours:
            assert_same(ours[key], theirs[key])
    elif isinstance(ours, list):
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    elif isinstance(ours, float):
        # Monitor rounds to six digits.
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    else:
        assert ours == theirs


def comparable(infos):
    """Return infos without the time, and without the key that is ours alone."""
    infos = [{k: v for k, v in info.items() if k != "is_success"} for info in infos]
    for info in infos:
        if "episode" in info:
            info["episode"] = {k: info["episode"][k] for k in ("r", "l")}
    return infos


def compare_steps(id, keywords, num_envs, wrap=lambda envs: envs, num_steps=30):
    """Compare a batch with DummyVecEnv, step for step; return the ends of episodes."""
    ours = wrap(make_vec_env(id, num_envs, seed=0, env_kwargs=keywords))
    theirs = wrap(env_util.make_vec_env(id, num_envs, seed=0, env_kwargs=keywords))
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert_same(ours.reset(), theirs.reset())
    assert_same(list(ours.reset_infos), list(theirs.reset_infos))
    rng, num_ends = np.random.default_rng(0), 0
    for _ in range(num_steps):
        actions = rng.integers(0, 4, num_envs)
        *own, own_infos = ours.step(actions)
        *their, their_infos = theirs.step(actions)
        assert_same(own, their)
        assert_same(comparable(own_infos), comparable(their_infos))
        assert_same(list(ours.reset_infos), list(theirs.reset_infos))
        num_ends += int(own[2].sum())
    assert num_ends
    for envs in (ours, theirs):
        envs.close()
    return num_ends


def compare_wrappers():
    """Compare the results of Stable-Baselines3's wrappers; return their number."""
    wrappers = (
        VecNormalize,
        lambda envs: VecFrameStack(envs, 3),
        lambda envs: VecNormalize(VecFrameStack(envs, 2)),
        lambda envs: VecCheckNan(envs, raise_exception=True),
        VecMonitor,
    )
    for wrap in wrappers:
        with warnings.catch_warnings():
            # VecMonitor warns of a Monitor below it, of which there is one.
            warnings.filterwarnings("ignore", "The environment is already wrapped")
            compare_steps(SOKOBAN, CASES[0][1], 16, wrap)
    compare_steps(SOKOBAN, CASES[2][1], 16, VecTransposeImage)
    return len(wrappers) + 1


def train(algorithm, num_steps, keywords):
    """Train on four lakes; return the mean return before and after."""
    is_masked = algorithm is MaskablePPO
    options = {**TASK, "action_mask": is_masked}
    envs = make_vec_env(LAKE, 16, seed=0, env_kwargs=options)
    judges = make_vec_env(LAKE, 64, seed=100, env_kwargs=options)
    evaluate = evaluate_masked_policy if is_masked else evaluate_policy
    model = algorithm("MlpPolicy", envs, **keywords)
    before, _ = evaluate(model, judges, 128, deterministic=False)
    model.learn(num_steps)
    after, _ = evaluate(model, judges, 128, deterministic=False)
    # The log reads the infos of episodes.
    assert np.mean([episode["r"] for episode in model.ep_info_buffer]) > before
    assert len(model.ep_success_buffer)
    return before, after


class Slider(gymnasium.Env):
    """A user's environment, with a dict to observe and a number as the action."""

    observation_space = gymnasium.spaces.Dict(
        place=gymnasium.spaces.Box(-9, 9, (1,), np.float32),
        count=gymnasium.spaces.Discrete(6),
    )
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        """Start at 0."""
        super().reset(seed=seed)
        self.place, self.count = 0.0, 0
        return self.observe(), {}

    def step(self, action):
        """Slide."""
        self.place, self.count = self.place + float(action[0]), self.count + 1
        return self.observe(), self.place, False, self.count == 5, {}

    def observe(self):
        """Return the place and the number of steps."""
        return {"place": np.array([self.place], np.float32), "count": self.count}


def use_callbacks_and_files():
    """Evaluate by a callback, save and load; train SAC on a pool of objects."""
    make = functools.partial(make_vec_env, SOKOBAN, 8, env_kwargs=SMALL_ROOMS)
    model = PPO("MlpPolicy", make(seed=0), n_steps=32, batch_size=64, **COMMON)
    with tempfile.TemporaryDirectory() as folder:
        callback = EvalCallback(make(seed=9), eval_freq=32, log_path=folder, verbose=0)
        model.learn(512, callback=callback)
        assert np.isfinite(callback.last_mean_reward)
        model.save(f"{folder}/model")
        PPO.load(f"{folder}/model", env=make(seed=1), device="cpu").learn(256)
    pool = roll_vec.PoolVectorEnv(
        [Slider] * 4, autoreset_mode="SameStep", episode_info=True
    )
    envs = BatchVecEnv(pool)
    model = SAC("MultiInputPolicy", envs, learning_starts=40, buffer_size=500, **COMMON)
    model.learn(200)
    assert {episode["l"] for episode in model.ep_info_buffer} == {5}
    envs.close()


def make_dummy(num_envs):
    """Return Stable-Baselines3's own batch of single environments."""
    return env_util.make_vec_env(SOKOBAN, num_envs, seed=0, env_kwargs=ROOMS)


def make_sync(num_envs):
    """Return Gymnasium's batch of single environments, in the same adapter."""
    envs = BatchVecEnv(
        SyncVectorEnv(
            [lambda: gymnasium.make(SOKOBAN, **ROOMS)] * num_envs,
            autoreset_mode="SameStep",
        )
    )
    envs.seed(0)
    return envs


def make_ours(num_envs, **keywords):
    """Return a batch of roll_vec."""
    return make_vec_env(SOKOBAN, num_envs, seed=0, env_kwargs=ROOMS, **keywords)


def stepping(envs):
    """Return a function that takes some random steps."""
    envs.reset()
    actions = np.random.default_rng(0).integers(0, 4, (16, envs.num_envs))

    def work():
        for batch in actions:
            envs.step(batch)
        return actions.size

    return work


def learning(envs, num_steps=32):
    """Return a function that collects and learns once, and its model."""
    model = PPO(
        "MlpPolicy",
        envs,
        n_steps=num_steps,
        batch_size=envs.num_envs * num_steps // 4,
        n_epochs=4,
        **COMMON,
    )

    def work():
        model.learn(envs.num_envs * num_steps, reset_num_timesteps=False)
        return envs.num_envs * num_steps

    return work


def measure_rates():
    """Return the rows of rates."""
    rows = []

    def add(what, theirs, ours, result="measured"):
        row = {"what": what, "result": result, "unit": "steps/s"}
        rows.append(row | measure(theirs, ours, seconds=1.0, rounds=5))

    for num_envs in (16, 256):
        name = f"Sokoban, {num_envs} environments"
        own = stepping(make_ours(num_envs))
        add(f"{name}: step, beside DummyVecEnv", stepping(make_dummy(num_envs)), own)
        add(f"{name}: step, beside SyncVectorEnv", stepping(make_sync(num_envs)), own)
        batches = [make(num_envs) for make in (make_dummy, make_ours)]
        shares = [share_of_calls(learning(envs), envs) for envs in batches]
        add(
            f"{name}: PPO, beside DummyVecEnv",
            learning(make_dummy(num_envs)),
            learning(make_ours(num_envs)),
            "steps take {:.0f} % of the time with theirs, {:.1f} % with ours".format(
                *shares
            ),
        )
        add(
            f"{name}: PPO, beside SyncVectorEnv",
            learning(make_sync(num_envs)),
            learning(make_ours(num_envs)),
        )
    plain, short = make_ours(4096), make_ours(4096, step_infos=False)
    what = "Sokoban, 4096 environments: step_infos=False beside True"
    add(what, stepping(plain), stepping(short))
    return rows


def main():
    """Compare, train, measure, and write the rows."""
    torch.set_num_threads(1)
    num_ends = sum(compare_steps(id, keywords, NUM_ENVS) for id, keywords in CASES)
    what = f"{NUM_ENVS} seeds of {len(CASES)} configurations beside DummyVecEnv"
    rows = [{"what": what, "result": f"equal steps, {num_ends:,} episodes"}]
    count = compare_wrappers()
    rows.append({"what": "its wrappers over both", "result": f"{count} equal"})
    for id, keywords in CASES:
        check_env(gymnasium.make(id, **keywords), warn=False)
    rows.append({"what": "its check_env", "result": f"{len(CASES)} pass"})
    use_callbacks_and_files()
    what = "EvalCallback, save and load; SAC on a pool of a user's environments"
    rows.append({"what": what, "result": "run"})
    for algorithm, num_steps, keywords in TRAININGS:
        before, after = train(algorithm, num_steps, keywords)
        assert after > max(before + 0.4, 0.9), (algorithm, before, after)
        what = f"{algorithm.__name__} on four lakes, {num_steps:,} steps"
        rows.append({"what": what, "result": f"return {before:.2f} to {after:.2f}"})
    rows += measure_rates()
    Path(sys.argv[1]).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
