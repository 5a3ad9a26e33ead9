"""Random actions and the name of an observation, of the spaces of any package.

Imports only numpy: adapters of peers use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def draw_actions(space: Any, num_steps: int, num_envs: int) -> NDArray[Any]:
    """Return actions of some steps, (num_steps, num_envs, ...) of the space's dtype.

    Parameters
    ----------
    space : object
        The action space of one environment: it has a number of values for each entry
        (``n``, ``nvec`` or Jumanji's ``num_values``), or bounds that may be reached.
    num_steps, num_envs : int
    """
    generator = np.random.default_rng(0)
    for name in ("n", "nvec", "num_values"):
        if hasattr(space, name):
            low = np.asarray(getattr(space, "start", 0))
            high = low + np.asarray(getattr(space, name)) - 1
            break
    else:
        low, high = np.asarray(space.low), np.asarray(space.high)
    shape, dtype = (num_steps, num_envs, *space.shape), np.dtype(space.dtype)
    if dtype.kind == "f":
        return generator.uniform(low, high, shape).astype(dtype)
    return generator.integers(low, high, shape, dtype, endpoint=True)


def describe(space: Any, arrays: str = "array") -> str:
    """Return an observation space in a few words; `arrays` names boards and planes."""
    if space.shape == ():
        return f"position, {np.dtype(space.dtype)}"
    if space.shape is None:
        return type(space).__name__.lower()
    arrays = arrays if len(space.shape) > 1 else "array"
    return f"{arrays}, {'x'.join(map(str, space.shape))} {space.dtype}"
