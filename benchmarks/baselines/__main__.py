"""The command ``python -m benchmarks.baselines``."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.baselines import chart, page
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
from benchmarks.quotations import PAGES, rewrite
from roll_vec.evaluation import SPLITS, Split, play_split

Task = tuple[Split, str]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure policies on splits; write the file, the page and the picture."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = make_parser()
    args = parser.parse_args(words)
    try:
        rows = read_rows(args.out)
    except ValueError as error:
        parser.error(str(error))
    tasks = select_tasks(args.only)
    if args.train:
        if args.checkpoints is None:
            parser.error("--train needs --checkpoints, the folder to train into")
        args.checkpoints.mkdir(parents=True, exist_ok=True)
        for split, policy in tasks:
            if policy == PPO:
                print(f"training: {split.id} {split.name}", file=sys.stderr)
                train(split, checkpoint_of(split, args.checkpoints))
    command = shlex.join(["python", "-m", "benchmarks.baselines", *words])
    absent = {
        (split.id, split.name, policy): reason
        for by_name in SPLITS.values()
        for split in by_name.values()
        for policy in POLICIES
        if (reason := absence(split, policy)) is not None
    }
    facts = {"revision": revision(GENERATED), "seed": SEED}
    with progress_bar(sum(len(split) for split, _ in tasks)) as advance:
        for split, policy in tasks:
            row = measure(split, policy, args, facts, rows, advance)
            if row is None:
                continue
            rows[key_of(row)] = row
            # After each row: Ctrl-C loses one row, and the next run goes on.
            write_results(args.out, rows, command, POLICIES, absent)
    content = write_results(args.out, rows, command, POLICIES, absent)
    args.out.with_suffix(".md").write_text(page.render(content), "utf-8")
    chart.draw(content, args.out.with_suffix(".png"))
    print(f"written: {args.out}, and beside it the page and the picture")
    if args.out.resolve() == RESULTS:
        rewrite(PAGES, lambda text: page.quote(text, content))


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.baselines",
        description="Measure the baselines on the evaluation splits, and write "
        "docs/baselines.json, .md and .png.  Rows that this commit and these packages "
        "have measured already are kept, so an interrupted run goes on where it was.",
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


def select_tasks(only: Sequence[str]) -> list[Task]:
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
    advance: Callable[[str, int], None],
) -> dict[str, Any] | None:
    """Return the row of a policy on a split; None where the old one is to stay."""
    title = f"{split.id} {split.name} {policy}"
    keywords, checkpoint = keywords_of(split, policy), None
    facts = {**facts, "digest": split.digest, "keywords": keywords}
    facts["versions"] = versions(packages_of(policy))
    if policy == PPO:
        if args.checkpoints is None:
            advance(title, len(split))
            return None
        checkpoint = checkpoint_of(split, args.checkpoints)
        if not checkpoint.is_file():
            print(f"no checkpoint: {checkpoint}", file=sys.stderr)
            advance(title, len(split))
            return None
        facts |= training_facts(split, checkpoint)
    if not args.fresh and is_current(rows.get((split.id, split.name, policy)), facts):
        advance(title, len(split))
        return None
    num_ended = 0

    def on_progress(count: int) -> None:
        nonlocal num_ended
        advance(title, count - num_ended)
        num_ended = count

    envs = split.make_vec(args.num_envs, **keywords)
    try:
        player = make_policy(split, policy, envs, checkpoint)
        results = play_split(split, envs, player, on_progress)
    finally:
        envs.close()
    if policy == PPO:
        facts |= new_level_facts(split, results)
    return make_row(split, policy, results, facts)


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[str, int], None]]:
    """Show a bar over all episodes; yield a function of a title and a count."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:48}"),
        BarColumn(),
        TextColumn("{task.completed:,}/{task.total:,} episodes"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("", total=total)
        yield lambda title, count: progress.update(
            bar, advance=count, description=title
        )


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("interrupted: the same command goes on from here") from None
