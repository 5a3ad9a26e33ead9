"""``roll-vec rollout``: run one policy in many environments, report the episodes."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Text

from roll_vec.cli._errors import (
    INTERRUPTED,
    argument_error,
    check_target,
    file_errors,
    say_all_faults,
    say_error,
)
from roll_vec.cli._options import add_command
from roll_vec.cli._policies import Policy, make_policy
from roll_vec.cli._tables import print_table, progress, steps_listener
from roll_vec.errors import InvalidActionError, one_line
from roll_vec.evaluation.policies import has_oracle
from roll_vec.recordings import RunRecorder, roll_out, save_run
from roll_vec.recordings.rollout_times import RolloutTimes
from roll_vec.recordings.rollouts import RolloutSummary
from roll_vec.registration.any_id import action_names, full_id, make_vector
from roll_vec.render.boards import NoPictureError, draw_boards
from roll_vec.render.mosaic import PICTURE_SUFFIXES, save_picture
from roll_vec.render.png import import_pillow
from roll_vec.vector.known_infos import UNKNOWN

_RUN_SUFFIX = ".npz"
# Notes of an oracle that are shown.
_NOTES = 8
_NO_VALUE = "\N{EN DASH}"

_SUMMARY = "step thousands of environments and report on their episodes"

_DESCRIPTION = """\
Step many environments of one id at once and report what happened: environment
steps, steps a second, episodes, returns, success rate, lengths, and the parts
of the time. Calls that load or compile kernels are timed as start-up; the
resets that NextStep mode spends a step on do not count. Any registered id will
do.
"""

_EPILOG = """\
--out may stand twice: FILE.npz is the run, which roll-vec replay plays again
(docs/watching.md); a picture has the first boards at the end.

examples:
  roll-vec rollout roll_vec/Sokoban-v0 -o dim_room="(10, 10)" --out run.npz
  roll-vec rollout roll_vec/Countdown-v0 --num-envs 1024 --steps 100 \\
      --policy oracle
  roll-vec rollout my_module:mine/Env-v0 --num-envs 64 --policy my_agent:act \\
      -o workers=8 -o executor=process -o step_timeout=10
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = add_command(commands, "rollout", _run, _SUMMARY, _DESCRIPTION, _EPILOG)
    parser.add_shared("ID", "-o")
    parser.option("--num-envs", default=4096)
    parser.option("--steps", default=1000)
    parser.option("--seed", "environment i has seed N + i")
    parser.add_shared("--policy", "--autoreset")
    suffixes = ", ".join((_RUN_SUFFIX, *PICTURE_SUFFIXES))
    parser.option(
        "--out",
        f"write the run or a picture: {suffixes}",
        action="append",
        default=[],
    )
    parser.add_shared("--quiet")


def _run(arguments: argparse.Namespace) -> int:
    """Run the command; check everything that can be wrong before the first step."""
    run, image = _targets(arguments)
    arguments.id = full_id(arguments.id)
    for path in (run, image):
        check_target("--out", path)
    if image is not None:
        import_pillow("a picture")
    with progress(arguments.quiet) as show:
        if show is not None:
            # Imports of compilers take a second, before a kernel is named.
            show("steps", 0, arguments.steps)
        env = make_vector(
            arguments.id,
            arguments.num_envs,
            options=arguments.options,
            autoreset=arguments.autoreset,
            render_mode=None if image is None else "rgb_array",
        )
    notes = []
    try:
        recorder = None
        if run is not None:
            recorder = RunRecorder(env, arguments.id, arguments.options)
        policy = make_policy(arguments.policy, env, arguments.seed)
        summary = run_policy(env, policy, arguments, recorder)
        if run is not None and recorder is not None:
            facts = {"seed": arguments.seed, "policy": arguments.policy}
            with file_errors("--out", run):
                save_run(run, recorder, summary.episodes, **facts)
            notes.append(f"run: {run}")
        if summary.exception is not None:
            say_error(f"a step raised an exception; run: {run}")
            raise summary.exception
        # After Ctrl-C the user should not have to wait for a picture.
        if image is not None and not summary.is_interrupted:
            notes.append(_picture(env, image, arguments))
        rows = [*_rows(arguments, summary), *_fault_rows(env, summary)]
        notes += _out_of_reach(policy)
        if not (arguments.quiet or summary.is_interrupted or summary.faults):
            notes += _next_commands(env, arguments, run)
    finally:
        env.close()
    if not arguments.quiet:
        title = f"{arguments.id} \N{MULTIPLICATION SIGN} {arguments.num_envs:,}"
        print_table(rows, title=title, notes=notes)
    return _verdict(summary, arguments)


def _targets(arguments: argparse.Namespace) -> tuple[Path | None, Path | None]:
    """Return the files of the run and of the picture."""
    runs = [path for path in arguments.out if path.suffix.lower() == _RUN_SUFFIX]
    pictures = [path for path in arguments.out if path not in runs]
    for path in pictures:
        if path.suffix.lower() not in PICTURE_SUFFIXES:
            suffixes = ", ".join((_RUN_SUFFIX, *PICTURE_SUFFIXES))
            text = f"expected a file name that ends in {suffixes}, got {str(path)!r}"
            raise argument_error("--out", text)
    if max(len(runs), len(pictures)) > 1:
        names = ", ".join(map(str, arguments.out))
        raise argument_error("--out", f"expected one file of a kind, got {names}")
    return next(iter(runs), None), next(iter(pictures), None)


