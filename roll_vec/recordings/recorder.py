"""Record a run: its actions, and the results of every step and reset."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import InvalidActionError, one_line
from roll_vec.recordings.columns import Column, TextTable, pack_texts
from roll_vec.recordings.events import BatchEvent
from roll_vec.recordings.flat_results import digest_frame, flatten, with_digests
from roll_vec.storage.plain_data import encode

# Kinds of columns: rows of arrays, numbers of texts, digests of rows.
KINDS = VALUES, TEXTS, DIGESTS = "values", "texts", "digests"

# The fields of which only digests are stored after some megabytes.
_LIMITED_FIELDS = ("observations", "infos")
_MEGABYTE = 1_000_000


class RunRecorder:
    """The results and actions of a run, in the memory, compressed.

    Frame 0 is the first reset.  Each step is a frame, and so is each reset between
    steps, of the environments that the step before it ended.

    Parameters
    ----------
    env : VectorEnv
    megabytes : int, default 256
        So many bytes of observations are stored as values, and so many of infos; of
        later ones only a digest for each environment.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], megabytes: int = 256) -> None:
        self._env = env
        self._space, self._num_envs = env.single_observation_space, env.num_envs
        self._room = dict.fromkeys(_LIMITED_FIELDS, megabytes * _MEGABYTE)
        self._texts = TextTable()
        self._columns: dict[tuple[Any, ...], Column] = {}
        self._digests: list[int] = []
        self._is_reset: list[bool] = []
        self._actions = _Actions()
        self._exception: str | None = None

    def add(self, event: BatchEvent) -> None:
        """Add a reset, or a step with its actions; nothing of it is changed.

        Raises
        ------
        InvalidActionError
            If the actions are no plain data.
        """
        if not event.is_reset:
            self._actions.append(event.actions)
        number = len(self._digests)
        fields = [field for field, room in self._room.items() if room < 0]
        full = flatten(self._space, self._num_envs, event.results)
        frame = with_digests(full, fields, self._num_envs)
        for path, leaf in frame.items():
            field, size = path[0], 0
            kind = DIGESTS if field in fields else VALUES
            if isinstance(leaf, list):
                kind = TEXTS
                leaf, size = self._texts.number(leaf)
            # A user's environment may change the dtype of a result.
            key = path, kind, leaf.dtype.str, leaf.shape
            if key not in self._columns:
                self._columns[key] = Column(leaf.dtype, leaf.shape)
            self._columns[key].append(number, leaf)
            if field in self._room:
                self._room[field] -= size + leaf.nbytes
        self._digests.append(digest_frame(frame))
        self._is_reset.append(event.is_reset)

    def add_exception(self, actions: Any, error: Exception) -> None:
        """Add the actions of the last step, which raised an exception."""
        self._actions.append(actions)
        self._exception = describe_exception(error)

    @property
    def num_steps(self) -> int:
        """Steps so far, with the one that raised an exception."""
        return len(self._actions)

    def contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return a header, which `json` can write, and arrays."""
        actions, arrays = self._actions.contents()
        arrays |= {
            "digests": np.array(self._digests, np.uint32),
            "is_reset": np.array(self._is_reset, np.bool_),
            **self._texts.finish(),
        }
        columns = []
        for i, ((path, kind, *_), column) in enumerate(self._columns.items()):
            description, data = column.finish()
            columns.append({"path": list(path), "kind": kind, **description})
            arrays[f"column_{i}"] = data
        faults = getattr(self._env.unwrapped, "fault_counts", None)
        header = {
            "actions": actions,
            "fault_counts": None if faults is None else [*map(int, faults)],
            "columns": columns,
            "exception": self._exception,
        }
        return header, arrays


def describe_exception(error: Exception) -> str:
    """Return the class and the message of an exception on one line."""
    return f"{type(error).__name__}: {one_line(error)}"


class _Actions:
    """The actions of all steps: an array if all are arrays that stack, else texts."""

    def __init__(self) -> None:
        self._steps: list[Any] = []
        self._kinds: set[Any] = set()

    def __len__(self) -> int:
        return len(self._steps)

    def append(self, actions: Any) -> None:
        if isinstance(actions, np.ndarray) and actions.dtype.kind in "biuf":
            self._kinds.add((actions.dtype.str, actions.shape))
            self._steps.append(_narrow(actions))
            return
        if isinstance(actions, np.ndarray) and actions.dtype.kind == "O":
            actions = actions.tolist()
        self._kinds.add(None)
        try:
            self._steps.append(encode(actions))
        except TypeError as error:
            message = f"actions: expected plain data, which can be saved: {error}"
            raise InvalidActionError(message) from error

    def contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        if len(self._kinds) == 1 and None not in self._kinds:
            ((dtype, _),) = self._kinds
            return {"dtype": dtype}, {"actions": np.stack(self._steps)}
        texts = [
            step if isinstance(step, bytes) else encode(step) for step in self._steps
        ]
        return {}, pack_texts(texts, "action_")


def _narrow(actions: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of actions: small integers in one byte each."""
    if actions.dtype.kind in "iu":
        small = actions.astype(np.int8)
        if np.array_equal(small, actions):
            return small
    return actions.copy()
