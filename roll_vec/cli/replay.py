"""``roll-vec replay``: play a recorded run again, and say whether all is equal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NoReturn, Protocol

from gymnasium.vector import VectorEnv

from roll_vec.cli._arguments import add_option_argument, integer_from
from roll_vec.cli._differences import Difference, find_difference
from roll_vec.cli._errors import FAILURE, UsageError, argument_error, one_line
from roll_vec.cli._frames import Frame, to_frame
from roll_vec.cli._imports import require
from roll_vec.cli._progress import stepping_bar
from roll_vec.cli._recorder import describe_exception
from roll_vec.cli._run_file import RecordedFrame, Run, load_run, refuse_damage
from roll_vec.cli._run_setup import current_versions
from roll_vec.errors import InvalidFileError, InvalidOptionError

__all__ = ["StepView", "add_parser", "replay"]

_DESCRIPTION = """\
Make the batch of a file of roll-vec rollout --save again, reset it with the
same seeds, take the same actions, and compare the results of every reset and
step, bit by bit: observations, rewards, terminations, truncations and infos.

It prints "identical" and exits with 0; or it prints the first difference (the
step, the first environment in it, the field and both values) and exits with 1.
Versions that differ from those of the file are printed as well.
"""

_EPILOG = """\
The file says everything: the id, the keywords, the seed and the actions. An id
of your own needs its module, which is imported as roll-vec rollout imported it,
also from the working directory. Data files in the keywords have to have the
same content as then; their paths may change: -o data=PATH.

Steps are counted from 1; step 0 is the first reset. Where the file has no
values of a step, but only digests (see roll-vec rollout --save-values), the
digest of the recorded value is shown in its place.

examples:
  roll-vec rollout roll_vec/Sokoban-v0 --save run.npz
  roll-vec replay run.npz
  roll-vec watch run.npz --envs 3 --text
  roll-vec replay run.npz --threads 1
  roll-vec rollout roll_vec/Countdown-v0 --save texts.npz
  roll-vec replay texts.npz -o workers=0
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "replay",
        help="play a saved rollout again and find the first difference",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument(
        "file", type=Path, metavar="FILE.npz", help="file of roll-vec rollout --save"
    )
    add_option_argument(
        parser,
        "another path of a data file, or for a pool other workers=N, executor=NAME, "
        "context=NAME, step_timeout=SECONDS or reset_timeout=SECONDS; may be repeated",
    )
    parser.add_argument(
        "--threads",
        type=integer_from(1),
        metavar="N",
        help="threads of an environment that has them (default: its own choice)",
    )
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="no progress bar and no output; the exit code says all",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    if not arguments.quiet:
        require("rich", "a replay without --quiet")
    path = arguments.file
    try:
        run = load_run(path)
    except OSError as error:
        text = f"cannot read {str(path)!r}: {error.strerror or one_line(error)}"
        raise argument_error("FILE.npz", text) from error
    try:
        env = run.setup.make_batch(arguments.options, arguments.threads)
    except (UsageError, InvalidOptionError) as error:
        message = f"{path} cannot be played here: {one_line(error)}"
        raise UsageError(message) from error
    try:
        with stepping_bar(run.num_steps, arguments.quiet) as on_progress:
            result = replay(env, run, on_progress)
    finally:
        env.close()
    if not arguments.quiet:
        sys.stdout.write("".join(f"{line}\n" for line in _report(run, result)))
    return 0 if result.difference is None else FAILURE


class StepView(Protocol):
    """Receives the results of the steps and resets of a replay."""

    def show(self, step: int, actions: Any, results: Mapping[str, Any]) -> None:
        """Take the results of a step, or of a reset, which has no rewards."""


@dataclass(frozen=True)
class ReplayResult:
    """The steps that were equal, the first difference if there is one, and the time."""

    num_steps: int
    difference: Difference | None
    is_reset: bool
    seconds: float


