"""Generated rooms equal those of the oracle, cell for cell."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels.rng import mersenne_twister
from roll_vec.kernels.sokoban import rooms as kernels
from roll_vec.kernels.sokoban import search as sokoban_search
from tests.conftest import JIT_OFF
from tests.kernels.rng.test_pcg64 import fold_in_by_hand
from tests.oracles import sokoban_rooms as oracle
from tests.oracles.solver import solve_sokoban
from tests.plain import PlainKernels

WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = range(7)
UNTOUCHED = -1

# dim_room, boxes, depth, steps of the walk (None: the default), number of seeds
CONFIGS = [
    ((6, 6), 3, 300, None, 120),
    ((6, 6), 1, 300, None, 50),
    ((6, 6), 2, 10, None, 50),
    ((6, 6), 1, 1, None, 20),
    ((6, 6), 1, 2, None, 20),
    ((6, 6), 1, 3, None, 50),
    ((6, 6), 2, 50, 3, 50),
    ((6, 6), 5, 300, 40, 30),
    ((6, 6), 1, 50, 1, 30),
    ((3, 8), 1, 50, None, 30),
    ((12, 3), 2, 300, None, 30),
    ((4, 4), 1, 300, None, 30),
    ((3, 5), 1, 300, None, 30),
    ((5, 9), 2, 50, None, 30),
    ((9, 5), 4, 50, None, 40),
    ((7, 7), 4, 10, None, 30),
    ((10, 10), 4, 30, None, 20),
    # 63 and 64 floor cells: one word, until the boxes' bits come to them.
    ((11, 9), 1, 40, 400, 6),
    ((11, 9), 2, 30, 400, 6),
    ((10, 10), 1, 40, 400, 6),
    ((10, 10), 2, 30, 400, 6),
    # Cells and boxes that fill a word but for the wall's bit, and one more.
    ((11, 9), 1, 40, 250, 12),
    ((11, 9), 2, 30, 250, 12),
    # More cells than a word has bits, and than two words have.
    ((11, 11), 1, 300, 200, 20),
    ((10, 12), 3, 20, 300, 6),
    ((14, 14), 2, 60, 600, 6),
    ((4, 40), 2, 100, 300, 6),
]


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
    return PlainKernels(kernels, LANES=2, **constants)


def walk_steps(dim_room, num_gen_steps):
    """The number of steps of the walk, ROLL's default where it is None."""
    return int(1.7 * sum(dim_room)) if num_gen_steps is None else num_gen_steps


def draw_rooms(config, seeds, max_attempts=1, workspaces=None, module=kernels):
    """Draw each room by a call of its own; grids and statuses."""
    dim_room, num_boxes, search_depth, num_gen_steps = config[:4]
    seeds = np.array(seeds, np.uint64)
    grids = np.zeros((len(seeds), *dim_room), np.uint8)
    statuses = np.full(len(seeds), UNTOUCHED, np.int8)
    if workspaces is None:
        workspaces = module.make_workspaces(dim_room, num_boxes, search_depth)
    steps = walk_steps(dim_room, num_gen_steps)
    for i in range(len(seeds)):
        arguments = (seeds, num_boxes, search_depth, steps, max_attempts, *workspaces)
        module.generate_rooms(i, i + 1, *arguments, grids, statuses)
    return grids, statuses


def attempt_of(seed, num_boxes, search_depth, steps, grid, workspaces):
    """Draw one room, without another attempt; status and states searched."""
    workspace, lane = workspaces[0], seed % mersenne_twister.LANES
    workspace.seeds[lane] = seed
    mersenne_twister.mt_seed(
        workspace.seeds, workspace.python_states, workspace.numpy_states
    )
    return kernels.generate_room(
        lane, num_boxes, search_depth, steps, grid, *workspaces
    )


@cache
def oracle_room(config, seed):
    """The oracle's status, and its room as codes 0 to 6."""
    status, fixed, state = oracle.generate_room(seed, *config[:4])
    if status != oracle.ROOM:
        return status, None
    fixed, state = np.array(fixed), np.array(state)
    return status, np.where((state == PLAYER) & (fixed == TARGET), 6, state)


