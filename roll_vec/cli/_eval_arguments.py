"""The arguments of ``roll-vec eval``, and its help."""

from __future__ import annotations

import argparse
from pathlib import Path

from roll_vec.cli._arguments import add_option_argument, integer_from
from roll_vec.cli._chat_arguments import add_chat_arguments
from roll_vec.cli._policies import ENDPOINT_FORM, FORMS

__all__ = ["DESCRIPTION", "EPILOG", "MAX_ENVS", "add_arguments"]

MAX_ENVS = 256

DESCRIPTION = """\
Play each episode of a split once, and report the mean return, the success rate
and their 95 % intervals. A split is a fixed, named set of episodes with a
digest: results on the same split can be compared.
"""

EPILOG = """\
policies:
  random            uniform over the actions, or over examples of texts: a
                    function of --seed, episode and step
  oracle            the right action, of an environment that knows it
  constant:A        always the action A, a Python literal, or a text without
                    quotes
  module:attribute  a Python callable: batch of observations -> batch of
                    actions; if its first parameter is called turn, it gets a
                    roll_vec.trajectories.Turn: the observations, episodes and
                    steps
  http(s)://...     a language model behind an endpoint that speaks OpenAI's
                    chat protocol (extra chat), with --model; its key, if it
                    needs one, is that of the environment variable
                    OPENAI_API_KEY. Grids are shown as texts, and the answer
                    stands between <answer> and </answer>; -o action_pattern=...
                    changes this.

With --out an interrupted run goes on: the same command plays the episodes that
the file does not have. The file has one line for each episode, after a header;
roll-vec eval --compare reads two of them.

-o takes the keywords that leave the task as it is, such as obs_mode,
action_pattern or workers. For roll_vec/WebShop-v0 it also takes products and
the other files of a shop: the split then has the goals of this shop.

examples:
  roll-vec eval roll_vec/Sokoban-v0
  roll-vec eval roll_vec/Sokoban-v0 --split test --policy oracle \\
      --out oracle.jsonl
  roll-vec eval roll_vec/Sokoban-v0 --split test --policy my_agent:act \\
      --out mine.jsonl
  roll-vec eval --compare oracle.jsonl mine.jsonl
  roll-vec eval roll_vec/Countdown-v0 --split test --num 500 --model NAME \\
      --policy http://localhost:8000/v1 --max-tokens 512 --out model.jsonl
  roll-vec eval roll_vec/Sokoban-v0 --split test --check
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    add = parser.add_argument
    positive = integer_from(1)
    add(
        "id",
        nargs="?",
        metavar="ID",
        help="for example roll_vec/Sokoban-v0 or roll_vec/Sokoban",
    )
    add(
        "--split",
        metavar="NAME",
        help="the set of episodes (default: the splits are listed)",
    )
    add(
        "--list",
        action="store_true",
        help="list the splits of ID, or of all ids, and do nothing else",
    )
    add(
        "--check",
        action="store_true",
        help="compute the digest of the split, compare it and do nothing else",
    )
    add(
        "--policy",
        metavar="NAME",
        help=f"{FORMS}, or {ENDPOINT_FORM}, see below (default: random)",
    )
    add(
        "--seed",
        type=integer_from(0),
        default=0,
        metavar="N",
        help="seed of the random policy (default: %(default)s)",
    )
    add(
        "--num",
        type=positive,
        metavar="N",
        help="play the first N episodes of the split (default: all)",
    )
    add(
        "--num-envs",
        type=positive,
        metavar="N",
        help=f"environments stepped at once; no result depends on it (default: as many "
        f"as episodes, at most {MAX_ENVS})",
    )
    add(
        "--threads",
        type=positive,
        metavar="N",
        help="threads of an environment that has them (default: its own choice)",
    )
    add_option_argument(
        parser,
        "keyword of the environment that leaves the task as it is, see below; may be "
        "repeated",
    )
    add(
        "--out",
        type=Path,
        metavar="FILE.jsonl",
        help="write the results, see below (default: they are printed alone)",
    )
    add(
        "--retry-faults",
        action="store_true",
        help="with --out, play episodes again that ended by a fault in the file",
    )
    add(
        "--quiet",
        action="store_true",
        help="no progress bar, no table; files are written, errors are shown",
    )
    compare = parser.add_argument_group("comparing two files of results")
    compare.add_argument(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("A", "B"),
        help="print the differences between two files of --out, B minus A",
    )
    compare.add_argument(
        "--common",
        action="store_true",
        help="compare the episodes that both files have; without it, others are an "
        "error",
    )
    add_chat_arguments(parser)
