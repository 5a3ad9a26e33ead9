"""Batches as vector environments of Stable-Baselines3.

Written for Stable-Baselines3 2.9 and sb3-contrib 2.9.  `make_vec_env` takes the place
of `stable_baselines3.common.env_util.make_vec_env`, and returns the same steps.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnv

from roll_vec.errors import InvalidActionError, InvalidOptionError, UnsupportedError
from roll_vec.registration.factories import make_vec
from roll_vec.seeding import expand_seeds
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.infos import split_infos
from roll_vec.vector.known_infos import read_success

__all__ = ["BatchVecEnv", "make_vec_env"]


def make_vec_env(
    env_id: str,
    n_envs: int = 1,
    seed: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    step_infos: bool = True,
    **keywords: Any,
) -> BatchVecEnv:
    """Make a batch for Stable-Baselines3, as its own `make_vec_env` does.

    Parameters
    ----------
    env_id : str
        An id of roll_vec, or of `roll_vec.register`.
    n_envs : int
    seed : int or None
        Environment i gets the seed ``seed + i`` at the first reset.
    env_kwargs : mapping or None
    step_infos : bool
        See `BatchVecEnv`.
    **keywords
        As ``env_kwargs``: those of `roll_vec.make_vec`.  A batch has no environments of
        their own to wrap: wrap the result, for instance in `VecNormalize`.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """
    options = {**(env_kwargs or {}), **keywords}
    batch = make_vec(env_id, n_envs, autoreset_mode="SameStep", **options)
    envs = BatchVecEnv(batch, step_infos=step_infos)
    if seed is not None:
        envs.seed(seed)
    return envs


class BatchVecEnv(VecEnv):  # type: ignore[misc]
    """A vector environment of Gymnasium, behind the interface of Stable-Baselines3.

    Parameters
    ----------
    batch : VectorEnv
        In ``SameStep`` mode.  Actions count from 0 here, also where those of the batch
        start at 1.
    step_infos : bool
        False: only steps that end an episode have infos, and the others an empty dict.
        Algorithms need no more, and a step of thousands of environments takes half of
        the time.

    Attributes
    ----------
    batch : VectorEnv

    Raises
    ------
    InvalidOptionError
        If the mode is another one, or ``copy`` is False.

    Notes
    -----
    The info of a step that ends an episode has ``terminal_observation``;  ``episode``,
    as from `Monitor`;  ``is_success``, which the logs show as a rate, if it has
    ``success``.  With ``action_mask`` the method ``action_masks`` of sb3-contrib
    exists.
    """

    def __init__(
        self, batch: VectorEnv[Any, Any, Any], *, step_infos: bool = True
    ) -> None:
        mode = batch.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.SAME_STEP:
            accepted = "a batch with autoreset_mode='SameStep'"
            raise InvalidOptionError.expected("batch", accepted, mode)
        if not getattr(batch.unwrapped, "copy", True):
            # Stable-Baselines3 stores the observations of the step before.
            raise InvalidOptionError.expected("batch", "a batch with copy=True", False)
        action_space = batch.single_action_space
        self.batch: Any = batch
        self.spec, self.step_infos = batch.spec, step_infos
        self._first_action = 0
        if isinstance(action_space, spaces.Discrete):
            self._first_action = int(action_space.start)
            action_space = spaces.Discrete(int(action_space.n))
        self._start_time = time.time()
        self._env_ids = np.arange(batch.num_envs)
        self._actions: Any = None
        self._masks: NDArray[np.bool_] | None = None
        # Of the present episodes.
        self._returns = np.zeros(batch.num_envs)
        self._lengths = np.zeros(batch.num_envs, np.int64)
        super().__init__(batch.num_envs, batch.single_observation_space, action_space)
        if self.has_attr("action_mask") and self.get_attr("action_mask")[0] is True:
            self._masks = np.ones((batch.num_envs, self.action_space.n), np.bool_)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the seeds of the next reset; None draws one of the operating system."""
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        group_size = getattr(self.batch.unwrapped, "group_size", 1)
        self._seeds = list(expand_seeds(seed, self.num_envs, group_size))
        return self._seeds

    def reset(self) -> Any:
        """Start new episodes, with the seeds and options that were set before."""
        options = self._options[0]
        if any(each != options for each in self._options):
            accepted = "one dict for all environments"
            raise InvalidOptionError.expected("options", accepted, self._options)
        observations, infos = self.batch.reset(seed=self._seeds, options=options)
        self._reset_seeds()
        self._reset_options()
        self._returns[:], self._lengths[:] = 0.0, 0
        self._set_masks(infos)
        self.reset_infos = split_infos(infos, self._env_ids)
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions until `step_wait`.

        Raises
        ------
        InvalidActionError
            For numbers outside 0 to n - 1, where those of the batch start at 1.
        """
        self._actions = actions
        if self._first_action:
            codes, num_actions = np.asarray(actions), self.action_space.n
            # The batch refuses actions of other types, and names their type.
            if codes.dtype.kind in "iu":
                if codes.size and (codes.min() < 0 or codes.max() >= num_actions):
                    accepted = f"0 to {num_actions - 1}, as actions count from 0 here"
                    value = codes.tolist()
                    raise InvalidActionError.expected("actions", accepted, value)
                self._actions = codes + self._first_action

    def step_wait(self) -> tuple[Any, NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        """Step the batch; return observations, rewards, dones and a dict of each."""
        results = self.batch.step(self._actions)
        observations, rewards, terminated, truncated, infos = results
        self._set_masks(infos)
        dones = terminated | truncated
        self._returns += rewards
        self._lengths += 1
        going, ended = np.flatnonzero(~dones), np.flatnonzero(dones)
        final_obs, final_infos = infos.pop("final_obs", ()), infos.pop("final_info", {})
        rows: list[dict[str, Any]] = [{} for _ in going]
        if self.step_infos:
            key = "TimeLimit.truncated"
            infos[key], infos[f"_{key}"] = np.zeros_like(dones), ~dones
            rows = split_infos(infos, going)
        limits = (truncated & ~terminated)[ended].tolist()
        seconds = round(time.time() - self._start_time, 6)
        reset_rows = split_infos(infos, ended)
        last_rows = split_infos(final_infos, ended)
        for i, env_id in enumerate(ended.tolist()):
            info = last_rows[i]
            info["TimeLimit.truncated"] = limits[i]
            info["terminal_observation"] = final_obs[env_id]
            total, length = self._returns[env_id].item(), self._lengths[env_id].item()
            info["episode"] = {"r": total, "l": length, "t": seconds}
            if (success := read_success(info)) is not None:
                info["is_success"] = success
            self.reset_infos[env_id] = reset_rows[i]
            rows.insert(env_id, info)
        self._returns[dones], self._lengths[dones] = 0.0, 0
        return observations, rewards.astype(np.float32), dones, rows

    def _set_masks(self, infos: dict[str, Any]) -> None:
        """Keep the masks of the actions that the present states allow."""
        if self._masks is not None:
            self._masks = infos["action_mask"].astype(np.bool_)

    def close(self) -> None:
        """Close the batch."""
        self.batch.close()

    def get_attr(
        self, attr_name: str, indices: int | Iterable[int] | None = None
    ) -> list[Any]:
        """Return an attribute of some environments; see `RollVectorEnv.get_attr`."""
        values: Any = self._masks
        if attr_name != "action_masks" or values is None:
            values = self.batch.get_attr(attr_name)
        return [values[env_id] for env_id in self._get_indices(indices)]

    def set_attr(
        self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None
    ) -> None:
        """Set an attribute of some environments; stacked ones refuse it."""
        values = [value] * self.num_envs
        if indices is not None:
            values = list(self.batch.get_attr(attr_name))
            for env_id in self._get_indices(indices):
                values[env_id] = value
        self.batch.set_attr(attr_name, values)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: int | Iterable[int] | None = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Return the results of a method of some environments.

        Raises
        ------
        UnsupportedError
            For some, but not all, environments that are objects: the method could
            change the others, too.
        """
        if method_name == "action_masks" and self._masks is not None:
            return self.get_attr(method_name, indices)
        is_stacked = type(self.batch.unwrapped) is RollVectorEnv
        if indices is not None and not is_stacked:
            message = f"{method_name}: a batch of objects calls it in all: indices=None"
            raise UnsupportedError(message)
        results = self.batch.call(method_name, *method_args, **method_kwargs)
        return [results[env_id] for env_id in self._get_indices(indices)]

    def env_is_wrapped(
        self, wrapper_class: type[Any], indices: int | Iterable[int] | None = None
    ) -> list[bool]:
        """Return whether infos are those of a wrapper: those of `Monitor` are."""
        is_wrapped = issubclass(Monitor, wrapper_class)
        return [is_wrapped for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return a frame of each environment, in render mode ``rgb_array``."""
        return self.batch.render() or [None] * self.num_envs
