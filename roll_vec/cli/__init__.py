"""The command line: ``roll-vec``, also ``python -m roll_vec``.

`main` runs a command; `make_parser` is for programs that describe the commands. Each
command has a module of its name; modules with a leading underscore are shared by them.

The core package is enough to import the command line. A command imports more when it
runs, and names the extra that brings a missing package. Errors of the user are one line
on stderr and exit code 2; Ctrl-C is 130; other failures are 1.
"""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

import roll_vec
from roll_vec.cli._errors import (
    FAILURE,
    INTERRUPTED,
    USER_ERROR,
    UsageError,
    as_argument,
    say_error,
)
from roll_vec.errors import DOCS, RollVecError, RollVecWarning, one_line

if TYPE_CHECKING:
    from roll_vec.cli._options import Parser

__all__ = ["main", "make_parser"]

# Arguments that set keywords of batches, for errors of `roll_vec.recordings`.
_ARGUMENTS = {"autoreset_mode": "--autoreset"}

_DESCRIPTION = """\
Thousands of reinforcement-learning and language-agent environments at once,
from the command line.
"""

_EPILOG = f"""\
examples:
  roll-vec info roll_vec/Sokoban-v0
  roll-vec rollout roll_vec/Sokoban-v0 --num-envs 4096 --steps 1000
  roll-vec rollout roll_vec/Sokoban-v0 --out run.npz
  roll-vec replay run.npz
  roll-vec watch run.npz --out page.html
  roll-vec eval run roll_vec/Sokoban-v0 --split test --policy oracle
  roll-vec diagnose results.jsonl --html diagnosis.html
  roll-vec export roll_vec/Sokoban-v0 --num-rows 1000 --out train.jsonl
  roll-vec play roll_vec/Sokoban-v0 --seed 1010

Each command has its own --help. The documentation:
{DOCS}
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments without the program's name; by default those of the process.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The shell closed it.  The file is open for the whole run.
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # Characters that a terminal or pipe lacks become question marks.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = _run(argv)
        # At exit Python would flush it, where an error can no longer be caught.
        sys.stdout.flush()
    except KeyboardInterrupt:
        say_error("interrupted")
        return INTERRUPTED
    except OSError as error:
        reason = _output_error()
        if reason is None:
            raise
        # The reader, for example `head`, has closed the pipe.
        if isinstance(error, BrokenPipeError):
            return 0
        say_error(f"error: cannot write the output: {reason}")
        return FAILURE
    except MemoryError as error:
        # Such as by a limit for files of strangers.
        say_error(f"error: it does not fit into the memory: {one_line(error)}")
        return FAILURE
    except RollVecError as error:
        section = f" (see {error.docs})" if error.docs else ""
        if not section:
            error = as_argument(error, _ARGUMENTS)
        say_error(f"error: {_without_own_keywords(one_line(error))}{section}")
        return USER_ERROR
    return code


def _without_own_keywords(text: str) -> str:
    """Return an error without the keywords, in its list, that the command sets."""
    from roll_vec.cli._options import SET_BY_COMMAND

    head, *names = re.split(r"(those that exist: |keywords: expected one of )", text)
    own = "|".join(SET_BY_COMMAND)
    return head + re.sub(rf"\b({own})(, |$)", "", "".join(names))


def _run(argv: Sequence[str] | None) -> int:
    """Run the command in the arguments and return its exit code."""
    from roll_vec.cli.doctor import find_kernels_fault

    words = sys.argv[1:] if argv is None else argv
    fault = find_kernels_fault()
    if fault is not None and [*words[:1]] != ["doctor"]:
        raise UsageError(fault)
    try:
        arguments = make_parser().parse_args(argv)
        with _warnings_for_users():
            code: int = arguments.run(arguments)
    except SystemExit as request:
        # From --help, --version, or a signal that asks the program to end.
        return request.code if isinstance(request.code, int) else 0
    return code


@contextmanager
def _warnings_for_users() -> Iterator[None]:
    """Show this package's warnings as one plain line, others as Python does."""
    original = warnings.formatwarning

    def format_warning(message: Any, category: type[Warning], *place: Any) -> str:
        text = str(message).rstrip()
        # Kernels cannot import the package's warnings; they name the package instead.
        if issubclass(category, RollVecWarning) or text.startswith("roll_vec: "):
            return f"roll-vec: warning: {text.removeprefix('roll_vec: ')}\n"
        return original(message, category, *place)

    with warnings.catch_warnings():
        # Gymnasium's remarks to programmers.
        warnings.filterwarnings("ignore", message=r".*WARN: ")
        warnings.filterwarnings("ignore", module=r"gymnasium\b")
        warnings.formatwarning = format_warning  # type: ignore[assignment]
        try:
            yield
        finally:
            warnings.formatwarning = original


def _output_error() -> str | None:
    """Return why stdout cannot be written to; None: it can.

    An empty line is written to find out.  Afterwards stdout leads nowhere, so that
    Python does not report the error once more when it flushes stdout at exit.
    """
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error.strerror or str(error)
    return None


def make_parser() -> Parser:
    """Return the parser of all commands; of a checkout without kernels, of `doctor`."""
    # Here, where `main` catches Ctrl-C: these imports take a third of a second.
    from roll_vec.cli import doctor
    from roll_vec.cli._options import Parser

    parser = Parser(prog="roll-vec", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument(
        "--version",
        action="version",
        version=f"roll-vec {roll_vec.__version__} (gymnasium {gymnasium.__version__})",
        help="show the versions of this program and of gymnasium and exit",
    )
    commands = parser.add_commands()
    if doctor.find_kernels_fault() is None:
        from roll_vec.cli import (
            diagnose,
            eval,
            export,
            info,
            levels,
            play,
            replay,
            rollout,
            warm,
            watch,
            webshop,
        )

        order = rollout, replay, eval, diagnose, watch, export, play, info, levels
        for command in (*order, webshop, warm):
            command.add_parser(commands)
    doctor.add_parser(commands)
    return parser
