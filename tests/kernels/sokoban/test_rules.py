"""Steps equal those of the oracle, bit for bit, also on boards no generator draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.kernels.sokoban import rules
from roll_vec.kernels.sokoban.rules import BOX, BOX_ON_TARGET, FLOOR, PLAYER, TARGET
from tests.conftest import JIT_OFF
from tests.oracles.sokoban import OracleSokoban
from tests.oracles.solver import solve_sokoban

FIXED = np.array([0, 1, 2, 2, 1, 1, 2], np.uint8)
OUTPUTS = ("rewards", "terminations", "truncations", "effective", "valid", "successes")
# -0.1, then the box, then the end: the order decides the last bit.
REWARDS = {-0.1, -0.1 + 1.0, -0.1 - 1.0, -0.1 + 10.0, -0.1 + 1.0 + 10.0}


def random_board(rng, height, width, num_boxes):
    """Return walls, boxes, targets and a player anywhere inside."""
    board = np.zeros((height, width), np.uint8)
    inner = np.where(rng.random((height - 2, width - 2)) < 0.15, rules.WALL, FLOOR)
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
    inner[player] = np.where(targets[player], rules.PLAYER_ON_TARGET, PLAYER)
    board[1:-1, 1:-1] = inner
    return board


def make_oracle(board, max_steps=0):
    """Return a game of the oracle on a board."""
    return OracleSokoban(FIXED[board], np.minimum(board, PLAYER), max_steps)


class Rooms:
    """Rooms of one size beside their oracles; kernels are called for two ranges."""

    def __init__(self, boards, max_steps=0, first_action=1):
        boards = np.asarray(boards, np.uint8)
        n, _, self.width = boards.shape
        self.max_steps, self.first_action = max_steps, first_action
        self.games = [make_oracle(board, max_steps) for board in boards]
        flat = boards.reshape(n, -1)
        self.state = rules.RoomState(
            flat.copy(),
            (flat >= PLAYER).argmax(axis=1).astype(np.int32),
            (flat == BOX).sum(axis=1).astype(np.int32),
            np.zeros(n, np.int32),
        )
        self.ranges = ((n // 3, n), (0, n // 3))

    def step(self, actions, skip_mask):
        """Play oracle's actions, 0 to 4, in kernel and oracles; return the results."""
        n = len(self.games)
        # Nothing of an earlier step may shine through.
        outputs = [np.ones(n, np.bool_ if i else np.float64) for i in range(6)]
        for start, stop in self.ranges:
            before = outputs[0].copy()
            rules.step_rows(
                start,
                stop,
                actions - 1 + self.first_action,
                skip_mask,
                self.first_action,
                self.width,
                self.max_steps,
                tuple(self.state),
                tuple(outputs),
            )
            assert (outputs[0][:start] == before[:start]).all()
        for i, game in enumerate(self.games):
            results = [values[i] for values in outputs]
            if skip_mask[i]:
                assert not any(results)
            else:
                step = game.step(int(actions[i]))
                at_limit = 0 < self.max_steps <= game.steps
                moved, valid = step.effective, actions[i] != 0
                ends = [step.success, at_limit]
                assert results == [step.reward, *ends, moved, valid, step.success]
            grid = self.state.grids[i].reshape(-1, self.width)
            np.testing.assert_array_equal(grid, game.observe())
            assert divmod(int(self.state.players[i]), self.width) == game.player
            assert self.state.boxes_left[i] == game.num_boxes - game.boxes_on_target
            assert self.state.elapsed_steps[i] == game.steps
        return dict(zip(OUTPUTS, outputs, strict=True))


@pytest.mark.parametrize(
    ("height", "width", "num_boxes", "max_steps", "first_action"),
    [(6, 6, 3, 25, 1), (5, 5, 1, 0, 0), (3, 9, 1, 25, 0), (9, 4, 2, 0, 1)],
)
def test_steps_equal_the_oracle(height, width, num_boxes, max_steps, first_action):
    rng = np.random.default_rng(height)
    n, steps = (6, 30) if JIT_OFF else (30, 40)
    boards = [random_board(rng, height, width, num_boxes) for _ in range(n)]
    rooms = Rooms(boards, max_steps, first_action)
    for _ in range(steps):
        rooms.step(rng.integers(0, 5, n), rng.random(n) < 0.2)


