"""Pictures of Gymnasium's games, by Gymnasium's own renderers set to our states.

A game names its renderer: the class of Gymnasium's environment, and the attributes that
its method ``render`` reads.  They are made of the variables of one environment.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roll_vec.render.window import import_pygame

Attributes: TypeAlias = dict[str, Any]

# The environments of `_make_env` are shared by all threads.
_lock = threading.Lock()


@dataclasses.dataclass(frozen=True)
class GymnasiumRenderer:
    """Draws states as an environment of Gymnasium draws them.

    Parameters
    ----------
    env_class : str
        ``module:name`` in ``gymnasium.envs``.
    attributes : callable
        From an object with the variables of one environment to the attributes to set.
    keywords : tuple of (str, Any)
        Of the constructor; they can be hashed.
    """

    env_class: str
    attributes: Callable[[Any], Attributes]
    keywords: tuple[tuple[str, Any], ...] = ()

    def draw(self, variables: Any) -> NDArray[np.uint8]:
        """Return a new picture, (H, W, 3) uint8.

        Parameters
        ----------
        variables : object
            Its attributes are the variables of one environment, as numbers of Python.

        Raises
        ------
        MissingExtraError
            Without pygame.
        """
        name = self.env_class.partition(":")[2]
        import_pygame(f"a picture of Gymnasium's {name}")
        attributes = self.attributes(variables)
        with _lock:
            env = _make_env(self.env_class, self.keywords)
            vars(env).update(attributes)
            picture: NDArray[np.uint8] = env.render()
        return picture


# Each keeps the surface that it draws on.
@functools.lru_cache(maxsize=16)
def _make_env(env_class: str, keywords: tuple[tuple[str, Any], ...]) -> Any:
    module, _, name = env_class.partition(":")
    cls = getattr(importlib.import_module(f"gymnasium.envs.{module}"), name)
    return cls(render_mode="rgb_array", **dict(keywords))
