"""One engine over the engines of several families.

Family k has the environments ``starts[k]`` to ``starts[k + 1] - 1``.  `Autoreset` and
`RollVectorEnv` work with this engine as with that of one family.  Families in stacked
arrays stay stacked, and pools keep their workers, which step while the stacked families
do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Space, Tuple
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.errors import (
    EnvironmentFaultError,
    InvalidStateError,
    UnsupportedError,
)
from roll_vec.pool.engine import PoolEngine
from roll_vec.spaces import UnicodeText
from roll_vec.text.validation import check_texts
from roll_vec.vector.engine import NO_IDS, EngineState, StepResult, SupportsUnroll
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.family_states import (
    FAMILIES,
    check_families,
    join_families,
    take_family,
)
from roll_vec.vector.info_parts import InfoParts
from roll_vec.vector.infos import InfoList, Infos
from roll_vec.vector.packed_values import take_rows

__all__ = ["Family", "MixedEngine"]

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Family:
    """A family of environments in a mixed batch.

    Parameters
    ----------
    name : str
        The key in the dict of `make_mixed`; ``infos["family"]`` has it.
    id : str
        The registered id.
    weight : float
    group_size : int
    env_ids : range
        Its environments.
    """

    name: str
    id: str
    weight: float
    group_size: int
    env_ids: range


class MixedEngine:
    """The environments of several families; see `roll_vec.vector.engine.Engine`.

    Parameters
    ----------
    families : sequence of Family
        Their environments follow each other, from 0 on.
    batches : sequence of RollVectorEnv
        One a family, with observations and actions of text.  The engine steps their
        engines, and nobody else does.
    group_id_info : bool
        Whether infos of resets have ``group_id``.

    Attributes
    ----------
    starts : list of int
        The first environment of each family, and the number of all environments.
    group_ids : (num_envs,) int64
        The group of each environment, counted through all families.
    """

    def __init__(
        self,
        families: Sequence[Family],
        batches: Sequence[RollVectorEnv],
        group_id_info: bool = False,
    ) -> None:
        self.families, self.batches = tuple(families), tuple(batches)
        self.engines: list[Any] = [batch.engine for batch in batches]
        self.starts = [family.env_ids.start for family in families]
        self.starts.append(families[-1].env_ids.stop)
        self.num_envs = self.starts[-1]
        self._bounds = list(itertools.pairwise(self.starts))
        self.group_id_info = group_id_info
        first_group, group_ids = 0, []
        for family in families:
            own = np.arange(len(family.env_ids)) // family.group_size + first_group
            first_group = int(own[-1]) + 1
            group_ids.append(own)
        self.group_ids = np.concatenate(group_ids)
        names = [family.name for family in families]
        self._family_names = np.empty(self.num_envs, object)
        for name, (start, stop) in zip(names, self._bounds, strict=True):
            self._family_names[start:stop] = name
        # Stacked families first: a reset of theirs that raises can be undone.
        kinds = [isinstance(engine, PoolEngine) for engine in self.engines]
        self.pool_ids = [k for k, is_pool in enumerate(kinds) if is_pool]
        self.stacked_ids = [k for k, is_pool in enumerate(kinds) if not is_pool]
        for k in self.pool_ids:
            self.engines[k].faults.is_part_from(self.starts[k])
        self._set_spaces()

    def _set_spaces(self) -> None:
        sizes = [stop - start for start, stop in self._bounds]
        self.single_observation_space, self.observation_space = _join_spaces(
            [engine.single_observation_space for engine in self.engines], sizes
        )
        self.single_action_space, self.action_space = _join_spaces(
            [engine.single_action_space for engine in self.engines], sizes
        )
        first = self.batches[0].metadata
        modes = [batch.metadata.get("render_modes", []) for batch in self.batches]
        self.metadata: dict[str, Any] = {
            "render_modes": [
                mode
                for mode in first.get("render_modes", [])
                # A window shows boards of one game.
                if mode != "human" and all(mode in own for own in modes)
            ],
            "render_fps": min(
                batch.metadata.get("render_fps", 4) for batch in self.batches
            ),
        }
        self.render_mode = self.engines[0].render_mode

    def parts(self, env_ids: Ids) -> Iterator[tuple[int, slice, Ids]]:
        """Return families, their slices of ascending ids, and the local ids.

        Stacked families come first, then pools.
        """
        bounds = np.searchsorted(env_ids, self.starts).tolist()
        for k in (*self.stacked_ids, *self.pool_ids):
            part = slice(bounds[k], bounds[k + 1])
            if part.start < part.stop:
                yield k, part, env_ids[part] - self.starts[k]

    def _collect(
        self, env_ids: Ids, function: Callable[[Any, Ids], Sequence[Any]]
    ) -> list[Any]:
        """Return the results of some environments, one each, in their order."""
        results: list[Any] = [None] * len(env_ids)
        for k, part, ids in self.parts(env_ids):
            results[part] = function(self.engines[k], ids)
        return results

    # ------------------------------------------------------------- resets

    def reset(
        self,
        env_ids: Ids,
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start new episodes; see `Engine.reset`."""
        self._undo_together(
            env_ids,
            lambda k, part, ids: self.engines[k].reset(ids, seeds[part], options),
        )

    def advance(self, env_ids: Ids) -> None:
        """Begin the next episodes of some environments; see `Engine.advance`."""
        self._undo_together(env_ids, lambda k, _, ids: self.engines[k].advance(ids))

    def _undo_together(
        self, env_ids: Ids, function: Callable[[int, slice, Ids], None]
    ) -> None:
        """Call a function for each family; if it raises, stacked ones have not moved.

        Raises
        ------
        EnvironmentFaultError
            With the environments' numbers in this batch.
        """
        points: list[tuple[SupportsUnroll, Any]] = []
        try:
            for k, part, ids in self.parts(env_ids):
                engine = self.engines[k]
                if isinstance(engine, SupportsUnroll):
                    points.append((engine, engine.save_point()))
                with FaultTranslation(self.starts[k]):
                    function(k, part, ids)
        except BaseException:
            for engine, point in points:
                engine.go_back(point)
            raise

    def _check_failures(self) -> None:
        """Raise an error if the last reset of every environment has failed."""
        if self.stacked_ids:
            return
        failures = {
            self.starts[k] + env_id: text
            for k in self.pool_ids
            for env_id, text in self.engines[k].faults.stalled.items()
        }
        if len(failures) == self.num_envs:
            raise EnvironmentFaultError(failures)

    def reset_infos(self, env_ids: Ids) -> InfoParts:
        """Return infos of resets, with ``family``; see `Engine.reset_infos`."""
        bounds = np.searchsorted(env_ids, self.starts).tolist()
        parts: list[Infos | InfoList] = [{} for _ in self.engines]
        for k, part, ids in self.parts(env_ids):
            extra: dict[str, Any] = {"family": self._family_names[env_ids[part]]}
            if self.group_id_info:
                extra["group_id"] = self.group_ids[env_ids[part]]
            infos = self.engines[k].reset_infos(ids)
            if isinstance(infos, list):
                columns = [column.tolist() for column in extra.values()]
                parts[k] = [
                    {**info, **dict(zip(extra, values, strict=True))}
                    for info, *values in zip(infos, *columns, strict=True)
                ]
            else:
                parts[k] = {**infos, **extra}
        # Here, not in `advance`: resets in workers have ended only now.
        self._check_failures()
        return InfoParts(bounds, parts, self.starts)

    # -------------------------------------------------------------- steps

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return the actions of each family; see `Engine.check_actions`."""
        # All together: a message then has the environments' numbers in this batch.
        texts = check_texts(actions, skip_mask)
        return [
            engine.check_actions(texts[start:stop], skip_mask[start:stop])
            for engine, (start, stop) in zip(self.engines, self._bounds, strict=True)
        ]

    def step(
        self,
        actions: list[Any],
        skip_mask: NDArray[np.bool_],
        idle_mask: NDArray[np.bool_] | None = None,
        begins: Ids = NO_IDS,
    ) -> StepResult:
        """Step the environments that are not skipped; see `Engine.step`."""
        if len(begins):
            self.advance(begins)
        masks: list[list[Any]] = [
            [
                None if mask is None else mask[start:stop]
                for mask in (skip_mask, idle_mask)
            ]
            for start, stop in self._bounds
        ]
        for k in self.pool_ids:
            self.engines[k].begin_step(actions[k], masks[k][0])
        results: list[Any] = [None] * len(self.engines)
        for k in self.stacked_ids:
            results[k] = self.engines[k].step(actions[k], *masks[k])
        errors: list[EnvironmentFaultError] = []
        for k in self.pool_ids:
            # All workers end their steps, also if a pool raises.
            try:
                with FaultTranslation(self.starts[k]):
                    results[k] = self.engines[k].end_step(actions[k], *masks[k])
            except EnvironmentFaultError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        rewards, terminations, truncations, infos = zip(*results, strict=True)
        named = [
            self._add_names(part, k, skip_mask[start:stop])
            for k, (part, (start, stop)) in enumerate(
                zip(infos, self._bounds, strict=True)
            )
        ]
        return (
            np.concatenate(rewards),
            np.concatenate(terminations),
            np.concatenate(truncations),
            InfoParts(self.starts, named, self.starts),
        )

    def _add_names(
        self, infos: Infos | InfoList, family: int, skip_mask: NDArray[np.bool_]
    ) -> Infos | InfoList:
        """Return the infos of a step of one family with its name."""
        name = self.families[family].name
        if isinstance(infos, list):
            pairs = zip(infos, skip_mask.tolist(), strict=True)
            return [info if skip else {**info, "family": name} for info, skip in pairs]
        if skip_mask.all():
            return infos
        names = self._family_names[slice(*self._bounds[family])].copy()
        names[skip_mask] = None
        return {**infos, "family": names, "_family": ~skip_mask}

    @property
    def successes(self) -> NDArray[np.bool_]:
        """(n,) bool: whether the last step of each environment was a success."""
        return np.concatenate([engine.successes for engine in self.engines])

    @property
    def raises_faults(self) -> bool:
        """Whether a fault of one environment is an error of all."""
        return any(self.engines[k].raises_faults for k in self.pool_ids)

    # ------------------------------------------------- observations, frames

    def observe(self, out: Any = None) -> tuple[str, ...]:  # noqa: ARG002
        """Return the texts of all environments, a new tuple; ``out`` is not used."""
        batches = [engine.observe() for engine in self.engines]
        return tuple(itertools.chain.from_iterable(batches))

    def observe_envs(self, env_ids: Ids) -> list[Any]:
        """Return the texts of some environments."""
        return self._collect(env_ids, lambda engine, ids: engine.observe_envs(ids))

    def frames(self, env_ids: Ids, mode: str) -> tuple[Any, ...]:
        """Return a rendered frame of each of some environments; see `Engine.frames`."""
        order = np.argsort(env_ids, kind="stable")
        frames = self._collect(
            env_ids[order], lambda engine, ids: engine.frames(ids, mode)
        )
        places = np.argsort(order).tolist()
        return tuple(frames[place] for place in places)

    # -------------------------------------------------------------- state

    def configuration(self) -> dict[str, Any]:
        """Return the keywords of all families; see `Engine.configuration`."""
        return {
            "families": [
                {
                    "name": family.name,
                    "id": family.id,
                    "group_size": family.group_size,
                    **engine.configuration(),
                }
                for family, engine in zip(self.families, self.engines, strict=True)
            ]
        }

    def get_state(self) -> EngineState:
        """Return the state of all environments; see `roll_vec.vector.family_states`."""
        states = [engine.get_state() for engine in self.engines]
        return join_families(states, self.starts)

    def check_state(self, state: EngineState) -> None:
        """Check a state; see `Engine.check_state`."""
        check_families(state, len(self.engines))
        for k, engine in enumerate(self.engines):
            rows = (state.arrays[FAMILIES] == k).nonzero()[0]
            if not len(rows):
                continue
            own = take_family(state, k)
            objects = own.objects and tuple(own.objects[i] for i in rows.tolist())
            arrays = take_rows(own.arrays, rows)
            engine.check_state(EngineState(arrays, own.shared, objects))

    def set_state(self, state: EngineState, rows: Ids, env_ids: Ids) -> None:
        """Make environments copies of rows of a state; see `Engine.set_state`.

        Raises
        ------
        InvalidStateError
            If an environment would become a copy of one of another family; nothing has
            moved then.
        EnvironmentFaultError
            If environments of a pool fail.
        """
        parts = list(self.parts(env_ids))
        families = state.arrays[FAMILIES]
        for k, part, ids in sorted(parts, key=lambda one: one[0]):
            others = (families[rows[part]] != k).nonzero()[0]
            if len(others):
                env_id, row = ids[others[0]] + self.starts[k], rows[part][others[0]]
                name = self.families[int(families[row])].name
                message = (
                    f"rows: environment {env_id} of {self.families[k].name} cannot "
                    f"become a copy of environment {row} of {name}"
                )
                raise InvalidStateError(message)
        # Pools first: theirs alone can fail.
        for k, part, ids in reversed(parts):
            with FaultTranslation(self.starts[k]):
                self.engines[k].set_state(take_family(state, k), rows[part], ids)

    # ------------------------------------------------------------- levels

    def solve(self, env_ids: Ids, objective: str) -> list[Any]:
        """Return solutions; see `Engine.solve`."""
        return self._collect(env_ids, lambda engine, ids: engine.solve(ids, objective))

    def set_level_options(self, env_ids: Ids, level_options: dict[str, Any]) -> None:
        """Change the levels of next episodes, in one family.

        Raises
        ------
        UnsupportedError
            If the environments are of several families, whose options differ.
        """
        parts = list(self.parts(env_ids))
        if len(parts) > 1:
            family_ids = sorted(k for k, _, _ in parts)
            names = ", ".join(self.families[k].name for k in family_ids)
            message = (
                f"set_level_options: the environments are of the families {names}, "
                "whose level options differ: take one family by mask"
            )
            raise UnsupportedError(message)
        for k, _, ids in parts:
            self.engines[k].set_level_options(ids, level_options)

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment; see `Engine.get_attribute`."""
        values = [engine.get_attribute(name) for engine in self.engines]
        return tuple(itertools.chain.from_iterable(values))

    def close(self) -> None:
        """Close all families."""
        for batch in self.batches:
            batch.close()


