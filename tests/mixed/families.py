"""Small mixed batches, and Gymnasium's batch of the same single environments."""

import gymnasium
from gymnasium.vector import SyncVectorEnv

from roll_vec.mixed import make_mixed
from tests.contract.cases import register_custom_ids

NUM_ENVS = 12
_LIMIT = {"max_episode_steps": 6}
# Three in stacked arrays, one of them twice; two pools.
FAMILIES = {
    "rooms": {
        "id": "roll_vec/Sokoban-v0",
        "weight": 2,
        "group_size": 2,
        "dim_room": (5, 5),
        "num_boxes": 1,
        "format_penalty": -0.25,
        **_LIMIT,
    },
    "roll_vec/Countdown-v0": {
        "num_numbers": 2,
        "number_range": (1, 4),
        "target_range": (1, 9),
        "max_steps": 5,
        "max_episode_steps": 4,
    },
    "roll_vec/RandomFrozenLake-v0": {"group_size": 2, "size": 4, **_LIMIT},
    "masked": {
        "id": "roll_vec/Sokoban-v0",
        "dim_room": (5, 5),
        "num_boxes": 1,
        "action_mask": True,
        **_LIMIT,
    },
    "tests_vector/Guess-v0": {"weight": 1.5, "group_size": 3, **_LIMIT},
}
# Environments 0-3, 4-5, 6-7, 8, 9-11.
SIZES = [4, 2, 2, 1, 3]
TEXTS = ("Up", "Left", "Down", "Right", "", "1", "2", "3", "up and away", "1+2", "9")


def make(num_envs=NUM_ENVS, families=None, **keywords):
    """Return a mixed batch of small worlds."""
    register_custom_ids()
    return make_mixed(FAMILIES if families is None else families, num_envs, **keywords)


class _Labels(gymnasium.Wrapper):
    """Adds the infos of a mixed batch to one environment."""

    def __init__(self, env, family, group_id):
        super().__init__(env)
        self._family = {"family": family}
        self._group = {} if group_id is None else {"group_id": group_id}

    def reset(self, *, seed=None, options=None):
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {**info, **self._family, **self._group}

    def step(self, action):
        *results, info = self.env.step(action)
        return (*results, {**info, **self._family})


def make_singles(group_id_info=False):
    """Return the constructors of the single environments of `make`."""
    register_custom_ids()
    env_fns, group_id = [], -1
    for (name, keywords), size in zip(FAMILIES.items(), SIZES, strict=True):
        own = {k: v for k, v in keywords.items() if k not in ("weight", "group_size")}
        env_id = own.pop("id", name)
        if "Sokoban" in env_id or "FrozenLake" in env_id:
            own |= {"obs_mode": "text", "action_mode": "text"}
        for i in range(size):
            group_id += i % keywords.get("group_size", 1) == 0

            def env_fn(env_id=env_id, own=own, name=name, group_id=group_id):
                env = gymnasium.make(env_id, **own)
                return _Labels(env, name, group_id if group_id_info else None)

            env_fns.append(env_fn)
    return env_fns


def make_sync(autoreset_mode, group_id_info=False):
    """Return Gymnasium's batch of the same worlds."""
    return SyncVectorEnv(
        make_singles(group_id_info),
        autoreset_mode=autoreset_mode,
        observation_mode="different",
    )


def seeds_of(seed):
    """Return the seed of each environment of `make` for an int."""
    return [seed + group for group in (0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 6, 6)]