@given(
    seed=st.integers(0, 2**32 - 1),
    height=st.integers(3, 8),
    width=st.integers(5, 8),
    num_boxes=st.integers(1, 4),
    max_steps=st.integers(0, 40),
)
def test_any_room_is_played_as_by_the_oracle(seed, height, width, num_boxes, max_steps):
    num_boxes = min(num_boxes, ((height - 2) * (width - 2) - 1) // 2)
    rng = np.random.default_rng(seed)
    rooms = Rooms([random_board(rng, height, width, num_boxes)] * 2, max_steps)
    for actions in rng.integers(0, 5, (40, 2)):
        rooms.step(actions, rng.random(2) < 0.1)


def test_steps_meet_every_reward():
    rng, rewards = np.random.default_rng(8), set()
    rooms = Rooms([random_board(rng, 5, 6, 2) for _ in range(100)])
    for _ in range(40):
        outputs = rooms.step(rng.integers(0, 5, 100), np.zeros(100, np.bool_))
        rewards.update(outputs["rewards"].tolist())
        if rewards == REWARDS:
            break
    assert rewards == REWARDS


@pytest.mark.parametrize("seed", range(3 if JIT_OFF else 8))
def test_shortest_solutions_succeed_on_their_last_step(seed):
    rng, solution = np.random.default_rng(seed), None
    while not solution:
        board = random_board(rng, 5, 6, 2)
        solution = solve_sokoban(FIXED[board].tolist(), np.minimum(board, 5).tolist())
    # On the very step of the limit both ends are reported.
    rooms = Rooms([board], len(solution))
    ends = [rooms.step(np.array([a]), np.zeros(1, np.bool_)) for a in solution]
    for name in ("terminations", "truncations"):
        assert [end[name][0] for end in ends] == [False] * (len(solution) - 1) + [True]


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
        rules.place_rows(start, stop, rows, levels, level_indices, rooms)
        assert not start or (grids[rows[:start]] == 99).all()
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


def test_action_masks_are_the_effective_moves_of_the_oracle():
    rng = np.random.default_rng(0)
    for size in ((5, 6), (7, 5)):
        n = 8 if JIT_OFF else 40
        grids = np.stack([random_board(rng, *size, 2) for _ in range(n)])
        flat = grids.reshape(n, -1)
        players = (flat >= PLAYER).argmax(1).astype(np.int32)
        # Some of the rooms, in another order, and of these a range.
        rows = rng.permutation(n)[: n - 2]
        masks = np.full((len(rows), 4), 7, np.int8)
        rules.write_action_masks(1, n - 3, rows, size[1], flat, players, masks)
        assert (masks[[0, -1]] == 7).all()
        for row, mask in zip(rows[1:-1], masks[1:-1], strict=True):
            moves = [make_oracle(grids[row]).step(a).effective for a in range(1, 5)]
            assert mask.tolist() == moves
        assert set(masks[1:-1].ravel().tolist()) == {0, 1}


def test_sums_of_rewards_are_those_of_the_oracle():
    rng = np.random.default_rng(1)
    grids = np.stack([random_board(rng, 6, 7, 2) for _ in range(6 if JIT_OFF else 30)])
    lengths = rng.integers(0, 40, len(grids))
    lengths[0] = 0
    directions = rng.integers(0, 4, lengths.sum()).astype(np.int8)
    ends, sums = np.cumsum(lengths), np.full(len(grids), np.nan)
    played = grids.reshape(len(grids), -1).copy()
    rules.sum_rewards(7, played, directions, ends, sums)
    for row, grid in enumerate(grids):
        game, total = make_oracle(grid, 999), 0.0
        for direction in directions[ends[row] - lengths[row] : ends[row]]:
            total += game.step(1 + int(direction)).reward
        assert sums[row] == total
        np.testing.assert_array_equal(played[row].reshape(grid.shape), game.observe())
