"""`VectorState`: a snapshot of all environments of a batch, as data."""

from __future__ import annotations

import hashlib
import json
import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidFileError, InvalidStateError
from roll_vec.npz_files import read_npz, write_npz
from roll_vec.vector.engine import EngineState
from roll_vec.vector.packed_values import (
    concatenate_rows,
    has_pickles,
    read_value,
    replace_value,
    take_rows,
)
from roll_vec.vector.stream_seeds import decode_seed, encode_seeds

__all__ = [
    "STATE_VERSION",
    "VectorState",
    "check_rows",
    "digest_configuration",
]

STATE_VERSION = 1
"""The format version of snapshots, in memory and in files."""

_KIND = "snapshot"


class VectorState:
    """A snapshot of a batch: everything that later steps and resets depend on.

    `RollVectorEnv.get_state` returns it, `RollVectorEnv.set_state` goes back to it, in
    this batch or in another one of the same configuration.  It is never changed: the
    arrays are read-only.  Generated levels that are cached are no part of it.

    Parameters
    ----------
    id : str
        The id of the environments.
    configuration : dict
        All keywords that two batches must share to exchange snapshots, as `json` writes
        them.
    arrays : mapping from str to array
        Row i belongs to environment i.
    shared : mapping
        Lists of values that rows refer to, as `json` writes them: the array of the same
        name has indices into the list.
    objects : tuple or None
        Copies of environments that only this process can use.

    Attributes
    ----------
    version : int
        `STATE_VERSION`.
    digest : str
        SHA-256 of id and configuration.
    """

    version = STATE_VERSION

    def __init__(
        self,
        id: str,
        configuration: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        shared: Mapping[str, Any] | None = None,
        objects: tuple[Any, ...] | None = None,
        *,
        digest: str | None = None,
        checked_by: str = "",
    ) -> None:
        self.id, self.configuration = id, dict(configuration)
        self.arrays = {name: np.asarray(array).view() for name, array in arrays.items()}
        for array in self.arrays.values():
            array.flags.writeable = False
        self.shared, self.objects = dict(shared or {}), objects
        self.digest = digest or digest_configuration(id, self.configuration)
        # The digest of a batch that has returned or checked these arrays.
        self._checked_by = checked_by

    @property
    def num_envs(self) -> int:
        """Number of environments."""
        return len(next(iter(self.arrays.values())))

    def __len__(self) -> int:
        return self.num_envs

    @property
    def _is_packed(self) -> bool:
        """Whether the environments are objects: see `roll_vec.vector.packed_values`."""
        return "state_kinds" in self.arrays

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return sum(array.nbytes for array in self.arrays.values())

    def __repr__(self) -> str:
        return f"<VectorState of {self.num_envs} {self.id}, {self.nbytes} bytes>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VectorState):
            return NotImplemented
        return (
            self.digest == other.digest
            and self.shared == other.shared
            and self.objects is None
            and other.objects is None
            and self.arrays.keys() == other.arrays.keys()
            and all(_same(self.arrays[k], other.arrays[k]) for k in self.arrays)
        )

    __hash__ = None  # type: ignore[assignment]

    # ------------------------------------------------------------------ rows

    def take(self, rows: Sequence[int] | NDArray[np.integer[Any]]) -> VectorState:
        """Return the snapshot of a batch of ``len(rows)`` environments.

        Its environment i is this snapshot's environment ``rows[i]``.

        Raises
        ------
        InvalidStateError
            If ``rows`` are not integers from 0 to num_envs - 1.
        """
        indices = check_rows(rows, self.num_envs)
        return VectorState(
            self.id,
            self.configuration,
            take_rows(self.arrays, indices),
            self.shared,
            self.objects and tuple(self.objects[row] for row in indices.tolist()),
            digest=self.digest,
            checked_by=self._checked_by,
        )

    def row(self, index: int) -> dict[str, Any]:
        """Return the state of one environment, as its own `set_state` takes it.

        Returns
        -------
        dict
            Scalars and arrays, by the names of ``arrays``; ``seeds`` is an int or None.
            Of a pool the value that the environment's own `get_state` returned.

        Raises
        ------
        InvalidStateError
            If there is no such row, or a pool's environment has no `get_state`.
        """
        index = operator.index(index)
        check_rows([index], self.num_envs)
        if self._is_packed:
            value: dict[str, Any] = read_value("state", self.arrays, index)
            return value
        row = {name: array[index] for name, array in self.arrays.items()}
        # Arrays with the name of a shared table are indices into it.
        for name in self.shared.keys() & row.keys():
            row[name] = self.shared[name][row[name]]
        return {**row, "seeds": decode_seed(bytes(row["seeds"]))}

    def replace_row(self, index: int, row: Mapping[str, Any]) -> VectorState:
        """Return a snapshot whose environment ``index`` is in another state.

        Parameters
        ----------
        index : int
        row : mapping
            As the environment's own `get_state` returned it.  A name that it lacks
            keeps its value.  In a pool the observation that `set_state` returns stays
            as it was until the environment's next step.

        Raises
        ------
        InvalidStateError
            For a name that the snapshot does not have, or a value of another shape.
        """
        index = operator.index(index)
        check_rows([index], self.num_envs)
        if self._is_packed:
            new = replace_value("state", self.arrays, index, row)
            return VectorState(
                self.id,
                self.configuration,
                {**self.arrays, **new},
                self.shared,
                self.objects,
            )
        unknown = sorted(row.keys() - self.arrays.keys())
        if unknown:
            accepted = f"some of {sorted(self.arrays)}"
            raise InvalidStateError.expected("row", accepted, unknown)
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        shared = dict(self.shared)
        for name, value in row.items():
            if name == "seeds":
                seeds = [decode_seed(digits) for digits in arrays[name].tolist()]
                seeds[index] = value
                arrays[name] = encode_seeds(seeds)
            elif name in shared:
                if value not in shared[name]:
                    shared[name] = [*shared[name], value]
                arrays[name][index] = shared[name].index(value)
            elif np.shape(value) != arrays[name].shape[1:]:
                accepted = f"an array of shape {arrays[name].shape[1:]}"
                raise InvalidStateError.of_array(name, accepted, value)
            else:
                arrays[name][index] = value
        return VectorState(self.id, self.configuration, arrays, shared, self.objects)

    @staticmethod
    def concatenate(states: Sequence[VectorState]) -> VectorState:
        """Return one snapshot of all environments of several snapshots, in their order.

        Raises
        ------
        InvalidStateError
            If there is none, or one has another configuration or other shared values
            than the first.
        """
        states = list(states)
        if not states or not all(isinstance(state, VectorState) for state in states):
            accepted = "a sequence of at least one VectorState"
            raise InvalidStateError.expected("states", accepted, states)
        first = states[0]
        for state in states:
            first.check_configuration(state.id, state.configuration, state.digest)
            if state.shared != first.shared:
                accepted = "states whose shared values are equal"
                raise InvalidStateError.expected("states", accepted, state.shared)
            if state.arrays.keys() != first.arrays.keys():
                accepted = f"the arrays {sorted(first.arrays)} in every state"
                raise InvalidStateError.expected(
                    "states", accepted, sorted(state.arrays)
                )
        objects: list[Any] = []
        for state in states:
            objects += state.objects or [None] * len(state)
        is_checked = all(state._checked_by == first._checked_by for state in states)
        return VectorState(
            first.id,
            first.configuration,
            concatenate_rows([state.arrays for state in states]),
            first.shared,
            tuple(objects) if any(state.objects for state in states) else None,
            digest=first.digest,
            checked_by=first._checked_by if is_checked else "",
        )

    # ----------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the snapshot to a file, an ``.npz`` that numpy reads without pickle.

        The states of a pool's environments may be pickles in it; see `load`.

        Raises
        ------
        InvalidStateError
            If it has objects that only this process can use; nothing is written then.
        OSError
        """
        if self.objects is not None:
            message = (
                f"state: the environments of {self.id} have no get_state and cannot be "
                "pickled, so that only this process can use the snapshot: give their "
                "class get_state and set_state"
            )
            raise InvalidStateError(message)
        header = {
            "id": self.id,
            "configuration": self.configuration,
            "shared": self.shared,
        }
        write_npz(path, _KIND, self.version, header, self.arrays)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, allow_pickle: bool = False
    ) -> VectorState:
        """Return the snapshot of a file.

        The batch checks it again when it is set.

        Parameters
        ----------
        path : str or PathLike
        allow_pickle : bool
            Whether a snapshot may have pickles: those of environments in a pool whose
            `get_state` returns no plain data, or that have none.  A pickle runs any
            code when it is set: only load such files from people you trust.

        Raises
        ------
        InvalidFileError
            Names the file, if it is of another kind or version, truncated or changed,
            or has pickles that are not allowed.
        OSError
        """
        header, arrays = read_npz(path, _KIND, STATE_VERSION)
        if not arrays or len({array.shape[:1] for array in arrays.values()}) != 1:
            message = f"{os.fspath(path)} cannot be read: its arrays differ in length"
            raise InvalidFileError(message)
        if has_pickles(arrays) and not allow_pickle:
            message = (
                f"{os.fspath(path)} cannot be read: it has pickled environments, and a "
                "pickle can run any code: pass allow_pickle=True if you trust the file"
            )
            raise InvalidFileError(message)
        return cls(header["id"], header["configuration"], arrays, header["shared"])

    # ---------------------------------------------------------------- checks

    def engine_state(self, own_names: frozenset[str]) -> EngineState:
        """Return the part of the engine: all arrays but those with some names."""
        arrays = {k: v for k, v in self.arrays.items() if k not in own_names}
        return EngineState(arrays, self.shared, self.objects)

    def check_configuration(
        self, id: str, configuration: Mapping[str, Any], digest: str
    ) -> None:
        """Check that the snapshot is one of a batch of a configuration.

        Raises
        ------
        InvalidStateError
            Names the first keyword that differs, and both values.
        """
        if self.digest == digest:
            return
        if self.id != id:
            raise InvalidStateError.expected("state", f"one of {id}", self.id)
        for name in sorted(self.configuration.keys() | configuration.keys()):
            one, other = self.configuration.get(name), configuration.get(name)
            if one != other:
                message = (
                    f"state: it is of another configuration: {name} is {other!r} in "
                    f"this batch and {one!r} in the state"
                )
                raise InvalidStateError(message)


def digest_configuration(id: str, configuration: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an id and a configuration, in hexadecimal digits."""
    text = json.dumps([STATE_VERSION, id, configuration], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def check_rows(rows: Any, num_rows: int) -> NDArray[np.int64]:
    """Return indices of rows as (m,) int64.

    Raises
    ------
    InvalidStateError
        If they are not integers from 0 to ``num_rows`` - 1.
    """
    array = np.asarray(rows)
    if array.ndim != 1 or not (
        np.issubdtype(array.dtype, np.integer) or not array.size
    ):
        accepted = "a sequence of integers, one for each environment"
        raise InvalidStateError.expected("rows", accepted, rows)
    outside = (array < 0) | (array >= num_rows)
    if np.count_nonzero(outside):
        value = int(array[outside][0])
        raise InvalidStateError.expected("rows", f"0 to {num_rows - 1}", value)
    return array.astype(np.int64, copy=False)


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()
