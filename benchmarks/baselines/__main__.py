"""The command ``python -m benchmarks.baselines``."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.__main__ import progress_bars
from benchmarks.baselines.policies import (
    POLICIES,
    PPO,
    absence,
    checkpoint_of,
    keywords_of,
    make_policy,
    new_level_facts,
    packages_of,
    train,
    training_facts,
)
from benchmarks.baselines.results import (
    GENERATED,
    RESULTS,
    is_current,
    key_of,
    make_row,
    read_rows,
    versions,
    write_results,
)
from benchmarks.baselines.rules import SEED
from benchmarks.machine import revision
from roll_vec.evaluation import SPLITS, Split, play_split


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure policies on splits; write the file."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = make_parser()
    args = parser.parse_args(words)
    try:
        rows = read_rows(args.out)
    except ValueError as error:
        parser.error(str(error))
    if args.train and args.checkpoints is None:
        parser.error("--train needs --checkpoints, the folder to train into")
    absent = {
        (split.id, split.name, policy): reason
        for by_name in SPLITS.values()
        for split in by_name.values()
        for policy in POLICIES
        if (reason := absence(split, policy)) is not None
    }
    command = shlex.join(["python", "-m", "benchmarks.baselines", *words])
    facts = {"revision": revision(GENERATED), "seed": SEED}
    with progress_bars() as report_progress:
        for split, policy in select_tasks(args.only):
            if policy == PPO and args.train:
                args.checkpoints.mkdir(parents=True, exist_ok=True)
                train(split, checkpoint_of(split, args.checkpoints))
            row = measure(split, policy, args, facts, rows, report_progress)
            if row is not None:
                rows[key_of(row)] = row
                # After each row: Ctrl-C loses one row, and the next run goes on.
                write_results(args.out, rows, command, POLICIES, absent)
    write_results(args.out, rows, command, POLICIES, absent)
    print(f"written: {args.out}; `make pages` writes the pages")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.baselines",
        description="Measure the baselines on the evaluation splits. Rows that this "
        "commit and these packages have measured already are kept, so an interrupted "
        "run goes on where it was.",
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
        metavar="FOLDER",
        help="of PPO's networks, as --train writes them; without it, and for networks "
        "that are not there, PPO's rows stay as they are",
    )
    add(
        "--train",
        action="store_true",
        help="train PPO first, or go on with its checkpoints: some minutes for each of "
        "two ids; needs the extra examples",
    )
    add("--fresh", action="store_true", help="measure all rows again")
    add("--num-envs", type=int, default=256, metavar="N", help="default: %(default)s")
    add("--out", type=Path, default=RESULTS, metavar="FILE.json")
    return parser


def select_tasks(only: Sequence[str]) -> list[tuple[Split, str]]:
    """Return the splits and policies to measure."""
    ids = [word for word in only if word in SPLITS] or list(SPLITS)
    policies = [word for word in POLICIES if word in only] or list(POLICIES)
    return [
        (split, policy)
        for id in ids
        for split in SPLITS[id].values()
        for policy in policies
        if absence(split, policy) is None
    ]


def measure(
    split: Split,
    policy: str,
    args: argparse.Namespace,
    facts: dict[str, Any],
    rows: dict[Any, Any],
    report_progress: Callable[[str, int, int], None],
) -> dict[str, Any] | None:
    """Return the row of a policy on a split; None where the old one is to stay."""
    keywords, checkpoint = keywords_of(split, policy), None
    facts = {**facts, "digest": split.digest, "keywords": keywords}
    facts["versions"] = versions(packages_of(policy))
    if policy == PPO:
        checkpoint = checkpoint_of(split, args.checkpoints or Path())
        if args.checkpoints is None or not checkpoint.is_file():
            return None
        facts |= training_facts(split, checkpoint)
    if not args.fresh and is_current(rows.get((split.id, split.name, policy)), facts):
        return None
    title = f"{split.id} {split.name} {policy}"
    envs = split.make_vec(args.num_envs, **keywords)
    try:
        player = make_policy(split, policy, envs, checkpoint)
        results = play_split(
            split,
            envs,
            player,
            lambda count: report_progress(title, count, len(split)),
        )
    finally:
        envs.close()
    if policy == PPO:
        facts |= new_level_facts(split, results)
    return make_row(split, policy, results, facts)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("interrupted: the same command goes on from here") from None
