"""MiniGrid 3.2.0 and BabyAI as array environments: a class for each game.

`things` has the codes of what stands in cells, `grids` rules that draw levels, `steps`
and `views` rules of a step and of what the agent sees, `observations` their modes,
`pictures`, `tiles` and `texts` pictures and texts, `base` the class `MiniGrid`, `rooms`
grids of rooms, and `solver` plans.  The games are files of their own, and BabyAI's
begin with `babyai_`; `roll_vec.registration.minigrid_ids` is the table of ids.
"""

from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.rooms import RoomGrid

__all__ = ["MiniGrid", "RoomGrid"]
