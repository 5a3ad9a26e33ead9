"""Small batches, play and comparison, for the tests of the vector contract."""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

import roll_vec
from roll_vec.errors import ResetNeededError
from roll_vec.registration import ENVIRONMENTS
from tests.conftest import JIT_OFF
from tests.contract.custom_envs import Guess, Lamps

NEXT_STEP, SAME_STEP, DISABLED = MODES = tuple(AutoresetMode)

OBS_MODES = ("position", "grid", "planes", "planes4", "tiny_rgb", "rgb", "text")

# Random play meets ends by the rules and by this limit, also both on one step.
LIMIT = 12


@dataclass(frozen=True)
class Case:
    """A kind of batch that keeps the contract.

    Parameters
    ----------
    id : str
    keywords : dict
        Of the environment: worlds that are small enough for random play.
    vector : dict
        Of the batch alone.
    limit : int
        Met by random play, as are ends by the rules.
    """

    id: str
    keywords: dict[str, Any] = field(default_factory=dict)
    vector: dict[str, Any] = field(default_factory=dict)
    limit: int = LIMIT


# Ids of a user's own, and where they come from.
CUSTOM_IDS = {"tests_vector/Guess-v0": Guess, "tests_vector/Lamps-v0": Lamps}

# Of each family one id stands for all in tests of what is the base's: another would
# compile the same once more.  tests/envs/test_minigrid.py plays them all.
REPRESENTATIVES = "roll_vec/MiniGrid-DoorKey-5x5-v0", "roll_vec/BabyAI-GoToRedBall-v0"
IDS = tuple(
    id
    for id, known in ENVIRONMENTS.items()
    if not known.family or id in REPRESENTATIVES
)
# For tests that compile; what BabyAI adds to the other one takes longest.
EACH_ID = [
    pytest.param(id, marks=[pytest.mark.slow] if id in REPRESENTATIVES[1:] else [])
    for id in IDS
]
_GAMES = {id: ENVIRONMENTS[id].load() for id in IDS if not ENVIRONMENTS[id].pooled}
# Games with a step that is written twice: each is a case by its own name.
ARRAY_IDS = tuple(id for id, game in _GAMES.items() if game.tuned_step is not None)
# The other ones are rules alone: what is derived from rules is tested with all rules.
GAME_IDS = tuple(id for id in _GAMES if id not in ARRAY_IDS)
# And those of this package that are pools.
POOLED_IDS = tuple(id for id in IDS if ENVIRONMENTS[id].pooled)
# All of this package: a game of rules has few ways of its own to fail.
ALL_IDS = [
    pytest.param(id, marks=[pytest.mark.slow] if id in GAME_IDS else []) for id in IDS
]
_SMALL: dict[str, dict[str, Any]] = {
    # Random play has 0, "no valid action", in it and means it.
    id: {"action_start": 1} if "action_start" in ENVIRONMENTS[id].defaults() else {}
    for id in ARRAY_IDS
}
_SMALL["roll_vec/Sokoban-v0"].update(dim_room=(5, 5), num_boxes=1)
_TEXT = {"obs_mode": "text", "action_mode": "text", "format_penalty": -0.25}
# So few tasks that an answer to one of them is now and then right.
TASKS = {"num_numbers": 2, "number_range": (1, 4), "target_range": (1, 9)}
# So few products, wanted without options, that an order is now and then right.
_SHOP = {"num_products": 3, "human_goals": True}
_THREADS: dict[str, Any] = {"workers": 2}
_PROCESSES: dict[str, Any] = {"workers": 2, "executor": "process"}
if JIT_OFF:
    # Wrap-around is silenced in the thread of the test alone.
    _THREADS = _PROCESSES = {"workers": 0}
