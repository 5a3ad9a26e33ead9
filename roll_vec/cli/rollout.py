"""``roll-vec rollout``: run one policy in many environments, report the episodes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from gymnasium.vector import AutoresetMode

from roll_vec.cli._arguments import (
    PathArgument,
    add_environment_arguments,
    autoreset_mode,
    integer_from,
    refuse_arguments,
)
from roll_vec.cli._errors import FAILURE, INTERRUPTED, argument_error, say_error
from roll_vec.cli._files import check_suffix, check_target, write_errors
from roll_vec.cli._imports import require
from roll_vec.cli._picture import MAX_BOARDS, NoPictureError, draw_boards
from roll_vec.cli._policies import FORMS, Policy, make_policy
from roll_vec.cli._progress import stepping_bar
from roll_vec.cli._report import fault_rows, result_table
from roll_vec.errors import InvalidActionError, one_line
from roll_vec.recordings import (
    RolloutSummary,
    RunRecorder,
    plan_run,
    roll_out,
    save_run,
)
from roll_vec.recordings.environments import full_id, make_vector
from roll_vec.render.mosaic import PICTURE_SUFFIXES, save_picture

__all__ = ["add_parser"]

# Notes of an oracle that are shown.
_NOTES = 8

_DESCRIPTION = """\
Step many environments of one id at once and report what happened: environment
steps, steps a second, episodes, returns, success rate, lengths. The boards at
the end are saved as a picture.

Any registered gymnasium id will do. An id with its own vector environment is
stepped by that, others by gymnasium's SyncVectorEnv.

Steps a second cover everything after the first reset and step (which may
compile and are shown on a row of their own): the environments, the policy, the
bookkeeping and --save. The resets that next_step mode spends a step on are not
counted as steps.
"""

_EPILOG = """\
policies:
  random            uniform over the actions, or over examples of texts; its
                    stream is derived from --seed
  oracle            the right action, of an environment that knows it: a
                    shortest solution of Sokoban, the best policy of a lake, the
                    answers of roll_vec/Countdown-v0 and roll_vec/WebShop-v0,
                    the property oracle_action of your own class; with
                    action_mode=text it writes the tags of action_pattern, such
                    as <answer>(.*?)</answer>
  constant:A        always the action A, a Python literal, or a text without
                    quotes
  module:attribute  a Python callable: batch of observations -> batch of
                    actions, tuple of str -> list of str for texts; modules are
                    also looked for in the working directory

language environments, and those of your own, run as a pool of objects. Its
keywords are given with -o, too: workers=N (0: none), executor=thread or
process, step_timeout=SECONDS, reset_timeout=SECONDS, on_error=truncate or
raise; environments that failed are counted in the report.

the file of --save without shards.

the file of --save is for roll-vec replay, and numpy.load reads it, too. It has,
one entry an episode that ended:
  env_index int64, returns float64, lengths int64, terminated bool, truncated
  bool, success int8 (1, 0, or -1 where the environment does not say);
the strings id, seed, config (JSON), versions (JSON);
  actions (steps, num_envs), where they are arrays; a digest of each reset and
  step;
and, for roll-vec replay, all results.

