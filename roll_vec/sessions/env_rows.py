"""Runs resets and steps of some environments of a batch, each as a single environment.

It asks the engine and not `RollVectorEnv.step`, whose results are a batch: there one
environment's info can change the type of another's, an int beside a float, and the
observations of all environments are built for the step of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space, Text
from gymnasium.vector.utils import concatenate, create_empty_array
from numpy.typing import NDArray

from roll_vec.errors import EnvironmentFaultError
from roll_vec.sessions.calls import Call, copy_error
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.info_lists import split_infos
from roll_vec.vector.info_parts import InfoParts, add_to_infos, find_part
from roll_vec.vector.infos import InfoList, Infos

__all__ = ["EnvRows"]


class EnvRows:
    """The environments of a batch, for callers that do not know each other.

    Parameters
    ----------
    envs : RollVectorEnv
        In DISABLED mode.
    """

    def __init__(self, envs: RollVectorEnv) -> None:
        self.envs, self.engine = envs, envs.engine
        # An action of the right form for environments that are not stepped.
        self._filler = _some_action(envs.single_action_space)

    def run(self, calls: Sequence[Call]) -> None:
        """Make each call of a batch, and set its result or its error.

        Parameters
        ----------
        calls : sequence of Call
            Of different environments.

        Raises
        ------
        BaseException
            If the state of the environments is unknown: all must be reset.
        """
        calls = sorted(calls, key=lambda call: call.row)
        self._reset([call for call in calls if call.operation == "reset"])
        self._step([call for call in calls if call.operation == "step"])
        for call in calls:
            if call.operation == "render":
                _attempt(call, self._render)
        warn = getattr(self.envs, "_warn_of_faults", None)
        if warn is not None:
            warn()

    def demand_reset(self) -> None:
        """Drop all that was started: every environment is reset next."""
        self.envs._drop_pending()

    # -------------------------------------------------------------- resets

    def _reset(self, calls: list[Call]) -> None:
        # Environments that share their options begin together.
        plain = [call for call in calls if not call.argument[1]]
        groups = [plain, *([call] for call in calls if call.argument[1])]
        for group in filter(None, groups):
            try:
                self._reset_group(group)
            except EnvironmentFaultError:
                raise
            except Exception as error:
                if len(group) == 1:
                    group[0].fail(error)
                    continue
                # No environment has moved: the one without a level is by itself.
                for call in group:
                    _attempt(call, lambda one: self._reset_group([one]))

    def _reset_group(self, calls: list[Call]) -> None:
        env_ids = _rows_of(calls)
        options = calls[0].argument[1]
        self.engine.reset(env_ids, [call.argument[0] for call in calls], options)
        new_infos = self.engine.reset_infos(env_ids)
        infos = add_to_infos(None, env_ids, new_infos, self.envs.num_envs)
        columns = self._observe(env_ids), _split(infos, env_ids)
        for call, values in zip(calls, zip(*columns, strict=True), strict=True):
            call.succeed(values)

    def first_seed(self, row: int) -> int | None:
        """Return the seed of a session's first episode, if the caller gives none."""
        return first_seed(self.envs, row)

    # --------------------------------------------------------------- steps

    def _step(self, calls: list[Call]) -> None:
        if not calls:
            return
        try:
            actions, skip_mask = self._check(calls)
        except Exception:
            # Nothing has moved.  Each error belongs to the caller of its action.
            calls = [call for call in calls if _attempt(call, self._check_one)]
            if not calls:
                return
            actions, skip_mask = self._check(calls)
        *results, infos = self.engine.step(actions, skip_mask)
        rows = _rows_of(calls)
        columns = (
            self._observe(rows),
            *(array[rows].tolist() for array in results),
            _split(infos, rows),
        )
        for call, values in zip(calls, zip(*columns, strict=True), strict=True):
            call.succeed(values)

    def _check(self, calls: list[Call]) -> tuple[Any, NDArray[np.bool_]]:
        """Return the actions as the engine takes them, and who is not stepped."""
        num_envs = self.envs.num_envs
        actions = [self._filler] * num_envs
        skip_mask = np.ones(num_envs, np.bool_)
        for call in calls:
            actions[call.row] = call.argument
            skip_mask[call.row] = False
        batch = batch_actions(self.envs.single_action_space, actions)
        return self.engine.check_actions(batch, skip_mask), skip_mask

    def _check_one(self, call: Call) -> None:
        self._check([call])

    def _observe(self, rows: NDArray[np.int64]) -> list[Any]:
        # A row of a batch would keep the whole batch in memory.
        return [
            one.copy() if isinstance(one, np.ndarray) else one
            for one in self.engine.observe_envs(rows)
        ]

    # ----------------------------------------------------------- rendering

    def _render(self, call: Call) -> None:
        mode = self.envs.render_mode
        frame = None
        if mode is not None:
            # A window is for one batch, not for one of its environments.
            mode = "rgb_array" if mode == "human" else mode
            (frame,) = self.engine.frames(_rows_of([call]), mode)
        call.succeed(frame)


def _attempt(call: Call, function: Callable[[Call], None]) -> bool:
    """Call a function with a call; its exception is the error of the call."""
    try:
        function(call)
    except EnvironmentFaultError:
        raise
    except Exception as error:
        call.fail(copy_error(error))
        return False
    return True


def _some_action(space: Space[Any]) -> Any:
    """Return an action of a space, always the same."""
    if isinstance(space, Text):
        return ""
    if isinstance(space, Discrete):
        return int(space.start)
    return space.sample()


def _rows_of(calls: Sequence[Call]) -> NDArray[np.int64]:
    return np.array([call.row for call in calls], np.int64)


def first_seed(envs: RollVectorEnv, row: int) -> int | None:
    """Return the seed of an environment's first episode, drawn as its batch does."""
    seeds: list[int | None] = [0] * envs.num_envs
    seeds[row] = None
    return envs._draw_missing_seeds(seeds)[row]


def batch_actions(space: Space[Any], actions: list[Any]) -> Any:
    """Return actions of a space as a batch, in the form that engines take."""
    if isinstance(space, (Discrete, Text)):
        return actions
    empty: Any = create_empty_array(space, len(actions))
    return concatenate(space, actions, empty)


def _split(infos: Infos | InfoList | InfoParts, rows: NDArray[np.int64]) -> InfoList:
    """Return the info of each of some environments, as a single environment has it.

    Parameters
    ----------
    infos : dict in Gymnasium's layout, list of n dicts, or InfoParts
    rows : (m,) int64
    """
    if isinstance(infos, InfoParts):
        pairs = [find_part(infos, row) for row in rows.tolist()]
        return [_split(part, np.array([row]))[0] for part, row in pairs]
    if isinstance(infos, list):
        return [infos[row] for row in rows.tolist()]
    return split_infos(infos, rows)
