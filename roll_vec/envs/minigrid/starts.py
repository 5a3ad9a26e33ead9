"""`StartGame`: the base of games whose users may choose where the agent starts."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.grids import place_agent_anywhere, put_agent
from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_int


@rule
def start_agent(env: Any, rng: Any) -> None:
    """Put the agent on the cell of its start; without one it is drawn."""
    x, y = env.start
    if x < 0:
        place_agent_anywhere(env, rng)
    else:
        put_agent(env, x, y, env.agent_start_dir)


def read_cell(options: MiniGrid, name: str) -> tuple[int, int] | None:
    """Return an option that is a cell (x, y) inside the border, or None.

    Parameters
    ----------
    options : MiniGrid
        Has the option, and ``width`` and ``height``.
    name : str

    Raises
    ------
    InvalidOptionError
    """
    value = getattr(options, name)
    if value is None:
        return None
    last = options.width - 2, options.height - 2
    try:
        x, y = value
        return check_int(name, x, 1, last[0]), check_int(name, y, 1, last[1])
    except (InvalidOptionError, TypeError, ValueError):
        accepted = f"None, or (x, y) from (1, 1) to {last}"
        raise InvalidOptionError.expected(name, accepted, value) from None


class StartGame(MiniGrid):
    """Base class of games in which the agent starts on a cell, and goes to the goal.

    Parameters
    ----------
    agent_start_pos : (int, int) or None
        Column and row of the agent at first; None: a random empty cell, and a random
        direction.
    agent_start_dir : int
        Its direction: 0 right, 1 down, 2 left, 3 up.

    Episode end
    -----------
    terminated
        The agent is on the goal: success.
    """

    agent_start_pos: tuple[int, int] | None = (1, 1)
    agent_start_dir: int = 0
    see_through_walls: bool = True
    MISSION: ClassVar[Any] = "get to the green goal square"

    def check_options(self) -> None:
        """Refuse cells that are not inside, and directions that do not exist."""
        super().check_options()
        self._set(agent_start_pos=read_cell(self, "agent_start_pos"))
        check_int("agent_start_dir", self.agent_start_dir, 0, 3)

    @property
    def start(self) -> tuple[int, int]:
        """The cell where the agent starts; (-1, -1): it is drawn."""
        return self.agent_start_pos or (-1, -1)
