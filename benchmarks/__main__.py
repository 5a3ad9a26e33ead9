"""``python -m benchmarks``: compare speeds with other packages, in a checkout."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import peers, suite, table
from benchmarks.progress import progress_bars
from roll_vec.files import replace_file

_DESCRIPTION = """\
Measure roll_vec beside other packages: Gymnasium's SyncVectorEnv and
AsyncVectorEnv, EnvPool, Jumanji, gymnax, gym-sokoban, reasoning-gym. Every
contender runs in its own process. They are measured in turns, round by round,
so that other load on the machine slows all of them alike. A package that is not
installed is skipped, and the table says why.

Run it in the root of a checkout of roll_vec, where the folder benchmarks is: it
measures that checkout.
"""

_EPILOG = """\
cases:
  steps    FrozenLake-v1 beside all peers; Sokoban beside the same SyncVectorEnv
  boxoban  Sokoban 10x10, the same given levels for all (quick: fewer sizes)
  rooms    Sokoban's rooms beside gym-sokoban's; not in a quick run
  forms    texts beside grids, unroll beside step, one environment
  threads  two threads beside one, large batches beside small; not in a quick
           run
  texts    Countdown, the pool, the parser; not in a quick run
  webshop  not in a quick run
  solver   Sokoban solved, beside a search in plain Python; not in a quick run
  snapshots   get_state, set_state and clones, in steps; not in a quick run
  bands    levels within a band of difficulty beside any; not in a quick run
  actions  sample_actions beside action_space.sample; not in a quick run
  goals    levels ahead of time, threads, first calls; only if it is named

peers (pip install ...):
  envpool==1.2.5   jumanji==1.1.2 "jax[cpu]"   reasoning-gym==0.1.25
  gymnax==1.0.1 "jax[cpu]" six "gymnasium<1.4" (so not beside roll_vec's newest)
  gym-sokoban==0.0.6 --no-deps (with numpy)

A peer may be installed in another Python environment, which does not need
roll_vec. A whole run takes some ten minutes, a quick one less than one.

examples:
  python -m benchmarks --quick
  python -m benchmarks --cases steps rooms --rounds 7 --out run.json
  python -m benchmarks --peer-python envpool=/path/to/bin/python \\
      --peer-python jumanji=/path/to/jumanji/bin/python
  python -m benchmarks.report benchmarks/results/run.json   # published figures
  python -m benchmarks.goals    # the case goals twice, and its published table
"""

_CASES = (
    "steps",
    "boxoban",
    "rooms",
    "forms",
    "threads",
    "texts",
    "webshop",
    "solver",
    "snapshots",
    "bands",
    "actions",
    "goals",
)
_PEERS = (
    "gymnasium",
    "envpool",
    "jumanji",
    "gymnax",
    "gym_sokoban",
    "reasoning_gym",
    "pufferlib",
)


def _peer_python(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    name = name.replace("-", "_")
    if name not in _PEERS or not equals or not path:
        message = f"expected PEER=PYTHON, PEER one of {', '.join(_PEERS)}, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return name, path


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        message = f"expected an integer from 1 up, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def main(argv: list[str] | None = None) -> int:
    """Measure, print a table and write a file; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer cases and sizes, shorter rounds"
    )
    parser.add_argument(
        "--cases",
        nargs="+",
        choices=_CASES,
        metavar="CASE",
        help="only these: " + ", ".join(_CASES),
    )
    parser.add_argument(
        "--rounds",
        type=_positive,
        metavar="N",
        help="times that each contender is measured (default: 5, quick: 3)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("benchmarks.json"),
        metavar="FILE",
        help="where every figure is written, the plot beside it as .png "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--peer-python",
        action="append",
        type=_peer_python,
        default=[],
        metavar="PEER=PYTHON",
        help="the interpreter that has a peer, if it is another one; may be repeated",
    )
    return _run(parser, parser.parse_args(argv))


def _run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    out = arguments.out
    if out.suffix.lower() != ".json" or not out.parent.is_dir():
        parser.error(f"--out: expected a file .json in a folder, got {str(out)!r}")
    interpreters = dict(arguments.peer_python)
    for name, python in interpreters.items():
        reason = peers.interpreter_error(name, python)
        if reason is not None:
            parser.error(f"--peer-python {name}: {python} {reason}")
    plan = suite.plan_of(
        arguments.cases,
        arguments.rounds,
        arguments.quick,
        interpreters,
        _command(arguments),
    )
    try:
        with progress_bars() as report_progress:
            result = suite.run(plan, report_progress)
    except suite.Interrupted as stop:
        # The figures until now go into the table alone: a file has a whole run.
        table.show(stop.result)
        return 130
    # First: even if the file cannot be written, the figures have been shown.
    table.show(result)
    text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    with replace_file(out) as file:
        file.write(text.encode())
    lines = [f"written: {out}", *_draw(result, out)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _command(arguments: argparse.Namespace) -> str:
    """Return the command that was typed, without absolute paths of this machine."""
    words = ["python -m benchmarks"]
    words += ["--quick"] * arguments.quick
    words += ["--cases", *arguments.cases] if arguments.cases else []
    words += ["--rounds", str(arguments.rounds)] if arguments.rounds else []
    words += [f"--peer-python {name}=..." for name, _ in arguments.peer_python]
    out = arguments.out.name if arguments.out.is_absolute() else arguments.out
    return " ".join([*words, "--out", str(out)])


def _draw(result: Any, out: Path) -> list[str]:
    """Draw the plot; return a line about it."""
    image = out.with_suffix(".png")
    try:
        from benchmarks.plot import draw

        is_drawn = draw(result, image)
    except ImportError as error:
        return [f"no plot: {error}; it needs matplotlib, of the extra bench"]
    except OSError as error:
        return [f"no plot: {image} cannot be written: {error.strerror}"]
    return [f"plot: {image}"] if is_drawn else []


if __name__ == "__main__":
    sys.exit(main())
