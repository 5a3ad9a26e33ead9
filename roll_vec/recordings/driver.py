"""The loop that resets and steps a batch, for all that plays episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.recordings.events import BatchEvent, EventStream
from roll_vec.registration.any_id import mode_of


class Reset(NamedTuple):
    """A call of `reset`.

    Attributes
    ----------
    mask : (N,) bool or None
        The environments that begin an episode; None: all.  The first reset of a batch
        is one of all environments: those outside the mask then wait.
    seed : any
        As of ``envs.reset``.
    """

    mask: NDArray[np.bool_] | None = None
    seed: Any = None


class Step(NamedTuple):
    """A call of `step`.

    Attributes
    ----------
    actions : batch
    mask : (N,) bool or None
        In ``Disabled`` mode: the environments whose episodes go on; those of the others
        go no further.  None: all that have one.
    """

    actions: Any
    mask: NDArray[np.bool_] | None = None


Choose: TypeAlias = Callable[[BatchEvent | None], Reset | Step | None]
"""From the last event, None at first, to the next call; None: there is none."""


def play_steps(envs: Any, choose: Choose) -> Iterator[BatchEvent]:
    """Reset and step a batch, and yield the event of each call.

    Parameters
    ----------
    envs : VectorEnv
        In any autoreset mode.  It is left open.  In ``Disabled`` mode environments
        without an episode wait while others step; a batch of this package can do so.
    choose : callable
        See `Choose`.  It is called after the last event was used, so that it may change
        the observations.
    """
    mode = mode_of(envs)
    stream = EventStream(envs.num_envs, mode)
    event: BatchEvent | None = None
    while (call := choose(event)) is not None:
        if isinstance(call, Reset):
            mask = call.mask
            options = None if event is None or mask is None else {"reset_mask": mask}
            observations, infos = envs.reset(seed=call.seed, options=options)
            event = stream.add_reset(observations, infos, mask)
        else:
            if call.mask is not None:
                stream.stop_others(call.mask)
            running = stream.is_running
            if mode is not AutoresetMode.DISABLED or running.all():
                results = envs.step(call.actions)
            else:
                results = envs._step_some(call.actions, running)
            event = stream.add_step(call.actions, *results)
        yield event
