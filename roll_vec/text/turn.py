"""The turn: one step of an environment, or of a batch, with a parsed text.

A turn plays the actions of a text in their order until the episode ends; for a text
without a valid action, the parser's ``no_action``.  The turn is one step for every
limit.

Rewards and the info ``advantage`` are added up in this order.  ``action_is_effective``
is true if it is for one of the actions; stacked environments multiply the ``prob`` of
slippery moves.  Everything else is the last action's: observation, end of the episode,
all other infos.

``action_is_valid`` is false where a part of the text is no action, or where the
environment says so; ``format_penalty`` is then added once.  The infos
``action_content`` and ``think_content`` are the parts of the text.

`step_text` is the rule for one environment, `step_texts` for a batch of stacked arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.text.action_parser import ActionParser, ParsedBatch
from roll_vec.text.validation import check_text

# Keys of infos that stacked environments multiply over the actions of a turn.
MULTIPLIED_INFOS = ("prob",)
_COMBINED_INFOS = {
    **dict.fromkeys(MULTIPLIED_INFOS, np.multiply),
    "advantage": np.add,
    "action_is_effective": np.logical_or,
}

# Observation, reward, terminated, truncated, info.
EnvStep = tuple[Any, Any, Any, Any, dict[str, Any]]
# Rewards, terminations, truncations, and infos by key, all (n,).
BatchStep = tuple[
    NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, NDArray[Any]]
]


def step_text(
    parser: ActionParser,
    text: Any,
    step: Callable[[Any], EnvStep],
    multiplied_infos: tuple[str, ...] = (),
) -> EnvStep:
    """Step one environment with a text.

    Parameters
    ----------
    parser : ActionParser
    text : str
    step : function from an action to an EnvStep
        Plays one action; its info, with ``action_is_valid``, is changed.
    multiplied_infos : tuple of str
        Keys of infos that are multiplied, where the environment has them.

    Raises
    ------
    InvalidActionError
        If the text is no str; no action was played then.
    """
    actions, content, think, is_valid = parser.parse(check_text(text))
    result = step(actions[0] if actions else parser.no_action)
    observation, reward, terminated, truncated, info = result
    is_effective = info.get("action_is_effective")
    for action in actions[1:]:
        if terminated or truncated:
            break
        total, earlier = reward, info
        observation, reward, terminated, truncated, info = step(action)
        reward = total + reward
        is_effective = is_effective or info.get("action_is_effective")
        if "action_is_effective" in info:
            info["action_is_effective"] = is_effective
        if "advantage" in info:
            info["advantage"] += earlier["advantage"]
        for key in multiplied_infos:
            if key in info:
                info[key] *= earlier[key]
    if not is_valid:
        info["action_is_valid"] = False
    if not info["action_is_valid"]:
        reward = float(reward) + parser.options.format_penalty
    info["action_content"] = content
    info["think_content"] = think
    return observation, reward, terminated, truncated, info


def step_texts(
    parser: ActionParser,
    batch: ParsedBatch,
    skip_mask: NDArray[np.bool_],
    step: Callable[[NDArray[np.int64], NDArray[np.bool_]], BatchStep],
) -> BatchStep:
    """Step a batch with parsed texts.

    Parameters
    ----------
    parser : ActionParser
        Has parsed the texts.
    batch : ParsedBatch
        Of n texts.
    skip_mask : (n,) bool
        Environments that play no action.
    step : function from (n,) int64 codes and a mask to a BatchStep
        Plays one action in every environment but those of the mask, which have zeros.

    Returns
    -------
    BatchStep
        The arrays of ``step`` are changed.
    """
    rewards, terminations, truncations, infos = step(batch.codes[0], skip_mask)
    for number in range(1, len(batch.codes)):
        active = (number < batch.counts) & ~(terminations | truncations | skip_mask)
        if not active.any():
            break
        more, ends, limits, later = step(batch.codes[number], ~active)
        rewards[active] += more[active]
        terminations |= ends
        truncations |= limits
        for key, values in infos.items():
            if key in _COMBINED_INFOS:
                _COMBINED_INFOS[key](values, later[key], out=values, where=active)
            else:
                values[active] = later[key][active]
    rewards[~(batch.is_valid | skip_mask)] += parser.options.format_penalty
    infos["action_is_valid"] = batch.is_valid
    infos["action_content"] = batch.action_contents
    infos["think_content"] = batch.think_contents
    return rewards, terminations, truncations, infos
