"""Solutions of rooms and of environments: numbering, limits, errors."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.sokoban import solver
from roll_vec.envs.sokoban.engine import SokobanEngine
from roll_vec.envs.sokoban.options import SokobanOptions
from roll_vec.errors import (
    InvalidOptionError,
    ResetNeededError,
    SolverLimitError,
    UnsolvableLevelError,
)
from roll_vec.vector.levels import OBJECTIVES
from tests.conftest import JIT_OFF
from tests.kernels.sokoban.positions import (
    draw_generated,
    draw_random,
    parse,
    play_randomly,
)
from tests.oracles.sokoban import measure, replay

NUMBER = 3 if JIT_OFF else 14
SOLVABLE = parse("####### #@$-.-# #######")
DEAD = parse("####### #$@-.-# #######")
SOLVED = parse("####### #-----# #@-*--# #-----# #######")
DEAD_AFTER_LEFT = parse("####### #-----# #-$@--# #-.---# #######")


def make_engine(number, **keywords):
    """Return a batch of rooms, begun."""
    engine = SokobanEngine(SokobanOptions(**keywords), number, None, 1)
    engine.reset(np.arange(number), list(range(number)))
    return engine


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
    solver._workspaces.workspace = None
    # With the JIT off, numpy's error state is that of one thread.
    num_threads = 1 if JIT_OFF else num_threads
    again = solver.solve_rooms(grids, objective, num_threads=num_threads)
    assert as_lists(again) == as_lists(solutions)
    solver._workspaces.workspace = None


@pytest.mark.slow
def test_workspaces_grow(monkeypatch):
    """A hard room is solved in a larger workspace, which is given back afterwards."""
    monkeypatch.setattr(solver, "_FIRST_STATES", 256)
    monkeypatch.setattr(solver, "_FIRST_DIRECTIONS", 16)
    solver._workspaces.workspace = None
    grids = draw_generated(1, (8, 8), 4, first_seed=3)
    (solution,) = solver.solve_rooms(grids)
    assert solution.status == "solved"
    assert len(solution.directions) > 16
    assert replay(grids[0].tolist(), solution.directions.tolist())[0]
    assert solver._workspaces.workspace is None
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
        best = [measure(grid.tolist(), objective) for objective in OBJECTIVES]
        assert best == [
            None if length == solver.NO_SOLUTION else length
            for length in (num_steps, num_pushes)
        ]
    steps, pushes = solver.measure_rooms(draw_generated(3), max_states=2)
    assert set(steps.tolist()) == set(pushes.tolist()) == {solver.GAVE_UP}
    nothing = np.zeros((0, 6, 6), np.uint8)
    assert solver.solve_rooms(nothing) == []
    assert [len(length) for length in solver.measure_rooms(nothing)] == [0, 0]


@pytest.mark.parametrize(
    ("grids", "message"),
    [
        (SOLVABLE, "got shape"),
        (SOLVABLE[np.newaxis].astype(np.int64), "uint8"),
        ([SOLVABLE], "uint8"),
        (np.zeros((1, 2, 9), np.uint8), "got shape"),
        (np.stack([SOLVABLE, SOLVABLE * 0]), r"grids\[1\]: expected exactly one"),
        (np.full((1, 3, 3), 5, np.uint8), r"grids\[0\]: expected exactly one"),
        (np.stack([SOLVABLE, SOLVABLE + 4]), r"grids\[1\]: expected codes"),
        (SOLVABLE[np.newaxis, :, 1:], r"grids\[0\]: expected wall"),
    ],
)
def test_rooms_that_are_refused(grids, message):
    """Before the search, which reads beyond no edge."""
    with pytest.raises(InvalidOptionError, match=message):
        solver.solve_rooms(grids)
    with pytest.raises(InvalidOptionError, match=message):
        solver.measure_rooms(grids)


def test_options_that_are_refused():
    """Other objectives and limits."""
    with pytest.raises(InvalidOptionError, match="objective: expected one of 'moves'"):
        solver.solve_rooms(SOLVABLE[np.newaxis], "steps")
    with pytest.raises(InvalidOptionError, match="max_states: expected at least 1"):
        solver.solve_rooms(SOLVABLE[np.newaxis], max_states=0)
    with pytest.raises(InvalidOptionError, match="objective"):
        make_engine(1).solve(np.arange(1), None)


@pytest.mark.parametrize(("objective", "action_start"), [("moves", 0), ("pushes", 1)])
def test_solutions_of_environments_are_played(objective, action_start):
    """From the start and from the middle, alone and in a batch: the same actions."""
    rng = np.random.default_rng(2)
    number = 2 if JIT_OFF else 8
    engine = make_engine(number, action_start=action_start)
    singles = [
        gymnasium.make("roll_vec/Sokoban-v0", action_start=action_start).unwrapped
        for _ in range(number)
    ]
    for seed, env in enumerate(singles):
        env.reset(seed=seed)
    no_skip, env_ids = np.zeros(number, bool), np.arange(number)
    num_dead = 0
    for _ in range(6):
        solutions = engine.solve(env_ids, objective)
        for env_id, (env, actions) in enumerate(zip(singles, solutions, strict=True)):
            alone = env.solve(objective)
            np.testing.assert_array_equal(actions, alone)
            if actions is None:
                num_dead += 1
                continue
            assert actions.dtype == np.int64
            copy = gymnasium.make("roll_vec/Sokoban-v0", action_start=action_start)
            copy.reset(seed=0)
            copy = copy.unwrapped
            copy.grid = engine.grids()[env_id].copy()
            copy.player = int(engine.players[env_id])
            copy.boxes_left = int(engine.boxes_left[env_id])
            successes = [copy.step(action)[-1]["success"] for action in actions]
            assert successes == [False] * (len(actions) - 1) + [True] * bool(
                len(actions)
            )
        moves = rng.integers(0, 4, number) + action_start
        engine.step(moves, no_skip)
        for env, action in zip(singles, moves, strict=True):
            env.step(action)
    some = engine.solve(env_ids[1:], objective)
    np.testing.assert_equal(some, engine.solve(env_ids, objective)[1:])
    assert JIT_OFF or num_dead


def test_solved_rooms_need_no_action():
    """A solution of length 0 is not None."""
    engine = make_engine(2, levels=DEAD_AFTER_LEFT)
    engine.cells[:] = SOLVED.reshape(1, -1)
    for actions in engine.solve(np.arange(2), "moves"):
        assert actions.shape == (0,)


def test_positions_that_play_made_dead():
    """None, and no error: the level has a solution from its start."""
    for action_start in (0, 1):
        left = 2 + action_start
        engine = make_engine(2, levels=DEAD_AFTER_LEFT, action_start=action_start)
        env = gymnasium.make(
            "roll_vec/Sokoban-v0", levels=DEAD_AFTER_LEFT, action_start=action_start
        ).unwrapped
        env.reset(seed=0)
        assert env.solve() is not None
        engine.step(np.array([left, left]), np.array([False, True]))
        env.step(left)
        dead, alive = engine.solve(np.arange(2), "moves")
        assert dead is None
        assert env.solve() is None
        # Up, left, and down onto the target.
        assert (alive - action_start).tolist() == [0, 2, 1]


def test_given_levels_without_a_solution():
    """The error names the number of the level in the set."""
    levels = np.stack([SOLVABLE, SOLVABLE, SOLVABLE, DEAD])
    options = {"levels": levels, "start_level": 1}
    engine = make_engine(9, **options)
    dead = np.array([i for i, row in enumerate(engine.grids()) if (row == DEAD).all()])
    assert 0 < len(dead) < 9
    with pytest.raises(UnsolvableLevelError, match="level 3 has no solution"):
        engine.solve(np.arange(9), "moves")
    alive = np.setdiff1d(np.arange(9), dead)
    assert [len(actions) for actions in engine.solve(alive, "pushes")] == [2] * len(
        alive
    )
    env = gymnasium.make("roll_vec/Sokoban-v0", **options).unwrapped
    env.reset(seed=int(dead[0]))
    with pytest.raises(UnsolvableLevelError, match="level 3 has no solution"):
        env.solve()
    assert issubclass(UnsolvableLevelError, (roll_vec.errors.RollVecError, ValueError))


def test_searches_that_give_up(monkeypatch):
    """The error names the environments."""
    engine = make_engine(3)
    env = gymnasium.make("roll_vec/Sokoban-v0").unwrapped
    with pytest.raises(ResetNeededError):
        env.solve()
    env.reset(seed=0)
    monkeypatch.setattr(solver, "MAX_STATES", 2)
    with pytest.raises(
        SolverLimitError, match=r"environments \[1, 2\] gave up after 2"
    ):
        engine.solve(np.array([1, 2]), "moves")
    with pytest.raises(SolverLimitError, match="solution gave up after 2 states"):
        env.solve()
