"""The engine over shards whose environments are rows of stacked arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.distributed.engine import ShardsEngine
from roll_vec.distributed.shards import Shards
from roll_vec.text.validation import check_texts
from roll_vec.vector.composite import Ids, Lost, PartCall
from roll_vec.vector.engine import Engine, EngineState, UnrollResult
from roll_vec.vector.infos import Infos
from roll_vec.vector.rollout import Rollout
from roll_vec.vector.space_batches import item_at, join_batches


class StackedShardsEngine(ShardsEngine):
    """Stacked environments in shards.

    Parameters
    ----------
    make_shards, sizes, mode
        See `ShardsEngine`.
    template : ArrayEngine
        Of one environment with the keywords of the batch.  It checks actions and
        states, and draws observations and frames.
    draws : bool
        Whether the shards send grids of cell codes, also where the observations are
        something else.
    """

    def __init__(
        self,
        make_shards: Callable[..., Shards],
        sizes: Sequence[int],
        mode: AutoresetMode,
        template: Any,
        draws: bool,
    ) -> None:
        super().__init__(make_shards, sizes, mode)
        self.template, self._draws = template, draws
        self.set_spaces(template)
        self.first_action = template.first_action
        self.action_parser = template.action_parser
        # By shard: the codes or the observations that it has sent last.
        self._parts_seen: list[Any] = [None] * len(sizes)
        # Of `observe_in_place`.
        self._batch: Any = None
        self.describe()

    # ------------------------------------------------------------- actions

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Return the actions as they travel: small integers, or texts.

        Raises
        ------
        InvalidActionError
        """
        if self.template.action_parser is not None:
            return check_texts(actions, skip_mask)
        return _shrink(self.template.check_actions(actions, skip_mask))

    # ------------------------------------------------------------- observations

    def _set_observations(self, shard: int, observations: Any) -> None:
        self._parts_seen[shard] = observations

    def _codes(self) -> Any:
        """Return what the shards have sent, of all environments, in a new array."""
        present = next(part for part in self._parts_seen if part is not None)
        parts = list(self._parts_seen)
        for shard, part in enumerate(parts):
            # A shard that was lost before it has sent anything.
            if part is None:
                rows = self.rows(shard)
                n = rows.stop - rows.start
                parts[shard] = _blank(present, n)
        return join_batches(self.single_observation_space, parts)

    def observe(self) -> Any:
        """Return the observations of all environments; see `Engine.observe`."""
        return self._draw(self._codes())

    def observe_in_place(self) -> Any:
        """Return them in the arrays of the last call."""
        self._batch = self._draw(self._codes(), self._batch)
        return self._batch

    def _draw(self, codes: Any, out: Any = None) -> Any:
        """Return the observations of codes, (n, ...)."""
        if self._draws_steps:
            return self.template.observer.observe(codes, out)
        if out is None:
            return codes
        return join_batches(self.single_observation_space, [codes], out)

    def observe_envs(self, env_ids: Ids) -> list[Any]:
        """Return observations of some environments, of an ended episode its last."""
        result: list[Any] = []
        # Codes of grids are arrays, whatever their observations are.
        space = self.single_observation_space
        for shard, _, ids in self.parts(env_ids):
            latest, finals = self._parts_seen[shard], {}
            if shard in self._finals:
                final_ids, codes = self._finals[shard]
                finals = dict(zip(final_ids.tolist(), codes, strict=True))
            for local_id in ids.tolist():
                code = finals.get(local_id)
                if code is None:
                    code = item_at(space, latest, local_id)
                # A state is a Python int.
                result.append(code.item() if isinstance(code, np.generic) else code)
        if not result or not isinstance(result[0], np.ndarray):
            return result
        return list(self._draw(np.stack(result)))

    def _draw_frames(self, env_ids: Ids, mode: str) -> Sequence[Any]:
        if not self.template.draws_frames(mode):
            return self.collect(env_ids, "frames", mode, lost="")
        observer, scale = self.template.observer, self.template.options.render_scale
        if self._draws:
            grids = self._codes()[env_ids]
        else:
            blank = np.zeros(observer.shape, np.uint8)
            parts = self.collect(env_ids, "grids", lost=blank)
            grids = np.array(parts, np.uint8).reshape(len(env_ids), *observer.shape)
        frames: tuple[Any, ...] = observer.frames(grids, mode, scale)
        return frames

    # ------------------------------------------------------------- many steps

    def save_point(self) -> Any:
        """Return a point in time; see `Engine.save_point`."""
        return self.shards.save_point(), list(self._parts_seen), self.successes.copy()

    def go_back(self, point: Any) -> None:
        """Undo what came after a point; see `Engine.go_back`."""
        calls, self._parts_seen, self.successes = point
        self._forget()
        self.shards.go_back(calls)

    def unroll(
        self,
        actions: Any,
        has_ended: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> UnrollResult | None:
        """Take T steps, in one message; see `Engine.unroll`."""
        codes = self.template.parse_steps(actions, self.num_envs)
        if (
            codes is None
            or self.lost_episodes
            or len(self.shards.live) < len(self.shards)
        ):
            return None
        point, codes = self.save_point(), _shrink(codes)
        values = self._ask(
            {
                shard: PartCall(
                    "unroll",
                    (
                        np.ascontiguousarray(codes[:, self.rows(shard)]),
                        has_ended[self.rows(shard)],
                        mode,
                    ),
                )
                for shard in range(len(self.shards))
            }
        )
        if any(isinstance(value, Lost) for value in values.values()):
            # Steps one by one tell when the shard was lost.
            self.go_back(point)
            return None
        self._forget()
        self._has_unrolled = True
        results = [values[shard][0] for shard in range(len(self.shards))]
        for shard, (_, reset) in values.items():
            self._set_observations(shard, reset.observations)
            self.successes[self.rows(shard)] = reset.successes

        space, draws = self.single_observation_space, self._draws_steps
        merge_out = out and out._replace(observations=None, infos={}) if draws else out
        merged = merge_unrolls(space, results, merge_out)
        if not draws:
            return merged
        observe, shape = self.template.observer.observe_steps, codes.shape
        final_observations = merged.final_observations
        if final_observations is not None:
            last = out and out.infos.get("final_obs")
            final_observations = observe(final_observations, shape, last)
        first = out and out.observations
        return merged._replace(
            observations=observe(merged.observations, shape, first),
            final_observations=final_observations,
        )

    def _forget(self) -> None:
        super()._forget()
        self._has_unrolled = False

    def reset_infos(self, env_ids: Ids) -> Any:
        """Return the infos of resets; an unroll has only those that all share."""
        if self._has_unrolled:
            infos: Infos = self.template.reset_infos(np.zeros(len(env_ids), np.int64))
            return infos
        return super().reset_infos(env_ids)

    @property
    def _draws_steps(self) -> bool:
        """Whether the observations are made here, of the codes."""
        return self._draws and self.template.observer.obs_mode != "grid"

    # ------------------------------------------------------------- state, attributes

    def configuration(self) -> dict[str, Any]:
        """Return the keywords that batches must share; see `Engine.configuration`."""
        configuration: dict[str, Any] = self.template.configuration()
        return configuration

    def check_state(self, state: EngineState) -> None:
        """Check a state; see `Engine.check_state`."""
        self.template.check_state(state)

    def set_level_options(self, level_options: dict[str, Any]) -> None:
        """Change the levels of next episodes; see `Engine.set_level_options`."""
        # Refuses what cannot be used before any shard has changed.
        self.template.set_level_options(level_options)
        super().set_level_options(level_options)

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment; see `Engine.get_attribute`."""
        values = self.template.get_attribute(name)
        if callable(values[0]):
            return values * self.num_envs  # type: ignore[no-any-return]
        return tuple(self.join(self.ask_all("get_attribute", name)))

    def set_attribute(self, name: str, values: Sequence[Any]) -> None:
        """Raise: environments in stacked arrays are configured when they are made."""
        Engine.set_attribute(self, name, values)

    @property
    def elapsed_steps(self) -> NDArray[np.int64]:
        """(num_envs,) int64: steps of the episodes; 0 in a shard that is lost."""
        return self._array("elapsed_steps")

    @property
    def positions(self) -> NDArray[np.int64]:
        """(num_envs,) int64: cells of the players of lakes; see `elapsed_steps`."""
        return self._array("positions")

    def _array(self, name: str) -> NDArray[np.int64]:
        values = self.join(self.ask_all("get_array", name), lost=0)
        return np.array(values, np.int64)


def _shrink(actions: NDArray[Any]) -> NDArray[Any]:
    """Return integers in a byte each, where all fit; other actions as they are."""
    if actions.dtype == np.int64 and -128 <= actions.min() <= actions.max() < 128:
        return actions.astype(np.int8)
    return actions


def _blank(present: Any, n: int) -> Any:
    """Return the observations of a lost shard of n environments: zeros, or no text."""
    if isinstance(present, dict):
        return {name: _blank(each, n) for name, each in present.items()}
    if isinstance(present, np.ndarray):
        return np.zeros((n, *present.shape[1:]), present.dtype)
    if isinstance(present[0], str):
        return ("",) * n
    return tuple(_blank(each, n) for each in present)


def merge_unrolls(
    space: Space[Any], shards: Sequence[UnrollResult], out: Rollout | None = None
) -> UnrollResult:
    """Return the results of `Engine.unroll` of all shards.

    Parameters
    ----------
    space : gymnasium.Space
        Of the observations of one environment.
    shards : sequence of UnrollResult
        None of them stopped before the last step.
    out : Rollout or None
        Its arrays are written to; `check_out` has accepted them.
    """

    def join(name: str) -> Any:
        parts = [getattr(shard, name) for shard in shards]
        return np.concatenate(parts, 1, out=out and getattr(out, name))

    final_obs, finals = None, [shard.final_observations for shard in shards]
    if finals[0] is not None:
        final_out = out and out.infos.get("final_obs")
        final_obs = join_batches(space, finals, final_out, axis=1)
    observations = [shard.observations for shard in shards]
    return UnrollResult(
        join_batches(space, observations, out and out.observations, axis=1),
        final_obs,
        join("rewards"),
        join("terminations"),
        join("truncations"),
        {
            key: np.concatenate([one.infos[key] for one in shards], 1)
            for key in shards[0].infos
        },
        np.concatenate([one.times for one in shards]),
    )