class FaultTranslation:
    """Gives the environments of a fault their numbers in the whole batch."""

    def __init__(self, start: int) -> None:
        self._start = start

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, EnvironmentFaultError):
            errors = {self._start + i: text for i, text in error.errors.items()}
            raise EnvironmentFaultError(errors) from error.__cause__


def _join_spaces(
    singles: Sequence[Space[Any]], sizes: Sequence[int]
) -> tuple[Space[Any], Space[Any]]:
    """Return the space of one environment of any family, and that of the batch."""
    texts = [space for space in singles if isinstance(space, UnicodeText)]
    assert len(texts) == len(singles)
    alphabets = [text.alphabet for text in texts]
    alphabet = None
    if all(own is not None for own in alphabets):
        characters = itertools.chain.from_iterable(own or "" for own in alphabets)
        alphabet = "".join(dict.fromkeys(characters))
    single = UnicodeText(
        max(text.max_length for text in texts),
        min_length=min(text.min_length for text in texts),
        examples=tuple(dict.fromkeys(x for text in texts for x in text.examples)),
        alphabet=alphabet,
    )
    # A sample of the batch has for each environment a text of its own family; the
    # bounds are those of all, so that the space equals `batch_space` of the single one.
    batches: list[Any] = []
    for text, size in zip(texts, sizes, strict=True):
        own_space = UnicodeText(
            single.max_length,
            min_length=single.min_length,
            examples=text.examples,
            alphabet=text.alphabet,
        )
        batches.append(batch_space(own_space, size))
    return single, Tuple(list(itertools.chain.from_iterable(batches)))
