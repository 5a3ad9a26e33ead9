"""The environments of ``roll-vec watch``: those of a policy, or of a saved run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode

from roll_vec.cli._arguments import refuse_arguments
from roll_vec.cli._errors import FAILURE, UsageError, argument_error, say_error
from roll_vec.cli._policies import make_policy
from roll_vec.cli._progress import stepping_bar
from roll_vec.errors import InvalidActionError, InvalidOptionError, one_line
from roll_vec.recordings import BatchEvent, Run, load_run, replay, roll_out
from roll_vec.recordings.environments import full_id, make_vector
from roll_vec.watch import FirstDifference, Frame, FrameRecorder, Recording

__all__ = ["MAX_ENVS", "NUM_ENVS", "record_policy", "record_run"]

NUM_ENVS = 16
"""Environments to show, unless the user says otherwise."""
MAX_ENVS = 4096
"""The most environments to show."""
# Bytes of a recording in memory, and of a frame without its board, text and picture.
_MAX_BYTES = 4_000_000_000
_FRAME_BYTES = 1_000


class _BoundedRecorder(FrameRecorder):
    """A recorder that refuses more steps than fit into the memory.

    The frames of the first reset say how much the others take.
    """

    def __init__(self, env: Any, env_ids: Sequence[int], steps: int) -> None:
        super().__init__(env, env_ids)
        self._max_steps, self._is_checked = steps, False

    def add(self, event: BatchEvent) -> None:
        """Add an event; check the size at the first one."""
        super().add(event)
        if self._is_checked:
            return
        self._is_checked = True
        recording = self.recording("", {})
        first = [frame for (frame,) in recording.frames if frame is not None]
        size = self._max_steps * sum(map(_size_of, first))
        if size > _MAX_BYTES:
            text = (
                f"{len(first):,} environments of {self._max_steps:,} steps take about "
                f"{size / 1e9:,.0f} GB of memory, expected at most "
                f"{_MAX_BYTES / 1e9:g}: fewer steps, or fewer environments (--num, "
                "--envs)"
            )
            raise argument_error("--steps", text)


def _size_of(frame: Frame) -> int:
    """Return the bytes that a frame takes in the memory."""
    arrays = [each for each in (frame.board, frame.picture) if each is not None]
    return _FRAME_BYTES + len(frame.text or "") + sum(each.nbytes for each in arrays)


# ------------------------------------------------------------------ of a policy


def record_policy(arguments: argparse.Namespace) -> tuple[Recording, int]:
    """Return what a policy does in new environments, and the exit code."""
    reason = "with an ID, of which --num N makes N environments"
    refuse_arguments(arguments, ["envs"], reason)
    env_id = full_id(arguments.target)
    num_envs = arguments.num or NUM_ENVS
    policy_name = "random" if arguments.policy is None else arguments.policy
    seed = arguments.seed or 0
    steps = arguments.steps or 100
    env = _make_env(arguments, env_id, num_envs)
    try:
        policy = make_policy(policy_name, env, seed)
        recorder = _BoundedRecorder(env, range(num_envs), steps)
        with stepping_bar(steps, arguments.quiet) as on_progress:
            try:
                summary = roll_out(
                    env,
                    policy,
                    steps=steps,
                    seed=seed,
                    on_progress=on_progress,
                    recorder=recorder,
                )
            except InvalidActionError as error:
                text = f"{policy_name}: {one_line(error)}"
                raise argument_error("--policy", text) from error
        if summary.is_interrupted:
            raise KeyboardInterrupt
        details = {"policy": policy_name, "seed": str(seed)}
        details |= _keyword_details(arguments.options)
        code = 0
        if summary.exception is not None:
            details["exception"] = one_line(summary.exception)
            say_error(f"error: a step raised an exception: {details['exception']}")
            code = FAILURE
        return recorder.recording(env_id, details), code
    finally:
        env.close()


def _make_env(arguments: argparse.Namespace, env_id: str, num_envs: int) -> Any:
    """Return the batch; environments without boards and texts render pictures."""

    def make(render_mode: str | None) -> Any:
        return make_vector(
            env_id,
            num_envs,
            options=arguments.options,
            autoreset=arguments.autoreset or AutoresetMode.NEXT_STEP,
            render_mode=render_mode,
        )

    return _with_render_mode(make, arguments.text)


def _with_render_mode(make: Callable[[str | None], Any], is_text: bool) -> Any:
    """Return a batch with pictures, else with drawings in text, if it needs them.

    A text shows no pictures.
    """
    first, *others = ("ansi", "text") if is_text else ("rgb_array", "ansi", "text")
    env = make(first)
    if isinstance(env.single_observation_space, Text):
        return env
    for mode in others:
        if env.render_mode is not None:
            break
        env.close()
        env = make(mode)
    return env


def _keyword_details(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the keywords of the command line as facts for people."""
    if not options:
        return {}
    return {"with": ", ".join(f"{name}={value!r}" for name, value in options.items())}


