"""Steps of some environments of several families, begun now and received later.

Pools step while nobody waits.  A stacked family steps when results are asked for, all
of its environments that have an action by then in one call.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from roll_vec.vector.steps import CalledSteps, ResetCall, Results, Steps

# Threads and processes cannot be awaited together.  While several pools are busy, each
# has its turn: this share of the time waited so far, so that a result is late by as
# much and looks get rarer; and so many seconds at least.
_SHARE, _SHORTEST = 0.02, 0.001


class MixedSteps(Steps):
    """Steps of the environments of several families.

    Parameters
    ----------
    engine : roll_vec.mixed.engine.MixedEngine
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.parts: list[Steps] = [part.make_steps() for part in engine.engines]
        # By family: the environments whose results have not arrived.
        self._counts = [0] * len(self.parts)

    def begin(
        self, actions: Mapping[int, Any], resets: Mapping[int, ResetCall]
    ) -> None:
        """Begin steps and resets; see `Steps.begin`."""
        both = self._engine.split(actions), self._engine.split(resets)
        for k in sorted({*both[0], *both[1]}):
            local_actions, local_resets = (one.get(k, {}) for one in both)
            self._counts[k] += len(local_actions) + len(local_resets)
            self.parts[k].begin(local_actions, local_resets)

    def clear(self) -> None:
        """Forget everything that was begun."""
        self._counts = [0] * len(self.parts)
        for part in self.parts:
            part.clear()

    def poll(self, timeout: float | None, count: int = 1) -> Results:
        """Return the results of stacked families, or those that are there of pools."""
        stacked = [k for k, part in enumerate(self.parts) if type(part) is CalledSteps]
        due = [k for k in stacked if self._counts[k]]
        results = [result for k in due for result in self._poll(k, 0.0)]
        start = time.monotonic()
        end = math.inf if timeout is None else start + timeout
        while not results:
            busy = [k for k, count in enumerate(self._counts) if count]
            for k in busy:
                now, turn = time.monotonic(), math.inf
                if len(busy) > 1:
                    turn = max(_SHARE * (now - start), _SHORTEST)
                patience = 0.0 if results else max(min(turn, end - now), 0.0)
                limit = None if patience == math.inf else patience
                results += self._poll(k, limit, count)
            if not busy or time.monotonic() >= end:
                break
        return results

    def _poll(self, k: int, timeout: float | None, count: int = 1) -> Results:
        results = self._engine.call_part(k, self.parts[k].poll, timeout, count)
        self._counts[k] -= len(results)
        start = self._engine.starts[k]
        family = {"family": self._engine.family_names[start]}
        return [
            (start + env_id, result._replace(info={**result.info, **family}))
            for env_id, result in results
        ]
