"""``roll-vec eval``: a policy on a fixed set of episodes; two policies compared."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from roll_vec.cli._arguments import refuse_arguments
from roll_vec.cli._chat_arguments import is_endpoint, make_endpoint, refuse_chat
from roll_vec.cli._errors import (
    FAILURE,
    INTERRUPTED,
    UsageError,
    argument_error,
    say_error,
)
from roll_vec.cli._eval_arguments import (
    DESCRIPTION,
    EPILOG,
    MAX_ENVS,
    add_arguments,
)
from roll_vec.cli._eval_report import comparison_table, result_table, split_table
from roll_vec.cli._files import check_target
from roll_vec.cli._imports import require
from roll_vec.cli._policies import make_turn_policy
from roll_vec.cli._progress import episode_bar
from roll_vec.errors import (
    InvalidActionError,
    InvalidFileError,
    InvalidOptionError,
    one_line,
)
from roll_vec.evaluation import (
    SPLITS,
    ChatError,
    EpisodeRecord,
    ResultHeader,
    Split,
    chat_keywords,
    compare_results,
    evaluate,
    find_split,
    play_chat_episodes,
    play_episodes,
    splits_of,
)
from roll_vec.evaluation.runs import Play
from roll_vec.evaluation.shop_splits import WEBSHOP, shop_keywords
from roll_vec.recordings.environments import find_spec, full_id, is_pooled
from roll_vec.recordings.setup import current_versions

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "eval",
        help="evaluate a policy on a fixed set of episodes, and compare policies",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    add_arguments(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    changes = arguments.changes.keys()
    if arguments.compare is not None:
        unread = changes - {"compare", "common", "quiet"}
        refuse_arguments(arguments, unread, "with --compare")
        return _compare(arguments)
    refuse_arguments(arguments, ["common"], "without --compare A B")
    split_ids = _split_ids(arguments.id)
    if arguments.list or arguments.split is None:
        reason = "with --list" if arguments.list else "without --split NAME"
        refuse_arguments(arguments, changes - {"id", "list"}, reason)
        sys.stdout.write(split_table(split_ids))
        return 0
    if arguments.id is None:
        raise argument_error("ID", "expected the id of the split")
    split, keywords = _find_split(split_ids[0], arguments)
    if arguments.check:
        unread = changes - {"id", "split", "options", "check"}
        refuse_arguments(arguments, unread, "with --check")
        return _check(split)
    return _evaluate(split, keywords, arguments)


def _split_ids(env_id: str | None) -> list[str]:
    """Return the ids to list: one, or all."""
    if env_id is None:
        return list(SPLITS)
    name = find_spec(full_id(env_id)).id
    if not splits_of(name):
        text = f"expected an id with splits: {', '.join(SPLITS)}, got {env_id!r}"
        raise argument_error("ID", text)
    return [name]


def _find_split(
    env_id: str, arguments: argparse.Namespace
) -> tuple[Split, dict[str, Any]]:
    """Return the split, and the keywords that are not of its shop."""
    splits = splits_of(env_id)
    if arguments.split not in splits:
        text = f"expected a split of {env_id}: {', '.join(splits)}"
        raise argument_error("--split", f"{text}, got {arguments.split!r}")
    keywords = dict(arguments.options)
    shop: dict[str, Any] = {}
    if env_id == WEBSHOP and "products" in keywords:
        names = keywords.keys() & set(shop_keywords())
        shop = {name: keywords.pop(name) for name in sorted(names)}
    return find_split(env_id, arguments.split, **shop), keywords


def _check(split: Split) -> int:
    """Compute the digest of a split and compare it with the one of its name."""
    digest = split.compute_digest()
    if digest == split.digest:
        sys.stdout.write(f"{split.id} {split.name}: {digest}\n")
        return 0
    say_error(
        f"error: the digest of {split.id} {split.name} is {digest} and not "
        f"{split.digest}: these are other episodes"
    )
    return FAILURE


def _compare(arguments: argparse.Namespace) -> int:
    first, second = arguments.compare
    if not arguments.quiet:
        require("rich", "a comparison without --quiet")
    comparison = compare_results(first, second, only_common=arguments.common)
    if not arguments.quiet:
        _print(comparison_table(comparison, str(first), str(second)))
    return 0


@dataclass
class _Plan:
    """A run that is about to begin."""

    play: Play
    policy: dict[str, Any]
    keywords: dict[str, Any]
    envs: Any


def _evaluate(
    split: Split, keywords: dict[str, Any], arguments: argparse.Namespace
) -> int:
    check_target("--out", arguments.out)
    if arguments.out is None:
        refuse_arguments(arguments, ["retry_faults"], "without --out FILE.jsonl")
    if not arguments.quiet:
        require("rich", "an evaluation without --quiet")
    total = len(split) if arguments.num is None else arguments.num
    if total > len(split):
        text = f"expected at most {len(split):,}, the episodes of {split.name}"
        raise argument_error("--num", f"{text}, got {total}")
    text = "random" if arguments.policy is None else arguments.policy
    make = _plan_chat if is_endpoint(text) else _plan
    plan = make(split, keywords, text, total, arguments)
    header = None
    if arguments.out is not None:
        versions = current_versions()
        # A published file says nothing about the machine.
        del versions["platform"]
        header = ResultHeader.of(split, plan.keywords, plan.policy, versions)
    progress = _Progress(total)
    try:
        with episode_bar(total, arguments.quiet) as show:
            progress.show = show
            records = evaluate(
                split,
                plan.play,
                num=total,
                header=header,
                path=arguments.out,
                retry_faults=arguments.retry_faults,
                on_progress=progress,
            )
    except KeyboardInterrupt:
        say_error(f"interrupted after {progress.describe(arguments.out)}")
        return INTERRUPTED
    except ChatError as error:
        if error.is_refusal:
            raise argument_error("--policy", f"{text}: {one_line(error)}") from error
        say_error(f"error: {one_line(error)}, after {progress.describe(arguments.out)}")
        return FAILURE
    except (InvalidActionError, InvalidFileError) as error:
        name = "--policy" if isinstance(error, InvalidActionError) else "--out"
        raise argument_error(name, one_line(error)) from error
    finally:
        plan.envs.close()
    if not arguments.quiet:
        _print(result_table(split, plan.policy, records, progress.rate()))
    return _verdict(records)


def _verdict(records: Sequence[EpisodeRecord]) -> int:
    """Return the exit code; if all episodes are faults, write the first of them."""
    faults = [record.fault for record in records if record.fault is not None]
    if len(faults) < len(records):
        return 0
    say_error(
        f"error: all {len(records):,} episodes ended by faults, the first by this: "
        f"{one_line(faults[0])}"
    )
    return FAILURE


def _plan(
    split: Split,
    keywords: dict[str, Any],
    text: str,
    total: int,
    arguments: argparse.Namespace,
) -> _Plan:
    """Make environments and a policy that acts in a batch."""
    refuse_chat(arguments)
    num_envs = min(total, arguments.num_envs or MAX_ENVS)
    envs = _make_envs(split, num_envs, keywords, arguments)
    try:
        policy = make_turn_policy(text, envs, arguments.seed)
    except BaseException:
        envs.close()
        raise
    facts: dict[str, Any] = {"name": text}
    if text == "random":
        facts["seed"] = arguments.seed
    return _Plan(partial(play_episodes, split, envs, policy), facts, keywords, envs)


def _plan_chat(
    split: Split,
    keywords: dict[str, Any],
    text: str,
    total: int,
    arguments: argparse.Namespace,
) -> _Plan:
    """Make environments of texts for a model behind an endpoint."""
    # The endpoint does not get it.
    refuse_arguments(arguments, ["seed"], "with --policy http(s)://...")
    endpoint = make_endpoint(text, arguments)
    keywords = chat_keywords(split, keywords)
    num_envs = min(total, arguments.concurrency)
    envs = _make_envs(split, num_envs, keywords, arguments)

    def play(episodes: Sequence[int]) -> Iterator[EpisodeRecord]:
        return play_chat_episodes(
            split,
            envs,
            endpoint,
            episodes,
            history=arguments.history,
            on_error=arguments.on_error,
        )

    facts = {**endpoint.to_json(), "history": arguments.history}
    return _Plan(play, facts, keywords, envs)


def _make_envs(
    split: Split,
    num_envs: int,
    keywords: dict[str, Any],
    arguments: argparse.Namespace,
) -> Any:
    if arguments.threads is not None:
        if is_pooled(find_spec(split.id)):
            text = f"{split.id} is a pool of objects: use -o workers=N"
            raise argument_error("--threads", text)
        keywords = {**keywords, "num_threads": arguments.threads}
    try:
        return split.make_vec(num_envs, **keywords)
    except InvalidOptionError as error:
        message = f"{split.id}: {one_line(error)}"
        raise UsageError(message) from error


class _Progress:
    """Counts episodes and seconds, and moves the progress bar."""

    def __init__(self, total: int) -> None:
        self.show: Any = None
        self._total = total
        self._num_done = self._num_played = 0
        self._start = time.perf_counter()
        self._seconds = 0.0

    def __call__(self, num_done: int, num_played: int) -> None:
        self._num_done, self._num_played = num_done, num_played
        self._seconds = time.perf_counter() - self._start
        if self.show is not None:
            self.show(num_done, num_played, self._seconds)

    def rate(self) -> float | None:
        """Return episodes a second; None if none was played."""
        if not (self._num_played and self._seconds > 0):
            return None
        return self._num_played / self._seconds

    def describe(self, out: Path | None) -> str:
        """Return how far the run is, and how it goes on."""
        text = f"{self._num_done:,} of {self._total:,} episodes"
        if out is None:
            return text
        return f"{text}; the same command goes on with {str(out)!r}"


def _print(table: Any) -> None:
    from rich.console import Console

    Console().print(table)
