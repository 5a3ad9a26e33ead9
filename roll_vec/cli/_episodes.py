"""Stepping a vector environment and keeping account of its episodes.

The loop works for any gymnasium vector environment in any autoreset mode. Its
bookkeeping is a few array operations a step, whatever the number of environments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from roll_vec.cli._environments import mode_of
from roll_vec.cli._transcript import Transcript

__all__ = ["Episodes", "Rollout", "roll_out"]

Vector: TypeAlias = VectorEnv[Any, Any, Any]

UNKNOWN = -1


@dataclass(frozen=True)
class Episodes:
    """The episodes that ended, in the order of their ends; arrays of one length."""

    env_index: NDArray[np.int64]
    """Which environment of the vector."""
    returns: NDArray[np.float64]
    """Sum of the rewards."""
    lengths: NDArray[np.int64]
    """Steps."""
    success: NDArray[np.int8]
    """1 or 0 as the environment says at the last step; -1 where it does not say."""
    terminated: NDArray[np.bool_]
    """Ended by the rules."""
    truncated: NDArray[np.bool_]
    """Cut off by a limit; both may hold."""

    def __len__(self) -> int:
        return len(self.env_index)


@dataclass(frozen=True)
class Rollout:
    """What a rollout did and how long it took."""

    episodes: Episodes
    env_steps: int
    """Steps of single environments; the autoresets of next-step mode are none."""
    startup_seconds: float
    """Time of the first reset and step, which may include compilation."""
    timed_env_steps: int
    """Steps of single environments after the first step of the vector."""
    timed_seconds: float
    """Time of those, policy and bookkeeping included."""
    steps: int
    """Steps of the vector."""
    is_interrupted: bool = False
    """Whether Ctrl-C ended it before all steps were made."""
    faults: int = 0
    """Episodes that ended because an environment of a pool failed."""
    first_error: str | None = None
    """The error of the first environment that failed; None: none did."""

    @property
    def steps_per_second(self) -> float | None:
        """Rate after the first step; None where there was but one."""
        if self.timed_seconds <= 0 or self.timed_env_steps == 0:
            return None
        return self.timed_env_steps / self.timed_seconds


def roll_out(
    env: Vector,
    policy: Callable[[Any], Any],
    *,
    steps: int,
    seed: int,
    on_progress: Callable[[int, int, float], None] | None = None,
    interval: float = 0.1,
    transcript: Transcript | None = None,
) -> Rollout:
    """Reset with a seed, step `steps` times and account for the episodes that end.

    Parameters
    ----------
    env : VectorEnv
        Left open, in the state after the last step.
    policy : callable
        From observations to actions.
    steps : int
        Steps of the vector, at least 1.
    seed : int
    on_progress : callable, optional
        Called with the steps done, the environment steps that are timed so far and
        their seconds; after the first step, the last one, and between them when
        `interval` has passed.
    interval : float, default 0.1
        Seconds between two calls of `on_progress`.
    transcript : Transcript, optional
        Is shown what the environments of its rows observed, did and earned.

    Returns
    -------
    Rollout
        Upon Ctrl-C, what was done until then.
    """
    # Without an autoreset the finished environments are reset here, by mask.
    disabled = mode_of(env) is AutoresetMode.DISABLED
    ledger = _Ledger(env)
    begin = first_end = now = perf_counter()
    done = first_steps = 0
    next_report = 0.0
    is_interrupted = False
    try:
        observations, _ = env.reset(seed=seed)
        first_end = now = perf_counter()
        while done < steps:
            actions = policy(observations)
            seen, resetting = observations, ledger.resetting
            observations, rewards, terminations, truncations, infos = env.step(actions)
            if transcript is not None:
                transcript.add(seen, actions, rewards, resetting)
            finished = ledger.add(rewards, terminations, truncations, infos)
            done += 1
            if disabled and finished is not None and done < steps:
                observations, _ = env.reset(options={"reset_mask": finished})
            now = perf_counter()
            if done == 1:
                first_end, first_steps = now, ledger.env_steps
            if on_progress is not None and (now >= next_report or done == steps):
                on_progress(done, ledger.env_steps - first_steps, now - first_end)
                next_report = now + interval
    except KeyboardInterrupt:
        is_interrupted = True
        if done == 0:
            first_end = now = perf_counter()
    return Rollout(
        episodes=ledger.episodes(),
        env_steps=ledger.env_steps,
        startup_seconds=first_end - begin,
        timed_env_steps=ledger.env_steps - first_steps,
        timed_seconds=now - first_end,
        steps=done,
        is_interrupted=is_interrupted,
        faults=ledger.faults,
        first_error=ledger.first_error,
    )


class _Ledger:
    """Running returns and lengths of N environments, and the episodes that ended."""

    def __init__(self, env: Vector) -> None:
        self.env_steps = 0
        self._env = env
        mode = mode_of(env)
        self._next_step = mode is AutoresetMode.NEXT_STEP
        self._same_step = mode is AutoresetMode.SAME_STEP
        self._returns = np.zeros(env.num_envs)
        self._lengths = np.zeros(env.num_envs, dtype=np.int64)
        self.faults = 0
        self.first_error: str | None = None
        self._is_pool = hasattr(env.unwrapped, "faults")
        # In next-step mode: what ended last step, and is only reset by this one.
        self.resetting: NDArray[np.bool_] | None = None
        self._chunks: list[Episodes] = []

    def add(
        self,
        rewards: NDArray[Any],
        terminations: NDArray[np.bool_],
        truncations: NDArray[np.bool_],
        infos: Mapping[str, Any],
    ) -> NDArray[np.bool_] | None:
        """Account for one step; return the (N,) mask of those that ended, or None."""
        if self.resetting is None:
            self._returns += rewards
            self._lengths += 1
            self.env_steps += self._env.num_envs
        else:
            playing = ~self.resetting
            np.add(self._returns, rewards, out=self._returns, where=playing)
            self._lengths += playing
            self.env_steps += int(np.count_nonzero(playing))
        finished = terminations | truncations
        if self._is_pool:
            self._add_faults(infos, finished)
        ended = np.flatnonzero(finished)
        if not ended.size:
            self.resetting = None
            return None
        self._chunks.append(
            Episodes(
                env_index=ended,
                returns=self._returns[ended],
                lengths=self._lengths[ended],
                success=self._success(infos, ended),
                terminated=terminations[ended],
                truncated=truncations[ended],
            )
        )
        self._returns[ended] = 0.0
        self._lengths[ended] = 0
        self.resetting = finished if self._next_step else None
        return finished

    def episodes(self) -> Episodes:
        """Return all that ended so far."""
        empty = Episodes(
            env_index=np.empty(0, dtype=np.int64),
            returns=np.empty(0),
            lengths=np.empty(0, dtype=np.int64),
            success=np.empty(0, dtype=np.int8),
            terminated=np.empty(0, dtype=np.bool_),
            truncated=np.empty(0, dtype=np.bool_),
        )
        # The empty chunk fixes the dtypes, also where nothing ended.
        chunks = [empty, *self._chunks]
        columns = {
            field.name: np.concatenate([getattr(chunk, field.name) for chunk in chunks])
            for field in fields(Episodes)
        }
        return Episodes(**columns)

    def _success(
        self, infos: Mapping[str, Any], ended: NDArray[np.intp]
    ) -> NDArray[np.int8]:
        """Return 1, 0 or UNKNOWN for each environment that ended in this step."""
        success = np.full(ended.size, UNKNOWN, dtype=np.int8)
        if self._same_step:
            # The plain keys are those of the reset that followed.
            infos = infos.get("final_info", {})
        if "success" in infos:
            values = np.asarray(infos["success"])[ended]
            known = infos.get("_success")
            if known is None:
                success[:] = values.astype(np.bool_)
            else:
                said = np.asarray(known)[ended]
                success[said] = values[said].astype(np.bool_)
        elif not self._is_pool:
            # FrozenLake's infos are Gymnasium's, which do not say.
            last_step = getattr(self._env.unwrapped, "successes", None)
            if last_step is not None:
                success[:] = np.asarray(last_step)[ended]
        return success

    def _add_faults(
        self, infos: Mapping[str, Any], finished: NDArray[np.bool_]
    ) -> None:
        """Count episodes that a fault ended, and keep the first message."""
        for layout in (infos.get("final_info", {}), infos):
            if "_error" not in layout:
                continue
            failed = np.asarray(layout["_error"])
            if layout is not infos or not self._same_step:
                # The plain keys of same-step mode are those of resets.
                self.faults += int(np.count_nonzero(failed & finished))
            if self.first_error is None and failed.any():
                self.first_error = str(layout["error"][failed.argmax()])
