"""The episodes of each environment by itself, without the calls that produced them.

A trajectory is the list of one environment's resets and steps.  The three autoreset
modes spread it differently over calls; the trajectory itself must be the same in every
mode, in batches of any size, and whatever happens to the other environments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from roll_vec.testing.comparison import (
    UNKNOWN,
    difference,
    info_of,
    observation_of,
    without_keys,
)
from roll_vec.testing.recorder import Call, Recorder

_FINAL_KEYS = ("final_obs", "_final_obs", "final_info", "_final_info")


@dataclass(frozen=True)
class Transition:
    """One reset or one step of one environment.

    Parameters
    ----------
    kind : {"reset", "step"}
    did : str
        The calls up to the one that it comes from.
    """

    kind: str
    did: str
    observation: Any
    info: Any
    reward: Any = UNKNOWN
    terminated: Any = UNKNOWN
    truncated: Any = UNKNOWN


def trajectories(
    recorder: Recorder, space: spaces.Space[Any]
) -> list[list[Transition]]:
    """Return the trajectory of each environment, over all recorded calls.

    Parameters
    ----------
    recorder : Recorder
    space : Space
        The observation space of a single environment.
    """
    return [
        [
            transition
            for call in recorder.calls
            for transition in _transitions(call, recorder.mode, space, env)
        ]
        for env in range(len(recorder.sequences))
    ]


def _transitions(
    call: Call, mode: AutoresetMode, space: spaces.Space[Any], env: int
) -> list[Transition]:
    count = len(call.starts)
    if not call.is_step and not call.starts[env]:
        return []
    observation = observation_of(space, call.observations, env)
    if call.starts[env]:
        info = info_of(call.infos, env, count)
        return [Transition("reset", call.did, observation, info)]
    plain = {k: v for k, v in call.infos.items() if k not in _FINAL_KEYS}
    info = info_of(plain, env, count)
    outcome = (call.rewards[env], call.terminations[env], call.truncations[env])
    if not (mode is AutoresetMode.SAME_STEP and call.dones[env]):
        return [Transition("step", call.did, observation, info, *outcome)]
    # Missing finals are the business of the checks of final_obs and final_info.
    final_obs, final_info = call.infos.get("final_obs"), call.infos.get("final_info")
    last = final_obs[env] if final_obs is not None else UNKNOWN
    last_info: Any = UNKNOWN
    if isinstance(final_info, dict):
        last_info = info_of(final_info, env, count)
    return [
        Transition("step", call.did, last, last_info, *outcome),
        Transition("reset", call.did, observation, info),
    ]


def trajectory_difference(
    left: Sequence[Transition],
    right: Sequence[Transition],
    ignored_keys: frozenset[tuple[str, ...]],
) -> tuple[int, str] | None:
    """Compare two trajectories of one environment, up to the end of the shorter one.

    Parameters
    ----------
    left, right : sequence of Transition
    ignored_keys : frozenset of tuple of str
        Paths of info keys to leave out.

    Returns
    -------
    tuple of int and str, or None
        The position and a description of the first difference.
    """
    for position, (one, other) in enumerate(zip(left, right, strict=False)):
        diff = _transition_difference(one, other, ignored_keys)
        if diff is not None:
            return position, diff
    return None


def _transition_difference(
    one: Transition, other: Transition, ignored_keys: frozenset[tuple[str, ...]]
) -> str | None:
    if one.kind != other.kind:
        return f"a {one.kind} against a {other.kind}"
    for name in ("observation", "reward", "terminated", "truncated"):
        diff = difference(getattr(one, name), getattr(other, name), name)
        if diff is not None:
            return diff
    left, right = one.info, other.info
    if isinstance(left, dict) and isinstance(right, dict):
        return difference(
            without_keys(left, ignored_keys), without_keys(right, ignored_keys), "info"
        )
    return None
