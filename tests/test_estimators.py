"""Estimators of credit in docs/examples/estimators.py, beside slow and obvious ones."""

import importlib
import statistics
import sys

import numpy as np
import pytest

from tests.conftest import ROOT

FOLDER = ROOT / "docs" / "examples"
NUM_GROUPS, SIZE, LONGEST = 4, 3, 5


@pytest.fixture(scope="module")
def program():
    """Import the module as the program does."""
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module("estimators")
    sys.path.remove(str(FOLDER))
    for path in FOLDER.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture(scope="module")
def rollouts(program):
    """Return small episodes of different lengths, whose states often repeat."""
    rng = np.random.default_rng(5)
    count = NUM_GROUPS * SIZE
    groups = np.repeat(np.arange(NUM_GROUPS), SIZE)
    lengths = rng.integers(1, LONGEST + 1, count)
    mask = np.arange(LONGEST)[:, None] < lengths
    # Rewards after the end are there to be left out.
    rewards = rng.integers(-2, 3, mask.shape).astype(float)
    states = 3 * groups + rng.integers(3, size=mask.shape)
    errors = rng.normal(size=mask.shape)
    of_policy = rng.normal(size=mask.shape)
    return program.Rollouts(rewards, mask, groups, states, errors, of_policy)


def turns_of(x):
    """Return (episode, step) of each turn, by episodes."""
    return [(i, t) for i in range(len(x.groups)) for t in range(x.mask[:, i].sum())]


def total(x, i):
    return sum(x.rewards[t, j] for j, t in turns_of(x) if j == i)


def later(x, i, t, values, gamma):
    """Return the discounted sum of an episode's values from a step on."""
    pairs = [(j, s) for j, s in turns_of(x) if j == i and s >= t]
    return sum(gamma ** (s - t) * values[s, j] for j, s in pairs)


def members(x, i):
    return [j for j in range(len(x.groups)) if x.groups[j] == x.groups[i]]


def scale(value, values):
    """Return the distance from the mean in standard deviations of a sample."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0
    return (value - statistics.mean(values)) / (deviation + 1e-6)


def group_mean(x, i, t):
    return scale(total(x, i), [total(x, j) for j in members(x, i)])


def unscaled(x, i, t):
    return total(x, i) - statistics.mean(total(x, j) for j in members(x, i))


def without_itself(x, i, t):
    others = [total(x, j) for j in members(x, i) if j != i]
    return total(x, i) - statistics.mean(others)


def over_steps(x, i, t):
    values = [total(x, j) for j, _ in turns_of(x) if j in members(x, i)]
    return scale(total(x, i), values)


def process(x, i, t):
    values = [x.rewards[s, j] for j, s in turns_of(x) if j in members(x, i)]
    steps = [s for j, s in turns_of(x) if j == i and s >= t]
    return sum(scale(x.rewards[s, i], values) for s in steps)


def to_go(x, i, t):
    return later(x, i, t, x.rewards, 0.95)


def group_to_go(x, i, t):
    turns = [(j, s) for j, s in turns_of(x) if j in members(x, i)]
    return scale(to_go(x, i, t), [to_go(x, *turn) for turn in turns])


def anchors(x, i, t):
    turns = [(j, s) for j, s in turns_of(x) if x.states[s, j] == x.states[t, i]]
    return to_go(x, i, t) - statistics.mean(to_go(x, *turn) for turn in turns)


ORACLES = {
    "group_mean": group_mean,
    "unscaled_group_mean": unscaled,
    "leave_one_out": without_itself,
    "mean_over_steps": over_steps,
    "process_rewards": process,
    "return_to_go": to_go,
    "group_return_to_go": group_to_go,
    "step_groups": anchors,
    "gigpo": lambda x, i, t: unscaled(x, i, t) + anchors(x, i, t),
    "exact_gae": lambda x, i, t: later(x, i, t, x.errors, 0.95),
    "policy_credit": lambda x, i, t: x.of_policy[t, i],
}


def test_each_estimator_equals_its_definition(program, rollouts):
    functions = [*program.ESTIMATORS]
    assert [function.__name__ for function in functions] == [*ORACLES]
    for function in functions:
        estimates = function(rollouts)
        for i, t in turns_of(rollouts):
            expected = ORACLES[function.__name__](rollouts, i, t)
            assert estimates[t, i] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_equal_values_share_a_rank(program):
    assert program.ranks(np.array([5.0, 1, 5, 3])).tolist() == [3.5, 1, 3.5, 2]
    assert program.pearson(np.arange(4), -2 * np.arange(4)) == pytest.approx(-1)


def test_states_are_equal_where_level_and_observation_are(program):
    task = program.LAKES
    network = program.Network(6 * 16, np.random.default_rng(0))
    x, credit = program.collect(task, network, 3, 4)
    starts = x.states[0].reshape(3, 4)
    assert (starts == starts[:, :1]).all()
    assert len(np.unique(starts)) == 3
    assert credit[x.mask].max() == 0
    # An episode that begins in the start's cell again is in the first state again.
    assert len(np.unique(x.states[x.mask])) < x.mask.sum()


MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))


@pytest.mark.parametrize("is_slippery", [False, True])
def test_the_credit_under_a_policy_is_that_of_all_its_futures(program, is_slippery):
    envs = program.make_envs(program.LAKES, 2)
    planes, _ = envs.reset(seed=[3, 8])
    envs.close()
    rng = np.random.default_rng(1)
    network = program.Network(6 * 16, rng)
    head = network.parameters[2]
    head[:] = rng.normal(0, 0.5, head.shape)  # not uniform
    gains = program.lake_credit(network, planes, is_slippery)
    for level, start in enumerate(planes):
        codes = np.where(start[0] == 1, 1, start.argmax(0))

        def chance(row, column, steps, codes=codes):
            """Return the chance to reach the goal within some steps."""
            if codes[row, column] != 1 or not steps:
                return float(codes[row, column] == 3)
            return policy(row, column) @ after(row, column, steps)

        def policy(row, column, codes=codes):
            board = codes.copy()
            board[row, column] = 0
            return network.forward((board == np.arange(6)[:, None, None])[None])[2][0]

        def after(row, column, steps):
            """Return the chances of the four actions."""
            reached = [
                chance(*np.clip([row + down, column + right], 0, 3), steps - 1)
                for down, right in MOVES
            ]
            turns = (-1, 0, 1) if is_slippery else (0,)
            return np.array(
                [np.mean([reached[(a + turn) % 4] for turn in turns]) for a in range(4)]
            )

        for row, column in np.argwhere(codes == 1)[:4]:
            expected = after(row, column, 3) - chance(row, column, 3)
            actual = gains[3, level, 4 * row + column]
            assert actual == pytest.approx(expected, abs=1e-6)
