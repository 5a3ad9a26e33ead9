"""Objects of a file, whose values are checked when they are read.

Each error is an `InvalidFileError` with the file, the place in it, and what is
accepted there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium

from roll_vec.errors import InvalidFileError, shorten
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.registration import ENVIRONMENTS

# ROLL writes all episodes of a training step in one line.
MAX_LINE_BYTES = 1 << 28
# Places of values that belong to a turn.
_BY_TURN = ("rewards", "prompts", "was_cut")
_MOST_INT = 1 << 63
TEXT_MODES = {"obs_mode": "text", "action_mode": "text"}
"""Keywords of a game on a grid whose observations and answers are texts."""


class Kind(NamedTuple):
    """A kind of values: what an error says is accepted, and the check."""

    accepted: str
    accepts: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    # A bool is an int to isinstance; an int of hundreds of digits is no float.
    if type(value) is int:
        return abs(value) < _MOST_INT
    return type(value) is float and math.isfinite(value)


def _is_action(value: Any, depth: int = 8) -> bool:
    if type(value) is list:
        return depth > 0 and all(_is_action(part, depth - 1) for part in value)
    return type(value) in (str, bool) or _is_number(value)


def _list_of(accepted: str, accepts: Callable[[Any], bool]) -> Kind:
    accepted = f"a list of {accepted}"
    return Kind(
        accepted, lambda value: type(value) is list and all(map(accepts, value))
    )


def _is_object(value: Any) -> bool:
    return type(value) is dict


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_bool(value: Any) -> bool:
    return type(value) is bool


TEXT = Kind("a text", _is_text)
BOOL = Kind("true or false", _is_bool)
COUNT = Kind("an int from 0 on", lambda x: type(x) is int and 0 <= x < _MOST_INT)
NUMBER = Kind("a finite number", _is_number)
OBJECT = Kind("an object", _is_object)
GROUP = Kind("a text or an int", lambda value: type(value) in (str, int))
ANY = Kind("any value", lambda _: True)
TEXTS = _list_of("texts", _is_text)
BOOLS = _list_of("true or false", _is_bool)
NUMBERS = _list_of("finite numbers", _is_number)
OBJECTS = _list_of("objects", _is_object)
ANSWERS = _list_of("answers: texts, numbers or lists of them", _is_action)


@dataclass(frozen=True)
class Row:
    """An object of a file.

    Parameters
    ----------
    content : mapping
    path : Path
    place : str
        Such as ``line 3``.
    name : str
        Where the object stands in that of the line, such as ``env_info.``.
    """

    content: Mapping[str, Any]
    path: Path
    place: str
    name: str = ""

    def error(self, name: str, message: str) -> InvalidFileError:
        """Return the error about a value."""
        where = f"{str(self.path)!r}: {self.place}"
        return InvalidFileError(f"{where}: {self.name}{name}: {message}")

    def get(self, name: str, kind: Kind) -> Any:
        """Return a value; without it, or if it is of another kind, it is an error."""
        value = self.content.get(name)
        if value is None:
            raise self.error(name, f"expected {kind.accepted}, but there is none")
        return self.check(name, kind, value)

    def find(self, name: str, kind: Kind, default: Any = None) -> Any:
        """Return a value, or the default if there is none, or null."""
        value = self.content.get(name)
        return default if value is None else self.check(name, kind, value)

    def check(self, name: str, kind: Kind, value: Any) -> Any:
        """Return a value; if it is of another kind, it is an error."""
        if not kind.accepts(value):
            raise self.error(name, f"expected {kind.accepted}, got {shorten(value)}")
        return value

    def enter(self, name: str) -> Row:
        """Return an object within this one; without it, one without values."""
        inner = self.find(name, OBJECT, {})
        return replace(self, content=inner, name=f"{self.name}{name}.")

    def list(self, name: str) -> list[Row]:
        """Return the objects of a list; without it none."""
        parts = self.find(name, OBJECTS, [])
        place = f"{self.name}{name}"
        return [
            replace(self, content=part, name=f"{place}[{number}].")
            for number, part in enumerate(parts)
        ]


def parse(text: str | bytes) -> Any:
    """Return the value of a text of JSON.

    Raises
    ------
    ValueError
        Also for a text that is nested too deeply, or has a number that is too long.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from None


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the objects of a file: of each line, or of the one list of a file.

    Raises
    ------
    InvalidFileError
        At the line that is no JSON object; empty lines are left out.
    OSError
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            row = Row({}, path, f"line {number}")
            if len(line) > MAX_LINE_BYTES:
                message = f"expected at most {MAX_LINE_BYTES:,} bytes in a line"
                raise row.error("JSON", message)
            if number == 1 and line.lstrip().startswith(b"["):
                line += file.read(MAX_LINE_BYTES - len(line))
            if not line.strip():
                continue
            try:
                value = parse(line)
            except ValueError as error:
                message = f"expected a complete object, got a line with: {error}"
                raise row.error("JSON", message) from None
            if number == 1 and type(value) is list:
                for place, part in enumerate(value, 1):
                    yield _to_row(part, replace(row, place=f"row {place}"))
            else:
                yield _to_row(value, row)


