"""Files of recorded runs: `save_run` writes one, `load_run` reads it.

The header of a file says how to make the batch anew.  Its arrays are the actions, the
rewards, the ends and the digests of a `RunRecorder`, and the episodes that ended.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidFileError, one_line
from roll_vec.recordings.episodes import Episodes
from roll_vec.recordings.recorder import RESULTS, RunRecorder
from roll_vec.recordings.setup import RunSetup, current_versions
from roll_vec.storage.npz_files import read_npz, write_npz
from roll_vec.storage.plain_data import decode

KIND = "run"
# The version of the format: a file of another version is refused by name.
FORMAT = 3
_OTHER_FORMATS = " (roll_vec 0.2.0 reads version 1)"

_DAMAGE = (
    *(LookupError, ValueError, TypeError, AttributeError),
    *(MemoryError, OverflowError, RecursionError),
)


def save_run(
    path: str | os.PathLike[str],
    recorder: RunRecorder,
    episodes: Episodes,
    *,
    seed: int,
    policy: str = "",
) -> None:
    """Write a run as an .npz file, replacing an older file.

    `numpy.load` reads it, without ``allow_pickle``.  It has T steps and F frames:
    ``actions`` (T, ...), ``rewards``, ``terminations``, ``truncations`` (T, num_envs),
    ``digests`` (F, num_envs) uint32 and ``is_reset`` (F,) bool.  The fields of
    `Episodes` have one entry for each episode that ended: ``env_index``, ``returns``,
    ``lengths``, ``success`` (1, 0, or -1 where the environment does not say),
    ``terminated`` and ``truncated``.  ``id``, ``seed``, ``config`` and ``versions`` are
    texts; the last two are JSON.

    Parameters
    ----------
    path : str or PathLike
    recorder : RunRecorder
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
    setup, versions = recorder.setup, current_versions()
    dtype, arrays = recorder.arrays()
    paths = {name: file.path for name, file in setup.data_files.items()}
    config = {
        "num_envs": setup.num_envs,
        "steps": recorder.num_steps,
        "policy": policy,
        "autoreset": setup.autoreset.value,
        "options": {**setup.options, **paths},
    }
    packages = {name: versions[name] for name in versions if name != "platform"}
    # As text: a seed may be larger than any numpy integer.
    strings = {
        "id": setup.id,
        "seed": str(seed),
        "config": json.dumps(config, default=repr),
        "versions": json.dumps(packages),
    }
    header = {
        "setup": setup.to_json(),
        "seed": seed,
        "versions": versions,
        "dtype": dtype,
        "exception": recorder.exception,
    }
    arrays |= {name: np.array(text) for name, text in strings.items()}
    # No digest is like another: compression would save nothing.
    write_npz(path, KIND, FORMAT, header, arrays | asdict(episodes), ["digests"])


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
    exception : str or None
        The exception that ended the run.
    actions : sequence
        Of each step, with the one that raised the exception, as they were passed.
    results : mapping from str to (T, num_envs) array
        ``rewards``, ``terminations`` and ``truncations`` of each step.
    digests : (F, num_envs) uint32
        Of each reset and step.
    is_reset : (F,) bool
    """

    path: Path
    setup: RunSetup
    seed: int
    versions: dict[str, str]
    exception: str | None
    actions: Any
    results: Mapping[str, NDArray[Any]]
    digests: NDArray[np.uint32]
    is_reset: NDArray[np.bool_]

    @property
    def num_steps(self) -> int:
        """Steps, with the one that raised an exception."""
        return len(self.actions)


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
        dtype, exception = header["dtype"], header["exception"]
        actions: Any = arrays["actions"]
        if dtype is None:
            lines = actions.tobytes().split(b"\n") if actions.size else []
            actions = [decode(line) for line in lines]
        else:
            actions = actions.astype(_number_type(dtype))
        run = Run(
            path=path,
            setup=RunSetup.from_json(header["setup"]),
            seed=int(header["seed"]),
            versions={str(k): str(v) for k, v in header["versions"].items()},
            exception=None if exception is None else str(exception),
            actions=actions,
            results={name: arrays[name] for name in RESULTS},
            digests=arrays["digests"],
            is_reset=arrays["is_reset"],
        )
        _check(run)
    return run


def _number_type(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in "biuf":
        message = f"actions of the type {name}"
        raise ValueError(message)
    return dtype


def _check(run: Run) -> None:
    """Raise a ValueError for arrays that do not belong together."""
    num_envs, is_reset = run.setup.num_envs, run.is_reset
    steps = int(np.count_nonzero(~is_reset))
    results = {(array.shape, array.dtype.kind) for array in run.results.values()}
    if (
        is_reset.ndim != 1
        or not is_reset[:1].all()
        or (is_reset[1:] & is_reset[:-1]).any()
        or run.digests.shape != (len(is_reset), num_envs)
        or {shape for shape, _ in results} != {(steps, num_envs)}
        or {kind for _, kind in results} - {*"biuf"}
        or run.num_steps != steps + (run.exception is not None)
    ):
        message = "arrays that do not belong together"
        raise ValueError(message)
