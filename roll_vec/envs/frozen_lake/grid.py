"""The cells of a frozen lake, how they look, and the names of the actions."""

from __future__ import annotations

from roll_vec.arrays.grid_family import Cell, GridFamily
from roll_vec.render.tiles import FROZEN_LAKE_TILES

# By code of `roll_vec.kernels.frozen_lake.rules`.  The glyphs are ROLL's; the actions
# are Gymnasium's directions in its order, ROLL's actions are one higher.
FROZEN_LAKE = GridFamily(
    cells=(
        Cell("P", "player", (135, 86, 201), "1;36"),
        Cell("_", "empty", (211, 236, 248), "2"),
        Cell("O", "hole", (23, 58, 99), "1;34"),
        Cell("G", "goal", (226, 61, 75), "1;33"),
        Cell("X", "player in hole", (13, 13, 26), "1;31"),
        Cell("√", "player on goal", (255, 205, 60), "1;32"),
    ),
    action_names=("Left", "Down", "Right", "Up"),
    drawn_tiles=FROZEN_LAKE_TILES,
)
