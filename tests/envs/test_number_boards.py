"""2048 and sliding tiles beside a plain statement of GEM's rules."""

from collections import deque

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import roll_vec
from roll_vec.envs.game_2048 import Game2048
from roll_vec.envs.sliding_tiles import SlidingTiles
from roll_vec.envs.sliding_tiles_solver import solve_board
from roll_vec.errors import InvalidOptionError, SolverLimitError
from tests.conftest import JIT_OFF
from tests.oracles.number_boards import Merging, Sliding

MERGING, SLIDING = "roll_vec/Game2048-v0", "roll_vec/SlidingTiles-v0"
# The id, the oracle, and keywords.
GAMES = [
    (MERGING, Merging, {"target": 32}),
    (MERGING, Merging, {"size": 2, "target": 8}),
    (SLIDING, Sliding, {"num_shuffles": 4, "max_steps": 9}),
    # Twelve moves go round, to the solved board.
    (SLIDING, Sliding, {"size": 2, "num_shuffles": 12, "max_steps": 5}),
    (SLIDING, Sliding, {"size": 2, "num_shuffles": 0, "max_steps": 20}),
    (SLIDING, Sliding, {"size": 5, "num_shuffles": 0, "max_steps": 70}),
]
LIMIT = 60


@pytest.mark.parametrize(("id", "oracle", "keywords"), GAMES)
def test_batches_equal_the_plain_rules(id, oracle, keywords):
    # `tests/contract/test_rules.py` has the other modes.
    num_envs, mode = 3, AutoresetMode.NEXT_STEP
    envs = roll_vec.make_vec(
        id,
        num_envs,
        max_episode_steps=LIMIT,
        autoreset_mode=mode,
        action_mask=True,
        **keywords,
    )

    def make():
        return gymnasium.wrappers.TimeLimit(oracle(**keywords), LIMIT)

    plain = SyncVectorEnv([make] * num_envs, autoreset_mode=mode)
    assert envs.single_observation_space == plain.single_observation_space
    observations = envs.reset(seed=5)[0]
    np.testing.assert_array_equal(observations, plain.reset(seed=5)[0])
    rng, num_ends = np.random.default_rng(3), 0
    for _ in range(75):
        actions = rng.integers(4, size=num_envs)
        ours, theirs = envs.step(actions), plain.step(actions)
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-14)
        for one, other in zip(ours[2:4], theirs[2:4], strict=True):
            np.testing.assert_array_equal(one, other)
        ends = ours[2] | ours[3]
        num_ends += ends.sum()
        masks = [each.unwrapped.legal() for each in plain.envs]
        np.testing.assert_array_equal(ours[4]["action_mask"], masks)
        for name in {"score", "success"} & theirs[4].keys():
            np.testing.assert_array_equal(ours[4][name], theirs[4][name])
    assert num_ends
    envs.close()


@pytest.mark.parametrize("id", [MERGING, SLIDING])
def test_a_text_without_an_action_ends_the_game_as_in_gem(id):
    env = gymnasium.make(id, action_mode="text", obs_mode="text", grid_lookup={1: "x"})
    board = env.reset(seed=0)[0]
    assert "x" in board.split()
    after, reward, terminated, _, _ = env.step("I give up")
    assert (after, reward, terminated) == (board, -0.1, True)


def test_texts_are_those_of_gem():
    env = gymnasium.make(MERGING, obs_mode="text").unwrapped
    env.reset(seed=0)
    board = np.zeros((4, 4), np.uint8)
    board[0, 1], board[2, 3] = 11, 3
    env.set_state({**env.get_state(), "board": board})
    lines = ["   . 2048    .    .", "   .    .    .    8"]
    assert env.render_mode is None
    text = env.options.text(env._engine.row(0))
    assert text.splitlines()[::2] == lines


@pytest.mark.parametrize("cls", [Game2048, SlidingTiles])
def test_each_number_has_a_picture_of_its_own(cls):
    tiles = cls.FAMILY.tiles
    assert len(np.unique(tiles.reshape(len(tiles), -1), axis=0)) == len(cls.cells)


@pytest.mark.parametrize("target", [0, 4, 100, 2**18])
def test_targets_are_powers_of_two(target):
    with pytest.raises(InvalidOptionError, match="target: expected a power of two"):
        gymnasium.make(MERGING, target=target)


def measure_boards(size):
    """Return the fewest moves of each board that can be solved, by its numbers."""
    goal = (*range(1, size * size), 0)
    distances, queue = {goal: 0}, deque([goal])
    steps = ((1, 0), (-1, 0), (0, 1), (0, -1))
    neighbours = [
        [
            r * size + c + down * size + right
            for down, right in steps
            if r + down in range(size) and c + right in range(size)
        ]
        for r in range(size)
        for c in range(size)
    ]
    while queue:
        board = queue.popleft()
        empty = board.index(0)
        for cell in neighbours[empty]:
            after = list(board)
            after[empty], after[cell] = board[cell], 0
            after = tuple(after)
            if after not in distances:
                distances[after] = distances[board] + 1
                queue.append(after)
    return distances


def assert_solved(board, actions):
    plain = Sliding(len(board))
    plain.board = board.tolist()
    for action in actions:
        assert plain.legal()[action]
        plain.move(action)
    assert plain.board == plain.goal


def test_solutions_of_the_8_puzzle_have_the_fewest_moves():
    distances = [*measure_boards(3).items()]
    assert (len(distances), distances[-1][1]) == (181_440, 31)
    rng = np.random.default_rng(0)
    some = rng.choice(len(distances), 10 if JIT_OFF else 300)
    for k in (*some, len(distances) - 1):
        numbers, num_moves = distances[k]
        board = np.array(numbers, np.uint8).reshape(3, 3)
        actions = solve_board(board)
        assert len(actions) == num_moves
        assert_solved(board, actions)


@pytest.mark.slow
@pytest.mark.skipif(JIT_OFF, reason="its tables take minutes as plain Python")
def test_korfs_12th_board_takes_45_moves():
    # Korf 1985; his goal has the empty cell first: turned by 180 degrees.
    korf = np.array([14, 1, 9, 6, 4, 8, 12, 5, 7, 2, 3, 0, 10, 11, 13, 15], np.uint8)
    board = ((16 - korf[::-1]) % 16).reshape(4, 4)
    actions = solve_board(board)
    assert len(actions) == 45
    assert_solved(board, actions)


def test_a_batch_plays_its_solutions():
    envs = roll_vec.make_vec(SLIDING, 20, num_shuffles=12)
    boards, _ = envs.reset(seed=1)
    ways = envs.solve()
    for board, way in zip(boards, ways, strict=True):
        assert 0 < len(way) <= 12
        assert_solved(board, way)


def test_the_search_gives_up(monkeypatch):
    monkeypatch.setattr("roll_vec.envs.sliding_tiles_solver.MAX_NODES", 5)
    board = np.array([[8, 6, 7], [2, 5, 4], [3, 0, 1]], np.uint8)
    with pytest.raises(SolverLimitError, match="gave up after 5 moves"):
        solve_board(board)
