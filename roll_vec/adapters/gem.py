"""Environments of GEM (gem-llm, github.com/axon-rl/gem) in pools of roll_vec.

Written for gem-llm 0.1.0::

    envs = roll_vec.adapters.gem.make_vec("game:Wordle-v0-easy", num_envs=64)

The observations, rewards, ends and infos are those of GEM's own environment.  Each
episode begins with ``reset(seed)`` of it: the first with the environment's seed, later
ones with `roll_vec.seeding.episode_seed`.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from roll_vec import registration
from roll_vec.adapters.own_generators import OwnGenerators, isolate
from roll_vec.errors import InvalidOptionError, ResetNeededError
from roll_vec.objects.base_envs import BaseLanguageBasedEnv
from roll_vec.pool import PoolVectorEnv
from roll_vec.registration import factories
from roll_vec.spaces import MAX_TEXT, UnicodeText

__all__ = ["GemEnv", "make_vec", "register"]

# The packages whose modules draw from global generators.
_PACKAGES = ("gem", "reasoning_gym")
_NUM_EXAMPLES = 8
# The search that makes rooms of GEM's Sokoban keeps its state in global variables.
_GLOBAL_STATE = "gem.envs.game_env.sokoban"
_one_reset = threading.Lock()


class GemEnv(BaseLanguageBasedEnv):
    """One of GEM's environments as one of roll_vec's.

    GEM seeds and reads the global generators of `random` and numpy.  Here each
    environment has generators of its own, see `roll_vec.adapters.own_generators`.

    Snapshots pickle GEM's environment; where that is impossible a pool says so.

    Parameters
    ----------
    env_id : str
        GEM's id, such as ``game:Wordle-v0-easy``; its package registers them.
    gem_wrappers : sequence of callable
        GEM's wrappers, from the inside to the outside.  `gymnasium.make_vec` has an
        argument ``wrappers`` of its own.
    **keywords
        Those of GEM's environment.

    Attributes
    ----------
    env : gem.Env

    Raises
    ------
    InvalidOptionError
        For an id that GEM does not have.
    ImportError
        Without gem-llm.
    """

    def __init__(
        self,
        env_id: str,
        *,
        gem_wrappers: Sequence[Callable[[Any], Any]] = (),
        **keywords: Any,
    ) -> None:
        super().__init__()
        importlib.import_module("gem.envs")
        registration = importlib.import_module("gem.envs.registration")
        if env_id not in registration.ENV_REGISTRY:
            accepted = "an id that gem.print_envs() lists"
            raise InvalidOptionError.expected("env_id", accepted, env_id)
        entry_point = registration.ENV_REGISTRY[env_id].entry_point
        if isinstance(entry_point, str):
            # Before it draws: to be isolated.
            importlib.import_module(entry_point.partition(":")[0])
        isolate(*_PACKAGES)
        self._generators = OwnGenerators(0)
        self._is_playing = False
        self._has_global_state = str(entry_point).startswith(_GLOBAL_STATE)
        with self._resetting():
            # Some constructors draw, and begin an episode.
            self.env = registration.make(env_id, **keywords)
            for wrapper in gem_wrappers:
                self.env = wrapper(self.env)
            examples = self._draw_examples()
        self.action_space = UnicodeText(MAX_TEXT, examples=examples)

    @contextmanager
    def _resetting(self) -> Iterator[None]:
        """Activate the own generators; with global state, in one thread at a time."""
        lock = _one_reset if self._has_global_state else nullcontext()
        with lock, self._generators.active():
            yield

    def _draw_examples(self) -> tuple[str, ...]:
        """Return actions of GEM's own random play, for samples of the action space."""
        try:
            self.env.reset(seed=0)
            return tuple(
                str(self.env.sample_random_action()) for _ in range(_NUM_EXAMPLES)
            )
        except Exception:
            # Many environments have no random play, and some no task without a network.
            return ()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin the next episode, by GEM's ``reset`` with the seed of the episode."""
        super().reset(seed=seed, options=options)
        self._is_playing = False
        with self._resetting():
            observation, info = self.env.reset(seed=self.level_seed)
        self._is_playing = True
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a step of GEM's environment.

        Returns
        -------
        observation, reward, terminated, truncated, info
            GEM's.  Its own turn limit, and environments of a single turn, set both
            ``terminated`` and ``truncated``.  ``info`` also has ``success``, unless
            GEM's has it: whether the step ended the episode with a reward of 1 or more,
            GEM's reward of success.

        Raises
        ------
        ResetNeededError
            Before a reset and after an end.
        """
        self._check_open()
        if not self._is_playing:
            message = "reset the environment before the first step and after an end"
            raise ResetNeededError(message)
        with self._generators.active():
            observation, reward, terminated, truncated, info = self.env.step(action)
        terminated, truncated = bool(terminated), bool(truncated)
        self._is_playing = not (terminated or truncated)
        success = terminated and float(reward) >= 1.0
        info = {"success": success, **info}
        return observation, float(reward), terminated, truncated, info

    def close(self) -> None:
        """Close GEM's environment, if it can be closed."""
        super().close()
        close = getattr(getattr(self, "env", None), "close", None)
        if callable(close):
            close()


def _id_of(env_id: Any) -> str:
    if not isinstance(env_id, str):
        # GEM's own make_vec takes a list of them.
        accepted = "a str, one id of GEM; num_envs is the number of environments"
        raise InvalidOptionError.expected("env_id", accepted, env_id)
    # Gymnasium reads the name of a module before a colon.
    return f"gem/{env_id.replace(':', '-')}"


def register(env_id: str, max_episode_steps: int | None = None, **keywords: Any) -> str:
    """Register one of GEM's environments with roll_vec, and return its id.

    It is ``gem/<env_id>`` with ``-`` for the colon, as ``gem/game-Wordle-v0-easy``.

    Parameters
    ----------
    env_id, **keywords
        Those of `GemEnv`.
    max_episode_steps : int or None
        Steps after which an episode is truncated, beside GEM's own limit.
    """
    id = _id_of(env_id)
    registration.register(id, GemEnv, max_episode_steps, env_id=env_id, **keywords)
    return id


def make_vec(env_id: str, num_envs: int = 1, **keywords: Any) -> PoolVectorEnv:
    """Return a pool of one of GEM's environments.

    Parameters
    ----------
    env_id : str
    num_envs : int
    **keywords
        Those of `GemEnv`, and those of pools and texts as for `roll_vec.make_vec`.
    """
    id = _id_of(env_id)
    if id not in registration.ENVIRONMENTS:
        register(env_id)
    envs = factories.make_vec(id, num_envs, **keywords)
    assert isinstance(envs, PoolVectorEnv)
    return envs
