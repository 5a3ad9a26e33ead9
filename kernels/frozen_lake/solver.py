"""Solutions of FrozenLake: fewest moves, and the highest chance to reach a goal.

Without slips a breadth-first search from the goals gives the fewest moves.

On slippery ice a policy has one action for each cell.  Policy iteration (R. A. Howard,
1960) evaluates a policy, and then takes the better actions, until there are none.  The
first policy has some chance to come nearer to a goal from each cell; then so has each
one after it, as an action is replaced only by one that is better by `TOLERANCE`.

A policy is evaluated exactly, by elimination of cells (W. K. Grassmann, M. I. Taksar,
D. P. Heyman, 1985).  A cell is removed, and each way through it becomes a direct one::

    chances  a -> i -> b          a -> b  +  (a -> i) / (1 - (i -> i)) * (i -> b)

Here 1 - (i -> i) is the sum of the chances to leave, so nothing is ever subtracted: all
results have small relative errors, also where the player stays for millions of steps.
Cells are numbered along the rows of the map, so a cell is linked to cells whose numbers
differ by the map's width at most, before and after a removal: a band of a matrix.
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel
from .moves import GOAL, ICE, turn

# An action is better if its chance is by this part higher, or if with equal chances its
# expected number of steps is by this part lower.  Rounding errors are smaller.
TOLERANCE = 1e-12
# Where this is too large for ties, smaller ones down to this are tried.
SMALLEST_TOLERANCE = 1e-16
# Policy iteration takes about five rounds; rounding errors might let it go round in a
# circle.  Each policy's values are its own, so the work may end at any of them.
MAX_ROUNDS = 1000


class Lakes(NamedTuple):
    """Maps of C cells, and their solutions."""

    maps: np.ndarray  # (n, C) uint8
    neighbours: np.ndarray  # (C, 8) int64: an item of `moves.LakeOptions`, as ``slip``
    slip: np.ndarray  # (2, 3) float64
    distances: np.ndarray  # (n, C) int32: see `measure_distances`
    # The chance ever to reach a goal: 1 on a goal, 0 where none can be reached.  One
    # above 1 - `TOLERANCE` is 1: the difference is a rounding error.
    values: np.ndarray  # (n, C) float64
    # Expected steps of the policy until a goal, a hole or a cell without a way to a
    # goal; 0 in these.
    steps: np.ndarray  # (n, C) float64
    policies: np.ndarray  # (n, C) int64: directions; 0 with the value 0, and on a goal


class SolverWorkspace(NamedTuple):
    """Scratch arrays of one thread, for maps of C cells in rows of W."""

    frontier: np.ndarray  # (C,) int64
    cells: np.ndarray  # (C,) int64, by number the cells with a way to a goal
    numbers: np.ndarray  # (C,) int64, by cell its number, or -1
    links: np.ndarray  # (C, 2 * W + 1) float64, chances; column W + j - i is i -> j
    exits: np.ndarray  # (C,) float64, chances to leave for cells without a number
    goals: np.ndarray  # (C,) float64, chances to leave for a goal
    times: np.ndarray  # (C,) float64, steps
    best_values: np.ndarray  # (C,) float64
    last_policy: np.ndarray  # (C,) int64


@kernel
def _write_distances(m, maps, neighbours, frontier, distances):
    """Write the fewest moves to a goal from each cell of map m, -1 without a way."""
    num_cells = maps.shape[1]
    tail = 0
    for cell in range(num_cells):
        distances[m, cell] = -1
        if maps[m, cell] == GOAL:
            distances[m, cell] = 0
            frontier[tail] = cell
            tail += 1
    head = 0
    while head < tail:
        cell = frontier[head]
        head += 1
        for direction in range(4):
            # Neighbours are mutual: the way back is a move towards the goal.
            before = neighbours[cell, direction]
            if maps[m, before] == ICE and distances[m, before] < 0:
                distances[m, before] = distances[m, cell] + 1
                frontier[tail] = before
                tail += 1


@kernel
def measure_distances(start, stop, maps, neighbours, frontier, distances):
    """Write the fewest moves to a goal from each cell of some maps without slips.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    maps : (n, C) uint8, read
    neighbours : (C, 8) int64, read
        See `moves.make_neighbours`.
    frontier : (C,) int64, scratch
    distances : (n, C) int32, written
        0 on a goal, -1 where no goal can be reached.
    """
    for m in range(start, stop):
        _write_distances(m, maps, neighbours, frontier, distances)


@kernel
def _look_ahead(m, cell, action, lakes):
    """Return the chance and the steps if an action is taken until the player moves.

    For one attempt alone the chances of two actions would be nearly equal, where one of
    them hardly ever moves the player.

    Returns
    -------
    value : float64
        -1 if the action never moves the player.
    time : float64
    """
    leaving, value, time = 0.0, 0.0, 1.0
    for outcome in range(3):
        there = lakes.neighbours[cell, turn(action, outcome)]
        chance = lakes.slip[0, outcome]
        if there != cell:
            leaving += chance
            value += chance * lakes.values[m, there]
            time += chance * lakes.steps[m, there]
    return (value / leaving, time / leaving) if leaving > 0.0 else (-1.0, 0.0)


@kernel
def _number_cells(m, lakes, workspace):
    """Give numbers to the cells of ice with a way to a goal; return how many."""
    count = 0
    for cell in range(lakes.maps.shape[1]):
        workspace.numbers[cell] = -1
        if lakes.maps[m, cell] == ICE and lakes.distances[m, cell] > 0:
            workspace.cells[count], workspace.numbers[cell] = cell, count
            count += 1
    return count


@kernel
def _choose_first_policy(m, cells, lakes):
    """Choose in each cell the lowest action with some chance to come nearer."""
    distances, policies = lakes.distances, lakes.policies
    for cell in cells:
        policies[m, cell] = -1
        for action in range(4):
            for outcome in range(3):
                there = lakes.neighbours[cell, turn(action, outcome)]
                nearer = 0 <= distances[m, there] < distances[m, cell]
                if nearer and lakes.slip[0, outcome] > 0.0 and policies[m, cell] < 0:
                    policies[m, cell] = action


@kernel
def _link_cells(m, cells, lakes, workspace):
    """Write the chances of one step of a policy."""
    _, _, numbers, links, exits, goals, times, _, _ = workspace
    band = links.shape[1] // 2
    for i in range(len(cells)):
        for column in range(links.shape[1]):
            links[i, column] = 0.0
        exits[i], goals[i], times[i] = 0.0, 0.0, 1.0
        cell = cells[i]
        for outcome in range(3):
            there = lakes.neighbours[cell, turn(lakes.policies[m, cell], outcome)]
            chance = lakes.slip[0, outcome]
            if numbers[there] >= 0:
                links[i, band + numbers[there] - i] += chance
            else:
                exits[i] += chance
                goals[i] += chance * (lakes.maps[m, there] == GOAL)


@kernel
def _evaluate(m, cells, lakes, workspace):
    """Write the chance to reach a goal and the expected steps until the end."""
    _link_cells(m, cells, lakes, workspace)
    _, _, _, links, exits, goals, times, _, _ = workspace
    values, steps = lakes.values, lakes.steps
    band = links.shape[1] // 2
    # From the last cell on: the others have lower numbers.
    for i in range(len(cells) - 1, -1, -1):
        first = max(0, i - band)
        leaving = exits[i]
        for j in range(first, i):
            leaving += links[i, band + j - i]
        for j in range(first, i):
            links[i, band + j - i] /= leaving
        exits[i] /= leaving
        goals[i] /= leaving
        times[i] /= leaving
        for k in range(first, i):
            chance = links[k, band + i - k]
            if chance > 0.0:
                exits[k] += chance * exits[i]
                goals[k] += chance * goals[i]
                times[k] += chance * times[i]
                for j in range(first, i):
                    links[k, band + j - k] += chance * links[i, band + j - i]
    for i in range(len(cells)):
        value, time = goals[i], times[i]
        for j in range(max(0, i - band), i):
            value += links[i, band + j - i] * values[m, cells[j]]
            time += links[i, band + j - i] * steps[m, cells[j]]
        values[m, cells[i]] = value
        steps[m, cells[i]] = time


@kernel
def _raise_values(m, cells, lakes):
    """Take the actions with higher chances; return whether there were any."""
    improves = False
    for cell in cells:
        best = lakes.values[m, cell]
        for action in range(4):
            value, _ = _look_ahead(m, cell, action, lakes)
            if value > best * (1.0 + TOLERANCE):
                best, lakes.policies[m, cell], improves = value, action, True
    return improves


@kernel
def _save_steps(m, cells, tolerance, lakes):
    """Take actions with equal chances and fewer steps; return if there were any."""
    improves = False
    for cell in cells:
        best = lakes.steps[m, cell]
        for action in range(4):
            value, time = _look_ahead(m, cell, action, lakes)
            is_best = value >= lakes.values[m, cell] * (1.0 - tolerance)
            if is_best and time < best * (1.0 - TOLERANCE):
                best, lakes.policies[m, cell], improves = time, action, True
    return improves


@kernel
def _take_lowest_actions(m, cells, tolerance, lakes):
    """Take the lowest of the actions with equal chances and equal steps."""
    for cell in cells:
        for action in range(3, -1, -1):
            value, time = _look_ahead(m, cell, action, lakes)
            is_best = value >= lakes.values[m, cell] * (1.0 - tolerance)
            is_equal = time <= lakes.steps[m, cell] * (1.0 + TOLERANCE)
            # Beyond, one step more is no difference: the player might go in circles.
            if is_best and is_equal and lakes.steps[m, cell] < 0.1 / TOLERANCE:
                lakes.policies[m, cell] = action


@kernel
def _keeps_values(m, cells, best_values, values):
    """Return whether all chances are as high as the best ones."""
    for i in range(len(cells)):
        if values[m, cells[i]] < best_values[i] * (1.0 - TOLERANCE):
            return False
    return True


@kernel
def _shorten_policy(m, cells, lakes, workspace):
    """Find the quickest of the best policies, and of those the one of lowest actions.

    Many actions that are worse by less than the tolerance may add up, where the player
    waits for rare slips.  A change that makes a chance lower is taken back, and tried
    again with a smaller tolerance.
    """
    best_values, last_policy = workspace.best_values, workspace.last_policy
    tolerance, improves = TOLERANCE, True
    for i in range(len(cells)):
        best_values[i] = lakes.values[m, cells[i]]
    while tolerance > SMALLEST_TOLERANCE:
        for i in range(len(cells)):
            last_policy[i] = lakes.policies[m, cells[i]]
        if improves:
            improves = _save_steps(m, cells, tolerance, lakes)
        if not improves:
            _take_lowest_actions(m, cells, tolerance, lakes)
        _evaluate(m, cells, lakes, workspace)
        if _keeps_values(m, cells, best_values, lakes.values):
            if not improves:
                return
        else:
            for i in range(len(cells)):
                lakes.policies[m, cells[i]] = last_policy[i]
            _evaluate(m, cells, lakes, workspace)
            tolerance, improves = tolerance / 10.0, True


@kernel
def solve_maps(start, stop, saves_steps, lakes, workspace):
    """Write the highest chance to reach a goal from each cell of some slippery maps.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    saves_steps : bool
        False: some policy with the highest chances.  True: of these policies the one
        with the fewest expected steps, and of those the one with the lowest actions.
    lakes : tuple of the arrays of `Lakes`
        The results from ``distances`` on are written.
    workspace : tuple of the arrays of `SolverWorkspace`
    """
    lakes, workspace = Lakes(*lakes), SolverWorkspace(*workspace)
    maps, neighbours, _, distances, values, steps, policies = lakes
    for m in range(start, stop):
        _write_distances(m, maps, neighbours, workspace.frontier, distances)
        cells = workspace.cells[: _number_cells(m, lakes, workspace)]
        for cell in range(maps.shape[1]):
            values[m, cell] = 1.0 if maps[m, cell] == GOAL else 0.0
            steps[m, cell], policies[m, cell] = 0.0, 0
        _choose_first_policy(m, cells, lakes)
        for _ in range(MAX_ROUNDS):
            _evaluate(m, cells, lakes, workspace)
            if not _raise_values(m, cells, lakes):
                break
        if saves_steps:
            _shorten_policy(m, cells, lakes, workspace)
        for cell in range(maps.shape[1]):
            if values[m, cell] > 1.0 - TOLERANCE:
                values[m, cell] = 1.0
