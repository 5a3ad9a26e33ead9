"""Play each episode of a split once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation.intervals import Interval, mean_interval, wilson_interval
from roll_vec.evaluation.splits import FREE_KEYWORDS, Split
from roll_vec.registration import ENVIRONMENTS
from roll_vec.seeding import fold_seed

__all__ = ["EpisodeResults", "Turn", "play_split"]

# Keywords in the spec of a batch that are not of its environments.
_BATCH_KEYWORDS = frozenset({"autoreset_mode", "num_envs", "vectorization_mode"})


@dataclass(frozen=True)
class Turn:
    """The arguments of a policy: a batch whose environments all wait for an action."""

    observations: Any
    """Of the whole batch."""
    episodes: NDArray[np.int64]
    """(num_envs,) the episode that each environment plays, by its number in the split.

    At the end of a split, environments without an episode play their last one again.
    """
    steps: NDArray[np.int64]
    """(num_envs,) the steps of these episodes so far."""

    def random_words(self, seed: int) -> NDArray[np.uint64]:
        """Return (num_envs,) uint64, each a function of seed, episode and step."""
        # Its import loads numba.
        from roll_vec.kernels.rng.pcg64 import fold_in_rows

        words = np.full(len(self.steps), fold_seed(seed), np.uint64)
        for counters in (self.episodes, self.steps):
            fold_in_rows(words.copy(), counters.astype(np.uint64), words)
        return words


@dataclass(frozen=True)
class EpisodeResults:
    """The results of a policy on a split, in the order of its episodes."""

    returns: NDArray[np.float64]
    """(n,) sums of rewards."""
    successes: NDArray[np.bool_]
    """(n,) the environment's ``success`` at the last step."""
    lengths: NDArray[np.int64]
    """(n,) steps."""
    faults: NDArray[np.bool_]
    """(n,) True: the environment object of a pool failed, which ended the episode."""

    def success_rate(self) -> Interval:
        """Return the share of successes and its 95 % interval (Wilson)."""
        return wilson_interval(int(self.successes.sum()), len(self.successes))

    def mean_return(self) -> Interval:
        """Return the mean return and its 95 % interval (normal approximation)."""
        return mean_interval(self.returns)


def play_split(
    split: Split,
    envs: Any,
    policy: Callable[[Turn], Any],
    on_progress: Callable[[int], None] | None = None,
) -> EpisodeResults:
    """Play each episode of a split once, to its end.

    An environment whose episode ends begins the next one of the split.  So short
    episodes are not favoured, as they are where the first n ends of a batch are
    counted.  With a policy that treats environments independently the results do not
    depend on ``num_envs``.

    Parameters
    ----------
    split : Split
    envs : VectorEnv
        Of ``split.make_vec``.  It is left open.
    policy : callable
        From a `Turn` to actions.  A function of observations alone is
        ``lambda turn: function(turn.observations)``.
    on_progress : callable, optional
        Called with the number of episodes that have ended, after each step that ends
        some.

    Returns
    -------
    EpisodeResults

    Raises
    ------
    InvalidOptionError
        If the environments are not of this split, or not in ``Disabled`` mode.
    """
    _check_envs(split, envs)
    seeds = np.array(split.seeds, np.int64)
    total, num_envs = len(seeds), envs.num_envs
    results = EpisodeResults(
        np.zeros(total),
        np.zeros(total, np.bool_),
        np.zeros(total, np.int64),
        np.zeros(total, np.bool_),
    )
    num_started, num_ended = min(num_envs, total), 0
    episodes = np.minimum(np.arange(num_envs), total - 1)
    # Environments without an episode of their own step on, and are not counted.
    is_counted = np.arange(num_envs) < total
    returns, steps = np.zeros(num_envs), np.zeros(num_envs, np.int64)
    observations, _ = envs.reset(seed=seeds[episodes].tolist())
    while True:
        actions = policy(Turn(observations, episodes.copy(), steps.copy()))
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        returns += rewards
        steps += 1
        dones = terminations | truncations
        if not dones.any():
            continue
        env_ids = np.flatnonzero(dones & is_counted)
        played = episodes[env_ids]
        results.returns[played] = returns[env_ids]
        results.lengths[played] = steps[env_ids]
        results.successes[played] = envs.unwrapped.successes[env_ids]
        results.faults[played] = infos.get("_error", np.zeros(num_envs, bool))[env_ids]
        num_ended += len(env_ids)
        if on_progress is not None:
            on_progress(num_ended)
        if num_ended == total:
            return results
        count = min(len(env_ids), total - num_started)
        episodes[env_ids[:count]] = num_started + np.arange(count)
        is_counted[env_ids[count:]] = False
        num_started += count
        returns[dones], steps[dones] = 0.0, 0
        observations, _ = envs.reset(
            seed=seeds[episodes].tolist(), options={"reset_mask": dones}
        )


def _check_envs(split: Split, envs: Any) -> None:
    """Raise an error for environments of another task or autoreset mode."""
    mode = envs.metadata.get("autoreset_mode")
    if mode is not AutoresetMode.DISABLED:
        accepted = "environments in Disabled mode, as Split.make_vec makes them"
        raise InvalidOptionError.expected("envs", accepted, mode)
    id = None if envs.spec is None else envs.spec.id
    if id != split.id:
        raise InvalidOptionError.expected("envs", f"environments of {split.id}", id)
    registered = ENVIRONMENTS[split.id]
    task = {"max_episode_steps": registered.max_episode_steps, **registered.keywords}
    task |= split.keywords
    keywords = {
        name: value
        for name, value in {"max_episode_steps": None, **envs.spec.kwargs}.items()
        if name not in FREE_KEYWORDS | _BATCH_KEYWORDS
    }
    if keywords != task:
        accepted = f"environments with the keywords {task}"
        raise InvalidOptionError.expected("envs", accepted, keywords)
