"""Everything that is known about an id: the form of `roll-vec info`.

Rewards, ends, infos, sources and differences of a game are sections of the docstring of
its class, or of a base class.
"""

from __future__ import annotations

import importlib
import re
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Dict, Text

from roll_vec.arrays.array_env import ArrayEnv
from roll_vec.arrays.grid_env import GridEnv
from roll_vec.descriptions.keywords import (
    Keyword,
    describe_batch_keywords,
    describe_keywords,
)
from roll_vec.docstrings import Entry, read_entries, read_items, read_sections
from roll_vec.options import check_unknown
from roll_vec.registration import ENVIRONMENTS, RegisteredEnv
from roll_vec.registration.any_id import action_names, load_class, render_modes
from roll_vec.text.level_env import TextLevelEnv
from roll_vec.text.options import TextOptions

_FAULT = "A fault of the object in a pool: an exception, a time limit, a dead process."
# Modules of games that have one page.
_SMALL_GAMES = "acrobot|blackjack|cart_pole|cliff_walking|mountain_car|pendulum|taxi"
# Most actions that are listed by name.
_MAX_LISTED = 32


class Observation(NamedTuple):
    """A form of observations.

    Attributes
    ----------
    mode : str
        The value of ``obs_mode``; empty where there is no such keyword.
    space : str
    meaning : str
        The contents of an observation; empty where there is one form alone.
    """

    mode: str
    space: str
    meaning: str


class Cell(NamedTuple):
    """A cell code of a board."""

    code: int
    glyph: str
    meaning: str


class Reward(NamedTuple):
    """A rule of the reward: the event that earns it; all that apply are added."""

    value: str
    rule: str


class Info(NamedTuple):
    """A key of the infos.

    Attributes
    ----------
    key : str
    dtype : str
        Of a batch's array, such as ``bool``; ``dict`` and ``str`` as in Python.
    calls : str
        ``reset``, ``step``, both, or ``end`` for the last step of an episode.
    meaning : str
    keyword : str
        The keyword that asks for it, with its value; empty: it is always there.
    """

    key: str
    dtype: str
    calls: str
    meaning: str
    keyword: str = ""


class Source(NamedTuple):
    """A program that a game is equal to, to the bit, in some of its parts.

    The section "Sources" has it as ``name : version; url``, or ``name : url``.
    """

    name: str
    version: str
    url: str
    parts: str


@dataclass(frozen=True, kw_only=True)
class EnvDescription:
    """An id, as `describe_env` returns it.

    Parameters
    ----------
    id, summary : str
    docstring : str
        Of the class, before its sections.
    step_limit : int or None
        The registered one.
    batch : str
        The kind of a batch: ``stacked arrays`` or ``pool of objects``; empty of other
        packages' ids.
    observations : tuple of Observation
        The mode of the default comes first.
    action_space : str
    actions : dict from int to str
        Names of the actions; empty where they have none.
    action_note : str
        What the space does not tell; may be empty.
    keywords, batch_keywords : tuple of Keyword
        The second is empty where a batch is not roll_vec's.
    render_modes : tuple of str
    cells : tuple of Cell
        Empty without a board.
    rewards : tuple of Reward
    terminated, truncated : tuple of str
        The events that end an episode by the rules, and by a limit.
    infos : tuple of Info
    sources : tuple of Source
    differences : tuple of str
        Deliberate differences from the sources.
    page : str
        The page of the documentation, from the root of the repository; may be empty.
    """

    id: str
    summary: str
    docstring: str
    step_limit: int | None
    batch: str
    observations: tuple[Observation, ...]
    action_space: str
    actions: Mapping[int, str]
    action_note: str
    keywords: tuple[Keyword, ...]
    batch_keywords: tuple[Keyword, ...]
    render_modes: tuple[str, ...]
    cells: tuple[Cell, ...]
    rewards: tuple[Reward, ...]
    terminated: tuple[str, ...]
    truncated: tuple[str, ...]
    infos: tuple[Info, ...]
    sources: tuple[Source, ...]
    differences: tuple[str, ...]
    page: str

    def list_actions(self) -> str:
        """Return the numbers and names of the actions; of many the first and the last.

        Empty where they have no names but numbers.
        """
        if all(name.isdecimal() for name in self.actions.values()):
            return ""
        if len(self.actions) <= _MAX_LISTED:
            return ", ".join(f"{code} {name}" for code, name in self.actions.items())
        names = [f"{code} ({name})" for code, name in self.actions.items()]
        return f"{names[0]} to {names[-1]}"

    def as_dict(self) -> dict[str, Any]:
        """Return the description as `json` can write it."""
        return {
            name: [one._asdict() if hasattr(one, "_asdict") else one for one in value]
            if isinstance(value, tuple)
            else value
            for name, value in vars(self).items()
        }


