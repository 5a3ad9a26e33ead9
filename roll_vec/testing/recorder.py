"""Step a vector environment with planned actions, and cut the calls into episodes.

An episode list has one environment's resets and steps.  The three autoreset modes
spread them differently over calls; the list itself must be the same in every mode, in
batches of any size, and whatever happens to the other environments.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.testing.comparison import (
    UNKNOWN,
    batch,
    info_of,
    observation_of,
    show,
)
from roll_vec.testing.errors import CallFailed

# Infos of the episodes that a step has ended, in SAME_STEP mode.
FINAL_KEYS = ("final_obs", "_final_obs", "final_info", "_final_info")

_STEP = "step(actions)"
_OUTCOME = "rewards", "terminations", "truncations"
_UNKNOWNS = defaultdict[int, Any](lambda: UNKNOWN)
# Calls to name at the end of a long description.
_LAST_CALLS = 4


class ActionPlan:
    """One sequence of actions for every environment, independent of its batch.

    Action k of sequence i depends on the seed, i and k alone.  The same environment
    therefore gets the same actions in batches of any size and in any autoreset mode.
    """

    def __init__(self, space: spaces.Space[Any], seed: int) -> None:
        self.space = space
        self._seed = seed
        self._sequences: dict[int, tuple[spaces.Space[Any], list[Any]]] = {}

    def action(self, sequence: int, k: int) -> Any:
        """Return action k of a sequence."""
        if sequence not in self._sequences:
            entropy = np.random.SeedSequence([self._seed, sequence])
            space = copy.deepcopy(self.space)
            space.seed(int(entropy.generate_state(1)[0]))
            self._sequences[sequence] = (space, [])
        space, actions = self._sequences[sequence]
        while len(actions) <= k:
            actions.append(space.sample())
        return actions[k]

    def batch(self, sequences: Sequence[int], k: int = 0) -> Any:
        """Return action k of some sequences, as a batch of the batched space."""
        return batch(self.space, [self.action(sequence, k) for sequence in sequences])


@dataclass(eq=False)
class Call:
    """One call of reset or step, and a copy of its results.

    Parameters
    ----------
    recorder : Recorder
        Of the environment; `calls` of it has this one.
    text : str
        The call, as a user would write it.
    arguments : dict
        A copy of the arguments.
    starts : (num_envs,) bool
        The environments whose episode starts in the call, which does nothing else.
    results : dict
        A copy of the two or five values that it returned, by name.
    passed, returned : dict, tuple
        The arguments and the values themselves.
    """

    recorder: Recorder
    text: str
    arguments: dict[str, Any]
    starts: NDArray[np.bool_]
    results: dict[str, Any]
    passed: dict[str, Any]
    returned: tuple[Any, ...]

    @property
    def did(self) -> str:
        """All calls up to this one, for the report."""
        return self.recorder.describe(last=self)

    @property
    def is_step(self) -> bool:
        """True for a call of step."""
        return self.text == _STEP

    @property
    def observations(self) -> Any:
        """The batch of observations."""
        return self.results["observations"]

    @property
    def infos(self) -> dict[str, Any]:
        """The batch of infos."""
        infos: dict[str, Any] = self.results["infos"]
        return infos

    @property
    def dones(self) -> NDArray[np.bool_]:
        """Mask of the environments whose episode ended in the call, (num_envs,)."""
        if not self.is_step:
            return np.zeros(len(self.starts), dtype=np.bool_)
        flags = self.results["terminations"], self.results["truncations"]
        dones: NDArray[np.bool_] = np.logical_or(*flags)
        return dones


Transition: TypeAlias = tuple[Call, dict[str, Any]]
"""One reset or one step of one environment: the call, and its results by name."""


@dataclass(eq=False)
class Recorder:
    """Steps one vector environment by a plan and records every call.

    Parameters
    ----------
    env : VectorEnv
        The environment under test.  Annotations of its results must not be trusted.
    origin : str
        The call that made it, as a user would write it.
    mode : AutoresetMode
        Its autoreset mode.
    plan : ActionPlan
    sequences : sequence of int
        The number of each environment's sequence of actions.
    texts_as_list : bool, optional
        Pass a batch of texts as a list, which can be changed, not as a tuple.

    Attributes
    ----------
    calls : list of Call
    reset_pending : (num_envs,) bool
        The environments that the next step only resets (NEXT_STEP).
    """

    env: Any
    origin: str
    mode: AutoresetMode
    plan: ActionPlan
    sequences: Sequence[int]
    texts_as_list: bool = False
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Number of actions that each environment has taken from its sequence.
        self._positions = np.zeros(len(self.sequences), dtype=np.int64)
        self.reset_pending = np.zeros(len(self.sequences), dtype=np.bool_)

    def describe(self, *then: str, last: Call | None = None) -> str:
        """Return the calls up to `last`, or so far, and `then`, as one line."""
        count = len(self.calls) if last is None else self.calls.index(last) + 1
        texts = [self.origin]
        for text, group in groupby(call.text for call in self.calls[:count]):
            number = len([*group])
            if text == _STEP:
                texts.append(f"{number} step{'s' * (number > 1)}")
            else:
                texts += [text] * number
        # The first reset and the last calls tell enough.
        if len(texts) > 3 + _LAST_CALLS:
            texts[2:-_LAST_CALLS] = ["…"]
        return "; ".join([*texts, *then])

    def reset(self, **kwargs: Any) -> Call:
        """Reset; `kwargs` are those of VectorEnv.reset; see `make`."""
        return self.make(kwargs)

    def step(self, actions: Any = None) -> Call:
        """Step every environment, by the plan unless `actions` are given."""
        if actions is None:
            pairs = zip(self.sequences, self._positions.tolist(), strict=True)
            items = [self.plan.action(*pair) for pair in pairs]
            actions = batch(self.plan.space, items)
        return self.make({"actions": actions})

    def make(self, arguments: dict[str, Any]) -> Call:
        """Make a call, and record it.

        Parameters
        ----------
        arguments : dict
            With the key ``actions`` those of a step, otherwise of a reset.

        Raises
        ------
        CallFailed
            When the call raises, or returns another number of values.
        """
        text, starts = _STEP, self.reset_pending.copy()
        names: tuple[str, ...] = "observations", *_OUTCOME, "infos"
        is_step = "actions" in arguments
        if is_step and self.texts_as_list and type(arguments["actions"]) is tuple:
            arguments = {"actions": list(arguments["actions"])}
        if not is_step:
            texts = (f"{key}={show(value)}" for key, value in arguments.items())
            text, names = f"reset({', '.join(texts)})", ("observations", "infos")
            mask = (arguments.get("options") or {}).get("reset_mask")
            starts = np.ones(len(starts), np.bool_) if mask is None else mask.copy()
        before = copy.deepcopy(arguments)
        try:
            # Users may name the parameter of step as they like.
            result = (
                self.env.step(arguments["actions"])
                if is_step
                else self.env.reset(**arguments)
            )
            results = dict(zip(names, copy.deepcopy(result), strict=True))
        except Exception as error:
            raise CallFailed(self.describe(text), error) from error
        call = Call(self, text, before, starts, results, arguments, result)
        self.calls.append(call)
        self._positions += ~starts & is_step
        self.reset_pending = self.reset_pending & ~starts
        if self.mode is AutoresetMode.NEXT_STEP:
            self.reset_pending = self.reset_pending | call.dones
        return call

    def run(self, steps: int, *, explicit: bool = False) -> Recorder:
        """Take `steps` steps; in DISABLED mode reset the environments that ended.

        With `explicit`, reset them by mask in the other modes as well.
        """
        for _ in range(steps):
            dones = self.step().dones
            if dones.any() and (explicit or self.mode is AutoresetMode.DISABLED):
                self.reset(options={"reset_mask": dones.copy()})
        return self

    def transitions(
        self,
        calls: Sequence[Call],
        env: int,
        space: spaces.Space[Any],
        without: Set[tuple[str, ...]],
    ) -> Iterator[Transition]:
        """Yield the resets and steps of environment `env`.

        Parameters
        ----------
        calls : sequence of Call
            All that were recorded, or the last ones.
        env : int
        space : Space
            The observation space of a single environment.
        without : set of tuple of str
            Paths of info keys to leave out.
        """

        def results_of(call: Call, name: str, observation: Any, infos: Any) -> Any:
            values = call.results if name == "step" else {}
            outcome = {key: values.get(key, _UNKNOWNS)[env] for key in _OUTCOME}
            info = UNKNOWN
            if isinstance(infos, dict):
                info = info_of(infos, env, len(self.sequences), without)
            parts = {"transition": name, "observation": observation}
            return call, {**parts, **outcome, "info": info}

        for call in calls:
            if not (call.is_step or call.starts[env]):
                continue
            infos = {k: v for k, v in call.infos.items() if k not in FINAL_KEYS}
            now = observation_of(space, call.observations, env), infos
            is_replaced = self.mode is AutoresetMode.SAME_STEP and call.dones[env]
            if is_replaced:
                # Missing finals are the business of the check of final_obs.
                last = call.infos.get("final_obs", _UNKNOWNS)[env]
                yield results_of(call, "step", last, call.infos.get("final_info"))
            is_reset = is_replaced or call.starts[env]
            yield results_of(call, "reset" if is_reset else "step", *now)
