"""Solutions of environments: numbering, limits, errors."""

import copy

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.sokoban import solver
from roll_vec.errors import ResetNeededError, SolverLimitError
from tests.conftest import JIT_OFF

ID = "roll_vec/Sokoban-v0"


@pytest.mark.parametrize(("objective", "action_start"), [("moves", 0), ("pushes", 1)])
def test_solutions_of_environments_are_played(objective, action_start):
    """From the start and from the middle, alone and in a batch: the same actions."""
    rng = np.random.default_rng(2)
    number = 2 if JIT_OFF else 8
    more = {"action_start": action_start, "max_episode_steps": -1}
    batch = roll_vec.make_vec(ID, number, autoreset_mode="Disabled", **more)
    singles = [gymnasium.make(ID, **more).unwrapped for _ in range(number)]
    batch.reset(seed=0)
    for seed, env in enumerate(singles):
        env.reset(seed=seed)
    num_dead = 0
    for _ in range(6):
        solutions = batch.solve(objective)
        for env, actions in zip(singles, solutions, strict=True):
            np.testing.assert_array_equal(actions, env.solve(objective))
            if actions is None:
                num_dead += 1
                continue
            assert actions.dtype == np.int64
            player = copy.deepcopy(env)
            successes = [player.step(action)[-1]["success"] for action in actions]
            assert successes == [False] * (len(actions) - 1) + [True]
            # A solution of length 0 is not None.
            assert player.solve(objective).shape == (0,)
        moves = rng.integers(0, 4, number) + action_start
        batch.step(moves)
        for env, action in zip(singles, moves, strict=True):
            env.step(action)
    assert JIT_OFF or num_dead


def test_searches_that_give_up(monkeypatch):
    batch, env = roll_vec.make_vec(ID, 3), gymnasium.make(ID).unwrapped
    for each in (batch, env):
        with pytest.raises(ResetNeededError):
            each.solve()
        each.reset(seed=0)
    monkeypatch.setattr(solver, "MAX_STATES", 2)
    told = r"environments \[0, 1, 2\] gave up after 2"
    with pytest.raises(SolverLimitError, match=told):
        batch.solve()
    with pytest.raises(SolverLimitError, match="solution gave up after 2 states"):
        env.solve()
