"""`VectorState`: a snapshot of all environments of a batch, as data."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import operator
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidFileError, InvalidStateError
from roll_vec.storage.npz_files import read_npz, write_npz
from roll_vec.vector.masks import check_indices
from roll_vec.vector.values import (
    PICKLED,
    PLAIN,
    STATES,
    from_bytes,
    has_pickles,
    is_values,
)

STATE_VERSION = 2
"""The format version of snapshots, in memory and in files."""

ROWS = "a sequence of integers, one for each environment"
"""What the argument ``rows`` of methods of snapshots may be."""

_KIND = "snapshot"
_OTHER_FORMATS = " (roll_vec 0.2.0 reads version 1)"


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
        Row i belongs to environment i.  ``has_ended`` is that of the batch, all others
        are those of its engine.
    allow_pickle : bool
        Whether pickles in ``arrays`` may be read, see `load`.  `set_state` and `row`
        raise for them otherwise.  A snapshot that a batch returned has the permission;
        one that is made of others has it if they all have it.

    Attributes
    ----------
    id, arrays
        As passed; the arrays are read-only.
    digest : str
        SHA-256 of id and configuration.

    Raises
    ------
    InvalidStateError
        Without arrays, or if they do not have a row for each environment.  A batch
        checks the rest, see `Engine.check_state`.
    """

    def __init__(
        self,
        id: str,
        configuration: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        *,
        allow_pickle: bool = False,
    ) -> None:
        copies = {name: np.array(array, order="K") for name, array in arrays.items()}
        check_batch_arrays(copies)
        self.id, self._configuration = id, copy.deepcopy(dict(configuration))
        self.digest = digest_configuration(id, self._configuration)
        self.arrays = _freeze(copies)
        # The digest of a batch that has returned or checked this snapshot.
        self._valid_for = ""
        self._allow_pickle = allow_pickle

    @classmethod
    def of_batch(
        cls,
        id: str,
        configuration: tuple[dict[str, Any], str],
        arrays: Mapping[str, NDArray[Any]],
    ) -> VectorState:
        """Return the snapshot of a batch, without copies; no check is needed.

        Parameters
        ----------
        id : str
        configuration : (dict, str)
            With its digest; never changed.
        arrays : mapping from str to array
            Nobody else writes into them.
        """
        state = cls.__new__(cls)
        state.id, (state._configuration, state.digest) = id, configuration
        state.arrays, state._valid_for = _freeze(arrays), state.digest
        state._allow_pickle = True
        return state

    def _with(self, arrays: Mapping[str, NDArray[Any]], **changes: Any) -> VectorState:
        """Return a snapshot with other arrays, and other values of some attributes."""
        state = VectorState.__new__(VectorState)
        vars(state).update(vars(self), arrays=_freeze(arrays), **changes)
        return state

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self) and not name.startswith("_"):
            message = f"{name} cannot be set: a snapshot is never changed"
            raise AttributeError(message)
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is checked again: numpy makes the arrays of a pickle writable.
        make = functools.partial(VectorState, allow_pickle=self._allow_pickle)
        return make, (self.id, self._configuration, dict(self.arrays))

    @property
    def configuration(self) -> dict[str, Any]:
        """A copy of the keywords that two batches must share."""
        return copy.deepcopy(self._configuration)

    @property
    def num_envs(self) -> int:
        """Number of environments."""
        return len(self.arrays["has_ended"])

    def __len__(self) -> int:
        return self.num_envs

    @property
    def _has_objects(self) -> bool:
        """Whether the environments are objects: see `roll_vec.vector.values`."""
        return STATES in self.arrays and is_values(STATES, self.arrays[STATES])

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return sum(array.nbytes for array in self.arrays.values())

    def __repr__(self) -> str:
        return f"<VectorState of {self.num_envs} {self.id}, {self.nbytes} bytes>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VectorState):
            return NotImplemented
        if self is other:
            return True
        if self.digest != other.digest or self.arrays.keys() != other.arrays.keys():
            return False
        return all(_same(array, other.arrays[k]) for k, array in self.arrays.items())

    __hash__ = None  # type: ignore[assignment]

    # ------------------------------------------------------------------ rows

    def select_rows(
        self, rows: Sequence[int] | NDArray[np.integer[Any]]
    ) -> VectorState:
        """Return the snapshot of a batch of ``len(rows)`` environments.

        Its environment i is this snapshot's environment ``rows[i]``.

        Raises
        ------
        InvalidOptionError
            If ``rows`` are not integers from 0 to num_envs - 1.
        """
        indices = check_indices("rows", rows, self.num_envs, ROWS)
        arrays = {name: array[indices] for name, array in self.arrays.items()}
        for name, array in arrays.items():
            if is_values(name, array) and len(indices):
                # No wider than the longest of these rows.
                arrays[name] = np.array(array.tolist())
        return self._with(arrays)

    def row(self, index: int) -> dict[str, Any]:
        """Return the state of one environment, for `set_state` of a single one.

        Returns
        -------
        dict
            Scalars and arrays, by the names of ``arrays``.
            Of a pool the value that `get_state` of the environment returned.

        Raises
        ------
        InvalidStateError
            If a pool's environment has no `get_state`, its value cannot be read, or is
            a pickle that is not allowed.
        InvalidOptionError
            If there is no such row.
        """
        index = operator.index(index)
        check_indices("rows", [index], self.num_envs)
        if not self._has_objects:
            return {name: array[index] for name, array in self.arrays.items()}
        self._check_pickles()
        content = bytes(self.arrays[STATES][index])
        if content[:1] not in (PLAIN, PICKLED):
            message = (
                f"row {index}: the snapshot has no value for it: its environment has "
                "no get_state, or was lost in a fault"
            )
            raise InvalidStateError(message)
        value: dict[str, Any] = from_bytes(content, f"{STATES}[{index}]")
        return value

    @staticmethod
    def concatenate(states: Sequence[VectorState]) -> VectorState:
        """Return one snapshot of all environments of several snapshots, in their order.

        Raises
        ------
        InvalidStateError
            If there is none, or one has another configuration than the first.
        """
        states = list(states)
        if not states or not all(isinstance(state, VectorState) for state in states):
            accepted = "a sequence of at least one VectorState"
            raise InvalidStateError.expected("states", accepted, states)
        first = states[0]
        for state in states:
            first.check_configuration(state.id, state._configuration, state.digest)
        try:
            arrays = {
                name: np.concatenate([state.arrays[name] for state in states])
                for name in first.arrays
            }
        except (KeyError, TypeError, ValueError) as error:
            accepted = "arrays of one form in all of them"
            raise InvalidStateError.expected("states", accepted, error) from None
        valid_for = {state._valid_for for state in states}
        return first._with(
            arrays,
            _valid_for=first._valid_for if len(valid_for) == 1 else "",
            _allow_pickle=all(state._allow_pickle for state in states),
        )

    # ----------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the snapshot to a file, an ``.npz`` that numpy reads without pickle.

        The states of a pool's environments may be pickles in it; see `load`.

        Raises
        ------
        InvalidFileError
            If the path is that of a directory, a device, a pipe or a socket.
        OSError
        """
        header = {"id": self.id, "configuration": self._configuration}
        write_npz(path, _KIND, STATE_VERSION, header, self.arrays)

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
        header, arrays = read_npz(path, _KIND, STATE_VERSION, _OTHER_FORMATS)
        try:
            values = header["id"], header["configuration"], arrays
            state = cls(*values, allow_pickle=allow_pickle)
            state._check_pickles()
        except (KeyError, TypeError, ValueError) as error:
            message = f"{os.fspath(path)} cannot be read: {error}"
            raise InvalidFileError(message) from None
        return state

    # ---------------------------------------------------------------- checks

    def _check_pickles(self) -> None:
        """Check that the snapshot may have pickles, or has none.

        Raises
        ------
        InvalidStateError
        """
        if not self._allow_pickle and has_pickles(self.arrays):
            message = (
                "state: it has pickled environments, and a pickle can run any code: "
                "pass allow_pickle=True where it is loaded or made, if you trust it"
            )
            raise InvalidStateError(message)

    def engine_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays but ``has_ended``.

        Raises
        ------
        InvalidStateError
            If it has pickles that are not allowed.
        """
        self._check_pickles()
        return {k: v for k, v in self.arrays.items() if k != "has_ended"}

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
        name, one, other = _find_difference("", configuration, self._configuration)
        message = (
            f"state: it is of another configuration: {name} is {one!r} in this batch "
            f"and {other!r} in the state"
        )
        raise InvalidStateError(message)


