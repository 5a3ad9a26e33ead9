"""Batches as vector environments of Tianshou.

Written for Tianshou 2.0.  `make_vector_env` takes the place of `DummyVectorEnv` and
`SubprocVectorEnv`; its `step` and `reset` take some of the environments, as theirs.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray
from tianshou.env import BaseVectorEnv

from roll_vec.adapters.batch_arguments import check_batch, make_batch, shift_actions
from roll_vec.errors import InvalidActionError, InvalidOptionError
from roll_vec.options import check_int
from roll_vec.seeding import expand_seeds
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.info_lists import split_infos

__all__ = ["BatchVectorEnv", "make_vector_env"]

Results = tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def make_vector_env(
    id: str,
    num_envs: int = 1,
    *,
    wait_num: int | None = None,
    timeout: float | None = None,
    info_keys: Sequence[str] | None = None,
    **keywords: Any,
) -> BatchVectorEnv:
    """Make a batch for Tianshou.

    Parameters
    ----------
    id : str
        An id of roll_vec, or of `roll_vec.register`.
    num_envs : int
    wait_num, timeout, info_keys
        See `BatchVectorEnv`.
    **keywords
        Those of `roll_vec.make_vec`.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """
    batch = make_batch(id, num_envs, "Disabled", keywords)
    return BatchVectorEnv(
        batch, wait_num=wait_num, timeout=timeout, info_keys=info_keys
    )


class BatchVectorEnv(BaseVectorEnv):  # type: ignore[misc]
    """A batch of roll_vec behind the interface of Tianshou's `BaseVectorEnv`.

    Parameters
    ----------
    batch : RollVectorEnv
        In ``Disabled`` mode.  Actions count from 0 here, also where those of the batch
        start at 1.
    wait_num : int or None
        A step returns as soon as so many environments are ready; None: all.
    timeout : float or None
        Seconds after which it returns with those that are ready, at least one.  With
        ``wait_num`` or ``timeout`` the environments are asynchronous, for
        `AsyncCollector`; this has an effect in pools alone.
    info_keys : sequence of str or None
        The infos that a step and a reset return; None: all.  Tianshou's collector
        needs tens of microseconds for each environment that has an info, and less
        than one for an empty dict.

    Attributes
    ----------
    batch : RollVectorEnv

    Raises
    ------
    InvalidOptionError
    """

    # No call of the base's constructor: that makes a worker for each environment.
    def __init__(
        self,
        batch: RollVectorEnv,
        *,
        wait_num: int | None = None,
        timeout: float | None = None,
        info_keys: Sequence[str] | None = None,
    ) -> None:
        accepted = "a vector environment of roll_vec without wrappers"
        check_batch(batch, RollVectorEnv, accepted)
        if isinstance(info_keys, str):
            accepted = "None or a sequence of names"
            raise InvalidOptionError.expected("info_keys", accepted, info_keys)
        mode = batch.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.DISABLED:
            accepted = "a batch with autoreset_mode='Disabled'"
            raise InvalidOptionError.expected("batch", accepted, mode)
        self.batch, self.env_num, self.timeout = batch, batch.num_envs, timeout
        self.wait_num = batch.num_envs
        if wait_num is not None:
            self.wait_num = check_int("wait_num", wait_num, 1, batch.num_envs)
        self.is_async = self.wait_num < batch.num_envs or timeout is not None
        self.is_closed = False
        self.workers: list[Any] = []
        self.ready_id, self.waiting_id = list(range(batch.num_envs)), list[int]()
        space: Any = batch.single_action_space
        self._first_action = 0
        if isinstance(space, spaces.Discrete):
            self._first_action = int(space.start)
            space = spaces.Discrete(int(space.n))
        self._action_spaces = [copy.deepcopy(space) for _ in range(batch.num_envs)]
        self._info_keys = None
        if info_keys is not None:
            self._info_keys = {*info_keys, *(f"_{key}" for key in info_keys)}
            if self.is_async:
                self._info_keys |= {"env_id", "_env_id"}
        # Results that a reset had to wait for, and the number of those to come.
        self._received: list[Results] = []
        self._num_pending = 0

    def seed(self, seed: int | Sequence[int] | None = None) -> list[list[int | None]]:
        """Reset the environments with seeds, and seed their action spaces.

        An int s stands for s, s + 1 and so on, with one seed for each group.
        """
        self._assert_is_not_closed()
        seeds = expand_seeds(seed, self.env_num, self.batch.group_size)
        self.batch.reset(seed=seeds)
        for space, own_seed in zip(self._action_spaces, seeds, strict=True):
            space.seed(own_seed)
        return [[own_seed] for own_seed in seeds]

    def reset(
        self, env_id: Any = None, **keywords: Any
    ) -> tuple[Any, NDArray[np.object_]]:
        """Start new episodes in some environments; return observations and infos.

        Parameters
        ----------
        env_id : int, sequence of m int, or None
            None: all.
        **keywords
            ``seed``, an int that all of these environments get, and ``options``.
        """
        self._assert_is_not_closed()
        env_ids = np.asarray(self._wrap_id(env_id))
        if self.is_async:
            self._assert_id(env_ids)
            if self._num_pending:
                self._received.append(self._receive(None))
        options, seed = dict(keywords.get("options") or {}), keywords.get("seed")
        if unknown := keywords.keys() - {"options", "seed"}:
            raise InvalidOptionError.expected("reset", "seed or options", unknown)
        mask = np.zeros(self.env_num, np.bool_)
        mask[env_ids] = True
        if not mask.all():
            options["reset_mask"] = mask
        seeds = [seed if is_reset else None for is_reset in mask.tolist()]
        observations, infos = self.batch.reset(seed=seeds, options=options)
        return self._rows(observations, env_ids), self._infos(infos, env_ids)

    def step(self, action: Any, id: Any = None) -> Results:
        """Step some environments.

        Parameters
        ----------
        action : (m, ...) array, tensor, or None
            None, if asynchronous: return results of steps that were begun before.
        id : int, sequence of m int, or None
            None: all.

        Returns
        -------
        observations, rewards, terminated, truncated, infos
            Arrays of m, or of those that are ready.  Each info has its ``env_id``.
        """
        self._assert_is_not_closed()
        env_ids = np.asarray(self._wrap_id(id))
        if action is not None:
            actions = np.asarray(action)
            if actions.shape[:1] != env_ids.shape:
                accepted = f"{len(env_ids)} of them, one for each environment"
                raise InvalidActionError.expected("action", accepted, action)
            if first := self._first_action:
                actions = shift_actions(actions, first, self._action_spaces[0].n)
            if not self.is_async:
                return self._step(actions, env_ids)
            self._assert_id(env_ids)
            is_text = actions.dtype.kind in "OU"
            self.batch.send(actions.tolist() if is_text else actions, env_ids)
            self._num_pending += len(env_ids)
            self.waiting_id += env_ids.tolist()
        elif not self.waiting_id:
            accepted = "actions, or None after asynchronous steps"
            raise InvalidOptionError.expected("action", accepted, action)
        if self._received:
            results = self._received.pop(0)
        else:
            results = self._receive(None if action is None else self.wait_num)
        arrived = {info["env_id"] for info in results[4]}
        self.waiting_id = [i for i in self.waiting_id if i not in arrived]
        self.ready_id = [i for i in range(self.env_num) if i not in self.waiting_id]
        return results

    def _step(self, actions: NDArray[Any], env_ids: NDArray[np.int64]) -> Results:
        """Step some environments, and wait for them."""
        mask = np.zeros(self.env_num, np.bool_)
        mask[env_ids] = True
        full = np.zeros((self.env_num, *actions.shape[1:]), actions.dtype)
        full[env_ids] = actions
        batch = full.tolist() if actions.dtype.kind in "OU" else full
        observations, rewards, terminated, truncated, infos = self.batch.step(
            batch, mask=None if mask.all() else mask
        )
        rows = self._infos(infos, env_ids)
        if self._info_keys is None:
            for info, env_id in zip(rows, env_ids.tolist(), strict=True):
                info["env_id"] = env_id
        arrays = rewards[env_ids], terminated[env_ids], truncated[env_ids]
        return self._rows(observations, env_ids), *arrays, rows

    def _receive(self, num_envs: int | None) -> Results:
        """Wait for so many environments, None for all, at most for the timeout."""
        num_envs = min(num_envs or self.env_num, self._num_pending)
        timeout = None if num_envs == self._num_pending else self.timeout
        while True:
            observations, *arrays, infos = self.batch.recv(num_envs, timeout)
            rows = np.arange(len(arrays[0]))
            self._num_pending -= len(rows)
            if len(rows):
                return self._rows(observations, rows), *arrays, self._infos(infos, rows)

    def _rows(self, observations: Any, rows: NDArray[np.int64]) -> Any:
        """Return the observations of some rows, as `numpy.stack` of a list of them."""
        if isinstance(observations, np.ndarray):
            return observations[rows]
        if not isinstance(observations, tuple):
            observations = tuple(iterate(self.batch.observation_space, observations))
        return np.stack([observations[row] for row in rows])

    def _infos(
        self, infos: dict[str, Any], rows: NDArray[np.int64]
    ) -> NDArray[np.object_]:
        """Return the infos of some rows as an array of dicts."""
        if self._info_keys is not None:
            infos = {key: infos[key] for key in infos if key in self._info_keys}
        dicts = np.empty(len(rows), object)
        dicts[:] = split_infos(infos, rows)
        return dicts

    def get_env_attr(self, key: str, id: Any = None) -> list[Any]:
        """Return an attribute of some environments; see `RollVectorEnv.get_attr`."""
        if key == "action_space":
            values: Any = self._action_spaces
        else:
            values = self.batch.get_attr(key)
        return [values[env_id] for env_id in self._wrap_id(id)]

    def set_env_attr(self, key: str, value: Any, id: Any = None) -> None:
        """Set an attribute of some environments; stacked ones refuse it."""
        values = [value] * self.env_num
        if id is not None:
            values = list(self.batch.get_attr(key))
            for env_id in self._wrap_id(id):
                values[env_id] = value
        self.batch.set_attr(key, values)

    def render(self, **keywords: Any) -> list[Any]:
        """Return a frame of each environment, as the batch's ``render_mode`` says."""
        self._assert_is_not_closed()
        return list(self.batch.render() or [None] * self.env_num)

    def close(self) -> None:
        """Close the batch."""
        self.batch.close()
        self.is_closed = True
