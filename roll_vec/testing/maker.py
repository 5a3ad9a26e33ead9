"""Make the environment under test, from an id or from a factory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode, VectorEnv


class Maker:
    """Makes fresh instances of the environment under test.

    Parameters
    ----------
    id_or_factory : str or callable
        An id of `gymnasium.make_vec`, or a callable that takes `num_envs` and
        `autoreset_mode` and returns a vector environment.
    """

    def __init__(self, id_or_factory: str | Callable[..., Any]) -> None:
        self._source = id_or_factory
        self.is_id = isinstance(id_or_factory, str)
        # Gymnasium's own vectorisers take their arguments in `vector_kwargs`, apart
        # from those of the environment.  The spec of an instance shows whether an id
        # is vectorised by them.
        self._uses_vector_kwargs = False

    @property
    def name(self) -> str:
        """The environment as the caller would write it."""
        if self.is_id:
            return f"make_vec({self._source!r})"
        name = getattr(self._source, "__name__", repr(self._source))
        return "factory" if name == "<lambda>" else str(name)

    def describe(self, num_envs: int, **kwargs: Any) -> str:
        """Return the call of `make` as the caller would write it."""
        arguments = [repr(self._source)] if self.is_id else []
        arguments.append(f"num_envs={num_envs}")
        for key, value in kwargs.items():
            text = value.name if isinstance(value, AutoresetMode) else repr(value)
            arguments.append(f"{key}={text}")
        function = "make_vec" if self.is_id else self.name
        return f"{function}({', '.join(arguments)})"

    def make(self, num_envs: int, **kwargs: Any) -> Any:
        """Make an instance; `kwargs` are autoreset_mode and render_mode at most."""
        if callable(self._source):
            return self._source(num_envs=num_envs, **kwargs)
        if self._uses_vector_kwargs and "autoreset_mode" in kwargs:
            kwargs["vector_kwargs"] = {"autoreset_mode": kwargs.pop("autoreset_mode")}
        return gymnasium.make_vec(self._source, num_envs=num_envs, **kwargs)

    def learn_from(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Learn from a default instance how to pass arguments to the next one."""
        spec = env.unwrapped.spec
        mode = spec.kwargs.get("vectorization_mode") if spec is not None else None
        self._uses_vector_kwargs = self.is_id and mode in {"sync", "async"}
