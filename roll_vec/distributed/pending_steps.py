"""`send` and `recv` over shards: each shard exchanges actions for results."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.distributed.messages import Operation, Reply
from roll_vec.distributed.pool_engine import PoolShardsEngine
from roll_vec.distributed.shards import LATE, Dead
from roll_vec.pool.pending_steps import PendingResult, PendingSteps

__all__ = ["ShardsSteps"]

# Seconds that a shard waits for its first result.  Meanwhile it takes no new actions.
_PATIENCE = 0.02


class ShardsSteps(PendingSteps):
    """Pending steps of the environments of many shards.

    While the head waits, a shard with environments in a step has a message to answer.
    A snapshot needs all of its environments at rest.  If they never are, new actions
    are held back once in two intervals, until the steps before have ended.

    Parameters
    ----------
    engine : PoolShardsEngine
    mode : AutoresetMode
    group_size : int or None
        None: infos have no ``group_id``.
    """

    def __init__(
        self, engine: PoolShardsEngine, mode: AutoresetMode, group_size: int | None
    ) -> None:
        super().__init__(
            engine.num_envs,
            engine.single_action_space,
            engine.single_observation_space,
            engine.accepts_noop,
        )
        self._engine, self._group_size = engine, group_size
        self._same_step = mode is AutoresetMode.SAME_STEP
        # By environment in a step: its action, and whether it is reset instead.
        self._actions: dict[int, tuple[Any, bool]] = {}
        # By ticket: the shard, the time of the message, and for a snapshot the number
        # of operations that it has.
        self._tickets: dict[Any, tuple[int, float, int | None]] = {}
        # By shard: environments whose actions wait for a snapshot.
        self._held_back: dict[int, list[int]] = {}

    def clear(self) -> None:
        """Forget all environments; their shards go back to where they were."""
        # One without a message may have environments in a step, too.
        count = len(self._engine.shards)
        active = {shard for shard in range(count) if self._active_ids(shard)}
        shards = active | {shard for shard, _, _ in self._tickets.values()}
        self._engine.shards.mark_moved(sorted(shards))
        self._actions.clear()
        self._tickets.clear()
        self._held_back.clear()
        super().clear()

    def send(
        self,
        env_ids: NDArray[np.int64],
        actions: Iterable[Any],
        needs_reset: NDArray[np.bool_],
    ) -> None:
        """Start the steps or resets of some environments; see `PendingSteps.send`."""
        engine, by_id = self._engine, dict(zip(env_ids.tolist(), actions, strict=True))
        for shard, _, ids in engine.parts(np.sort(env_ids)):
            record = engine.shards.records[shard]
            first = int(engine.starts[shard])
            new_ids = []
            for env_id in (ids + first).tolist():
                is_reset = bool(needs_reset[env_id])
                self._actions[env_id] = by_id[env_id], is_reset
                self._active[env_id] = None
                error = engine.stalled.pop(env_id, "")
                error = record.loss or ("" if is_reset else error)
                if not error or self._lose(env_id, error, is_lost=bool(record.loss)):
                    new_ids.append(env_id)
            if not new_ids:
                continue
            held_back = self._held_back.setdefault(shard, [])
            held_back += new_ids
            is_idle = len(self._active_ids(shard)) == len(held_back)
            if is_idle or not engine.shards.is_snapshot_due(record, 2):
                self._send_all(shard)

    def _active_ids(self, shard: int) -> list[int]:
        rows = self._engine.rows(shard)
        return [env_id for env_id in self._actions if rows.start <= env_id < rows.stop]

    def _send_all(self, shard: int) -> None:
        """Send the actions that were held back, after a snapshot if one is due."""
        env_ids = self._held_back.pop(shard)
        if len(self._active_ids(shard)) == len(env_ids):
            self._save_state(shard)
        self._exchange(shard, env_ids)

    def _exchange(self, shard: int, env_ids: list[int]) -> None:
        """Send a shard the actions of some environments, and ask for results."""
        rows = self._engine.rows(shard)
        needs_reset = np.zeros(rows.stop - rows.start, np.bool_)
        ids = np.array(env_ids, np.int64) - rows.start
        needs_reset[ids] = [self._actions[env_id][1] for env_id in env_ids]
        actions = [self._actions[env_id][0] for env_id in env_ids]
        operation = Operation("exchange", (ids, actions, needs_reset, _PATIENCE))
        self._submit(shard, operation, None)

    def _submit(self, shard: int, operation: Operation, count: int | None) -> None:
        ticket = self._engine.shards.submit(shard, operation)
        self._tickets[ticket] = shard, time.monotonic(), count

    def _save_state(self, shard: int) -> None:
        """Ask a shard that is idle for a snapshot, if one is due."""
        record = self._engine.shards.records[shard]
        if self._engine.shards.is_snapshot_due(record):
            self._submit(shard, Operation("get_state"), len(record.operations))

    def _lose(self, env_id: int, error: str, *, is_lost: bool) -> bool:
        """End the step of an environment whose episode is lost.

        Parameters
        ----------
        env_id : int
        error : str
        is_lost : bool
            Whether its shard is lost as well.

        Returns
        -------
        bool
            Whether its shard is to reset it, before it is ready.
        """
        engine = self._engine
        is_reset = self._actions[env_id][1]
        info: dict[str, Any] = {"error": error}
        observation = engine.observe_envs(np.array([env_id]))[0]
        result = PendingResult(observation, truncated=not is_reset, info=info)
        if self._same_step:
            result = result._replace(final=(observation, info))
            if not is_lost:
                self._active[env_id] = result
                self._actions[env_id] = None, True
                return True
        if (is_reset or self._same_step) and self._group_size is not None:
            group_id = env_id // self._group_size
            result = result._replace(info={**info, "group_id": group_id})
        del self._active[env_id], self._actions[env_id]
        self._ready[env_id] = result
        if is_reset and not is_lost:
            engine.stalled[env_id] = error
        return False

    # ------------------------------------------------------------- results

    def _wait_for_some(self, seconds: float | None) -> None:
        shards = self._engine.shards
        end = None if seconds is None else time.monotonic() + seconds
        while self._active:
            ticketed = {shard for shard, _, _ in self._tickets.values()}
            for shard in range(len(shards)):
                active_ids = self._active_ids(shard)
                if shard in ticketed or not active_ids:
                    continue
                if len(active_ids) == len(self._held_back.get(shard, ())):
                    self._send_all(shard)
                else:
                    self._exchange(shard, [])
            waits = [(shard, sent_at) for shard, sent_at, _ in self._tickets.values()]
            left = shards.patience(waits)
            if end is not None:
                left = max(min(left, end - time.monotonic()), 0.0)
            for ticket in shards.actors.wait(list(self._tickets), left):
                self._take(ticket)
            self._end_late_shards()
            if self._ready or (end is not None and time.monotonic() >= end):
                return

    def _end_late_shards(self) -> None:
        shards = self._engine.shards
        for shard, sent_at, _ in list(self._tickets.values()):
            if shards.is_late(shard, sent_at):
                self._replace(shard, shards.replace(shard, LATE))
                return

    def _take(self, ticket: Any) -> None:
        """Take the reply of a ticket, unless its shard has been replaced."""
        if ticket not in self._tickets:
            return
        shard, _, count = self._tickets.pop(ticket)
        shards = self._engine.shards
        reply = shards.result(shard, ticket)
        if not isinstance(reply, Reply):
            self._replace(shard, reply)
            return
        if reply.error is not None and count is None:
            self.clear()
            shards.mark_moved(list(range(len(shards))))
            shards.raise_error(shard, reply)
        shards.keep_warnings(reply)
        if count is not None:
            if reply.error is None:
                shards.set_base(shard, reply.value, count)
            return
        self._take_results(shard, *reply.value)

    def _replace(self, shard: int, dead: Dead | None) -> None:
        """Ask a new shard for all results, or end the episodes of a lost one."""
        for ticket, (owner, _, _) in list(self._tickets.items()):
            if owner == shard:
                del self._tickets[ticket]
        self._held_back.pop(shard, None)
        env_ids = self._active_ids(shard)
        if dead is None:
            self._exchange(shard, env_ids)
            return
        rows, error = self._engine.rows(shard), dead.error
        is_lost = bool(self._engine.shards.records[shard].loss)
        if not is_lost:
            others = set(range(rows.start, rows.stop)) - set(env_ids)
            self._engine.stalled |= dict.fromkeys(others, error)
        late_ids = [i for i in env_ids if self._lose(i, error, is_lost=is_lost)]
        if late_ids:
            self._exchange(shard, late_ids)

    def _take_results(
        self,
        shard: int,
        results: list[tuple[int, PendingResult]],
        successes: NDArray[np.bool_],
    ) -> None:
        """Move environments from active to ready, and note what they have done."""
        engine, rows = self._engine, self._engine.rows(shard)
        engine.successes[rows] = successes
        actions, needs_reset = [], np.zeros(len(successes), np.bool_)
        for local_id, result in results:
            env_id = rows.start + local_id
            action, is_reset = self._actions.pop(env_id)
            last_step = self._active.pop(env_id)
            if last_step is not None:
                result = last_step._replace(
                    observation=result.observation, info=result.info
                )
            actions.append(action)
            needs_reset[local_id] = is_reset
            if self._group_size is not None and (is_reset or result.final is not None):
                info = {**(result.info or {}), "group_id": env_id // self._group_size}
                result = result._replace(info=info)
            engine.observations.set_latest(env_id, result.observation)
            self._ready[env_id] = result
        if results:
            ids = np.array([local_id for local_id, _ in results], np.int64)
            play = Operation("play", (ids, actions, needs_reset))
            engine.shards.commit(shard, play, Reply())
