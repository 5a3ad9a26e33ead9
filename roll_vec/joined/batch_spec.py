"""The environments of a batch, in a form by which every actor makes its own."""

from __future__ import annotations

import importlib
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from roll_vec import factories
from roll_vec.errors import InvalidOptionError
from roll_vec.options import keywords_of
from roll_vec.pool.options import PoolOptions
from roll_vec.pool.vector import PoolVectorEnv
from roll_vec.registration import ENVIRONMENTS, RegisteredEnv, register
from roll_vec.storage.data_files import pin_files, unpin_files
from roll_vec.vector.env import BatchOptions, RollVectorEnv

# Keywords of stacked environments that can be paths; pooled classes name their own.
_STACKED_FILES = {"levels": ""}

EnvFn = Callable[[], gymnasium.Env[Any, Any]]


@dataclass(frozen=True)
class BatchSpec:
    """The environments of a batch, in a form that travels to other machines.

    Parameters
    ----------
    source : RegisteredEnv, EnvSpec or callable
        An id of roll_vec, with a user's own class or its name; any other environment
        of Gymnasium; or a function that makes one environment.
    keywords : mapping
        Keywords of `make_vec`; beside a function, those of `PoolOptions` and
        `BatchOptions`.  Data files are pinned: a node that has other files refuses
        them.
    """

    source: RegisteredEnv | EnvSpec | EnvFn
    keywords: Mapping[str, Any]

    @classmethod
    def of(cls, id: Any, keywords: Mapping[str, Any]) -> BatchSpec:
        """Return that of an id or a function.

        Parameters
        ----------
        id : str or callable
            As for `gymnasium.make`, with or without ``module:``.
        keywords : mapping

        Raises
        ------
        gymnasium.error.Error
            If the id does not exist.
        InvalidOptionError
            If it is neither a string nor a function.
        """
        if callable(id):
            return cls(id, dict(keywords))
        if not isinstance(id, str):
            accepted = "an id, or a function that makes one environment"
            raise InvalidOptionError.expected("id", accepted, id)
        module, _, name = id.rpartition(":")
        if module:
            importlib.import_module(module)
        if name in ENVIRONMENTS:
            source = ENVIRONMENTS[name]
            files = _STACKED_FILES
            if source.pooled:
                files = getattr(source.load(), "DATA_FILES", {})
            return cls(source, pin_files(keywords, files))
        return cls(gymnasium.spec(name), dict(keywords))

    @property
    def is_stacked(self) -> bool:
        """Whether the batch has its environments in stacked arrays."""
        return isinstance(self.source, RegisteredEnv) and not self.source.pooled

    def make(self, num_envs: int, **changes: Any) -> RollVectorEnv:
        """Return a batch of so many environments, with changes of the keywords.

        Raises
        ------
        UnknownOptionError, InvalidOptionError
            And the exception of an environment that cannot be built.
        """
        keywords = {**unpin_files(self.keywords), **changes}
        if isinstance(self.source, RegisteredEnv):
            if self.source.id not in ENVIRONMENTS:
                # The registry of the head does not travel.
                register(
                    self.source.id,
                    self.source.entry,
                    self.source.max_episode_steps,
                    **self.source.keywords,
                )
            return factories.make_vec(self.source.id, num_envs, **keywords)
        env_fn = self.source
        if isinstance(self.source, EnvSpec):
            of_pool = {*keywords_of(PoolOptions), *keywords_of(BatchOptions)}
            names = keywords.keys() - of_pool
            if keywords.get("max_episode_steps") is not None:
                names |= {"max_episode_steps"}
            own = {name: keywords.pop(name) for name in names}
            env_fn = partial(gymnasium.make, self.source, **own)
        return PoolVectorEnv([env_fn] * num_envs, **keywords)  # type: ignore[list-item]

    def make_on_node(self, num_envs: int) -> RollVectorEnv:
        """Return a batch of so many environments in a shard; errors name its node.

        Raises
        ------
        UnknownOptionError, InvalidOptionError
            As `make`; also if this machine does not have the data files of the head.
        """
        try:
            unpin_files(self.keywords)
            if self.is_stacked:
                # The head has made one with the same keywords.
                return self.make(num_envs)
        except InvalidOptionError as error:
            message = f"{error} (on the node {socket.gethostname()})"
            raise InvalidOptionError(message) from error
        return self.make(num_envs)
