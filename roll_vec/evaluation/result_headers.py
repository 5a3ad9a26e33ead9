"""The header of a file of results: the episodes, the environments and the policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation.splits import Split, find_split, splits_of
from roll_vec.registration.factories import WORK_KEYWORDS
from roll_vec.storage.plain_data import encode
from roll_vec.version import __version__

FORMAT = "roll-vec eval"
VERSION = 2


@dataclass(frozen=True)
class ResultHeader:
    """The episodes, the environments and the policy of a file of results.

    Parameters
    ----------
    id, split, digest : str
        Of the split.
    keywords : dict
        Those that were passed to ``split.make_vec``, as plain JSON, without those that
        change no result, such as ``workers``.
    policy : dict
        Everything that the policy depends on, as plain JSON: at least ``name``.
    files : dict
        The name and the SHA-256 of each data file of the split, by keyword.
    versions : dict of str to str
        By package.
    """

    id: str
    split: str
    digest: str
    keywords: dict[str, Any]
    policy: dict[str, Any]
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        split: Split,
        keywords: Mapping[str, Any],
        policy: Mapping[str, Any],
        versions: Mapping[str, str] | None = None,
    ) -> ResultHeader:
        """Return the header of a run.

        Parameters
        ----------
        split : Split
        keywords : mapping
            Those that are passed to ``split.make_vec``: plain data.
        policy : mapping
        versions : mapping, optional
            By package; None: that of this package.

        Raises
        ------
        InvalidOptionError
            If a keyword is no plain data.
        """
        task = {name: keywords[name] for name in sorted({*keywords} - WORK_KEYWORDS)}
        try:
            plain = json.loads(encode(task))
        except TypeError as error:
            accepted = "plain data, which a file of results can store"
            raise InvalidOptionError.expected(
                "keywords", accepted, keywords, f"; {error}"
            ) from error
        return cls(
            id=split.id,
            split=split.name,
            digest=split.digest,
            keywords=plain,
            policy=dict(policy),
            files={name: dict(entry) for name, entry in split.files.items()},
            versions=dict(versions or {"roll-vec": __version__}),
        )

    @classmethod
    def parse(cls, content: Mapping[str, Any]) -> ResultHeader:
        """Return the header of a first line.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is none.
        """
        for name, values in (("format", (FORMAT,)), ("version", (VERSION, 1))):
            if content.get(name) not in values:
                message = f"its {name} is {content.get(name)!r} and not {values[0]!r}"
                raise ValueError(message)
        names = [field.name for field in fields(cls)]
        for name in names:
            kind = str if name in ("id", "split", "digest") else dict
            if not isinstance(content[name], kind):
                message = f"{name} is no {kind.__name__}"
                raise TypeError(message)
        if not all(isinstance(each, dict) for each in content["files"].values()):
            message = "files is no dict of dicts"
            raise TypeError(message)
        return cls(**{name: content[name] for name in names})

    def to_json(self) -> dict[str, Any]:
        """Return the first line of a file."""
        return {"format": FORMAT, "version": VERSION, **vars(self)}

    def check_same(self, other: ResultHeader, path: Path) -> None:
        """Check that the results of another header may stand beside those of this one.

        Raises
        ------
        InvalidOptionError
            With the first difference.
        """
        expected = self._facts()
        for name, value in other._facts().items():
            if value != expected[name]:
                message = (
                    f"{str(path)!r} has results of another run, its {name}: "
                    f"{_words(value)}; this run: {_words(expected[name])}; choose "
                    "another file, or remove it"
                )
                raise InvalidOptionError(message)

    def find_split(self, shop: Mapping[str, Any] | None = None) -> Split:
        """Return the split, see `find_split`.

        Raises
        ------
        InvalidOptionError
            If the id, the split or the shop does not exist here.
        """
        if not splits_of(self.id):
            message = (
                f"id: there is no environment {self.id!r} here; if a module of yours "
                f"registers it, import that first (--id MODULE:{self.id})"
            )
            raise InvalidOptionError(message)
        return find_split(self.id, self.split, **(shop or {}))

    def _facts(self) -> dict[str, Any]:
        """Return all that decides the results, by name."""
        names = ("id", "split", "digest", "keywords", "policy")
        facts = {name: getattr(self, name) for name in names}
        return {**facts, "version of roll-vec": self.versions.get("roll-vec")}


def _words(value: Any) -> str:
    """Return a value of a header for a message: a mapping without its braces."""
    if not isinstance(value, dict):
        return repr(value)
    pairs = (f"{name}={part!r}" for name, part in value.items() if part is not None)
    return ", ".join(pairs) or "none"
