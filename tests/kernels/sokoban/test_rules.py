"""Steps equal those of the oracle, bit for bit, also on boards no generator draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels.sokoban import rules as kernels
from tests.conftest import JIT_OFF
from tests.oracles.sokoban import OracleSokoban
from tests.oracles.solver import solve_sokoban

WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = range(7)
FIXED = np.array([WALL, FLOOR, TARGET, TARGET, FLOOR, FLOOR, TARGET], np.uint8)
OUTPUTS = {
    "rewards": np.float64,
    "terminations": np.bool_,
    "truncations": np.bool_,
    "effective": np.bool_,
    "valid": np.bool_,
    "successes": np.bool_,
}
# -0.1, then the box, then the end: the order decides the last bit.
REWARDS = {-0.1, -0.1 + 1.0, -0.1 - 1.0, -0.1 + 10.0, -0.1 + 1.0 + 10.0}

SOLVED_IN_TWO = """
#######
#P_X_O#
#######
"""


def parse(text):
    """Return the codes of a board drawn with ROLL's characters."""
    letters = {letter: code for code, letter in enumerate("#_O√XPS")}
    return np.array([[letters[c] for c in line] for line in text.split()], np.uint8)


def random_board(rng, height, width, num_boxes):
    """Return walls, boxes, targets and a player anywhere inside."""
    board = np.zeros((height, width), np.uint8)
    inner = np.where(rng.random((height - 2, width - 2)) < 0.15, WALL, FLOOR)
    cells = rng.permutation(inner.size)[: 2 * num_boxes + 1]
    inner.ravel()[cells] = FLOOR
    targets = np.zeros(inner.shape, bool)
    targets.ravel()[cells[:num_boxes]] = True
    # Some boxes are on targets already, but not all.
    first = rng.integers(0, num_boxes) if num_boxes > 1 else 0
    boxes = np.zeros(inner.shape, bool)
    boxes.ravel()[cells[num_boxes - first : 2 * num_boxes - first]] = True
    free = np.flatnonzero((inner == FLOOR) & ~boxes)
    player = np.zeros(inner.shape, bool)
    player.ravel()[rng.choice(free)] = True
    inner[targets] = TARGET
    inner[boxes] = np.where(targets[boxes], BOX_ON_TARGET, BOX)
    inner[player] = np.where(targets[player], PLAYER_ON_TARGET, PLAYER)
    board[1:-1, 1:-1] = inner
    return board


class Rows:
    """The state of some rooms, and a step of all of them."""

    def __init__(self, boards, num_boxes, max_steps=0, first_action=1):
        boards = np.asarray(boards, np.uint8)
        n, self.height, self.width = boards.shape
        self.num_boxes, self.max_steps = num_boxes, max_steps
        self.first_action = first_action
        self.grids = np.ascontiguousarray(boards.reshape(n, -1))
        self.players = np.array(
            [np.flatnonzero(g >= PLAYER)[0] for g in self.grids], np.int32
        )
        self.boxes_left = (self.grids == BOX).sum(axis=1).astype(np.int32)
        self.elapsed_steps = np.zeros(n, np.int32)

    @property
    def boxes_on_target(self):
        """Number of boxes on targets, by row."""
        return self.num_boxes - self.boxes_left

    @property
    def state(self):
        """The arrays of `RoomState`."""
        return self.grids, self.players, self.boxes_left, self.elapsed_steps

    def step(self, actions, skip_mask=None, start=0, stop=None):
        """Step some rows; return the results by name."""
        n = len(self.grids)
        if skip_mask is None:
            skip_mask = np.zeros(n, np.bool_)
        # Nothing of an earlier step may shine through.
        outputs = {name: np.full(n, 1, dtype) for name, dtype in OUTPUTS.items()}
        kernels.step_rows(
            start,
            n if stop is None else stop,
            np.asarray(actions, np.int64),
            skip_mask,
            self.first_action,
            self.width,
            self.max_steps,
            self.state,
            tuple(outputs.values()),
        )
        return outputs


