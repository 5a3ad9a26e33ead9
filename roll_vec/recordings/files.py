"""Files of recorded runs: `save_run` writes one, `load_run` reads it.

The header of a file says how to make the batch anew.  Its arrays are the episodes, the
actions, a digest a frame, and the columns of all results; see `RunRecorder`.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidFileError, one_line
from roll_vec.recordings.columns import read_column, read_texts
from roll_vec.recordings.episodes import Episodes
from roll_vec.recordings.flat_results import ARRAY_KINDS, FIELDS, FlatResults
from roll_vec.recordings.recorder import DIGESTS, KINDS, TEXTS, VALUES, RunRecorder
from roll_vec.recordings.setup import RunSetup, current_versions
from roll_vec.storage.npz_files import read_npz, write_npz
from roll_vec.storage.plain_data import decode

KIND = "run"
# The version of the format: a file of another version is refused by name.
FORMAT = 2
_OTHER_FORMATS = " (roll_vec 0.2.0 reads version 1)"

# zlib never makes more bytes of one.
_MAX_RATIO = 1032
_DAMAGE = (
    *(LookupError, ValueError, TypeError, AttributeError, EOFError),
    *(zlib.error, gzip.BadGzipFile),
    *(MemoryError, OverflowError, RecursionError),
)


def save_run(
    path: str | os.PathLike[str],
    setup: RunSetup,
    recorder: RunRecorder,
    episodes: Episodes,
    *,
    seed: int,
    policy: str = "",
) -> None:
    """Write a run as an .npz file, replacing an older file.

    Arrays, one entry an ended episode, in the order of their ends: ``env_index``
    int64, ``returns`` float64, ``lengths`` int64, ``success`` int8 (1, 0, or -1 where
    the environment does not say), ``terminated`` bool, ``truncated`` bool.  Strings:
    ``id``, ``seed``, ``config`` and ``versions``; the last two are JSON.  Integer
    actions are ``actions`` (T, num_envs).  The other entries are for `load_run`.
    Nothing in it needs ``allow_pickle``.

    Parameters
    ----------
    path : str or PathLike
    setup : RunSetup
        Of `plan_run`.
    recorder : RunRecorder
        Of the batch, which is still open.
    episodes : Episodes
        Those that ended.
    seed : int
        Of the first reset.
    policy : str
        Its name, for people.

    Raises
    ------
    InvalidFileError, OSError
        The file cannot be written.
    """
    description, arrays = recorder.contents()
    paths = {name: file.path for name, file in setup.data_files.items()}
    config = {
        "num_envs": setup.num_envs,
        "steps": recorder.num_steps,
        "policy": policy,
        "autoreset": setup.autoreset.value,
        "options": {**setup.options, **paths},
    }
    versions = current_versions()
    packages = {name: versions[name] for name in versions if name != "platform"}
    # As text: a seed may be larger than any numpy integer.
    strings = {
        "id": setup.id,
        "seed": str(seed),
        "config": json.dumps(config, default=repr),
        "versions": json.dumps(packages),
    }
    header = {**description, "setup": setup.to_json(), "seed": seed}
    header["versions"] = versions
    arrays |= {name: np.array(text) for name, text in strings.items()}
    arrays |= asdict(episodes)
    columns = [name for name in arrays if name.startswith("column_")]
    write_npz(path, KIND, FORMAT, header, arrays, columns)


class RecordedFrame(NamedTuple):
    """The results of one step or reset, as they were recorded.

    Attributes
    ----------
    is_reset : bool
    digest : int
    values : FlatResults
        All leaves, with the digests of some fields in place of their values.
    digest_fields : frozenset of str
        Those fields.
    """

    is_reset: bool
    digest: int
    values: FlatResults
    digest_fields: frozenset[str]


@dataclass(frozen=True)
class Run:
    """A recorded run.

    Attributes
    ----------
    path : Path
    setup : RunSetup
    seed : int
    versions : dict of str to str
        Of the packages and the platform that recorded it.
    num_steps : int
        With the one that raised an exception.
    exception : str or None
        The exception that ended the run.
    fault_counts : list of int or None
        The faults of each environment of a pool, with those of resets, of which nothing
        else in the file tells; None: it is no pool.
    """

    path: Path
    setup: RunSetup
    seed: int
    versions: dict[str, str]
    num_steps: int
    exception: str | None
    fault_counts: list[int] | None
    _header: Mapping[str, Any]
    _arrays: Mapping[str, NDArray[Any]]
    _max_entry: int

    def actions(self) -> Iterator[Any]:
        """Yield the actions of each step, in the form in which they were passed.

        Raises
        ------
        InvalidFileError
        """
        dtype = self._header["actions"].get("dtype")
        with refuse_damage(self.path):
            if dtype is not None:
                for actions in self._arrays["actions"]:
                    yield actions.astype(dtype)
            else:
                for text in read_texts(self._arrays, "action_"):
                    yield decode(text)

    def successes(self) -> list[list[bool | None]]:
        """Return for each environment whether its episodes, in order, succeeded.

        None: the environment does not say.

        Raises
        ------
        InvalidFileError
        """
        with refuse_damage(self.path):
            envs = range(self.setup.num_envs)
            successes: list[list[bool | None]] = [[] for _ in envs]
            ends = zip(self._arrays["env_index"], self._arrays["success"], strict=True)
            for env_id, success in ends:
                successes[env_id].append(None if success < 0 else bool(success))
        return successes

    def frames(self) -> Iterator[RecordedFrame]:
        """Yield the results of all steps and resets, in order.

        Raises
        ------
        InvalidFileError
        """
        with refuse_damage(self.path):
            texts = read_texts(self._arrays)
            columns = []
            for i, column in enumerate(self._header["columns"]):
                _check_column(column, self.setup.num_envs, self._max_entry)
                entries = read_column(column, self._arrays[f"column_{i}"])
                columns.append((tuple(column["path"]), column["kind"], entries))
            heads = [next(entries, None) for _, _, entries in columns]
            digests, is_reset = self._arrays["digests"], self._arrays["is_reset"]
            for number in range(len(digests)):
                values: FlatResults = {}
                digest_fields = set()
                for i, (path, kind, entries) in enumerate(columns):
                    head = heads[i]
                    if head is None or head[0] != number:
                        continue
                    rows: Any = head[1]
                    heads[i] = next(entries, None)
                    if kind == DIGESTS:
                        digest_fields.add(path[0])
                    if kind == TEXTS:
                        rows = [texts[j] for j in rows.tolist()]
                    values[path] = rows
                facts = bool(is_reset[number]), int(digests[number])
                yield RecordedFrame(*facts, values, frozenset(digest_fields))


def _check_column(column: Mapping[str, Any], num_envs: int, max_entry: int) -> None:
    """Raise a ValueError if the description of a column is none of a run.

    An entry has at most ``max_entry`` bytes.
    """
    path, kind, shape = column["path"], column["kind"], column["shape"]
    dtype = np.dtype(column["dtype"])
    if (
        path[0] not in FIELDS
        or not all(isinstance(part, str) for part in path)
        or kind not in KINDS
        or shape[0] != num_envs
        # Numbers of texts, or digests.
        or (kind != VALUES and (len(shape) != 1 or dtype != np.uint32))
        or dtype.kind not in ARRAY_KINDS
        or dtype.itemsize * math.prod(shape) > max_entry
    ):
        message = f"column {path}"
        raise ValueError(message)


@contextmanager
def refuse_damage(path: Path) -> Iterator[None]:
    """Turn errors by content that `save_run` never writes into an InvalidFileError."""
    try:
        yield
    except InvalidFileError:
        raise
    except _DAMAGE as error:
        message = f"{path} cannot be read: it is damaged ({one_line(repr(error))})"
        raise InvalidFileError(message) from error


def load_run(path: str | os.PathLike[str]) -> Run:
    """Return the run that `save_run` has written.

    Raises
    ------
    InvalidFileError
        Names the file: if it is damaged, or of another kind or version.
    OSError
        If it cannot be read.
    """
    path = Path(path)
    header, arrays = read_npz(path, KIND, FORMAT, _OTHER_FORMATS)
    with refuse_damage(path):
        is_reset, exception = arrays["is_reset"], header["exception"]
        # Files of earlier versions do not have them.
        faults = header.get("fault_counts")
        return Run(
            path=path,
            setup=RunSetup.from_json(header["setup"]),
            seed=int(header["seed"]),
            versions={str(k): str(v) for k, v in header["versions"].items()},
            num_steps=int(np.count_nonzero(~is_reset)) + (exception is not None),
            exception=None if exception is None else str(exception),
            fault_counts=None if faults is None else [int(each) for each in faults],
            _header=header,
            _arrays=arrays,
            # An entry is compressed: in an honest file it is no larger.
            _max_entry=_MAX_RATIO * path.stat().st_size,
        )
