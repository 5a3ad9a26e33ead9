"""Step a vector environment with planned actions, and cut the calls into episodes.

A trajectory is the list of one environment's resets and steps.  The three autoreset
modes spread it differently over calls; the trajectory itself must be the same in every
mode, in batches of any size, and whatever happens to the other environments.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from roll_vec.testing.comparison import (
    UNKNOWN,
    batch,
    difference,
    info_of,
    observation_of,
    show,
    snapshot,
    without_keys,
)
from roll_vec.testing.errors import CallFailed

# Infos of the episodes that a step has ended, in SAME_STEP mode.
FINAL_KEYS = ("final_obs", "_final_obs", "final_info", "_final_info")
# Added to the number of a sequence; sequences are numbered from 0, one an environment.
IGNORED_OFFSET = 1_000


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


class Probe:
    """A vector environment whose failing calls say which calls led there.

    Parameters
    ----------
    env : VectorEnv
        The environment under test.
    origin : str
        The call that made it, as a user would write it.
    num_envs : int
        The number of environments that was asked for.
    """

    def __init__(
        self, env: VectorEnv[Any, Any, Any], origin: str, num_envs: int
    ) -> None:
        # Its results are under test: annotations must not be trusted.
        self.env: Any = env
        self.origin, self.num_envs = origin, num_envs
        self._resets: list[str] = []
        self._steps = 0

    def describe(self, then: str = "") -> str:
        """Return the calls so far, and `then`, as one line."""
        calls = [self.origin, *self._resets]
        if self._steps:
            calls.append(f"{self._steps} step{'s' if self._steps > 1 else ''}")
        if then:
            calls.append(then)
        return "; ".join(calls)

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Reset; a result that is not a pair with a dict is a `CallFailed`."""
        arguments = ", ".join(f"{key}={show(value)}" for key, value in kwargs.items())
        call = f"reset({arguments})"
        did = self.describe(call)
        # The first reset and the last two calls tell enough.
        if self._steps:
            self._resets.append(f"{self._steps} steps")
            self._steps = 0
        if len(self._resets) > 5:
            self._resets[1:] = ["…", *self._resets[-3:]]
        self._resets.append(call)
        observations, infos = self._call(2, did, self.env.reset, **kwargs)
        return observations, infos

    def step(self, actions: Any) -> Any:
        """Step; anything but five values with a dict at the end is a `CallFailed`."""
        did = self.describe("step(actions)")
        self._steps += 1
        return self._call(5, did, self.env.step, actions)

    def refuses(self, actions: Any) -> bool:
        """Return whether stepping with `actions` raises."""
        try:
            self.env.step(actions)
        except Exception:
            return True
        return False

    def _call(
        self, length: int, did: str, function: Callable[..., Any], *args: Any, **kw: Any
    ) -> Any:
        """Call a function that returns a tuple of this length, a dict at its end."""
        try:
            result = function(*args, **kw)
        except Exception as error:
            raise CallFailed(did, error) from error
        if (
            not isinstance(result, tuple)
            or len(result) != length
            or not isinstance(result[-1], dict)
        ):
            raise CallFailed(did, TypeError(f"it returned {show(result)}"))
        return result


@dataclass(eq=False)
class Call:
    """One call of reset or step, and a copy of its results.

    Parameters
    ----------
    did : str
        All calls up to this one, for the report.
    starts : (num_envs,) bool
        The environments whose episode starts in the call, which does nothing else.
    observations, rewards, terminations, truncations, infos
        Of a reset, the first and the last.
    kwargs, actions
        The arguments of a reset, of a step.
    """

    did: str
    starts: NDArray[np.bool_]
    observations: Any
    rewards: Any = None
    terminations: Any = None
    truncations: Any = None
    infos: dict[str, Any] = field(default_factory=dict)
    kwargs: dict[str, Any] = field(default_factory=dict)
    actions: Any = None

    @property
    def is_step(self) -> bool:
        """True for a call of step."""
        return self.rewards is not None

    @property
    def dones(self) -> NDArray[np.bool_]:
        """Mask of the environments whose episode ended in the call, (num_envs,)."""
        if not self.is_step:
            return np.zeros(len(self.starts), dtype=np.bool_)
        dones: NDArray[np.bool_] = np.logical_or(self.terminations, self.truncations)
        return dones

    def results(self) -> dict[str, Any]:
        """Return the two or five values that the call returned, by name."""
        names = ["observations", "rewards", "terminations", "truncations", "infos"]
        if not self.is_step:
            names = ["observations", "infos"]
        return {name: getattr(self, name) for name in names}

    def difference(self, other: Call) -> str | None:
        """Describe the first difference between the results of two calls."""
        others = other.results()
        for name, value in self.results().items():
            diff = difference(value, others.get(name), name)
            if diff is not None:
                return diff
        return None


