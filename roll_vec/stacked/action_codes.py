"""The action codes of array environments, and the warning of action 0.

::

    action_start      actions    0 is
    None, 1           1 to 4     "no valid action": nothing moves, the step counts
    0, FrozenLake-v1  0 to 3     an action like the others

With None the first 0 that is played gives a warning: an agent that counts its actions
from 0 would never play the last one, and nothing else would say so.
"""

from __future__ import annotations

from typing import Any

from roll_vec.errors import ActionStartWarning, warn_caller
from roll_vec.stacked.options import NUM_ACTIONS

__all__ = ["ActionCodes"]


class ActionCodes:
    """The integers that an environment or a batch accepts as actions.

    Parameters
    ----------
    options : ActionOptions

    Attributes
    ----------
    first, last : int
        The actions.
    lowest : int
        The least integer that is accepted: 0.
    usual : int
        The least integer that needs no warning: ``first`` until the warning is given,
        ``lowest`` afterwards.  One range check from ``usual`` on finds both a 0 and
        actions to refuse, so that the warning costs nothing more.
    """

    def __init__(self, options: Any) -> None:
        self.first = options.first_action
        self.last = self.first + NUM_ACTIONS - 1
        self.lowest = self.usual = 0
        if getattr(options, "action_start", 0) is None:
            self.usual = self.first

    def warn(self, space: str) -> None:
        """Warn of the action 0, once; again if the warning was raised as an error.

        Parameters
        ----------
        space : str
            Name of the attribute that has the space of one action.
        """
        warn_caller(
            'the action 0 is "no valid action" here: nothing moves, the step counts. '
            f"The actions are {self.first} to {self.last}: play action + {space}.start "
            "if yours count from 0, or make the environment with action_start=0. "
            f"action_start={self.first} keeps 0 as it is and gives no warning",
            ActionStartWarning,
        )
        self.usual = self.lowest
