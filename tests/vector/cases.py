"""What the tests of the vector contract share: small batches, play, comparison."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from inspect import signature
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

import roll_vec  # noqa: F401  registers the ids
from roll_vec.registration import ENVIRONMENTS
from tests.conftest import JIT_OFF

IDS = tuple(ENVIRONMENTS)
MODES = tuple(AutoresetMode)
NEXT_STEP, SAME_STEP, DISABLED = (
    AutoresetMode.NEXT_STEP,
    AutoresetMode.SAME_STEP,
    AutoresetMode.DISABLED,
)

# Random play meets ends by the rules and by this limit, also both on one step.
LIMIT = 12
# Worlds that are small enough for that; an id without an entry is taken as it is.
SMALL: dict[str, dict[str, Any]] = {
    "roll_vec/Sokoban-v0": {"dim_room": (5, 5), "num_boxes": 1},
}


def own_keywords(env_id: str) -> dict[str, Any]:
    """Return the keywords of an id's single form with their defaults."""
    parameters = signature(ENVIRONMENTS[env_id].load("Options")).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


LEVEL_IDS = tuple(id for id in IDS if "num_levels" in own_keywords(id))


def keywords(env_id: str, **more: Any) -> dict[str, Any]:
    """Return the keywords of a small world with a short limit."""
    return {"max_episode_steps": LIMIT, **SMALL.get(env_id, {}), **more}


def make_batch(env_id: str, num_envs: int = 4, **more: Any) -> Any:
    """Return a native batch of small worlds."""
    return gymnasium.make_vec(env_id, num_envs=num_envs, **keywords(env_id, **more))


def make_single(env_id: str, **more: Any) -> gymnasium.Env[Any, Any]:
    """Return one small world, as `gymnasium.make` gives it."""
    return gymnasium.make(env_id, **keywords(env_id, **more))


def make_sync(
    env_id: str, num_envs: int, autoreset_mode: AutoresetMode, **more: Any
) -> SyncVectorEnv:
    """Return Gymnasium's batch of the same worlds."""
    return SyncVectorEnv(
        [lambda: make_single(env_id, **more) for _ in range(num_envs)],
        autoreset_mode=autoreset_mode,
    )


def fewer(steps: int) -> int:
    """Return a number of steps or rows, cut where kernels run uncompiled."""
    return max(steps // 20, 20) if JIT_OFF else steps


def lowest_action(env: Any) -> int:
    """Return the action that ends nothing from a start: "no valid action", or left."""
    return max(int(env.unwrapped.single_action_space.start) - 1, 0)


def draw_actions(env: Any, steps: int, seed: int = 0) -> np.ndarray:
    """Return (steps, num_envs) random actions, "no valid action" among them."""
    space = env.unwrapped.single_action_space
    low = lowest_action(env)
    high = int(space.start + space.n)
    shape = (steps, env.unwrapped.num_envs)
    return np.random.default_rng(seed).integers(low, high, shape)


def play(env: VectorEnv, actions: Sequence[Any]) -> list[Any]:
    """Return copies of what `step` and, in DISABLED mode, partial resets return.

    Nothing is left to be reset in DISABLED mode at the end.
    """
    results: list[Any] = []
    for row in actions:
        result = env.step(row)
        results.append(copy.deepcopy(result))
        finished = result[2] | result[3]
        if env.metadata["autoreset_mode"] is DISABLED and finished.any():
            partial = env.reset(options={"reset_mask": finished.copy()})
            results.append(copy.deepcopy(partial))
    return results


def _same(actual: Any, expected: Any) -> bool:
    kind = type(expected)
    if type(actual) is not kind:
        return False
    if kind is np.ndarray:
        if actual.dtype != expected.dtype or actual.shape != expected.shape:
            return False
        if expected.dtype == object:
            return _same(actual.tolist(), expected.tolist())
        return bool(actual.tobytes() == expected.tobytes())
    if kind is dict:
        return actual.keys() == expected.keys() and all(
            _same(actual[key], expected[key]) for key in expected
        )
    if kind is tuple or kind is list:
        return len(actual) == len(expected) and all(map(_same, actual, expected))
    return bool(actual == expected)


def assert_same(actual: Any, expected: Any, where: str = "result") -> None:
    """Compare types, dtypes, shapes, keys and values to the bit, all the way down."""
    if _same(actual, expected):
        return
    if type(actual) is type(expected):
        if isinstance(expected, dict) and actual.keys() == expected.keys():
            for key in expected:
                assert_same(actual[key], expected[key], f"{where}[{key!r}]")
        if isinstance(expected, (tuple, list)) and len(actual) == len(expected):
            for index, (one, other) in enumerate(zip(actual, expected, strict=True)):
                assert_same(one, other, f"{where}[{index}]")
    kinds = [
        f"{type(x).__name__} {getattr(x, 'dtype', '')}" for x in (actual, expected)
    ]
    pytest.fail(f"{where}, {kinds[0]}:\n{actual}\nexpected, {kinds[1]}:\n{expected}")
