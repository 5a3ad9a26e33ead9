"""Everything that is known about an id: the form of `roll-vec info`."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import EnvSpec

from roll_vec.descriptions.keywords import (
    Keyword,
    describe_batch_keywords,
    describe_keywords,
    find_options,
)
from roll_vec.envs.game_description import GameDescription
from roll_vec.evaluation import Split, splits_of
from roll_vec.options import check_unknown, cut_sections
from roll_vec.recordings.environments import action_names, load_class, render_modes
from roll_vec.registration import ENVIRONMENTS

_FAULT = "A fault of the object in a pool: an exception, a time limit, a dead process."


class Observation(NamedTuple):
    """A form of observations."""

    mode: str
    """The value of ``obs_mode``; empty where there is no such keyword."""
    space: str
    meaning: str
    """The contents of an observation; empty where there is one form alone."""


# Most actions that are listed by name.
_MAX_LISTED = 32


@dataclass(frozen=True, kw_only=True)
class EnvDescription:
    """An id, as `describe_env` returns it.

    Parameters
    ----------
    id, summary : str
    docstring : str
        Of the class, before its sections; empty where ``game`` says more, as it does
        for those games of the package that are no `ArrayEnv`.
    step_limit : int or None
        The registered one.
    batch : str
        The kind of a batch: ``stacked arrays``, ``pool of objects``, or the class that
        Gymnasium makes.
    observations : tuple of Observation
        The mode of the default comes first.
    action_space : str
    actions : dict from int to str
        Names of the actions; empty where they have none.
    obstacle : str
        The reason why the environment cannot be made here, so that spaces are unknown;
        empty: it can.
    keywords, batch_keywords : tuple of Keyword
        The second is empty where a batch is not roll_vec's.
    render_modes : tuple of str
    game : GameDescription or None
        None: rewards, ends and infos are known only for the ids of this package.
    truncated : tuple of str
        All limits, those of the game and the registered one.
    splits : tuple of Split
        The evaluation splits.
    """

    id: str
    summary: str
    docstring: str
    step_limit: int | None
    batch: str
    observations: tuple[Observation, ...]
    action_space: str
    actions: Mapping[int, str]
    obstacle: str
    keywords: tuple[Keyword, ...]
    batch_keywords: tuple[Keyword, ...]
    render_modes: tuple[str, ...]
    game: GameDescription | None
    truncated: tuple[str, ...]
    splits: tuple[Split, ...]

    def list_actions(self) -> str:
        """Return the numbers and names of the actions; of many the first and the last.

        Empty where they have no names but numbers.
        """
        if all(name.isdecimal() for name in self.actions.values()):
            return ""
        if len(self.actions) > _MAX_LISTED:
            names = [f"{code} ({name})" for code, name in self.actions.items()]
            return f"{names[0]} to {names[-1]}"
        return ", ".join(f"{code} {name}" for code, name in self.actions.items())

    def as_dict(self) -> dict[str, Any]:
        """Return the description as `json` can write it."""
        splits = [
            {
                "name": split.name,
                "title": split.title,
                "episodes": len(split),
                "keywords": dict(split.keywords),
                "digest": split.digest,
            }
            for split in self.splits
        ]
        content: dict[str, Any] = {**vars(self), "splits": splits}
        game = content.pop("game")
        if game is not None:
            cells = [
                {"code": code, "glyph": glyph, "meaning": meaning}
                for code, (glyph, meaning) in enumerate(game.cells)
            ]
            facts = {"action_note": game.actions, **vars(game), "cells": cells}
            # The names that both have are those of the id.
            content = {**content, **facts, **content}
        return {name: _plain(value) for name, value in content.items()}


def _plain(value: Any) -> Any:
    """Return a value with dicts in the place of records."""
    if isinstance(value, tuple):
        return [one._asdict() if hasattr(one, "_asdict") else one for one in value]
    return value


def describe_env(id: str, keywords: Mapping[str, Any] | None = None) -> EnvDescription:
    """Describe an environment.

    Parameters
    ----------
    id : str
        Any registered id; ``module:id`` imports the module first.
    keywords : mapping or None
        Of the environment: spaces and rewards are those with these keywords.

    Raises
    ------
    gymnasium.error.Error
        If the id does not exist.
    UnknownOptionError, InvalidOptionError
        For keywords that cannot be used; and other errors of an environment that is
        not of this package.
    """
    keywords = dict(keywords or {})
    module, _, name = id.rpartition(":")
    if module:
        importlib.import_module(module)
    spec = gymnasium.spec(name)
    registered = ENVIRONMENTS.get(spec.id)
    game: GameDescription | None = None
    has_rules = registered is not None and registered.is_rule
    modes: dict[str, str] = {}
    if registered is not None and registered.description:
        others = keywords.keys() - {"max_episode_steps"}
        check_unknown(others, registered.defaults())
        options = find_options(registered)(
            **{**registered.keywords, **_without_text(registered, keywords)}
        )
        module, _, name = registered.description.partition(":")
        game = getattr(importlib.import_module(module), name)(options)
        modes = getattr(options, "OBS_MODES", {})
        default = getattr(options, "obs_mode", "")
        modes = dict(sorted(modes.items(), key=lambda item: item[0] != default))
    observations, action_space, actions, obstacle = [], "", {}, ""
    try:
        for mode, meaning in (modes or {"": ""}).items():
            more = {"obs_mode": mode} if mode else {}
            env = gymnasium.make(spec, disable_env_checker=True, **{**keywords, **more})
            space = _space_text(env.observation_space)
            observations.append(Observation(mode, space, meaning))
            action_space = _space_text(env.action_space)
            actions = action_names(partial(getattr, env.unwrapped))
            env.close()
    except Exception as error:
        # A package may be missing: the rest is known all the same.
        if keywords:
            raise
        obstacle = f"{type(error).__name__}: {error}"
    # None: to make it failed likewise, and `obstacle` says why.
    entry = load_class(spec)
    summary, docstring = _read_docstring(entry)
    if registered is not None and has_rules and registered.summary and summary:
        # The summary of the table stands in the place of the docstring's.
        docstring = f"{summary}.\n\n{docstring}".strip()
    limit = keywords.get("max_episode_steps", spec.max_episode_steps)
    limit = None if limit == -1 else limit
    return EnvDescription(
        id=spec.id,
        summary=summary if registered is None else registered.summarize(),
        docstring=docstring if game is None or has_rules else "",
        step_limit=limit,
        batch=_batch_kind(spec),
        observations=tuple(observations),
        action_space=action_space,
        actions=actions,
        obstacle=obstacle,
        keywords=() if entry is None else describe_keywords(spec),
        batch_keywords=()
        if registered is None
        else describe_batch_keywords(registered.pooled),
        render_modes=tuple(render_modes(spec) or ()),
        game=game,
        truncated=_limits(limit, game, registered is not None and registered.pooled),
        splits=tuple(splits_of(spec.id).values()),
    )


def _without_text(registered: Any, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of the options class: not those of text, nor of Gymnasium."""
    names = inspect.signature(find_options(registered)).parameters
    return {name: value for name, value in keywords.items() if name in names}


def _space_text(space: gymnasium.Space[Any]) -> str:
    text = " ".join(repr(space).split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def _batch_kind(spec: EnvSpec) -> str:
    if spec.id in ENVIRONMENTS:
        return "pool of objects" if ENVIRONMENTS[spec.id].pooled else "stacked arrays"
    return "SyncVectorEnv" if spec.vector_entry_point is None else "its own class"


def _read_docstring(entry: Any) -> tuple[str, str]:
    """Return the first line of a docstring, and what follows before its sections."""
    text = cut_sections(getattr(entry, "__doc__", None) or "")
    # Gymnasium's begin with a heading in Markdown.
    text = re.sub(r"\A(#.*)?\s*", "", text)
    first, _, others = text.partition("\n")
    if not first.endswith("."):
        first, others = "", text
    return first.rstrip("."), others.strip()


def _limits(
    limit: int | None, game: GameDescription | None, pooled: bool
) -> tuple[str, ...]:
    limits: tuple[str, ...] = ()
    if limit is not None:
        limits = (f"After {limit} steps (``max_episode_steps``).",)
    if game is not None:
        limits += game.truncated
    return (*limits, _FAULT) if pooled else limits
