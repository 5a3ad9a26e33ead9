"""The ids of stacked environments, and what tests need to know of each."""

from roll_vec.arrays.options import LevelOptions
from roll_vec.registration import ENVIRONMENTS

# Not games of rules: these have no class of options beside the rules.
IDS = tuple(id for id, x in ENVIRONMENTS.items() if not x.pooled and not x.rules)
OPTIONS = {id: ENVIRONMENTS[id].load() for id in IDS}
# Those that play a new level in each episode and have `action_start`.
LEVEL_IDS = tuple(id for id in IDS if issubclass(OPTIONS[id], LevelOptions))
FAMILIES = {id: OPTIONS[id].FAMILY for id in IDS}


def silent(id):
    """Return the keywords with which 0 is played without a warning."""
    return {"action_start": 1} if id in LEVEL_IDS else {}


def actions_of(id):
    """Return the actions with the default keywords."""
    options = OPTIONS[id]()
    return range(options.first_action, options.last_action + 1)
