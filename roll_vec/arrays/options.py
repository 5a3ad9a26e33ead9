"""The keywords of environments in stacked arrays, each with its only default and check.

`ArrayOptions` has those of all of them, and says what a family declares: its variables,
kernels, infos and levels.  `ArrayEnv` and `GridEnv` derive these from rules.
`GridOptions` and `LevelOptions` are the bases of the package's games, which declare
them by hand: their loops are faster, and their levels are no draws of a rule.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space
from gymnasium.spaces import Tuple as TupleSpace
from numpy.typing import NDArray

from roll_vec.arrays.grid_family import GridFamily
from roll_vec.arrays.grid_observations import OBS_MODES, GridObserver
from roll_vec.arrays.level_providers import LevelNumbers
from roll_vec.arrays.level_sets import LevelSet, check_given_levels
from roll_vec.arrays.text_actions import describe_actions
from roll_vec.errors import (
    InvalidOptionError,
    RollVecWarning,
    UnsupportedError,
    warn_caller,
)
from roll_vec.kernels.rows import field_name
from roll_vec.kernels.unroll import GameKernels
from roll_vec.options import (
    check_bool,
    check_choice,
    check_fields,
    check_int,
    check_levels,
    check_lookup,
    check_optional,
    check_optional_text,
    check_render_mode,
    option,
    refuse_unused,
)
from roll_vec.text.action_parser import ActionParser
from roll_vec.text.options import ACTION_MODES, TextOptions

Ids: TypeAlias = NDArray[np.int64]
Arrays: TypeAlias = tuple[NDArray[Any], ...]
Infos: TypeAlias = dict[str, Any]
_DTYPE_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 float32 float64"
_DTYPES = tuple(map(np.dtype, _DTYPE_NAMES.split()))
# Of a generated grid.
MAX_CELLS = 1 << 20
# At this scale the picture of a 6x6 room has 6144 x 6144 pixels.
MAX_SCALE = 64
ACTION_FLAGS = ("action_is_effective", "action_is_valid", "success")
RENDER_MODES = ("human", "rgb_array", "ansi", "text")
METADATA: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ArrayOptions(TextOptions):
    """The keywords of every environment in stacked arrays.

    Those of `roll_vec.text.options.TextOptions` need ``action_mode="text"``.  A
    subclass gives `action_names` and `describe`; it needs no checks of keywords whose
    defaults are True or False.

    Parameters
    ----------
    action_mode : str
        ``discrete``, or ``text`` for names of actions in the answer of a model.
    env_instruction : str or None
        A description of the game that replaces ours in the instructions.  The symbols
        and the actions follow it.
    obs_mode : str
        Form of observations: ``grid``, ``planes``, ``tiny_rgb``, ``rgb`` or ``text``.
        `roll_vec.arrays.grid_observations.OBS_MODES` describes them.
    render_mode : str or None
        Form of frames: ``rgb_array``, ``ansi``, ``text`` or ``human``.  ``ansi`` is
        coloured text, ``human`` a window (extra ``render``).
    render_scale : int
        Scale of pictures, from 1 to 64: a tile has 16 n times 16 n pixels.
    action_mask : bool
        True: infos have ``action_mask``, 1 for actions that can change something.
        Those of resets and steps have it, (A,) int8; column j stands for the action
        ``action_space.start + j``, as ``action_space.sample(mask)`` takes it.

    Attributes
    ----------
    OBS_MODES : dict of str to str, of the class
        The observation modes that ``obs_mode`` accepts, with what an observation has.
    LEVEL_OPTIONS : tuple of str, of the class
        The keywords that `set_level_options` takes, where levels can change.
    action_start : int or None
        The first action; None: 1, with a warning of the first action 0.
    state : dict of str to dtype, or to (dtype, shape), of the class
        The variables of one environment.
    action_summary : str, of the class
        The form of the actions' names, in the place of a list of them; may be empty.
    seeding : str, of the class
        ``level``: each episode has a seed of its own; ``stream``: the generators go on.
    FLAG_INFOS : tuple of str, of the class
        The first infos of kernels, (n,) bool: `ACTION_FLAGS`, or none.
    HAS_RESET_INFOS : bool, of the class
        Whether kernels write the infos of resets beside those of steps.
    gymnasium_renderer : GymnasiumRenderer or None
        Draws the pictures of a game of Gymnasium; None: tiles, where there is a board.
    HAS_NEW_GENERATORS : bool, of the class
        Whether ``np_random`` is a generator of each episode that no kernel reads.
    constants : dict
        What kernels read beside variables, by name: numbers and arrays.
    info_arrays : dict of str to (dtype, shape)
        The dtype and shape of the infos of kernels after `FLAG_INFOS`, by name.
    hidden_infos : tuple of str
        The infos of kernels that users do not get.
    state_limits : dict of str to (low, high)
        The lowest and the highest value of variables of a state, by name.  Each is a
        number, or an array of the variable's shape.  NaN is outside of all limits.
    attributes : dict of str to object
        What users read as an attribute of an environment, by name, beside variables,
        options and properties of the class: constants, functions, and
        `roll_vec.arrays.attributes.StateAttribute`, which they can set as well.
    reset_options : dict of str to float
        The numbers that ``reset(options=)`` may set for the episodes that it begins,
        with their values in all others.  The rule ``begin`` reads them as options.
    has_level_infos : bool
        Whether the infos of resets say something of the level that is played.
    needs_level_numbers : bool
        Whether the number of the level that is played is of use later.
    writes_own_text : bool
        Whether texts are those of a method ``text`` in every case.
    DRAWS : bool, of the class
        Whether kernels draw from generators.
    CHECKS_CODES : bool, of the class
        Whether kernels may write cell codes that have no looks.
    NUM_LEVEL_ARRAYS : int, of the class
        The first variables are a level, where levels are placed by a kernel.
    ROWS_PER_THREAD : int, of the class
        The smallest number of environments that a kernel leaves to another thread.
    finish_step : callable or None
        A function that is called after each step:
        ``finish_step(engine, skip_mask, terminations, infos)``.  It may write to the
        last two, (n,) arrays.

    Infos
    -----
    action_mask : (num_actions,) int8; reset, step; action_mask=True
        1 for the actions that can change something.

    Raises
    ------
    InvalidOptionError
    """

    metadata: ClassVar[dict[str, Any]] = METADATA
    OBS_MODES: ClassVar[Mapping[str, str]] = OBS_MODES
    LEVEL_OPTIONS: ClassVar[tuple[str, ...]] = ("num_levels", "start_level")
    # Not annotated: an annotation here would decide where the keyword stands.
    action_start = 0

    state: ClassVar[Mapping[str, Any]] = {}
    action_summary: ClassVar[Any] = ""
    seeding: ClassVar[str] = "level"
    FLAG_INFOS: ClassVar[tuple[str, ...]] = ()
    HAS_RESET_INFOS: ClassVar[bool] = False
    reset_infos: ClassVar[tuple[str, ...]] = ()
    gymnasium_renderer: ClassVar[Any] = None
    HAS_NEW_GENERATORS: ClassVar[bool] = False
    constants: ClassVar[Any] = MappingProxyType({})
    info_arrays: ClassVar[Any] = MappingProxyType({})
    hidden_infos: ClassVar[Any] = ()
    state_limits: ClassVar[Any] = MappingProxyType({})
    attributes: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    reset_options: ClassVar[Mapping[str, float]] = MappingProxyType({})
    has_level_infos: ClassVar[Any] = False
    needs_level_numbers: ClassVar[Any] = False
    writes_own_text: ClassVar[Any] = False
    DRAWS: ClassVar[bool] = True
    CHECKS_CODES: ClassVar[bool] = False
    NUM_LEVEL_ARRAYS: ClassVar[int] = 0
    # A step takes 10 to 100 ns an environment in most games, handing a part to another
    # thread 40 us.  On two cores two threads play 8,192 Sokoban rooms 0.9 times as fast
    # as one, 16,384 1.25 times, 65,536 1.55 times, and 16,384 of CartPole 1.7 times.
    ROWS_PER_THREAD: ClassVar[int] = 1 << 13
    finish_step: ClassVar[Any] = None

    action_mode: str = "discrete"
    env_instruction: str | None = None
    obs_mode: str = "grid"
    render_mode: str | None = None
    render_scale: int = 1
    action_mask: bool = False

    def __post_init__(self) -> None:
        check_choice("action_mode", self.action_mode, ACTION_MODES)
        if self.action_mode == "discrete":
            check_fields(self)
            names = TextOptions.__dataclass_fields__
            refuse_unused(self, names, "needs action_mode='text'")
        super().__post_init__()
        check_optional_text("env_instruction", self.env_instruction)
        fields = dataclasses.fields(self)
        check_choice("obs_mode", self.obs_mode, self.OBS_MODES)
        check_render_mode(
            "render_mode", self.render_mode, self.metadata["render_modes"]
        )
        scale = check_int("render_scale", self.render_scale, 1, MAX_SCALE)
        flags = [field.name for field in fields if isinstance(field.default, bool)]
        checked = {name: check_bool(name, getattr(self, name)) for name in flags}
        self._set(render_scale=scale, **checked)
        if self.render_mode not in ("rgb_array", "human"):
            reason = "needs render_mode='rgb_array' or 'human'"
            refuse_unused(self, ("render_scale",), reason)

    def _set(self, **values: Any) -> None:
        """Replace fields by their validated forms, in ``__post_init__`` alone."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def action_names(self) -> tuple[str, ...]:
        """The names of the actions, from the first one on."""
        raise NotImplementedError

    @property
    def first_action(self) -> int:
        """The lowest action; the others follow."""
        return 1 if self.action_start is None else int(self.action_start)

    @property
    def lowest_action(self) -> int:
        """The lowest integer that is accepted."""
        return self.first_action

    @property
    def last_action(self) -> int:
        """The highest action."""
        return self.first_action + len(self.action_names) - 1

    @property
    def single_action_space(self) -> Space[Any]:
        """The space of an action that is no text."""
        return Discrete(len(self.action_names), start=self.first_action)

    @property
    def action_lookup(self) -> Mapping[int, str]:
        """The names of the actions by number."""
        return dict(enumerate(self.action_names, self.first_action))

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
        try:
            array = np.array(levels, order="C")
        except ValueError:  # levels of several shapes
            array = np.empty(0, object)
        if array.dtype.kind not in "biuf" or not array.ndim or not len(array):
            accepted = "an array or a list of levels, all of one shape"
            raise InvalidOptionError.expected("levels", accepted, levels)
        return array

    @property
    def user_levels(self: Any) -> Any:
        """The levels of an option ``levels``; None: levels come from seeds."""
        default = getattr(type(self), "levels", 0)
        return None if isinstance(default, (int, float, str)) else self.levels

    def _check_levels(self: Any) -> None:
        """Read the keyword ``levels``, and check those that number levels."""
        numbers = self.num_levels, self.start_level
        if self.user_levels is None:
            num_levels, start_level = check_levels(*numbers)
        else:
            self._set(levels=self.read_levels(self.levels))
            num_levels, start_level = check_given_levels(self.levels, *numbers)
        self._set(num_levels=num_levels, start_level=start_level)

    @property
    def level_count(self: Any) -> int:
        """Number of levels that are played; 0: unlimited."""
        if self.num_levels or self.user_levels is None:
            return int(self.num_levels)
        return len(self.user_levels) - int(self.start_level)

    def make_observer(self, num_threads: int) -> GridObserver | None:
        """Return what turns grids into observations and frames; None without a grid."""
        return None

    @property
    def name(self) -> str:
        """The name of the family, for messages."""
        return type(self).__name__.removesuffix("Options")

    def __getstate__(self) -> dict[str, Any]:
        # Not what is derived, such as classes of named tuples.
        names = [field.name for field in dataclasses.fields(self)]
        return {name: getattr(self, name) for name in names}

    # ---------------------------------------------------------------- the family

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
        if isinstance(shape, (int, np.integer, str)):
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
            is_name = isinstance(length, str)
            value: Any = getattr(self, length, None) if is_name else length
            is_integer = isinstance(value, (int, np.integer))
            if isinstance(value, bool) or not is_integer or value < 1:
                accepted = "a shape of positive numbers and names of options"
                raise InvalidOptionError.expected(owner, accepted, length)
            lengths.append(int(value))
        return dtype, tuple(lengths)

    def allocate(self, num_envs: int) -> Arrays:
        """Return the variables of so many environments, all 0."""
        return tuple(
            np.zeros((num_envs, *shape), dtype)
            for dtype, shape in self.variables.values()
        )

    def named(self, variables: Arrays) -> dict[str, NDArray[Any]]:
        """Return the variables that differ between environments, by name."""
        return dict(zip(self.variables, variables, strict=True))

    def family(self) -> GameKernels:
        """Return the kernels of batches with these options."""
        raise NotImplementedError

    def rules_of(self, max_steps: int) -> tuple[Any, ...]:
        """Return the rules, as the kernel of a step takes them."""
        return self.first_action, max_steps

    def explain(
        self,
        error: Exception,
        elapsed_steps: NDArray[np.int32],
        rule: str | None = None,
    ) -> Exception:
        """Return the error of a kernel of a state, as users get it."""
        return error

    def make_provider(self: Any, num_threads: int) -> Any:
        """Return the numbers of levels, or the `LevelProvider` of these options."""
        return LevelNumbers(self.level_count, self.start_level)

    def next_episodes(self, begins: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what kernels begin episodes with that begin by a rule.

        Parameters
        ----------
        begins : tuple
            `roll_vec.kernels.families.Seeding`.
        """
        return begins

    def parse_reset_options(self, options: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the ``reset_options`` that the argument of a reset sets, checked.

        Raises
        ------
        InvalidOptionError
        """
        names = self.reset_options.keys() & (options or {}).keys()
        values = {}
        for name in sorted(names):
            value = options[name]  # type: ignore[index]
            try:
                # As Gymnasium reads them, from arrays of one number as well.
                number = float(value)
            except (TypeError, ValueError, OverflowError):
                number = math.nan
            if not math.isfinite(number):
                owner = f"options[{name!r}]"
                raise InvalidOptionError.expected(owner, "a finite number", value)
            values[name] = number
        if values:
            self.check_reset_options({**self.reset_options, **values})
        return values

    def check_reset_options(self, values: Mapping[str, float]) -> None:
        """Raise an error if episodes cannot begin with these ``reset_options``.

        They are finite numbers, those that the argument of a reset names and others.
        """

    @property
    def has_success(self) -> bool:
        """Whether episodes are a success or none."""
        return "success" in self.FLAG_INFOS or "success" in self.info_arrays

    @property
    def adds_reset_infos(self) -> bool:
        """Whether resets have infos of the family."""
        return self.HAS_RESET_INFOS or bool(self.reset_infos)

    def add_reset_infos(self, engine: Any, env_ids: Ids, infos: Infos) -> Infos:
        """Return the infos of resets of some environments, with those of the family."""
        return infos

    @property
    def known_limits(self) -> dict[str, Any]:
        """The declared ``state_limits``, with those that follow from something else."""
        return dict(self.state_limits)

    def check_rows(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check what `state_limits` does not say of a state.

        Raises
        ------
        InvalidStateError
        """

    def solve_envs(self, engine: Any, env_ids: Ids, objective: str) -> list[Any]:
        """Return solutions of some environments; see `Engine.solve`.

        Raises
        ------
        UnsupportedError
            A family without a solver.
        """
        message = f"{self.name} has no solver for {objective!r}"
        raise UnsupportedError(message)

    # ---------------------------------------------------------------- observations

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

    def allocate_observations(self, num_envs: int) -> Arrays:
        """Return arrays for so many observations, as kernels write them."""
        own = (1,) if "" in self.parts else ()
        return tuple(
            # A number alone is an array of one for the rule: out[0].
            np.empty((num_envs, *(space.shape or own)), space.dtype)
            for space in self.parts.values()
        )

    def observed_array(self, variables: Arrays) -> NDArray[Any] | None:
        """Return the variable that is the observations; None: kernels write them."""
        return None

    # ---------------------------------------------------------------- texts

    def describe(self) -> str:
        """Return a description of the game, for the instructions."""
        raise NotImplementedError

    def instructions(self, parser: ActionParser | None) -> str:
        """Return the game, the symbols, the actions and the form of an answer.

        Parameters
        ----------
        parser : ActionParser or None
            None: actions are integers, and the form of an answer is left out.
        """
        game = self.env_instruction
        lines = [self.describe() if game is None else game, *self._describe_grid()]
        names, summary = self.action_lookup, self.action_summary
        return "\n".join([*lines, *describe_actions(names, parser, summary)])

    def _describe_grid(self) -> list[str]:
        """Return the lines of instructions about a grid."""
        return []


class GridOptions(ArrayOptions):
    """The keywords of environments on a grid of cell codes: those of `ArrayOptions`.

    A subclass gives `FAMILY`, `grid_shape` and `describe`.
    """

    FAMILY: ClassVar[GridFamily]

    def _check_symbols(self) -> None:
        """Check the keywords ``grid_lookup`` and ``grid_vocab``, and fill them in."""
        family, vocab = self.FAMILY, self.grid_vocab
        lookup = check_lookup("grid_lookup", self.grid_lookup, family.glyphs)
        vocab = family.meanings if vocab is None else vocab
        if not isinstance(vocab, Mapping):
            accepted = "a dict from str to str"
            raise InvalidOptionError.expected("grid_vocab", accepted, vocab)
        glyphs = {*family.glyphs.values(), *lookup.values()}
        unknown = [repr(symbol) for symbol in vocab if symbol not in glyphs]
        if unknown:
            message = f"grid_vocab: {', '.join(unknown)}: the board has no such symbols"
            warn_caller(message, RollVecWarning)
        self._set(grid_lookup=lookup, grid_vocab=dict(vocab))

    @property
    def action_names(self) -> tuple[str, ...]:
        """The names of the actions, from the first one on."""
        return self.FAMILY.action_names

    @property
    def grid_lookup(self) -> Any:
        """The glyphs of the cell codes, a dict from int to str."""
        return self.FAMILY.glyphs

    @property
    def grid_vocab(self) -> Any:
        """The meanings of the glyphs, a dict from str to str."""
        return self.FAMILY.meanings

    @property
    def symbol_meanings(self) -> list[tuple[str, str]]:
        """Each symbol of a grid as text and its meaning, in the order of codes."""
        # A user's symbol has the meaning of the default symbol of its code.
        cells, vocab = self.FAMILY.cells, self.grid_vocab
        return [
            (symbol, vocab.get(symbol, cells[code].meaning))
            for code, symbol in self.grid_lookup.items()
        ]

    @property
    def grid_shape(self) -> tuple[int, int]:
        """Height and width of a grid."""
        raise NotImplementedError

    @functools.cached_property
    def num_cells(self) -> int:
        """Number of cells of a grid."""
        return math.prod(self.grid_shape)

    @functools.cached_property
    def observation_space(self) -> Space[Any]:
        """The space of cell codes, which the observations of a grid are made of."""
        return Box(0, self.FAMILY.num_codes - 1, self.grid_shape, np.uint8)

    def allocate_observations(self, num_envs: int) -> Arrays:
        """Return an array for the cell codes of so many grids."""
        return (self.allocate_codes(num_envs),)

    def allocate_codes(self, num_envs: int) -> NDArray[np.uint8]:
        """Return an array for the cell codes of so many grids, as kernels write it."""
        return np.empty((num_envs, self.num_cells), np.uint8)

    def make_observer(self, num_threads: int) -> GridObserver:
        """Return what turns grids into observations and frames."""
        return GridObserver(self, num_threads)

    def _describe_grid(self) -> list[str]:
        # Not of a number that stands for itself.
        symbols = ", ".join(
            f"{one} is {text}" for one, text in self.symbol_meanings if one != text
        )
        return [f"Symbols of the board: {symbols}."]


@dataclasses.dataclass(frozen=True, kw_only=True)
class LevelOptions(GridOptions):
    """The keywords of ROLL's environments, which play a new level in each episode.

    They have those of `ArrayOptions`, too.

    Parameters
    ----------
    max_steps : int or None
        A second step limit, ROLL's, beside ``max_episode_steps``.
    grid_lookup : dict from int to str, or None
        Glyphs of the cell codes.
    grid_vocab : dict from str to str, or None
        Meanings of the glyphs, for the instructions.
    action_start : int or None
        The first action: 1, as ROLL counts, 0, or None for 1 with a warning.  With 1
        the action 0 is "no valid action": nothing moves, the step counts.  With 0 each
        action moves.  None warns at the first action 0.  Texts play the same in all
        three.
    action_lookup : dict from int to str, or None
        Names of the actions, from the first action on.
    levels : array, str, PathLike, list, or None
        Levels of yours to play: an array of codes, a file, a folder or a list of texts.
    num_levels : int
        Number of levels of a finite set; 0: unlimited, or all levels of yours.  A level
        is generated once and kept.  Use two ranges for training and test.
    start_level : int
        The first level of the set.  An episode of seed s plays the level ``start_level
        + s mod num_levels``.
    seed_info : bool
        True: infos of resets have ``seed``, which opens the episode again.  It is an
        int below 2**32; ``reset(seed=seed)`` starts the same episode in an environment
        with the same keywords.
    level_info : bool
        True: infos of resets have ``level``, the number of the level.  It is the number
        that `roll_vec.seeding.level_for_seed` returns; for levels of yours their index.

    Attributes
    ----------
    LEVEL_SET : type, of the class
        The levels of users.
    MEASURES : dict of str to int or float, of the class
        The measures of a level's difficulty, each with the highest bound of a band; see
        `roll_vec.evaluation.draw_levels`.  An int: the measure is an integer.

    Infos
    -----
    seed : int64; reset; seed_info=True
        The seed that opens the episode.
    level : int64; reset; level_info=True
        The number of the level.

    Raises
    ------
    InvalidOptionError
    """

    FLAG_INFOS: ClassVar[tuple[str, ...]] = ACTION_FLAGS
    HAS_NEW_GENERATORS: ClassVar[bool] = True
    LEVEL_SET: ClassVar[type[LevelSet]]
    MEASURES: ClassVar[Mapping[str, float]] = {}

    max_steps: int | None = option(None, check_optional, check_int, 1)
    grid_lookup: Mapping[int, str] | None = None
    grid_vocab: Mapping[str, str] | None = None
    action_start: int | None = None  # type: ignore[assignment]
    action_lookup: Mapping[int, str] | None = None  # type: ignore[assignment]
    levels: Any = None
    num_levels: int = 0
    start_level: int = 0
    seed_info: bool = False
    level_info: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(action_start=self._check_action_start())
        self._check_symbols()
        names = self.FAMILY.action_lookup(self.first_action)
        lookup = check_lookup("action_lookup", self.action_lookup, names)
        self._set(action_lookup=lookup)
        self._check_levels()

    def read_levels(self, levels: Any) -> LevelSet:
        """Return the levels of the keyword ``levels`` as a set."""
        return self.LEVEL_SET.load(levels)

    def _check_action_start(self) -> int | None:
        value = self.action_start
        try:
            return None if value is None else check_int("action_start", value, 0, 1)
        except InvalidOptionError:
            count = self.FAMILY.num_actions
            accepted = (
                f"0 (actions 0 to {count - 1}), 1 (actions 1 to {count}, 0 is no valid "
                "action) or None (1, with a warning)"
            )
            error = InvalidOptionError.expected("action_start", accepted, value)
            raise error from None

    @property
    def lowest_action(self) -> int:
        """The lowest integer that is accepted: 0 may be "no valid action"."""
        return 0

    @functools.cached_property
    def has_level_infos(self) -> bool:
        """Whether the infos of resets say something of the level that is played."""
        return self.seed_info or self.level_info

    @functools.cached_property
    def needs_level_numbers(self) -> bool:
        """Whether the number of the level that is played is of use later."""
        return self.levels is not None or self.level_info

    def make_level_set(self, arrays: Arrays) -> LevelSet:
        """Return levels that a `LevelProvider` has drawn as a set."""
        raise NotImplementedError

    def measure(self, levels: LevelSet, num_threads: int) -> dict[str, NDArray[Any]]:
        """Return the `MEASURES` of each level, (L,) each.

        Below 0: -1 without a solution, -2 where the solver gave up.
        """
        raise NotImplementedError


def check_cells(name: str, shape: tuple[int, int]) -> None:
    """Refuse a generated grid that is too large, before anything is allocated.

    Raises
    ------
    InvalidOptionError
    """
    rows, columns = shape
    if rows * columns > MAX_CELLS:
        message = (
            f"{name}: expected a board of at most {MAX_CELLS} cells, got {rows} rows "
            f"and {columns} columns, which are {rows * columns} cells"
        )
        raise InvalidOptionError(message)
