"""The info ``advantage``: what an action has changed in the exact value of an episode.

The advantage of an action in a state is Q(s, a) - V(s) under best play with full
knowledge: 0 for a best action, below 0 for others.  It does not depend on the luck that
followed, nor on the limit of steps.

Where actions have certain results, the value is the fewest moves to the end, below 0:
the advantage is ``d(s) - 1 - d(s')``.  An action into a dead end loses
`DEAD_END_LOSS`, and behind it nothing changes any more: each action has 0.  An end
without success is one, where solutions depend on the variable ``success``.  Other games
have a method ``action_advantages``, which says their unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.array_env import Ids
from roll_vec.arrays.declarations import draws_in_step
from roll_vec.arrays.engine import ArrayEngine
from roll_vec.arrays.steps import ArrayStep, Mask
from roll_vec.errors import InvalidOptionError
from roll_vec.vector.engine import NO_IDS
from roll_vec.vector.known_infos import DEAD_END_LOSS

# What a cache of solutions holds at most.
MAX_BYTES = 1 << 25
# An item of a dict with its number, beside the bytes of its key.
_ITEM_BYTES = 100

Floats = NDArray[np.float64]


def compare_moves(before: Floats, after: Floats) -> Floats:
    """Return the advantages of actions from the moves needed before and after each.

    Parameters
    ----------
    before, after : arrays of float64
        Infinite in dead ends, NaN where a solver gave up.
    """
    lost = np.isinf(after) & np.isfinite(before)
    with np.errstate(invalid="ignore"):
        change = np.where(lost, -DEAD_END_LOSS, before - 1.0 - after)
    return np.where(np.isinf(before), 0.0, change)


def look_up(
    cache: dict[bytes, Any],
    keys: list[bytes],
    compute: Callable[[Ids], Any],
    limit: int,
) -> list[Any]:
    """Return the values of keys; those that a cache does not have are computed.

    Parameters
    ----------
    cache : dict
        Emptied when it has more items than ``limit``.  Several threads may use it.
    keys : list of m bytes
    compute : function
        From k numbers of keys, ascending and all different, to their k values.
    """
    values = list(map(cache.get, keys))
    rows: dict[bytes, int] = {}
    for j, value in enumerate(values):
        if value is None:
            rows.setdefault(keys[j], j)
    if rows:
        numbers = np.fromiter(rows.values(), np.int64, len(rows))
        new = dict(zip(rows, compute(numbers), strict=True))
        if len(cache) > limit:
            cache.clear()
        cache.update(new)
        values = [
            new[key] if value is None else value
            for key, value in zip(keys, values, strict=True)
        ]
    return values


def row_keys(arrays: list[NDArray[Any]]) -> list[bytes]:
    """Return the bytes of each row of some arrays together."""
    count = len(arrays[0])
    parts = [
        np.ascontiguousarray(array).reshape(count, -1).view(np.uint8)
        for array in arrays
    ]
    rows = np.ascontiguousarray(np.concatenate(parts, axis=1))
    return rows.view(f"V{rows.shape[1]}").ravel().tolist()


class AdvantageEngine(ArrayEngine):
    """The engine of environments with ``advantage_info=True``.

    All is read off the states before and after an action, so that nothing needs to be
    kept from step to step beside a cache of solutions.
    """

    def __init__(self, options: Any, *arguments: Any) -> None:
        super().__init__(options, *arguments)
        if options.action_advantages is None and draws_in_step(options):
            message = (
                f"advantage_info: the rule `step` of {self.name} draws random numbers: "
                "define a method `action_advantages`"
            )
            raise InvalidOptionError(message)
        # The last states of episodes are read, and steps begin no others.
        self.resets_in_step = False
        self._has_no_begin_infos = self._writes_begin_infos = False
        self._cache: dict[bytes, float] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_cache": {}}

    def _step_batch(
        self,
        actions: Any,
        skip_mask: Mask,
        max_steps: int,
        begins: Ids | bool = NO_IDS,
        same_step: bool = False,
    ) -> ArrayStep:
        env_ids = np.flatnonzero(~skip_mask)
        if not len(env_ids):
            arguments = max_steps, begins, same_step
            return super()._step_batch(actions, skip_mask, *arguments)
        if not isinstance(begins, bool) and len(begins):
            self.advance(begins)
        before = self._read_rows(env_ids)
        result = super()._step_batch(actions, skip_mask, max_steps)
        _, terminations, _, _, infos = result
        advantages = np.zeros(self.num_envs)
        advantages[env_ids] = self._measure(
            before, actions[env_ids], self._read_rows(env_ids), terminations[env_ids]
        )
        infos["advantage"], infos["_advantage"] = advantages, ~skip_mask
        return result

    def play_one(
        self, actions: NDArray[Any]
    ) -> tuple[float, bool, bool, dict[str, Any]]:
        """Take one action in the one environment of this engine, without a limit."""
        env_ids = np.zeros(1, np.int64)
        before = self._read_rows(env_ids)
        reward, terminated, truncated, infos = super().play_one(actions)
        ends = np.array([terminated])
        rows = before, actions, self._read_rows(env_ids), ends
        infos["advantage"] = self._measure(*rows).item()
        return reward, terminated, truncated, infos

    def measure_idle(self, env_ids: Ids) -> Floats:
        """Return the advantages of no valid action in m > 0 environments, (m,)."""
        rows = self._read_rows(env_ids)
        actions = np.full(len(env_ids), self.first_action - 1)
        return self._measure(rows, actions, rows, np.zeros(len(env_ids), np.bool_))

    def _read_rows(self, env_ids: Ids) -> dict[str, NDArray[Any]]:
        """Return the variables of some environments, by name, as copies."""
        names = self.options.solution_variables
        variables = self.named_variables()
        return {name: variables[name][env_ids] for name in names or variables}

    def _measure(
        self,
        before: Mapping[str, NDArray[Any]],
        actions: NDArray[Any],
        after: Mapping[str, NDArray[Any]],
        ends: Mask,
    ) -> Floats:
        """Return the advantages of the last actions of some environments."""
        options = self.options
        if self.action_codes is not None:
            actions = actions - self.first_action
        if options.action_advantages is not None:
            result: Floats = options.action_advantages(before, actions, after)
            return result
        moves = self._count_moves(after)
        if self.action_codes is not None:
            # A text that ends the episode because it has no action.
            moves[ends & (actions < 0)] = np.inf
        if "success" in after:
            moves[ends] = np.where(after["success"][ends], 0.0, np.inf)
        return compare_moves(self._count_moves(before), moves)

    def _count_moves(self, variables: Mapping[str, NDArray[Any]]) -> Floats:
        keys = row_keys(list(variables.values()))

        def count(rows: Ids) -> list[float]:
            some = {name: array[rows] for name, array in variables.items()}
            moves: Floats = self.options.count_moves(some, self.num_threads)
            return moves.tolist()  # type: ignore[no-any-return]

        limit = MAX_BYTES // (_ITEM_BYTES + len(keys[0]))
        return np.array(look_up(self._cache, keys, count, limit))


def make_engine(
    options: Any, num_envs: int, max_episode_steps: int | None, num_threads: int
) -> ArrayEngine:
    """Return an engine that has the infos that the options ask for."""
    engine = AdvantageEngine if options.advantage_info else ArrayEngine
    return engine(options, num_envs, max_episode_steps, num_threads)