def _to_row(value: Any, row: Row) -> Row:
    if type(value) is not dict:
        raise row.error("JSON", f"expected an object, got {shorten(value)}")
    return replace(row, content=value)


@dataclass(frozen=True)
class Task:
    """What the caller says of all episodes of a file, which may not say it itself.

    Parameters
    ----------
    id : str or None
    keywords : mapping
        They replace those of the file.
    """

    id: str | None = None
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def make_episode(
        self,
        row: Row,
        answers: Sequence[Any],
        seed: int,
        *,
        id: str | None,
        keywords: Mapping[str, Any] | None,
        texts: Mapping[str, Any] = TEXT_MODES,
        **fields: Any,
    ) -> RecordedEpisode:
        """Return the episode of an object.

        Parameters
        ----------
        row : Row
        answers, seed
            Of the episode.
        id, keywords
            What the file says; None: nothing.
        texts : mapping, optional
            Keywords of a game on a grid whose answers are texts, unless the file or the
            caller has others.
        **fields
            Of `RecordedEpisode`.

        Raises
        ------
        InvalidFileError
            If nothing says the id, there is none like it, or lists differ in length.
        """
        row.check("answers", ANSWERS, answers)
        for name in _BY_TURN:
            values = fields.get(name)
            if values is not None and len(values) != len(answers):
                message = f"expected {len(answers)}, one for each answer"
                raise row.error(name, f"{message}, got {len(values)}")
        if self.id is not None:
            id = self.id
        elif id is None:
            accepted = "expected that of the environment, but there is none"
            raise row.error("id", f"{accepted}: pass the id to the reader")
        else:
            id = id.removeprefix("roll_vec:")
            # A file must not choose a module that is imported.
            if id not in gymnasium.registry:
                accepted = "expected a registered id"
                raise row.error("id", f"{accepted}, got {shorten(id)}")
        defaults: Mapping[str, Any] = {}
        if _has_text_mode(id) and all(map(_is_text, answers)):
            defaults = texts
        keywords = {**defaults, **(keywords or {}), **self.keywords}
        fields = {"keywords": keywords, "place": row.place, **fields}
        return RecordedEpisode(id=id, answers=answers, seed=seed, **fields)


@lru_cache(maxsize=64)
def _has_text_mode(id: str) -> bool:
    """Whether answers of an environment are texts only by a keyword."""
    known = ENVIRONMENTS.get(id.rpartition(":")[2])
    return known is not None and "action_mode" in known.defaults()


def text_of(content: Any) -> str:
    """Return the text of a message's content: a text, a list of parts, or None."""
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def split_chat(messages: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the answers of a chat, and before each the new messages as one text."""
    answers: list[str] = []
    prompts: list[str] = []
    unread: list[str] = []
    for message in messages:
        text = text_of(message.get("content"))
        if message.get("role") == "assistant":
            answers.append(text)
            prompts.append("\n\n".join(unread))
            unread = []
        else:
            unread.append(text)
    return answers, prompts
