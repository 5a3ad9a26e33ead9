"""``roll-vec watch``: environments of a run or of a policy, to be looked at."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from gymnasium.spaces import Text

from roll_vec.cli._errors import (
    FAILURE,
    argument_error,
    check_target,
    new_file,
    say_error,
)
from roll_vec.cli._options import (
    POLICY_HELP,
    add_command,
    number_from,
    number_ranges,
    refuse_arguments,
)
from roll_vec.cli._policies import make_policy
from roll_vec.cli._tables import progress, steps_listener
from roll_vec.cli.replay import make_batch, open_run
from roll_vec.cli.rollout import run_policy
from roll_vec.errors import InvalidOptionError, one_line
from roll_vec.recordings import replay
from roll_vec.registration.any_id import full_id, make_vector
from roll_vec.render.png import import_pillow
from roll_vec.watch import FrameRecorder, Recording, write_gif, write_page
from roll_vec.watch.gif import DEFAULT_FPS, MAX_FPS, MIN_FPS

# Environments to show, unless the user says otherwise, and at most.
_NUM_ENVS, _MAX_ENVS = 16, 4096
_STEPS = 100
# Frames have about a kilobyte each, and those with pictures more.
_MAX_FRAMES = 1_000_000

_SUFFIXES = ".html", ".gif"

_SUMMARY = "see a saved run, or a policy at play, in a browser"

_DESCRIPTION = """\
Write environments and what happened in them, step by step: a grid of boards,
pictures or conversations. The suffix of --out says the form:

  .html   one page for a browser, without other files and without network
  .gif    an animated picture

The environments are those of a saved run, which is played again and compared
with its file as by roll-vec replay, also its exit code; or they are made here
and played by a policy.
"""

_EPILOG = """\
examples:
  roll-vec watch roll_vec/Sokoban-v0 --policy oracle --out page.html
  roll-vec watch CartPole-v1 --num-envs 4 --steps 200 --out page.html --open
  roll-vec watch roll_vec/Sokoban-v0 --policy oracle --steps 40 --out a.gif
  roll-vec watch run.npz --envs 0-15,40 --out page.html
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = add_command(commands, "watch", _run, _SUMMARY, _DESCRIPTION, _EPILOG)
    parser.option("RUN.npz|ID", "a saved run, or a registered id", dest="target")
    parser.option(
        "--out", f"the file to write: {' or '.join(_SUFFIXES)}", required=True
    )
    text = f"the first N of a run; of an ID so many are made (default: {_NUM_ENVS})"
    parser.number("--num-envs", text, 1, _MAX_ENVS)
    parser.option(
        "--envs",
        "of a run, the environments to show by their numbers: 0-15,40",
        "I-J,K",
        number_ranges(_MAX_ENVS),
    )
    parser.option(
        "--steps", f"steps to play (default: all of a run, {_STEPS} of an ID)"
    )
    parser.option("--policy", f"{POLICY_HELP} (default: random)", default=None)
    parser.add_shared("--seed", "--autoreset")
    parser.option("-o", "as for roll-vec rollout; of a run, as for roll-vec replay")
    parser.option(
        "--fps",
        f"of a GIF: steps a second (default: {DEFAULT_FPS})",
        "N",
        number_from(MIN_FPS),
    )
    parser.number(
        "--scale",
        "of a GIF: a cell of a board has 16 N pixels (default: 1 to 3, by the "
        "number of boards)",
        1,
    )
    parser.flag("--open", "open the file when it is written")
    parser.add_shared("--quiet")


def _run(arguments: argparse.Namespace) -> int:
    """Run the command; check everything that can be wrong before the first step."""
    out: Path = arguments.out
    is_gif = _check_form(arguments)
    target = arguments.target
    is_run = target.lower().endswith(".npz") or Path(target).is_file()
    recording, code = (_record_run if is_run else _record_policy)(arguments)
    with new_file("--out", out) as file, progress(arguments.quiet):
        if is_gif:
            fps = DEFAULT_FPS if arguments.fps is None else arguments.fps
            try:
                write_gif(file, recording, fps=fps, scale=arguments.scale)
            except InvalidOptionError as error:
                raise argument_error("--out", str(error)) from error
        else:
            write_page(file, recording)
    if not arguments.quiet:
        size = out.stat().st_size / 1_000_000
        num_envs, steps = len(recording.env_ids), recording.ticks[-1].step
        line = f"{num_envs:,} environments, {steps:,} steps, {size:.2f} MB: {out}"
        sys.stdout.write(f"{line}\n")
    if arguments.open:
        webbrowser.open(out.absolute().as_uri())
    return code


