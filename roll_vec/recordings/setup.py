"""The setup of a run: everything that makes the same batch again, as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from gymnasium.vector import AutoresetMode, VectorEnv

from roll_vec.errors import InvalidOptionError
from roll_vec.registration.any_id import (
    SetupError,
    find_spec,
    is_pooled,
    load_class,
    make_vector,
)
from roll_vec.storage.data_files import fingerprint, refuse_change
from roll_vec.storage.plain_data import decode, encode
from roll_vec.version import __version__

# Keywords of array environments that can be paths; those of pools are in `DATA_FILES`.
_DATA_FILES = ("levels",)
# Keywords that change how a pool works, and no result.
_HOW_POOLS_WORK = {"workers", "executor", "context", "step_timeout", "reset_timeout"}
_NOT_INSTALLED = "not installed"


class DataFile(NamedTuple):
    """A data file of a run, or a folder."""

    path: str
    """Absolute."""
    sha256: str
    """Of the content; see `roll_vec.storage.data_files.fingerprint`."""


@dataclass(frozen=True)
class RunSetup:
    """How to make a batch.

    Attributes
    ----------
    id : str
        With the module that registers it, if one was named.
    num_envs : int
    autoreset : AutoresetMode
    options : dict
        The keywords that the user passed, without paths of data files.
    data_files : dict of str to DataFile
        By keyword: paths and digests.
    """

    id: str
    num_envs: int
    autoreset: AutoresetMode
    options: dict[str, Any]
    data_files: dict[str, DataFile]

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {
            "id": self.id,
            "num_envs": self.num_envs,
            "autoreset": self.autoreset.value,
            "options": encode(self.options).decode(),
            "data_files": {
                name: file._asdict() for name, file in self.data_files.items()
            },
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RunSetup:
        """Return the setup of `to_json`.

        Raises
        ------
        ValueError, TypeError, KeyError
            If the content is no setup.
        """
        options = dict(decode(content["options"].encode()))
        if not all(type(name) is str for name in options):
            message = "keywords are no text"
            raise ValueError(message)
        return cls(
            id=str(content["id"]),
            num_envs=int(content["num_envs"]),
            autoreset=AutoresetMode(content["autoreset"]),
            options=options,
            data_files={
                str(name): DataFile(*(str(file[each]) for each in DataFile._fields))
                for name, file in content["data_files"].items()
            },
        )

    def make_batch(
        self,
        overrides: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
    ) -> VectorEnv[Any, Any, Any]:
        """Return the batch.

        Parameters
        ----------
        overrides : mapping, optional
            Another ``num_threads``, other workers or time limits of a pool, and new
            paths of data files.
        render_mode : str or None
            As for `make_vector`.

        Raises
        ------
        SetupError
            If the id or a keyword does not exist any more, or an override would change
            the run.
        InvalidOptionError
            If a data file is missing or has another content.
        """
        overrides = overrides or {}
        is_pool = is_pooled(find_spec(self.id))
        names = {*self.data_files, *(_HOW_POOLS_WORK if is_pool else ("num_threads",))}
        if unknown := [name for name in overrides if name not in names]:
            others = ", ".join(sorted(names))
            text = f"{unknown[0]} may not change in a replay; those that may: {others}"
            raise SetupError(text)
        paths = {
            name: _check_file(name, file, overrides.get(name, file.path))
            for name, file in self.data_files.items()
        }
        recorded = dict(self.options)
        if overrides.get("workers") == 0:
            # The others say how workers work.
            recorded = {k: v for k, v in recorded.items() if k not in _HOW_POOLS_WORK}
        options = {**recorded, **overrides, **paths}
        return make_vector(
            self.id,
            self.num_envs,
            options=options,
            autoreset=self.autoreset,
            render_mode=render_mode,
        )


def plan_run(
    env_id: str,
    num_envs: int,
    autoreset: AutoresetMode = AutoresetMode.NEXT_STEP,
    options: Mapping[str, Any] | None = None,
) -> RunSetup:
    """Return the setup of a run that is about to begin.

    Parameters
    ----------
    env_id : str
        As `RunSetup.id`.
    num_envs : int
    autoreset : AutoresetMode
    options : mapping, optional
        Keywords of the environment.

    Raises
    ------
    SetupError
        If a keyword is no plain data.
    """
    options = options or {}
    spec = find_spec(env_id)
    names = {*_DATA_FILES, *getattr(load_class(spec), "DATA_FILES", ())}
    files: dict[str, DataFile] = {}
    for name in names & options.keys():
        value = options[name]
        if isinstance(value, (str, os.PathLike)) and Path(value).exists():
            path = str(Path(value).absolute())
            files[name] = DataFile(path, fingerprint(name, path))
    others = {
        name: value
        for name, value in options.items()
        if name not in files and name != "num_threads"
    }
    try:
        encode(others)
    except TypeError as error:
        message = f"keywords of a run have to be plain data: {error}"
        raise SetupError(message) from error
    return RunSetup(env_id, num_envs, autoreset, others, files)


def _check_file(name: str, file: DataFile, location: Any) -> str:
    """Return the path of a data file after a look at its content.

    Raises
    ------
    InvalidOptionError
    """
    path = str(location)
    try:
        digest = fingerprint(name, path)
    except InvalidOptionError as error:
        message = f"{error}; if it has moved, use -o {name}=PATH"
        raise InvalidOptionError(message) from error
    if digest != file.sha256:
        refuse_change(name, path, "the run was saved")
    return path


def current_versions() -> dict[str, str]:
    """Return the versions of Python, this package and those that it depends on."""
    versions = {
        "python": platform.python_version(),
        "roll-vec": __version__,
        "platform": platform.platform(),
    }
    for package in ("gymnasium", "numpy", "numba"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = _NOT_INSTALLED
    return versions
