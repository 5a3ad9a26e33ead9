"""``roll-vec eval``: a policy on a fixed set of episodes; two policies compared."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from roll_vec.cli import _verify
from roll_vec.cli._errors import (
    FAILURE,
    INTERRUPTED,
    UsageError,
    argument_error,
    check_target,
    say_all_faults,
    say_error,
)
from roll_vec.cli._options import add_command, add_commands, refuse_arguments
from roll_vec.cli._policies import (
    is_endpoint,
    make_endpoint,
    make_turn_policy,
    refuse_chat,
)
from roll_vec.cli._tables import print_table, progress
from roll_vec.cli.panels import add_panels
from roll_vec.errors import (
    InvalidActionError,
    InvalidFileError,
    InvalidOptionError,
    one_line,
)
from roll_vec.evaluation import (
    EpisodeResults,
    compare_results,
    evaluate,
    find_split,
    play_episodes,
)
from roll_vec.evaluation.chat import ChatError, chat_keywords, play_chat_episodes
from roll_vec.evaluation.episodes import EpisodeRecord
from roll_vec.evaluation.result_headers import ResultHeader
from roll_vec.evaluation.results import Comparison, Play
from roll_vec.evaluation.splits import SPLITS, WEBSHOP, Split, shop_keywords, splits_of
from roll_vec.evaluation.statistics import Interval
from roll_vec.recordings.setup import current_versions
from roll_vec.registration.any_id import find_spec, full_id

_Keywords: TypeAlias = dict[str, Any]

_MAX_ENVS = 256
_NO_VALUE = "-"
_DIGEST_CHARS = 12

_SUMMARY = "evaluate a policy on a fixed set of episodes, and compare policies"

_DESCRIPTION = """\
Play each episode of a split once, and report the mean return, the success rate
and their 95 % intervals. With --out an interrupted run goes on: the same
command plays the episodes that the file does not have (docs/evaluation.md).
"""

_EPILOG = """\
A split is a fixed, named set of episodes with a digest: results on the same
split can be compared.

examples:
  roll-vec eval list roll_vec/Sokoban-v0
  roll-vec eval run roll_vec/Sokoban-v0 --split test --policy my_agent:act \\
      --out mine.jsonl
  roll-vec eval run roll_vec/Countdown-v0 --split test --num-episodes 500 \\
      --policy http://localhost:8000/v1 --model NAME --out model.jsonl
  roll-vec eval verify mine.jsonl
  roll-vec eval compare model.jsonl mine.jsonl
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    inner = add_commands(
        commands, "eval", _SUMMARY, f"{_SUMMARY.capitalize()}.", _EPILOG
    )
    texts = "play the episodes of a split", _DESCRIPTION, _EPILOG
    parser = add_command(inner, "run", _evaluate, *texts)
    parser.add_shared("ID")
    parser.option("--split", "the set of episodes", "NAME", required=True)
    parser.add_shared("--policy")
    parser.option("--seed", "seed of the random policy")
    parser.add_shared("--num-episodes")
    most = f"as many as episodes, at most {_MAX_ENVS}"
    parser.option("--num-envs", f"stepped at once, for speed (default: {most})")
    parser.option("-o", "keyword that leaves the task as it is; may be repeated")
    parser.option("--out", "write the results, a line each", "FILE.jsonl")
    parser.flag(
        "--retry-faults",
        "play episodes again that ended by a fault in the file of --out",
    )
    parser.add_shared("--quiet")
    parser.add_chat()

    text = "List the splits of an id, or of all."
    parser = add_command(inner, "list", _list, "list splits", text)
    parser.option("ID", "the id (default: all)", nargs="?")

    add_panels(inner)

    text = "Compute the digest of a split, and compare it with its name's."
    parser = add_command(inner, "check", _check, "compute the digest of a split", text)
    parser.add_shared("ID")
    parser.option("--split", "the set of episodes", "NAME", required=True)
    parser.option("-o", "of WebShop: products and the other files of a shop")

    _verify.add_parser(inner)

    text = "Print the differences between two files of results, B minus A."
    summary = "compare two files of results"
    parser = add_command(inner, "compare", _compare, summary, text)
    for name in "AB":
        parser.option(name, "a file of roll-vec eval run --out", type=Path)
    parser.flag(
        "--common",
        "compare the episodes that both files have; without it, others are an error",
    )


