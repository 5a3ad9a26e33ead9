"""The JSON file of a run: its keys, and a reader that checks them.

``machine``
    See `machine.describe`.
``rounds``, ``seconds``
    Number and length of a contender's measurements for a row.
``load``
    Load averages before and after.
``cases``
    By name, ``title`` and ``contenders``, each with its settings and its ``values`` in
    the sweeps in which all sizes and modes were tried.  ``details`` has other figures
    of its measurements, a JSON object each; older results lack it.
``skipped``
    Contenders that were not measured: ``case``, ``contender``, ``reason``.
``rows``
    Lines of the table: the names of the two contenders, their values, measured in
    turns, and the comparison of the values, round by round.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.peers import PEERS

KEYS = ("machine", "rounds", "seconds", "load", "cases", "skipped", "rows")
MACHINE_KEYS = (
    *("cpu", "usable_cores", "system", "python", "versions", "revision", "command"),
    "threads",
)
CONTENDER_KEYS = (
    *("name", "engine", "peer", "version", "cores", "processes", "unit", "facts"),
    "values",
)
ROW_KEYS = (
    *("case", "title", "kind", "target", "ours", "theirs", "our_values"),
    *("their_values", "values", "skipped"),
)


def read_result(path: Path) -> dict[str, Any]:
    """Return the result of a file.

    Raises
    ------
    ValueError
        If there is no such file, or it is no result; the message is one line.
    """
    try:
        result: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON: {error}") from None
    for error in _errors(result):
        raise ValueError(f"{path}: expected a result of python -m benchmarks: {error}")
    return result


def _errors(result: Any) -> Iterator[str]:
    """Yield the errors of a result; to go on after the first may raise."""
    yield from _lacks("it", result, KEYS)
    yield from _lacks("machine", result["machine"], MACHINE_KEYS)
    yield from _lacks("cases", result["cases"], ())
    for key in ("rows", "skipped", "load"):
        if not isinstance(result[key], list):
            yield f"{key} is no JSON array"
    for name, case in result["cases"].items():
        yield from _lacks(f"case {name}", case, ("title", "contenders"))
        for contender in case["contenders"]:
            yield from _lacks(f"a contender of {name}", contender, CONTENDER_KEYS)
            if contender["peer"] not in ("", *PEERS):
                yield f"a peer {contender['peer']!r} is not known"
    for row in result["rows"]:
        yield from _lacks("a row", row, ROW_KEYS)
        if row["case"] not in result["cases"]:
            yield f"a row is of the case {row['case']!r}, which is not there"
    for entry in result["skipped"]:
        yield from _lacks("a skipped contender", entry, ("case", "contender", "reason"))


def _lacks(what: str, value: Any, keys: Iterable[str]) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{what} is no JSON object"
    else:
        yield from (f"{what} has no {key!r}" for key in keys if key not in value)
