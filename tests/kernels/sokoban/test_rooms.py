"""Rooms are drawn as by the oracle: cell for cell."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels.sokoban import moves
from roll_vec.kernels.sokoban import reverse_search as sokoban_search
from roll_vec.kernels.sokoban import rooms as kernels
from tests.conftest import JIT_OFF
from tests.kernels.test_rng import fold_in_by_hand
from tests.oracles import sokoban as oracle
from tests.plain import PlainKernels

UNTOUCHED = -1

# dim_room, boxes, depth, steps of the walk (None: the default), number of seeds
CONFIGS = [
    ((6, 6), 3, 300, None, 60),
    ((6, 6), 1, 300, None, 10),
    ((6, 6), 2, 10, None, 20),
    ((6, 6), 1, 1, None, 5),
    ((6, 6), 1, 2, None, 5),
    ((6, 6), 1, 3, None, 20),
    ((6, 6), 2, 50, 3, 20),
    ((6, 6), 5, 300, 40, 10),
    ((3, 8), 1, 50, None, 10),
    ((12, 3), 2, 300, None, 10),
    ((4, 4), 1, 300, None, 10),
    ((5, 9), 2, 50, None, 10),
    ((7, 7), 4, 10, None, 10),
    ((10, 10), 4, 30, None, 6),
    # 63 and 64 floor cells: one word, until the boxes' bits come to them.
    ((11, 9), 2, 30, 400, 6),
    ((10, 10), 1, 40, 400, 6),
    # Cells and boxes that fill a word but for the wall's bit, and one more.
    ((11, 9), 1, 40, 250, 12),
    ((11, 9), 2, 30, 250, 12),
    # More cells than a word has bits, and than two words have.
    ((11, 11), 1, 300, 200, 6),
    ((10, 12), 3, 20, 300, 6),
    ((14, 14), 2, 60, 600, 4),
    ((4, 40), 2, 100, 300, 4),
]
# With a deep search or many cells a room takes the oracle some tenths of a second.
if JIT_OFF:
    CONFIGS = [(*config[:4], 3) for config in CONFIGS[:12] + CONFIGS[14:20:3]]


def seeds_of(number):
    """Some seeds, the ends of their range among them."""
    number = min(number, 5) if JIT_OFF else number
    seeds = np.random.default_rng(number).integers(0, 2**32, number, np.uint64)
    seeds[:3] = 0, 2**32 - 1, 2**31
    return seeds


# The bitboard search is for rooms with fewer floor cells and boxes; 0: for none.
BITBOARD_BITS = [kernels.BITBOARD_BITS, 0]


def plain(**constants):
    """The kernels as plain Python, which seeds few lanes faster than many."""
    rows = {"ROW": 1, "COUNTS": 624, "PLANS": 625, "_227": 227, "_397": 397}
    distances = {name: np.uint64(2 * number) for name, number in rows.items()}
    return PlainKernels(kernels, LANES=2, **distances, **constants)


def draw_rooms(
    config, seeds, max_attempts=1, workspaces=None, module=kernels, ranges=None
):
    """Draw rooms by a call for each, or for ranges; grids and statuses."""
    dim_room, num_boxes, search_depth, steps = config[:4]
    steps = int(1.7 * sum(dim_room)) if steps is None else steps
    seeds = np.array(seeds, np.uint64)
    grids = np.full((len(seeds), *dim_room), 99, np.uint8)
    statuses = np.full(len(seeds), UNTOUCHED, np.int8)
    if workspaces is None:
        workspaces = module.make_workspaces(dim_room, num_boxes, search_depth)
    for start, stop in ranges or [(i, i + 1) for i in range(len(seeds))]:
        settings = num_boxes, search_depth, steps
        arguments = (seeds, settings, max_attempts, *workspaces)
        module.generate_rooms(start, stop, *arguments, (grids, statuses))
    return grids, statuses


@cache
def oracle_room(config, seed):
    """The oracle's status, and its room as codes 0 to 6."""
    status, fixed, state = oracle.generate_room(seed, *config[:4])
    if status != oracle.ROOM:
        return status, None
    fixed, state = np.array(fixed), np.array(state)
    return status, np.where((state == moves.PLAYER) & (fixed == moves.TARGET), 6, state)


