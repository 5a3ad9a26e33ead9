"""Random maps of FrozenLake, in the codes of `moves`.

Source: ROLL at 35bea6a2, `roll/agentic/env/frozen_lake/utils.py`.
"""

from typing import NamedTuple

import numpy as np

from .._jit import kernel
from ..rng.pcg64 import pcg_integers, pcg_random, pcg_seed
from .moves import GOAL, HOLE, ICE

# ROLL draws a map again until it is solvable.  Its size and p decide how often; after
# this many draws, or this many drawn cells (a second or so), the configuration is
# taken to have no solvable map.
MAX_DRAWS = 100_000
MAX_DRAWN_CELLS = 100_000_000
# The generator's row: a uint64, as elsewhere, so that generators are compiled once.
_0 = np.uint64(0)


class MapWorkspace(NamedTuple):
    """Scratch arrays of one thread, for maps of C cells."""

    rng_states: np.ndarray  # (6, 1) uint64
    frontier: np.ndarray  # (C,) int64
    visited: np.ndarray  # (C,) bool


class MapBatch(NamedTuple):
    """The maps of n seeds, C cells each; written."""

    maps: np.ndarray  # (n, C) uint8
    starts: np.ndarray  # (n,) int64, the start cells
    ok: np.ndarray  # (n,) bool, set to True where a solvable map was drawn


@kernel
def _is_solvable(maps, m, neighbours, start, frontier, visited):
    """Return whether the goal can be reached from a cell without entering a hole."""
    visited[:] = False
    visited[start] = True
    frontier[0] = start
    size = 1
    while size > 0:
        size -= 1
        cell = frontier[size]
        for direction in range(4):
            neighbour = neighbours[cell, direction]
            if maps[m, neighbour] == GOAL:
                return True
            if maps[m, neighbour] != HOLE and not visited[neighbour]:
                visited[neighbour] = True
                frontier[size] = neighbour
                size += 1
    return False


@kernel
def generate_maps(start, stop, seeds, size, frozen, neighbours, workspace, batch):
    """Draw one solvable map a row, as ROLL's `generate_random_map(size, p, seed)`.

    The work stops at the first row without a solvable map.

    Parameters
    ----------
    start, stop : int
        The rows to work on.
    seeds : (n,) uint64, read
    size : int
    frozen : float
        Cumulative probability of ice, as `Generator.choice` computes it.
    neighbours : (size * size, 8) int64, read
    workspace : tuple of the arrays of `MapWorkspace`
    batch : tuple of the arrays of `MapBatch`, written
    """
    rng_states, frontier, visited = MapWorkspace(*workspace)
    maps, starts, ok = MapBatch(*batch)
    for i in range(start, stop):
        pcg_seed(rng_states, _0, seeds[i])
        for _ in range(min(MAX_DRAWS, MAX_DRAWN_CELLS // (size * size) + 1)):
            for cell in range(size * size):
                maps[i, cell] = ICE if pcg_random(rng_states, _0) < frozen else HOLE
            row = pcg_integers(rng_states, _0, size)
            begin = row * size + pcg_integers(rng_states, _0, size)
            row = pcg_integers(rng_states, _0, size)
            goal = row * size + pcg_integers(rng_states, _0, size)
            if begin == goal:
                continue
            maps[i, begin] = ICE
            maps[i, goal] = GOAL
            starts[i] = begin
            if _is_solvable(maps, i, neighbours, begin, frontier, visited):
                ok[i] = True
                break
        if not ok[i]:
            return
