"""Groups of environments with verl-agent's methods; as they are, those of text games.

An environment that has ended stays as it is until the next reset: done, reward 0, the
last observation and info.  verl-agent's own play on there, and its rollout loop leaves
these steps out.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.adapters.roll.configs import plain_value
from roll_vec.adapters.roll.evaluation_split import apply_split
from roll_vec.errors import InvalidActionError, InvalidOptionError, ResetNeededError
from roll_vec.options import check_bool, check_choice, check_int
from roll_vec.registration.factories import make_vec
from roll_vec.seeding import check_seed
from roll_vec.vector.known_infos import SUCCESS_KEYS, read_success

if TYPE_CHECKING:
    from typing_extensions import Self

Info = dict[str, Any]

SEED_DRAWS = ("verl_agent", "fixed")
# The ends of verl-agent's ranges of seeds.
TRAIN_SEEDS, VALIDATION_SEEDS = (0, (1 << 16) - 1), (1 << 16, (1 << 32) - 1)
SUCCESS_REWARD = 10.0


def take_keywords(env_kwargs: Mapping[str, Any] | None, **own: Any) -> dict[str, Any]:
    """Return the keywords of a batch: those of a user, and our own.

    Raises
    ------
    InvalidOptionError
        If ``env_kwargs`` is not a mapping, or has one of our own.
    """
    own["autoreset_mode"] = "Disabled"
    if not isinstance(env_kwargs, (Mapping, type(None))):
        raise InvalidOptionError.expected("env_kwargs", "a dict or None", env_kwargs)
    keywords = plain_value(env_kwargs or {})
    for name in own.keys() & keywords.keys():
        accepted = f"no {name}, which the build function sets"
        raise InvalidOptionError.expected("env_kwargs", accepted, keywords)
    return {**keywords, **own}


class Groups(NamedTuple):
    """Arguments of all build functions; see `build_sokoban_envs`."""

    seed: int
    env_num: int
    group_n: int
    is_train: bool
    seed_draw: str
    evaluation_split: str | None = None


class VerlAgentEnvs:
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

    def __init__(
        self,
        id: str,
        groups: Groups,
        keywords: dict[str, Any],
    ) -> None:
        self.env_num = check_int("env_num", groups.env_num, 1)
        self.group_n = check_int("group_n", groups.group_n, 1)
        self.num_processes = self.env_num * self.group_n
        self.is_train = check_bool("is_train", groups.is_train)
        check_choice("seed_draw", groups.seed_draw, SEED_DRAWS)
        self._is_fixed = groups.seed_draw == "fixed"
        self._rng = np.random.RandomState(_check_numpy_seed(groups.seed))
        # The tasks of an evaluation split, and how many of them have begun.
        self._split_tasks: Sequence[int] | None = None
        self._num_begun = 0
        if groups.evaluation_split is not None:
            split, keywords = apply_split(id, groups.evaluation_split, keywords)
            self._split_tasks = split.seeds
        self._tasks: NDArray[np.int64] | None = None
        self._ended = np.zeros(self.num_processes, np.bool_)
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
        if self._tasks is None or not self._is_fixed:
            self._tasks = self._next_tasks()
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

    def get_state(self) -> dict[str, Any]:
        """Return the state of all environments; it can be pickled.

        The draw of the tasks of later resets is no part of it.

        Raises
        ------
        ResetNeededError, ClosedError
        """
        return {"envs": self.envs.get_state(), "infos": copy.deepcopy(self._infos)}

    def set_state(
        self, state: Mapping[str, Any], rows: Sequence[int] | None = None
    ) -> tuple[list[Any], list[Info]]:
        """Go to a state of `get_state`, of environments with the same keywords.

        Parameters
        ----------
        state : dict
        rows : sequence of int, or None
            For each environment the one of the state that it becomes a copy of; None:
            that of its own number.

        Returns
        -------
        observations, infos
            As of `reset`.

        Raises
        ------
        InvalidStateError, InvalidOptionError
            No environment has moved then.
        ClosedError
        """
        self._observations = self.envs.set_state(state["envs"], rows=rows)
        indices = np.arange(self.num_processes) if rows is None else np.asarray(rows)
        self._ended = state["envs"].arrays["has_ended"][indices]
        infos = [state["infos"][row] for row in indices.tolist()]
        self._infos = copy.deepcopy(infos)
        return self._observe(), [dict(info) for info in self._infos]

    def fork(self, k: int) -> list[Self]:
        """Return k copies of all environments, which go on by themselves.

        Raises
        ------
        InvalidOptionError
        """
        return [copy.deepcopy(self) for _ in range(check_int("k", k, 1))]

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

    def _draw_tasks(self) -> NDArray[np.int64]:
        """Return a task for each group, here a seed."""
        low, high = TRAIN_SEEDS if self.is_train else VALIDATION_SEEDS
        return self._rng.randint(low, high, size=self.env_num, dtype=np.int64)

    def _begin(self, tasks: NDArray[np.int64]) -> list[Info]:
        """Start a task in each group and return an info for each environment."""
        seeds = np.repeat(tasks, self.group_n).tolist()
        self._observations, _ = self.envs.reset(seed=seeds)
        return [{"won": False} for _ in seeds]

    def _idle_outcomes(self, actions: Sequence[Any]) -> dict[int, tuple[float, Info]]:
        """Return reward and info by environment for actions that are not steps."""
        del actions
        return {}

    def _outcome(self, i: int, reward: float, infos: Info) -> tuple[float, Info]:
        """Return verl-agent's reward and info of a step of an environment."""
        # After a fault, which ends the episode, an environment has no infos.
        values = {key: infos[key][i] for key in SUCCESS_KEYS if key in infos}
        success = read_success(values) is True
        info = {"task_score": reward, "won": success}
        return SUCCESS_REWARD if success else 0.0, info

    def _observe(self) -> list[Any]:
        """Return the observations of all environments."""
        return list(self._observations)


def _check_numpy_seed(seed: Any) -> int:
    """Return a seed of numpy's `RandomState`."""
    value = check_seed(seed)
    if value >> 32:
        raise InvalidOptionError.expected("seed", "a seed below 2**32", seed)
    return value