@dataclass(eq=False)
class Recorder:
    """Steps one vector environment by a plan and records every call.

    Parameters
    ----------
    probe : Probe
        The environment.
    mode : AutoresetMode
        Its autoreset mode.
    plan : ActionPlan
    sequences : sequence of int
        The number of each environment's sequence of actions.
    on_result : callable, optional
        Called after each call with the result and the actions themselves, once both
        have been copied.
    ignored_offset : int, optional
        Added to the sequence of an environment whose action is to be ignored.
    texts_as_list : bool, optional
        Pass a batch that is a tuple, such as texts, as a list, which can be changed.

    Attributes
    ----------
    calls : list of Call
    reset_pending : (num_envs,) bool
        The environments that the next step only resets (NEXT_STEP).
    """

    probe: Probe
    mode: AutoresetMode
    plan: ActionPlan
    sequences: Sequence[int]
    on_result: Callable[[tuple[Any, ...], Any], None] | None = None
    ignored_offset: int = 0
    texts_as_list: bool = False

    def __post_init__(self) -> None:
        self.calls: list[Call] = []
        # Number of actions that each environment has taken from its sequence.
        self._positions = [0] * len(self.sequences)
        self.reset_pending = np.zeros(len(self.sequences), dtype=np.bool_)

    def reset(self, **kwargs: Any) -> Call:
        """Reset; `kwargs` are those of VectorEnv.reset."""
        mask = (kwargs.get("options") or {}).get("reset_mask")
        starts = np.ones(len(self.sequences), bool) if mask is None else mask.copy()
        kwargs_copy = snapshot(kwargs)
        result = self.probe.reset(**kwargs)
        self.reset_pending &= ~starts
        call = _reset_call(self.probe, starts, snapshot(result))
        call.kwargs = kwargs_copy
        return self._record(call, result, None)

    def next_actions(self) -> Any:
        """Return the batch of actions that the next step will take."""
        offsets = self.ignored_offset * self.reset_pending
        sequences = np.add(self.sequences, offsets).tolist()
        pairs = zip(sequences, self._positions, strict=True)
        actions = batch(self.plan.space, [self.plan.action(*pair) for pair in pairs])
        is_tuple = self.texts_as_list and type(actions) is tuple
        return list(actions) if is_tuple else actions

    def step(self) -> Call:
        """Take the next planned step of every environment."""
        actions = self.next_actions()
        actions_copy = snapshot(actions)
        result = self.probe.step(actions)
        for env in np.flatnonzero(~self.reset_pending):
            self._positions[env] += 1
        did, starts = self.probe.describe(), self.reset_pending.copy()
        call = Call(did, starts, *snapshot(result))
        call.actions = actions_copy
        if self.mode is AutoresetMode.NEXT_STEP:
            self.reset_pending = call.dones
        return self._record(call, result, actions)

    def _record(self, call: Call, result: tuple[Any, ...], actions: Any) -> Call:
        self.calls.append(call)
        if self.on_result is not None:
            self.on_result(result, actions)
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


def first_difference(
    left: Sequence[Call], right: Sequence[Call]
) -> tuple[Call, str] | None:
    """Compare two runs, up to the end of the shorter one.

    Returns
    -------
    tuple of Call and str, or None
        The first call of `right` whose results differ, and the difference.
    """
    for one, other in zip(left, right, strict=False):
        diff = one.difference(other)
        if diff is not None:
            return other, diff
    return None