@pytest.mark.parametrize("first_action", [0, 1])
@pytest.mark.parametrize("max_steps", [0, 25])
@pytest.mark.parametrize(
    ("height", "width", "num_boxes"),
    [(6, 6, 3), (5, 5, 1), (3, 9, 1), (9, 4, 2), (7, 12, 5), (6, 6, 2)],
)
def test_steps_equal_the_oracle(height, width, num_boxes, max_steps, first_action):
    rng = np.random.default_rng(height * 100 + width + max_steps)
    n, steps = (6, 30) if JIT_OFF else (40, 40)
    boards = [random_board(rng, height, width, num_boxes) for _ in range(n)]
    rows = Rows(boards, num_boxes, max_steps, first_action)
    games = [
        OracleSokoban(FIXED[board], np.minimum(board, PLAYER), max_steps)
        for board in boards
    ]
    for _ in range(steps):
        actions = rng.integers(0, 5, n)
        skip_mask = rng.random(n) < 0.2
        before = rows.grids.copy()
        outputs = rows.step(actions - 1 + first_action, skip_mask)
        for i, game in enumerate(games):
            results = {name: values[i] for name, values in outputs.items()}
            if skip_mask[i]:
                assert not any(results.values())
                np.testing.assert_array_equal(rows.grids[i], before[i])
            else:
                step = game.step(int(actions[i]))
                assert results == {
                    "rewards": step.reward,
                    "terminations": step.success,
                    "truncations": 0 < max_steps <= game.steps,
                    "effective": step.effective,
                    "valid": actions[i] != 0,
                    "successes": step.success,
                }
            grid = rows.grids[i].reshape(height, width)
            np.testing.assert_array_equal(grid, game.observe())
            assert divmod(int(rows.players[i]), width) == game.player
            assert rows.boxes_on_target[i] == game.boxes_on_target
            assert rows.elapsed_steps[i] == game.steps


def test_steps_meet_every_reward():
    rng = np.random.default_rng(8)
    n = 100
    rows = Rows([random_board(rng, 5, 6, 2) for _ in range(n)], 2)
    rewards = set()
    for _ in range(40):
        rewards.update(rows.step(rng.integers(0, 5, n))["rewards"].tolist())
        if rewards == REWARDS:
            break
    assert rewards == REWARDS


@pytest.mark.parametrize(
    ("max_steps", "expected_ends"),
    [
        (0, [(0, 0), (0, 0), (1, 0)]),
        (2, [(0, 0), (0, 1), (1, 1)]),
        # A success on the very step of the limit is both.
        (3, [(0, 0), (0, 0), (1, 1)]),
        (4, [(0, 0), (0, 0), (1, 0)]),
    ],
)
def test_ends_at_success_and_at_the_limit(max_steps, expected_ends):
    rows = Rows([parse(SOLVED_IN_TWO)], 1, max_steps)
    ends, rewards = [], []
    for _ in range(3):
        outputs = rows.step([4])
        ends.append((outputs["terminations"][0], outputs["truncations"][0]))
        rewards.append(outputs["rewards"][0])
    assert ends == expected_ends
    assert rewards == [-0.1, -0.1, -0.1 + 1.0 + 10.0]
    assert outputs["successes"][0]


def test_a_box_from_target_to_target_earns_nothing():
    # Two targets side by side, and a box elsewhere.
    rows = Rows([parse("######## #P√O__X# ########")], 2)
    results = []
    for _ in range(3):
        outputs = rows.step([4])
        assert outputs["effective"][0]
        results.append((outputs["rewards"][0], rows.boxes_on_target[0]))
    assert results == [(-0.1, 1), (-0.1 - 1.0, 0), (-0.1, 0)]


