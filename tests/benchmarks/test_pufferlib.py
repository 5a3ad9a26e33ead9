"""The peer in C: its levels, and a checkout that cannot be used."""

import numpy as np
import pytest

from benchmarks.levels import write_grids
from benchmarks.peers import pufferlib
from benchmarks.tasks import Unavailable
from roll_vec.envs.sokoban import load_levels

LEVEL = "##########\n#@$. *   #\n" + "#        #\n" * 7 + "##########"


def test_levels_have_planes_and_the_places_of_pieces(tmp_path):
    path = tmp_path / "levels.npy"
    grids = load_levels([LEVEL]).arrays[0]
    write_grids(path, grids)
    (level,) = pufferlib._encode(np.load(path))
    player, walls, boxes, targets = level[:400].reshape(4, 10, 10)
    assert np.argwhere(player).tolist() == [[1, 1]]
    assert walls.sum() == 36
    assert np.argwhere(boxes).tolist() == [[1, 2], [1, 5]]
    assert np.argwhere(targets).tolist() == [[1, 3], [1, 5]]
    # Column and row of the player; boxes, targets, boxes on targets.
    assert level[400:].tolist() == [1, 1, 2, 2, 1]


@pytest.mark.parametrize("checkout", ["", "."])
def test_without_a_checkout_the_row_says_so(checkout, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unavailable, match=r"--pufferlib PATH|no ocean/boxoban"):
        pufferlib.boxoban(4, checkout, "levels.npy", 120)