def assert_equal_to_oracle(config, seeds, grids, statuses):
    """Check rooms and statuses against the oracle's."""
    for seed, grid, status in zip(seeds, grids, statuses, strict=True):
        expected_status, expected_grid = oracle_room(config, int(seed))
        assert status == expected_status, f"seed {seed}"
        if expected_grid is not None:
            np.testing.assert_array_equal(grid, expected_grid, f"seed {seed}")


def test_statuses_are_those_of_the_golden_tables():
    assert (kernels.ROOM, kernels.TOO_FEW_CELLS, kernels.NO_SCORE) == (0, 1, 2)


@cache
def rooms_of(config):
    """The grids and statuses of a configuration."""
    return draw_rooms(config, seeds_of(config[4]))


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_rooms_equal_the_oracle(config):
    assert_equal_to_oracle(config, seeds_of(config[4]), *rooms_of(config))


@pytest.mark.slow
@pytest.mark.parametrize(
    "config", [((10, 10), 4, 300, None, 20), ((8, 8), 3, 300, None, 300)], ids=str
)
def test_rooms_of_deep_searches_equal_the_oracle(config):
    seeds = seeds_of(config[4])
    assert_equal_to_oracle(config, seeds, *draw_rooms(config, seeds))


def test_configurations_meet_what_they_are_there_for():
    cells, statuses = {}, set()
    for config in CONFIGS:
        for seed in seeds_of(config[4]).tolist():
            status, room = oracle_room(config, seed)
            statuses.add(status)
            if room is not None:
                cells.setdefault(config[0], set()).add(int((room > WALL).sum()))
    assert statuses == {0, 1, 2}
    assert max(cells[11, 9]) == 63
    assert max(cells[10, 10]) == 64
    assert 64 < max(cells[11, 11]) < 128
    assert 64 < max(cells[10, 12]) < 128
    assert max(cells[14, 14]) > 128


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


# ------------------------------------------------------------------- invariants


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_rooms_are_rooms(config):
    (height, width), num_boxes = config[:2]
    for grid, status in zip(*rooms_of(config), strict=True):
        if status != kernels.ROOM:
            continue
        count = np.bincount(grid.ravel(), minlength=7)
        assert len(count) == 7
        assert count[PLAYER] + count[PLAYER_ON_TARGET] == 1
        assert count[BOX] == num_boxes
        assert count[TARGET] + count[PLAYER_ON_TARGET] == num_boxes
        # A room begins with no box at home.
        assert count[BOX_ON_TARGET] == 0
        inner = np.zeros((height, width), bool)
        inner[1:-1, 1:-1] = True
        assert (grid[~inner] == WALL).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([10, 50, 300]))
def test_every_small_room_is_solvable(seed, num_boxes, search_depth):
    config = ((6, 6), num_boxes, search_depth, None)
    (grid,), (status,) = draw_rooms(config, [seed], max_attempts=100)
    assert status == kernels.ROOM
    fixed = np.array([0, 1, 2, 2, 1, 1, 2])[grid]
    assert solve_sokoban(fixed.tolist(), np.minimum(grid, PLAYER).tolist())


# ---------------------------------------------------------------------- retries


def test_retries_play_the_room_of_the_documented_seed():
    config = ((6, 6), 3, 300, None)
    seeds = seeds_of(250)
    grids, statuses = draw_rooms(config, seeds, max_attempts=60)
    assert not statuses.any()
    attempts = []
    for seed, grid in zip(seeds.tolist(), grids, strict=True):
        attempt, (status, room) = 0, oracle_room(config, seed)
        while status != oracle.ROOM:
            attempt += 1
            retry = fold_in_by_hand(seed, 2**63 + attempt)
            status, room = oracle_room(config, retry)
        np.testing.assert_array_equal(grid, room, f"seed {seed}, attempt {attempt}")
        attempts.append(attempt)
    assert min(attempts) == 0
    assert max(attempts) >= (1 if JIT_OFF else 3)


