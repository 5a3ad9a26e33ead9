"""`ArrayEngine`: N environments of one declaration, in stacked arrays."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.arrays.array_env import Ids
from roll_vec.arrays.attributes import StateAttribute
from roll_vec.arrays.steps import Mask, StepEngine
from roll_vec.errors import FrozenAttributeError
from roll_vec.kernels.outcomes import JUST_RESET, NEEDS_RESET, PLAYING
from roll_vec.kernels.unroll import DISABLED, NEXT_STEP, SAME_STEP
from roll_vec.options import describe_value
from roll_vec.vector.engine import UnrollResult
from roll_vec.vector.rollout import Rollout

# Steps of all environments that an unroll takes before it begins the next episodes.
# Each time episodes end, the kernel goes through the steps of all environments again.
# With many environments that is often, so an unroll runs in blocks of steps.
STEPS_AT_ONCE = 1 << 16
# Each thread of an unroll takes at least this many steps of environments: handing work
# to a thread takes 20 to 130 us, a step some 5 ns.
STEP_ROWS_PER_THREAD = 1 << 15
_MODES = {
    AutoresetMode.DISABLED: DISABLED,
    AutoresetMode.NEXT_STEP: NEXT_STEP,
    AutoresetMode.SAME_STEP: SAME_STEP,
}


class ArrayEngine(StepEngine):
    """The engine of all environments in arrays; see `roll_vec.vector.engine.Engine`.

    Parameters
    ----------
    options : ArrayEnv
        The keywords of the environments, and the declaration of their family.
    num_envs : int
    max_episode_steps : int or None
        None: no limit beside the options' own.
    num_threads : int
    """

    # ---------------------------------------------------------------- many steps

    def unroll(
        self, actions: Any, has_ended: Mask, mode: AutoresetMode, out: Rollout | None
    ) -> UnrollResult | None:
        """Take T steps; see `roll_vec.vector.engine.Engine.unroll`.

        Returns None with texts or further infos, and if an action needs an error or a
        warning: in NEXT_STEP mode it may belong to a step that ignores it.
        """
        # Some infos are read off the state, which an unroll leaves behind.
        has_all_infos = self._has_no_begin_infos or self._writes_begin_infos
        if self.observes_text or not has_all_infos:
            return None
        if self._texts_of_parts is not None and mode is AutoresetMode.DISABLED:
            # Steps behind the end of an episode have no texts.
            return None
        n, same_step = self.num_envs, mode is AutoresetMode.SAME_STEP
        try:
            if self.action_codes is not None:
                codes = self.action_codes.parse_steps(actions, n)
            else:
                codes = self.check_array("actions", actions, (len(actions), n))
        except ValueError:
            # Single steps know which one has the error.
            return None
        shape = codes.shape[:2]
        num_rows = len(codes) * n
        first = out and out.observations
        last = out.infos.get("final_obs") if out is not None else None
        # As kernels write them, of T * n steps; those of users may be the same.
        allocate = self.options.allocate_observations
        observations = self._arrays_of(first, num_rows) or allocate(num_rows)
        next_observations = observations
        if same_step:
            next_observations = self._arrays_of(last, num_rows) or allocate(num_rows)
        if mode is AutoresetMode.DISABLED:
            # Steps behind the end of an episode are not made, but looked at.
            for array in observations:
                array[...] = 0
        outcome = self._make_outcome(shape)
        results, infos = outcome[:3], outcome[3]
        if out is not None:
            results = out.rewards, out.terminations, out.truncations
        # In the order of kernels.
        begin_infos = {
            name: np.empty_like(info) if same_step else info
            for name, info in infos.items()
            if name in self.options.reset_infos
        }
        times, states = np.zeros(n, np.int64), np.where(has_ended, NEEDS_RESET, PLAYING)
        # The argument ``buffer`` of the kernels of `roll_vec.kernels.unroll`.
        buffer = (
            (n, _MODES[mode], codes.reshape(num_rows, *codes.shape[2:])),
            (times, states),
            (np.empty(n, np.bool_), np.empty(n, np.bool_), times.copy()),
            tuple(map(_flatten, results)),
            tuple(map(_flatten, infos.values())),
            tuple(map(_flatten, begin_infos.values())),
            observations,
            next_observations,
        )
        self._observations = None
        self._unroll(len(codes), buffer)
        if "success" in infos:
            self.successes[...] = infos["success"][-1]
        return UnrollResult(
            self._shape_observations(observations, shape, first),
            self._shape_observations(next_observations, shape, last)
            if same_step
            else None,
            *results,
            {name: infos[name] for name in infos if name not in self._hidden_infos},
            times,
            begin_infos,
        )

    def _unroll(self, num_steps: int, buffer: tuple[Any, ...]) -> None:
        """Take all steps of a buffer; in DISABLED mode those before an episode's end.

        All environments take the same steps in one call of a kernel.  Those whose next
        levels are not in memory stop there.  The next episodes of all that have stopped
        begin together, and another kernel plays these environments until they stop
        again.
        """
        kernels, (_, mode, _), (times, states) = self._kernels, *buffer[:2]
        is_disabled = mode == DISABLED
        at_once = num_steps
        if not (is_disabled or self._can_begin_in_kernel):
            at_once = max(STEPS_AT_ONCE // self.num_envs, 16)
        split: dict[str, Any] = {"slices": self.unroll_slices}
        split["rows_per_thread"] = 1 + STEP_ROWS_PER_THREAD // at_once
        for first_step in range(0, num_steps, at_once):
            until = min(first_step + at_once, num_steps)
            bound = self._bind(self.max_steps)
            first = until, buffer, bound.fixed
            self._run(kernels.unroll, self.num_envs, *first, bound.episodes, **split)
            waits = times < until
            while waits.any() and not is_disabled:
                rows = np.flatnonzero(waits)
                self.advance(rows)
                states[rows] = JUST_RESET
                self._run(kernels.unroll_rows, len(rows), *first, rows, **split)
                waits = times < until

    # ---------------------------------------------------------------- state

    def configuration(self) -> dict[str, Any]:
        """Return the options and the step limit; see `Engine.configuration`."""
        fields = {field.name for field in dataclasses.fields(self.options)}
        names = sorted(fields - {"render_mode", "render_scale"})
        options = {name: describe_value(getattr(self.options, name)) for name in names}
        return {**options, "max_episode_steps": self.max_steps}

    def solve(self, env_ids: Ids, objective: str) -> list[Any]:
        """Return solutions; see `Engine.solve`.

        Raises
        ------
        UnsupportedError
            A family without a solver.
        """
        return self.options.solve_envs(self, env_ids, objective)  # type: ignore[no-any-return]

    # ---------------------------------------------------------------- attributes

    def call(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it is a method."""
        values = self.get_attribute(name)
        if not all(callable(value) for value in values):
            return values
        return tuple(value(*args, **kwargs) for value in values)

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an option or another attribute of each environment."""
        options, n, variables = self.options, self.num_envs, self.named_variables()
        if name == "np_random":
            return self.generators()
        if name in options.attributes:
            value = options.attributes[name]
            if isinstance(value, StateAttribute):
                return tuple(value.read(self.named_row(row)) for row in range(n))
            return (value,) * n
        if name == "num_env_steps":
            return tuple(self.elapsed_steps.tolist())
        methods: dict[str, Any] = {
            "get_instructions": lambda: self.instructions,
            "get_all_actions": lambda: list(options.action_lookup),
        }
        if name in methods:
            return (methods[name],) * n
        if name in options.LEVEL_OPTIONS and not self.is_stream:
            # A number of levels, also where the option says "all of them".
            field = "level_count" if name == "num_levels" else name
            return (getattr(options, field),) * n
        if name in variables:
            array = variables[name]
            return tuple(array.tolist() if array.ndim == 1 else array.copy())
        value = getattr(options, name, None)
        if name.startswith("_") or callable(value) or not hasattr(options, name):
            message = f"{options.name} has no attribute {name!r} to read"
            raise AttributeError(message)
        return (value,) * n

    def variables_of(self, name: str, value: Any) -> dict[str, Any] | None:
        """Return the variables that a new value of an attribute means.

        Returns
        -------
        dict of str to object, or None
            None: there is no attribute of this name.

        Raises
        ------
        FrozenAttributeError
            If it can only be read.
        """
        attribute = self.options.attributes.get(name)
        if name in self.named_variables():
            values = {name: value}
        elif isinstance(attribute, StateAttribute) and attribute.write is not None:
            values = dict(attribute.write(value))
        else:
            try:
                self.get_attribute(name)
            except AttributeError:
                return None
            message = f"{name} cannot be set: an option is one of a new environment"
            raise FrozenAttributeError(message)
        for name, each in values.items():
            dtype, _ = self.options.variables[name]
            # A float is rounded to the dtype, as by a rule.
            if dtype.kind == "f" and np.asarray(each).dtype.kind in "iuf":
                values[name] = np.asarray(each, dtype)
        return values


def _flatten(array: NDArray[Any]) -> NDArray[Any]:
    """Return (T, n, ...) as (T * n, ...); an array of one step stays as it is."""
    return array if array.ndim == 1 else array.reshape(-1, *array.shape[2:])