def _list(arguments: argparse.Namespace) -> int:
    """Write the splits of one id or of all, a line for each."""
    ids = list(SPLITS) if arguments.id is None else [_id_with_splits(arguments.id)]
    rows = [("id", "split", "episodes", "digest", "episodes are")]
    for id in ids:
        for split in splits_of(id).values():
            digest = split.digest[:_DIGEST_CHARS] or _NO_VALUE
            rows.append((id, split.name, f"{len(split):,}", digest, split.title))
    print_table(rows, "<<><")
    return 0


def _id_with_splits(env_id: str) -> str:
    name = find_spec(full_id(env_id)).id
    if not splits_of(name):
        ids = f"{', '.join(SPLITS)}, MiniGrid's and BabyAI's"
        text = f"expected an id with splits: {ids}, got {env_id!r}"
        raise argument_error("ID", text)
    return name


def _find_split(arguments: argparse.Namespace) -> tuple[Split, dict[str, Any]]:
    """Return the split, and the keywords that are not of its shop."""
    env_id = _id_with_splits(arguments.id)
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


def _check(arguments: argparse.Namespace) -> int:
    """Compute the digest of a split and compare it with the one of its name."""
    split, keywords = _find_split(arguments)
    if keywords:
        raise argument_error("-o", f"expected files of a shop, got {[*keywords]}")
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
    first, second = arguments.a, arguments.b
    comparison = compare_results(first, second, only_common=arguments.common)
    header = comparison.headers[0]
    rows = _comparison_rows(comparison, str(first), str(second))
    print_table(rows, title=f"{header.id} {header.split}")
    return 0


def _evaluate(arguments: argparse.Namespace) -> int:
    split, keywords = _find_split(arguments)
    out, policy = arguments.out, arguments.policy
    check_target("--out", out)
    if out is None:
        refuse_arguments(arguments, ["retry_faults"], "without --out FILE.jsonl")
    total = len(split) if arguments.num_episodes is None else arguments.num_episodes
    if total > len(split):
        text = f"expected at most {len(split):,}, the episodes of {split.name}"
        raise argument_error("--num-episodes", f"{text}, got {total}")
    envs, play, facts, keywords = _make_play(split, keywords, total, arguments)
    header = None
    if out is not None:
        versions = current_versions()
        # A published file says nothing about the machine.
        del versions["platform"]
        header = ResultHeader.of(split, keywords, facts, versions)
    done = 0
    try:
        with progress(arguments.quiet) as show:

            def on_progress(num_done: int, num_played: int) -> None:
                del num_played
                nonlocal done
                done = num_done
                if show is not None:
                    show("episodes", done, total)

            records = evaluate(
                split,
                play,
                num=total,
                header=header,
                path=out,
                retry_faults=arguments.retry_faults,
                on_progress=on_progress,
            )
    except (KeyboardInterrupt, ChatError) as error:
        text = f"after {done:,} of {total:,} episodes"
        if out is not None:
            text += f"; the same command goes on with {str(out)!r}"
        if isinstance(error, KeyboardInterrupt):
            say_error(f"interrupted {text}")
            return INTERRUPTED
        raise argument_error("--policy", f"{policy}: {one_line(error)}") from error
    except (InvalidActionError, InvalidFileError) as error:
        name = "--policy" if isinstance(error, InvalidActionError) else "--out"
        raise argument_error(name, one_line(error)) from error
    finally:
        envs.close()
    if not arguments.quiet:
        rows = _result_rows(split, facts, records)
        print_table(rows, title=f"{split.id} {split.name}")
    faults = [record.fault for record in records if record.fault is not None]
    return say_all_faults(len(faults), faults[0]) if len(faults) == len(records) else 0