@pytest.mark.parametrize("max_attempts", [1, 2, 3])
def test_attempts_end_at_their_limit(max_attempts):
    config = ((6, 6), 3, 300, None)
    seeds = seeds_of(60)
    grids, statuses = draw_rooms(config, seeds, max_attempts)
    for i, seed in enumerate(seeds.tolist()):
        attempts = [seed] + [
            fold_in_by_hand(seed, 2**63 + t) for t in range(1, max_attempts)
        ]
        outcomes = [oracle_room(config, one) for one in attempts]
        rooms = [room for status, room in outcomes if status == oracle.ROOM]
        if rooms:
            assert statuses[i] == kernels.ROOM
            np.testing.assert_array_equal(grids[i], rooms[0])
        else:
            assert statuses[i] == outcomes[-1][0]


def test_searching_ends_at_its_limit():
    # A corridor with three boxes: searched each time, and never a room.
    config = ((3, 12), 3, 300, 60)
    few = plain(MAX_SEARCHED=100)
    workspaces = few.make_workspaces(*config[:3])
    grid = np.zeros(config[0], np.uint8)
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
    workspaces = kernels.make_workspaces(*config[:3])
    assert attempt_of(5, 3, 300, 60, grid, workspaces) == attempts[0][1]


# ----------------------------------------------------------------- rows and ranges


def generate(config, seeds, ranges, max_attempts=50):
    """Draw rooms range by range in one workspace; grids and statuses."""
    dim_room, num_boxes, search_depth = config[:3]
    seeds = np.array(seeds, np.uint64)
    grids = np.full((len(seeds), *dim_room), 99, np.uint8)
    statuses = np.full(len(seeds), UNTOUCHED, np.int8)
    workspaces = kernels.make_workspaces(dim_room, num_boxes, search_depth)
    for start, stop in ranges:
        arguments = (seeds, num_boxes, search_depth, walk_steps(dim_room, None))
        kernels.generate_rooms(
            start, stop, *arguments, max_attempts, *workspaces, grids, statuses
        )
    return grids, statuses


