"""Parts that the training programs of this folder share.

`add_training_arguments` has the command-line arguments of every program, `EnvTime`
measures the time in the environments.  `save_checkpoint` and `load_checkpoint` stop a
training and continue it bit for bit.
"""

from __future__ import annotations

import argparse
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from roll_vec import VectorState

FORMAT = "roll_vec.examples.checkpoint.1"


def add_training_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that every training program has."""
    add = parser.add_argument
    add("--seed", type=int, default=0, help="seed of the agent and its environments")
    add("--updates", type=_positive(int), help="stop after so many updates in all")
    add("--minutes", type=_positive(float), help="stop after so many minutes in all")
    file = {"metavar": "FILE"}
    add("--checkpoint", type=_output, help="write checkpoints to it", **file)
    add("--resume", type=Path, help="continue from this checkpoint", **file)
    add("--picture", type=_output, help="draw the learning curve: a .png", **file)


def _positive(kind: type) -> Callable[[str], float]:
    """Return a parser of numbers above 0."""

    def number(text: str) -> float:
        if not (value := kind(text)) > 0:
            message = f"expected a number above 0: {text}"
            raise argparse.ArgumentTypeError(message)
        return value

    return number


def _output(text: str) -> Path:
    """Return a path that can be written: hours later would be too late to say no."""
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        message = f"expected a file in a folder that exists: {text}"
        raise argparse.ArgumentTypeError(message)
    return path


class EnvTime:
    """A context manager that adds up the seconds spent in environments.

    >>> env_time = EnvTime()
    >>> with env_time:
    ...     observations, infos = envs.reset()
    >>> print(f"{env_time.share():.1%} of the time in the environments")
    """

    def __init__(self) -> None:
        self.seconds, self._earlier = 0.0, 0.0
        self._start = time.perf_counter()

    def __enter__(self) -> EnvTime:
        self._entry = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._entry

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Leave out the time within, such as that of a test."""
        start = time.perf_counter()
        yield
        self._start += time.perf_counter() - start

    def total(self) -> float:
        """Return the seconds since the start, with those before a checkpoint."""
        return self._earlier + time.perf_counter() - self._start

    def share(self) -> float:
        """Return the share of the time that was spent in environments, 0 to 1."""
        return self.seconds / self.total()

    def state_dict(self) -> dict[str, float]:
        """Return both times, for a checkpoint."""
        return {"seconds": self.seconds, "total": self.total()}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Go on from the times of a checkpoint."""
        self.__init__()
        self.seconds, self._earlier = state["seconds"], state["total"]


def save_checkpoint(
    path: str | os.PathLike[str],
    *,
    envs_state: VectorState,
    parts: Mapping[str, Any],
    values: Mapping[str, Any] | None = None,
) -> None:
    """Write everything that a training needs to continue, into one file.

    An interrupted call leaves the old file.

    Parameters
    ----------
    path : str or PathLike
    envs_state : VectorState
        ``envs.get_state()``: episodes, pending autoresets, random streams.
    parts : mapping
        Objects that the checkpoint restores: modules, optimisers and schedules with
        ``state_dict``, and `torch.Generator`.
    values : mapping
        What the training loop keeps between updates: counters, texts, lists and dicts
        of them, tensors, arrays.  An array must stand at the top.

    Raises
    ------
    ValueError
        If a part or value is such that `load_checkpoint` could not read the file.
    """
    values = dict(values or {})
    arrays = {name: v for name, v in values.items() if isinstance(v, np.ndarray)}
    path = Path(path)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=path.name) as folder:
        envs_file, whole_file = Path(folder, "envs.npz"), Path(folder, "whole")
        envs_state.save(envs_file)
        contents = {
            "format": FORMAT,
            "envs": torch.from_numpy(np.fromfile(envs_file, np.uint8)),
            "parts": {name: _state_of(part) for name, part in parts.items()},
            "values": {n: v for n, v in values.items() if n not in arrays},
            "arrays": {n: torch.from_numpy(a.copy()) for n, a in arrays.items()},
        }
        torch.save(contents, whole_file)
        try:
            torch.load(whole_file, weights_only=True)
        except pickle.UnpicklingError as error:
            message = "parts, values: expected plain values, tensors, arrays at the top"
            raise ValueError(message) from error
        whole_file.replace(path)


def load_checkpoint(
    path: str | os.PathLike[str], parts: Mapping[str, Any], task: Any = None
) -> tuple[VectorState, dict[str, Any]]:
    """Restore the parts of a checkpoint in place.

    Parameters
    ----------
    path : str or PathLike
    parts : mapping
        Objects like those that `save_checkpoint` got, by the same names.  A part of the
        file that is not named is not read: a program that plays needs the network.
    task : object, optional
        What the value ``task`` of the file must equal.

    Returns
    -------
    envs_state : VectorState
        For ``envs.set_state``, which returns the observations.
    values : dict
        Those of `save_checkpoint`.

    Raises
    ------
    ValueError
        If the file is no checkpoint, or one of another task; no part is changed.
    KeyError
        If it lacks a part.
    """
    try:
        contents = torch.load(path, weights_only=True)  # runs no code of the file
    except (KeyError, EOFError, RuntimeError, pickle.UnpicklingError):
        contents = None
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        message = f"path: {os.fspath(path)!r} is no checkpoint of these programs"
        raise ValueError(message)
    values = contents["values"]
    if task not in (None, values.get("task")):
        message = f"path: {path} is of {values.get('task')}, expected {task}"
        raise ValueError(message)
    with tempfile.TemporaryDirectory() as folder:
        envs_file = Path(folder, "envs.npz")
        contents["envs"].numpy().tofile(envs_file)
        envs_state = VectorState.load(envs_file)
    for name, part in parts.items():
        _restore(part, contents["parts"][name])
    arrays = {name: array.numpy() for name, array in contents["arrays"].items()}
    return envs_state, {**values, **arrays}


def _state_of(part: Any) -> Any:
    """Return the state of a part, as `torch.load` reads it without pickled classes."""
    if isinstance(part, torch.Generator):
        return part.get_state()
    return part.state_dict()


def _restore(part: Any, state: Any) -> None:
    """Set the state of a part."""
    if isinstance(part, torch.Generator):
        part.set_state(state)
    else:
        part.load_state_dict(state)
