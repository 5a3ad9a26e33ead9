"""Random maps of FrozenLake, in the codes of `frozen_lake`.

Source: ROLL at 35bea6a2, `roll/agentic/env/frozen_lake/utils.py`.
"""

from .._jit import kernel
from ..rng.pcg64 import pcg_integers, pcg_random, pcg_seed
from .rules import GOAL, HOLE, ICE

# ROLL redraws a map until it is solvable.  Its size and p decide how often; after
# this many draws, or this many drawn cells (a second or so), the configuration is
# taken to have no solvable map.
MAX_DRAWS = 100_000
MAX_CELLS = 100_000_000


@kernel
def _solvable(maps, m, neighbours, start, frontier, seen):
    """Return whether the goal can be reached from a cell without entering a hole."""
    seen[:] = False
    seen[start] = True
    frontier[0] = start
    size = 1
    while size > 0:
        size -= 1
        cell = frontier[size]
        for direction in range(4):
            ahead = neighbours[cell, direction]
            if maps[m, ahead] == GOAL:
                return True
            if maps[m, ahead] != HOLE and not seen[ahead]:
                seen[ahead] = True
                frontier[size] = ahead
                size += 1
    return False


@kernel
def generate_maps(
    start,
    stop,
    seeds,
    size,
    frozen,
    neighbours,
    stream,
    frontier,
    seen,
    maps,
    starts,
    ok,
):
    """Draw one solvable map a row, as ROLL's `generate_random_map(size, p, seed)`.

    The work stops at the first row for which all draws were in vain.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    seeds : (n,) uint64, read
    size : int
    frozen : float
        Cumulative probability of ice, as `Generator.choice` computes it.
    neighbours : (size * size, 8) int64, read
    stream : (6, 1) uint64, scratch
    frontier : (size * size,) int64, scratch
    seen : (size * size,) bool, scratch
    maps : (n, size * size) uint8, written
    starts : (n,) int64, written
        The start cell.
    ok : (n,) bool, set to True where a map was found
    """
    for i in range(start, stop):
        pcg_seed(stream, 0, seeds[i])
        for _ in range(min(MAX_DRAWS, MAX_CELLS // (size * size) + 1)):
            for cell in range(size * size):
                maps[i, cell] = ICE if pcg_random(stream, 0) < frozen else HOLE
            row, col = pcg_integers(stream, 0, size), pcg_integers(stream, 0, size)
            begin = row * size + col
            row, col = pcg_integers(stream, 0, size), pcg_integers(stream, 0, size)
            goal = row * size + col
            if begin == goal:
                continue
            maps[i, begin] = ICE
            maps[i, goal] = GOAL
            starts[i] = begin
            if _solvable(maps, i, neighbours, begin, frontier, seen):
                ok[i] = True
                break
        if not ok[i]:
            return