def test_rows_do_not_depend_on_the_ranges():
    config = ((6, 6), 2, 100, None)
    seeds = seeds_of(60)
    n = len(seeds)
    grids, statuses = generate(config, seeds, [(0, n)])
    assert not statuses.any()
    for ranges in ([(0, 1), (1, n)], [(n // 2, n), (0, n // 2)], [(0, n), (0, n)]):
        np.testing.assert_array_equal(generate(config, seeds, ranges)[0], grids)
    reverse, _ = generate(config, seeds[::-1], [(0, n)])
    np.testing.assert_array_equal(reverse[::-1], grids)
    twice, _ = generate(config, np.repeat(seeds, 2), [(0, 2 * n)])
    np.testing.assert_array_equal(twice[::2], grids)
    np.testing.assert_array_equal(twice[1::2], grids)


def test_a_range_leaves_the_other_rows_alone():
    grids, statuses = generate(((6, 6), 1, 50, None), seeds_of(10), [(1, 3)])
    assert (statuses == 0).nonzero()[0].tolist() == [1, 2]
    assert (grids[[0, *range(3, len(grids))]] == 99).all()


def test_a_workspace_may_have_been_used_for_anything():
    configs = [((9, 9), 3, 20, 30), ((9, 9), 3, 20, 200), ((9, 9), 3, 20, 5)]
    workspaces = kernels.make_workspaces((9, 9), 3, 20)
    for _ in range(2):
        for config in configs:
            seeds = seeds_of(12)
            grids, statuses = draw_rooms(config, seeds, workspaces=workspaces)
            fresh, fresh_statuses = draw_rooms(config, seeds)
            np.testing.assert_array_equal(statuses, fresh_statuses)
            rooms = statuses == kernels.ROOM
            np.testing.assert_array_equal(grids[rooms], fresh[rooms])


def test_work_stops_at_the_first_row_without_a_room():
    config = ((6, 6), 3, 300, None)
    # Seeds of rooms and, at number 4, one that has none.
    rooms = [s for s in range(200) if oracle_room(config, s)[0] == 0][:8]
    failing = next(s for s in range(200) if oracle_room(config, s)[0] == 2)
    seeds = [*rooms[:4], failing, *rooms[4:]]
    grids, statuses = generate(config, seeds, [(0, 9)], max_attempts=1)
    assert statuses.tolist() == [0] * 4 + [2] + [UNTOUCHED] * 4
    assert (grids[5:] == 99).all()
    assert_equal_to_oracle(config, seeds[:4], grids[:4], statuses[:4])


# --------------------------------------------------- the table of visited states


def test_the_table_grows():
    # So many states, of at most 36 cells a board, that the first table is too small.
    config = ((7, 8), 3, 60, 200) if JIT_OFF else ((8, 8), 3, 60, 200)
    dim_room, num_boxes, search_depth, steps = config
    workspaces = kernels.make_workspaces(dim_room, num_boxes, search_depth)
    most = 0
    for seed in range(1 if JIT_OFF else 4):
        grid = np.zeros(dim_room, np.uint8)
        status, searched = attempt_of(
            seed, num_boxes, search_depth, steps, grid, workspaces
        )
        assert_equal_to_oracle(config, [seed], [grid], [status])
        most = max(most, searched)
    assert most // 36 > 2 * 2**sokoban_search.FIRST_BITS


@pytest.mark.parametrize("bitboard_bits", BITBOARD_BITS)
def test_a_crowded_table_gives_the_same_rooms(bitboard_bits):
    config = ((6, 6), 2, 30, 20)
    seeds = seeds_of(8)
    grids, statuses = draw_rooms(config, seeds)
    crowded = plain(FIRST_BITS=1, BITBOARD_BITS=bitboard_bits)
    again, statuses_again = draw_rooms(config, seeds, module=crowded)
    np.testing.assert_array_equal(statuses_again, statuses)
    assert (statuses == kernels.ROOM).any()
    np.testing.assert_array_equal(again[statuses == 0], grids[statuses == 0])
    # Half of the hash's bits gone: long chains of collisions, and nothing else.
    colliding = plain(_HASH=np.uint64(1), BITBOARD_BITS=bitboard_bits)
    again, _ = draw_rooms(config, seeds[:4], module=colliding)
    np.testing.assert_array_equal(
        again[statuses[:4] == 0], grids[:4][statuses[:4] == 0]
    )


@pytest.mark.parametrize("bitboard_bits", BITBOARD_BITS)
@pytest.mark.parametrize("cap", [*range(1, 30), 100, 577, 578])
def test_a_search_ends_at_its_cap_of_states(cap, bitboard_bits, monkeypatch):
    # The order in which states are visited shows in the best one among the first.
    monkeypatch.setattr(oracle, "MAX_STATES", cap)
    capped = plain(MAX_VISITED=cap, BITBOARD_BITS=bitboard_bits)
    config = ((6, 6), 1 + cap % 2, 300, 30)
    for seed in seeds_of(3).tolist():
        (grid,), (status,) = draw_rooms(config, [seed], module=capped)
        expected_status, expected_grid = oracle_room.__wrapped__(config, seed)
        assert status == expected_status
        if expected_grid is not None:
            np.testing.assert_array_equal(grid, expected_grid)


@pytest.mark.parametrize("config", CONFIGS[:8], ids=str)
def test_the_search_for_large_rooms_draws_small_ones_as_well(config):
    seeds = seeds_of(6)
    arrays = plain(BITBOARD_BITS=0)
    assert_equal_to_oracle(config, seeds, *draw_rooms(config, seeds, module=arrays))


def test_the_caps_are_those_of_roll():
    assert kernels.MAX_VISITED == oracle.MAX_STATES == 300_000
    assert kernels.TRIES == oracle.TRIES == 4
    # A full search has room in the largest table.
    assert kernels.MAX_VISITED < 2 ** (sokoban_search.LAST_BITS - 1)
