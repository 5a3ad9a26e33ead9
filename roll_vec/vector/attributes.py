"""Attributes, frames, levels and random actions of a batch's environments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import FrozenAttributeError, InvalidOptionError, RollVecError
from roll_vec.options import check_choice
from roll_vec.seeding import check_seed, draw_entropy
from roll_vec.vector.action_sampling import ActionStream
from roll_vec.vector.batch import Batch, one_at_a_time
from roll_vec.vector.masks import check_indices

Value = TypeVar("Value")

OBJECTIVES = ("moves", "pushes")


class BatchAttributes(Batch):
    """Base of `roll_vec.vector.env.RollVectorEnv`: what environments are asked."""

    _action_stream: ActionStream | None = None
    # Of snapshots, with its digest; level options are in it.
    _cached_configuration: tuple[dict[str, Any], str] | None = None

    @property
    def successes(self) -> NDArray[np.bool_]:
        """(num_envs,) bool: whether each environment's last step was a success."""
        return self.engine.successes.copy()

    @property
    def has_success(self) -> bool:
        """Whether `successes` is valid.

        False for games without success, and for pools, whose infos tell it.
        """
        options: Any = getattr(self.engine, "options", None)
        return bool(getattr(options, "has_success", False))

    @property
    def np_random_seed(self) -> tuple[int | None, ...]:  # type: ignore[override]
        """The seed of each environment's stream.

        None before the first reset and after `set_state`.  Of environments that are
        objects, the ``np_random_seed`` of each.
        """
        return self.get_attr("np_random_seed")

    @property  # type: ignore[override]
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The generators of the single environments.

        They are copies where the environments are in stacked arrays or in worker
        processes: a copy draws the numbers that its environment draws next, and does
        not affect it.  Before the first reset those of arrays are seeded by the
        operating system.
        """
        return self.get_attr("np_random")

    @np_random.setter
    def np_random(self, value: Any) -> None:
        self.set_attr("np_random", value)

    def _known(self, name: str) -> tuple[Any, ...] | None:
        """Return an attribute that the batch has instead of environments in arrays."""
        value: Any
        if name == "np_random_seed":
            return tuple(self._seeds)
        if name == "np_random" and not self._is_started:
            return tuple(np.random.default_rng() for _ in range(self.num_envs))
        if name in ("observation_space", "action_space"):
            value = getattr(self, f"single_{name}")
        elif name in ("metadata", "render_mode", "spec"):
            value = getattr(self, name)
        else:
            return None
        return (value,) * self.num_envs

    def _ask_engine(
        self, name: str, function: Callable[..., Value], *args: Any
    ) -> Value:
        """Call a method of the engine for method ``name``, which moves no episode."""
        if self._has_objects:
            self._check_idle(name)
        # Also where all must be reset: an object may have to be mended first.
        self._drop_leftovers()
        values = function(*args)
        self._warn()
        return values

    @one_at_a_time
    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the attribute ``name`` of each environment, called if it is a method.

        Environments in stacked arrays have keywords, variables, the attributes that
        their class declares, and the methods ``get_instructions``, ``get_all_actions``
        and `render`.  Of environments that are objects any attribute is returned; it is
        None for an object that was lost in a fault and is not replaced yet.  There is
        no time limit, and an exception of an environment is raised here.
        """
        if not self._has_objects:
            if name == "render":
                return self.render_envs(range(self.num_envs)) or (None,) * self.num_envs
            if (values := self._known(name)) is not None:
                return values
        return self._ask_engine("call", self.engine.call, name, args, kwargs)

    @one_at_a_time
    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment as a tuple, called if it is a method.

        Raises
        ------
        AttributeError
        """
        return self.call(name)

    @one_at_a_time
    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment, now and when it is replaced.

        Parameters
        ----------
        name : str
        values : list or tuple of num_envs, or one for all

        Raises
        ------
        InvalidOptionError
            If a list or tuple has another length.
        FrozenAttributeError
            If there are environments in stacked arrays: they are configured when they
            are made.
        """
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            accepted = f"{self.num_envs} of them or a single one"
            raise InvalidOptionError.expected("values", accepted, len(values))
        if self._has_objects:
            self._ask_engine("set_attr", self._set_attributes, name, values)
            return
        advice = (
            "make a new environment, for instance "
            f"gymnasium.make_vec(id, num_envs={self.num_envs}, {name}=...)"
        )
        if name.startswith("np_random"):
            advice = "reset(seed=...) starts other streams"
        message = f"{name} cannot be set: {advice}"
        raise FrozenAttributeError(message)

    def _set_attributes(self, name: str, values: Sequence[Any]) -> None:
        """Set an attribute of each object."""
        raise NotImplementedError

    # ---------------------------------------------------------- frames

    @one_at_a_time
    def render(self) -> tuple[Any, ...] | None:
        """Return a frame of each environment, as ``render_mode`` says.

        Returns
        -------
        tuple of num_envs, or None
            (H, W, 3) uint8 arrays, or strings; None without a render mode.  Of objects,
            the results of their `render`.
        """
        if self._has_objects:
            return self.call("render")
        return self.render_envs(range(self.num_envs))

    @one_at_a_time
    def render_envs(self, indices: Sequence[int] | range) -> tuple[Any, ...] | None:
        """Return a frame of some environments, as `render` does of all."""
        if not self._has_objects:
            self._check_started("they are rendered")
            if self.render_mode is None:
                return None
        mode, env_ids = (
            self.render_mode,
            check_indices("indices", indices, self.num_envs),
        )
        return self._ask_engine("render", self.engine.frames, env_ids, mode or "")

    # ---------------------------------------------------------- levels

    @one_at_a_time
    def solve(self, objective: str = "moves") -> tuple[Any, ...]:
        """Return a solution of each environment, from where it stands now.

        Parameters
        ----------
        objective : str
            ``moves``: the fewest actions.  ``pushes``: the fewest pushes of boxes, in
            Sokoban.

        Returns
        -------
        tuple of num_envs
            Sokoban and FrozenLake: an array of actions, (k,) int64, which
            ``action_lookup`` names for environments that act by text; on slippery ice a
            `roll_vec.envs.frozen_lake.LakeSolution`.  Environments that are objects: a
            list of their actions.  None where there is no solution.

        Raises
        ------
        ResetNeededError
            Before the first reset.
        InvalidOptionError
            If the game does not know the objective.
        SolverLimitError
            If a search was too long; names the environments.
        UnsupportedError
            If the environments have no solver.
        ClosedError
        """
        self._check_idle("solve")
        self._check_started("solve")
        check_choice("objective", objective, OBJECTIVES)
        return tuple(self.engine.solve(np.arange(self.num_envs), objective))

    @one_at_a_time
    def set_level_options(self, **level_options: Any) -> None:
        """Change the levels of all environments from their next episodes on.

        The present episodes go on.  Environments in arrays have the level options in
        the configuration of snapshots: set those of a snapshot before it.  `get_attr`
        reads them as well.  Options that rules read cannot change.

        Parameters
        ----------
        **level_options
            Keywords of the environments that choose their levels, such as
            ``num_levels``, ``start_level``, and in Sokoban ``num_boxes``.  Those that
            are not named keep their values.

        Raises
        ------
        UnknownOptionError
            For another keyword, such as one that would change the spaces; lists those
            that are accepted.  Nothing has changed then.
        InvalidOptionError
            For a value that cannot be used.
        UnsupportedError
            If the environments have no level options, as those of pools.
        ClosedError
        """
        self._check_idle("set_level_options")
        # Also where all must be reset: a reset may need other levels.
        self._drop_leftovers()
        self._cached_configuration = None
        autoreset = self._autoreset
        before = autoreset.unfinished_call
        autoreset.unfinished_call = "set_level_options"
        try:
            self.engine.set_level_options(level_options)
        except RollVecError:  # nothing has changed
            autoreset.unfinished_call = before
            raise
        autoreset.unfinished_call = before

    # ---------------------------------------------------------- random actions

    def sample_actions(self, *, seed: int | None = None) -> Any:
        """Return a random action for each environment, all actions equally likely.

        Of environments that act by text these are examples of their action space, such
        as the names of moves in the form that the parser expects.

        Parameters
        ----------
        seed : int or None
            Begin a new sequence.  None: continue; the first sequence has a seed of the
            operating system.

        Returns
        -------
        (num_envs,) integers, a tuple of num_envs str, or a batch of another space

        Raises
        ------
        InvalidSeedError, ClosedError

        Notes
        -----
        The action of environment i in call t after ``seed=s`` depends on s, i and t
        alone.  `reset`, `step` and `set_state` do not change this sequence, and it
        changes nothing in them.  Spaces other than `Discrete` and texts with examples
        are sampled environment by environment, which takes much longer.
        """
        self._check_open()
        stream = self._action_stream
        if seed is not None or stream is None:
            seed = draw_entropy() if seed is None else check_seed(seed)
            stream = self._action_stream = ActionStream(self, seed)
        return stream.next_actions()