def _make_play(
    split: Split, keywords: _Keywords, total: int, arguments: argparse.Namespace
) -> tuple[Any, Play, _Keywords, _Keywords]:
    """Make environments, and a player: by a policy of a batch, or by a chat.

    Returns
    -------
    envs, play, facts, keywords
        The last two are for the header of a file.
    """
    name = arguments.policy
    if is_endpoint(name):
        # The endpoint does not get it.
        refuse_arguments(arguments, ["seed"], "with --policy http(s)://...")
        endpoint = make_endpoint(name, arguments)
        keywords = chat_keywords(split, keywords)
        envs = _make_envs(split, min(total, arguments.concurrency), keywords)
        play = partial(play_chat_episodes, split, envs, endpoint)
        return envs, play, endpoint.to_json(), keywords
    refuse_chat(arguments)
    facts: _Keywords = {"name": name}
    if name == "random":
        facts["seed"] = arguments.seed
    else:
        refuse_arguments(arguments, ["seed"], "without --policy random")
    envs = _make_envs(split, min(total, arguments.num_envs or _MAX_ENVS), keywords)
    try:
        policy = make_turn_policy(name, envs, arguments.seed)
    except BaseException:
        envs.close()
        raise
    keep_turns = arguments.out is not None
    play = partial(play_episodes, split, envs, policy, keep_turns=keep_turns)
    return envs, play, facts, keywords


def _make_envs(split: Split, num_envs: int, keywords: _Keywords) -> Any:
    try:
        return split.make_vec(num_envs, **keywords)
    except InvalidOptionError as error:
        message = f"{split.id}: {one_line(error)}"
        raise UsageError(message) from error


def _result_rows(
    split: Split, policy: Mapping[str, Any], records: Sequence[EpisodeRecord]
) -> list[tuple[str, str]]:
    """Return the table of an evaluation; the policy is that of the header."""
    results = EpisodeResults.of(records)
    has_success = split.has_success
    rate_of_success = _percent(results.success_rate()) if has_success else _NO_VALUE
    rows = [
        ("mean return", _number(results.mean_return())),
        ("success rate", rate_of_success),
        ("mean length", f"{np.mean(results.lengths):,.1f}"),
        ("episodes", f"{len(records):,}"),
        ("faults", f"{np.count_nonzero(results.faults):,}"),
        ("policy", _describe(policy)),
        ("digest", split.digest[:_DIGEST_CHARS]),
    ]
    first = next((one.fault for one in records if one.fault is not None), None)
    if first is not None:
        rows.insert(5, ("first fault", one_line(first)))
    return rows


def _comparison_rows(
    comparison: Comparison, first: str, second: str
) -> list[tuple[str, str]]:
    """Return the table of two files of results, A and B."""
    returns = [results.mean_return() for results in comparison.results]
    rates = [results.success_rate() for results in comparison.results]
    only_first, only_second = comparison.discordant()
    gain = comparison.success_difference()
    return [
        ("A", f"{first}: {_describe(comparison.headers[0].policy)}"),
        ("B", f"{second}: {_describe(comparison.headers[1].policy)}"),
        ("episodes", f"{len(comparison):,}"),
        ("success rate of A", _percent(rates[0])),
        ("success rate of B", _percent(rates[1])),
        ("success, B - A", _number(gain, " percentage points", "+.2f", 100)),
        ("only A solves", f"{only_first:,}"),
        ("only B solves", f"{only_second:,}"),
        ("McNemar's exact p", _probability(comparison.p_value())),
        ("mean return of A", _number(returns[0])),
        ("mean return of B", _number(returns[1])),
        ("return, B - A", _number(comparison.return_difference())),
    ]


def _describe(policy: Mapping[str, Any]) -> str:
    """Return a policy on one line, without what is not set."""
    name, *others = policy.items()
    parts = [f"{key} {value}" for key, value in others if value is not None]
    return ", ".join([str(name[1]), *parts])


def _number(
    interval: Interval, unit: str = "", form: str = ".4f", factor: int = 1
) -> str:
    """Return an estimate, with the ends of its interval if it has any."""
    value, low, high = (f"{factor * x:{form}}" for x in interval)
    if not math.isfinite(interval.low):
        return f"{value}{unit} (no interval)"
    return f"{value}{unit} (95 %: {low} to {high})"


def _percent(interval: Interval) -> str:
    return _number(interval, " %", ".2f", 100)


def _probability(value: float) -> str:
    # The least numbers of float64 are near 1e-308.
    return f"{value:.3g}" if value > 0 else "below 1e-300"