@pytest.mark.parametrize("seed", range(3 if JIT_OFF else 20))
def test_shortest_solutions_succeed_on_their_last_step(seed):
    rng = np.random.default_rng(seed)
    solution = None
    while not solution:
        board = random_board(rng, 5, 6, 2)
        solution = solve_sokoban(FIXED[board].tolist(), np.minimum(board, 5).tolist())
    rows = Rows([board], 2, len(solution))
    ends = [rows.step([action]) for action in solution]
    assert [bool(end["terminations"][0]) for end in ends[:-1]] == [False] * (
        len(solution) - 1
    )
    assert [bool(end["truncations"][0]) for end in ends[:-1]] == [False] * (
        len(solution) - 1
    )
    assert ends[-1]["terminations"][0]
    assert ends[-1]["truncations"][0]


def test_no_action_counts_and_moves_nothing():
    rows = Rows([parse(SOLVED_IN_TWO)] * 2, 1, 1)
    before = rows.grids.copy()
    outputs = rows.step([0, 0])
    np.testing.assert_array_equal(rows.grids, before)
    assert rows.elapsed_steps.tolist() == [1, 1]
    assert outputs["rewards"].tolist() == [-0.1, -0.1]
    assert outputs["truncations"].all()
    for name in ("terminations", "effective", "valid", "successes"):
        assert not outputs[name].any()


def test_a_range_leaves_the_other_rows_alone():
    rng = np.random.default_rng(1)
    boards = [random_board(rng, 6, 6, 2) for _ in range(9)]
    whole, halves = Rows(boards, 2, 5), Rows(boards, 2, 5)
    for _ in range(8):
        actions = rng.integers(0, 5, 9)
        outputs = whole.step(actions)
        results = [halves.step(actions, None, *part) for part in [(0, 4), (4, 9)]]
        for name, values in outputs.items():
            np.testing.assert_array_equal(results[0][name][:4], values[:4])
            np.testing.assert_array_equal(results[1][name][4:], values[4:])
            assert (results[0][name][4:] == 1).all()
            assert (results[1][name][:4] == 1).all()
    for array, whole_array in zip(halves.state, whole.state, strict=True):
        np.testing.assert_array_equal(array, whole_array)


