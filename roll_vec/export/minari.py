"""Minari data sets, for offline reinforcement learning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np

from roll_vec.errors import InvalidFileError, InvalidOptionError, MissingExtraError
from roll_vec.export.formats import Format, Row, check_unicode
from roll_vec.export.source import Source, encode_keywords, stack
from roll_vec.trajectories import Trajectory
from roll_vec.version import __version__

_NAME = re.compile(r"[-_\w]+-v\d+")
# Episodes that are handed to Minari at once.
_BLOCK = 1024


class MinariFormat(Format):
    """A folder that `minari.load_dataset` reads, with HDF5 files.

    Its name is the name of the data set, such as ``sokoban-oracle-v0``.  In the folder
    of Minari's data sets the id begins with the folders below that.  The metadata of
    an episode have ``return``, ``success`` and ``instruction``, its infos ``success``.
    """

    name: ClassVar[str] = "minari"
    summary: ClassVar[str] = "Minari: a data set for offline learning (extra minari)"

    def check(self, source: Source, out: Path) -> None:
        """Refuse a folder whose name is none of a data set, and unknown spaces."""
        if not _NAME.fullmatch(out.name):
            raise InvalidOptionError.expected(
                "out", "a folder with a name such as sokoban-oracle-v0", str(out)
            )
        try:
            import h5py  # noqa: F401
            from minari.serialization import serialize_space
        except ImportError as error:
            raise MissingExtraError(
                "the format minari", extra="minari", package="minari[hdf5,create]"
            ) from error
        for space in (source.observation_space, source.action_space):
            try:
                serialize_space(space)
            except NotImplementedError:
                accepted = "a space that Minari can write"
                raise InvalidOptionError.expected("format", accepted, space) from None

    def check_episode(self, episode: Trajectory) -> None:
        """Refuse half a surrogate pair."""
        check_unicode(self.name, episode)

    def finish(
        self, episodes: Iterator[Trajectory], out: Path, source: Source, target: Path
    ) -> None:
        """Write the folder."""
        import minari
        from minari.dataset.minari_storage import MinariStorage

        # Minari's own paths are wrong below a relative one.
        data = out.absolute() / "data"
        data.mkdir(parents=True)
        storage = MinariStorage.new(
            data,
            source.observation_space,
            source.action_space,
            gymnasium.make(source.id, **source.keywords).spec,
            data_format="hdf5",
            # Pictures would not be those of the environment.
            jpeg_encoding=False,
        )
        policy = source.description.get("policy", "a recorded run")
        storage.update_metadata(
            {
                "dataset_id": dataset_id(target),
                "minari_version": minari.__version__,
                "algorithm_name": str(policy),
                "author": {"roll_vec"},
                "description": (
                    f"Episodes of {source.id} with the keywords "
                    f"{encode_keywords(source.keywords)}"
                ),
                "requirements": [f"roll-vec=={__version__}"],
                "roll_vec": source.facts,
            }
        )
        first = 0
        while block := [*islice(episodes, _BLOCK)]:
            storage.update_episodes(_to_buffer(each, source) for each in block)
            storage.update_episode_metadata(
                map(_metadata, block), range(first, first + len(block))
            )
            first += len(block)

    def read(self, path: Path) -> Iterator[Row]:
        """Yield the rows of a folder."""
        import minari

        try:
            dataset = minari.MinariDataset(path / "data")
            recipe = dataset.storage.metadata["roll_vec"]
        except (ValueError, LookupError, OSError) as error:
            message = f"{path}: no data set of roll_vec: {error}"
            raise InvalidFileError(message) from error
        numbers = range(dataset.total_episodes)
        described = dataset.storage.get_episode_metadata(numbers)
        for episode, metadata in zip(dataset, described, strict=True):
            success = metadata.get("success")
            yield Row(
                id=recipe["id"],
                keywords=recipe["keywords"],
                seed=None if metadata.get("seed") is None else int(metadata["seed"]),
                actions=list(episode.actions),
                total_reward=float(metadata["return"]),
                success=None if success is None else bool(success),
                num_steps=len(episode.rewards),
                rewards=episode.rewards.tolist(),
                observations=list(episode.observations),
            )

    def is_output(self, path: Path) -> bool:
        """Return whether a folder has a data set of Minari alone."""
        names = {each.name for each in path.iterdir()} if path.is_dir() else None
        return names == set() or (
            names == {"data"} and (path / "data" / "metadata.json").is_file()
        )


def dataset_id(path: Path) -> str:
    """Return the id of the data set in a folder, for `minari.load_dataset`."""
    from minari.storage.datasets_root_dir import get_dataset_path

    path, root = path.absolute(), get_dataset_path().absolute()
    return path.relative_to(root).as_posix() if root in path.parents else path.name


def _to_buffer(episode: Trajectory, source: Source) -> Any:
    """Return Minari's buffer of an episode."""
    from minari.data_collector import EpisodeBuffer

    last = np.arange(episode.num_steps) == episode.num_steps - 1
    infos = None
    if episode.success is not None:
        # One entry for the reset, and one for each step.
        infos = {"success": np.append(False, last & episode.success)}
    return EpisodeBuffer(
        seed=episode.seed,
        observations=stack(source.observation_space, episode.observations),
        actions=stack(source.action_space, episode.actions),
        rewards=episode.rewards,
        terminations=last & episode.terminated,
        truncations=last & episode.truncated,
        infos=infos,
    )


def _metadata(episode: Trajectory) -> dict[str, Any]:
    """Return the metadata of an episode."""
    values = {
        "return": episode.total_reward,
        "success": episode.success,
        "instruction": episode.instruction,
    }
    return {name: value for name, value in values.items() if value is not None}