def replay(
    env: VectorEnv[Any, Any, Any],
    run: Run,
    on_progress: Callable[[int, int, float], None] | None = None,
    interval: float = 0.1,
    view: StepView | None = None,
    max_steps: int | None = None,
) -> ReplayResult:
    """Play a run until its end, or until the first difference.

    Parameters
    ----------
    env : VectorEnv
        The batch of the run's setup; it is left open.
    run : Run
    on_progress : callable, optional
        See `roll_out`.
    interval : float, default 0.1
        Seconds between two calls of `on_progress`.
    view : StepView, optional
        Receives the results of all steps and resets.
    max_steps : int, optional
        Steps to play at most.

    Raises
    ------
    InvalidFileError
        If the file says what no rollout does.
    """
    player = _Player(env, run, view)
    begin = perf_counter()
    next_report = 0.0
    difference, is_reset = None, True
    for recorded in run.frames():
        if max_steps is not None and player.num_steps >= max_steps:
            break
        is_reset = recorded.is_reset
        difference = player.play(recorded)
        if difference is not None:
            break
        now, steps = perf_counter(), player.num_steps
        is_due = now >= next_report or steps == run.num_steps
        if on_progress is not None and is_due:
            on_progress(steps, steps * env.num_envs, now - begin)
            next_report = now + interval
    is_whole = max_steps is None or player.num_steps < max_steps
    if difference is None and run.exception is not None and is_whole:
        is_reset = False
        difference = player.play_exception(run.exception)
    return ReplayResult(player.num_steps, difference, is_reset, perf_counter() - begin)


class _Player:
    """Takes the steps and resets of a run, one at a time."""

    def __init__(
        self, env: VectorEnv[Any, Any, Any], run: Run, view: StepView | None
    ) -> None:
        self.num_steps = 0
        self._view = view
        self._step_actions: Any = None
        self._env, self._run = env, run
        self._actions = run.actions()
        self._dones: Any = None
        self._is_started = False

    def play(self, recorded: RecordedFrame) -> Difference | None:
        """Play one frame, and return its first difference."""
        try:
            results = self._results(recorded.is_reset)
        except InvalidFileError:
            raise
        except Exception as error:
            present = describe_exception(error)
            return Difference(None, "exception", "none", present, 0)
        env = self._env
        if self._view is not None:
            self._view.show(self.num_steps, self._step_actions, results)
        frame: Frame = to_frame(env.single_observation_space, env.num_envs, results)
        with refuse_damage(self._run.path):
            return find_difference(recorded, frame, env.num_envs)

    def play_exception(self, recorded: str) -> Difference | None:
        """Take the step that raised an exception, and return the difference."""
        present = "none"
        try:
            self._results(is_reset=False)
        except InvalidFileError:
            raise
        except Exception as error:
            present = describe_exception(error)
        if present == recorded:
            return None
        return Difference(None, "exception", recorded, present, 0)

    def _results(self, is_reset: bool) -> dict[str, Any]:
        env = self._env
        if is_reset:
            if not self._is_started:
                observations, infos = env.reset(seed=self._run.seed)
                self._is_started = True
            elif self._dones is not None and self._dones.any():
                options = {"reset_mask": self._dones}
                observations, infos = env.reset(options=options)
            else:
                self._refuse("a reset after a step that ended nothing")
            return {"observations": observations, "infos": infos}
        if not self._is_started:
            self._refuse("a step before the first reset")
        actions = next(self._actions, self)
        if actions is self:
            self._refuse("a step without actions")
        self.num_steps += 1
        self._step_actions = actions
        observations, rewards, terminations, truncations, infos = env.step(actions)
        self._dones = terminations | truncations
        return {
            "observations": observations,
            "rewards": rewards,
            "terminations": terminations,
            "truncations": truncations,
            "infos": infos,
        }

    def _refuse(self, content: str) -> NoReturn:
        message = f"{self._run.path} cannot be played: it has {content}"
        raise InvalidFileError(message)


def _report(run: Run, result: ReplayResult) -> list[str]:
    """Return the lines of the report."""
    setup, difference = run.setup, result.difference
    batch = f"{setup.id}, {setup.num_envs:,} environments"
    if difference is None:
        lines = [
            f"identical: {batch}, {result.num_steps:,} steps ({result.seconds:.2f} s)"
        ]
        if run.exception is not None:
            lines.append(f"the last step raises, as it did: {run.exception}")
    else:
        after = ", the reset after it" if result.is_reset and result.num_steps else ""
        env_id = "unknown" if difference.env_id is None else str(difference.env_id)
        if difference.num_envs > 1:
            env_id += (
                f" (the first of {difference.num_envs:,} that differ in this step)"
            )
        lines = [
            f"different: {batch}",
            f"  step         {result.num_steps:,} of {run.num_steps:,}{after}",
            f"  environment  {env_id}",
            f"  field        {difference.field}",
            f"  recorded     {difference.recorded}",
            f"  now          {difference.present}",
        ]
    present = current_versions()
    changes = [
        f"{name} {version} (now {present[name]})"
        for name, version in run.versions.items()
        if present.get(name, version) != version
    ]
    if changes:
        lines.append(f"versions that differ: {', '.join(changes)}")
    return lines
