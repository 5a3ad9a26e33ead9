"""The JSON file of the baselines: its rows, and how they are written and read.

``command``
    The last command that wrote a row.
``splits``
    ``id``, ``name``, ``title``, ``keywords``, ``episodes``, ``digest`` of each split.
``policies``
    The description of each policy, by name.
``rows``
    ``id``, ``split``, ``digest``, ``policy``; ``success`` and ``return``, each an
    estimate and the ends of its 95 % interval; ``length``, the mean; ``faults``;
    ``seed`` of the policy and the ``keywords`` that it asks for; ``revision`` and
    ``versions`` that it was measured with; of PPO ``checkpoint``, the SHA-256 of the
    file, and ``training``, the command that trains it.
``absent``
    ``id``, ``split``, ``policy`` and ``reason`` where a policy has no row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import version_of
from benchmarks.result import RESULTS as FOLDER
from benchmarks.result import write_result
from roll_vec.evaluation import SPLITS, EpisodeResults, Split

RESULTS = FOLDER / "baselines.json"
# Files that the command itself writes: a change of them is no change of the code.
GENERATED = ("benchmarks/results", "docs", "README.md")

Key = tuple[str, str, str]


def key_of(row: Mapping[str, Any]) -> Key:
    """Return id, split and policy of a row."""
    return row["id"], row["split"], row["policy"]


def read_rows(path: Path) -> dict[Key, dict[str, Any]]:
    """Return the rows of a file; none if there is no file.

    Raises
    ------
    ValueError
        If it is no such file; the message is one line.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
        return {key_of(row): row for row in content["rows"]}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: expected baselines: {error!r}") from None


def make_row(
    split: Split, policy: str, results: EpisodeResults, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the row of a policy on a split."""
    return {
        "id": split.id,
        "split": split.name,
        "policy": policy,
        "digest": split.digest,
        "episodes": len(split),
        "success": _rounded(results.success_rate()),
        "return": _rounded(results.mean_return()),
        "length": _rounded([float(np.mean(results.lengths))])[0],
        "faults": int(results.faults.sum()),
        **facts,
    }


def _rounded(values: Iterable[float]) -> list[float]:
    # Far below the interval; sums of floats may differ in the last digits elsewhere.
    return [round(value, 6) for value in values]


def write_results(
    path: Path,
    rows: Mapping[Key, Mapping[str, Any]],
    command: str,
    policies: Mapping[str, str],
    absent: Mapping[Key, str],
) -> None:
    """Write the file, in the order of splits and policies.

    Rows of splits that have changed are left out.
    """
    splits = [split for by_name in SPLITS.values() for split in by_name.values()]
    digests = {(split.id, split.name): split.digest for split in splits}
    rows = {k: row for k, row in rows.items() if row["digest"] == digests.get(k[:2])}
    keys = [(s.id, s.name, policy) for s in splits for policy in policies]
    names = ("id", "split", "policy")
    content = {
        "command": command,
        "splits": [
            {
                "id": split.id,
                "name": split.name,
                "title": split.title,
                "keywords": dict(split.keywords),
                "episodes": len(split),
                "digest": split.digest,
            }
            for split in splits
        ],
        "policies": dict(policies),
        "rows": [rows[key] for key in keys if key in rows],
        "absent": [
            dict(zip(names, key, strict=True), reason=absent[key])
            for key in keys
            if key in absent and key not in rows
        ],
    }
    write_result(path, content)


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of packages that are installed."""
    return {name: v for name in packages if (v := version_of(name)) is not None}


def is_current(row: Mapping[str, Any] | None, facts: Mapping[str, Any]) -> bool:
    """Return whether a row was measured by this code, with these facts."""
    if row is None or facts["revision"] is None or facts["revision"].endswith("+"):
        return False
    parsed = json.loads(json.dumps(facts))
    return all(row.get(name) == value for name, value in parsed.items())
