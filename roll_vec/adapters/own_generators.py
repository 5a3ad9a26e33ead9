"""Random generators of its own for each environment of another package.

Some packages draw from the global generators of `random` and numpy.  Their environments
then depend on each other, on threads, and on the rest of the program.  `isolate` gives
the modules of such a package another `random`: within `OwnGenerators.active` its
functions draw from the generators of one environment, and elsewhere from the global
ones, as before.  It works in threads, and the global generators never move.

A function that a module has imported by name, as by ``from random import shuffle``, and
compiled code are not reached.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

_present = threading.local()
_KINDS = {"random": random.Random, "numpy.random": np.random.RandomState}


class OwnGenerators:
    """The generators of one environment; picklable.

    Parameters
    ----------
    seed : int
        Below 2**32.
    """

    def __init__(self, seed: int) -> None:
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Begin both anew, as ``random.seed`` and ``numpy.random.seed`` do."""
        self._seed = seed
        self._by_kind: dict[str, Any] = {}

    def get(self, kind: str) -> Any:
        """Return the generator of the functions of ``random`` or ``numpy.random``.

        It is made for the first draw: most environments draw from one or none.
        """
        if kind not in self._by_kind:
            self._by_kind[kind] = _KINDS[kind](self._seed)
        return self._by_kind[kind]

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let isolated modules draw from these, in this thread."""
        previous = getattr(_present, "generators", None)
        _present.generators = self
        try:
            yield
        finally:
            _present.generators = previous


class _Proxy(ModuleType):
    """A module whose functions are those of the active generator."""

    def __getattr__(self, name: str) -> Any:
        generators = getattr(_present, "generators", None)
        if generators is not None:
            own = generators.get(self.__name__)
            if hasattr(own, name):
                return getattr(own, name)
        return getattr(sys.modules[self.__name__], name)


class _Numpy(ModuleType):
    """The module numpy with another ``random``."""

    random = _Proxy("numpy.random")

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


# Marks the modules that have other generators already.
_MARK = "_has_own_generators"
_PYTHON, _NUMPY = _Proxy("random"), _Numpy("numpy")


def isolate(*packages: str) -> None:
    """Replace `random` and numpy in the modules of packages that are imported by now.

    Parameters
    ----------
    *packages : str
        Names of top-level packages.
    """
    for name, module in list(sys.modules.items()):
        is_theirs = name.partition(".")[0] in packages
        # Looking through all variables of a hundred modules takes milliseconds.
        if not is_theirs or hasattr(module, _MARK):
            continue
        setattr(module, _MARK, True)
        for key, value in list(vars(module).items()):
            if value is random:
                setattr(module, key, _PYTHON)
            elif value is np:
                setattr(module, key, _NUMPY)
