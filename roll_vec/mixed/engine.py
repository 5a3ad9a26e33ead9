"""One engine over the engines of several families.

Family k has the environments ``starts[k]`` to ``starts[k + 1] - 1``.  Families in
stacked arrays stay stacked, and pools keep their workers, which step while the stacked
families do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
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
from roll_vec.mixed.steps import MixedSteps
from roll_vec.spaces import UnicodeText
from roll_vec.text.validation import check_texts
from roll_vec.vector.columns import (
    FAMILIES,
    check_families,
    join_families,
    take_family,
    take_rows,
)
from roll_vec.vector.composite import CompositeEngine, Ids, PartCall
from roll_vec.vector.engine import Engine, EngineState, StepResult
from roll_vec.vector.env import RollVectorEnv
from roll_vec.vector.infos import AnyInfos, stamp_infos

# Attributes of environments that the whole batch knows.
_STREAMS = ("np_random", "np_random_seed")


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


class MixedEngine(CompositeEngine):
    """The environments of several families; see `roll_vec.vector.engine.Engine`.

    Parameters
    ----------
    families : sequence of Family
        Their environments follow each other, from 0 on.
    batches : sequence of RollVectorEnv
        One a family, with observations and actions of text.  The engine steps their
        engines, and nobody else does.

    Attributes
    ----------
    group_ids : (num_envs,) int64
        The group of each environment, counted through all families.
    """

    snapshot_id = "mixed"

    def __init__(
        self, families: Sequence[Family], batches: Sequence[RollVectorEnv]
    ) -> None:
        super().__init__([len(family.env_ids) for family in families])
        self.families, self.batches = tuple(families), tuple(batches)
        self.engines: list[Engine] = [batch.engine for batch in batches]
        first_group, group_ids = 0, []
        names = np.empty(self.num_envs, object)
        for k, family in enumerate(families):
            names[self.rows(k)] = family.name
            own = np.arange(len(family.env_ids)) // family.group_size + first_group
            first_group = int(own[-1]) + 1
            group_ids.append(own)
            self.engines[k].become_part(self.starts[k])
        self.group_ids: NDArray[np.int64] = np.concatenate(group_ids)
        self.family_names = names
        self.order = sorted(self.order, key=lambda k: self.engines[k].can_fail)
        self._set_spaces()

    def _set_spaces(self) -> None:
        self.single_observation_space, self.observation_space = _join_spaces(
            [engine.single_observation_space for engine in self.engines], self.sizes
        )
        self.single_action_space, self.action_space = _join_spaces(
            [engine.single_action_space for engine in self.engines], self.sizes
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

    def _ask(self, calls: Mapping[int, PartCall]) -> dict[int, Any]:
        """Call a method of each of some families; return the results by family."""
        return {
            k: self.call_part(k, getattr(self.engines[k], name), *arguments)
            for k in self.order
            if k in calls
            for name, arguments in [calls[k]]
        }

    def call_part(self, k: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function for a family.

        Raises
        ------
        EnvironmentFaultError
            With the environments' numbers in this batch.
        """
        try:
            return function(*arguments)
        except EnvironmentFaultError as error:
            raise self.translate(k, error) from error.__cause__

    # ------------------------------------------------------------- resets

    def reset(
        self,
        env_ids: Ids,
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start new episodes; see `Engine.reset`."""
        for k, part, ids in self.parts(env_ids):
            self.call_part(k, self.engines[k].reset, ids, seeds[part], options)

    def advance(self, env_ids: Ids) -> None:
        """Begin the next episodes of some environments; see `Engine.advance`."""
        for k, _, ids in self.parts(env_ids):
            self.call_part(k, self.engines[k].advance, ids)

    def reset_infos(self, env_ids: Ids) -> AnyInfos:
        """Return infos of resets; see `Engine.reset_infos`."""
        parts = {
            k: self.call_part(k, self.engines[k].reset_infos, ids)
            for k, _, ids in self.parts(env_ids)
        }
        # Here, not in `advance`: resets in workers have ended only now.
        self._check_failures()
        infos = self.join_infos(parts, env_ids)
        return stamp_infos(infos, {"family": self.family_names[env_ids]}, None)

    # -------------------------------------------------------------- steps

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return the actions of each family; see `Engine.check_actions`."""
        # All together: a message then has the environments' numbers in this batch.
        texts = check_texts(actions, skip_mask)
        return [
            engine.check_actions(texts[self.rows(k)], skip_mask[self.rows(k)])
            for k, engine in enumerate(self.engines)
        ]

    def check_some(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return texts for some environments; see `Engine.check_some`."""
        return check_texts(actions, skip_mask)

    def make_steps(self) -> MixedSteps:
        """Return an object that begins steps of some environments."""
        return MixedSteps(self)

    def begin_step(self, actions: list[Any], skip_mask: NDArray[np.bool_]) -> None:
        """Let the workers of pools begin with a step; `end_step` must follow."""
        for k, engine in enumerate(self.engines):
            engine.begin_step(actions[k], skip_mask[self.rows(k)])

    def end_step(
        self,
        actions: list[Any],
        skip_mask: NDArray[np.bool_],
    ) -> StepResult:
        """Return the results of a step that `begin_step` has begun."""
        results: list[Any] = [None] * len(self.engines)
        errors: list[EnvironmentFaultError] = []
        for k in self.order:
            # All workers end their steps, also if a pool raises.
            try:
                rows, end_step = self.rows(k), self.engines[k].end_step
                arguments = actions[k], skip_mask[rows]
                results[k] = self.call_part(k, end_step, *arguments)
            except EnvironmentFaultError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        *arrays, infos = zip(*results, strict=True)
        rewards, terminations, truncations = map(np.concatenate, arrays)
        joined = self.join_infos(dict(enumerate(infos)))
        stamped = stamp_infos(joined, {"family": self.family_names}, ~skip_mask)
        return rewards, terminations, truncations, stamped

    @property
    def successes(self) -> NDArray[np.bool_]:  # type: ignore[override]
        """(n,) bool: whether the last step of each environment was a success."""
        return np.concatenate([engine.successes for engine in self.engines])

    # ------------------------------------------------- faults and interrupts

    @property
    def raises_faults(self) -> bool:  # type: ignore[override]
        """Whether a fault of one environment is an error of all."""
        return any(engine.raises_faults for engine in self.engines)

    @property
    def needs_full_reset(self) -> bool:  # type: ignore[override]
        """Whether a fault or an interrupt demands a reset of all environments."""
        return any(engine.needs_full_reset for engine in self.engines)

    @property
    def failed_resets(self) -> dict[int, str]:
        """The environments whose last reset has failed, and the errors."""
        return {
            start + env_id: text
            for engine, start in zip(self.engines, self.starts, strict=False)
            for env_id, text in engine.failed_resets.items()
        }

    @property
    def abandoned_threads(self) -> int:  # type: ignore[override]
        """Threads that were left to environments that took too long."""
        return sum(engine.abandoned_threads for engine in self.engines)

    @property
    def needs_seed(self) -> list[bool]:  # type: ignore[override]
        """Whether the first reset of each environment must have a seed."""
        needs = [engine.needs_seed for engine in self.engines]
        return [
            each
            for own, size in zip(needs, self.sizes, strict=True)
            for each in ([True] * size if own is None else own)
        ]

    def demand_reset(self) -> None:
        """Drop everything that was started; all environments must be reset."""
        for engine in self.engines:
            engine.demand_reset()

    def warn(self) -> None:
        """Give the warnings of the families."""
        for engine in self.engines:
            engine.warn()

    # ------------------------------------------------- observations, frames

    def observe(self) -> tuple[str, ...]:
        """Return the texts of all environments, a new tuple."""
        batches = [engine.observe() for engine in self.engines]
        return tuple(itertools.chain.from_iterable(batches))

    def observe_envs(self, env_ids: Ids) -> list[Any]:
        """Return the texts of some environments."""
        return self.collect(env_ids, "observe_envs")

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
        """Return the state of all environments; see `roll_vec.vector.columns`."""
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
            engine.check_state(EngineState(arrays, objects))

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
            own = take_family(state, k), rows[part], ids
            self.call_part(k, self.engines[k].set_state, *own)

    # ----------------------------------------------------- levels, attributes

    def set_level_options(self, level_options: dict[str, Any]) -> None:
        """Change the levels of next episodes, of a batch of one family.

        Raises
        ------
        UnsupportedError
            If the environments are of several families, whose options differ.
        """
        if len(self.families) > 1:
            names = ", ".join(family.name for family in self.families)
            message = (
                f"set_level_options: the environments are of the families {names}, "
                "whose level options differ"
            )
            raise UnsupportedError(message)
        super().set_level_options(level_options)

    def find_attribute(
        self, name: str, known: Mapping[str, Sequence[Any]]
    ) -> tuple[Any, ...]:
        """Return an attribute of each environment; see `Engine.find_attribute`."""
        return self._find("find_attribute", name, known)

    def call(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        known: Mapping[str, Sequence[Any]],
    ) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it is a method."""
        return self._find("call", name, known, args, kwargs)

    def _find(
        self, method: str, name: str, known: Mapping[str, Any], *arguments: Any
    ) -> tuple[Any, ...]:
        calls = {}
        for k, batch in enumerate(self.batches):
            own = {key: values[self.rows(k)] for key, values in known.items()}
            if name not in _STREAMS:
                own = batch._known(name)
            calls[k] = PartCall(method, (name, *arguments, own))
        return tuple(self.join(self._ask(calls)))

    def set_attribute(self, name: str, values: Sequence[Any]) -> None:
        """Set an attribute of each environment, if all are objects."""
        for engine in self.engines:
            if not engine.can_fail:
                engine.set_attribute(name, values)
        super().set_attribute(name, values)

    def close(self) -> None:
        """Close all families."""
        for batch in self.batches:
            batch.close()


def _join_spaces(
    singles: Sequence[Space[Any]], sizes: Sequence[int]
) -> tuple[Space[Any], Space[Any]]:
    """Return the space of one environment of any family, and that of the batch."""
    texts = [space for space in singles if isinstance(space, UnicodeText)]
    assert len(texts) == len(singles)
    single = UnicodeText(
        max(text.max_length for text in texts),
        min_length=min(text.min_length for text in texts),
        examples=tuple(dict.fromkeys(x for text in texts for x in text.examples)),
    )
    # A sample of the batch has for each environment a text of its own family; the
    # bounds are those of all, so that the space equals `batch_space` of the single one.
    batches: list[Any] = []
    for text, size in zip(texts, sizes, strict=True):
        own_space = UnicodeText(
            single.max_length,
            min_length=single.min_length,
            examples=text.examples,
        )
        batches.append(batch_space(own_space, size))
    return single, Tuple(list(itertools.chain.from_iterable(batches)))
