"""The form of a game's description: rewards, ends, infos, actions and sources.

Each game has a function that returns its description, in
``envs/<game>/description.py``; `roll_vec.registration` names it, and
`roll_vec.descriptions` puts it beside the spaces and the keywords.  Numbers come from
the kernels and the options.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Reward(NamedTuple):
    """A rule of the reward; the rewards of all rules that apply are added."""

    value: float | str
    """The number; a text where it is computed, such as ``0 to 1``."""
    rule: str
    """The event that earns it."""


class Info(NamedTuple):
    """A key of the infos."""

    key: str
    dtype: str
    """Of a batch's array, such as ``bool``; ``dict`` and ``str`` as in Python."""
    calls: str
    """``reset``, ``step``, both, or ``end`` for the last step of an episode."""
    meaning: str
    keyword: str = ""
    """The keyword that asks for it; empty: it is always there."""


class Source(NamedTuple):
    """A program that a game is equal to, in some of its parts."""

    name: str
    version: str
    url: str
    parts: str
    """The parts that are equal, to the bit."""


@dataclass(frozen=True, kw_only=True)
class GameDescription:
    """A game, beside its spaces and keywords.

    Parameters
    ----------
    actions : str
        A sentence about the actions that their space does not tell; may be empty.
    cells : tuple of (str, str)
        The glyph and the meaning of each cell code, from 0; empty without a grid.
    rewards : tuple of Reward
    terminated, truncated : tuple of str
        The events that end an episode by the rules, and by a limit besides
        ``max_episode_steps``.
    infos : tuple of Info
    sources : tuple of Source
    differences : tuple of str
        Deliberate differences from the sources.
    page : str
        The page of the documentation, from the root of the repository.
    """

    actions: str = ""
    cells: tuple[tuple[str, str], ...] = ()
    rewards: tuple[Reward, ...]
    terminated: tuple[str, ...]
    truncated: tuple[str, ...] = ()
    infos: tuple[Info, ...]
    sources: tuple[Source, ...]
    differences: tuple[str, ...] = ()
    page: str


def parse_infos(table: str, keyword: str = "") -> tuple[Info, ...]:
    """Return the infos of a table.

    Parameters
    ----------
    table : str
        An info a line, its fields separated by ``|``.  A line that begins with spaces
        continues the one above it.
    keyword : str
        Of those that name none.
    """
    rows = _split_rows(table)
    return tuple(Info(*row, *[keyword][len(row) - 4 :]) for row in rows)


def parse_sources(table: str) -> tuple[Source, ...]:
    """Return the sources of a table, whose form is that of `parse_infos`."""
    return tuple(Source(*row) for row in _split_rows(table))


def _split_rows(table: str) -> list[list[str]]:
    rows = table.strip().replace("\n  ", "").split("\n")
    return [[field.strip() for field in row.split("|")] for row in rows]


ACTION_INFOS = parse_infos("""
action_is_effective | bool | step | The player has moved.
action_is_valid | bool | step | The action was not "no valid action".
success | bool | step | The step has won the game.
""")
"""The infos of steps of ROLL's games on grids."""

ACTION_MASK_INFO = Info(
    "action_mask",
    "(4,) int8",
    "reset, step",
    "1 for the actions that can change something.",
    "action_mask=True",
)


def mask_info(options: Any) -> Info:
    """Return the info ``action_mask`` of a game with more or fewer than 4 actions."""
    return ACTION_MASK_INFO._replace(dtype=f"({len(options.action_names)},) int8")


LEVEL_INFOS = parse_infos("""
seed | int64 | reset | The seed that opens the episode. | seed_info=True
level | int64 | reset | The number of the level. | level_info=True
oracle_return | float64 | reset | The return of a best solution.
   | oracle_return_info=True
""")
"""The infos of resets of games that play a new level in each episode."""

_TEXT_INFOS = """
env_instruction | str | reset | The prompt of an agent.
action_content | str | step | The action's part of the text.
think_content | str | step | The thinking's part of the text.
"""
TEXT_INFOS = parse_infos(_TEXT_INFOS, "action_mode='text'")
"""The infos that come with actions by text."""
RULE_TEXT_INFOS = (
    *parse_infos(
        "action_is_valid | bool | step | The text had an action.", "action_mode='text'"
    ),
    *TEXT_INFOS,
)
"""The same, where other steps have no info of valid actions."""
PUZZLE_INFOS = (*LEVEL_INFOS[:2], *RULE_TEXT_INFOS)
"""The infos on request of each puzzle on a board."""
TEXT_GAME_INFOS = (*parse_infos(_TEXT_INFOS), *LEVEL_INFOS)
"""The infos of each game of text with levels."""


TEXT_FRAMES = "The text of ``render_mode='ansi'`` is not Gymnasium's."
OTHER_INSTRUCTION = "The instruction has other words."


def describe_grid_game(
    options: Any, effect: str = "nothing moves", **others: Any
) -> GameDescription:
    """Return the description of a built-in game on a grid.

    Parameters
    ----------
    options : GridOptions
        Gives the cells, and the limit ``max_steps`` if it has that keyword.
    effect : str
        Of "no valid action".
    **others
        Those fields of `GameDescription` that the options do not give.
    """
    actions = ""
    if options.action_mode == "text":
        actions = f"A text without the name of an action: {effect}, the step counts."
    elif options.first_action > 0:
        actions = f'0 is "no valid action": {effect}, the step counts.'
    limit = getattr(options, "max_steps", None)
    truncated = () if limit is None else (f"After {limit} steps (``max_steps``).",)
    cells = tuple((cell.glyph, cell.meaning) for cell in options.FAMILY.cells)
    return GameDescription(actions=actions, cells=cells, truncated=truncated, **others)


def missing_attributes(*names: str) -> str:
    """Return the difference that attributes of Gymnasium's class are not there."""
    listed = "".join(f"``{name}``, " for name in names)
    listed += "and those" if names else "those"
    return (
        f"Attributes of the original that are not there: {listed} of its pictures, "
        "such as ``screen`` and ``clock``."
    )


FLOAT32_ACTIONS = (
    "Actions are rounded to float32, which their space has; the original calculates "
    "with actions of float64 in float64."
)


def describe_classic_control(
    options: Any,
    id: str,
    page: str,
    missing: tuple[str, ...] = (),
    differences: tuple[str, ...] = (),
    **others: Any,
) -> GameDescription:
    """Return the description of a game of Gymnasium's classic control.

    Parameters
    ----------
    options : ArrayEnv
    id : str
        Gymnasium's.
    page : str
        The name of the page of the game, in ``docs/games``.
    missing : tuple of str
        Attributes that the original has, beside those of its pictures.
    differences : tuple of str
        Beside those that all of these games have.
    **others
        As ``rewards`` of `GameDescription`.
    """
    source = Source(
        f"Gymnasium, {id}",
        "1.4.0",
        "https://gymnasium.farama.org/environments/classic_control/",
        "starts from the same seeds, steps, rewards",
    )
    actions = ""
    if options.action_names:
        actions = (
            "A text without the name of an action: nothing moves, the reward is "
            f"{options.invalid_reward:g}, the step counts."
        )
    return GameDescription(
        actions=actions,
        infos=RULE_TEXT_INFOS if actions else (),
        sources=(source,),
        differences=(
            missing_attributes(*missing),
            *differences,
        ),
        page=f"docs/games/{page}.md",
        **others,
    )
