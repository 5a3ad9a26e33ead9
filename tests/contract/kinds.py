"""Every kind of batch, for scenarios that are the same for all kinds."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import cloudpickle
import gymnasium

import roll_vec
from roll_vec import PoolVectorEnv
from tests.contract import cases
from tests.contract.cases import CASES
from tests.contract.rules import FAMILIES, register_families
from tests.pool import snapshot_envs
from tests.pool.cases import PROCESSES, THREADS, values_of
from tests.pool.cases import draw_actions as draw_spaces
from tests.pool.envs import Drifter, Talker

N = 6
TALKER = "tests_scenarios/Talker-v0"
# Actions of which some are faults.
SENTENCES = ("a", "b c", "", "fault:raise", "ü\n")


COPIES = {
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "oldest pickle": lambda env: pickle.loads(pickle.dumps(env, protocol=2)),
    "cloudpickle": lambda env: cloudpickle.loads(cloudpickle.dumps(env)),
    "deepcopy": copy.deepcopy,
}


class Fragile(Talker):
    """A `Talker` that is told to fail now and then."""

    def __init__(self):
        super().__init__()
        self.action_space.examples = SENTENCES


class FragileWithStates(snapshot_envs.Stateful):
    """The same, with plain states."""

    def __init__(self):
        super().__init__()
        self.action_space.examples = SENTENCES


def register_kinds() -> None:
    """Register the ids of talkers, and of a user's rules."""
    roll_vec.register(TALKER, Fragile)
    register_families()


class Kind(NamedTuple):
    """A kind of batch.

    Parameters
    ----------
    make : callable
        Takes a number of environments and keywords.
    make_local : callable or None
        The same without workers or shards; None: `make` has none.
    is_exact : bool
        Whether equal states have equal bytes; those of pickles have not.
    copies : tuple of str
        The ways to copy it, of `COPIES`.
    env_fn : callable or None
        Makes one of its objects; None where random actions are faults.
    """

    make: Callable[..., Any]
    make_local: Callable[..., Any] | None = None
    is_exact: bool = True
    copies: tuple[str, ...] = ("pickle", "oldest pickle", "cloudpickle", "deepcopy")
    env_fn: Any = None

    def local(self, num_envs: int, **keywords: Any) -> Any:
        return (self.make_local or self.make)(num_envs, **keywords)


def case(name: str) -> Kind:
    """Return a case of the contract; the pools beside it have no workers."""
    make, local = (
        functools.partial(cases.make_batch, each)
        for each in (name, name.partition(" in ")[0])
    )
    return Kind(make, local, is_exact="Lamps" not in name and "Guess" not in name)


def objects(env_fn: Any, is_exact: bool, copies: Any = None, **workers: Any) -> Kind:
    """Return a pool of a user's objects; None: they can be copied in all ways."""

    def make(num_envs, **keywords):
        return PoolVectorEnv([env_fn] * num_envs, **workers, **keywords)

    def make_local(num_envs, **keywords):
        return PoolVectorEnv([env_fn] * num_envs, **keywords)

    is_fragile = env_fn in (Fragile, FragileWithStates)
    kind = Kind(make, make_local, is_exact=is_exact)
    kind = kind if is_fragile else kind._replace(env_fn=env_fn)
    return kind if copies is None else kind._replace(copies=copies)


def rules(id: str) -> Kind:
    """Return batches of a user's `ArrayEnv`."""
    make = functools.partial(roll_vec.make_vec, id)
    return Kind(functools.partial(make, num_threads=2), make)


RULES = {id: rules(id) for id in FAMILIES}


KINDS = {
    **{name: case(name) for name in CASES},
    "processes": case("tests_vector/Lamps-v0 in processes"),
    **RULES,
}


def cart_pole():
    """Return an environment in Gymnasium's wrappers that knows nothing of roll_vec."""
    return gymnasium.make("CartPole-v1", max_episode_steps=7)


# Pools of a user's objects, one for each way to keep a state; and any spaces.
OBJECTS = {
    "plain": objects(FragileWithStates, True, ()),
    "plain in processes": objects(FragileWithStates, True, (), **PROCESSES),
    "plain in wrappers": objects(snapshot_envs.wrapped_countdown, True, **THREADS),
    "plain without a step": objects(snapshot_envs.noop_counter, True, **THREADS),
    "plain without streams": objects(snapshot_envs.Slippery, True, **PROCESSES),
    "EzPickle with states": objects(snapshot_envs.Remembering, True, (), **THREADS),
    "pickled states": objects(snapshot_envs.HalfStateful, False, (), **PROCESSES),
    "in a strange wrapper": objects(snapshot_envs.half_reward, False, **THREADS),
    "pickled": objects(Fragile, False, **THREADS),
    "pickled in processes": objects(Fragile, False, **PROCESSES),
    "reusing arrays": objects(
        functools.partial(Drifter, "box", reuses=True), False, **THREADS
    ),
    "reusing in processes": objects(
        functools.partial(Drifter, "box", reuses=True), False, **PROCESSES
    ),
    "dict": objects(functools.partial(Drifter, "dict", reuses=True), False, **THREADS),
    "tuple": objects(functools.partial(Drifter, "tuple"), False, **THREADS),
    "CartPole": objects(cart_pole, False, **THREADS),
}
ALL = {**KINDS, **OBJECTS}
# And the cases that differ from these in their games alone.
WALKED = {**ALL, **{name: case(name) for name in cases.ALL_CASES if name not in ALL}}


def draw(env: Any, steps: int, seed: int) -> list[Any]:
    """Return batches of random actions for any space; some are faults."""
    space = env.single_action_space
    kinds = {
        gymnasium.spaces.Box: "box",
        gymnasium.spaces.Dict: "dict",
        gymnasium.spaces.MultiDiscrete: "tuple",
    }
    if type(space) in kinds:
        return draw_spaces(kinds[type(space)], env.num_envs, steps, seed)
    return list(cases.draw_actions(env, steps, seed))


def part_of(batch: Any, env_ids: Any) -> Any:
    """Return the actions of some environments."""
    if isinstance(batch, dict):
        return {key: value[env_ids] for key, value in batch.items()}
    return batch[env_ids]


def results_of(result: Any, env_ids: Any) -> Any:
    """Return the results of some environments, without what batches add to them."""
    values, infos = values_of(result, list(env_ids))
    for info in infos:
        for own in (info, info.get("final_info", {})):
            own.pop("env_id", None)
    return values, infos
