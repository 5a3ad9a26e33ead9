"""One environment of an `ArrayEnv`: a batch of one, with the interface of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidStateError, ResetNeededError
from roll_vec.options import parse_options
from roll_vec.seeding import check_seed, draw_entropy
from roll_vec.stacked.array_engine import ArrayEngine
from roll_vec.stacked.array_env import ArrayEnv
from roll_vec.stacked.rendered_env import RenderedEnv
from roll_vec.text.turn import EnvStep, step_text
from roll_vec.vector.engine import EngineState
from roll_vec.vector.state import fit_value

__all__ = ["SingleArrayEnv"]

_ONE = np.zeros(1, np.int64)
_NO_SKIP = np.zeros(1, np.bool_)


class SingleArrayEnv(RenderedEnv):
    """One environment: `gymnasium.make` of a registered `ArrayEnv`.

    Parameters
    ----------
    cls : type
        The subclass of `ArrayEnv`.
    **keywords
        Its options.
    """

    def __init__(self, cls: type[ArrayEnv], **keywords: Any) -> None:
        self.options = parse_options(cls, keywords)
        self._engine = ArrayEngine(self.options, 1, None, 1)
        self.observation_space = self._engine.single_observation_space
        self.action_space = self._engine.single_action_space
        self.action_parser = self._engine.action_parser
        self.metadata = self._engine.metadata
        self.render_mode = self.options.render_mode
        self._has_started = False

    def __getattr__(self, name: str) -> Any:
        # Options, as of other environments; not before the constructor, as in copies.
        if name.startswith("_") or "options" not in self.__dict__:
            raise AttributeError(name)
        try:
            return self._engine.get_attribute(name)[0]
        except AttributeError:
            message = f"{type(self.options).__name__} has no attribute {name!r}"
            raise AttributeError(message) from None

    def get_instructions(self) -> str:
        """Return the game, the actions and the form of an answer."""
        return self.options.instructions(self.action_parser)

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
            Ignored.

        Raises
        ------
        InvalidSeedError, ClosedError
        """
        self._check_open()
        if seed is not None:
            seed = check_seed(seed)
        elif not self._has_started:
            seed = draw_entropy()
        self._engine.reset(_ONE, [seed])
        self._has_started = True
        if seed is not None:
            self._np_random_seed = seed
        self._show()
        return self._observe(), _first(self._engine.reset_infos(_ONE))

    def set_level_options(self, **level_options: Any) -> None:
        """Change the levels from the next episode on; the present one goes on.

        Parameters
        ----------
        **level_options
            ``num_levels`` and ``start_level``.

        Raises
        ------
        UnknownOptionError, InvalidOptionError, ClosedError
        """
        self._check_open()
        self._engine.set_level_options(_ONE, level_options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Raises
        ------
        InvalidActionError, ResetNeededError, ClosedError
            Nothing has changed then.
        """
        self._check_started()
        engine = self._engine
        if self.action_parser is not None:
            elapsed_steps = engine.elapsed_steps[0] + 1
            _, reward, terminated, _, info = step_text(
                self.action_parser, action, self._take_code
            )
            engine.elapsed_steps[0] = elapsed_steps
            self._show()
            if self.options.action_mask:
                info["action_mask"] = engine.action_masks(_ONE)[0]
            return self._observe(), reward, terminated, False, info
        if engine.action_codes is not None:
            actions = np.array([engine.action_codes.check_one(action)], np.int64)
        else:
            actions = engine.check_actions(np.asarray(action)[np.newaxis], _NO_SKIP)
        result = engine.step(actions, _NO_SKIP)
        info = _first({k: v for k, v in result.infos.items() if k[0] != "_"})  # type: ignore[union-attr]
        self._show()
        reward, terminated = result.rewards.item(), result.terminations.item()
        return self._observe(), reward, terminated, False, info

    def _take_code(self, code: int) -> EnvStep:
        """Take one action of a text."""
        rewards, terminations, _, values = self._engine._step_batch(
            np.array([code], np.int64), _NO_SKIP, 0
        )
        info = _first(values)
        info["action_is_valid"] = code >= self._engine.first_action
        return None, rewards.item(), terminations.item(), False, info

    def _observe(self) -> Any:
        return self._engine.observe_envs(_ONE)[0]

    def _check_started(self) -> None:
        self._check_open()
        if not self._has_started:
            message = "the environment must be reset before it is stepped or rendered"
            raise ResetNeededError(message)

    def _frame(self, mode: str) -> Any:
        return self._engine.frames(_ONE, mode)[0]

    @property
    def _np_random(self) -> np.random.Generator | None:
        """The generator at its present position, under Gymnasium's name for it."""
        return self._engine.get_attribute("np_random")[0] if self._has_started else None

    @_np_random.setter
    def _np_random(self, generator: np.random.Generator | None) -> None:
        if generator is not None:
            from roll_vec.seeding import generator_words

            self._engine.rng_states[:, 0] = generator_words(generator)

    def get_state(self) -> dict[str, Any]:
        """Return row 0 of each array of a batch's state, and the seed of the stream."""
        self._check_started()
        arrays = self._engine.get_state().arrays
        values = {name: _copy(array[0]) for name, array in arrays.items()}
        return {**values, "seeds": self._np_random_seed}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to a state that `get_state` returned, or to a row of a batch's state.

        Raises
        ------
        InvalidStateError
            If names, shapes or values do not fit; nothing has changed then.
        ClosedError
        """
        self._check_open()
        own = {name: each[0] for name, each in self._engine.get_state().arrays.items()}
        if not isinstance(state, Mapping) or not own.keys() <= state.keys():
            value = sorted(state) if isinstance(state, Mapping) else state
            accepted = f"a dict with {sorted(own)}"
            raise InvalidStateError.expected("state", accepted, value)
        arrays = {
            name: np.asarray(fit_value(name, state[name], own[name]))[np.newaxis]
            for name in own
        }
        whole = EngineState(arrays)
        self._engine.check_state(whole)
        seed = state.get("seeds")
        seed = None if seed is None else check_seed(seed)
        self._engine.set_state(whole, _ONE, _ONE)
        self._np_random_seed, self._has_started = seed, True
        self._show()


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _first(infos: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the infos of environment 0: numbers of Python, and arrays."""
    firsts = {key: array[0] for key, array in infos.items()}
    return {
        key: value.item() if isinstance(value, np.generic) else value
        for key, value in firsts.items()
    }
