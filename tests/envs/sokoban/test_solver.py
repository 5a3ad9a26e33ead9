"""Solutions of rooms and of environments: numbering, limits, errors."""

import copy

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.sokoban import solver
from roll_vec.errors import ResetNeededError, SolverLimitError
from tests.conftest import JIT_OFF
from tests.kernels.sokoban.positions import (
    draw_generated,
    draw_random,
    play_randomly,
)
from tests.oracles.sokoban import measure, replay

NUMBER = 3 if JIT_OFF else 14
ID = "roll_vec/Sokoban-v0"


def as_lists(solutions):
    """Return solutions in a form that `==` compares."""
    return [
        (
            None if s.directions is None else s.directions.tolist(),
            s.num_pushes,
            s.status,
        )
        for s in solutions
    ]


@pytest.mark.parametrize(("objective", "num_threads"), [("moves", 3), ("pushes", 1)])
def test_solve_rooms(monkeypatch, objective, num_threads):
    """Whatever the threads and the first size of the workspaces."""
    rng = np.random.default_rng(0)
    grids = draw_generated(NUMBER, (6, 6), 3)
    grids = np.concatenate([grids, play_randomly(rng, grids, 20)])
    solutions = solver.solve_rooms(grids, objective)
    for grid, (directions, num_pushes, status) in zip(grids, solutions, strict=True):
        best = measure(grid.tolist(), objective)
        if best is None:
            assert (directions, num_pushes, status) == (None, 0, "unsolvable")
            continue
        assert status == "solved"
        assert directions.dtype == np.int8
        assert best == (len(directions) if objective == "moves" else num_pushes)
        assert replay(grid.tolist(), directions.tolist()) == (True, num_pushes)
    monkeypatch.setattr(solver, "_ROOMS_PER_THREAD", 4)
    monkeypatch.setattr(solver, "_FIRST_STATES", 256)
    monkeypatch.setattr(solver, "_FIRST_DIRECTIONS", 16)
    # With the JIT off, numpy's error state is that of one thread.
    num_threads = 1 if JIT_OFF else num_threads
    again = solver.solve_rooms(grids, objective, num_threads=num_threads)
    assert as_lists(again) == as_lists(solutions)


@pytest.mark.slow
def test_workspaces_grow(monkeypatch):
    """A hard room is solved in a larger workspace, which is given back afterwards."""
    monkeypatch.setattr(solver, "_FIRST_STATES", 256)
    monkeypatch.setattr(solver, "_FIRST_DIRECTIONS", 16)
    grids = draw_generated(1, (8, 8), 4, first_seed=3)
    (solution,) = solver.solve_rooms(grids)
    assert solution.status == "solved"
    assert len(solution.directions) > 16
    assert replay(grids[0].tolist(), solution.directions.tolist())[0]
    assert solver._scratch._key[2:] == (256, 16)
    # No more memory than the first workspace takes.
    monkeypatch.setattr(solver, "_MAX_BYTES", 100_000)
    (solution,) = solver.solve_rooms(grids)
    assert solution == (None, 0, "gave up")
    assert solver.measure_rooms(grids)[0].tolist() == [solver.GAVE_UP]


def test_measure_rooms():
    """Both lengths of rooms with and without a solution."""
    rng = np.random.default_rng(1)
    grids = draw_random(rng, NUMBER, (6, 6), 2)
    steps, pushes = solver.measure_rooms(grids, num_threads=1 if JIT_OFF else 2)
    assert steps.dtype == pushes.dtype == np.int32
    for grid, num_steps, num_pushes in zip(grids, steps, pushes, strict=True):
        best = [measure(grid.tolist(), objective) for objective in ("moves", "pushes")]
        assert best == [
            None if length == solver.NO_SOLUTION else length
            for length in (num_steps, num_pushes)
        ]
    steps, pushes = solver.measure_rooms(draw_generated(3), max_states=2)
    assert set(steps.tolist()) == set(pushes.tolist()) == {solver.GAVE_UP}
    nothing = np.zeros((0, 6, 6), np.uint8)
    assert solver.solve_rooms(nothing) == []
    assert [len(length) for length in solver.measure_rooms(nothing)] == [0, 0]


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
