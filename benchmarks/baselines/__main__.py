"""Measure the baselines on the evaluation splits.

It writes benchmarks/results/baselines.json, which has

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

import argparse
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.baselines.policies import (
    POLICIES,
    PPO,
    absence,
    checkpoint_of,
    keywords_of,
    make_policy,
    new_level_facts,
    training_facts,
)
from benchmarks.baselines.rules import SEED
from benchmarks.baselines.tables import RESULTS, content, key_of
from benchmarks.machine import revision, version_of
from benchmarks.result import write_result
from roll_vec.cli._tables import progress
from roll_vec.evaluation import SPLITS, Split, play_split

ALL_SPLITS = [split for by_name in SPLITS.values() for split in by_name.values()]
# The packages that results can depend on.
PACKAGES = ("numpy", "numba", "gymnasium")
# Files that commands write: a change of them is no change of the code.
GENERATED = ("benchmarks/results", "docs", "README.md")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure policies on splits; write the file, also when interrupted."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    args = make_parser().parse_args(words)
    rows = {key_of(row): row for row in content(args.out)["rows"]}
    try:
        with progress() as show:
            report_progress = show or (lambda *_: None)
            for split in ALL_SPLITS:
                for policy in POLICIES:
                    if is_asked(split, policy, args):
                        row = measure(split, policy, args, report_progress)
                        rows[key_of(row)] = row
    finally:
        command = shlex.join(["python", "-m", "benchmarks.baselines", *words])
        write_rows(args.out, rows, command)
    print(f"written: {args.out}; `make pages` writes the pages")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.baselines", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add(
        "--only",
        action="append",
        default=[],
        choices=[*SPLITS, *POLICIES],
        metavar="ID|POLICY",
        help="measure these ids or policies alone, and keep the other rows; may be "
        f"repeated; ids: {', '.join(SPLITS)}; policies: {', '.join(POLICIES)}",
    )
    add(
        "--checkpoints",
        type=Path,
        default=Path("build/networks"),
        metavar="FOLDER",
        help="with PPO's networks, ID-SPLIT.pt; where one is missing, its row stays; "
        "default: %(default)s",
    )
    add("--num-envs", type=int, default=256, metavar="N", help="default: %(default)s")
    add("--out", type=Path, default=RESULTS, metavar="FILE.json")
    return parser


def is_asked(split: Split, policy: str, args: argparse.Namespace) -> bool:
    """Return whether a row is to be measured."""
    ids = [word for word in args.only if word in SPLITS] or SPLITS
    policies = [word for word in args.only if word in POLICIES] or POLICIES
    can_play = policy != PPO or checkpoint_of(split, args.checkpoints).is_file()
    is_there = absence(split, policy) is None and can_play
    return split.id in ids and policy in policies and is_there


def measure(
    split: Split,
    policy: str,
    args: argparse.Namespace,
    report_progress: Callable[[str, int, int], None],
) -> dict[str, Any]:
    """Return the row of a policy on a split."""
    keywords = keywords_of(split, policy)
    checkpoint = checkpoint_of(split, args.checkpoints)
    title = f"{split.id} {split.name} {policy}"
    envs = split.make_vec(args.num_envs, **keywords)
    try:
        results = play_split(
            split,
            envs,
            make_policy(split, policy, envs, checkpoint),
            lambda count: report_progress(title, count, len(split)),
        )
    finally:
        envs.close()
    packages = (*PACKAGES, "torch") if policy == PPO else PACKAGES
    row = {
        "id": split.id,
        "split": split.name,
        "policy": policy,
        "digest": split.digest,
        "episodes": len(split),
        "success": _rounded(results.success_rate()),
        "return": _rounded(results.mean_return()),
        "length": _rounded([float(np.mean(results.lengths))])[0],
        "faults": int(results.faults.sum()),
        "revision": revision(GENERATED),
        "seed": SEED,
        "keywords": keywords,
        "versions": {name: version_of(name) for name in packages},
    }
    if policy == PPO:
        row |= training_facts(split, checkpoint) | new_level_facts(split, results)
    return row


def _rounded(values: Iterable[float]) -> list[float]:
    # Far below the interval; sums of floats may differ in the last digits elsewhere.
    return [round(value, 6) for value in values]


def write_rows(path: Path, rows: Mapping[Any, Mapping[str, Any]], command: str) -> None:
    """Write the file, in the order of splits and policies.

    Rows of splits that have changed are left out.
    """
    kept, absent = [], []
    for split in ALL_SPLITS:
        for policy in POLICIES:
            row = rows.get((split.id, split.name, policy))
            reason = absence(split, policy)
            if row is not None and row["digest"] == split.digest:
                kept.append(row)
            elif reason is not None:
                names = {"id": split.id, "split": split.name, "policy": policy}
                absent.append({**names, "reason": reason})
    splits = [
        {
            "id": split.id,
            "name": split.name,
            "title": split.title,
            "keywords": dict(split.keywords),
            "episodes": len(split),
            "digest": split.digest,
        }
        for split in ALL_SPLITS
    ]
    lists = {"rows": kept, "absent": absent}
    descriptions = {"splits": splits, "policies": POLICIES}
    write_result(path, {"command": command, **descriptions, **lists})


if __name__ == "__main__":
    main()