def check_batch_arrays(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Check ``has_ended``, and that all arrays have as many rows.

    Raises
    ------
    InvalidStateError
    """
    shapes = {name: array.shape for name, array in arrays.items()}
    lengths = {shape[:1] for shape in shapes.values()}
    if "has_ended" not in arrays or len(lengths) > 1 or () in lengths:
        accepted = "has_ended among them, and a row for each environment in all"
        raise InvalidStateError.expected("arrays", accepted, shapes)
    ended = arrays["has_ended"]
    # Other bytes than 0 and 1 are possible in memory that somebody has changed.
    if ended.dtype != np.bool_ or ended.ndim != 1 or (ended.view(np.uint8) > 1).any():
        value = f"{ended.dtype} of shape {ended.shape}"
        raise InvalidStateError.of_array("has_ended", "bool of shape (n,)", value)


def _freeze(arrays: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """Return read-only views of arrays."""
    views = {name: array.view() for name, array in arrays.items()}
    for array in views.values():
        array.flags.writeable = False
    return MappingProxyType(views)


def _find_difference(name: str, one: Any, other: Any) -> tuple[str, Any, Any]:
    """Return the first place where two configurations differ, and both values."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        pairs = [(key, one.get(key), other.get(key)) for key in {**one, **other}]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = list(zip(range(len(one)), one, other, strict=True))
    else:
        return name, one, other
    for key, value, other_value in pairs:
        # As text: 1 and True are equal and mean different things.
        if repr(value) != repr(other_value):
            path = f"{name}.{key}" if name else str(key)
            return _find_difference(path, value, other_value)
    return name, one, other


def digest_configuration(id: str, configuration: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an id and a configuration, in hexadecimal digits."""
    text = json.dumps([STATE_VERSION, id, configuration], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def fit_value(name: str, value: Any, like: Any) -> NDArray[Any]:
    """Return a value of a state as an array of the dtype and shape of another one.

    Raises
    ------
    InvalidStateError
        If it has another shape, or the dtype changes it.
    """
    try:
        array = np.asarray(value)
        converted = array.astype(like.dtype)
        # NaN is no other value: the limits of a variable refuse it.
        is_equal = (converted == array) | (array != array)
        fits = array.shape == like.shape and bool(is_equal.all())
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        accepted = f"{like.dtype} of shape {like.shape}"
        raise InvalidStateError.of_array(name, accepted, value)
    return converted


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    if one.dtype.kind == other.dtype.kind == "S":
        # One array may be wider than the other.
        return np.array_equal(one, other)
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()
