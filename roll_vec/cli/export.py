"""``roll-vec export``: episodes of a policy or of a recorded run as training data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from roll_vec.cli._errors import (
    FAILURE,
    INTERRUPTED,
    argument_error,
    as_argument,
    ending_signals,
    file_errors,
    say_error,
)
from roll_vec.cli._options import POLICY_HELP, add_command, refuse_arguments
from roll_vec.cli._policies import (
    is_endpoint,
    make_endpoint,
    make_turn_policy,
    refuse_chat,
)
from roll_vec.cli._tables import count, progress
from roll_vec.cli.replay import make_batch, open_run
from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    RollVecError,
    one_line,
)
from roll_vec.evaluation import play_chat
from roll_vec.evaluation.chat import ChatError
from roll_vec.export import export
from roll_vec.export.rows import Tally, TooFewRowsError, play_rows, select_rows
from roll_vec.export.writer import FORMATS, check_out
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.any_id import find_spec, full_id, is_pooled, make_or_refuse
from roll_vec.registration.factories import make_vec
from roll_vec.trajectories import Trajectory, Turn, play_seeds
from roll_vec.trajectories.runs import replay_trajectories
from roll_vec.trajectories.trajectory import TEXTS

# Rows, and environments stepped at once, unless the user says otherwise.
_NUM_ROWS, _NUM_ENVS = 1000, 256
# Names of arguments in errors of `roll_vec.export`.
_ARGUMENTS = {"format": "--format", "out": "--out", "start_seed": "--seed"}

_SUMMARY = "write episodes as training data for other libraries"

_DESCRIPTION = """\
Write episodes as training data, one row an episode: of a policy, or of a run
that roll-vec rollout --out has recorded. Row k plays the seed of --seed plus k;
with --only-success, the k-th success. The same command writes the same bytes.
The file appears when it is complete.
"""

_EPILOG = """\
formats (docs/data.md):
%(formats)s

examples:
  roll-vec export roll_vec/Sokoban-v0 --num-rows 1000 --out train.jsonl
  roll-vec export run.npz --format parquet --out run.parquet
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    names = "\n".join(f"  {name:<12}{each.summary}" for name, each in FORMATS.items())
    texts = _SUMMARY, _DESCRIPTION, _EPILOG % {"formats": names}
    parser = add_command(commands, "export", _run, *texts)
    parser.option("ID|FILE", "registered id, or the .npz file of a run", dest="source")
    parser.option(
        "--format",
        "messages, vision or parquet",
        "NAME",
        choices=tuple(FORMATS),
        default="messages",
    )
    parser.option("--out", "what is written", "PATH", required=True)
    parser.option("--num-rows", f"rows (default: {_NUM_ROWS:,}; of a run, all)")
    parser.option("--policy", f"{POLICY_HELP} (default: oracle)", default=None)
    parser.flag("--only-success", "leave out other episodes, and count them")
    parser.number(
        "--max-episodes", "give up after N episodes (default: 100 for each row)", 1
    )
    parser.add_shared("--seed", "-o")
    parser.option("--num-envs", f"stepped at once, for speed (default: {_NUM_ENVS})")
    parser.flag("--overwrite", "replace an older file")
    parser.add_shared("--quiet")
    parser.add_chat()


def _run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    is_run = arguments.source.lower().endswith(".npz")
    tally = Tally()
    num = arguments.num_rows
    if num is None and not is_run:
        num = _NUM_ROWS
    try:
        check_out(arguments.out, FORMATS[arguments.format], arguments.overwrite)
        batch, rows = (_of_run if is_run else _of_policy)(arguments, tally, num)
        start = perf_counter()
        with (
            closing(batch),
            file_errors("--out", arguments.out),
            ending_signals(),
            progress(arguments.quiet) as show,
        ):

            def with_progress() -> Iterator[Trajectory]:
                for row in rows:
                    if show is not None:
                        show("rows", tally.rows, num)
                    yield row

            export(
                arguments.out,
                batch,
                with_progress(),
                format=arguments.format,
                policy=arguments.model or arguments.policy or "oracle",
                overwrite=arguments.overwrite,
            )
    except KeyboardInterrupt:
        of = "" if num is None else f" of {num:,}"
        say_error(f"interrupted after {tally.rows:,}{of} rows; nothing is written")
        return INTERRUPTED
    except (TooFewRowsError, ChatError) as error:
        say_error(f"error: {one_line(error)}")
        return FAILURE
    except InvalidActionError as error:
        raise argument_error("--policy", one_line(error)) from error
    except InvalidOptionError as error:
        raise as_argument(error, _ARGUMENTS) from error
    if not arguments.quiet:
        for line in _report(arguments, tally, perf_counter() - start):
            sys.stdout.write(f"{line}\n")
    return 0


