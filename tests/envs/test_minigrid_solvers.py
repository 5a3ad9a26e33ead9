"""Plans of MiniGrid's and BabyAI's games: the shortest, and they do what they say."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest

import roll_vec
from roll_vec.arrays.engine import ArrayEngine
from roll_vec.envs.minigrid.door_key import DoorKey
from roll_vec.envs.minigrid.playground import Playground
from roll_vec.envs.minigrid.solver import find_plan
from roll_vec.envs.minigrid.things import DOOR, KEY, LOCKED, TYPE, YELLOW
from roll_vec.errors import SolverLimitError, UnsupportedError
from roll_vec.kernels._jit import IS_COMPILED
from roll_vec.registration.minigrid_ids import IDS

NUM_BOARDS = 20 if IS_COMPILED else 2
# The brute force goes so deep.
MOST_ACTIONS = 14
# In games whose plans are longer.
MORE_ACTIONS = {"MiniGrid-BlockedUnlockPickup-v0": 24, "MiniGrid-UnlockPickup-v0": 20}
# States that it steps together.
_ROWS = 256 if IS_COMPILED else 16
# What no later step depends on.
_RESULTS = {"step_count", "success", "mission", "limit"}

SMALL_IDS = (
    "BabyAI-ActionObjDoor-v0",
    "BabyAI-FindObjS5-v0",
    "BabyAI-GoToLocalS5N2-v0",
    "BabyAI-GoToObjS4-v0",
    "BabyAI-GoToSeqS5R2-v0",
    "BabyAI-KeyInBox-v0",
    "BabyAI-OpenDoorsOrderN2-v0",
    "BabyAI-OpenTwoDoors-v0",
    "BabyAI-PickupAbove-v0",
    "BabyAI-PickupDist-v0",
    "BabyAI-PutNextLocalS5N3-v0",
    "BabyAI-PutNextS4N1-v0",
    "BabyAI-UnblockPickup-v0",
    "BabyAI-UnlockLocal-v0",
    "MiniGrid-BlockedUnlockPickup-v0",
    "MiniGrid-DistShift1-v0",
    "MiniGrid-Empty-Random-5x5-v0",
    "MiniGrid-FourRooms-v0",
    "MiniGrid-GoToDoor-5x5-v0",
    "MiniGrid-GoToObject-6x6-N2-v0",
    "MiniGrid-KeyCorridorS3R1-v0",
    "MiniGrid-KeyCorridorS3R2-v0",
    "MiniGrid-LavaGapS5-v0",
    "MiniGrid-MemoryS7-v0",
    "MiniGrid-MultiRoom-N2-S4-v0",
    "MiniGrid-ObstructedMaze-1Dlh-v0",
    "MiniGrid-PutNear-6x6-N2-v0",
    "MiniGrid-RedBlueDoors-6x6-v0",
    "MiniGrid-SimpleCrossingS9N1-v0",
    "MiniGrid-Unlock-v0",
    "MiniGrid-UnlockPickup-v0",
)


def make_env(id: str, **keywords: Any) -> Any:
    """Return a batch of one environment."""
    envs = roll_vec.make_vec(f"roll_vec/{id}", 1, autoreset_mode="Disabled", **keywords)
    return closing(envs)


def solve(envs: Any) -> Any:
    """Return the plan of the environment."""
    return envs.engine.solve(np.zeros(1, np.int64), "moves")[0]


def count_fewest(envs: Any, most: int) -> int | None:
    """Return the fewest actions to an end with a reward, of a breadth-first search.

    It takes all actions in all states; None: ``most`` are not enough.
    """
    options, level = envs.engine.options, envs.engine.get_state()
    engine = ArrayEngine(options, _ROWS, None, 1)
    engine.reset(np.arange(_ROWS), list(range(_ROWS)), {})
    names = [name for name in options.variables if name not in _RESULTS]
    no_skip, seen = np.zeros(_ROWS, np.bool_), set()
    for depth in range(1, most + 1):
        new = []
        for first in range(0, len(level["x"]), _ROWS):
            part = {name: array[first : first + _ROWS] for name, array in level.items()}
            part["step_count"] = np.zeros_like(part["step_count"])
            count = len(part["x"])
            for action in range(len(options.action_names)):
                engine.set_state(part, np.arange(_ROWS) % count, np.arange(_ROWS))
                rewards, ends, *_ = engine.step(np.full(_ROWS, action), no_skip)
                if (ends & (rewards > 0)).any():
                    return depth
                after = engine.get_state()
                bytes_of = [
                    after[name].reshape(_ROWS, -1).view(np.uint8) for name in names
                ]
                keys = np.concatenate(bytes_of, axis=1)
                rows = []
                for row in np.flatnonzero(~ends[:count]).tolist():
                    key = keys[row].tobytes()
                    if key not in seen:
                        seen.add(key)
                        rows.append(row)
                new.append({name: array[rows] for name, array in after.items()})
        level = {name: np.concatenate([each[name] for each in new]) for name in level}
        if not len(level["x"]):
            return None
    return None


def check_plans(id: str, num_boards: int = NUM_BOARDS, **keywords: Any) -> None:
    """Compare plans with the brute force, from the begin and after random actions."""
    rng, count = np.random.default_rng(0), 0
    most = MORE_ACTIONS.get(id, MOST_ACTIONS)
    with make_env(id, **keywords) as envs:
        for seed in range(num_boards):
            envs.reset(seed=seed)
            for _ in range(seed % 3 * 4):
                action = rng.integers(0, envs.single_action_space.n, 1)
                _, _, ends, truncations, _ = envs.step(action)
                if ends[0] or truncations[0]:
                    envs.reset(seed=seed)
            plan = solve(envs)
            if plan is None or len(plan) > most:
                assert count_fewest(envs, 8) is None, seed
                continue
            assert count_fewest(envs, most) == len(plan), seed
            count += 1
    assert count >= num_boards // 3


def play(envs: Any) -> tuple[float, bool]:
    """Follow plans until the episode ends; return the last reward and end."""
    plan: list[int] = []
    while True:
        plan = plan or solve(envs)
        _, rewards, ends, truncations, _ = envs.step(np.array([plan.pop(0)]))
        if ends[0] or truncations[0]:
            return float(rewards[0]), bool(ends[0])


@pytest.mark.parametrize("id", ["MiniGrid-DoorKey-5x5-v0", "MiniGrid-Fetch-5x5-N2-v0"])
def test_plans_are_the_shortest(id):
    check_plans(id)


@pytest.mark.slow
@pytest.mark.parametrize("id", SMALL_IDS)
def test_plans_of_small_ids_are_the_shortest(id):
    check_plans(id)


# As plain Python they take a second each.
FAST = (
    set()
    if IS_COMPILED
    else {
        "BabyAI-KeyInBox-v0",
        "BabyAI-OpenTwoDoors-v0",
        "BabyAI-PutNextS4N1-v0",
        "BabyAI-PickupAbove-v0",
        "MiniGrid-BlockedUnlockPickup-v0",
        "MiniGrid-GoToObject-6x6-N2-v0",
        "MiniGrid-PutNear-6x6-N2-v0",
    }
)
GOALS = [id for id, *_ in IDS if "Playground" not in id]
each_goal = [
    pytest.param(x, marks=[] if x in FAST else pytest.mark.slow) for x in GOALS
]


@pytest.mark.parametrize("id", each_goal)
def test_plans_succeed(id):
    count = 0
    with make_env(id) as envs:
        for seed in range(100, 107):
            envs.reset(seed=seed)
            # Some levels of MiniGrid cannot be solved.
            if solve(envs) is not None:
                reward, terminated = play(envs)
                assert terminated, seed
                assert reward > 0, seed
                count += 1
    assert count > 0


def test_plans_succeed_when_they_are_played():
    with make_env("MiniGrid-DoorKey-8x8-v0") as envs:
        for seed in range(NUM_BOARDS):
            envs.reset(seed=seed)
            plan = solve(envs)
            reward, terminated = play(envs)
            assert terminated
            assert reward == 1 - 0.9 * (len(plan) / 640)


def test_a_plan_does_not_depend_on_tasks(monkeypatch):
    with make_env("MiniGrid-DoorKey-5x5-v0") as envs:
        envs.reset(seed=3)
        plan = solve(envs)
        monkeypatch.setattr(DoorKey, "tasks", lambda self, env: [])
        assert len(solve(envs)) == len(plan)


def test_the_limit_of_steps_does_not_matter():
    with make_env("MiniGrid-DoorKey-5x5-v0", max_steps=3) as envs:
        envs.reset(seed=0)
        length = len(solve(envs))
        assert length > 3
        envs.step(np.array([solve(envs)[0]]))
        assert len(solve(envs)) == length - 1


def test_a_door_without_a_key_has_no_plan():
    with make_env("MiniGrid-DoorKey-5x5-v0") as envs:
        envs.reset(seed=0)
        grid = envs.engine.named_variables()["grid"]
        assert (grid == DOOR + YELLOW + LOCKED).sum() == 1
        grid[grid & TYPE == KEY] = 0
        assert solve(envs) is None


def test_a_search_may_give_up():
    with make_env("MiniGrid-DoorKey-5x5-v0") as envs:
        envs.reset(seed=0)
        options, row = envs.engine.options, envs.engine.row(0)
        with pytest.raises(SolverLimitError, match="gave up after 2 states"):
            find_plan(options, row, options.tasks(row), ((0, 2, 2),))


def test_a_game_without_a_mission_has_no_solver():
    assert not Playground.has_solver()
    message = "Playground has no solver"
    with (
        make_env("MiniGrid-Playground-v0") as envs,
        pytest.raises(UnsupportedError, match=message),
    ):
        solve(envs)


def test_advantages_of_right_and_wrong_objects():
    with make_env("MiniGrid-Fetch-5x5-N2-v0", advantage_info=True) as envs:
        values = set()
        rng = np.random.default_rng(0)
        for seed in range(40):
            envs.reset(seed=seed)
            ends = np.zeros(1, np.bool_)
            before = len(solve(envs))
            while not ends[0]:
                action = rng.integers(0, 4, 1)
                _, rewards, ends, truncations, infos = envs.step(action)
                if truncations[0]:
                    break
                if ends[0]:
                    assert before == 1 or rewards[0] == 0
                    assert infos["advantage"][0] == (0 if rewards[0] > 0 else -100)
                    values.add(infos["advantage"][0])
                else:
                    after = len(solve(envs))
                    assert infos["advantage"][0] == before - 1 - after
                    before = after
        assert values == {-100, 0}
