"""``roll-vec warm``: compile kernels before they are needed."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from time import perf_counter
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from roll_vec.cli._errors import argument_error
from roll_vec.cli._options import add_command
from roll_vec.cli._tables import count, progress
from roll_vec.errors import MissingExtraError, one_line
from roll_vec.options import count_cores
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.any_id import full_id, make_vector

_SUMMARY = "compile kernels ahead, for an image or a cluster"

_DESCRIPTION = """\
Compile what a batch of each ID calls: reset, step in each autoreset mode and
unroll. It takes as many processes as there are cores. What is compiled already
stays. Without IDs: those of roll_vec, without MiniGrid and BabyAI.
"""

_EPILOG = """\
The folder is that of the user, or NUMBA_CACHE_DIR. Its machine code is for
processors of this kind, and for these versions of Python, numpy and numba:
run the command where the environments will run.

examples:
  roll-vec warm
  roll-vec warm roll_vec/Sokoban-v0 -o dim_room="(10, 10)"
  NUMBA_CACHE_DIR=/image/kernels roll-vec warm my_module:mine/Env-v0
"""

# More than one environment; few are enough, as machine code is the same for all.
_NUM_ENVS = 8


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = add_command(commands, "warm", _run, _SUMMARY, _DESCRIPTION, _EPILOG)
    parser.option(
        "ID",
        "the ids (default: those of roll_vec but MiniGrid's and BabyAI's)",
        nargs="*",
        dest="ids",
    )
    parser.add_shared("-o", "--quiet")


def _run(arguments: argparse.Namespace) -> int:
    from roll_vec.kernels._cache import FOLDER
    from roll_vec.kernels._jit import IS_COMPILED

    if arguments.options and not arguments.ids:
        raise argument_error("-o", "expected with an ID: keywords differ between them")
    if not IS_COMPILED:
        text = "expected kernels that are compiled, got NUMBA_DISABLE_JIT=1"
        raise argument_error("ID", text)
    options, begin = arguments.options, perf_counter()
    ids = [full_id(each) for each in arguments.ids]
    # The ids of families are many minutes.
    ids = ids or [id for id, known in ENVIRONMENTS.items() if not known.family]
    for each in arguments.ids:
        # What is wrong with an id or a keyword is said before anything is compiled.
        make_vector(each, _NUM_ENVS, options=options).close()
    parts = [(each, options, mode) for mode in AutoresetMode for each in ids]
    workers = min(count_cores(), len(parts))
    environments = count(len(ids), "environment")
    processes = count(workers, "process", "processes")
    if not arguments.quiet:
        sys.stdout.write(f"compiling the kernels of {environments} in {processes}\n")
        sys.stdout.flush()
    paths, notes = set(_files(FOLDER)), {}
    with (
        progress(arguments.quiet) as show,
        ProcessPoolExecutor(
            workers, multiprocessing.get_context("spawn"), _be_silent
        ) as executor,
    ):
        jobs = {executor.submit(_compile, *part): part[0] for part in parts}
        try:
            for number, job in enumerate(as_completed(jobs)):
                notes[jobs[job]] = job.result()
                if show is not None:
                    show("parts", number + 1, len(jobs))
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
    new, seconds = set(_files(FOLDER)), perf_counter() - begin
    if not arguments.quiet:
        lines = [f"left out: {each}: {note}" for each, note in notes.items() if note]
        kernels = count(len(new - paths), "kernel")
        place = f"{len(new)} in {FOLDER.path}"
        lines.append(f"{kernels} compiled in {seconds:.0f} s; {place}")
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def _files(folder: Any) -> Iterator[str]:
    """Yield the names of the compiled kernels in the cache."""
    folder.read("")  # so that the folder is made
    if folder.path is None:
        text = "expected a folder to store kernels in, there is none: see the warning"
        raise argument_error("NUMBA_CACHE_DIR", text)
    for path in folder.path.glob("*.bin"):
        yield path.name


def _be_silent() -> None:
    """Write no notices in this process."""
    from roll_vec.kernels._notice import NOTICE

    NOTICE.is_silent = True


def _compile(env_id: str, options: Mapping[str, Any], mode: AutoresetMode) -> str:
    """Compile what a batch calls in one mode; return why it was left out, or ""."""
    # Each step ends all episodes, so that the next ones begin.
    options = {"max_episode_steps": 1, **options}
    try:
        envs: Any = make_vector(env_id, _NUM_ENVS, options=options, autoreset=mode)
    except MissingExtraError as error:
        return one_line(error)
    try:
        envs.reset(seed=0)
        if mode is AutoresetMode.DISABLED:
            envs.step(envs.action_space.sample())
            mask = np.arange(_NUM_ENVS) > 0
            envs.reset(options={"reset_mask": mask})
            return ""
        for _ in range(3):
            envs.step(envs.action_space.sample())
        if hasattr(envs, "unroll"):
            envs.unroll([envs.action_space.sample() for _ in range(3)])
    finally:
        envs.close()
    return ""