def run_policy(
    env: Any, policy: Policy, arguments: argparse.Namespace, recorder: Any
) -> RolloutSummary:
    """Roll out with a progress bar, by the arguments policy, steps, seed and quiet.

    Raises
    ------
    UsageError
        If the environments refuse an action.
    """
    try:
        with progress(arguments.quiet) as show:
            return roll_out(
                env,
                policy,
                steps=arguments.steps,
                seed=arguments.seed,
                on_progress=steps_listener(show, arguments.steps),
                recorder=recorder,
            )
    except InvalidActionError as error:
        text = f"{arguments.policy}: {one_line(error)}"
        raise argument_error("--policy", text) from error


def _picture(env: Any, path: Path, arguments: argparse.Namespace) -> str:
    """Save the picture; return a line with its place, or why there is none."""
    try:
        has_scale = "render_scale" in arguments.options
        picture, caption = draw_boards(env, has_scale=has_scale)
    except NoPictureError as error:
        return f"no picture: {error}"
    with file_errors("--out", path):
        save_picture(path, picture)
    return f"{caption}: {path}"


def _verdict(summary: RolloutSummary, arguments: argparse.Namespace) -> int:
    """Return the exit code; if it is not 0, write the reason on stderr."""
    if summary.is_interrupted:
        say_error(f"interrupted after {summary.steps:,} of {arguments.steps:,} steps")
        return INTERRUPTED
    first = summary.first_error
    if first is not None and summary.faults == len(summary.episodes) > 0:
        return say_all_faults(summary.faults, first)
    return 0


def _rows(
    arguments: argparse.Namespace, summary: RolloutSummary
) -> Sequence[tuple[str, str]]:
    """Return the rows of the table."""
    episodes, times = summary.episodes, summary.times
    num_known = np.count_nonzero(episodes.success != UNKNOWN)
    success_rate = _NO_VALUE
    if num_known:
        # An episode that a fault has ended is no success, and says nothing of it.
        num_successes = np.count_nonzero(episodes.success == 1)
        success_rate = f"{num_successes / (num_known + summary.faults):.2%}"
    return [
        ("environment steps", f"{summary.env_steps:,}"),
        ("steps/s", _rate(times.env_steps, times.seconds)),
        ("steps/s of the game", _rate(times.env_steps, times.parts["game"])),
        ("time", _shares(times)),
        ("episodes", f"{len(episodes):,}"),
        ("return", _spread(episodes.returns)),
        ("success rate", success_rate),
        ("length", _spread(episodes.lengths)),
        ("elapsed", f"{times.seconds:.2f} s"),
        ("start-up", f"{times.startup:.2f} s"),
        ("seed", str(arguments.seed)),
        ("policy", arguments.policy),
        ("autoreset", arguments.autoreset.value),
    ]


def _rate(env_steps: int, seconds: float) -> str:
    """Return a number of steps a second."""
    return f"{env_steps / seconds:,.0f}" if env_steps and seconds > 0 else _NO_VALUE


def _shares(times: RolloutTimes) -> str:
    """Return the parts of the time that took some, as shares whose sum is 100 %."""
    parts = {name: seconds for name, seconds in times.parts.items() if seconds > 0}
    ends = np.rint(100 * np.cumsum([*parts.values()]) / (times.seconds or 1))
    shares = zip(parts, np.diff(ends, prepend=0), strict=True)
    return ", ".join(f"{name} {share:.0f}%" for name, share in shares) or _NO_VALUE


def _next_commands(
    env: Any, arguments: argparse.Namespace, run: Path | None
) -> list[str]:
    """Return the last lines: two commands that go on from here."""
    if run is not None:
        file = shlex.quote(str(run))
        commands = [f"replay {file}", f"watch {file} --out page.html --open"]
    else:
        pairs = [f"{key}={value}" for key, value in arguments.options.items()]
        words = [arguments.id, *(word for pair in pairs for word in ("-o", pair))]
        is_better = arguments.policy == "random" and has_oracle(env)
        policy = "oracle" if is_better else arguments.policy
        show = ["watch", *words, "--policy", policy, "--out", "page.html", "--open"]
        has_names = bool(action_names(lambda name: env.get_attr(name)[0]))
        is_playable = has_names or isinstance(env.single_action_space, Text)
        # One environment refuses the keywords of batches.
        other = "play" if is_playable and not pairs else "info"
        commands = [shlex.join(show), f"{other} {shlex.quote(arguments.id)}"]
    return ["next:", *(f"  roll-vec {command}" for command in commands)]


def _spread(values: np.ndarray[Any, Any]) -> str:
    """Return mean, standard deviation and range of the ended episodes."""
    if not values.size:
        return _NO_VALUE
    return (
        f"{values.mean():.3f} ± {values.std():.3f} "
        f"({values.min():g} to {values.max():g})"
    )


def _fault_rows(env: Any, summary: RolloutSummary) -> list[tuple[str, str]]:
    """Return rows about the faults of a pool, if there were any."""
    count = int(np.sum(getattr(env.unwrapped, "fault_counts", 0)))
    if not count:
        return []
    rows = [("faults", f"{count:,}")]
    if summary.first_error is not None:
        rows.append(("first fault", one_line(summary.first_error)))
    return rows


def _out_of_reach(policy: Policy) -> list[str]:
    """Return lines on episodes in which an oracle cannot have the best return."""
    notes = list(getattr(policy, "notes", ()))
    if not notes:
        return []
    count = "1 reason" if len(notes) == 1 else f"{len(notes):,} reasons"
    lines = [f"episodes are out of the oracle's reach, for {count}:", *notes[:_NOTES]]
    return [*lines, "..."] if len(notes) > _NOTES else lines
