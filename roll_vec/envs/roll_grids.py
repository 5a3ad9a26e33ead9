"""`RollGridEnv`: the keywords that ROLL's grid environments share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from roll_vec.arrays.grid_env import GridEnv
from roll_vec.options import check_int, check_lookup, check_optional, option


class RollGridEnv(GridEnv):
    """Base class of ROLL's grids, which play a new level in each episode.

    Parameters
    ----------
    max_steps : int or None
        A second step limit, ROLL's, beside ``max_episode_steps``.
    grid_lookup : dict from int to str, or None
        Glyphs of the cell codes; codes that it does not have are ``?``.
    action_start : int or None
        The first action: 1, as ROLL counts, 0, or None for 1 with a warning.  With 1
        the action 0 is "no valid action": nothing moves, the step counts.  With 0 each
        action moves.  None warns at the first action 0.  Texts play the same in all
        three.
    action_lookup : dict from int to str, or None
        Names of the actions, from the first action on.
    levels : array, str, PathLike, list, or None
        Your own levels to play.

    Infos
    -----
    action_is_effective : bool; step
        The player has moved.
    action_is_valid : bool; step
        The action was not "no valid action".

    Raises
    ------
    InvalidOptionError
    """

    infos: ClassVar[Any] = ("action_is_effective", "action_is_valid", "success")
    # The rule gets "no valid action", so that the step's infos are those of a step.
    takes_invalid_actions = True

    max_steps: int | None = option(None, check_optional, check_int, 1)
    action_start: int | None = option(  # type: ignore[assignment]
        None, check_optional, check_int, 0, 1
    )
    action_lookup: Mapping[int, str] | None = None  # type: ignore[assignment]
    levels: Any = None

    def __post_init__(self) -> None:
        lookup = self.grid_lookup
        super().__post_init__()
        if lookup is not None:
            # As in ROLL.
            self._set(grid_lookup=dict(lookup))

    def check_options(self) -> None:
        """Check the names of actions, and fill them in."""
        super().check_options()
        names = dict(enumerate(self.actions, self.first_action))
        lookup = check_lookup("action_lookup", self.action_lookup, names)
        self._set(action_lookup=lookup)

    @property
    def first_action(self) -> int:
        """The lowest action; the others follow."""
        return 1 if self.action_start is None else int(self.action_start)

    @property
    def lowest_action(self) -> int:
        """The lowest integer that is accepted: 0 may be "no valid action"."""
        return 0
