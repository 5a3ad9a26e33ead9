"""`ArrayEnv`: an environment whose rules are written once, for one environment."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import re
from collections import ChainMap, namedtuple
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import numpy as np
from gymnasium.spaces import Box, Dict, Space
from gymnasium.spaces import Tuple as TupleSpace
from numpy.typing import NDArray

from roll_vec.arrays import declarations
from roll_vec.arrays.declarations import Variable
from roll_vec.arrays.level_providers import LevelNumbers, LevelProvider, read_levels
from roll_vec.arrays.rule_code import RuleCode, copy_rules
from roll_vec.arrays.rules import RULES
from roll_vec.docstrings import read_sections, select_paragraphs
from roll_vec.errors import InvalidOptionError, SolverLimitError, UnsupportedError
from roll_vec.kernels._jit import IS_COMPILED
from roll_vec.kernels._notice import NOTICE
from roll_vec.kernels.families import GameKernels
from roll_vec.kernels.rows import Row, field_name
from roll_vec.options import (
    check_bool,
    check_choice,
    check_fields,
    check_int,
    check_levels,
    check_optional,
    check_optional_text,
    check_render_mode,
    refuse_unused,
)
from roll_vec.row_threads import SliceSizer
from roll_vec.text.action_parser import ActionParser
from roll_vec.text.options import ACTION_MODES, TextOptions

Ids: TypeAlias = NDArray[np.int64]
Arrays: TypeAlias = tuple[NDArray[Any], ...]
Infos: TypeAlias = dict[str, Any]

# At this scale the picture of a 6x6 room has 6144 x 6144 pixels.
MAX_SCALE = 64
METADATA: dict[str, Any] = {
    "render_modes": ["human", "rgb_array", "ansi", "text"],
    "render_fps": 4,
}
# Numbers of an environment are Python's in its infos, and become these in a batch.
_INFO_DTYPES = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}
_BASES = (__name__, "roll_vec.arrays.grid_env")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArrayEnv(TextOptions):
    """Base class of environments whose state is stacked in arrays.

    A subclass writes the rules of one environment.  Batches, single environments and
    all that works with them are derived.  An instance holds the options: every
    annotated name of the class is a keyword of `gymnasium.make` and `make_vec`, beside
    those below.  Those of `roll_vec.text.options.TextOptions` need
    ``action_mode="text"``.

    Parameters
    ----------
    action_mode : str
        ``discrete``, or ``text`` for names of actions in the answer of a model.
    env_instruction : str or None
        A description of the game that replaces ours in the instructions.  The symbols
        and the actions follow it.
    obs_mode : str
        ``array``: what the rule ``observe`` writes; ``text``: what the method ``text``
        returns.
    render_mode : str or None
        ``ansi`` and ``text``: what the method ``text`` returns.  ``rgb_array`` and
        ``human``: pictures and a window, of games of Gymnasium (extra ``render``).
    render_scale : int
        Scale of pictures, from 1 to 64: a tile has 16 n times 16 n pixels.
    action_mask : bool
        True: infos have ``action_mask``, 1 for actions that can change something.
        Those of resets and steps have it, (A,) int8; column j stands for the action
        ``action_space.start + j``, as ``action_space.sample(mask)`` reads it.
    levels : array, or what `read_levels` reads, if the class has this option
        Your own levels to play: the seed that the rule ``begin`` gets is the number of
        one.
    num_levels : int
        Number of levels of a finite set; 0: unlimited, or all your own levels.  A level
        is generated once and kept.  Use two ranges for training and test.
    start_level : int
        The first level of the set.  An episode of seed s plays the level ``start_level
        + s mod num_levels``.
    advantage_info : bool
        True: infos of steps have ``advantage``, the exact credit of the action.  It is
        the change of the value of best play, 0 for a best action, else below 0.
    seed_info : bool
        True: infos of resets have ``seed``, which opens the episode again.  It is an
        int below 2**32; ``reset(seed=seed)`` starts the same episode in an environment
        with the same keywords.
    level_info : bool
        True: infos of resets have ``level``, the number of the level.  It is the number
        that `roll_vec.seeding.level_for_seed` returns; for your own levels their index.

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
    texts : dict of str to str, of the class
        The parts of a `Dict` observation that are texts, each with its variable.  For
        the part ``mission`` the method ``mission_text(self, value)`` returns the text
        of a number, or of an array; it is called where the variable has changed.
    observation : str or None, of the class
        The variable that is the observation, in the place of the rule ``observe``.
    OBS_MODES : dict of str to str, of the class
        The observation modes that ``obs_mode`` accepts, with what an observation has.
    action_start : int, of the class
        The first action of the action space.  Rules count from 0.
    invalid_reward : float, of the class
        The reward of a text without a valid action; nothing else moves.
    takes_invalid_actions : bool, of the class
        True: the rule ``step`` decides such an action, and gets -1.
    seeding : str, of the class
        ``level``: each episode has a seed of its own, in which all its random numbers
        begin.  ``stream``: one generator goes on through all episodes, as in Gymnasium.
    LEVEL_OPTIONS : tuple of str, of the class
        The keywords that `set_level_options` accepts, where levels can change.
    level_variables : tuple of str, of the class
        The first variables, where an episode begins with a level: a row of these, which
        `draw_levels` draws or ``levels`` has.  They have their values when the rule
        ``begin`` is called, whose seed is that of the episode then.
    tuned_step : kernel or None, of the class
        It steps a batch in the place of the rule ``step``, with the same results; see
        `roll_vec.kernels.families.make_family`.
    ROWS_PER_THREAD : int, of the class
        The smallest number of environments that a kernel leaves to another thread.
    state_limits : dict of str to (low, high)
        The lowest and the highest value of variables of a state, by name.  Each is a
        number, or an array of the variable's shape.  NaN is outside of all limits.
    solution_variables : sequence of str, of the class
        The variables on which solutions depend, for ``advantage_info``; empty: all.
    action_advantages : callable or None
        Returns the advantages of actions, where their results are not certain:
        ``action_advantages(before, actions, after)``.  It gets the
        ``solution_variables`` of m environments before and after a step, (m, ...)
        arrays by name, and their actions, counted from 0; -1 is no valid action.
    attributes : dict of str to object
        What users read as an attribute of an environment, by name, beside variables,
        options and properties of the class: constants, functions, and
        `roll_vec.arrays.attributes.StateAttribute`, which they can set as well.
    reset_options : dict of str to float
        The numbers that ``reset(options=)`` may set for the episodes that it begins,
        with their values in all others.  The rule ``begin`` reads them as options.
    finish_step : callable or None
        A function that is called after each step:
        ``finish_step(engine, skip_mask, terminations, infos)``.  It may write to the
        last two, (n,) arrays.
    draw_frame : method, where the class has it
        ``draw_frame(self, env, mode)`` returns a frame: for ``rgb_array`` a picture,
        (H, W, 3) uint8, else a text.
    gymnasium_renderer : GymnasiumRenderer or None
        Draws the pictures of a game of Gymnasium; None: tiles, where there is a board.

    Infos
    -----
    action_mask : (num_actions,) int8; reset, step; action_mask=True
        1 for the actions that can change something.
    advantage : float64; step; advantage_info=True
        What the action has changed in the exact value, in the game's unit (see
        docs/solvers.md): 0 for a best one, else below 0; -100 for a dead end in moves.
    seed : int64; reset; seed_info=True
        The seed that opens the episode.
    level : int64; reset; level_info=True
        The number of the level.

    Raises
    ------
    InvalidOptionError
    """

    state: ClassVar[Mapping[str, Any]] = {}
    actions: ClassVar[Any] = ()
    action_summary: ClassVar[Any] = ""
    infos: ClassVar[Any] = ()
    hidden_infos: ClassVar[Any] = ()
    reset_infos: ClassVar[Any] = ()
    texts: ClassVar[Mapping[str, str]] = MappingProxyType({})
    observation: ClassVar[str | None] = None
    OBS_MODES: ClassVar[Mapping[str, str]] = {
        "array": "what the rule `observe` writes",
        "text": "what the method `text` returns",
    }
    # Not annotated: games whose first action is a keyword have a field of this name.
    action_start = 0
    invalid_reward: ClassVar[float] = 0.0
    takes_invalid_actions: ClassVar[bool] = False
    seeding: ClassVar[str] = "level"
    LEVEL_OPTIONS: ClassVar[tuple[str, ...]] = ("num_levels", "start_level")
    level_variables: ClassVar[tuple[str, ...]] = ()
    tuned_step: ClassVar[Any] = None
    solution_variables: ClassVar[tuple[str, ...]] = ()
    action_advantages: ClassVar[Any] = None
    # A step takes 10 to 100 ns an environment in most games, a part for another thread
    # 40 us.  Two play 8,192 rooms 0.9 times as fast as one, 16,384 1.25 times.
    ROWS_PER_THREAD: ClassVar[int] = 1 << 13
    state_limits: ClassVar[Any] = MappingProxyType({})
    attributes: ClassVar[Any] = MappingProxyType({})
    reset_options: ClassVar[Mapping[str, float]] = MappingProxyType({})
    finish_step: ClassVar[Any] = None
    gymnasium_renderer: ClassVar[Any] = None
    # Whether texts are those of the method ``text`` in every case.
    writes_texts: ClassVar[bool] = True
    metadata: ClassVar[dict[str, Any]] = {**METADATA, "render_modes": ["ansi"]}
    action_mode: str = "discrete"
    env_instruction: str | None = None
    obs_mode: str = "array"
    render_mode: str | None = None
    # A keyword of games on grids.
    render_scale: ClassVar[Any] = 1
    action_mask: bool = False
    advantage_info: bool = False
    num_levels: int = 0
    start_level: int = 0
    seed_info: bool = False
    level_info: bool = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Make the class a dataclass of its options."""
        super().__init_subclass__(**keywords)
        if hasattr(cls, "draw_frame") and cls.metadata is ArrayEnv.metadata:
            cls.metadata = METADATA
        # A default that a subclass changes is one of the same type.
        annotations, inherited = inspect.get_annotations(cls), {}
        for field in dataclasses.fields(cls):
            if field.name in vars(cls) and field.name not in annotations:
                inherited[field.name] = field.type
        cls.__annotations__ = {**annotations, **inherited}
        docstring = cls.__doc__
        try:
            dataclasses.dataclass(frozen=True, kw_only=True, eq=True)(cls)
        except ValueError as error:  # a default that is a list or an array
            message = f"{cls.__name__}: {error}: use a tuple"
            raise InvalidOptionError(message) from None
        # Without one a dataclass gets its signature.
        cls.__doc__ = docstring

    def __post_init__(self) -> None:
        check_choice("action_mode", self.action_mode, ACTION_MODES)
        if self.action_mode == "discrete":
            check_fields(self)
            names = TextOptions.__dataclass_fields__
            refuse_unused(self, names, "needs action_mode='text'")
        super().__post_init__()
        check_optional_text("env_instruction", self.env_instruction)
        check_choice("obs_mode", self.obs_mode, self.OBS_MODES)
        modes = self.metadata["render_modes"]
        check_render_mode("render_mode", self.render_mode, modes)
        scale = check_int("render_scale", self.render_scale, 1, MAX_SCALE)
        fields = dataclasses.fields(self)
        flags = [field.name for field in fields if isinstance(field.default, bool)]
        checked = {name: check_bool(name, getattr(self, name)) for name in flags}
        self._set(render_scale=scale, **checked)
        if self.render_mode not in ("rgb_array", "human") and scale != 1:
            message = "render_scale: needs render_mode='rgb_array' or 'human'"
            raise InvalidOptionError(message)
        for name, reason in self.unused_keywords.items():
            refuse_unused(self, [name], f"{self.name} {reason}")
        limit = getattr(self, "max_steps", None)
        check_optional("max_steps", limit, check_int, 0)
        self._check_levels()
        for field in fields:
            if field.name not in self.common_names():
                value, default = getattr(self, field.name), field.default
                if value is None and str(field.type).endswith("None"):
                    continue
                value = declarations.check_option(field.name, value, default)
                self._set(**{field.name: value})
        self.check_options()

    def check_options(self) -> None:
        """Raise an error if options cannot be used; a subclass may have its own.

        Options with a default of bool, int or float are checked for this before.
        """

    def _set(self, **values: Any) -> None:
        """Replace fields by their validated forms, in ``__post_init__`` alone."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        # Not what is derived, such as classes of named tuples.
        names = [field.name for field in dataclasses.fields(self)]
        return {name: getattr(self, name) for name in names}

    @property
    def name(self) -> str:
        """The name of the family, for messages."""
        return type(self).__name__

    @property
    def unused_keywords(self) -> dict[str, str]:
        """The keywords that the class has no use for, each with the reason.

        They accept their defaults alone, and descriptions leave them out.
        """
        unused = {}
        if self.seeding == "stream":
            names: Any = "num_levels", "start_level", "seed_info", "level_info"
            reason = "has no levels, as its random numbers are one stream"
            unused = dict.fromkeys(names, reason)
        if not hasattr(self, "legal"):
            unused["action_mask"] = "has no rule `legal`"
        if not self.has_solver():
            unused["advantage_info"] = "has no solver"
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

    # ---------------------------------------------------------------- levels

    def read_levels(self, levels: Any) -> Any:
        """Return the levels of an option ``levels`` as one array, level by level.

        It gets what the option is, and once more what it has returned.  A class may
        read a file here.  An option of this name whose default is a number or a text
        has another meaning.

        Returns
        -------
        (L, ...) array of numbers, or a `LevelSet`

        Raises
        ------
        InvalidOptionError
        """
        return read_levels(levels)

    def draw_levels(
        self, num_threads: int, slices: SliceSizer, seeds: NDArray[np.uint64]
    ) -> Arrays:
        """Return levels from seeds: values of ``level_variables``, (m, ...) each.

        A class with such variables has this method.

        Parameters
        ----------
        num_threads : int
            The levels do not depend on it.
        slices : SliceSizer
            Keeps the measured times from call to call.
        seeds : (m,) uint64
            All different.

        Raises
        ------
        LevelGenerationError
        """
        raise NotImplementedError

    def make_provider(self, num_threads: int) -> LevelNumbers:
        """Return the numbers of levels, or what draws them."""
        if not self.level_variables:
            return LevelNumbers(self.level_count, self.start_level)
        draw = functools.partial(self.draw_levels, num_threads, SliceSizer("levels"))
        return LevelProvider(self, draw)

    @property
    def user_levels(self: Any) -> Any:
        """The levels of an option ``levels``; None: levels come from seeds."""
        default = getattr(type(self), "levels", 0)
        return None if isinstance(default, (int, float, str)) else self.levels

    def _check_levels(self: Any) -> None:
        """Read the keyword ``levels``, and check those that number levels."""
        num_levels, start_level = self.num_levels, self.start_level
        if self.user_levels is None:
            num_levels, start_level = check_levels(num_levels, start_level)
        else:
            self._set(levels=self.read_levels(self.levels))
            count = len(self.levels)
            start_level = check_int("start_level", start_level, 0, count - 1)
            # 0 is all levels from the first one on, and stays 0.
            num_levels = check_int("num_levels", num_levels, 0, count - start_level)
        self._set(num_levels=num_levels, start_level=start_level)

    @property
    def level_count(self) -> int:
        """Number of levels that are played; 0: unlimited."""
        if self.num_levels or self.user_levels is None:
            return int(self.num_levels)
        return len(self.user_levels) - int(self.start_level)

    # ---------------------------------------------------------------- actions

    @functools.cached_property
    def action_names(self) -> tuple[str, ...]:
        """The names of the actions; their numbers where they have none."""
        if isinstance(self.actions, Box):
            return ()
        if isinstance(self.actions, int):
            return tuple(map(str, range(self.actions)))
        return tuple(self.actions)

    @property
    def first_action(self) -> int:
        """The lowest action; the others follow."""
        return int(self.action_start)

    @property
    def lowest_action(self) -> int:
        """The lowest integer that is accepted."""
        return self.first_action

    @property
    def action_lookup(self) -> Mapping[int, str]:
        """The names of the actions by number."""
        return dict(enumerate(self.action_names, self.first_action))

    # ---------------------------------------------------------------- the state

    # The dtype and shape of each variable of one environment.
    variables = functools.cached_property(declarations.read_variables)

    def allocate(self, num_envs: int) -> Arrays:
        """Return the variables of so many environments, all 0."""
        return tuple(
            np.zeros((num_envs, *shape), dtype)
            for dtype, shape in self.variables.values()
        )

    def named(self, variables: Arrays) -> dict[str, NDArray[Any]]:
        """Return the variables of a batch by name."""
        return dict(zip(self.variables, variables, strict=True))

    def row_of(
        self, variables: Arrays, is_writable: bool = True, max_steps: int = 0
    ) -> Row:
        """Return the first environment of a batch as rules see it.

        ``max_steps`` is the limit of steps that they read; 0: that of these options.
        """
        row_type, constants = self._row_parts
        if max_steps:
            constants = constants._replace(max_steps=max_steps)
        return Row(row_type(*variables), constants, 0, is_writable)

    @functools.cached_property
    def _row_parts(self) -> tuple[Any, Any]:
        constants = namedtuple("Row", self.constants)(**self.constants)
        return namedtuple("Row", self.variables), constants

    def check_rows(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check what `state_limits` does not say of a state.

        Raises
        ------
        InvalidStateError
        """

    def check_reset_options(self, values: Mapping[str, float]) -> None:
        """Raise an error if episodes cannot begin with these ``reset_options``.

        They are finite numbers, those that the argument of a reset names and others.
        """

    # ---------------------------------------------------------------- kernels

    # In the order of `roll_vec.kernels.calls`.
    @property
    def rule_names(self) -> tuple[str, ...]:
        """The names of the rules begin, step, observe and legal."""
        return RULES

    def rules(self) -> list[Any]:
        """Return the rules of `rule_names`; None for one that is not."""
        return [getattr(type(self), name, None) for name in self.rule_names]

    @functools.cached_property
    def code(self) -> RuleCode:
        """The rules as they are now: batches with these options keep them."""
        return copy_rules(self.name, self.rules())

    # Whether a rule draws random numbers.
    has_generator = functools.cached_property(declarations.draws_numbers)
    # Numbers and arrays that rules read as ``env.name`` beside variables.  A property
    # is one of these if a rule reads it.
    constants = functools.cached_property(declarations.read_constants)
    # Those that kernels read.
    kernel_constants = functools.cached_property(declarations.kernel_constants_of)
    # What kernels are made of beside the rules.
    declaration = functools.cached_property(declarations.declare)

    def family(self) -> GameKernels:
        """Return the kernels of batches with these options."""
        NOTICE.game = self.name
        # With the JIT off the rule plays, where a debugger stops; and with texts, which
        # take a hundred times as long to parse.
        is_tuned = IS_COMPILED and self.action_mode != "text"
        step = type(self).tuned_step if is_tuned else None
        return declarations.make_kernels(self.code, self.declaration, step)

    def rules_of(self, max_steps: int) -> tuple[Any, ...]:
        """Return the rules, as the kernel of a step reads them."""
        reward = float(self.invalid_reward)
        return self.first_action, max_steps, reward, self.takes_invalid_actions

    # ---------------------------------------------------------------- infos

    @property
    def has_success(self) -> bool:
        """Whether the game defines success."""
        return "success" in self.infos

    def info_array(self, name: str) -> Variable:
        """Return the dtype and shape of a variable that is an info."""
        dtype, shape = self.variables[name]
        return dtype if shape else np.dtype(_INFO_DTYPES[dtype.kind]), shape

    def add_reset_infos(self, engine: Any, env_ids: Ids, infos: Infos) -> Infos:
        """Return the infos of resets of some environments; a class may add others."""
        return infos

    @classmethod
    def has_solver(cls) -> bool:
        """Return whether the class has a solver."""
        has_method = getattr(cls, "solve", None) is not None
        return has_method or cls.solve_envs is not ArrayEnv.solve_envs

    def solve_envs(self, engine: Any, env_ids: Ids, objective: str) -> list[Any]:
        """Return solutions of some environments; see `Engine.solve`.

        They are what a method ``solve`` of the class returns for each environment.

        Raises
        ------
        UnsupportedError
            A family without a solver.
        """
        solve = getattr(self, "solve", None)
        if solve is None or objective != "moves":
            message = f"{self.name} has no solver for {objective!r}"
            raise UnsupportedError(message)
        return [solve(engine.row(i)) for i in env_ids.tolist()]

    def count_moves(
        self, variables: Mapping[str, NDArray[Any]], num_threads: int
    ) -> NDArray[np.float64]:
        """Return the fewest actions to the end from some states, by ``solve``.

        A class whose ``solve`` may return more has a method ``solve_exactly``.

        Parameters
        ----------
        variables : mapping of str to (m, ...) array
            Those of ``solution_variables``.
        num_threads : int
            The result does not depend on it.

        Returns
        -------
        (m,) float64
            Infinite without a solution; NaN where the solver gave up.
        """
        count = len(next(iter(variables.values())))
        moves = np.full(count, np.nan)
        names = "solve_exactly", "solve"
        solve: Any = next(getattr(self, name) for name in names if hasattr(self, name))
        for j in range(count):
            row = self.named(self.allocate(1))
            row |= {name: each[j : j + 1].copy() for name, each in variables.items()}
            with contextlib.suppress(SolverLimitError):
                actions = solve(self.row_of(tuple(row.values())))
                moves[j] = np.inf if actions is None else len(actions)
        return moves

    # ---------------------------------------------------------------- observations

    @functools.cached_property
    def parts(self) -> dict[str, Space[Any]]:
        """The spaces of the arrays that an observation is made of, by name.

        Those of texts are not among them.
        """
        space = self.observation_space
        if isinstance(space, Dict):
            parts = space.spaces.items()
            return {name: part for name, part in parts if name not in self.texts}
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
    def text_variables(self) -> Mapping[str, str]:
        """The variable of each text that observations have."""
        return self.texts

    def allocate_observations(self, num_envs: int) -> Arrays:
        """Return arrays for so many observations, as kernels write them.

        Behind the parts are the variables of texts, each once.
        """
        shape = (1,) if "" in self.parts else ()
        names = dict.fromkeys(self.text_variables.values())
        variables = [self.variables[name] for name in names]
        return tuple(
            # A number alone is an array of one for the rule: out[0].
            np.empty((num_envs, *(space.shape or shape)), space.dtype)
            for space in self.parts.values()
        ) + tuple(np.empty((num_envs, *shape), dtype) for dtype, shape in variables)

    def make_observer(self, num_threads: int) -> Any:
        """Return what turns grids into observations and frames; None without a grid."""
        return None

    # ---------------------------------------------------------------- texts

    def text(self, env: Row) -> str:
        """Return the state of an environment as text; a subclass may have its own.

        Parameters
        ----------
        env : roll_vec.kernels.rows.Row
            As rules see it.
        """
        values = ((name, getattr(env, name)) for name in self.variables)
        return "\n".join(f"{name}: {getattr(x, 'array', x)}" for name, x in values)

    def write_texts(self, engine: Any, env_ids: Ids) -> tuple[str, ...]:
        """Return the texts of some environments; a class may make them of arrays."""
        return tuple(self.text(engine.row(i)) for i in env_ids.tolist())

    def describe(self) -> str:
        """Return a description of the game, for the instructions.

        It is the section ``Instructions`` of the docstring, of the class or else of its
        nearest base that has one; `select_paragraphs` describes its form.  Without such
        a section it is the docstring of the class up to its first section.  The name of
        a number in double backticks, such as an option, becomes the number.
        Python's option ``-OO`` leaves no docstrings: it is the name of the class then.
        """
        docstrings = [read_sections(cls.__doc__) for cls in type(self).__mro__]
        section = ChainMap(*docstrings).get("Instructions")
        text = docstrings[0][""] or type(self).__name__
        if section:
            text = select_paragraphs(section, self)
        for name in dict.fromkeys(re.findall(r"``(\w+)``", text)):
            value = getattr(self, name, None)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                text = text.replace(f"``{name}``", str(value))
        return text

    def instructions(self, parser: ActionParser | None) -> str:
        """Return the game, the symbols, the actions and the form of an answer.

        Parameters
        ----------
        parser : ActionParser or None
            None: actions are integers, and the form of an answer is left out.
        """
        game = self.env_instruction
        lines = [self.describe() if game is None else game, *self._describe_grid()]
        names, summary = list(self.action_lookup.values()), self.action_summary
        if parser is not None:
            lines.append(f"Actions: {summary or ', '.join(names)}.")
            lines.append(parser.describe_answer(names))
        elif names:
            codes = [f"{code} ({name})" for code, name in self.action_lookup.items()]
            text = ", ".join(codes)
            if summary:
                text = f"{codes[0]} to {codes[-1]}, each {summary}"
            lines.append(f"Actions: {text}.")
        return "\n".join(lines)

    def _describe_grid(self) -> list[str]:
        """Return the lines of instructions about a grid."""
        return []
