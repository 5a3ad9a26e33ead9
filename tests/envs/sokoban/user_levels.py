"""Given levels that tests read and play."""

import gymnasium
import numpy as np

ID = "roll_vec/Sokoban-v0"

# Of different sizes, outlines and numbers of boxes.
ONE = "#####\n#@$.#\n#####"
TWO = "  ####\n###  #\n#+ $ #\n# *  #\n######"
THREE = "####  \n#@-#\n#$_##\n#   #\n#.  #\n#####"
COLLECTION = f"; 0\n{ONE}\n\n\n{TWO}\n; the last\n{THREE}\n"
DRAWN = [
    ["######", "#PXO##", "######", "######", "######", "######"],
    ["######", "###__#", "#S_X_#", "#_√__#", "######", "######"],
    ["######", "#P_###", "#X_###", "#___##", "#O__##", "######"],
]
EXPECTED = np.array(
    [[["#_O√XPS".index(c) for c in row] for row in rows] for rows in DRAWN], np.uint8
)


def batch(levels, num_envs=3, **more):
    return gymnasium.make_vec(ID, num_envs=num_envs, levels=levels, **more)