# ------------------------------------------------------------------ of a saved run


def record_run(arguments: argparse.Namespace) -> tuple[Recording, int]:
    """Return the environments of a run, played again, and the exit code."""
    unread = ["policy", "seed", "autoreset"]
    refuse_arguments(arguments, unread, "with a saved run, which has its own")
    path = Path(arguments.target)
    try:
        run = load_run(path)
    except OSError as error:
        text = f"cannot read {str(path)!r}: {error.strerror or one_line(error)}"
        raise argument_error("RUN.npz", text) from error
    env_ids = _choose_envs(arguments, run.setup.num_envs)
    recording = _replay(arguments, run, env_ids)
    difference = recording.difference
    if difference is None:
        return recording, 0
    if difference.env_id is not None and difference.env_id not in env_ids:
        # The environment that differs is known only now: played again, with it.
        recording = _replay(arguments, run, sorted([*env_ids, difference.env_id]))
    return recording, FAILURE


def _choose_envs(arguments: argparse.Namespace, num_envs: int) -> list[int]:
    """Return the environments to show."""
    if arguments.envs is None:
        return list(range(min(arguments.num or NUM_ENVS, num_envs)))
    refuse_arguments(arguments, ["num"], "with argument --envs")
    env_ids = sorted({*chain.from_iterable(arguments.envs)})
    if env_ids[-1] >= num_envs:
        text = f"expected 0 to {num_envs - 1}, got {env_ids[-1]}"
        raise argument_error("--envs", text)
    return env_ids


def _replay(
    arguments: argparse.Namespace, run: Run, env_ids: Sequence[int]
) -> Recording:
    """Play a run again and record some of its environments."""

    def make(render_mode: str | None) -> Any:
        try:
            return run.setup.make_batch(arguments.options, None, render_mode)
        except (UsageError, InvalidOptionError) as error:
            message = f"{run.path} cannot be played here: {one_line(error)}"
            raise UsageError(message) from error

    env = _with_render_mode(make, arguments.text)
    try:
        steps = min(run.num_steps, arguments.steps or run.num_steps)
        recorder = _BoundedRecorder(env, env_ids, steps)
        with stepping_bar(steps, arguments.quiet) as on_progress:
            result = replay(env, run, on_progress, recorder=recorder, max_steps=steps)
        first = None
        if result.difference is not None:
            first = FirstDifference(
                step=result.num_steps,
                env_id=result.difference.env_id,
                field=result.difference.field,
                recorded=result.difference.recorded,
                present=result.difference.present,
            )
        batch = f"{run.setup.num_envs:,} environments"
        details = {"run": run.path.name, "batch": batch, "seed": str(run.seed)}
        details |= _keyword_details(run.setup.options)
        if run.exception is not None:
            details["exception"] = run.exception
        return recorder.recording(
            run.setup.id, details, difference=first, is_replay=True
        )
    finally:
        env.close()
