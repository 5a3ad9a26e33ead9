"""Everything that is known about an id: the form of `roll-vec info`.

Rewards, ends, infos, sources and differences of a game are sections of the docstring of
its class, or of a base class.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import EnvSpec

from roll_vec.arrays.array_env import ArrayEnv
from roll_vec.arrays.grid_env import GridEnv
from roll_vec.descriptions.keywords import (
    Keyword,
    describe_batch_keywords,
    describe_keywords,
)
from roll_vec.docstrings import Entry, read_entries, read_items, read_sections
from roll_vec.evaluation import Split, splits_of
from roll_vec.options import check_unknown
from roll_vec.registration import ENVIRONMENTS, RegisteredEnv
from roll_vec.registration.any_id import action_names, load_class, render_modes
from roll_vec.text.level_env import TextLevelEnv
from roll_vec.text.options import TextOptions

_FAULT = "A fault of the object in a pool: an exception, a time limit, a dead process."
_GAMES = "roll_vec.envs."
# Most actions that are listed by name.
_MAX_LISTED = 32


class Observation(NamedTuple):
    """A form of observations."""

    mode: str
    """The value of ``obs_mode``; empty where there is no such keyword."""
    space: str
    meaning: str
    """The contents of an observation; empty where there is one form alone."""


class Cell(NamedTuple):
    """A cell code of a board."""

    code: int
    glyph: str
    meaning: str


class Reward(NamedTuple):
    """A rule of the reward; the rewards of all rules that apply are added."""

    value: str
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
    """The keyword that asks for it, with its value; empty: it is always there."""


class Source(NamedTuple):
    """A program that a game is equal to, in some of its parts."""

    name: str
    version: str
    url: str
    parts: str
    """The parts that are equal, to the bit."""


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
        The kind of a batch: ``stacked arrays``, ``pool of objects``, or the class that
        Gymnasium makes.
    observations : tuple of Observation
        The mode of the default comes first.
    action_space : str
    actions : dict from int to str
        Names of the actions; empty where they have none.
    action_note : str
        What the space does not tell; may be empty.
    obstacle : str
        The reason why the environment cannot be made here, so that spaces are unknown;
        empty: it can.
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
    action_note: str
    obstacle: str
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
        content = {**vars(self), "splits": splits}
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
        Of the environment: spaces and step limits are those with these keywords.

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
    if registered is not None and not registered.pooled:
        check_unknown(keywords.keys() - {"max_episode_steps"}, registered.defaults())
    env: Any = None
    observations: list[Observation] = []
    action_space, actions, obstacle = "", {}, ""
    try:
        env, observations = _make(spec, keywords)
        action_space = _space_text(env.action_space)
        actions = action_names(partial(getattr, env))
    except Exception as error:
        # A package may be missing: the rest is known all the same.
        if keywords:
            raise
        obstacle = f"{type(error).__name__}: {error}"
    # None: to make it failed likewise, and `obstacle` says why.
    entry = load_class(spec)
    options = getattr(env, "options", None)
    # These describe the keywords of pools.
    bases = TextOptions, ArrayEnv, TextLevelEnv
    docstrings = _read_docstrings([entry, type(env), type(options), *bases])
    sections: dict[str, str] = {}
    for each in reversed(docstrings):
        sections |= each
    summary, docstring = _read_docstring(entry)
    if registered is not None and registered.summary and summary:
        # The summary of the table stands in the place of the docstring's.
        docstring = f"{summary}.\n\n{docstring}".strip()
    limit = keywords.get("max_episode_steps", spec.max_episode_steps)
    limit = None if limit == -1 else limit
    known = () if entry is None else describe_keywords(spec)
    ends = read_entries(sections.get("Episode end", ""))
    is_pooled = registered is not None and registered.pooled
    return EnvDescription(
        id=spec.id,
        summary=summary if registered is None else registered.summarize(),
        docstring=docstring,
        step_limit=limit,
        batch=_batch_kind(spec),
        observations=tuple(observations),
        action_space=action_space,
        actions=actions,
        action_note=" ".join(sections.get("Actions", "").split()),
        obstacle=obstacle,
        keywords=known,
        batch_keywords=() if registered is None else describe_batch_keywords(is_pooled),
        render_modes=tuple(render_modes(spec) or ()),
        cells=_list_cells(options),
        rewards=tuple(
            Reward(name, text)
            for name, _, text in read_entries(sections.get("Rewards", ""))
        ),
        terminated=tuple(text for name, _, text in ends if name == "terminated"),
        truncated=_list_limits(limit, options, ends, is_pooled),
        infos=_list_infos(docstrings, options, {one.name for one in known}),
        sources=tuple(map(_read_source, read_entries(sections.get("Sources", "")))),
        differences=tuple(read_items(sections.get("Differences", ""))),
        page=_find_page(registered),
        splits=tuple(splits_of(spec.id).values()),
    )


def _make(spec: EnvSpec, keywords: dict[str, Any]) -> tuple[Any, list[Observation]]:
    """Return an environment without its wrappers, and all forms of observations."""
    env = gymnasium.make(spec, disable_env_checker=True, **keywords)
    options = getattr(env.unwrapped, "options", None)
    meanings = getattr(options, "OBS_MODES", {})
    default = getattr(options, "obs_mode", "") if meanings else ""
    first = _space_text(env.observation_space)
    observations = [Observation(default, first, meanings.get(default, ""))]
    for mode, meaning in meanings.items():
        if mode != default:
            changed = {**keywords, "obs_mode": mode}
            other = gymnasium.make(spec, disable_env_checker=True, **changed)
            space = _space_text(other.observation_space)
            observations.append(Observation(mode, space, meaning))
            other.close()
    env.close()
    return env.unwrapped, observations


def _space_text(space: gymnasium.Space[Any]) -> str:
    text = " ".join(repr(space).split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def _batch_kind(spec: EnvSpec) -> str:
    if spec.id in ENVIRONMENTS:
        return "pool of objects" if ENVIRONMENTS[spec.id].pooled else "stacked arrays"
    return "SyncVectorEnv" if spec.vector_entry_point is None else "its own class"


def _read_docstring(entry: Any) -> tuple[str, str]:
    """Return the first line of a docstring, and what follows before its sections."""
    text = read_sections(getattr(entry, "__doc__", None))[""]
    # Gymnasium's begin with a heading in Markdown.
    text = re.sub(r"\A(#.*)?\s*", "", text)
    first, _, others = text.partition("\n")
    if not first.endswith("."):
        first, others = "", text
    return first.rstrip("."), others.strip()


def _read_docstrings(classes: Iterable[Any]) -> list[dict[str, str]]:
    """Return the sections of classes and of their bases, the nearest first."""
    owners = [base for one in classes if isinstance(one, type) for base in one.__mro__]
    return [read_sections(owner.__doc__) for owner in dict.fromkeys(owners)]


def _list_infos(
    docstrings: Iterable[Mapping[str, str]], options: Any, keywords: set[str]
) -> tuple[Info, ...]:
    """Return the infos of sections "Infos", and of an `ArrayEnv` the variables as well.

    An entry is ``key : dtype; calls``, or ``key : dtype; calls; keyword=value``, which
    needs a keyword of this name.
    """
    infos: dict[str, Info] = {}
    meanings: dict[str, str] = {}
    for sections in docstrings:
        for name, _, text in read_entries(sections.get("Attributes", "")):
            for each in name.split(", "):
                meanings.setdefault(each, text)
        for key, kind, text in read_entries(sections.get("Infos", "")):
            type_name, calls, keyword = (*kind.split("; "), "")[:3]
            if isinstance(options, ArrayEnv):
                count = str(len(options.action_names))
                type_name = type_name.replace("num_actions", count)
            if not keyword or keyword.partition("=")[0] in keywords:
                infos.setdefault(key, Info(key, type_name, calls, text, keyword))
    variables: dict[str, Info] = {}
    if isinstance(options, ArrayEnv):
        names = {*options.reset_infos, *options.infos} - set(options.hidden_infos)
        for key in filter(names.__contains__, options.variables):
            is_reset, is_step = key in options.reset_infos, key in options.infos
            calls = ", ".join(["reset"] * is_reset + ["step"] * is_step)
            dtype, shape = options.info_array(key)
            kind = f"{shape} {dtype}" if shape else f"{dtype}"
            variables[key] = Info(key, kind, calls, meanings.get(key, ""))
    return tuple({**variables, **infos}.values())


def _list_cells(options: Any) -> tuple[Cell, ...]:
    """Return the cell codes of a board."""
    if not isinstance(options, GridEnv):
        return ()
    cells = enumerate(options.FAMILY.cells)
    return tuple(Cell(code, cell.glyph, cell.meaning) for code, cell in cells)


def _list_limits(
    limit: int | None, options: Any, ends: Iterable[Entry], is_pooled: bool
) -> tuple[str, ...]:
    """Return the limits that truncate an episode."""
    limits = []
    if limit is not None:
        limits.append(f"After {limit} steps (``max_episode_steps``).")
    max_steps = getattr(options, "max_steps", None)
    if isinstance(options, ArrayEnv) and max_steps:
        limits.append(f"After {max_steps} steps (``max_steps``).")
    limits += [text for name, _, text in ends if name == "truncated"]
    return (*limits, *[_FAULT] * is_pooled)


def _read_source(entry: Entry) -> Source:
    """Return a source; its entry is ``name : version; URL``, or with one of these."""
    version, _, url = entry.kind.rpartition("; ")
    if "://" not in url:
        version, url = entry.kind, ""
    return Source(entry.name, version, url, entry.text)


def _find_page(registered: RegisteredEnv | None) -> str:
    """Return the page of a game of this package: its name is that of the module."""
    entry = "" if registered is None else registered.entry
    if not (isinstance(entry, str) and entry.startswith(_GAMES)):
        return ""
    name = entry.removeprefix(_GAMES).partition(":")[0].partition(".")[0]
    return f"docs/games/{name}.md"
