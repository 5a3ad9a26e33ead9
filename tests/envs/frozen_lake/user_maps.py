"""Maps of users that tests read and play."""

import numpy as np

ID = "roll_vec/RandomFrozenLake-v0"

MAPS = [["SFFH", "FHFF", "FFGF"], ["FFGF", "HFFF", "GFSH"], ["FGFF", "FFHF", "FFFS"]]
LETTERS = np.array([[list(row) for row in rows] for rows in MAPS])
# As an episode on each map begins.
EXPECTED = np.array(
    [[["SFHG".index(c) for c in row] for row in rows] for rows in MAPS], np.uint8
)