_TABLE = {
    **{id: Case(id, _SMALL[id]) for id in ARRAY_IDS},
    **{
        f"{id} text": Case(id, {**_SMALL[id], **_TEXT})
        for id in ARRAY_IDS
        if id != "roll_vec/FrozenLake8x8-v1"
    },
    # Pools that need no case of their own.
    **{id: Case(id, limit=6) for id in POOLED_IDS},
    **{
        f"{id}{workers}": Case(id, keywords, vector, limit)
        for id, keywords, limit in (
            ("roll_vec/Countdown-v0", {**TASKS, "max_steps": 5}, 4),
            ("tests_vector/Guess-v0", {}, 6),
            ("tests_vector/Lamps-v0", {}, 6),
        )
        for workers, vector in (
            ("", {}),
            (" in threads", _THREADS),
            (" in processes", _PROCESSES),
        )
    },
    # What workers do is the pool's and no family's.
    "roll_vec/WebShop-v0": Case("roll_vec/WebShop-v0", _SHOP, limit=6),
}
# Of array ids that are acted in by text, and of pools.
TEXTS = tuple(name for name in _TABLE if name.endswith("text"))
PROCESSES = tuple(name for name in _TABLE if name.endswith("processes"))
POOLS = tuple(
    n for n, c in _TABLE.items() if c.id not in ARRAY_IDS and n not in PROCESSES
)
# All but processes, which take a while to start: for lockstep and the checker.
ALL_CASES = (*ARRAY_IDS, *TEXTS, *POOLS)
# One of each kind: levels and random streams, integers and texts, objects in the
# calling thread and in threads, observations of texts and of a Dict space.
CASES = (
    "roll_vec/Sokoban-v0",
    "roll_vec/FrozenLake-v1",
    "roll_vec/RandomFrozenLake-v0 text",
    "roll_vec/Countdown-v0",
    "tests_vector/Guess-v0 in threads",
    "tests_vector/Lamps-v0",
)
# Bad values are refused in code that arrays share, and in code that pools share.
ARRAY_AND_POOL = ("roll_vec/Sokoban-v0", "roll_vec/Countdown-v0")
ARRAY_CASES = CASES[:3]
# Those that differ in their single environments.
SINGLES = tuple(name for name in CASES if not _TABLE[name].vector)
# Those whose observations are texts.
TEXT_OBSERVATIONS = tuple(name for name in (*TEXTS, *POOLS) if "Lamps" not in name)
# Of different sizes and numbers of boxes.
_ROOMS = ["#####\n#@$.#\n#####", " ####\n##+ #\n# *$ #\n#.$  #\n######"]
_MAPS = [["SFF", "FHG"], ["SHF", "FFG"], ["FSF", "HFG"]]
_ANSWER = "<answer>(.*?)</answer>"
_INFOS = {"action_mask": True, "seed_info": True, "level_info": True}
_DEAD_ENDS = {"deadlock": True, "terminate_on_deadlock": True}
# Cases with keywords of their environments, for lockstep and unrolls.
VARIANTS = [
    ("roll_vec/Sokoban-v0", {"dim_room": (6, 7), "num_boxes": 3}),
    ("roll_vec/Sokoban-v0", {"max_steps": 5}),
    ("roll_vec/Sokoban-v0", {"max_steps": 7, "max_episode_steps": -1}),
    (
        "roll_vec/Sokoban-v0",
        {"dim_room": (6, 6), "dim_x": 7, "dim_y": 5, "num_gen_steps": 9},
    ),
    ("roll_vec/Sokoban-v0", {"levels": _ROOMS, "dim_room": (6, 6), "num_boxes": 3}),
    (
        "roll_vec/Sokoban-v0",
        {**_INFOS, "advantage_info": True, "num_levels": 4},
    ),
    ("roll_vec/Sokoban-v0", _DEAD_ENDS),
    (
        "roll_vec/Sokoban-v0 text",
        {"action_mask": True, "action_separator": "|", **_DEAD_ENDS},
    ),
    (
        "roll_vec/Sokoban-v0 text",
        {"action_pattern": f"<think>(.*?)</think>{_ANSWER}", "match": "last"},
    ),
    (
        "roll_vec/FrozenLake-v1 text",
        {
            "action_pattern": _ANSWER,
            "action_separator": "||",
            "max_actions_per_turn": 3,
            "advantage_info": True,
        },
    ),
    ("roll_vec/FrozenLake-v1", {"is_slippery": False, "reward_schedule": (5, -1, 0.1)}),
    ("roll_vec/FrozenLake-v1", {"desc": ["SSF", "FHG"], "success_rate": 0.9}),
    (
        "roll_vec/RandomFrozenLake-v0",
        {**_INFOS, "advantage_info": True},
    ),
    ("roll_vec/RandomFrozenLake-v0", {"levels": _MAPS, "start_level": 1}),
    (
        "roll_vec/RandomFrozenLake-v0",
        {"size": 6, "p": 0.7, "max_steps": 4, "max_episode_steps": -1},
    ),
    ("roll_vec/RandomFrozenLake-v0 text", {"num_levels": 5}),
    ("roll_vec/Countdown-v0", {"max_steps": 3, "max_episode_steps": None}),
    (
        "roll_vec/Countdown-v0",
        {"max_steps": 3, "format_penalty": -0.5, "advantage_info": True},
    ),
    ("roll_vec/Countdown-v0", {"action_pattern": "<answer>(.*?)</answer>"}),
    ("tests_vector/Lamps-v0", {"action_mode": "text", "action_separator": "|"}),
    ("roll_vec/FrozenLake-v1", {"success_rate": 0, "reward_schedule": (10, -1, -0.01)}),
    ("roll_vec/FrozenLake-v1", {"map_name": "8x8", "success_rate": 1.0}),
    ("roll_vec/FrozenLake-v1", {"desc": ["SHS", "FFF", "GFG"], "success_rate": 0.7}),
]


