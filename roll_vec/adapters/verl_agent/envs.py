"""Groups of environments with verl-agent's methods.

An environment that has ended stays as it is until the next reset: done, reward 0, the
last observation and info.  verl-agent's own play on there, and its rollout loop leaves
these steps out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.adapters.roll.configs import plain_value
from roll_vec.adapters.roll.evaluation_split import apply_split
from roll_vec.errors import InvalidActionError, InvalidOptionError, ResetNeededError
from roll_vec.options import check_bool, check_choice, check_int
from roll_vec.registration.factories import make_vec
from roll_vec.seeding import check_seed

Info = dict[str, Any]


def merge_keywords(
    env_kwargs: Mapping[str, Any] | None, **fixed: Any
) -> dict[str, Any]:
    """Return the keywords of a batch: those of a user, and fixed ones.

    Raises
    ------
    InvalidOptionError
        If ``env_kwargs`` is not a mapping, or has one of the fixed ones.
    """
    fixed["autoreset_mode"] = "Disabled"
    if not isinstance(env_kwargs, (Mapping, type(None))):
        raise InvalidOptionError.expected("env_kwargs", "a dict or None", env_kwargs)
    keywords = plain_value(env_kwargs or {})
    for name in fixed.keys() & keywords.keys():
        accepted = f"no {name}, which the build function sets"
        raise InvalidOptionError.expected("env_kwargs", accepted, keywords)
    return {**keywords, **fixed}


class Groups(NamedTuple):
    """Arguments of all build functions; see `build_sokoban_envs`."""

    seed: int
    env_num: int
    group_n: int
    is_train: bool
    evaluation_split: str | None = None


class VerlAgentEnvs(ABC):
    """Groups of environments; those of a group play the same task.

    Parameters
    ----------
    id : str
    groups : Groups
    keywords : dict
        Of `roll_vec.make_vec`.

    Attributes
    ----------
    envs : RollVectorEnv
        All environments.
    env_num, group_n, num_processes : int
        Groups, environments of a group, and their product.
    is_train : bool
    mode : str
        The form of the observations.

    Raises
    ------
    InvalidOptionError, InvalidSeedError, UnknownOptionError
    """

    mode = "text"

    def __init__(self, id: str, groups: Groups, keywords: dict[str, Any]) -> None:
        self.env_num = check_int("env_num", groups.env_num, 1)
        self.group_n = check_int("group_n", groups.group_n, 1)
        self.num_processes = self.env_num * self.group_n
        self.is_train = check_bool("is_train", groups.is_train)
        self._rng = np.random.RandomState(_check_numpy_seed(groups.seed))
        # The tasks of an evaluation split, and how many of them have begun.
        self._split_tasks: Sequence[int] | None = None
        self._num_begun = 0
        if groups.evaluation_split is not None:
            split, keywords = apply_split(id, groups.evaluation_split, keywords)
            self._split_tasks = split.seeds
        self._ended = np.zeros(self.num_processes, np.bool_)
        self._tasks, self._num_turns = np.zeros(0, np.int64), 0
        self._keywords = keywords
        self._infos: list[Info] = []
        self._observations: Sequence[Any] = ()
        self.envs: Any = make_vec(id, self.num_processes, **keywords)

    def reset(self) -> tuple[list[Any], list[Info]]:
        """Start a task in each group.

        Returns
        -------
        observations : list
        infos : list of dict
            Each with ``won``, and for WebShop with ``available_actions``.

        Raises
        ------
        ClosedError
        """
        self._tasks, self._num_turns = self._next_tasks(), 0
        self._infos = self._begin(self._tasks)
        self._ended[:] = False
        return self._observe(), [dict(info) for info in self._infos]

    def step(
        self, actions: Sequence[Any]
    ) -> tuple[list[Any], list[float], list[bool], list[Info]]:
        """Step all environments that have not ended.

        Parameters
        ----------
        actions : sequence
            One for each environment; anything where the episode has ended.

        Returns
        -------
        observations : list
        rewards : list of float
        dones : list of bool
            True from the last step of an episode on.
        infos : list of dict
            Each with ``won``, and ``action_is_effective`` for grids, ``task_score`` for
            texts, ``available_actions`` for WebShop.

        Raises
        ------
        InvalidActionError, ResetNeededError, ClosedError
        """
        if not self._infos:
            message = "the environments must be reset before they take actions"
            raise ResetNeededError(message)
        is_list = isinstance(actions, (list, tuple, np.ndarray))
        if not is_list or len(actions) != self.num_processes:
            accepted = f"{self.num_processes} of them, one for each environment"
            value = len(actions) if is_list else actions
            raise InvalidActionError.expected("actions", accepted, value)
        self._num_turns += 1
        rewards = [0.0] * self.num_processes
        outcomes = self._idle_outcomes(actions)
        mask = ~self._ended
        mask[list(outcomes)] = False
        if mask.any():
            # The action of an environment that has ended may be anything.
            filler = actions[int(mask.argmax())]
            pairs = zip(actions, mask.tolist(), strict=True)
            batch = [one if runs else filler for one, runs in pairs]
            results = self.envs._step_some(batch, mask)
            self._observations, gains, terminations, truncations, infos = results
            self._ended |= mask & (terminations | truncations)
            for i in np.flatnonzero(mask).tolist():
                outcomes[i] = self._outcome(i, float(gains[i]), infos)
        for i, (reward, info) in outcomes.items():
            rewards[i], self._infos[i] = reward, info
        infos = [dict(info) for info in self._infos]
        return self._observe(), rewards, self._ended.tolist(), infos

    def render(self, mode: str = "text", env_idx: int | None = None) -> Any:
        """Return the observation of an environment, or a list of all.

        Parameters
        ----------
        mode : str
            Only ``text``.
        env_idx : int or None
        """
        check_choice("mode", mode, ("text",))
        if env_idx is not None:
            check_int("env_idx", env_idx, 0, self.num_processes - 1)
        observations = self._observe()
        return observations if env_idx is None else observations[env_idx]

    def close(self) -> None:
        """Close all environments; a second call does nothing."""
        self.envs.close()

    def _next_tasks(self) -> NDArray[np.int64]:
        """Return a task for each group: the next ones of a split, or drawn ones."""
        tasks = self._split_tasks
        if tasks is None:
            return self._draw_tasks()
        numbers = range(self._num_begun, self._num_begun + self.env_num)
        self._num_begun = numbers.stop % len(tasks)
        return np.array([tasks[number % len(tasks)] for number in numbers], np.int64)

    @abstractmethod
    def _draw_tasks(self) -> NDArray[np.int64]:
        """Return a drawn task for each group."""

    @abstractmethod
    def _begin(self, tasks: NDArray[np.int64]) -> list[Info]:
        """Start a task in each group and return an info for each environment."""

    def _idle_outcomes(self, actions: Sequence[Any]) -> dict[int, tuple[float, Info]]:
        """Return reward and info by environment for actions that are not steps."""
        del actions
        return {}

    @abstractmethod
    def _outcome(self, i: int, reward: float, infos: Info) -> tuple[float, Info]:
        """Return verl-agent's reward and info of a step of an environment."""

    def _observe(self) -> list[Any]:
        """Return the observations of all environments."""
        return list(self._observations)


def _check_numpy_seed(seed: Any) -> int:
    """Return a seed of numpy's `RandomState`."""
    value = check_seed(seed)
    if value >> 32:
        raise InvalidOptionError.expected("seed", "a seed below 2**32", seed)
    return value