examples:
  roll-vec rollout roll_vec/Sokoban-v0 --num-envs 4096 --steps 1000
  roll-vec rollout roll_vec/Sokoban-v0 -o dim_room="(10, 10)" -o num_boxes=4
  roll-vec rollout roll_vec/Sokoban-v0 -o num_levels=4096 --save run.npz
  roll-vec rollout roll_vec/FrozenLake-v1 --policy constant:2 \\
      --autoreset same_step
  roll-vec rollout roll_vec/Countdown-v0 --num-envs 1024 --steps 100 \\
      --policy oracle
  roll-vec rollout roll_vec/Sokoban-v0 --policy oracle -o action_mode=text \\
      -o "action_pattern=<answer>(.*?)</answer>" --num-envs 64 --steps 100
  roll-vec rollout my_module:mine/Env-v0 --num-envs 64 --policy my_agent:act \\
      -o workers=8 -o executor=process -o step_timeout=10
  roll-vec rollout CartPole-v1 --num-envs 64 --policy my_agent:act --no-image
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "rollout",
        help="step thousands of environments and report on their episodes",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_environment_arguments(
        parser, seed_help="seed of the first environment; environment i has seed N + i"
    )
    positive = integer_from(1)
    parser.add_argument(
        "--num-envs",
        type=positive,
        default=4096,
        metavar="N",
        help="environments stepped at once (default: %(default)s)",
    )
    parser.add_argument(
        "--steps",
        type=positive,
        default=1000,
        metavar="N",
        help="steps of all of them (default: %(default)s)",
    )
    parser.add_argument(
        "--policy",
        default="random",
        metavar="NAME",
        help=f"{FORMS}, see below (default: %(default)s)",
    )
    parser.add_argument(
        "--autoreset",
        type=autoreset_mode,
        default=AutoresetMode.NEXT_STEP,
        metavar="MODE",
        help="when an episode that ended starts anew: next_step, same_step, or "
        "disabled, where this command resets by reset_mask (default: next_step)",
    )
    parser.add_argument(
        "--threads",
        type=positive,
        metavar="N",
        help="threads of an environment that has them (default: its own choice)",
    )
    parser.add_argument(
        "--save",
        type=Path,
        metavar="FILE.npz",
        help="save the run, see below; roll-vec replay plays it again (default: not "
        "saved)",
    )
    parser.add_argument(
        "--save-values",
        type=integer_from(0),
        default=256,
        metavar="MB",
        help="megabytes of observations, before compression, of which --save has the "
        "values, and as many of infos; of later steps it has digests (default: "
        "%(default)s)",
    )
    picture = parser.add_mutually_exclusive_group()
    picture.add_argument(
        "--image",
        type=PathArgument(*PICTURE_SUFFIXES),
        default=Path("rollout.png"),
        metavar="FILE",
        help="where the picture of the boards goes, as the suffix says: "
        f"{', '.join(PICTURE_SUFFIXES)}; -o render_scale=N sizes its boards (default: "
        "%(default)s)",
    )
    picture.add_argument(
        "--no-image",
        dest="image",
        action="store_const",
        const=None,
        help="draw no picture",
    )
    parser.add_argument(
        "--boards",
        type=integer_from(1, MAX_BOARDS),
        default=16,
        metavar="N",
        help="boards in the picture (default: %(default)s)",
    )
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="no progress bar, no table; files are written, errors are shown",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Run the command; check everything that can be wrong before the first step."""
    if arguments.image is None:
        refuse_arguments(arguments, ["boards"], "with --no-image")
    if arguments.save is None:
        refuse_arguments(arguments, ["save_values"], "without --save FILE.npz")
    arguments.id = full_id(arguments.id)
    check_target("--save", arguments.save)
    check_target("--image", arguments.image)
    check_suffix("--image", arguments.image)
    if not arguments.quiet:
        require("rich", "a rollout without --quiet")
    if arguments.image is not None:
        require("pillow", "a rollout without --no-image", module="PIL.Image")
    env = make_vector(
        arguments.id,
        arguments.num_envs,
        options=arguments.options,
        autoreset=arguments.autoreset,
        threads=arguments.threads,
        render_mode=None if arguments.image is None else "rgb_array",
    )
    setup = None
    if arguments.save is not None:
        try:
            setup = plan_run(
                arguments.id,
                arguments.num_envs,
                arguments.autoreset,
                arguments.options,
            )
        except BaseException:
            env.close()
            raise
    try:
        policy = make_policy(arguments.policy, env, arguments.seed)
        recorder = None
        if setup is not None:
            recorder = RunRecorder(env, arguments.save_values)
        summary = _roll_out(env, policy, arguments, recorder)
        more_rows = fault_rows(env, summary)
        notes = []
        if setup is not None and recorder is not None:
            with write_errors("--save", arguments.save):
                save_run(
                    arguments.save,
                    setup,
                    recorder,
                    summary.episodes,
                    seed=arguments.seed,
                    policy=arguments.policy,
                )
            notes.append(f"run: {arguments.save}")
        if summary.exception is not None:
            say_error(f"a step raised an exception; run: {arguments.save}")
            raise summary.exception
        # After Ctrl-C the user should not have to wait for a picture.
        if arguments.image is not None and not summary.is_interrupted:
            notes.append(_picture(env, arguments))
    finally:
        env.close()
    if not arguments.quiet:
        from rich.console import Console

        console = Console()
        console.print(result_table(arguments, summary, more_rows))
        notes += _out_of_reach(policy)
        for note in notes:
            console.print(note, markup=False, highlight=False, soft_wrap=True)
    return _verdict(summary, arguments)


def _verdict(summary: RolloutSummary, arguments: argparse.Namespace) -> int:
    """Return the exit code; if it is not 0, write the reason on stderr."""
    if summary.is_interrupted:
        say_error(f"interrupted after {summary.steps:,} of {arguments.steps:,} steps")
        return INTERRUPTED
    first = summary.first_error
    if first is not None and summary.faults == len(summary.episodes) > 0:
        say_error(
            f"error: all {summary.faults:,} episodes ended by faults, the first by "
            f"this: {one_line(first)}"
        )
        return FAILURE
    return 0


def _roll_out(
    env: Any,
    policy: Policy,
    arguments: argparse.Namespace,
    recorder: RunRecorder | None,
) -> RolloutSummary:
    try:
        with stepping_bar(arguments.steps, arguments.quiet) as on_progress:
            return roll_out(
                env,
                policy,
                steps=arguments.steps,
                seed=arguments.seed,
                on_progress=on_progress,
                recorder=recorder,
            )
    except InvalidActionError as error:
        raise argument_error(
            "--policy", f"{arguments.policy}: {one_line(error)}"
        ) from error


def _out_of_reach(policy: Policy) -> list[str]:
    """Return lines on episodes in which an oracle cannot have the best return."""
    notes = list(getattr(policy, "notes", ()))
    if not notes:
        return []
    count = "1 reason" if len(notes) == 1 else f"{len(notes):,} reasons"
    lines = [
        f"episodes are out of the oracle's reach, for {count}:",
        *notes[:_NOTES],
    ]
    return [*lines, "..."] if len(notes) > _NOTES else lines


def _picture(env: Any, arguments: argparse.Namespace) -> str:
    """Save the picture; return a line with its place, or why there is none."""
    try:
        has_scale = "render_scale" in arguments.options
        picture, caption = draw_boards(env, arguments.boards, has_scale=has_scale)
    except NoPictureError as error:
        return f"no picture: {error}"
    with write_errors("--image", arguments.image):
        save_picture(arguments.image, picture)
    return f"{caption}: {arguments.image}"