def describe_env(id: str, keywords: Mapping[str, Any] | None = None) -> EnvDescription:
    """Describe an environment.

    Parameters
    ----------
    id : str
        Any registered id; ``module:id`` imports the module first.
    keywords : mapping or None
        Of the environment: spaces and step limits are those with these keywords.

    Raises
    ------
    gymnasium.error.Error
        If the id does not exist.
    Exception
        Any other of the environment: for keywords that cannot be used, or a package
        that is missing.
    """
    keywords = dict(keywords or {})
    module, _, name = id.rpartition(":")
    if module:
        importlib.import_module(module)
    spec = gymnasium.spec(name)
    entry, registered = load_class(spec), ENVIRONMENTS.get(spec.id)
    is_pooled = registered is not None and registered.pooled
    if registered is not None and not is_pooled:
        # Gymnasium would add its own words to the error.
        check_unknown(keywords.keys() - {"max_episode_steps"}, registered.defaults())
    env, observations = _make(spec, keywords)
    options = getattr(env, "options", None)
    classes = [entry, type(env), type(options)]
    if is_pooled:
        # These describe the keywords of pools.
        classes += [TextOptions, ArrayEnv, TextLevelEnv]
    docstrings = _read_docstrings(classes)
    sections = ChainMap(*docstrings)
    # A class of a user is not equal to what its base of this package is equal to.
    is_ours = registered is not None and isinstance(registered.entry, str)
    origins = sections if is_ours else docstrings[0]
    # Gymnasium's docstrings begin with a heading in Markdown.
    text = read_sections(getattr(entry, "__doc__", None))[""]
    text = re.sub(r"\A(#.*)?\s*", "", text)
    first = text.partition("\n")[0]
    summary = first.rstrip(".") if first.endswith(".") else ""
    batch = ""
    batch_keywords: tuple[Keyword, ...] = ()
    if registered is not None:
        summary = registered.summarize()
        batch = "pool of objects" if is_pooled else "stacked arrays"
        batch_keywords = describe_batch_keywords(is_pooled)
    limit = keywords.get("max_episode_steps", spec.max_episode_steps)
    limit = None if limit == -1 else limit
    all_keywords = describe_keywords(spec)
    ends = read_entries(sections.get("Episode end", ""))
    rewards = read_entries(sections.get("Rewards", ""))
    board = options.FAMILY.cells if isinstance(options, GridEnv) else ()
    cells = tuple(Cell(k, one.glyph, one.meaning) for k, one in enumerate(board))
    return EnvDescription(
        id=spec.id,
        summary=summary,
        docstring=text.removeprefix(f"{summary}.").strip(),
        step_limit=limit,
        batch=batch,
        observations=observations,
        action_space=_space_text(env.action_space),
        actions=action_names(partial(getattr, env)),
        action_note=" ".join(sections.get("Actions", "").split()),
        keywords=all_keywords,
        batch_keywords=batch_keywords,
        render_modes=tuple(render_modes(spec) or ()),
        cells=cells,
        rewards=tuple(Reward(entry.name, entry.text) for entry in rewards),
        terminated=tuple(end.text for end in ends if end.name == "terminated"),
        truncated=_list_limits(limit, options, ends, is_pooled),
        infos=_list_infos(docstrings, options, {one.name for one in all_keywords}),
        sources=tuple(
            Source(one.name, *one.kind.rpartition("; ")[::2], one.text)
            for one in read_entries(origins.get("Sources", ""))
        ),
        differences=tuple(read_items(origins.get("Differences", ""))),
        page=_find_page(registered),
    )


def _make(
    spec: EnvSpec, keywords: dict[str, Any]
) -> tuple[Any, tuple[Observation, ...]]:
    """Return an environment without its wrappers, and all forms of observations."""
    env = gymnasium.make(spec, disable_env_checker=True, **keywords)
    env.close()
    options = getattr(env.unwrapped, "options", None)
    if not isinstance(options, ArrayEnv):
        return env.unwrapped, (Observation("", _space_text(env.observation_space), ""),)
    observations = []
    for mode in dict.fromkeys([options.obs_mode, *options.OBS_MODES]):
        changed = {**keywords, "obs_mode": mode}
        try:
            other = gymnasium.make(spec, disable_env_checker=True, **changed)
        except NotImplementedError:  # an UnsupportedError
            # Other keywords leave no such mode, as long missions no vectors.
            continue
        with other:
            space = _space_text(other.observation_space)
        observations.append(Observation(mode, space, options.OBS_MODES[mode]))
    return env.unwrapped, tuple(observations)


