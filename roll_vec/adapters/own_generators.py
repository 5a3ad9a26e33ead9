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

__all__ = ["OwnGenerators", "isolate"]

_present = threading.local()


class OwnGenerators:
    """The generators of one environment; picklable.

    Parameters
    ----------
    seed : int
        Below 2**32.
    """

    def __init__(self, seed: int) -> None:
        self._python = random.Random()
        self._numpy: np.random.RandomState | None = None
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Begin both anew, as ``random.seed`` and ``numpy.random.seed`` do."""
        # Done when the first number is drawn: most environments draw from one or none.
        self._python_seed: int | None = seed
        self._numpy_seed: int | None = seed

    @property
    def python(self) -> random.Random:
        """The generator of the functions of `random`."""
        if self._python_seed is not None:
            self._python.seed(self._python_seed)
            self._python_seed = None
        return self._python

    @property
    def numpy(self) -> np.random.RandomState:
        """The generator of the functions of `numpy.random`."""
        if self._numpy is None:
            self._numpy = np.random.RandomState()
        if self._numpy_seed is not None:
            self._numpy.seed(self._numpy_seed)
            self._numpy_seed = None
        return self._numpy

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
    """A module whose functions are those of the active generator.

    Parameters
    ----------
    module : module
    kind : str
        The attribute of `OwnGenerators`.
    """

    def __init__(self, module: ModuleType, kind: str) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(_module=module, _kind=kind)

    def __getattr__(self, name: str) -> Any:
        generators = getattr(_present, "generators", None)
        own = getattr(generators, self._kind, None)
        if own is None or not hasattr(own, name):
            return getattr(self._module, name)
        return getattr(own, name)


class _Numpy(ModuleType):
    """The module numpy with another ``random``."""

    random = _Proxy(np.random, "numpy")

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


# Marks the modules that have other generators already.
_MARK = "_has_own_generators"
_PYTHON, _NUMPY = _Proxy(random, "python"), _Numpy("numpy")


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
