"""The cells of a Sokoban room, how they look, and the names of the actions."""

from __future__ import annotations

from roll_vec.arrays.grid_family import ArrayMode, Cell, GridFamily
from roll_vec.kernels.sokoban.rules import write_features
from roll_vec.render.tiles import SOKOBAN_TILES

# By code of `roll_vec.kernels.sokoban.rules`.  The glyphs are ROLL's; the pixels are
# those of gym-sokoban 0.0.6's tiny worlds, so that what was trained on those sees the
# same colours.
SOKOBAN = GridFamily(
    cells=(
        Cell("#", "wall", (0, 0, 0), "90"),
        Cell("_", "empty", (243, 248, 238), "2"),
        Cell("O", "target", (254, 126, 125), "1;31"),
        Cell("√", "box on target", (254, 95, 56), "1;32"),
        Cell("X", "box", (142, 121, 56), "1;33"),
        Cell("P", "player", (160, 212, 56), "1;36"),
        Cell("S", "player on target", (219, 212, 56), "1;35"),
    ),
    action_names=("Up", "Down", "Left", "Right"),
    drawn_tiles=SOKOBAN_TILES,
    more_modes={
        "planes4": ArrayMode(
            "a plane each for the player, walls, boxes and targets: 1 where they are",
            lambda _, h, w: (4, h, w),
            1,
            write_features,
        )
    },
)