def _space_text(space: gymnasium.Space[Any]) -> str:
    """Return a space in one line; bounds of many numbers are the least and the most."""
    text = " ".join(repr(space).split())
    if isinstance(space, Dict):
        parts = [f"{name!r}: {_space_text(part)}" for name, part in space.items()]
        text = f"Dict({', '.join(parts)})"
    elif type(space) is Text:
        text = f"Text({space.min_length}, {space.max_length})"
    elif isinstance(space, Box) and space.low.size > _MAX_LISTED:
        bounds = f"{space.low.min()}, {space.high.max()}"
        text = f"Box({bounds}, {space.shape}, {space.dtype})"
    return text if len(text) <= 200 else f"{text[:197]}..."


def _read_docstrings(classes: Iterable[Any]) -> list[dict[str, str]]:
    """Return the sections of classes and of their bases, the nearest first."""
    owners = [base for one in classes if isinstance(one, type) for base in one.__mro__]
    return [read_sections(owner.__doc__) for owner in dict.fromkeys(owners)]


def _list_infos(
    docstrings: Sequence[Mapping[str, str]], options: Any, keywords: set[str]
) -> tuple[Info, ...]:
    """Return the infos of sections "Infos", and of an `ArrayEnv` the variables as well.

    An entry is ``key : dtype; calls``, or ``key : dtype; calls; keyword=value``, which
    needs a keyword of this name.
    """
    variables: dict[str, Info] = {}
    if isinstance(options, ArrayEnv):
        variables = {one.key: one for one in _list_variables(docstrings, options)}
    infos: dict[str, Info] = {}
    for key, kind, text in _entries_of(docstrings, "Infos"):
        dtype, calls, keyword = (*kind.split("; "), "")[:3]
        if isinstance(options, ArrayEnv):
            dtype = dtype.replace("num_actions", str(len(options.action_names)))
        if not keyword or keyword.partition("=")[0] in keywords:
            infos.setdefault(key, Info(key, dtype, calls, text, keyword))
    return tuple({**variables, **infos}.values())


def _list_variables(
    docstrings: Sequence[Mapping[str, str]], options: ArrayEnv
) -> Iterable[Info]:
    """Yield the variables that infos have; sections "Attributes" describe them."""
    meanings = {
        name: entry.text
        for entry in reversed(_entries_of(docstrings, "Attributes"))
        for name in entry.name.split(", ")
    }
    calls = {"reset": options.reset_infos, "step": options.infos}
    for key in options.variables:
        having = [call for call, names in calls.items() if key in names]
        if having and key not in options.hidden_infos:
            dtype, shape = options.info_array(key)
            kind = f"{shape} {dtype}" if shape else f"{dtype}"
            yield Info(key, kind, ", ".join(having), meanings.get(key, ""))


def _entries_of(docstrings: Sequence[Mapping[str, str]], title: str) -> list[Entry]:
    """Return the entries of a section of all docstrings, the nearest first."""
    return [each for one in docstrings for each in read_entries(one.get(title, ""))]


def _list_limits(
    limit: int | None, options: Any, ends: Iterable[Entry], is_pooled: bool
) -> tuple[str, ...]:
    """Return the limits that truncate an episode."""
    limits = {"max_episode_steps": limit}
    if isinstance(options, ArrayEnv):
        own = getattr(options, "default_limit", None)  # of MiniGrid
        limits["max_steps"] = getattr(options, "max_steps", None) or own
    texts = [f"After {n} steps (``{name}``)." for name, n in limits.items() if n]
    texts += [end.text for end in ends if end.name == "truncated"]
    return (*texts, *[_FAULT] * is_pooled)


def _find_page(registered: RegisteredEnv | None) -> str:
    """Return the page of a game of this package: most have the name of the module."""
    entry = "" if registered is None else str(registered.entry)
    module = re.match(r"roll_vec\.envs\.(\w+)", entry)
    if not module:
        return ""
    is_small = re.fullmatch(_SMALL_GAMES, module[1])
    return f"docs/games/{'small_games' if is_small else module[1]}.md"
