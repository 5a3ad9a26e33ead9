"""`send` and `recv` of a mixed batch."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.mixed.engine import FaultTranslation, MixedEngine
from roll_vec.pool.pending_steps import PendingResult, PendingSteps, PoolSteps
from roll_vec.vector.autoreset import Autoreset
from roll_vec.vector.info_parts import list_infos

__all__ = ["MixedSteps"]

# Threads and processes cannot be awaited together.  While several pools are busy, each
# has its turn: this share of the time waited so far, so that a result is late by as
# much and looks get rarer; and so many seconds at least.
_SHARE, _SHORTEST = 0.02, 0.001


class MixedSteps(PendingSteps):
    """Pending steps of several families.

    Pools step while nobody waits.  A stacked family steps when results are asked for,
    all of its environments that have an action by then in one call.

    Parameters
    ----------
    engine : MixedEngine
    autoreset : Autoreset
        Of the batch; its ``has_ended`` gets the episodes that ended in a step that
        raised.
    """

    def __init__(self, engine: MixedEngine, autoreset: Autoreset) -> None:
        super().__init__(
            engine.num_envs,
            engine.single_action_space,
            engine.single_observation_space,
            False,
        )
        self._engine, self._autoreset = engine, autoreset
        self._pools = {
            k: PoolSteps(engine.engines[k], autoreset.mode, None)
            for k in engine.pool_ids
        }
        self._stacked = {
            k: Autoreset(engine.engines[k], autoreset.mode) for k in engine.stacked_ids
        }
        # By stacked family: the actions that wait, by local id.
        self._actions: dict[int, dict[int, Any]] = {k: {} for k in self._stacked}
        self._resetting: set[int] = set()

    def clear(self) -> None:
        """Forget all environments."""
        super().clear()
        self._resetting.clear()
        for pool in self._pools.values():
            pool.clear()
        for actions in self._actions.values():
            actions.clear()

    def send(
        self,
        env_ids: NDArray[np.int64],
        actions: Iterable[Any],
        needs_reset: NDArray[np.bool_],
    ) -> None:
        """Start the steps or resets of some environments; see `PendingSteps.send`."""
        order = np.argsort(env_ids, kind="stable")
        texts = list(actions)
        for k, part, ids in self._engine.parts(env_ids[order]):
            own = [texts[i] for i in order[part].tolist()]
            start, stop = self._engine.starts[k], self._engine.starts[k + 1]
            self._active |= dict.fromkeys((ids + start).tolist())
            ended = needs_reset[start:stop]
            self._resetting |= set((ids[ended[ids]] + start).tolist())
            if k in self._pools:
                self._pools[k].send(ids, own, ended)
            else:
                self._stacked[k].has_ended = ended.copy()
                self._actions[k] |= dict(zip(ids.tolist(), own, strict=True))

    def _wait_for_some(self, seconds: float | None) -> None:
        for k in [k for k, actions in self._actions.items() if actions]:
            self._step_family(k)
        start = time.monotonic()
        end = math.inf if seconds is None else start + seconds
        while True:
            busy = [k for k, pool in self._pools.items() if len(pool)]
            for k in busy:
                now, turn = time.monotonic(), math.inf
                if len(busy) > 1:
                    turn = max(_SHARE * (now - start), _SHORTEST)
                patience = 0.0 if self._ready else max(min(turn, end - now), 0.0)
                with FaultTranslation(self._engine.starts[k]):
                    ready = self._pools[k].take_ready(
                        None if patience == math.inf else patience
                    )
                for env_id, result in ready:
                    self._set_ready(k, env_id, result)
            if self._ready or not busy or time.monotonic() >= end:
                return

    def _step_family(self, k: int) -> None:
        """Step the environments of a stacked family that have an action."""
        actions, self._actions[k] = self._actions[k], {}
        autoreset = self._stacked[k]
        num_envs = autoreset.engine.num_envs
        mask = np.zeros(num_envs, np.bool_)
        mask[list(actions)] = True
        texts = [actions.get(env_id, "") for env_id in range(num_envs)]
        try:
            rewards, terminations, truncations, infos = autoreset.step(texts, mask)
        except BaseException:
            # A level cannot be generated: other calls are possible again.
            has_ended = self._autoreset.has_ended.copy()
            for local_id in actions:
                env_id = local_id + self._engine.starts[k]
                has_ended[env_id] = autoreset.has_ended[local_id]
                self._resetting.discard(env_id)
                del self._active[env_id]
            self._autoreset.has_ended = has_ended
            raise
        env_ids = mask.nonzero()[0]
        observations = autoreset.engine.observe_envs(env_ids)
        dicts = list_infos(infos, num_envs)
        for local_id, observation in zip(env_ids.tolist(), observations, strict=True):
            info = dicts[local_id]
            final = None
            if "final_obs" in info:
                final = info.pop("final_obs"), info.pop("final_info")
            result = PendingResult(
                observation,
                float(rewards[local_id]),
                bool(terminations[local_id]),
                bool(truncations[local_id]),
                info,
                final,
            )
            self._set_ready(k, local_id, result)

    def _set_ready(self, k: int, local_id: int, result: PendingResult) -> None:
        env_id = local_id + self._engine.starts[k]
        family = {"family": self._engine.families[k].name}
        info, final = {**(result.info or {}), **family}, result.final
        if final is not None:
            final = final[0], {**final[1], **family}
        is_reset = env_id in self._resetting or final is not None
        if is_reset and self._engine.group_id_info:
            info["group_id"] = int(self._engine.group_ids[env_id])
        self._resetting.discard(env_id)
        del self._active[env_id]
        self._ready[env_id] = result._replace(info=info, final=final)
