"""Solutions of lakes equal value iteration and linear equations in numpy."""

import numpy as np
import pytest

from roll_vec.kernels.frozen_lake import rules, solver
from tests.conftest import JIT_OFF
from tests.kernels.test_frozen_lake import codes, random_rows
from tests.oracles.frozen_lake import (
    fewest_moves,
    highest_chances,
    play_policy,
    transition_matrices,
)

SHAPES = [(4, 4), (3, 5), (5, 2), (1, 6), (6, 1), (1, 1)]


class Solutions:
    """The results of some maps of one shape; rows outside of the range stay 7."""

    def __init__(self, maps, shape, start=0, stop=None, saves_steps=True, **slips):
        maps = np.array([codes(rows) for rows in maps])
        count, width = shape[0] * shape[1], shape[1]
        stop = len(maps) if stop is None else stop
        neighbours = rules.make_neighbours(*shape)
        self.distances = np.full(maps.shape, 7, np.int32)
        self.values, self.steps = np.full((2, *maps.shape), 7.0)
        self.policies = np.full(maps.shape, 7, np.int64)
        if slips.get("is_slippery", True):
            # Nothing of another map may shine through.
            workspace = solver.SolverWorkspace(
                *np.full((3, count), 1),
                np.full((count, 2 * width + 1), 7.0),
                *np.full((4, count), 7.0),
                np.full(count, 1),
            )
            solver.solve_maps(
                start,
                stop,
                maps,
                neighbours,
                rules.make_slip(True, slips.get("success_rate", 1.0 / 3.0)),
                saves_steps,
                tuple(workspace),
                self.distances,
                self.values,
                self.steps,
                self.policies,
            )
        else:
            frontier = np.zeros(count, np.int64)
            solver.measure_distances(
                start, stop, maps, neighbours, frontier, self.distances
            )


def some_maps(shape, number, seed=0):
    rng = np.random.default_rng(seed)
    return [random_rows(rng, *shape) for _ in range(2 if JIT_OFF else number)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_distances_are_the_fewest_moves(shape):
    maps = some_maps(shape, 40)
    found = Solutions(maps, shape, is_slippery=False).distances
    assert found.tolist() == [fewest_moves(rows) for rows in maps]


@pytest.mark.parametrize("success_rate", [1.0 / 3.0, 0.75, 0.0, 0.05])
@pytest.mark.parametrize("shape", SHAPES[: 3 if JIT_OFF else None], ids=str)
def test_values_are_the_highest_chances_and_the_policy_attains_them(
    shape, success_rate
):
    maps = some_maps(shape, 6, seed=1)
    found = Solutions(maps, shape, success_rate=success_rate)
    quick = Solutions(maps, shape, success_rate=success_rate, saves_steps=False)
    for m, rows in enumerate(maps):
        expected = highest_chances(rows, success_rate)
        np.testing.assert_allclose(found.values[m], expected, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(quick.values[m], expected, rtol=1e-9, atol=1e-11)
        chances, steps = play_policy(rows, found.policies[m], success_rate)
        np.testing.assert_allclose(chances, found.values[m], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(steps, found.steps[m], rtol=1e-9)
        # Exactly: neither a hole nor ice without a way to a goal has any chance.
        lost = np.array(fewest_moves(rows)) < 0
        assert (found.values[m] == 0).tolist() == lost.tolist()
        assert not found.policies[m][lost].any()


@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_of_the_best_policies_it_is_the_quickest_and_then_the_lowest(shape):
    maps = some_maps(shape, 12, seed=2)
    found = Solutions(maps, shape)
    slower = ties = 0
    for m, rows in enumerate(maps):
        chances = transition_matrices(rows, 1.0 / 3.0)
        values = highest_chances(rows)
        is_best = chances @ values > values - 1e-9
        alive = (values > 0) & (np.array(list("".join(rows))) != "G")
        # Value iteration over the steps of the best actions alone.
        steps = np.zeros(len(values))
        for _ in range(20_000):
            times = np.where(is_best, 1.0 + chances @ steps, np.inf)
            after = np.where(alive, times.min(axis=0), 0.0)
            if np.abs(after - steps).max() < 1e-13:
                break
            steps = after
        np.testing.assert_allclose(found.steps[m], steps, rtol=1e-9)
        lowest = (times < steps + 1e-7).argmax(axis=0)
        assert found.policies[m][alive].tolist() == lowest[alive].tolist()
        slower += (is_best & (times > steps + 1e-7))[:, alive].any()
        ties += ((times < steps + 1e-7).sum(axis=0) > 1)[alive].any()
    assert JIT_OFF or (slower and ties)


@pytest.mark.parametrize("success_rate", [1.0 / 3.0, 0.9, 0.999])
def test_no_action_raises_a_chance_that_the_policy_attains(success_rate):
    # Then no policy has a higher chance.  Value iteration would take too long.
    maps = some_maps((5, 5), 30, seed=4)
    found = Solutions(maps, (5, 5), success_rate=success_rate)
    for rows, values, policy in zip(maps, found.values, found.policies, strict=True):
        ahead = (transition_matrices(rows, success_rate) @ values).max(axis=0)
        goal = np.array([cell == "G" for cell in "".join(rows)])
        assert (ahead <= values + 1e-12)[~goal].all()
        chances, _ = play_policy(rows, policy, success_rate)
        np.testing.assert_allclose(chances, values, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("slip", [0.5, 1e-3, 1e-9])
def test_chances_to_wait_for_are_exact(slip):
    # Holes all along: the best is to push against the wall until a slip to the goal.
    found = Solutions([["SFG", "HHH"]], (2, 3), success_rate=1.0 - slip)
    np.testing.assert_allclose(found.values[0], [1, 1, 1, 0, 0, 0], rtol=1e-14)
    assert found.policies[0, :2].tolist() == [rules.UP] * 2
    slip = 1.0 - (1.0 - slip)
    np.testing.assert_allclose(found.steps[0, :2], [6 / slip, 4 / slip], rtol=1e-12)


def test_a_call_solves_its_range_of_maps():
    rng = np.random.default_rng(3)
    maps = [random_rows(rng, 3, 3) for _ in range(5)]
    for slips in ({}, {"is_slippery": False}):
        whole = Solutions(maps, (3, 3), **slips)
        part = Solutions(maps, (3, 3), 1, 4, **slips)
        for name in ("distances", "values", "steps", "policies"):
            array, expected = getattr(part, name), getattr(whole, name)
            np.testing.assert_array_equal(array[1:4], expected[1:4])
            assert (array[[0, 4]] == 7).all()


def test_the_map_of_gymnasium_is_won_14_times_of_17():
    found = Solutions([["SFFF", "FHFH", "FFFH", "HFFG"]], (4, 4))
    np.testing.assert_allclose(found.values[0, 0], 14 / 17, rtol=1e-14)
