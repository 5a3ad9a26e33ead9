"""The JSON file of a run, a row a line, and a reader that checks it.

``machine``
    See `machine.describe`.
``rounds``, ``seconds``, ``load``
    Number and length of a contender's measurements for a row; load averages before and
    after.
``rows``
    ``case``, ``title``, ``kind``, ``target``; of both sides, ``ours`` and ``theirs``,
    the contender (`interleave.RunningContender.record`) and its ``values``, measured in
    turns; ``values``, the comparison round by round; or ``skipped``, a reason.
``curves``
    By title of a case and engine: batch size, median, least and greatest rate.
``skipped``
    Contenders that were not measured: ``case``, ``contender``, ``reason``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT
from roll_vec.storage.files import replace_file

RESULTS = ROOT / "benchmarks" / "results"
KEYS = ("machine", "rounds", "seconds", "load", "rows", "curves", "skipped")


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
    missing = [key for key in KEYS if key not in result]
    if missing:
        raise ValueError(f"{path}: expected a result of a run, with {missing[0]!r}")
    return result


def write_result(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file, whole or not at all; each item of a list has a line."""
    parts = []
    for name, value in content.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list) and value:
            lines = ",\n  ".join(json.dumps(x, ensure_ascii=False) for x in value)
            text = f"[\n  {lines}\n ]"
        parts.append(f" {json.dumps(name)}: {text}")
    with replace_file(path) as file:
        file.write(("{\n" + ",\n".join(parts) + "\n}\n").encode())
