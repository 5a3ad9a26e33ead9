"""Plans of MiniGrid's and BabyAI's games: as short as any, and they do what they say."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import roll_vec  # noqa: F401
from roll_vec.arrays.engine import ArrayEngine

# States of the brute force that are stepped together.
_ROWS = 1024
# What no later step depends on.
_RESULTS = {"step_count", "success", "mission", "elapsed_steps", "limit"}


def count_fewest(env: Any, most: int) -> int | None:
    """Return the fewest actions to an end with a reward, of a breadth-first search.

    All actions in all states; None: it takes more than ``most``.
    """
    options = env._engine.options
    engine = ArrayEngine(options, _ROWS, None, 1)
    names = [name for name in options.variables if name not in _RESULTS]
    engine.reset(np.arange(_ROWS), list(range(_ROWS)), {})
    level, seen, no_skip = env._engine.get_state(), set(), np.zeros(_ROWS, np.bool_)
    for depth in range(most):
        states: dict[bytes, tuple[Any, int]] = {}
        for first in range(0, len(level["x"]), _ROWS):
            part = {name: array[first : first + _ROWS] for name, array in level.items()}
            part["step_count"] = np.zeros_like(part["step_count"])
            rows = np.arange(_ROWS) % len(part["x"])
            for action in range(len(options.action_names)):
                engine.set_state(part, rows, np.arange(_ROWS))
                actions = np.full(_ROWS, action + options.first_action)
                rewards, ends, *_ = engine.step(actions, no_skip)
                if (ends & (rewards > 0)).any():
                    return depth + 1
                after = engine.get_state()
                count = len(part["x"])
                keys = np.concatenate(
                    [
                        after[name][:count].reshape(count, -1).view(np.uint8)
                        for name in names
                    ],
                    axis=1,
                )
                for row in np.flatnonzero(~ends[:count]).tolist():
                    key = keys[row].tobytes()
                    if key not in seen:
                        seen.add(key)
                        states[key] = after, row
        if not states:
            return None
        level = {
            name: np.array([after[name][row] for after, row in states.values()])
            for name in level
        }
    return None


def check_fewest(id: str, seeds: range, most: int, **keywords: Any) -> None:
    """Compare plans of at most ``most`` actions with the brute force."""
    env = gymnasium.make(f"roll_vec/{id}", **keywords).unwrapped
    count = 0
    for seed in seeds:
        env.reset(seed=seed)
        plan = env.solve()
        if plan is not None and len(plan) <= most:
            assert count_fewest(env, most) == len(plan), seed
            count += 1
    assert count > len(seeds) // 2
