"""``python -m benchmarks``: compare speeds with other packages, in a checkout."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import own_cases, peers, plot, suite, table
from benchmarks.cases import CASES, DEFAULT, QUICK
from benchmarks.result import write_result
from roll_vec.cli._options import integer_from, read_value
from roll_vec.cli._tables import progress

_DESCRIPTION = """\
Measure roll_vec beside other packages and beside itself.  Every contender runs in its
own process.  They are measured in turns, round by round, so that other load on the
machine slows all of them alike.  A package that is not installed is skipped, and the
table says why.
"""
_EPILOG = """\
A peer may be installed in another Python environment, which does not need roll_vec.
A whole run takes some twenty minutes, a quick one less than one.

examples:
  python -m benchmarks --quick
  python -m benchmarks --cases steps rooms --rounds 7 --out run.json
  python -m benchmarks --peer-python envpool=/path/to/bin/python
  python -m benchmarks --env my_module:mine/Env-v0 -o workers=4 --num-envs 1 64
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a table and write a file; return the exit code."""
    arguments = _parse(argv)
    plan = suite.Plan(
        arguments.cases or (QUICK if arguments.quick else DEFAULT),
        arguments.rounds or (suite.QUICK_ROUNDS if arguments.quick else suite.ROUNDS),
        arguments.quick,
        dict(arguments.peer_python),
        _command(arguments),
        str(arguments.pufferlib or ""),
    )
    result = suite.new_result(plan)
    try:
        with progress() as show:
            report_progress = show or (lambda *_: None)
            if arguments.env:
                options = dict(arguments.options)
                case = own_cases.custom(arguments.env, arguments.num_envs, options)
                suite.measure("custom", case, plan, result, report_progress)
            else:
                suite.run(plan, result, report_progress)
    except KeyboardInterrupt:
        # The figures until now go into the table alone: a file has a whole run.
        table.show(result)
        return 130
    # First: even if the file cannot be written, the figures have been shown.
    table.show(result)
    if arguments.out is not None:
        write_result(arguments.out, result)
        if result["curves"]:
            plot.draw(result, arguments.out.with_suffix(".png"))
        print(f"written: {arguments.out}")
    return 0 if any(row["values"] for row in result["rows"]) else 1


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    lines = [f"  {n}: {make.__doc__.splitlines()[0]}" for n, make in CASES.items()]  # type: ignore[union-attr]
    on_request = ", ".join(own_cases.ON_REQUEST)
    lines.append(f"  Without --cases all but {on_request}.\n\npeers:")
    lines += [f"  {name}: {peer.install}" for name, peer in peers.PEERS.items()]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=_DESCRIPTION,
        epilog="\n".join(["cases:", *lines, "", _EPILOG]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer cases and sizes, shorter rounds")
    add("--cases", nargs="+", choices=CASES, metavar="CASE", help="only these")
    add(
        "--rounds",
        type=integer_from(1),
        metavar="N",
        help="times that each contender is measured (default: 5, quick: 3)",
    )
    add(
        "--out",
        type=Path,
        metavar="FILE.json",
        help="where every figure is written, the plot beside it as .png",
    )
    add(
        "--peer-python",
        action="append",
        type=_peer_python,
        default=[],
        metavar="PEER=PYTHON",
        help="the interpreter that has a peer, if it is another one; may be repeated",
    )
    add(
        "--pufferlib",
        type=Path,
        metavar="PATH",
        help="a checkout of PufferLib 4, whose Boxoban gcc compiles",
    )
    add(
        "--env", metavar="ID", help="any id beside SyncVectorEnv, in place of the cases"
    )
    add(
        "--num-envs",
        type=integer_from(1),
        nargs="+",
        default=[1, 64, 1024],
        metavar="N",
    )
    add(
        "-o",
        dest="options",
        action="append",
        type=_keyword,
        default=[],
        metavar="KEY=VALUE",
        help="a keyword of --env, its value a Python literal or a plain string",
    )
    arguments = parser.parse_args(argv)
    out = arguments.out
    if out is not None and (out.suffix != ".json" or not out.parent.is_dir()):
        parser.error(f"--out: expected a file .json in a folder, got {str(out)!r}")
    for name, python in arguments.peer_python:
        reason = peers.interpreter_error(name, python)
        if reason is not None:
            parser.error(f"--peer-python {name}: {python} {reason}")
    return arguments


def _peer_python(text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    name = name.replace("-", "_")
    if name not in peers.PEERS or not path:
        names = ", ".join(peers.PEERS)
        message = f"expected PEER=PYTHON, PEER one of {names}, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return name, path


def _keyword(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, got {text!r}")
    return key, read_value(value)


def _command(arguments: argparse.Namespace) -> str:
    """Return the command that was typed, without absolute paths of this machine."""
    words = ["python -m benchmarks"]
    words += ["--quick"] * arguments.quick
    words += ["--cases", *arguments.cases] if arguments.cases else []
    words += ["--rounds", str(arguments.rounds)] if arguments.rounds else []
    words += [f"--peer-python {name}=..." for name, _ in arguments.peer_python]
    words += ["--pufferlib ..."] if arguments.pufferlib else []
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