def replay(probe: Probe, calls: Sequence[Call]) -> Iterator[tuple[Call, str | None]]:
    """Make `calls` again; yield each with the difference of its new results, or None.

    The caller may use the environment between two calls.
    """
    for call in calls:
        if call.is_step:
            results = probe.step(snapshot(call.actions))
            again = Call(probe.describe(), call.starts, *results)
        else:
            results = probe.reset(**snapshot(call.kwargs))
            again = _reset_call(probe, call.starts, results)
        yield call, call.difference(again)


def _reset_call(probe: Probe, starts: NDArray[np.bool_], results: Any) -> Call:
    return Call(probe.describe(), starts, results[0], infos=results[1])


# ------------------------------------------------------------------------- episodes


@dataclass(frozen=True)
class Transition:
    """One reset or one step of one environment.

    Parameters
    ----------
    kind : {"reset", "step"}
    did : str
        The calls up to the one that it comes from.
    """

    kind: str
    did: str
    observation: Any
    info: Any
    reward: Any = UNKNOWN
    terminated: Any = UNKNOWN
    truncated: Any = UNKNOWN


def trajectories(
    recorder: Recorder, space: spaces.Space[Any]
) -> list[list[Transition]]:
    """Return the trajectory of each environment, over all recorded calls.

    Parameters
    ----------
    recorder : Recorder
    space : Space
        The observation space of a single environment.
    """
    return [
        [
            transition
            for call in recorder.calls
            for transition in _transitions(call, recorder.mode, space, env)
        ]
        for env in range(len(recorder.sequences))
    ]


def _transitions(
    call: Call, mode: AutoresetMode, space: spaces.Space[Any], env: int
) -> list[Transition]:
    count = len(call.starts)
    if not call.is_step and not call.starts[env]:
        return []
    observation = observation_of(space, call.observations, env)
    if call.starts[env]:
        info = info_of(call.infos, env, count)
        return [Transition("reset", call.did, observation, info)]
    plain = {k: v for k, v in call.infos.items() if k not in FINAL_KEYS}
    info = info_of(plain, env, count)
    outcome = (call.rewards[env], call.terminations[env], call.truncations[env])
    if not (mode is AutoresetMode.SAME_STEP and call.dones[env]):
        return [Transition("step", call.did, observation, info, *outcome)]
    # Missing finals are the business of the checks of final_obs and final_info.
    final_obs, final_info = call.infos.get("final_obs"), call.infos.get("final_info")
    last = final_obs[env] if final_obs is not None else UNKNOWN
    last_info: Any = UNKNOWN
    if isinstance(final_info, dict):
        last_info = info_of(final_info, env, count)
    return [
        Transition("step", call.did, last, last_info, *outcome),
        Transition("reset", call.did, observation, info),
    ]


def trajectory_difference(
    left: Sequence[Transition],
    right: Sequence[Transition],
    ignored_keys: frozenset[tuple[str, ...]],
) -> tuple[int, str] | None:
    """Compare two trajectories of one environment, up to the end of the shorter one.

    Parameters
    ----------
    left, right : sequence of Transition
    ignored_keys : frozenset of tuple of str
        Paths of info keys to leave out.

    Returns
    -------
    tuple of int and str, or None
        The position and a description of the first difference.
    """
    for position, (one, other) in enumerate(zip(left, right, strict=False)):
        diff = _transition_difference(one, other, ignored_keys)
        if diff is not None:
            return position, diff
    return None


def _transition_difference(
    one: Transition, other: Transition, ignored_keys: frozenset[tuple[str, ...]]
) -> str | None:
    if one.kind != other.kind:
        return f"a {one.kind} against a {other.kind}"
    for name in ("observation", "reward", "terminated", "truncated"):
        diff = difference(getattr(one, name), getattr(other, name), name)
        if diff is not None:
            return diff
    left, right = one.info, other.info
    if isinstance(left, dict) and isinstance(right, dict):
        return difference(
            without_keys(left, ignored_keys), without_keys(right, ignored_keys), "info"
        )
    return None
