"""`TextParts`: the texts among the parts of observations, each made from a variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Texts = dict[str, tuple[str, ...]]


def values_of(array: NDArray[Any]) -> list[Any]:
    """Return values as methods get them: numbers of Python, or arrays to read."""
    if array.ndim == 1:
        return array.tolist()  # type: ignore[no-any-return]
    array = array.view()
    array.flags.writeable = False
    return list(array)


class _Memory:
    """The last text of each environment, and the value that it is made from."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values, n = values, len(values)
        self.texts, self.is_known = np.empty(n, object), np.zeros(n, np.bool_)
        # Of all environments, until one changes.
        self.batch: tuple[str, ...] | None = None

    def update(self, options: Any, part: str, values: Any, rows: Any) -> None:
        """Make the texts of values of some rows that have changed."""
        changed = np.flatnonzero(values != self.values[rows])
        if values.ndim > 1:
            changed = np.unique(changed // (values.size // len(values)))
        if not self.is_known.all():
            changed = np.union1d(changed, np.flatnonzero(~self.is_known[rows]))
        method = getattr(options, f"{part}_text")
        env_ids = np.arange(len(self.values))[rows][changed].tolist()
        for env_id, value in zip(env_ids, values_of(values[changed]), strict=True):
            text = method(value)
            if isinstance(text, np.ndarray) and self.texts.ndim == 1:
                self.texts = np.zeros((len(self.texts), *text.shape), text.dtype)
            self.texts[env_id] = text
        if len(changed):
            self.values[rows], self.is_known[rows] = values, True
            self.batch = None

    def read(self, options: Any, part: str, values: Any, rows: Any) -> tuple[str, ...]:
        """Return the texts of values of some rows."""
        self.update(options, part, values, rows)
        is_all = isinstance(rows, slice)
        if is_all and self.batch is not None:
            return self.batch
        texts = tuple(self.texts[rows].tolist())
        if is_all:
            self.batch = texts
        return texts


class TextParts:
    """Makes the texts of observations where a variable has changed.

    Parameters
    ----------
    options : ArrayEnv
        With ``text_variables``.
    num_envs : int
    """

    def __init__(self, options: Any, num_envs: int) -> None:
        variables = list(dict.fromkeys(options.text_variables.values()))
        arrays = dict(zip(options.variables, options.allocate(num_envs), strict=True))
        self._memories = [
            (part, variables.index(name), _Memory(arrays[name].copy()))
            for part, name in options.text_variables.items()
        ]

    def read(self, options: Any, arrays: Sequence[Any], rows: Any) -> Texts:
        """Return the texts by part.

        Parameters
        ----------
        options : ArrayEnv
        arrays : sequence of (m, ...) arrays
            The variables, each once.
        rows : (m,) int64, or a slice
            The environments; ``slice(None)`` is all.
        """
        return {
            part: memory.read(options, part, arrays[number], rows)
            for part, number, memory in self._memories
        }

    def write_ends(
        self, options: Any, out: Any, arrays: Sequence[Any], rows: Any
    ) -> None:
        """Write texts that are arrays to the end of observations that are arrays.

        Parameters
        ----------
        out : (m, L) or (T, n, L) array, written
        arrays : sequence of (m, ...) or (T, n, ...) arrays
        options, rows
            As of `read`.
        """
        if out.ndim == 3:
            for step in zip(out, *arrays, strict=True):
                self.write_ends(options, step[0], step[1:], slice(None))
            return
        ((part, number, memory),) = self._memories
        memory.update(options, part, arrays[number], rows)
        out[:, -memory.texts.shape[-1] :] = memory.texts[rows]

    def read_steps(self, options: Any, arrays: Sequence[Any]) -> dict[str, Any]:
        """Return the texts of T steps: of (T, n, ...) arrays a tuple of T tuples."""
        steps = [
            self.read(options, step, slice(None)) for step in zip(*arrays, strict=True)
        ]
        return {
            part: tuple(step[part] for step in steps) for part, *_ in self._memories
        }
