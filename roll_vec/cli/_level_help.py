"""Descriptions, formats and examples in the help of ``roll-vec levels``."""

from __future__ import annotations

__all__ = ["DESCRIPTIONS", "EPILOGS", "SUMMARY"]

SUMMARY = "make, show, measure and write sets of levels"

DESCRIPTIONS = {
    "make": """\
Generate the levels that an environment with the keywords num_levels=N and
start_level=S plays: level n of the file is that of seed S + n. After Ctrl-C
there is no new file.
""",
    "show": """\
Draw the boards of levels side by side as a picture, in rows from left to right;
or write them on the screen as text, in the format of a file.
""",
    "stats": """\
Measure levels: the fewest moves and the fewest pushes that solve a Sokoban
level, by an exact search; the chance of the best player to reach the goal of a
lake; and how often a player of random actions succeeds within the step limit of
the environment (-o max_episode_steps=N). The tables need some 80 columns; --csv
has all values.
""",
    "export": """\
Write levels as text or as .npz. The keyword levels reads the file back as the
same levels: smaller ones of a set stay padded with wall to the size of the
largest.
""",
}

_GAMES = """\
Levels are those of roll_vec/Sokoban-v0 or of roll_vec/RandomFrozenLake-v0.
"""

_SOURCE = """\
A SOURCE is a file or a folder of levels, or an id, whose level n is that of
seed n. Beside an id, -o takes all its keywords; beside a file, which has its
levels already, max_episode_steps, max_steps, render_scale, and is_slippery of
lakes.
"""

_FILES = """\

files:
  .txt .xsb .sok   Sokoban: rows of # @ + $ * . and space; a level ends at a
                   blank line or at one that begins with ";"
  .txt             lakes: rows of S F H G, likewise
  .npz             an array "levels", see docs/levels.md

All of them are played with the keyword levels: -o levels=FILE.
"""

_EXAMPLES = {
    "make": """\
  roll-vec levels make roll_vec/Sokoban-v0 --num-levels 1000 --out train.txt
  roll-vec levels make roll_vec/Sokoban-v0 --num-levels 200 --start-level 1000 \\
      -o dim_room="(8, 8)" -o num_boxes=2 --out test.npz
""",
    "show": """\
  roll-vec levels show train.txt --levels 0-24 --out sheet.png
  roll-vec levels show roll_vec/RandomFrozenLake-v0 --levels 7 --text
""",
    "stats": """\
  roll-vec levels stats train.txt --csv train.csv
  roll-vec levels stats roll_vec/Sokoban-v0 --levels 0-999 -o num_boxes=2 \\
      --rows 0
""",
    "export": """\
  roll-vec levels export test.npz --out test.xsb
  roll-vec levels export roll_vec/Sokoban-v0 --levels 3,7,10-12 --out few.txt
""",
}

_PLAY = """\
  roll-vec play roll_vec/Sokoban-v0 -o levels=train.txt --seed 3
"""

EPILOGS = {
    "make": f"{_GAMES}{_FILES}\nexamples:\n{_EXAMPLES['make']}{_PLAY}",
    **{
        name: f"{_GAMES}{_SOURCE}{_FILES}\nexamples:\n{_EXAMPLES[name]}"
        for name in ("show", "stats", "export")
    },
    "": f"{_GAMES}\nexamples:\n{''.join(_EXAMPLES.values())}{_PLAY}",
}
"""By command; the empty name is that of ``roll-vec levels`` itself."""
