"""Minesweeper and Sudoku beside slow classes, from the same seeds."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidOptionError
from roll_vec.seeding import episode_seed
from tests.oracles.puzzles import SlowMinesweeper, SlowSudoku

MINES, SUDOKU = "roll_vec/Minesweeper-v0", "roll_vec/Sudoku-v0"
GAMES = [
    (MINES, SlowMinesweeper, {"rows": 4, "cols": 5, "num_mines": 3}),
    (MINES, SlowMinesweeper, {"rows": 2, "cols": 7, "num_mines": 5}),
    (SUDOKU, SlowSudoku, {"scale": 4, "clues": 6}),
    # 9 attempts end before 4 clues are left.
    (SUDOKU, SlowSudoku, {"scale": 4, "clues": 4, "attempts": 9}),
]
SEEDS = [7, 3**20, 2**32 - 1]
PATTERN = {"action_pattern": r"\\boxed\{(.*?)\}", "match": "last"}


@pytest.mark.parametrize(("id", "slow", "keywords"), GAMES)
def test_episodes_equal_those_of_slow_classes(id, slow, keywords):
    # Episodes begin in the step after an end: `tests/contract/test_rules.py` has the
    # other modes.
    more = {"action_mask": True, "max_episode_steps": 40, **keywords}
    envs = gymnasium.make_vec(id, num_envs=3, **more)
    rng = np.random.default_rng(0)
    numbers, ends = [0, 0, 0], 0
    games = [slow(seed, **keywords) for seed in SEEDS]
    observations, infos = envs.reset(seed=SEEDS)
    masks, will_reset = infos["action_mask"], np.zeros(3, np.bool_)
    while ends < 12:
        for game, board, mask in zip(games, observations.tolist(), masks, strict=True):
            assert board == game.board()
            assert set(np.flatnonzero(mask)) == game.legal()
        ways = envs.solve()
        actions = [_choose(rng, *each) for each in zip(games, ways, strict=True)]
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        for i in np.flatnonzero(~will_reset):
            reward, is_over = games[i].step(actions[i])
            assert (rewards[i], terminations[i]) == (reward, is_over)
        masks, has_ended = infos["action_mask"], terminations | truncations
        ends += has_ended.sum()
        for i in np.flatnonzero(will_reset):
            numbers[i] += 1
            games[i] = slow(episode_seed(SEEDS[i], numbers[i]), **keywords)
        will_reset = has_ended
    envs.close()


def _choose(rng, game, way):
    """Return an action of the solver, or one that may change something, or any."""
    kind = rng.random()
    if kind < 0.6 and way:
        return way[0]
    legal = [*game.legal()]
    return rng.choice(legal) if kind < 0.95 and legal else rng.integers(28)


def test_a_board_of_9_by_9_equals_that_of_the_slow_class_and_has_one_solution():
    slow = SlowSudoku(1, 9, 30)
    board = roll_vec.make_vec(SUDOKU, num_envs=1, clues=30).reset(seed=1)[0][0]
    assert board.tolist() == slow.board()
    assert (board > 0).sum() == 30
    assert len([*slow.solutions()]) == 1


@pytest.mark.parametrize("id", [MINES, SUDOKU])
def test_the_solver_wins_with_texts(id):
    # Batches of one: a single environment has kernels of its own to compile.
    envs = roll_vec.make_vec(id, num_envs=1, action_mode="text", **PATTERN)
    envs.reset(seed=5)
    rewards, (names,) = 0.0, envs.get_attr("action_lookup")
    for action in envs.solve()[0]:
        text = f"Not \\boxed{{1}} but \\boxed{{{names[action]}}}"
        _, reward, terminated, _, infos = envs.step([text])
        rewards += reward[0]
    assert rewards == pytest.approx(1)
    assert terminated[0]
    assert infos["success"][0]
    envs.reset()
    assert envs.step(["I do not know."])[1:3] == (-0.1, True)
    envs.close()


def test_the_solver_takes_wrong_flags_away():
    envs = roll_vec.make_vec(MINES, num_envs=1, max_episode_steps=200)
    envs.reset(seed=0)
    for action in range(64, 128):
        envs.step([action])
    for action in envs.solve()[0]:
        _, reward, terminated, _, _ = envs.step([action])
    assert terminated[0]
    assert reward[0] > 0
    envs.close()


def test_texts_are_gems():
    text = {"num_envs": 1, "obs_mode": "text"}
    envs = roll_vec.make_vec(MINES, rows=3, cols=11, num_mines=1, **text)
    assert envs.reset(seed=0)[0][0].split("\n") == [
        "    0  1  2  3  4  5  6  7  8  9 10",
        *(f" {row} {' . ' * 11}" for row in range(3)),
    ]
    envs = roll_vec.make_vec(SUDOKU, scale=4, clues=15, **text)
    lines = envs.reset(seed=0)[0][0].split("\n")
    assert lines[0] == "   C1 C2   C3 C4  "
    assert lines[3] == "   - - - - - - "
    assert lines[4].startswith("R3  ")
    assert lines[4][8:12] == " |  "


@pytest.mark.parametrize(
    ("id", "keywords", "message"),
    [
        (MINES, {"num_mines": 56}, "num_mines: expected"),
        (MINES, {"rows": 1}, "rows: expected"),
        (MINES, {"rows": 3, "cols": 3, "num_mines": 1}, "rows, cols: expected"),
        (SUDOKU, {"scale": 6}, "scale: expected 4 or 9, got 6"),
        (SUDOKU, {"clues": 16}, "clues: expected"),
        (SUDOKU, {"attempts": 82}, "attempts: expected"),
    ],
)
def test_keywords_that_make_no_game_are_refused(id, keywords, message):
    with pytest.raises(InvalidOptionError, match=message):
        roll_vec.make_vec(id, num_envs=1, **keywords)