def _check_form(arguments: argparse.Namespace) -> bool:
    """Return whether the file is a GIF, after a check of all that it needs.

    Raises
    ------
    UsageError
        If the file cannot be written, its suffix is unknown or an option is not for it.
    MissingExtraError
        If a package is missing.
    """
    out, fps = arguments.out, arguments.fps
    suffix = out.suffix.lower()
    if suffix not in _SUFFIXES:
        text = f"expected a file name that ends in {' or '.join(_SUFFIXES)}"
        raise argument_error("--out", f"{text}, got {str(out)!r}")
    check_target("--out", out)
    if suffix != ".gif":
        reason = f"for {str(out)!r}, which is no GIF"
        refuse_arguments(arguments, ["fps", "scale"], reason)
        return False
    if fps is not None and fps > MAX_FPS:
        text = f"expected a number from {MIN_FPS:g} to {MAX_FPS:g}, got {fps:g}"
        raise argument_error("--fps", text)
    import_pillow("a GIF")
    return True


def _make_recorder(env: Any, env_ids: Sequence[int], steps: int) -> FrameRecorder:
    """Return a recorder; refuse more frames than fit into the memory."""
    if len(env_ids) * steps > _MAX_FRAMES:
        text = (
            f"{len(env_ids):,} environments of {steps:,} steps are more than "
            f"{_MAX_FRAMES:,} frames: fewer steps, or fewer environments (--num-envs)"
        )
        raise argument_error("--steps", text)
    return FrameRecorder(env, env_ids)


# ------------------------------------------------------------------ of a policy


def _record_policy(arguments: argparse.Namespace) -> tuple[Recording, int]:
    """Return what a policy does in new environments, and the exit code."""
    reason = "with an ID, of which --num-envs N makes N environments"
    refuse_arguments(arguments, ["envs"], reason)
    env_id = full_id(arguments.target)
    num_envs = arguments.num_envs or _NUM_ENVS
    arguments.steps = arguments.steps or _STEPS
    arguments.policy = arguments.policy or "random"
    options = {"options": arguments.options, "autoreset": arguments.autoreset}
    make = partial(make_vector, env_id, num_envs, **options)
    with closing(_with_render_mode(make)) as env:
        policy = make_policy(arguments.policy, env, arguments.seed)
        recorder = _make_recorder(env, range(num_envs), arguments.steps)
        summary = run_policy(env, policy, arguments, recorder)
        if summary.is_interrupted:
            raise KeyboardInterrupt
        details = {"policy": arguments.policy, "seed": str(arguments.seed)}
        details |= _keyword_details(arguments.options)
        code = 0
        if summary.exception is not None:
            details["exception"] = one_line(summary.exception)
            say_error(f"error: a step raised an exception: {details['exception']}")
            code = FAILURE
        return recorder.recording(env_id, details), code


def _with_render_mode(make: Callable[..., Any]) -> Any:
    """Return a batch with pictures, else with drawings in text, if it needs them."""
    env = make(render_mode="rgb_array")
    for mode in ("ansi", "text"):
        is_text = isinstance(env.single_observation_space, Text)
        if is_text or env.render_mode is not None:
            break
        env.close()
        env = make(render_mode=mode)
    return env


def _keyword_details(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the keywords of the command line as facts for people."""
    if not options:
        return {}
    return {"with": ", ".join(f"{name}={value!r}" for name, value in options.items())}


# ------------------------------------------------------------------ of a saved run


def _record_run(arguments: argparse.Namespace) -> tuple[Recording, int]:
    """Return the environments of a run, played again, and the exit code."""
    unread = ["policy", "seed", "autoreset"]
    refuse_arguments(arguments, unread, "with a saved run, which has its own")
    run = open_run(Path(arguments.target), "RUN.npz")
    env_ids = _choose_envs(arguments, run.setup.num_envs)
    make = partial(make_batch, run, arguments.options)
    with closing(_with_render_mode(make)) as env:
        steps = min(run.num_steps, arguments.steps or run.num_steps)
        recorder = _make_recorder(env, env_ids, steps)
        with progress(arguments.quiet) as show:
            listener = steps_listener(show, steps)
            result = replay(env, run, listener, recorder=recorder, max_steps=steps)
        batch = f"{run.setup.num_envs:,} environments"
        details = {"run": run.path.name, "batch": batch, "seed": str(run.seed)}
        details |= _keyword_details(run.setup.options)
        if run.exception is not None:
            details["exception"] = run.exception
        recording = recorder.recording(
            run.setup.id, details, difference=result.difference, is_replay=True
        )
    return recording, 0 if result.difference is None else FAILURE


def _choose_envs(arguments: argparse.Namespace, num_envs: int) -> list[int]:
    """Return the environments to show."""
    if arguments.envs is None:
        return list(range(min(arguments.num_envs or _NUM_ENVS, num_envs)))
    refuse_arguments(arguments, ["num_envs"], "with argument --envs")
    env_ids = sorted({*chain.from_iterable(arguments.envs)})
    if env_ids[-1] >= num_envs:
        text = f"expected 0 to {num_envs - 1}, got {env_ids[-1]}"
        raise argument_error("--envs", text)
    return env_ids
