"""Transcripts for viewers: a log of Inspect, or documents in Harbor's ATIF."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from roll_vec.errors import InvalidFileError
from roll_vec.export.formats import MALFORMED, Format, Row
from roll_vec.export.source import Source
from roll_vec.trajectories import Trajectory, to_atif
from roll_vec.trajectories.inspect_log import (
    to_inspect_header,
    to_inspect_sample,
    with_sample_number,
)
from roll_vec.version import __version__

__all__ = ["AtifFormat", "InspectFormat"]

_DOCUMENT = re.compile(r"\d{6,}(-\d+)?\.json")

_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class InspectFormat(Format):
    """One JSON file with all episodes, which ``inspect view`` shows."""

    name: ClassVar[str] = "inspect"
    suffix: ClassVar[str] = ".json"
    summary: ClassVar[str] = "a log for `inspect view`, the viewer of Inspect"
    needs_texts: ClassVar[bool] = True

    def encode(self, episodes: Sequence[Trajectory], source: Source) -> bytes:
        """Return the samples without their numbers, one a line."""
        agent = _agent_of(source)
        return _to_lines(
            to_inspect_sample(episode, agent=agent) for episode in episodes
        )

    def finish(
        self, parts: Sequence[Path], out: Path, source: Source, target: Path
    ) -> None:
        """Write the header, with the means over all samples, and the samples."""
        del target

        def samples() -> Iterator[dict[str, Any]]:
            for number, sample in enumerate(_read_lines(parts), start=1):
                yield with_sample_number(sample, number)

        header = to_inspect_header(
            samples(), id=source.id, agent=_agent_of(source), keywords=source.keywords
        )
        with out.open("w", encoding="utf-8", newline="\n") as file:
            file.write(f'{_write(header)[:-1]}, "samples": [')
            for number, sample in enumerate(samples()):
                file.write(",\n" if number else "\n")
                file.write(_write(sample))
            file.write("\n]}\n")

    def read(self, path: Path) -> Iterator[Row]:
        """Yield the episodes of a log."""
        try:
            log = json.loads(path.read_bytes())
            rows = [_read_sample(log["eval"], sample) for sample in log["samples"]]
        except MALFORMED as error:
            message = f"{path}: no log of format inspect"
            raise InvalidFileError(message) from error
        yield from rows


class AtifFormat(Format):
    """A folder with one JSON document an episode."""

    name: ClassVar[str] = "atif"
    summary: ClassVar[str] = "a folder of ATIF documents, one an episode, for Harbor"
    needs_texts: ClassVar[bool] = True

    def encode(self, episodes: Sequence[Trajectory], source: Source) -> bytes:
        """Return the documents without session ids, one a line."""
        agent = _agent_of(source)
        documents = []
        for episode in episodes:
            document = to_atif(
                episode, agent=agent, agent_version=f"roll_vec {__version__}"
            )
            document["extra"]["keywords"] = source.keywords
            documents.append(document)
        return _to_lines(documents)

    def finish(
        self, parts: Sequence[Path], out: Path, source: Source, target: Path
    ) -> None:
        """Write each document to a file of its own."""
        del target
        out.mkdir()
        for number, document in enumerate(_read_lines(parts)):
            seed = document["extra"]["seed"]
            # The same seed may be played twice.
            document["session_id"] = f"{source.id}:{number}:{seed}"
            name = f"{number:06}.json" if seed is None else f"{number:06}-{seed}.json"
            (out / name).write_bytes(_write(document).encode())

    def read(self, path: Path) -> Iterator[Row]:
        """Yield the episodes of a folder."""
        names = sorted(path.glob("*.json")) if path.is_dir() else []
        if not names:
            message = f"{path}: no folder of format atif"
            raise InvalidFileError(message)
        for name in names:
            try:
                row = _read_document(json.loads(name.read_bytes()))
            except MALFORMED as error:
                message = f"{name}: no document of format atif"
                raise InvalidFileError(message) from error
            yield row

    def is_output(self, path: Path) -> bool:
        """Return whether a folder has documents of this format alone."""
        return path.is_dir() and all(
            each.is_file() and _DOCUMENT.fullmatch(each.name) for each in path.iterdir()
        )


def _agent_of(source: Source) -> str:
    """Return the name of the policy."""
    return str(source.description.get("policy", "recorded run"))


def _to_lines(values: Iterable[Any]) -> bytes:
    return b"".join(_write(value).encode() + b"\n" for value in values)


def _read_lines(parts: Sequence[Path]) -> Iterator[Any]:
    for part in parts:
        with part.open(encoding="utf-8", newline="\n") as file:
            yield from map(json.loads, file)


def _read_sample(header: dict[str, Any], sample: dict[str, Any]) -> Row:
    contents: dict[str, list[str]] = {"system": [], "user": [], "assistant": []}
    for message in sample["messages"]:
        contents[message["role"]].append(message["content"])
    scores = sample["scores"]
    success = scores["success"]["value"] if "success" in scores else None
    return Row(
        id=header["task"],
        keywords=header["task_args"],
        seed=sample["metadata"]["seed"],
        actions=contents["assistant"],
        total_reward=float(scores["return"]["value"]),
        success=None if success is None else bool(success),
        num_steps=sample["turn_count"],
        rewards=[float(reward) for reward in sample["metadata"]["rewards"]],
        observations=contents["user"],
    )


def _read_document(document: dict[str, Any]) -> Row:
    answers = [step for step in document["steps"] if step["source"] == "agent"]
    first = [step["message"] for step in document["steps"] if step["source"] == "user"]
    later = [step["observation"]["results"][0]["content"] for step in answers]
    extra, metrics = document["extra"], document["final_metrics"]["extra"]
    return Row(
        id=extra["id"],
        keywords=extra["keywords"],
        seed=extra["seed"],
        actions=[step["message"] for step in answers],
        total_reward=float(metrics["total_reward"]),
        success=metrics["success"],
        num_steps=len(answers),
        rewards=[float(step["extra"]["reward"]) for step in answers],
        observations=[*first, *later],
    )