def assert_equal_to_oracle(config, seeds, grids, statuses):
    """Check rooms and statuses against the oracle's."""
    for seed, grid, status in zip(seeds, grids, statuses, strict=True):
        expected_status, expected_grid = oracle_room(config, int(seed))
        assert status == expected_status, f"seed {seed}"
        if expected_grid is not None:
            np.testing.assert_array_equal(grid, expected_grid, f"seed {seed}")


DEEP = [((10, 10), 4, 300, None, 8), ((8, 8), 3, 300, None, 60)]


@pytest.mark.parametrize(
    "config",
    [*CONFIGS, *(pytest.param(one, marks=pytest.mark.slow) for one in DEEP)],
    ids=str,
)
def test_rooms_equal_the_oracle(config):
    seeds = seeds_of(config[4])
    assert_equal_to_oracle(config, seeds, *draw_rooms(config, seeds))


@given(
    dim_room=st.tuples(st.integers(3, 9), st.integers(3, 9)),
    num_boxes=st.integers(1, 5),
    search_depth=st.sampled_from([1, 2, 3, 4, 7, 10, 25]),
    num_gen_steps=st.integers(1, 60),
    seed=st.integers(0, 2**32 - 1),
)
def test_rooms_of_any_configuration_equal_the_oracle(
    dim_room, num_boxes, search_depth, num_gen_steps, seed
):
    num_boxes = min(num_boxes, max(1, (dim_room[0] - 2) * (dim_room[1] - 2) - 2))
    config = (dim_room, num_boxes, search_depth, num_gen_steps)
    assert_equal_to_oracle(config, [seed], *draw_rooms(config, [seed]))


SMALL = ((6, 6), 3, 300, None)


def expected_room(config, seed, max_attempts):
    """The status and the room of a seed with retries, and the number of the last."""
    for attempt in range(max_attempts):
        one = fold_in_by_hand(seed, 2**63 + attempt) if attempt else seed
        status, room = oracle_room(config, one)
        if status == oracle.ROOM:
            break
    return status, room, attempt


