"""Kernels of batches, with what stays the same from step to step packed once.

See `roll_vec.kernels.bound`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.kernels._jit import allow_overflow
from roll_vec.kernels.bound import pack, type_of
from roll_vec.kernels.families import GameKernels
from roll_vec.text.turn import BatchStep


class BoundStep:
    """The kernels of a batch that step, begin and observe, and their first arguments.

    Parameters
    ----------
    kernels : GameKernels
    rules, state, episodes : tuples
        As kernels read them, ``episodes`` being what next episodes begin with; the
        arrays must not be replaced.
    observes : bool
        False: ``step`` and ``begin`` observe nothing, as observations are an array of
        the state.
    """

    finals: tuple[Any, ...] | None = None

    def __init__(
        self,
        kernels: GameKernels,
        rules: tuple[Any, ...],
        state: tuple[Any, ...],
        episodes: tuple[Any, ...],
        observes: bool,
    ) -> None:
        # The words hold the addresses of these arrays.
        self.fixed, self.episodes = (rules, state), episodes
        values = *self.fixed, episodes
        types, self.words = type_of(values), pack(values)
        self.step, self.begin, self.observe = kernels.make_step(types, observes)
        self._kernels, self._observes = kernels, observes

    def add_finals(self, finals: tuple[Any, ...]) -> None:
        """Make ``step_and_reset``, whose first arguments are ``all_words``.

        Parameters
        ----------
        finals : tuple of arrays
            See `roll_vec.kernels.bound.make_step_and_reset`.
        """
        values = *self.fixed, self.episodes, finals
        types, self.all_words = type_of(values), pack(values)
        make = self._kernels.make_step_and_reset
        self.step_and_reset = make(types, self._observes)
        # Last: after an interrupt before this line they are made again.
        self.finals = finals


class OneStep:
    """One action in the one environment of an engine, into arrays that are made once.

    Parameters
    ----------
    make_play : function
        Of `roll_vec.kernels.families.GameKernels`.
    rules, state : tuples
        As kernels read them; the arrays must not be replaced.
    outcome : BatchStep
    observations : tuple of arrays
        Of one environment, for the kernel to write.
    names : iterable of str
        The infos that users get.
    """

    def __init__(
        self,
        make_play: Callable[..., Any],
        rules: tuple[Any, ...],
        state: tuple[Any, ...],
        outcome: BatchStep,
        observations: tuple[NDArray[Any], ...],
        names: Iterable[str],
    ) -> None:
        *results, infos = outcome
        self.observations = observations
        # The words hold the addresses of these arrays.
        values = tuple(infos.values())
        skip_mask = np.zeros(1, np.bool_)
        self._owners = skip_mask, rules, state, tuple(results), values, observations
        self._play, self._words = make_play(type_of(self._owners)), pack(self._owners)
        self._reward: Callable[[], float] = results[0].item
        self._terminated: Callable[[], Any] = results[1].item
        self._truncated: Callable[[], Any] = results[2].item
        # Each reads item 0: a number of Python, or a new array.
        self._infos: list[tuple[str, Callable[[], Any]]] = []
        for name in names:
            array = infos[name]
            read = array.item if array.ndim == 1 else array[0].copy
            self._infos.append((name, read))

    @allow_overflow
    def play(self, actions: NDArray[Any]) -> tuple[float, bool, bool, dict[str, Any]]:
        """Play the action; return reward, terminated, truncated, infos."""
        self._play(self._words, actions)
        infos = {}
        for name, read in self._infos:
            infos[name] = read()
        return self._reward(), self._terminated(), self._truncated(), infos
