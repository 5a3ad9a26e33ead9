"""`ArrayEnv`: an environment whose rules are written once, for one environment."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import math
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Dict, Space
from gymnasium.spaces import Tuple as TupleSpace
from numpy.typing import NDArray

from roll_vec.arrays.options import METADATA, ArrayOptions
from roll_vec.arrays.rules import digest_rules, names_of
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.families import Family, make_family
from roll_vec.kernels.rows import Row, field_name
from roll_vec.options import (
    MAX_INT,
    check_int,
    check_levels,
    check_number,
    check_optional_text,
)

_DTYPE_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 float32 float64"
_DTYPES = tuple(map(np.dtype, _DTYPE_NAMES.split()))
RULES = ("begin", "step", "observe", "legal")
_BASES = (__name__, "roll_vec.arrays.grid_env")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArrayEnv(ArrayOptions):
    """Base class of environments whose state is stacked in arrays.

    A subclass writes the rules of one environment.  Batches, single environments and
    all that works with them are derived.  An instance holds the options: every
    annotated name of the class is a keyword of `gymnasium.make` and `make_vec`, beside
    those of `roll_vec.arrays.options.ArrayOptions`.

    Parameters
    ----------
    obs_mode : str
        ``array``: what the rule ``observe`` writes; ``text``: what the method ``text``
        returns.
    render_mode : str or None
        ``ansi``: what the method ``text`` returns.
    num_levels : int
        Number of levels of a finite set; 0: unlimited.
    start_level, seed_info, level_info
        See `roll_vec.arrays.options.LevelOptions`.

    Attributes
    ----------
    state : dict of str to dtype, or to (dtype, shape), of the class
        The variables of one environment.  A shape has numbers and names of options.
    actions : sequence of str, int, or gymnasium.spaces.Box, of the class
        The names of the actions, their number, or the space of an array.
    infos : sequence of str, of the class
        The variables that are infos of each step.
    observation : str or None, of the class
        The variable that is the observation, in the place of the rule ``observe``.
    action_start : int, of the class
        The first action of the action space.  Rules count from 0.
    invalid_reward : float, of the class
        The reward of a text without a valid action; nothing else moves.
    takes_invalid_actions : bool, of the class
        True: the rule ``step`` decides such an action, and gets -1.
    seeding : str, of the class
        ``level``: each episode has a seed of its own, in which all its random numbers
        begin.  ``stream``: one generator goes on through all episodes, as in Gymnasium.

    Raises
    ------
    InvalidOptionError
    """

    state: ClassVar[Mapping[str, Any]] = {}
    actions: ClassVar[Any] = ()
    infos: ClassVar[tuple[str, ...]] = ()
    observation: ClassVar[str | None] = None
    invalid_reward: ClassVar[float] = 0.0
    takes_invalid_actions: ClassVar[bool] = False
    seeding: ClassVar[str] = "level"
    OBS_MODES: ClassVar[Mapping[str, str]] = {
        "array": "what the rule `observe` writes",
        "text": "what the method `text` returns",
    }
    metadata: ClassVar[dict[str, Any]] = {**METADATA, "render_modes": ["ansi"]}
    # Keywords of games on grids; `GridEnv` has the second one, too.
    text_format: ClassVar[Any] = "grid"  # type: ignore[misc]
    render_scale: ClassVar[Any] = 1  # type: ignore[misc]

    obs_mode: str = "array"
    num_levels: int = 0
    start_level: int = 0
    seed_info: bool = False
    level_info: bool = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Make the class a dataclass of its options."""
        super().__init_subclass__(**keywords)
        # A default that a subclass changes is one of the same type.
        own, inherited = inspect.get_annotations(cls), {}
        for field in dataclasses.fields(cls):
            if field.name in vars(cls) and field.name not in own:
                inherited[field.name] = field.type
        cls.__annotations__ = {**own, **inherited}
        try:
            dataclasses.dataclass(frozen=True, kw_only=True, eq=True)(cls)
        except ValueError as error:  # a default that is a list or an array
            message = f"{cls.__name__}: {error}: use a tuple"
            raise InvalidOptionError(message) from None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.action_mask and not hasattr(self, "legal"):
            message = f"action_mask: {type(self).__name__} has no rule `legal`"
            raise InvalidOptionError(message)
        if self.action_mode == "text" and isinstance(self.actions, Box):
            message = f"action_mode: actions of {type(self).__name__} have no names"
            raise InvalidOptionError(message)
        if self.seeding == "stream" and (self.seed_info or self.level_info):
            message = (
                f"seed_info, level_info: {type(self).__name__} has no levels, as its "
                "random numbers are one stream"
            )
            raise InvalidOptionError(message)
        num_levels, start_level = check_levels(self.num_levels, self.start_level)
        self._set(num_levels=num_levels, start_level=start_level)
        for field in dataclasses.fields(self):
            name, check = field.name, _CHECKS.get(type(field.default))
            if check is not None and name not in self.common_names():
                self._set(**{name: check(name, getattr(self, name))})
        self.check_options()

    def __getstate__(self) -> dict[str, Any]:
        # Not what is derived, such as classes of named tuples.
        names = [field.name for field in dataclasses.fields(self)]
        return {name: getattr(self, name) for name in names}

    def check_options(self) -> None:
        """Raise an error if options cannot be used; a subclass may have its own.

        Options with a default of bool, int or float are checked for this before.
        """

    # ---------------------------------------------------------------- derived

    @classmethod
    @functools.lru_cache(100)
    def common_names(cls) -> frozenset[str]:
        """Return the names of the base classes of this package; no rule reads them."""
        bases = [owner for owner in cls.__mro__ if owner.__module__ in _BASES]
        return frozenset(name for owner in bases for name in dir(owner))

    @functools.cached_property
    def variables(self) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """The dtype and shape of each variable of one environment."""
        variables = self.state.items()
        return {name: self._read_variable(name, each) for name, each in variables}

    def _read_variable(
        self, name: str, declared: Any
    ) -> tuple[np.dtype[Any], tuple[int, ...]]:
        owner = f"{type(self).__name__}.state[{name!r}]"
        dtype, shape = declared if isinstance(declared, tuple) else (declared, ())
        if isinstance(shape, (int, str)):
            shape = (shape,)
        try:
            dtype = np.dtype(dtype)
        except TypeError:
            dtype = np.dtype(object)
        if dtype not in _DTYPES:
            accepted = f"one of {', '.join(each.name for each in _DTYPES)}"
            raise InvalidOptionError.expected(owner, accepted, declared)
        lengths = []
        for length in shape:
            value = getattr(self, length, None) if isinstance(length, str) else length
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                accepted = "a shape of positive numbers and names of options"
                raise InvalidOptionError.expected(owner, accepted, length)
            lengths.append(value)
        return dtype, tuple(lengths)

    @functools.cached_property
    def constants(self) -> dict[str, Any]:
        """What rules read as ``env.name`` beside variables: numbers and arrays.

        A tuple or list of numbers is an array for them.  A property is one of these
        if a rule reads it.
        """
        names = [field.name for field in dataclasses.fields(self)]
        for owner in reversed(type(self).__mro__):
            names += [name for name in vars(owner) if not name.startswith("_")]
        result: dict[str, Any] = {}
        mentions = names_of(self.rules())
        for name in dict.fromkeys(names):
            if name in self.common_names() or name in self.state:
                continue
            member = inspect.getattr_static(type(self), name, None)
            is_property = isinstance(member, (property, functools.cached_property))
            if callable(member) or (is_property and name not in mentions):
                continue
            value = getattr(self, name)
            if isinstance(value, (bool, int, float)):
                result[name] = value
            elif isinstance(value, (tuple, list, np.ndarray)):
                # A copy: kernels are compiled anew for an array that is read-only.
                with contextlib.suppress(ValueError):  # of rows of several lengths
                    array = np.array(value, order="C")
                    if array.dtype.kind in "biuf":
                        result[name] = array
        return result

    @functools.cached_property
    def parts(self) -> dict[str, Space[Any]]:
        """The spaces of the arrays that an observation is made of, by name."""
        space = self.observation_space
        if isinstance(space, Dict):
            return dict(space.spaces)
        if isinstance(space, TupleSpace):
            return {field_name(k): each for k, each in enumerate(space.spaces)}
        return {"": space}

    @property
    def observation_space(self) -> Space[Any]:
        """The space of an observation."""
        name = f"{type(self).__name__}.observation_space"
        accepted = "a Box or Discrete, or a Dict or Tuple of these"
        raise InvalidOptionError.expected(name, accepted, None)

    @property
    def single_action_space(self) -> Space[Any]:
        """The space of an action that is no text."""
        is_box = isinstance(self.actions, Box)
        return self.actions if is_box else super().single_action_space

    @functools.cached_property
    def action_names(self) -> tuple[str, ...]:
        """The names of the actions; their numbers where they have none."""
        if isinstance(self.actions, Box):
            return ()
        if isinstance(self.actions, int):
            return tuple(map(str, range(self.actions)))
        return tuple(self.actions)

    @property
    def writes_own_text(self) -> bool:
        """Whether texts are those of the method ``text`` in every case."""
        return True

    def allocate(self, num_envs: int) -> tuple[NDArray[Any], ...]:
        """Return the variables of so many environments, all 0."""
        return tuple(
            np.zeros((num_envs, *shape), dtype)
            for dtype, shape in self.variables.values()
        )

    def allocate_observations(self, num_envs: int) -> tuple[NDArray[Any], ...]:
        """Return the arrays of so many observations, as kernels take them."""
        own = (1,) if "" in self.parts else ()
        return tuple(
            # A number alone is an array of one for the rule: out[0].
            np.zeros((num_envs, *(space.shape or own)), space.dtype)
            for space in self.parts.values()
        )

    @functools.cached_property
    def types(self) -> tuple[Any, Any, Any, Any]:
        """Named tuple classes of variables, constants, infos and observations.

        The last one is None, if an observation is one array that a rule writes.
        """
        is_written = self.rules()[2] is not None
        outputs = tuple(self.parts) if is_written else (str(self.observation),)
        return _make_types(
            tuple(self.variables), tuple(self.constants), tuple(self.infos), outputs
        )

    def rules(self) -> list[Any]:
        """Return the rules begin, step, observe and legal; None for one that is not."""
        return [getattr(type(self), name, None) for name in RULES]

    @functools.cached_property
    def digest(self) -> str:
        """A name of the rules' code, for the cache on disk; see `digest_rules`."""
        return digest_rules(self.rules())

    def family(self) -> Family:
        """Return the kernels of batches with these options."""
        is_discrete = not isinstance(self.actions, Box)
        rules, types = self.rules(), self.types
        family: Family = _make_family(*rules, *types, is_discrete, self.digest)
        return family

    # ---------------------------------------------------------------- instructions

    def text(self, env: Row) -> str:
        """Return the state of an environment as text; a subclass may have its own.

        Parameters
        ----------
        env : roll_vec.kernels.rows.Row
            As rules see it.
        """
        values = [(name, getattr(env, name)) for name in self.variables]
        arrays = [(name, getattr(value, "array", value)) for name, value in values]
        return "\n".join(f"{name}: {value}" for name, value in arrays)

    def describe(self) -> str:
        """Return a description of the game, for the instructions."""
        return inspect.cleandoc(type(self).__doc__ or type(self).__name__)


_CHECKS: dict[type, Callable[[str, Any], Any]] = {
    int: lambda name, value: check_int(name, value, -MAX_INT),
    str: check_optional_text,
    float: lambda name, value: check_number(name, value, -math.inf, math.inf),
}


@functools.lru_cache(maxsize=64)
def _make_types(*names: tuple[str, ...]) -> tuple[Any, Any, Any, Any]:
    variables, constants, infos = (namedtuple("Row", each) for each in names[:3])
    outputs = names[3]
    output = None if outputs == ("",) else namedtuple("Output", outputs)
    return variables, constants, infos, output


# Its kernels are compiled once for equal rules.
_make_family = functools.lru_cache(maxsize=64)(make_family)