def register_custom_ids() -> None:
    """Register the ids of a user's own, unless they are."""
    for env_id, cls in CUSTOM_IDS.items():
        if env_id not in ENVIRONMENTS:
            roll_vec.register(env_id, cls)


def id_of(case: str) -> str:
    """Return the id that a case is made from; it is registered."""
    if _TABLE[case].id in CUSTOM_IDS:
        register_custom_ids()
    return _TABLE[case].id


def limit_of(case: str) -> int:
    """Return the step limit of a case."""
    return _TABLE[case].limit


def is_pooled(case: str) -> bool:
    """Return whether a case's batches are pools."""
    return _TABLE[case].id not in ARRAY_IDS


def single_keywords(case: str) -> dict[str, Any]:
    """Return the keywords of a case's single environment with their defaults.

    Without those that its class has no use for.
    """
    known = ENVIRONMENTS[id_of(case)]
    unused = {} if known.pooled else known.load()().unused_keywords
    return {name: each for name, each in known.defaults().items() if name not in unused}


def explicit_action_start(case: str) -> dict[str, Any]:
    """Return what says that 0 is played on purpose, where a case needs it."""
    return {"action_start": 1} if "action_start" in single_keywords(case) else {}


# Array ids in all that they can show.
VIEWS = tuple(
    (id, obs_mode)
    for id in ARRAY_IDS
    for obs_mode in OBS_MODES
    if obs_mode in ENVIRONMENTS[id].load().OBS_MODES
)
LEVEL_IDS = tuple(id for id in ARRAY_IDS if "num_levels" in single_keywords(id))
LEVELS = tuple(
    case
    for case in CASES
    if _TABLE[case].id not in CUSTOM_IDS and "num_levels" in single_keywords(case)
)


def keywords(case: str, **more: Any) -> dict[str, Any]:
    """Return the keywords of a small world with a short limit."""
    return {"max_episode_steps": limit_of(case), **_TABLE[case].keywords, **more}


def vector_keywords(case: str, **more: Any) -> dict[str, Any]:
    """Return the keywords of a batch of small worlds."""
    return {**_TABLE[case].vector, **keywords(case, **more)}


_made: weakref.WeakSet[Any] = weakref.WeakSet()


def make_batch(case: str, num_envs: int = 4, **more: Any) -> Any:
    """Return a native batch of small worlds."""
    own = vector_keywords(case, **more)
    env = gymnasium.make_vec(id_of(case), num_envs=num_envs, **own)
    _made.add(env)
    return env


def close_batches() -> None:
    """Close what `make_batch` made and is still there."""
    for env in list(_made):
        env.close()
    _made.clear()


def make_single(case: str, **more: Any) -> gymnasium.Env[Any, Any]:
    """Return one small world, as `gymnasium.make` gives it."""
    return gymnasium.make(id_of(case), **keywords(case, **more))


