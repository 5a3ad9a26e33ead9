"""One environment of an `ArrayEnv`."""

from __future__ import annotations

from typing import Any

import numpy as np

from roll_vec.arrays.array_engine import ArrayEngine
from roll_vec.arrays.array_env import ArrayEnv
from roll_vec.arrays.single_env import SingleEnv
from roll_vec.options import parse_options


class SingleArrayEnv(SingleEnv):
    """One environment: `gymnasium.make` of a registered `ArrayEnv`.

    Parameters
    ----------
    cls : type
        The subclass of `ArrayEnv`.
    **keywords
        Its options.
    """

    def __init__(self, cls: type[ArrayEnv], **keywords: Any) -> None:
        super().__init__(ArrayEngine(parse_options(cls, keywords), 1, None, 1))

    def __getattr__(self, name: str) -> Any:
        # Options, as of other environments; not before the constructor, as in copies.
        if name.startswith("_") or "_engine" not in self.__dict__:
            raise AttributeError(name)
        try:
            return self._engine.get_attribute(name)[0]
        except AttributeError:
            message = f"{type(self.options).__name__} has no attribute {name!r}"
            raise AttributeError(message) from None

    def solve(self, objective: str = "moves") -> Any:
        """Return what the method ``solve`` of the class returns, from here.

        Raises
        ------
        UnsupportedError
            If the class has no such method.
        ResetNeededError, ClosedError
        """
        self._check_started()
        return self._engine.solve(np.zeros(1, np.int64), objective)[0]

    @property
    def oracle_action(self) -> int | None:
        """The first action of `solve`; None if there is none."""
        solution = self.solve()
        return None if solution is None or not len(solution) else int(solution[0])

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
        self._engine.set_level_options(np.zeros(1, np.int64), level_options)
