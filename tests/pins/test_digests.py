"""Digests of trajectories of every id, equal to the bit with every set of versions.

Run as ``python -m tests.pins.test_digests`` to write ``digests.json`` beside this file.
They may change only with the worlds of an id, that is with a new version of the id.
"""

import hashlib
import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode

import roll_vec  # noqa: F401  registers the ids
from roll_vec.registration import ENVIRONMENTS
from tests.contract.cases import IDS
from tests.golden import update_digest

PATH = Path(__file__).with_name("digests.json")
NUM_ENVS, STEPS, SEED = 6, 60, 20
_ANSWERS = {"action_mode": "text", "obs_mode": "text", "format_penalty": -0.25}
# Actions and other texts.
_MOVES = ["Up", "down", " LEFT\t", "Right", "", "up and away", "<answer>Up</answer>"]
_TEXTS = {
    "roll_vec/Countdown-v0": [
        *("1 + 2", "2 * 3", "4 - 1", "3 / 1", "2 + 2", "", "1 / 0", "√ 12 ÷ 4\0")
    ],
    "roll_vec/WebShop-v0": [
        *("search[red shoes]", "search[<r>]", "click[nothing]", "buy it", "")
    ],
}
# Beside its defaults, more of what an id can be.
_MORE = {
    "roll_vec/Sokoban-v0": [
        {"dim_room": (5, 5), "num_boxes": 1, "obs_mode": "planes"},
        {"num_levels": 4, "start_level": 3, "obs_mode": "rgb"},
        _ANSWERS,
    ],
    "roll_vec/FrozenLake-v1": [
        {"success_rate": 0.7, "reward_schedule": (2, -1, -0.1), "obs_mode": "grid"},
        _ANSWERS,
    ],
    "roll_vec/RandomFrozenLake-v0": [{"size": 6, "obs_mode": "tiny_rgb"}, _ANSWERS],
    "roll_vec/Countdown-v0": [
        {"num_numbers": 2, "number_range": (1, 4), "target_range": (1, 9)},
        {"max_steps": 3, "workers": 2},
    ],
    "roll_vec/WebShop-v0": [
        {"num_products": 3, "human_goals": True, "observation_mode": "text_rich"}
    ],
}


def _draw_actions(envs, infos, rng):
    """Return random actions; in WebShop half of them are of those that it offers."""
    space = envs.single_action_space
    if not isinstance(space, Text):
        return rng.integers(space.start, space.start + space.n, NUM_ENVS)
    texts = _TEXTS.get(envs.spec.id, _MOVES)
    drawn = [texts[number] for number in rng.integers(len(texts), size=NUM_ENVS)]
    if "available_actions" in infos:
        clickable = infos["available_actions"]["clickables"]
        numbers = rng.integers(100, size=NUM_ENVS).tolist()
        for row, (number, names) in enumerate(zip(numbers, clickable, strict=True)):
            if names and number % 2:
                drawn[row] = f"click[{names[number % len(names)]}]"
    return drawn


def digest_of(env_id, mode, keywords):
    """Return the digest of everything that resets and steps of a batch return."""
    envs = gymnasium.make_vec(
        env_id,
        num_envs=NUM_ENVS,
        autoreset_mode=mode,
        **{"max_episode_steps": 9, **keywords},
    )
    rng = np.random.default_rng(SEED)
    digest = hashlib.sha256()
    _, infos = result = envs.reset(seed=SEED)
    update_digest(digest, result)
    for _ in range(STEPS):
        result = envs.step(_draw_actions(envs, infos, rng))
        update_digest(digest, result)
        *_, terminations, truncations, infos = result
        finished = terminations | truncations
        if mode is AutoresetMode.DISABLED and finished.any():
            update_digest(digest, envs.reset(options={"reset_mask": finished}))
    envs.close()
    return digest.hexdigest()[:16]


FLOATS = {
    f"roll_vec.envs.{name}"
    for name in ("cart_pole", "mountain_car", "acrobot", "pendulum")
}
CASES = {
    f"{env_id} {keywords}": (env_id, keywords)
    for env_id in IDS
    # The last bits of the float ones are those of the machine's sine.
    if ENVIRONMENTS[env_id].load().__module__ not in FLOATS
    for keywords in ({}, *_MORE.get(env_id, ()))
}


def digest_of_modes(env_id, keywords):
    """Return the digests of the autoreset modes, joined."""
    return " ".join(digest_of(env_id, mode, keywords) for mode in AutoresetMode)


@pytest.fixture(scope="module")
def digests():
    return json.loads(PATH.read_text())


def test_every_case_has_a_digest(digests):
    assert digests.keys() == CASES.keys()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if "BabyAI" in name else [])
        for name in CASES
    ],
)
def test_trajectories_are_the_same_with_every_version(name, digests):
    assert digest_of_modes(*CASES[name]) == digests[name]


if __name__ == "__main__":
    written = {name: digest_of_modes(*case) for name, case in CASES.items()}
    PATH.write_text(json.dumps(written, indent=1) + "\n")
