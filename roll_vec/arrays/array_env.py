"""`ArrayEnv`: an environment whose rules are written once, for one environment."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import math
from collections import namedtuple
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Space
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numpy.typing import NDArray

from roll_vec.arrays.options import METADATA, ArrayOptions, Ids, Infos
from roll_vec.arrays.rule_code import RuleCode, copy_rules
from roll_vec.arrays.rules import (
    describe_error,
    describe_frame,
    explain,
    frame_of,
    names_of,
    with_message,
)
from roll_vec.docstrings import read_sections
from roll_vec.errors import InvalidOptionError, RollVecError
from roll_vec.kernels._jit import IS_COMPILED
from roll_vec.kernels.families import make_family, takes_seed
from roll_vec.kernels.rows import Row
from roll_vec.kernels.unroll import GameKernels
from roll_vec.options import (
    MAX_INT,
    check_bool,
    check_int,
    check_number,
    check_optional,
    check_optional_text,
)
from roll_vec.text.options import TextOptions

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
        ``ansi`` and ``text``: what the method ``text`` returns.  ``rgb_array`` and
        ``human``: pictures and a window, of games of Gymnasium (extra ``render``).
    levels : array, or what `read_levels` reads, if the class has this option
        Levels of yours to play: the seed that the rule ``begin`` gets is the number of
        one.
    num_levels : int
        Number of levels of a finite set; 0: unlimited, or all levels of yours.
    start_level, seed_info, level_info
        See `roll_vec.arrays.options.LevelOptions`.

    Attributes
    ----------
    state : dict of str to dtype, or to (dtype, shape), of the class
        The variables of one environment.  A shape has numbers and names of options.
    actions : sequence of str, int, or gymnasium.spaces.Box, of the class
        The names of the actions, their number, or the space of an array.
    action_summary : str, of the class
        The form of many actions' names, in the instructions; without it a list.
    infos : sequence of str, of the class
        The variables that are infos of each step.
    hidden_infos : sequence of str, of the class
        ``("success",)``: evaluations count this one of ``infos``, and users do not get
        it.
    reset_infos : sequence of str, of the class
        The variables that are infos of each reset.
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
    state_limits, attributes, reset_options
        Optional; see `roll_vec.arrays.options.ArrayOptions`.

    Raises
    ------
    InvalidOptionError
    """

    actions: ClassVar[Any] = ()
    infos: ClassVar[tuple[str, ...]] = ()
    observation: ClassVar[str | None] = None
    invalid_reward: ClassVar[float] = 0.0
    takes_invalid_actions: ClassVar[bool] = False
    OBS_MODES: ClassVar[Mapping[str, str]] = {
        "array": "what the rule `observe` writes",
        "text": "what the method `text` returns",
    }
    metadata: ClassVar[dict[str, Any]] = {**METADATA, "render_modes": ["ansi"]}
    # A keyword of games on grids.
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
        docstring = cls.__doc__
        try:
            dataclasses.dataclass(frozen=True, kw_only=True, eq=True)(cls)
        except ValueError as error:  # a default that is a list or an array
            message = f"{cls.__name__}: {error}: use a tuple"
            raise InvalidOptionError(message) from None
        # Without one a dataclass gets its signature.
        cls.__doc__ = docstring

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, reason in self.unused_keywords.items():
            if getattr(self, name) != ArrayEnv.__dataclass_fields__[name].default:
                message = f"{name}: {type(self).__name__} {reason}"
                raise InvalidOptionError(message)
        limit = getattr(self, "max_steps", None)
        check_optional("max_steps", limit, check_int, 0)
        self._check_levels()
        for field in dataclasses.fields(self):
            name = field.name
            if name not in self.common_names():
                value = _check_option(name, getattr(self, name), field.default)
                self._set(**{name: value})
        self.check_options()

    def check_options(self) -> None:
        """Raise an error if options cannot be used; a subclass may have its own.

        Options with a default of bool, int or float are checked for this before.
        """

    # ---------------------------------------------------------------- derived

    @property
    def unused_keywords(self) -> dict[str, str]:
        """The keywords that the class has no use for, each with the reason.

        They take their defaults alone, and descriptions leave them out.
        """
        unused = {}
        if self.seeding == "stream":
            names: Any = "num_levels", "start_level", "seed_info", "level_info"
            reason = "has no levels, as its random numbers are one stream"
            unused = dict.fromkeys(names, reason)
        if not hasattr(self, "legal"):
            unused["action_mask"] = "has no rule `legal`"
        if isinstance(self.actions, Box):
            names = "action_mode", *TextOptions.__dataclass_fields__
            unused |= dict.fromkeys(names, "has no names of actions, and so no texts")
        return unused

    @classmethod
    @functools.lru_cache(100)
    def common_names(cls) -> frozenset[str]:
        """Return the names of the base classes of this package; no rule reads them."""
        bases = [owner for owner in cls.__mro__ if owner.__module__ in _BASES]
        return frozenset(name for owner in bases for name in dir(owner))

    @functools.cached_property
    def constants(self) -> dict[str, Any]:
        """What rules read as ``env.name`` beside variables: numbers and arrays.

        A tuple or list of numbers is an array for them.  A property is one of these
        if a rule reads it.

        Raises
        ------
        InvalidOptionError
            For numbers that a rule reads and kernels cannot hold.
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
            full_name = f"{type(self).__name__}.{name}"
            try:
                value = _read_constant(full_name, getattr(self, name))
            except InvalidOptionError:
                if name in mentions:
                    raise
                continue
            if value is not None:
                result[name] = value
            elif name in mentions:
                accepted = "a number, or an array of numbers, as a rule reads it"
                value = getattr(self, name)
                raise InvalidOptionError.expected(full_name, accepted, value)
        return {**result, **self.reset_options}

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
    def has_level_infos(self) -> bool:
        """Whether the infos of resets say something of the level that is played."""
        return self.seed_info or self.level_info

    @property
    def needs_level_numbers(self) -> bool:
        """Whether the number of the level that is played is of use later."""
        return self.level_info

    @property
    def writes_own_text(self) -> bool:
        """Whether texts are those of the method ``text`` in every case."""
        return True

    @functools.cached_property
    def types(self) -> tuple[Any, Any, Any, Any]:
        """Named tuple classes of variables, constants, infos and observations.

        The last one is None, if an observation is one array that a rule writes.
        """
        is_written = self.rules()[2] is not None
        outputs = tuple(self.parts) if is_written else (str(self.observation),)
        names = tuple(self.variables), tuple(self.constants), tuple(self.infos), outputs
        lengths, output_lengths = self._lengths
        return _make_types(*names, lengths=lengths, output_lengths=output_lengths)

    @functools.cached_property
    def _lengths(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """What kernels know of the shapes of variables, and of the observation.

        A length is a number or the name of an option with this value; None: unknown.
        """
        shapes = [
            each[1] if isinstance(each, tuple) else () for each in self.state.values()
        ]
        axes = [
            (each,) if isinstance(each, (int, str)) else tuple(each) for each in shapes
        ]
        lengths = dict.fromkeys(length for each in axes for length in each)
        names = {getattr(self, str(each), each): each for each in lengths}
        output = self.allocate_observations(0)[0].shape[1:]
        return tuple(axes), tuple(names.get(length) for length in output)

    def rules(self) -> list[Any]:
        """Return the rules begin, step, observe and legal; None for one that is not."""
        return [getattr(type(self), name, None) for name in RULES]

    @property
    def begins_with_seed(self) -> bool:
        """Whether the rule ``begin`` takes the seed of the episode as well."""
        return bool(takes_seed(self.rules()[0]))

    @functools.cached_property
    def code(self) -> RuleCode:
        """The rules as they are now: batches with these options keep them."""
        names = [each and each._fields for each in self.types]
        is_discrete = not isinstance(self.actions, Box)
        return copy_rules(self.name, self.rules(), (names, self._lengths, is_discrete))

    def family(self) -> GameKernels:
        """Return the kernels of batches with these options."""
        return _make_family(self.code, self.types, not isinstance(self.actions, Box))

    def rules_of(self, max_steps: int) -> tuple[Any, ...]:
        """Return the rules, as the kernel of a step takes them."""
        reward = float(self.invalid_reward)
        return self.first_action, max_steps, reward, self.takes_invalid_actions

    def explain(
        self,
        error: Exception,
        elapsed_steps: NDArray[np.int32],
        rule: str | None = None,
    ) -> Exception:
        """Return an error of rules or of their compilation; it names the class.

        Parameters
        ----------
        error : Exception
            Of a kernel.
        elapsed_steps : (n,) int32, updated
            Of the state of the kernel; see `roll_vec.kernels.calls`.
        rule : str or None
            The rule, where the kernel does not mark it there.
        """
        if isinstance(error, (NumbaError, UnsupportedBytecodeError)):
            return explain(error, self.name, self.rules())
        error = self.code.with_own_class(error)
        if isinstance(error, RollVecError):
            return error
        rows, place = np.flatnonzero(elapsed_steps < 0), ""
        if len(rows):
            rule = RULES[-1 - elapsed_steps[rows[0]]]
            place = f" in environment {rows[0]}"
            elapsed_steps[rows] = 0
        if rule is None:
            return error
        function, where = getattr(type(self), rule), f"{self.name}.{rule}"
        frame = frame_of(error, function)
        if frame is not None and not IS_COMPILED:
            where = f"{where}: {describe_frame(frame, function)}"
        elif frame is not None and frame.name != rule:
            where = f"{where}, in {frame.name}"
        # Of a tuple that is None.
        is_none = isinstance(error, TypeError) and "None" in str(error)
        hint = " (a path has no return)" if is_none else ""
        more = "; with NUMBA_DISABLE_JIT=1 the message has its line"
        more = more if IS_COMPILED else ""
        message = f"{where}: a rule failed{place}: {describe_error(error)}{hint}{more}"
        return with_message(error, message)

    @functools.cached_property
    def info_arrays(self) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """The dtype and shape of the infos of a step: numbers have Python's dtypes."""
        return {name: self.info_array(name) for name in self.infos}

    def info_array(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Return the dtype and shape of a variable that is an info."""
        dtype, shape = self.variables[name]
        return dtype if shape else np.dtype(_INFO_DTYPES[dtype.kind]), shape

    def add_reset_infos(self, engine: Any, env_ids: Ids, infos: Infos) -> Infos:
        """Return the infos of resets of some environments, with `reset_infos`."""
        variables = engine.named_variables()
        for name in self.reset_infos:
            infos[name] = variables[name][env_ids].astype(self.info_array(name)[0])
        return infos

    def solve_envs(self, engine: Any, env_ids: Ids, objective: str) -> list[Any]:
        """Return what a method ``solve`` returns, for each of some environments."""
        solve = getattr(self, "solve", None)
        if solve is not None and objective == "moves":
            return [solve(engine.row(i)) for i in env_ids.tolist()]
        return super().solve_envs(engine, env_ids, objective)

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
        """Return a description of the game, for the instructions.

        It is the docstring, up to a section such as ``Parameters``.
        """
        return read_sections(type(self).__doc__)[""] or type(self).__name__


def _check_option(name: str, value: Any, default: Any) -> Any:
    """Return the value of an option, of the type that its default has."""
    if isinstance(default, enum.Enum):
        try:
            return type(default)(value)
        except ValueError:
            accepted = f"one of {', '.join(map(repr, type(default)))}"
            raise InvalidOptionError.expected(name, accepted, value) from None
    if isinstance(default, (bool, np.bool_)):
        return check_bool(name, value)
    if isinstance(default, (int, np.integer)):
        return check_int(name, value, -MAX_INT)
    if isinstance(default, (float, np.floating)):
        return check_number(name, value, -math.inf, math.inf)
    if isinstance(default, str):
        return check_optional_text(name, value)
    if isinstance(default, tuple) and not isinstance(value, (tuple, list, np.ndarray)):
        raise InvalidOptionError.expected(name, "a tuple, a list or an array", value)
    return value


_INT64 = range(-(1 << 63), 1 << 63)


def _read_constant(name: str, value: Any) -> Any:
    """Return a number or an array of numbers as kernels take it, else None.

    Raises
    ------
    InvalidOptionError
        For a number that kernels cannot hold, and an array of anything but numbers.
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    accepted = "numbers that rules can read: bools, floats, integers of 64 bits"
    if isinstance(value, (int, np.integer)):
        if int(value) not in _INT64:
            raise InvalidOptionError.expected(name, accepted, value)
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if not isinstance(value, (tuple, list, np.ndarray)):
        return None
    try:
        # A copy: kernels are compiled anew for an array that is read-only.
        array = np.array(value, order="C")
        if not isinstance(value, np.ndarray):
            # numpy would make them unsigned, or floats.
            numbers = np.array(value, object).ravel().tolist()
            integers = (each for each in numbers if isinstance(each, (int, np.integer)))
            if not all(int(each) in _INT64 for each in integers):
                raise OverflowError
    except (ValueError, OverflowError):  # also for rows of several lengths
        raise InvalidOptionError.expected(name, accepted, value) from None
    if array.dtype == np.float16:
        return array.astype(np.float64)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InvalidOptionError.expected(name, accepted, value)
    if array.dtype == np.uint64 and (array >> np.uint64(63)).any():
        raise InvalidOptionError.expected(name, accepted, value)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


@functools.lru_cache(maxsize=64)
def _make_types(
    *names: tuple[str, ...], lengths: tuple[Any, ...], output_lengths: tuple[Any, ...]
) -> tuple[Any, Any, Any, Any]:
    types: list[Any] = [namedtuple("Row", each) for each in names[:3]]
    variables, constants, infos = types
    variables.lengths = dict(zip(names[0], lengths, strict=True))
    variables.output_lengths, outputs = output_lengths, names[3]
    output = None if outputs == ("",) else namedtuple("Output", outputs)
    return variables, constants, infos, output


# Numbers of an environment are Python's in its infos, and become these in a batch.
_INFO_DTYPES = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}


@functools.lru_cache(maxsize=64)
def _make_family(code: RuleCode, types: Any, is_discrete: bool) -> GameKernels:
    """Return kernels; they are compiled once for equal rules."""
    kernels: GameKernels = make_family(code.rules, types, is_discrete, code.digest)
    return kernels