def _report(arguments: argparse.Namespace, tally: Tally, seconds: float) -> list[str]:
    """Return the lines about an export."""
    lines = []
    if arguments.only_success:
        lines.append(f"left out: {tally.failures:,} episodes without success")
    if tally.faults:
        lines.append(f"left out: {tally.faults:,} episodes that ended by an error")
    rows = count(tally.rows, "row")
    successes = count(tally.successes, "success", "successes")
    mean = tally.total_return / tally.rows if tally.rows else float("nan")
    lines.append(
        f"{arguments.out}: {rows}, {successes}, mean return {mean:.4g}, "
        f"{tally.rows / seconds:,.0f} rows/s"
    )
    return lines


def _of_run(
    arguments: argparse.Namespace, tally: Tally, num: int | None
) -> tuple[Any, Iterable[Trajectory]]:
    """Return the batch of a recorded run, and its rows, which are played at once."""
    read = {"source", "format", "out", "num_rows", "only_success", "overwrite", "quiet"}
    unread = arguments.changes.keys() - read
    refuse_arguments(arguments, unread, "with a recorded run")
    run = open_run(Path(arguments.source), "FILE")
    batch = make_batch(run, {})
    try:
        FORMATS[arguments.format](batch, "")
        episodes = replay_trajectories(batch, run)
    except BaseException:
        batch.close()
        raise
    return batch, islice(
        select_rows(episodes, tally, only_success=arguments.only_success), num
    )


def _of_policy(
    arguments: argparse.Namespace, tally: Tally, num: int
) -> tuple[Any, Iterable[Trajectory]]:
    """Return a batch of one environment, and rows, which are played one by one."""
    id = full_id(arguments.source)
    policy = arguments.policy or "oracle"
    if find_spec(id).id not in ENVIRONMENTS:
        text = f"expected an id of this package or of roll_vec.register, got {id!r}"
        raise argument_error("ID", text)
    if is_endpoint(policy):
        endpoint = make_endpoint(policy, arguments)
        num_envs = arguments.concurrency
    else:
        refuse_chat(arguments)
        num_envs = arguments.num_envs or _NUM_ENVS
    batch, keywords = _make_batch(id, arguments)

    def play(seeds: Sequence[int], first: int) -> Iterator[Trajectory]:
        with closing(_make(id, min(num_envs, len(seeds)), keywords)) as envs:
            if is_endpoint(policy):
                yield from play_chat(envs, seeds, endpoint)
                return
            function = make_turn_policy(policy, envs, arguments.seed)

            def act(turn: Turn) -> Any:
                return function(replace(turn, episodes=turn.episodes + first))

            yield from play_seeds(envs, seeds, act)

    if not is_endpoint(policy):
        # Its errors come before the first episode.
        make_turn_policy(policy, batch, arguments.seed)
    return batch, play_rows(
        play,
        num,
        tally,
        start_seed=arguments.seed,
        num_envs=num_envs,
        only_success=arguments.only_success,
        max_episodes=arguments.max_episodes,
    )


def _make(id: str, num_envs: int, keywords: dict[str, Any]) -> Any:
    make = partial(make_vec, id, num_envs, autoreset_mode="Disabled", **keywords)
    return make_or_refuse(id, make)


def _make_batch(id: str, arguments: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Return a batch of one environment, which the format can hold, and its keywords.

    Games on a grid get keywords of the format, unless the user sets them.

    Raises
    ------
    UsageError
        If there is none; it names a format that can hold the environment.
    """
    format = FORMATS[arguments.format]

    def make(name: str) -> tuple[Any, dict[str, Any]]:
        keywords = {**FORMATS[name].keywords, **arguments.options}
        if is_endpoint(arguments.policy or ""):
            keywords = {**TEXTS, **keywords}
        if is_pooled(find_spec(id)):
            keywords = dict(arguments.options)
        batch = _make(id, 1, keywords)
        try:
            FORMATS[name](batch, "")
        except BaseException:
            batch.close()
            raise
        return batch, keywords

    def can_hold(name: str) -> bool:
        try:
            make(name)[0].close()
        except RollVecError:
            return False
        return True

    try:
        return make(format.name)
    except InvalidOptionError as error:
        # An error of the user's own keywords is raised here.
        _make(id, 1, arguments.options).close()
        text = f"{format.name} needs {format.needs}, which {id} does not have"
        if arguments.options:
            text += " with these keywords"
        others = [name for name in FORMATS if name != format.name and can_hold(name)]
        if others:
            text += f"; use --format {others[0]}"
        raise argument_error("--format", text) from error