@given(
    seed=st.integers(0, 2**32 - 1),
    height=st.integers(3, 8),
    width=st.integers(5, 8),
    num_boxes=st.integers(1, 4),
    actions=st.lists(st.integers(0, 4), min_size=1, max_size=40),
)
def test_steps_keep_walls_targets_boxes_and_one_player(
    seed, height, width, num_boxes, actions
):
    num_boxes = min(num_boxes, ((height - 2) * (width - 2) - 1) // 2)
    board = random_board(np.random.default_rng(seed), height, width, num_boxes)
    rows = Rows([board], num_boxes)
    for action in actions:
        outputs = rows.step([action])
        grid = rows.grids[0]
        np.testing.assert_array_equal(FIXED[grid], FIXED[board.ravel()])
        assert np.isin(grid, (BOX, BOX_ON_TARGET)).sum() == num_boxes
        assert np.flatnonzero(grid >= PLAYER).tolist() == [rows.players[0]]
        assert (grid == BOX_ON_TARGET).sum() == rows.boxes_on_target[0]
        assert outputs["rewards"][0] in REWARDS
        solved = rows.boxes_on_target[0] == num_boxes
        assert outputs["terminations"][0] == outputs["successes"][0] == solved


def test_step_row_is_what_step_rows_does():
    rng = np.random.default_rng(4)
    boards = [random_board(rng, 6, 7, 2) for _ in range(10)]
    rows, alone = Rows(boards, 2), Rows(boards, 2)
    for _ in range(20):
        actions = rng.integers(0, 5, 10)
        outputs = rows.step(actions)
        for i in range(10):
            player, boxes_left, reward, solved = kernels.step_row(
                alone.grids,
                i,
                7,
                int(alone.players[i]),
                int(alone.boxes_left[i]),
                int(actions[i]),
            )
            assert reward == outputs["rewards"][i]
            assert solved == outputs["successes"][i]
            assert (player != alone.players[i]) == outputs["effective"][i]
            alone.players[i], alone.boxes_left[i] = player, boxes_left
        np.testing.assert_array_equal(alone.grids, rows.grids)
        np.testing.assert_array_equal(alone.players, rows.players)
        np.testing.assert_array_equal(alone.boxes_left, rows.boxes_left)


def test_place_rows_puts_levels_into_their_rows():
    rng = np.random.default_rng(2)
    levels = np.array([random_board(rng, 6, 7, 3).ravel() for _ in range(20)])
    n = 12
    grids = np.full((n, 42), 99, np.uint8)
    players, boxes_left, elapsed_steps = np.full((3, n), 99, np.int32)
    rooms = grids, players, boxes_left, elapsed_steps
    rows = rng.permutation(n)[:9].astype(np.int64)
    level_indices = rng.integers(0, 20, 9)
    # In two ranges, and the last of the rows not at all.
    for start, stop in ((5, 8), (0, 5)):
        kernels.place_rows(start, stop, rows, levels, level_indices, rooms)
        if start:
            assert (grids[rows[:start]] == 99).all()
    for row in range(n):
        j = rows.tolist().index(row) if row in rows else 8
        if j == 8:
            assert (grids[row] == 99).all()
            assert players[row] == boxes_left[row] == 99
            continue
        level = levels[level_indices[j]]
        np.testing.assert_array_equal(grids[row], level)
        assert players[row] == np.flatnonzero(level >= PLAYER)[0]
        assert boxes_left[row] == (level == BOX).sum()
    assert len(set(boxes_left[rows[:8]].tolist())) > 1
    assert (elapsed_steps == 99).all()


def test_codes_are_rolls():
    assert kernels.NUM_CODES == 7
    assert (kernels.WALL, kernels.PLAYER, kernels.PLAYER_ON_TARGET) == (0, 5, 6)
    assert (kernels.NO_ACTION, kernels.UP, kernels.DOWN) == (0, 1, 2)
    assert (kernels.LEFT, kernels.RIGHT) == (3, 4)


def test_action_masks_are_the_effective_moves_of_the_oracle():
    rng = np.random.default_rng(0)
    for size in ((5, 6), (7, 5)):
        grids = np.stack(
            [random_board(rng, *size, 2) for _ in range(6 if JIT_OFF else 60)]
        )
        players = (grids >= PLAYER).reshape(len(grids), -1).argmax(1).astype(np.int32)
        # Some of the rooms, in another order.
        rows = rng.permutation(len(grids))[: len(grids) // 2]
        masks = np.full((len(rows), 4), 7, np.int8)
        flat = grids.reshape(len(grids), -1)
        kernels.write_action_masks(0, len(rows), rows, size[1], flat, players, masks)
        for row, mask in zip(rows, masks, strict=True):
            state = np.minimum(grids[row], PLAYER)
            for action in range(1, 5):
                game = OracleSokoban(FIXED[grids[row]], state, 9)
                assert mask[action - 1] == game.step(action).effective
        assert set(masks.ravel().tolist()) == {0, 1}


def test_sums_of_rewards_are_those_of_the_oracle():
    rng = np.random.default_rng(1)
    grids = np.stack([random_board(rng, 6, 7, 2) for _ in range(6 if JIT_OFF else 30)])
    lengths = rng.integers(0, 40, len(grids))
    lengths[0] = 0
    directions = rng.integers(0, 4, lengths.sum()).astype(np.int8)
    ends, sums = np.cumsum(lengths), np.full(len(grids), np.nan)
    played = grids.reshape(len(grids), -1).copy()
    kernels.sum_rewards(7, played, directions, ends, sums)
    for row, grid in enumerate(grids):
        game = OracleSokoban(FIXED[grid], np.minimum(grid, PLAYER), 999)
        total = 0.0
        for direction in directions[ends[row] - lengths[row] : ends[row]]:
            total += game.step(1 + int(direction)).reward
        assert sums[row] == total
        np.testing.assert_array_equal(played[row].reshape(grid.shape), game.observe())
