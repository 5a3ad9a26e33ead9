"""Steps of some environments over shards: each exchanges requests for results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.distributed.messages import Reply
from roll_vec.distributed.shards import LATE
from roll_vec.pool.observations import copy_data
from roll_vec.vector.composite import Lost, PartCall
from roll_vec.vector.known_infos import fault_info
from roll_vec.vector.steps import EnvResult, ResetCall, ResetKind, Results, Steps

# Seconds that a shard waits for its first result.  Meanwhile it takes no new actions.
_PATIENCE = 0.02


class ShardsSteps(Steps):
    """Steps of the environments of many shards.

    While the head waits, a shard with environments in a step has a message to answer.
    A snapshot needs all of its environments at rest.  If they never are, new requests
    are held back once in two intervals, until the steps before have ended.

    Parameters
    ----------
    engine : roll_vec.distributed.pool_engine.PoolShardsEngine
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        # By environment: whether it is reset; the action, or what `begin` got of it.
        self._requests: dict[int, tuple[bool, Any]] = {}
        # Results of environments whose episodes are lost.
        self._losses: Results = []
        # By ticket: the shard, the time of the message, and for a snapshot the number
        # of calls that it has.
        self._tickets: dict[Any, tuple[int, float, int | None]] = {}
        # By shard: environments whose requests wait for a snapshot.
        self._held_back: dict[int, list[int]] = {}

    def clear(self) -> None:
        """Forget all environments; their shards go back to where they were."""
        # One without a message may have environments in a step, too.
        count = len(self._engine.shards)
        active = {shard for shard in range(count) if self._active_ids(shard)}
        shards = active | {shard for shard, _, _ in self._tickets.values()}
        self._engine.shards.mark_moved(sorted(shards))
        self._requests.clear()
        self._losses.clear()
        self._tickets.clear()
        self._held_back.clear()

    def begin(
        self, actions: Mapping[int, Any], resets: Mapping[int, ResetCall]
    ) -> None:
        """Begin steps and resets; see `Steps.begin`."""
        engine = self._engine
        engine.count_episodes(
            {
                i: None if isinstance(one, ResetKind) else one[0]
                for i, one in resets.items()
            }
        )
        requests = {i: (False, action) for i, action in actions.items()}
        requests |= {i: (True, call) for i, call in resets.items()}
        for shard, _, ids in engine.parts(np.array(sorted(requests), np.int64)):
            record = engine.shards.records[shard]
            new_ids = []
            for env_id in (ids + engine.starts[shard]).tolist():
                is_reset, _ = self._requests[env_id] = requests[env_id]
                error = engine.lost_episodes.pop(env_id, "")
                error = record.loss or ("" if is_reset else error)
                if error:
                    self._lose(env_id, error, is_lost=bool(record.loss))
                else:
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
        return [env_id for env_id in self._requests if rows.start <= env_id < rows.stop]

    def _send_all(self, shard: int) -> None:
        """Send the requests that were held back, after a snapshot if one is due."""
        env_ids = self._held_back.pop(shard)
        if len(self._active_ids(shard)) == len(env_ids):
            self._save_state(shard)
        self._exchange(shard, env_ids)

    def _exchange(self, shard: int, env_ids: list[int]) -> None:
        """Send a shard the requests of some environments, and ask for results."""
        actions, resets = self._split(shard, env_ids)
        self._submit(shard, PartCall("exchange", (actions, resets, _PATIENCE)), None)

    def _split(
        self, shard: int, env_ids: list[int]
    ) -> tuple[dict[int, Any], dict[int, Any]]:
        """Return the actions and the resets of some environments, by local id."""
        parts: tuple[dict[int, Any], dict[int, Any]] = {}, {}
        for env_id in env_ids:
            is_reset, request = self._requests[env_id]
            parts[is_reset][env_id - self._engine.starts[shard]] = request
        return parts

    def _submit(self, shard: int, call: PartCall, count: int | None) -> None:
        ticket = self._engine.shards.submit(shard, call)
        self._tickets[ticket] = shard, time.monotonic(), count

    def _save_state(self, shard: int) -> None:
        """Ask a shard that is idle for a snapshot, if one is due."""
        record = self._engine.shards.records[shard]
        if self._engine.shards.is_snapshot_due(record):
            self._submit(shard, PartCall("get_state"), len(record.calls))

    def _lose(self, env_id: int, error: str, *, is_lost: bool) -> None:
        """End the step or reset of an environment whose episode is lost.

        Parameters
        ----------
        env_id : int
        error : str
        is_lost : bool
            Whether its shard is lost as well.
        """
        is_reset, _ = self._requests.pop(env_id)
        (observation,) = self._engine.observe_envs(np.array([env_id]))
        result = EnvResult(observation, fault_info(error), truncated=not is_reset)
        self._losses.append((env_id, result))
        if is_reset and not is_lost:
            self._engine.lost_episodes[env_id] = error

    # ------------------------------------------------------------- results

    def poll(self, timeout: float | None, count: int = 1) -> Results:  # noqa: ARG002
        """Return the results that are there; see `Steps.poll`."""
        shards = self._engine.shards
        end = None if timeout is None else time.monotonic() + timeout
        results: Results = []
        while self._requests and not self._losses:
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
                results += self._take(ticket)
            self._end_late_shards()
            if results or (end is not None and time.monotonic() >= end):
                break
        results, self._losses = results + self._losses, []
        return results

    def _end_late_shards(self) -> None:
        shards = self._engine.shards
        for shard, sent_at, _ in list(self._tickets.values()):
            if shards.is_late(shard, sent_at):
                self._replace(shard, shards.replace(shard, LATE))
                return

    def _take(self, ticket: Any) -> Results:
        """Return the results of a ticket, unless its shard has been replaced."""
        if ticket not in self._tickets:
            return []
        shard, _, count = self._tickets.pop(ticket)
        shards = self._engine.shards
        reply = shards.result(shard, ticket)
        if not isinstance(reply, Reply):
            self._replace(shard, reply)
            return []
        if reply.error is not None and count is None:
            self.clear()
            shards.mark_moved(list(range(len(shards))))
            shards.raise_error(shard, reply)
        shards.keep_warnings(reply)
        if count is None:
            return self._take_results(shard, *reply.value)
        if reply.error is None:
            shards.set_base(shard, reply.value, count)
        return []

    def _replace(self, shard: int, dead: Lost | None) -> None:
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
            self._engine.lost_episodes |= dict.fromkeys(others, error)
        for env_id in env_ids:
            self._lose(env_id, error, is_lost=is_lost)

    def _take_results(
        self,
        shard: int,
        results: Results,
        successes: NDArray[np.bool_],
    ) -> Results:
        """Return what environments have done, and note it."""
        engine, rows = self._engine, self._engine.rows(shard)
        engine.successes[rows] = successes
        env_ids = [rows.start + local_id for local_id, _ in results]
        share = len(results) / len(successes)
        play = PartCall("play", (*self._split(shard, env_ids), share))
        for env_id, (_, result) in zip(env_ids, results, strict=True):
            del self._requests[env_id]
            # The result is the receiver's own.
            engine.observations.set_latest(env_id, copy_data(result.observation))
        if results:
            engine.shards.commit(shard, play, Reply())
        return [(i, result) for i, (_, result) in zip(env_ids, results, strict=True)]
