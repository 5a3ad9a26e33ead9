"""An engine over parts: engines of consecutive environments, here or elsewhere.

Part k has the environments ``starts[k]`` to ``starts[k + 1] - 1``.  `Autoreset` and
`RollVectorEnv` work with a composite engine as with any other.  `_ask` lets parts
execute calls, and is all that differs for what needs no state of its own: in
`roll_vec.mixed` a part is an engine, in `roll_vec.distributed` a process that gets
messages.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import EnvironmentFaultError
from roll_vec.vector.engine import Engine
from roll_vec.vector.infos import AnyInfos, join_infos

Ids = NDArray[np.int64]


class PartCall(NamedTuple):
    """A call of a method of a part."""

    name: str
    arguments: tuple[Any, ...] = ()


class Lost(NamedTuple):
    """The value of a call that a part did not survive."""

    error: str


class CompositeEngine(Engine):
    """Base of engines over parts.

    Attributes
    ----------
    starts : list of int
        The first environment of each part, and the number of all environments.
    """

    can_fail = True

    def __init__(self, sizes: Sequence[int]) -> None:
        self.starts = [0, *itertools.accumulate(sizes)]
        self.sizes, self.num_envs = list(sizes), self.starts[-1]
        # In which parts are asked.
        self.order: Sequence[int] = range(len(sizes))

    def rows(self, part: int) -> slice:
        """Return the environments of a part."""
        return slice(self.starts[part], self.starts[part + 1])

    def parts(self, env_ids: Ids) -> Iterator[tuple[int, slice, Ids]]:
        """Return parts, their slices of ascending ids, and the local ids."""
        bounds = np.searchsorted(env_ids, self.starts).tolist()
        for part in self.order:
            places = slice(bounds[part], bounds[part + 1])
            if places.start < places.stop:
                yield part, places, env_ids[places] - self.starts[part]

    def split(self, values: Mapping[int, Any]) -> dict[int, dict[int, Any]]:
        """Return values by environment as those of each part, by local id."""
        env_ids = np.array(sorted(values), np.int64)
        return {
            part: {i: values[self.starts[part] + i] for i in ids.tolist()}
            for part, _, ids in self.parts(env_ids)
        }

    def _ask(self, calls: Mapping[int, PartCall]) -> dict[int, Any]:
        """Let parts execute a call each; return the values, or `Lost`, by part."""
        raise NotImplementedError

    def ask_all(self, name: str, *arguments: Any) -> dict[int, Any]:
        """Let every part execute one call; return the values by part."""
        return self._ask({part: PartCall(name, arguments) for part in self.order})

    def collect(
        self, env_ids: Ids, name: str, *arguments: Any, lost: Any = None
    ) -> list[Any]:
        """Return the results of some environments, in their order.

        Parameters
        ----------
        env_ids : (m,) int64
            Ascending.
        name : str
            Of the method; it gets the local ids, then the arguments.
        *arguments
        lost : object
            The result of environments whose part is lost.
        """
        parts = list(self.parts(env_ids))
        values = self._ask(
            {part: PartCall(name, (ids, *arguments)) for part, _, ids in parts}
        )
        results: list[Any] = [lost] * len(env_ids)
        for part, places, _ in parts:
            if not isinstance(values[part], Lost):
                results[places] = values[part]
        return results

    def join(self, values: Mapping[int, Any], lost: Any = None) -> list[Any]:
        """Return the values of all parts as one list, an entry an environment."""
        return [
            item
            for part, size in enumerate(self.sizes)
            for item in (
                [lost] * size if isinstance(values[part], Lost) else values[part]
            )
        ]

    def translate(self, part: int, error: Exception) -> Exception:
        """Return a part's exception with the environments' numbers in the batch."""
        if isinstance(error, EnvironmentFaultError):
            first = self.starts[part]
            return type(error)({first + i: text for i, text in error.errors.items()})
        return error

    def _check_failures(self) -> None:
        """Raise an error if the last reset of every environment has failed."""
        failures = self.failed_resets
        if len(failures) == self.num_envs:
            self._drop_fault_warnings()
            raise EnvironmentFaultError(failures)

    def _drop_fault_warnings(self) -> None:
        """Drop kept warnings of faults: an error reports them."""

    # ---------------------------------------------------------------- infos

    def join_infos(
        self, parts: Mapping[int, AnyInfos], env_ids: Ids | None = None
    ) -> AnyInfos:
        """Return the infos of parts as those of some environments; None: of all."""
        sizes = self.sizes
        if env_ids is not None:
            sizes = np.diff(np.searchsorted(env_ids, self.starts)).tolist()
        return join_infos([(parts.get(k, {}), size) for k, size in enumerate(sizes)])

    # ------------------------------------------------- what parts have alone

    def frames(self, env_ids: Ids, mode: str) -> tuple[Any, ...]:
        """Return a rendered frame of each of some environments; see `Engine.frames`."""
        ascending, places = np.unique(env_ids, return_inverse=True)
        frames = self._draw_frames(ascending, mode)
        return tuple(frames[place] for place in places.tolist())

    def _draw_frames(self, env_ids: Ids, mode: str) -> Sequence[Any]:
        """Return the frames of some environments, which are in ascending order."""
        return self.collect(env_ids, "frames", mode)

    def solve(self, env_ids: Ids, objective: str) -> list[Any]:
        """Return solutions, None in parts that are lost; see `Engine.solve`."""
        return self.collect(env_ids, "solve", objective)

    def set_level_options(self, level_options: dict[str, Any]) -> None:
        """Change the levels of next episodes; see `Engine.set_level_options`."""
        self._ask(
            {
                part: PartCall("set_level_options", (level_options,))
                for part, _, _ in self.parts(np.arange(self.num_envs))
            }
        )

    def set_attribute(self, name: str, values: Sequence[Any]) -> None:
        """Set an attribute of each environment; see `Engine.set_attribute`."""
        self._ask(
            {
                part: PartCall("set_attribute", (name, list(values[self.rows(part)])))
                for part in self.order
            }
        )

    def count_faults(self) -> tuple[NDArray[np.int64], dict[str, int]]:
        """Return the faults by environment, (n,), and by kind."""
        counts, total = np.zeros(self.num_envs, np.int64), dict[str, int]()
        for part, value in self.ask_all("count_faults").items():
            if isinstance(value, Lost):
                continue
            counts[self.rows(part)], by_kind = value
            for kind, count in by_kind.items():
                total[kind] = total.get(kind, 0) + count
        return counts, total