@pytest.mark.parametrize("max_attempts", [1, 2, 60])
def test_retries_play_the_room_of_the_documented_seed(max_attempts):
    seeds, attempts = seeds_of(80), []
    # With so many attempts each row has a room, also beside others in one call.
    n = len(seeds)
    ranges = [(n // 2, n), (0, n // 2)] if max_attempts == 60 else None
    drawn = draw_rooms(SMALL, seeds, max_attempts, ranges=ranges)
    for seed, grid, status in zip(seeds.tolist(), *drawn, strict=True):
        expected_status, room, attempt = expected_room(SMALL, seed, max_attempts)
        assert status == expected_status, f"seed {seed}"
        if room is not None:
            np.testing.assert_array_equal(grid, room, f"seed {seed}, {attempt}")
        attempts.append(attempt)
    assert min(attempts) == 0
    assert max(attempts) >= min(max_attempts - 1, 1 if JIT_OFF else 3)


def test_searching_ends_at_its_limit():
    # A corridor with three boxes: searched each time, and never a room.
    config = ((3, 12), 3, 300, 60)
    few = plain(MAX_SEARCHED=100)
    workspaces = few.make_workspaces(*config[:3])
    attempts = []
    inner = few.generate_room

    def count(lane, *arguments):
        attempts.append((workspaces[0].seeds[lane], inner(lane, *arguments)))
        return attempts[-1][1]

    few.generate_room = count
    _, (status,) = draw_rooms(config, [5], 1000, workspaces, few)
    assert status == kernels.NO_SCORE
    searched = [outcome[1] for _, outcome in attempts]
    assert sum(searched[:-1]) <= 100 < sum(searched)
    seeds = [5] + [fold_in_by_hand(5, 2**63 + t) for t in range(1, len(attempts))]
    assert [int(seed) for seed, _ in attempts] == seeds


@pytest.mark.skipif(JIT_OFF, reason="the same rooms as above")
def test_a_workspace_may_have_been_used_for_anything():
    configs = [((9, 9), 3, 20, 30), ((9, 9), 3, 20, 200), ((9, 9), 3, 20, 5)]
    workspaces = kernels.make_workspaces((9, 9), 3, 20)
    for _ in range(2):
        for config in configs:
            seeds = seeds_of(6)
            grids, statuses = draw_rooms(config, seeds, workspaces=workspaces)
            assert_equal_to_oracle(config, seeds, grids, statuses)


def test_work_stops_at_the_first_row_without_a_room():
    # Seeds of rooms and, at number 4, one that has none.
    rooms = [s for s in range(40) if oracle_room(SMALL, s)[0] == 0][:8]
    failing = next(s for s in range(200) if oracle_room(SMALL, s)[0] == 2)
    seeds = [*rooms[:4], failing, *rooms[4:]]
    grids, statuses = draw_rooms(SMALL, seeds, ranges=[(0, 9)])
    assert statuses.tolist() == [0] * 4 + [2] + [UNTOUCHED] * 4
    assert (grids[5:] == 99).all()
    assert_equal_to_oracle(SMALL, seeds[:4], grids[:4], statuses[:4])
    grids, statuses = draw_rooms(SMALL, seeds, ranges=[(1, 3)])
    assert (statuses == 0).nonzero()[0].tolist() == [1, 2]
    assert (grids[[0, 3]] == 99).all()


def test_the_table_grows():
    # So many states, of at most 36 cells a board, that the first table is too small.
    config = ((7, 8), 3, 60, 200)
    workspaces = kernels.make_workspaces(*config[:3])
    assert_equal_to_oracle(config, [0], *draw_rooms(config, [0], workspaces=workspaces))
    searched = workspaces[0].queue[0, 2]
    assert searched // 36 > 2 * 2**sokoban_search.FIRST_BITS


@pytest.mark.parametrize("bitboard_bits", BITBOARD_BITS)
def test_a_crowded_table_gives_the_same_rooms(bitboard_bits):
    # Half of the hash's bits gone: long chains of collisions, and nothing else.
    config, seeds = ((6, 6), 2, 30, 20), seeds_of(4)
    for constants in ({"FIRST_BITS": 1}, {"_HASH": np.uint64(1)}):
        crowded = plain(**constants, BITBOARD_BITS=bitboard_bits)
        drawn = draw_rooms(config, seeds, module=crowded)
        assert_equal_to_oracle(config, seeds, *drawn)


@pytest.mark.parametrize("bitboard_bits", BITBOARD_BITS)
@pytest.mark.parametrize("cap", [1, 2, 3, 5, 8, 22, 100, 577])
def test_a_search_ends_at_its_cap_of_states(cap, bitboard_bits, monkeypatch):
    # The order in which states are visited shows in the best one among the first.
    monkeypatch.setattr(oracle, "MAX_STATES", cap)
    capped = plain(MAX_VISITED=cap, BITBOARD_BITS=bitboard_bits)
    config = ((6, 6), 1 + cap % 2, 300, 30)
    for seed in seeds_of(3)[:2].tolist():
        (grid,), (status,) = draw_rooms(config, [seed], module=capped)
        expected_status, expected_grid = oracle_room.__wrapped__(config, seed)
        assert status == expected_status
        if expected_grid is not None:
            np.testing.assert_array_equal(grid, expected_grid)


def test_the_caps_are_those_of_roll():
    assert kernels.MAX_VISITED == oracle.MAX_STATES == 300_000
    assert kernels.TRIES == oracle.TRIES == 4
    # A full search has room in the largest table.
    assert kernels.MAX_VISITED < 2 ** (sokoban_search.LAST_BITS - 1)
