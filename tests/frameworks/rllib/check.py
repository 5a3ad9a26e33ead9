"""RLlib's episodes are those of single environments, and its runners step a batch.

`tests.frameworks` runs this file where RLlib is installed, with its pin of gymnasium.
"""

import importlib.metadata
import json
import re
import sys
from pathlib import Path

import gymnasium
import numpy as np
import ray
from gymnasium.vector import AutoresetMode
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.env_to_module import FlattenObservations

import roll_vec  # noqa: F401  # registers the id here; the runners import it by the id

ID = "roll_vec:roll_vec/Sokoban-v0"
NUM_RUNNERS, NUM_ENVS = 2, 16
KEYWORDS = {
    "obs_mode": "planes",
    "action_start": 0,
    "dim_room": (6, 6),
    "num_boxes": 1,
    "seed_info": True,
    "max_episode_steps": 12,
}


def check_versions():
    """Check that the gymnasium here is the one that RLlib pins."""
    installed = importlib.metadata.version("gymnasium")
    requirements = importlib.metadata.requires("ray")
    (pin,) = [
        match[1]
        for text in requirements
        if (match := re.match(r"gymnasium==([\d.]+) *;.*rllib", text))
    ]
    sys.stdout.write(f"gymnasium {installed}, RLlib pins {pin}\n")
    assert installed == pin


def describe(runner):
    """Return the class, the number and the autoreset mode of a runner's environments.

    It runs in the runner's process.
    """
    env = runner.env.unwrapped
    return type(env).__qualname__, env.num_envs, env.metadata["autoreset_mode"]


def replay(episode):
    """Repeat an episode in a single environment; compare everything."""
    observations, actions = episode.get_observations(), episode.get_actions()
    rewards, infos = episode.get_rewards(), episode.get_infos()
    env = gymnasium.make(ID, **KEYWORDS)
    observation, _ = env.reset(seed=int(infos[0]["seed"]))
    # RLlib has made vectors of them.
    np.testing.assert_array_equal(observations[0], observation.ravel())
    terminated = truncated = False
    for step, action in enumerate(actions):
        # The action that NEXT_STEP ignores is not in the episode.
        ended = terminated or truncated
        assert not ended, f"step {step} is after the end"
        observation, reward, terminated, truncated, info = env.step(int(action))
        np.testing.assert_array_equal(observations[step + 1], observation.ravel())
        assert rewards[step] == reward
        assert infos[step + 1]["success"] == info["success"]
    assert (episode.is_terminated, episode.is_truncated) == (terminated, truncated)
    assert terminated or truncated
    env.close()


def main():
    """Sample episodes, and repeat each."""
    check_versions()
    ray.init(num_cpus=NUM_RUNNERS + 1, include_dashboard=False, log_to_driver=False)
    config = (
        PPOConfig()
        .environment(ID, env_config=KEYWORDS)
        .env_runners(
            num_env_runners=NUM_RUNNERS,
            num_envs_per_env_runner=NUM_ENVS,
            create_local_env_runner=False,
            gym_env_vectorize_mode="vector_entry_point",
            env_to_module_connector=lambda *_: FlattenObservations(),
        )
    )
    algorithm = config.build_algo()
    runners = algorithm.env_runner_group
    batch = ("RollVectorEnv", NUM_ENVS, AutoresetMode.NEXT_STEP)
    assert runners.foreach_env_runner(describe) == [batch] * NUM_RUNNERS
    samples = runners.foreach_env_runner(lambda runner: runner.sample(num_episodes=40))
    for episodes in samples:
        assert len(episodes) >= 40
        # Not only the first episode of each environment.
        assert len({int(one.get_infos()[0]["seed"]) for one in episodes}) > NUM_ENVS
        for episode in episodes:
            replay(episode)
    algorithm.stop()
    ray.shutdown()
    row = {
        "what": "episodes of its runners, repeated in single environments",
        "result": f"{sum(map(len, samples))} equal",
    }
    Path(sys.argv[1]).write_text(json.dumps([row]), "utf-8")


if __name__ == "__main__":
    main()
