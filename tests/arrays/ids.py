"""The ids of stacked environments, and what tests need to know of each."""

from roll_vec.registration import ENVIRONMENTS

# ROLL's grids and Gymnasium's lakes.
NAMES = "Sokoban", "FrozenLake", "FrozenLake8x8", "RandomFrozenLake"
IDS = tuple(
    id for id in ENVIRONMENTS if id.partition("/")[2].partition("-")[0] in NAMES
)
OPTIONS = {id: ENVIRONMENTS[id].load() for id in IDS}
# Those that play a new level in each episode and have `action_start`.
LEVEL_IDS = tuple(id for id in IDS if OPTIONS[id].level_variables)
FAMILIES = {id: OPTIONS[id].FAMILY for id in IDS}


def silent(id):
    """Return the keywords with which 0 is played without a warning."""
    return {"action_start": 1} if id in LEVEL_IDS else {}


def actions_of(id):
    """Return the actions with the default keywords."""
    options = OPTIONS[id]()
    first = options.first_action
    return range(first, first + len(options.action_names))
