"""Single environments: a row of an `ArrayEngine`, with the interface of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from roll_vec.arrays.advantages import make_engine
from roll_vec.arrays.array_env import METADATA
from roll_vec.arrays.engine import ArrayEngine
from roll_vec.errors import (
    InvalidActionError,
    InvalidStateError,
    ResetNeededError,
    RollVecError,
    SolverLimitError,
    UnsupportedError,
)
from roll_vec.objects.base_envs import ClosableEnv
from roll_vec.options import MAX_INT, check_choice, check_int
from roll_vec.seeding import (
    MAX_COUNT,
    check_seed,
    draw_entropy,
    fold_seed,
)
from roll_vec.text.turn import MULTIPLIED_INFOS, EnvStep, step_text
from roll_vec.vector.vector_state import fit_value

_ONE = np.zeros(1, np.int64)


class SingleEnv(ClosableEnv):
    """One environment: a batch of one.

    Parameters
    ----------
    options : ArrayEnv
    max_episode_steps : int or None
        The registered limit, which rules may read.  Gymnasium's wrapper counts.

    Attributes
    ----------
    options
        The validated keywords, with the level options of the next episode.
    num_env_steps : int
        Steps of the current episode.
    action_lookup : dict of int to str
        Names of the actions.  This and other attributes are those of
        `ArrayEngine.get_attribute`.
    level_seed : int or None
        Seed of the current episode, below 2**32; None before the first reset.  Games
        whose random numbers are one stream do not have it.
    """

    metadata = METADATA
    _engine: ArrayEngine
    _window: Any = None

    def __init__(self, options: Any, max_episode_steps: int | None = None) -> None:
        engine = make_engine(options, 1, max_episode_steps, 1)
        engine.max_steps = getattr(options, "max_steps", None) or 0
        self.metadata, self.render_mode = engine.metadata, engine.render_mode
        self.observation_space = engine.single_observation_space
        self.action_space = engine.single_action_space
        self.action_parser = engine.action_parser
        self.first_action = engine.first_action
        # Behind these, which may be names of the options.
        self._engine = engine
        self._has_started = self._has_ended = False
        # False before the first reset, and after a call that raised within an episode.
        self._is_ready = False
        self._has_mask = engine.options.action_mask
        self._action = np.zeros(1, np.int64)

    def __getattr__(self, name: str) -> Any:
        # Variables and options; not before the constructor, as in copies.
        if name.startswith("_") or "_engine" not in self.__dict__:
            raise AttributeError(name)
        value = self._engine.get_attribute(name)[0]
        if isinstance(value, np.ndarray):
            # A copy, or a constant: what is written to it would be lost.
            value = value.view()
            value.flags.writeable = False
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a variable of the game, or an attribute that the game does not have.

        Raises
        ------
        FrozenAttributeError
            For an option, or another attribute that can only be read.
        InvalidStateError
            If the game does not take the value; nothing has changed then.
        """
        if name == "render_mode":
            check_choice(name, value, (None, *self.metadata["render_modes"]))
        values = None
        is_plain = name.startswith("_") or hasattr(type(self), name)
        # Not before the constructor, as in subclasses.
        if not (is_plain or name in vars(self)) and "_engine" in vars(self):
            values = self._engine.variables_of(name, value)
        if values is None:
            super().__setattr__(name, value)
        else:
            # Not by the method of a subclass, which may forget what is no variable.
            SingleEnv.set_state(self, {**SingleEnv.get_state(self), **values})

    @property
    def _name(self) -> str:
        return self._engine.name

    @property
    def options(self) -> Any:
        """The validated keywords, with the level options of the next episode."""
        return self._engine.options

    @property
    def accepts_noop(self) -> bool:
        """True if `step` accepts 0, "no valid action", below the action space."""
        options = self._engine.options
        has_noop: bool = options.lowest_action < options.first_action
        return has_noop and self.action_parser is None

    def get_all_actions(self) -> list[int]:
        """Return all valid actions."""
        return list(self.options.action_lookup)

    def get_instructions(self) -> str:
        """Return the game, the symbols, the actions and the form of an answer."""
        return self._engine.instructions

    # ---------------------------------------------------------------- episodes

    @property
    def level_seed(self) -> int | None:
        """Seed of the current episode; None before the first reset."""
        if self._engine.is_stream:
            message = f"{self.options.name} has no level_seed"
            raise AttributeError(message)
        if not self._has_started:
            return None
        return int(self._engine.seeds_of(_ONE)[0])

    def resume(self, seed: int, episode: int) -> None:
        """Make the next `reset` without a seed begin a certain episode of a stream.

        This reset must be the next call.

        Parameters
        ----------
        seed : int
            Of the stream.
        episode : int
            Number of that episode, from 0.

        Raises
        ------
        InvalidSeedError, InvalidOptionError
        UnsupportedError
            A game whose random numbers are one stream.
        """
        engine = self._engine
        if engine.is_stream:
            message = f"{self.options.name} cannot resume: it has no level_seed"
            raise UnsupportedError(message)
        number, seed = check_int("episode", episode, 0, MAX_COUNT), check_seed(seed)
        self._is_ready, self._has_started = False, True
        engine.first_seeds[0] = fold_seed(seed)
        # Before episode 0 is -1, modulo 2**64.
        engine.episode_numbers[0] = (number - 1) % (1 << 64)
        self._np_random_seed = seed

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode.

        Parameters
        ----------
        seed : int or None
            An int starts a sequence of episodes; None starts the next episode (the
            first time, of a sequence from an entropy seed).
        options : dict or None
            The environment reads the keys of ``reset_options`` of its class; of
            others there is a warning.

        Raises
        ------
        InvalidSeedError, InvalidOptionError, InvalidOptionTypeError, ClosedError
        """
        self._check_open()
        if seed is not None:
            seed = check_seed(seed)
        elif not self._has_started:
            seed = draw_entropy()
        was_ready, self._is_ready = self._is_ready, False
        try:
            self._engine.reset(_ONE, [seed], options)
        except RollVecError:
            # One that is known before, as of a level that cannot be drawn.
            self._is_ready = was_ready and not self._engine.needs_full_reset
            raise
        if seed is not None:
            self._np_random_seed = seed
        self._has_started, self._has_ended = True, False
        self._engine.successes[0] = self._engine.needs_full_reset = False
        self._show()
        observation, infos = self._engine.observe_one(), self._engine.begin_infos(_ONE)
        # Numbers and texts of Python, and arrays.
        info = {name: x.item() if x.ndim == 1 else x[0] for name, x in infos.items()}
        self._is_ready = True
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Parameters
        ----------
        action : int, array, or str with ``action_mode="text"``
            Of the action space: action + ``action_space.start`` for an agent that
            counts from 0.  If the space starts at 1, also 0, "no valid action".
            Any str.

        Returns
        -------
        observation, reward, terminated, truncated, info
            Truncated by the rules of the game, or at the option ``max_steps``.

        Raises
        ------
        InvalidActionError, ResetNeededError, ClosedError
            Nothing has changed then.  After another exception, as one of a rule, the
            environment must be reset.
        """
        # A call of the check alone would take 3 % of a step.
        if self._is_closed or not self._is_ready:
            self._check_started()
        engine, parser = self._engine, self.action_parser
        if parser is None:
            # Before anything moves: an invalid action, also one that is warned of.
            if engine.action_codes is not None:
                self._action[0] = engine.action_codes.check_one(action)
                action = self._action
            else:
                action = engine.check_array("action", action)[np.newaxis]
        try:
            if parser is not None:
                elapsed_steps = engine.elapsed_steps[0] + 1
                _, reward, terminated, truncated, info = step_text(
                    parser, action, self._play_code, MULTIPLIED_INFOS
                )
                # A turn of several actions is one step for every limit.
                engine.elapsed_steps[0] = elapsed_steps
                # As the kernel `reaches_limit`, which is compiled for numbers alone.
                truncated |= bool(0 < engine.max_steps <= elapsed_steps)
            else:
                # The option of the rules alone: Gymnasium's wrapper counts for itself.
                reward, terminated, truncated, info = engine.play_one(action)
            # Steps after the end of an episode do not take it back.
            # To set an attribute takes 0.4 us, see `__setattr__`.
            if (terminated or truncated) and not self._has_ended:
                self._has_ended = True
            if self.render_mode == "human":
                self._show()
            if self._has_mask:
                info["action_mask"] = engine.action_masks(_ONE)[0]
            return engine.observe_one(), reward, terminated, truncated, info
        except InvalidActionError:  # of an answer that is no text: nothing has moved
            self._is_ready = not engine.needs_full_reset
            raise
        except BaseException:
            self._is_ready = False
            raise

    def _play_code(self, code: int) -> EnvStep:
        """Take one action of a text; the observation follows at the end of the turn."""
        self._action[0] = code
        outcome = self._engine.play_one(self._action)
        reward, terminated, truncated, info = outcome
        info["action_is_valid"] = code >= self.first_action
        return None, reward, terminated, truncated, info

    def render(self) -> Any:
        """Return a frame in the form of ``render_mode``.

        Returns
        -------
        (H, W, 3) uint8, str or None
            None in ``human`` mode, which shows a window, and without a mode.
        """
        self._check_open()
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() was called without a render_mode; give one at construction, "
                f"one of {', '.join(map(repr, self.metadata['render_modes']))}"
            )
            return None
        self._check_started()
        if self.render_mode == "human":
            self._show()
            return None
        return self._frame(self.render_mode)

    def _show(self) -> None:
        """Show a frame in a window, in human mode."""
        if self.render_mode != "human":
            return
        if self._window is None:
            from roll_vec.render.window import Window

            self._window = Window()
        self._window.show(self._frame("rgb_array"), self.metadata["render_fps"])

    def close(self) -> None:
        """Close the environment and the window, if there is one."""
        super().close()
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        # A window belongs to its process.
        return {**self.__dict__, "_window": None}

    def _frame(self, mode: str) -> Any:
        """Return a frame in a mode that is not ``human``."""
        return self._engine.frames(_ONE, mode)[0]

    def _check_started(self) -> None:
        """Raise an error where a reset is needed, and after `close`."""
        self._check_open()
        if not self._is_ready:
            message = "the environment must be reset before it is stepped or rendered"
            raise ResetNeededError(message)

    @property
    def _np_random(self) -> np.random.Generator | None:  # type: ignore[override]
        """A copy of the generator of the rules; None before the first reset."""
        return self._engine.generators()[0] if self._has_started else None

    @property  # type: ignore[misc]
    def np_random(self) -> np.random.Generator:
        """A copy of the generator of the rules.

        It draws the numbers that the rules draw next, and does not affect them.
        """
        return self._np_random or np.random.default_rng()

    def solve(self, objective: str = "moves") -> Any:
        """Return actions that solve the environment from where it stands now.

        Parameters
        ----------
        objective : str
            ``moves``: no other way takes fewer steps.  A family may have others.

        Returns
        -------
        (num_moves,) int64, or what the family returns, or None
            Integers of the action space.  None without a solution.

        Raises
        ------
        InvalidOptionError
            For another objective.
        UnsupportedError
            A family without a solver.
        SolverLimitError
            If the search gave up.
        ResetNeededError, ClosedError
        """
        self._check_started()
        return self._engine.solve(_ONE, objective)[0]

    @property
    def oracle_action(self) -> int | None:
        """The first action of `solve`; None if there is none."""
        try:
            solution = self.solve()
        except SolverLimitError:
            return None
        if hasattr(solution, "first_action"):  # a policy for all cells
            return solution.first_action  # type: ignore[no-any-return]
        return None if solution is None or not len(solution) else int(solution[0])

    def set_level_options(self, **level_options: Any) -> None:
        """Change the levels from the next episode on; the present one goes on.

        Parameters
        ----------
        **level_options
            Keywords of the environment that choose its levels: ``num_levels``,
            ``start_level`` and those of the family.

        Raises
        ------
        UnknownOptionError
            For another keyword; lists those that are accepted.
        InvalidOptionError
            For a value that cannot be used.
        UnsupportedError
            A family without levels.
        ClosedError
        """
        self._check_open()
        self._engine.set_level_options(level_options)

    # ---------------------------------------------------------------- state

    def get_state(self) -> dict[str, Any]:
        """Return all that later steps and resets depend on.

        Returns
        -------
        dict
            Row i of each array of a batch's `VectorState`, as `VectorState.row` has it;
            ``has_ended``, whether the episode has ended by the rules or at the option
            ``max_steps``.

        Raises
        ------
        ResetNeededError, ClosedError
        """
        self._check_started()
        row = {name: array[0] for name, array in self._engine.get_state().items()}
        return {**row, "has_ended": self._has_ended}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to a state that `get_state` returned, or to a row of a batch's state.

        The step count of Gymnasium's wrapper `TimeLimit` stays as it is.

        Parameters
        ----------
        state : mapping
            Of an environment with the same options.

        Raises
        ------
        InvalidStateError
            If names, shapes or values do not fit; nothing has changed then.
        ClosedError
        """
        self._check_open()
        engine = self._engine
        present = engine.get_state()
        names = sorted(present)
        if not isinstance(state, Mapping) or not set(names) <= state.keys():
            value = sorted(state) if isinstance(state, Mapping) else state
            raise InvalidStateError.expected("state", f"a dict with {names}", value)
        arrays = {
            name: fit_value(name, state[name], array[0])[np.newaxis]
            for name, array in present.items()
        }
        # It may have been stepped past its limit.
        engine.check_state(arrays, MAX_INT)
        self._is_ready = False
        engine.set_state(arrays, _ONE, _ONE)
        self._np_random_seed, self._has_started = None, True
        self._has_ended = bool(state.get("has_ended", False))
        self._show()
        self._is_ready = True
