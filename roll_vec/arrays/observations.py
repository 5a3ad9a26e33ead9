"""`ObservedEngine`: stacked arrays of environments, their observations and frames."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
from gymnasium.spaces import Tuple as TupleSpace
from numpy.typing import NDArray

from roll_vec.arrays.array_env import Arrays, Ids
from roll_vec.arrays.bound_steps import BoundStep
from roll_vec.arrays.rules import explain_failure
from roll_vec.arrays.text_parts import TextParts
from roll_vec.errors import InvalidStateError
from roll_vec.kernels._jit import IS_COMPILED, allow_overflow
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.kernels.rows import Row
from roll_vec.render.mosaic import upscale
from roll_vec.row_threads import SliceSizer, for_row_ranges
from roll_vec.spaces import MAX_TEXT, UnicodeText
from roll_vec.vector.engine import Engine
from roll_vec.vector.space_batches import item_at, map_leaves

_ONE = np.zeros(1, np.int64)


class ObservedEngine(Engine):
    """The part of `roll_vec.arrays.engine.ArrayEngine` that observes.

    Kernels write arrays, a step those of all environments; `observe` makes of them what
    users get.

    Attributes
    ----------
    variables : tuple of (n, ...) arrays
        What kernels write to.
    rng_states : (6, n) uint64
        States of PCG64 generators; (6, 0) where kernels draw nothing.
    elapsed_steps : (n,) int32
    max_steps, rule_limit : int
        The steps after which episodes are truncated, and the limit that rules read as
        ``env.max_steps``; 0: none.
    first_seeds : (n,) uint64
        Folded seeds, below 2**32, of the resets of environments.
    episode_numbers : (n,) uint64
        Number of the current episode, from 0.
    level_provider : LevelNumbers
        The levels of next episodes, where random numbers are not one stream.
    observer : GridObserver or None
        Makes observations and frames of cell codes, if the family has a board.
    observes_text : bool
        Whether observations are texts of the method ``text`` of a class.
    """

    # Of the last step, until something else moves an environment.
    _observations: Arrays | None = None
    # From the first call of `observe` with ``copy=False`` on: what it returns; the
    # arrays to which steps write; whether it is an array of the state, and they write
    # nothing.
    _batch: Any = None
    _out_arrays: Arrays | None = None
    _shows_state: bool = False

    def __init__(
        self,
        options: Any,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
    ) -> None:
        own_limit = getattr(options, "max_steps", None)
        limits = max_episode_steps, own_limit
        self.max_steps = min((limit for limit in limits if limit), default=0)
        self.rule_limit = own_limit or max_episode_steps or 0
        self.options, self.num_threads = options, num_threads
        self._kernels, n = options.family(), num_envs
        # As plain Python, rules run where a debugger stops: on the calling thread.
        self.kernel_threads = num_threads if IS_COMPILED else 1
        # Kernels of fewer rows never run on several threads.
        is_large = num_envs >= 2 * options.ROWS_PER_THREAD
        self._uses_threads = is_large and self.kernel_threads > 1
        self.num_envs, self.variables = n, options.allocate(n)
        self.rng_states = np.zeros(
            (PCG_WORDS, n if options.has_generator else 0), np.uint64
        )
        self.elapsed_steps = np.zeros(n, np.int32)
        self.successes = np.zeros(n, np.bool_)
        # As kernels read it, see `roll_vec.kernels.unroll`; no array is ever replaced.
        constants = self._constants()
        self._state = self.variables, constants, self.rng_states, self.elapsed_steps
        self.is_stream = options.seeding == "stream"
        self.first_seeds = np.zeros(n, np.uint64)
        self.episode_numbers = np.zeros(n, np.uint64)
        self.level_provider: Any = options.make_provider(num_threads)
        # What kernels have bound, by the limit of steps.
        self._bound: dict[int, BoundStep] = {}
        self.observer: Any = options.make_observer(self.kernel_threads)
        mode, parts = options.obs_mode, options.parts
        self.observes_text = mode == "text" and options.writes_texts
        has_texts = len(options.text_variables) > 0
        self._texts_of_parts = TextParts(options, n) if has_texts else None
        # Whether kernels write cell codes, and whether observations are made of them.
        self._observes_codes = self.observer and mode == self.observer.obs_mode
        self._makes_others = self._observes_codes and mode != "grid"
        # The shape of an observation that is an array of a kernel, else None.
        self._plain_shape: tuple[int, ...] | None = None
        if "" in parts and not (self._makes_others or self.observes_text or has_texts):
            self._plain_shape = parts[""].shape or ()
        if self.observes_text:
            self.single_observation_space = UnicodeText(MAX_TEXT)
        elif self.observer is not None:
            self.single_observation_space = self.observer.space
        else:
            self.single_observation_space = options.observation_space

    @allow_overflow
    def _run(
        self,
        kernel: Any,
        num_rows: int,
        *arguments: Any,
        rows_per_thread: int | None = None,
        slices: SliceSizer | None = None,
    ) -> None:
        """Run a kernel on so many rows, on several threads if there are many.

        With ``slices`` Ctrl-C can end it.
        """
        try:
            if slices or self._uses_threads:
                least = rows_per_thread or self.options.ROWS_PER_THREAD
                split = self.kernel_threads, least, slices
                for_row_ranges(kernel, num_rows, *split, arguments)
            else:
                kernel(0, num_rows, *arguments)
        except Exception as error:
            self._explain(error)

    def _explain(self, error: Exception) -> NoReturn:
        """Raise the error of a kernel, as users get it; rows may have moved."""
        self.needs_full_reset = True
        explained = explain_failure(self.options, error, self.elapsed_steps)
        if explained is error:
            raise error
        raise explained from error

    def _bind(self, max_steps: int) -> BoundStep:
        """Return the kernels of a batch, bound to its arrays."""
        bound = self._bound.get(max_steps)
        if bound is None:
            levels = self.level_provider
            if self._kernels.begin_levels is not None:
                begins: Any = levels.arrays, levels.is_present
            else:
                begins = levels.num_levels, levels.start_level
            episodes = *begins, self.first_seeds, self.episode_numbers
            fixed = self.options.rules_of(max_steps), self._state, episodes
            bound = BoundStep(self._kernels, *fixed, not self._shows_state)
            self._bound[max_steps] = bound
        return bound

    def _constants(self, **changes: float) -> tuple[Any, ...]:
        """Return the constants as kernels read them, some of them changed."""
        values = self.options.kernel_constants
        changes = {"max_steps": self.rule_limit, **changes}
        return tuple(changes.get(name, value) for name, value in values.items())

    def named_variables(self) -> dict[str, NDArray[Any]]:
        """Return the variables of all environments, by name."""
        return self.options.named(self.variables)  # type: ignore[no-any-return]

    def observe(self, env_ids: Ids | None = None, *, copy: bool = True) -> Any:
        """Return the observations of environments; see `Engine.observe`."""
        if env_ids is not None:
            return self._observe_some(env_ids)
        if not copy:
            return self._observe_in_place()
        # A step has observed; nobody else has these arrays.
        arrays, self._observations = self._observations, None
        if arrays and arrays is self._out_arrays:
            # But for those of ``copy=False``.
            arrays = tuple([array.copy() for array in arrays])
        shape = self._plain_shape
        if arrays and shape is not None:
            array = arrays[0]
            return array if array.ndim == 1 else array.reshape(self.num_envs, *shape)
        return self._observe_all(arrays)

    def _observe_in_place(self) -> Any:
        """Return the observations of all environments in the arrays of the last call.

        Arrays of the state itself cannot be written.
        """
        if self._batch is None:
            shape = self._plain_shape
            if shape is None or not self.options.declaration.copies_variable:
                self._batch = self.observe()
                if not self.observes_text:
                    self._out_arrays = self._arrays_of(self._batch, self.num_envs)
            else:
                # The observations are an array of the state.
                variable = self.named_variables()[str(self.options.observation)]
                self._batch = variable.reshape(self.num_envs, *shape).view()
                self._batch.flags.writeable = False
                # Steps are other kernels from now on.
                self._bound.clear()
                self._observations, self._out_arrays, self._shows_state = None, (), True
        if not self._shows_state:
            arrays, self._observations = self._observations, None
            is_written = arrays is not None and arrays is self._out_arrays
            if not is_written or self._texts_of_parts is not None:
                self._batch = self._observe_all(arrays, self._batch)
        return self._batch

    def _observe_all(self, arrays: Arrays | None, out: Any = None) -> Any:
        """Return the observations of all environments, from those of a step, if any."""
        if self.observes_text:
            return self._texts(np.arange(self.num_envs))
        if not arrays:
            arrays = self.observe_arrays(np.arange(self.num_envs))
        return self._shape_observations(arrays, (self.num_envs,), out)

    @cached_property
    def _make_arrays(self) -> Callable[[], Arrays]:
        """A function that allocates the observations of all environments."""
        n, arrays = self.num_envs, self.options.allocate_observations(1)
        if len(arrays) > 1:
            return partial(self.options.allocate_observations, n)
        # The usual case takes a third of the time.
        shape, dtype, empty = (n, *arrays[0].shape[1:]), arrays[0].dtype, np.empty
        return lambda: (empty(shape, dtype),)

    def observe_arrays(self, env_ids: Ids) -> Arrays:
        """Return the observations of some environments, as kernels write them."""
        arrays: Arrays = self.options.allocate_observations(len(env_ids))
        self._write_observations(env_ids, np.arange(len(env_ids)), arrays)
        return arrays

    def _write_observations(self, env_ids: Ids, rows: Ids, out: Arrays) -> None:
        """Write the observations of some environments to rows of arrays."""
        bound = self._bind(self.max_steps)
        self._run(bound.observe, len(env_ids), bound.words, env_ids, rows, out)

    def _arrays_of(self, out: Any, num_rows: int) -> Arrays | None:
        """Return the arrays of observations of a user, as kernels write them.

        None if there are none, or if they are made of others.
        """
        if out is None or self._makes_others:
            return None
        options, count = self.options, len(self.options.parts)
        arrays = options.allocate_observations(0)[:count]
        pairs = zip(self._parts_of(out), arrays, strict=True)
        shaped = [each.reshape(num_rows, *array.shape[1:]) for each, array in pairs]
        if options.text_variables:
            shaped += options.allocate_observations(num_rows)[count:]
        return tuple(shaped)

    def _parts_of(self, batch: Any) -> Any:
        """Return the arrays of observations of a user."""
        if isinstance(batch, tuple):
            return batch
        return [batch[name] if name else batch for name in self.options.parts]

    def _shape_observations(
        self,
        arrays: Arrays,
        shape: tuple[int, ...],
        out: Any = None,
        env_ids: Any = slice(None),
    ) -> Any:
        """Return arrays of kernels as observations of a user, (*shape, ...).

        ``env_ids`` are the environments, if it is not all.
        """
        if out is None and self._plain_shape is not None:
            return arrays[0].reshape(*shape, *self._plain_shape)
        if self._observes_codes:
            self._check_codes(arrays[0])
            observations = self.observer.observe(arrays[0], shape, out)
            return out if isinstance(out, np.ndarray) else observations
        options, parts, maker = self.options, self.options.parts, self._texts_of_parts
        values: Any = arrays[len(parts) :]
        arrays = arrays[: len(parts)]
        shaped = [
            array.reshape(*shape, *(space.shape or ()))
            for array, space in zip(arrays, parts.values(), strict=True)
        ]
        texts: dict[str, Any] = {}
        values = [each.reshape(*shape, *each.shape[1:]) for each in values]
        if maker is not None and "" in parts:
            maker.write_ends(options, shaped[0], values, env_ids)
        elif maker is not None and len(shape) == 1:
            texts = maker.read(options, values, env_ids)
        elif maker is not None:
            texts = maker.read_steps(options, values)
        if out is not None:
            for target, array in zip(self._parts_of(out), shaped, strict=True):
                if not np.may_share_memory(target, array):
                    target[...] = array
            return {**out, **texts} if texts else out
        if isinstance(self.single_observation_space, TupleSpace):
            return tuple(shaped)
        if "" in parts:
            return shaped[0]
        observations = {**dict(zip(parts, shaped, strict=True)), **texts}
        if not texts:
            return observations
        # In the order of the space.
        names: Any = self.single_observation_space
        return {name: observations[name] for name in names}

    def _check_codes(self, codes: NDArray[Any]) -> None:
        """Refuse codes that have no looks; kernels would read outside of tables."""
        options = self.options
        count, highest = options.FAMILY.num_codes, codes.max(initial=0)
        if highest >= count:
            message = (
                f"{options.name}: the board has the code {highest}: expected "
                f"codes below {count}, the number of cells"
            )
            raise InvalidStateError(message)

    def _observe_some(self, env_ids: Ids) -> list[Any]:
        """Return the observations of some environments, one by one."""
        if self.observes_text:
            return list(self._texts(env_ids))
        arrays = (self._batch,) if self._shows_state else self._observations
        if arrays:
            # A step has observed all.
            rows = tuple([array.take(env_ids, 0) for array in arrays])
        else:
            rows = self.observe_arrays(env_ids)
        return self._list(rows, env_ids)

    def _list(self, arrays: Arrays, env_ids: Ids) -> list[Any]:
        batch = self._shape_observations(arrays, (len(env_ids),), env_ids=env_ids)
        if isinstance(batch, np.ndarray) and batch.ndim == 1:
            # Python's own numbers, as a single environment returns them.
            return batch.tolist()  # type: ignore[no-any-return]
        if isinstance(batch, np.ndarray) or self._observes_codes:
            return list(batch)
        space, rows = self.single_observation_space, range(len(env_ids))
        # Those of a Dict or Tuple likewise.
        batch = map_leaves(_list_numbers, space, batch)
        return [item_at(space, batch, row) for row in rows]

    def observe_one(self) -> Any:
        """Return the observation of the one environment of this engine."""
        arrays, shape = self._observations, self._plain_shape
        if arrays is None or shape is None:
            return self._observe_some(_ONE)[0]
        # The next step writes the array again.
        return arrays[0].reshape(shape).copy() if shape else arrays[0].item()

    def frames(self, env_ids: Ids, mode: str) -> tuple[Any, ...]:
        """Return a frame of each of some environments: a picture or a text."""
        options, scale = self.options, self.options.render_scale
        draw_frame = getattr(options, "draw_frame", None)
        if draw_frame is not None:
            return tuple(draw_frame(self.row(i), mode) for i in env_ids.tolist())
        is_other = options.writes_texts
        if mode == "rgb_array":
            is_other = options.gymnasium_renderer is not None
        if self.observer is not None and not is_other:
            return tuple(self.observer.frames(self.grids(env_ids), mode, scale))
        if mode != "rgb_array":
            return self._texts(env_ids)
        draw = options.gymnasium_renderer.draw
        rows = map(self.named_row, env_ids.tolist())
        return tuple(upscale(draw(row), scale) for row in rows)

    def grids(self, env_ids: Ids) -> NDArray[np.uint8]:
        """Return the cell codes of the boards of some environments, (m, H, W)."""
        codes = np.empty((len(env_ids), *self.observer.shape), np.uint8)
        if self._observes_codes or self.observes_text:
            self._write_observations(env_ids, np.arange(len(env_ids)), (codes,))
        else:
            for j, env_id in enumerate(env_ids.tolist()):
                codes[j] = self.options.write_codes(self.row(env_id))
        self._check_codes(codes)
        return codes

    def _texts(self, env_ids: Ids) -> tuple[str, ...]:
        return self.options.write_texts(self, env_ids)  # type: ignore[no-any-return]

    def named_row(self, env_id: int) -> SimpleNamespace:
        """Return the variables of an environment by name: numbers, copies of arrays."""
        variables = self.named_variables().items()
        values = {
            name: array[env_id].tolist() if array.ndim == 1 else array[env_id].copy()
            for name, array in variables
        }
        return SimpleNamespace(**values)

    def row(self, env_id: int) -> Row:
        """Return a copy of an environment, as rules see it."""
        copies = [array[env_id : env_id + 1].copy() for array in self.variables]
        arrays, limit = tuple(copies), self.rule_limit
        return self.options.row_of(arrays, max_steps=limit)  # type: ignore[no-any-return]


def _list_numbers(_: Any, batch: Any) -> Any:
    """Return a batch of numbers as a list, another one as it is."""
    is_numbers = isinstance(batch, np.ndarray) and batch.ndim == 1
    return batch.tolist() if is_numbers else batch
