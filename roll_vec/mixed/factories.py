"""`make_mixed`: a batch of environments of several families."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import gymnasium

from roll_vec.errors import InvalidOptionError, UnknownOptionError
from roll_vec.factories import MAX_POOLED_ENVS, make_vec
from roll_vec.mixed.allocation import allocate
from roll_vec.mixed.engine import Family
from roll_vec.mixed.vector_env import MixedVectorEnv
from roll_vec.options import (
    check_int,
    check_render_mode,
    check_unknown,
    keywords_of,
    take_options,
    takes_keywords_of,
)
from roll_vec.registration import find_registered
from roll_vec.spaces import UnicodeText
from roll_vec.vector.env import BatchOptions, RollVectorEnv

# The keywords of a family that are not those of its batch.
_OWN_KEYWORDS = ("id", "weight", "group_size")


@takes_keywords_of(BatchOptions)
def make_mixed(
    families: Mapping[str, Mapping[str, Any]],
    num_envs: int,
    *,
    render_mode: str | None = None,
    **keywords: Any,
) -> MixedVectorEnv:
    """Make a batch of environments of several families, which all act by text.

    Parameters
    ----------
    families : mapping
        By name, the keywords of each family: those that `make_vec` takes for its id,
        and three more.

        ``id`` : str
            The registered id; by default the name.
        ``weight`` : number above 0
            Its share of the environments is ``weight / sum of weights``; by default 1.
            See `roll_vec.mixed.allocation.allocate`.
        ``group_size`` : int
            Its number of environments is a multiple of this; by default the
            ``group_size`` of the batch.

        ``obs_mode`` and ``action_mode``, where an id has them, are ``text``.
    num_envs : int
        Of all families together.
    render_mode : str or None
        Of all families.
    **keywords
        Those of `roll_vec.vector.env.BatchOptions`.

    Returns
    -------
    MixedVectorEnv
        The environments of each family follow each other, in the order of the dict.

    Raises
    ------
    InvalidOptionError
        For a bad value; if the groups do not add up to ``num_envs``; if environments
        of a family do not observe or act by text.
    UnknownOptionError
        For a keyword that does not exist.
    gymnasium.error.Error
        If an id does not exist.
    """
    names = {*keywords_of(BatchOptions), "render_mode", "num_envs"}
    check_unknown(keywords, names)
    options = take_options(BatchOptions, keywords)
    num_envs = check_int("num_envs", num_envs, 1, MAX_POOLED_ENVS)
    if not isinstance(families, Mapping) or not families:
        accepted = "a mapping from names of families to their keywords, not empty"
        raise InvalidOptionError.expected("families", accepted, families)
    parsed = [
        _parse_family(name, own, options.group_size) for name, own in families.items()
    ]
    numbers = allocate(
        num_envs,
        [family.weight for family, _ in parsed],
        [family.group_size for family, _ in parsed],
    )
    members: list[Family] = []
    batches: list[RollVectorEnv] = []
    try:
        start = 0
        for (family, own), number in zip(parsed, numbers, strict=True):
            if render_mode is not None:
                own["render_mode"] = render_mode
            own |= {"autoreset_mode": options.autoreset_mode}
            batches.append(_make_batch(family, own, number))
            env_ids = range(start, start + number)
            members.append(
                Family(
                    family.name, family.id, family.weight, family.group_size, env_ids
                )
            )
            start += number
        env = MixedVectorEnv(members, batches, options)
        check_render_mode("render_mode", render_mode, env.metadata["render_modes"])
    except BaseException:
        for batch in batches:
            batch.close()
        raise
    return env


def _parse_family(
    name: Any, keywords: Any, group_size: int
) -> tuple[Family, dict[str, Any]]:
    """Return a family without environments, and the keywords of its batch."""
    if not isinstance(name, str):
        raise InvalidOptionError.expected("families", "names that are str", name)
    label = f"families[{name!r}]"
    if not isinstance(keywords, Mapping):
        raise InvalidOptionError.expected(label, "a mapping of keywords", keywords)
    own = dict(keywords)
    for key in ("num_envs", "render_mode", *keywords_of(BatchOptions)):
        if key in own and key not in _OWN_KEYWORDS:
            message = f"{label}: {key} is a keyword of the whole batch"
            raise UnknownOptionError(message)
    id = own.pop("id", name)
    if not isinstance(id, str):
        accepted, name_of_id = "a registered id", f"{label}: id"
        raise InvalidOptionError.expected(name_of_id, accepted, id)
    weight = own.pop("weight", 1)
    is_number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
    if not (is_number and 0 < weight < math.inf):
        accepted, name_of_weight = "a finite number above 0", f"{label}: weight"
        raise InvalidOptionError.expected(name_of_weight, accepted, weight)
    size = check_int(f"{label}: group_size", own.pop("group_size", group_size), 1)
    return Family(name, id, weight, size, range(0)), own


def _make_batch(
    family: Family, keywords: dict[str, Any], num_envs: int
) -> RollVectorEnv:
    """Return the batch of a family, whose observations and actions are texts."""
    label = f"families[{family.name!r}]"
    try:
        defaults = find_registered(family.id).defaults()
    except (gymnasium.error.Error, InvalidOptionError) as error:
        message = f"{label}: {error}; the keyword id names the registered id"
        raise type(error)(message) from None
    for mode in ("obs_mode", "action_mode"):
        if mode in defaults:
            keywords.setdefault(mode, "text")
    try:
        batch = make_vec(family.id, num_envs, **keywords)
    except (InvalidOptionError, UnknownOptionError) as error:
        message = f"{label}: {error}"
        raise type(error)(message) from error
    spaces = {
        "observations": batch.single_observation_space,
        "actions": batch.single_action_space,
    }
    for kind, space in spaces.items():
        if not isinstance(space, UnicodeText):
            batch.close()
            message = (
                f"{label}: a mixed batch needs texts, and {kind} of "
                f"{family.id} are of {space}"
            )
            raise InvalidOptionError(message)
    return batch