class FloatProb(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Gymnasium's environment with the same type of ``prob`` at a reset as at a step.

    Its integer at a reset turns 1/3 into 0 in the infos of a batch.
    """

    def reset(self, **keywords: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**keywords)
        return observation, info | {k: float(v) for k, v in info.items() if k == "prob"}


def make_sync(
    case: str, num_envs: int, autoreset_mode: AutoresetMode, **more: Any
) -> SyncVectorEnv:
    """Return Gymnasium's batch of the same worlds."""
    return SyncVectorEnv(
        [lambda: make_single(case, **more) for _ in range(num_envs)],
        autoreset_mode=autoreset_mode,
    )


def scale_steps(steps: int) -> int:
    """Return a number of steps or rows, cut where kernels run uncompiled."""
    return max(steps // 20, 20) if JIT_OFF else steps


def lowest_action(env: Any) -> Any:
    """Return the action that ends nothing from a start: "no valid action", or left."""
    space = env.unwrapped.single_action_space
    if isinstance(space, Text):
        return "nothing of use"
    return max(int(space.start) - 1, 0)


def draw_actions(env: Any, steps: int, seed: int = 0) -> np.ndarray:
    """Return (steps, num_envs) random actions, "no valid action" among them.

    Integers, or an object array of texts: good answers, bad ones, garbage, none.
    """
    shape = (steps, env.unwrapped.num_envs)
    rng = np.random.default_rng(seed)
    space = env.unwrapped.single_action_space
    if not isinstance(space, Text):
        low, high = lowest_action(env), int(space.start + space.n)
        return rng.integers(low, high, shape)
    return draw_texts(space, shape, rng)


def draw_texts(
    space: Any, shape: tuple[int, int], rng: np.random.Generator
) -> np.ndarray:
    """Return texts for a space, some of them actions."""
    useful = [*space.examples]
    if "25 * 4" in space.examples:
        useful = _answers() * 2 + useful
    elif "click[buy now]" in space.examples:
        useful = _orders() * 4 + useful
    said = np.array([*useful * 2, *GARBAGE], object)
    return said[rng.integers(len(said), size=shape)]


def one(env: Any, value: Any, row: int = 1) -> list[Any]:
    """Return a batch of good actions but for one."""
    actions = [lowest_action(env)] * env.num_envs
    actions[row] = value
    return actions


GARBAGE = (
    "",
    "\n",
    "up and away",
    " LEFT\t",
    "1 +",
    "9" * 40,
    "<answer>Up</answer>",
    "<answer>Left||jump||Right||Up</answer>",
    "√ 12 ÷ 4 = 3\0",
    "1/0",
)


@functools.cache
def _answers() -> list[str]:
    """Return correct answers to some of the small tasks, and wrong ones."""
    env = make_single("roll_vec/Countdown-v0").unwrapped
    answers = []
    for seed in range(40):
        env.reset(seed=seed)
        answers += [env.oracle_action, " - ".join(map(str, env.nums))]
    return sorted(set(answers))


@functools.cache
def _orders() -> list[str]:
    """Return the ways to orders of the products of the small shop."""
    products = make_single("roll_vec/WebShop-v0").unwrapped.catalogue.products
    clicks = [f"click[{product.asin.lower()}]" for product in products]
    return [*clicks, "search[<r>]", "click[buy now]", "click[buy now]"]


def rows_at(observations: Any, rows: Any) -> Any:
    """Return the observations of some rows: of indices, a mask, or of one row."""
    if not isinstance(observations, tuple):
        return observations[rows]
    if isinstance(rows, (int, np.integer)):
        return observations[rows]
    indices = np.arange(len(observations))[rows]
    return tuple(observations[row] for row in indices)


def single_info(infos: dict[str, Any], row: int) -> dict[str, Any]:
    """Return the infos of one environment as its single environment gives them."""
    own = {}
    for key, values in infos.items():
        if not key.startswith("_") and infos["_" + key][row]:
            if isinstance(values, dict):
                own[key] = single_info(values, row)
            else:
                own[key] = values[row : row + 1].tolist()[0]
    return own


def plain(value: Any) -> Any:
    """Return a value without numpy's types, and tuples as lists."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def item(batch: Any, row: int) -> Any:
    """Return the part of one environment in a batch, without numpy's types."""
    if isinstance(batch, dict):
        return {key: item(part, row) for key, part in batch.items()}
    if isinstance(batch, tuple) and isinstance(batch[0], np.ndarray):
        return [item(part, row) for part in batch]
    return plain(batch[row])


def play(env: VectorEnv, actions: Sequence[Any]) -> list[Any]:
    """Return copies of what `step` and, in DISABLED mode, partial resets return.

    Nothing is left to be reset in DISABLED mode at the end.
    """
    results: list[Any] = []
    for row in actions:
        result = env.step(row)
        results.append(copy.deepcopy(result))
        finished = result[2] | result[3]
        if env.metadata["autoreset_mode"] is DISABLED and finished.any():
            partial = env.reset(options={"reset_mask": finished.copy()})
            results.append(copy.deepcopy(partial))
    return results


def is_same(actual: Any, expected: Any) -> bool:
    """Return whether two values are equal in types, dtypes, shapes and bits."""
    kind = type(expected)
    if type(actual) is not kind:
        return False
    if kind is np.ndarray:
        if actual.dtype != expected.dtype or actual.shape != expected.shape:
            return False
        if expected.dtype != object:
            return bool(actual.tobytes() == expected.tobytes())
        actual, expected, kind = actual.tolist(), expected.tolist(), list
    if kind is dict:
        return actual.keys() == expected.keys() and all(
            is_same(actual[key], expected[key]) for key in expected
        )
    if kind is tuple or kind is list:
        # Most are texts, or the same objects, such as None.
        return len(actual) == len(expected) and all(
            one is other
            or (type(one) is str is type(other) and one == other)
            or is_same(one, other)
            for one, other in zip(actual, expected, strict=True)
        )
    return bool(actual == expected)


def assert_same(actual: Any, expected: Any, where: str = "result") -> None:
    """Compare types, dtypes, shapes, keys and values to the bit, all the way down."""
    if is_same(actual, expected):
        return
    if type(actual) is type(expected):
        if isinstance(expected, dict) and actual.keys() == expected.keys():
            for key in expected:
                assert_same(actual[key], expected[key], f"{where}[{key!r}]")
        if isinstance(expected, (tuple, list)) and len(actual) == len(expected):
            for index, (one, other) in enumerate(zip(actual, expected, strict=True)):
                assert_same(one, other, f"{where}[{index}]")
    kinds = [
        f"{type(x).__name__} {getattr(x, 'dtype', '')}" for x in (actual, expected)
    ]
    pytest.fail(f"{where}, {kinds[0]}:\n{actual}\nexpected, {kinds[1]}:\n{expected}")


def scribble(value: Any) -> None:
    """Overwrite all arrays in a value that can be written."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            scribble(part)
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = None if value.dtype == object else 1


def assert_undisturbed(env: Any, twin: Any) -> None:
    """Check that two batches go on alike."""
    actions = draw_actions(env, 2 * LIMIT, seed=8)
    assert_same(play(env, actions), play(twin, actions))


def assert_needs_reset(env: Any, twin: Any) -> None:
    """Check that a batch demands a reset, and goes on as its twin after one."""
    with pytest.raises(ResetNeededError, match="every environment must be reset: "):
        env.step(draw_actions(env, 1)[0])
    assert_same(env.reset(seed=9), twin.reset(seed=9))
    assert_undisturbed(env, twin)


def at_step(batch: Any, t: int) -> Any:
    """Return what all batches of a rollout have at a step."""
    if isinstance(batch, dict):
        return {key: part[t] for key, part in batch.items()}
    if isinstance(batch, tuple) and isinstance(batch[0], np.ndarray):
        return tuple(part[t] for part in batch)
    return batch[t]


def infos_at_step(infos: dict[str, Any], t: int) -> dict[str, Any]:
    """Return the layout that one step of a rollout's infos stands for."""
    layout = {}
    for key, values in infos.items():
        if not key.startswith("_"):
            own = infos_at_step(values, t) if isinstance(values, dict) else values[t]
            mask = infos["_" + key][t]
            if mask.any():
                layout[key], layout["_" + key] = own, mask
    return layout


def assert_equal_steps(env: Any, rollout: Any, results: Sequence[Any]) -> None:
    """Compare a rollout with what as many steps returned."""
    observations, *numbers, infos = rollout
    infos = dict(infos)
    all_finals = infos.pop("final_obs", None)
    is_pool = hasattr(env.unwrapped, "fault_counts")
    for t, result in enumerate(results):
        assert_same(at_step(observations, t), result[0], f"observations of step {t}")
        for values, expected in zip(numbers, result[1:4], strict=True):
            assert_same(values[t], expected, f"step {t}")
        own, expected = infos_at_step(infos, t), dict(result[4])
        # `final_obs` puts no dicts together.
        if env.autoreset_mode is SAME_STEP and not isinstance(result[0], dict):
            finals = env.unwrapped.final_obs(result[0], expected)
            assert_same(all_finals[t], finals, f"final_obs of step {t}")
        expected.pop("final_obs", None)
        expected.pop("_final_obs", None)
        if not is_pool:
            assert_same(own, expected, f"infos of step {t}")
            continue
        # Dtypes may be wider where steps differ in them: what a row has is the same.
        assert own.keys() == expected.keys()
        for row in range(env.num_envs):
            assert_same(
                single_info(own, row), single_info(expected, row), f"info {t}, {row}"
            )
    assert len(numbers[0]) == len(results)
