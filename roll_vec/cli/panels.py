"""``roll-vec eval panels``: groups of splits, and the scores of simple policies."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from roll_vec.cli._errors import argument_error
from roll_vec.cli._options import add_command
from roll_vec.cli._tables import print_table
from roll_vec.evaluation.panels import PANELS, Panel, baseline_rows
from roll_vec.recordings.setup import current_versions

_DIGEST_CHARS = 12
# The policies of the baselines, and their heads.
_POLICIES = {
    "random": "random",
    "greedy": "greedy",
    "solver": "solver",
    "PPO": "trained",
}
_DESCRIPTION = """\
List the panels: frozen groups of splits for comparison between papers.  Scores
are the success in percent, of the baselines in docs/baselines.md; the trained
policy is that of docs/examples/ppo.py.
"""


def add_panels(commands: Any) -> None:
    """Add the command to the subparsers of ``roll-vec eval``."""
    text = "list groups of splits, with the scores of baselines"
    parser = add_command(commands, "panels", _list_panels, text, _DESCRIPTION)
    parser.option("NAME", "the panel (default: all)", nargs="?")


def _list_panels(arguments: argparse.Namespace) -> int:
    """Write one panel or all, a table for each."""
    name = arguments.name
    if name is not None and name not in PANELS:
        text = f"expected one of {', '.join(PANELS)}, got {name!r}"
        raise argument_error("NAME", text)
    for panel in PANELS.values() if name is None else [PANELS[name]]:
        heads = ("", "id", "split", "episodes", *_POLICIES.values())
        rows = [heads]
        for part, split in panel.splits.items():
            scores = [_score(f"{split.id} {split.name}: {x}") for x in _POLICIES]
            rows.append((part, split.id, split.name, f"{len(split):,}", *scores))
        digest = panel.digest[:_DIGEST_CHARS]
        # 80 columns, also in a pipe.
        title = textwrap.fill(f"{panel.name} {digest}: {panel.title}", 80)
        # The last column is flush left, and has no letter.
        print_table(rows, "<<<>>>>", title, _usage(panel) if name else ())
    return 0


def _usage(panel: Panel) -> list[str]:
    """Return the commands that play a panel, and the sentence that cites it."""
    parts = {part: f"{part}.jsonl" for part in panel.splits}
    runs = [
        f"  roll-vec eval run {split.id} --split {split.name} --out {parts[part]}"
        for part, split in panel.splits.items()
    ]
    results = ", ".join(f"... % ({part})" for part in parts)
    digest = panel.digest[:_DIGEST_CHARS]
    version = current_versions()["roll-vec"]
    sentence = (
        f"cite: On panel {panel.name} (roll_vec {version}, digest {digest}) the "
        f"success is {results}."
    )
    check = f"  roll-vec eval verify {' '.join(parts.values())}"
    return ["play, with --policy:", *runs, check, *textwrap.wrap(sentence, 80)]


def _score(title: str) -> str:
    """Return a success in percent."""
    row = baseline_rows().get(title)
    return "-" if row is None else f"{100 * row['success'][0]:.1f}"
