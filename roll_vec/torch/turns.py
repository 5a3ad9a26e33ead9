"""`Turns`: batches that step in turns, so that network and environments overlap.

A graphics card works on what was queued while Python goes on::

    CPU     step A ─╮  step B ─╮  step A ─╮
    card   B ───────╯╰▶ A ─────╯╰▶ B ─────╯

One thread does it all: it waits for the actions of one batch only when the other one
has stepped and its network is queued.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from roll_vec.errors import InvalidActionError, InvalidOptionError, ResetNeededError
from roll_vec.options import check_int
from roll_vec.seeding import expand_seeds

_ARRAY_SPACES = (Box, Discrete, MultiBinary, MultiDiscrete)


class Turn(NamedTuple):
    """One step of one batch: what the policy saw and gave, and what came of it."""

    step: int
    """Of the call of `Turns.play`, from 0."""
    rows: slice
    """The environments, in the numbering of all batches together."""
    observations: torch.Tensor
    """What the policy saw, on the device."""
    output: Any
    """What the policy returned, the same object."""
    rewards: np.ndarray[Any, Any]
    terminations: np.ndarray[Any, Any]
    truncations: np.ndarray[Any, Any]
    infos: dict[str, Any]


def _check_batches(batches: Any) -> list[Any]:
    """Return the batches as a list, or raise InvalidOptionError."""
    accepted = "different batches of the same game, whose observations are arrays"
    members = list(batches) if isinstance(batches, Sequence) else []
    names = ("single_observation_space", "single_action_space")
    spaces = [[getattr(batch, name, None) for name in names] for batch in members]
    if (
        not members
        or len(set(map(id, members))) < len(members)
        or any(each != spaces[0] for each in spaces)
        or not isinstance(spaces[0][0], _ARRAY_SPACES)
    ):
        raise InvalidOptionError.expected("batches", accepted, batches)
    return members


class Turns:
    """Batches of the same game that step in turns.

    The results are those of one batch of all their environments: environment i has the
    number ``i`` of ``rows``, and the same seed.

    Parameters
    ----------
    batches : sequence of gymnasium.vector.VectorEnv
        Usually two, of half the environments each.  Their observations are arrays;
        with ``copy=False`` a step copies them once less.
    device : str or torch.device
        Of the observations that the policy gets.

    Attributes
    ----------
    num_envs : int
        Of all batches together.
    observations : list of tensors
        The last observations of each batch, on the device.
    """

    def __init__(self, batches: Sequence[Any], device: Any) -> None:
        self.batches = _check_batches(batches)
        self.device = torch.device(device)
        bounds = np.cumsum([0, *(batch.num_envs for batch in self.batches)]).tolist()
        self.num_envs: int = bounds[-1]
        self._rows = list(map(slice, bounds[:-1], bounds[1:]))
        self.observations: list[torch.Tensor] = []

    def reset(self, *, seed: Any = None) -> list[dict[str, Any]]:
        """Reset all batches; return the infos of each.

        Parameters
        ----------
        seed : int, sequence of ints, or None
            As of one batch of `num_envs` environments: environment i gets ``seed + i``,
            or ``seed[i]``.
        """
        seeds = expand_seeds(seed, self.num_envs)
        self.observations, observations, infos = [], [], []
        for batch, rows in zip(self.batches, self._rows, strict=True):
            first, info = batch.reset(seed=seeds[rows])
            observations.append(self._send(first))
            infos.append(info)
        self.observations = observations
        return infos

    def play(self, policy: Callable[[Any], Any], num_steps: int) -> Iterator[Turn]:
        """Take ``num_steps`` steps of every batch; yield each step of each batch.

        The order is step by step, and batch by batch within a step.  Afterwards
        `observations` has those after the last step.

        Parameters
        ----------
        policy : callable
            From the observations of a batch, on the device, to its actions, or to a
            tuple whose first item they are: a tensor (n, ...).
        num_steps : int
            At least 1.

        Raises
        ------
        ResetNeededError
            Before the first `reset`, and after one that failed.
        InvalidActionError
            The policy returned no tensor.
        """
        check_int("num_steps", num_steps, 1)
        if not self.observations:
            raise ResetNeededError("call reset first")
        return self._play(policy, num_steps)

    def _play(self, policy: Callable[[Any], Any], num_steps: int) -> Iterator[Turn]:
        waiting = [self._ask(policy, seen) for seen in self.observations]
        for step in range(num_steps):
            for k, (batch, rows) in enumerate(
                zip(self.batches, self._rows, strict=True)
            ):
                seen, (output, actions) = self.observations[k], waiting[k]
                observations, *results = batch.step(actions())
                self.observations[k] = self._send(observations)
                if step + 1 < num_steps:
                    waiting[k] = self._ask(policy, self.observations[k])
                yield Turn(step, rows, seen, output, *results)

    def close(self) -> None:
        """Close all batches."""
        for batch in self.batches:
            batch.close()

    def _send(self, array: np.ndarray[Any, Any]) -> torch.Tensor:
        """Queue the copy of an array to the device."""
        dtype = torch.from_numpy(np.empty(0, array.dtype)).dtype
        # PyTorch gives pinned memory out again only after its copies have ended.
        staged = torch.empty(array.shape, dtype=dtype, pin_memory=self._is_cuda)
        np.copyto(staged.numpy(), array)
        return staged.to(self.device, non_blocking=True)

    def _ask(self, policy: Any, seen: torch.Tensor) -> tuple[Any, Callable[[], Any]]:
        """Queue the policy; return its output, and what waits for the actions."""
        output = policy(seen)
        actions = output[0] if isinstance(output, tuple) and output else output
        if not isinstance(actions, torch.Tensor):
            accepted = "a tensor of actions from the policy, or a tuple that begins so"
            raise InvalidActionError.expected("actions", accepted, output)
        actions = actions.detach()
        if not self._is_cuda:
            # A copy: the policy may write its next actions into the same tensor.
            copied = actions.cpu().numpy().copy()
            return output, lambda: copied
        staged = torch.empty_like(actions, device="cpu", pin_memory=True)
        staged.copy_(actions, non_blocking=True)
        # The event comes before the networks that are queued later.
        is_here = torch.cuda.Event()
        is_here.record()

        def wait() -> Any:
            is_here.synchronize()
            return staged.numpy()

        return output, wait

    @property
    def _is_cuda(self) -> bool:
        return bool(self.device.type == "cuda")
