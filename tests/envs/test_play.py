"""Batches of Sokoban and lakes beside their oracles, through many episodes.

The batch plays the tuned step; `tests/contract/test_lockstep.py` compares it with the
rule, which a single environment plays, and one map with Gymnasium's own lake.
"""

import numpy as np
import pytest

import roll_vec
from roll_vec import VectorState
from roll_vec.arrays import array_env
from roll_vec.seeding import episode_seed
from tests.conftest import JIT_OFF
from tests.kernels.sokoban.positions import random_board
from tests.oracles import sokoban as rooms
from tests.oracles.frozen_lake import OracleFrozenLake, lake_is_solvable

SOKOBAN, LAKES = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
NUM_ENVS, NUM_STEPS = (4, 25) if JIT_OFF else (9, 60)


@pytest.fixture(autouse=True)
def _tuned_steps(monkeypatch):
    """Play the tuned step also with the JIT off, where batches play the rule."""
    monkeypatch.setattr(array_env, "IS_COMPILED", True)


class Room:
    """A game of Sokoban's oracle, with the results of a batch."""

    def __init__(self, board, seed):
        self.game = rooms.OracleSokoban(board)

    def step(self, action):
        """Play -1 for no valid action; return the results and infos."""
        step = self.game.step(action + 1)
        return step.reward, step.success, step.effective, step.success

    def grid(self):
        return self.game.observe()

    def mask(self):
        grid = np.array(self.grid())
        return [Room(grid, 0).step(action)[2] for action in range(4)]


class Lake:
    """The same of a lake."""

    def __init__(self, rows, seed, **options):
        self.game = OracleFrozenLake(rows, **options)
        self.game.reset(seed)
        self.cells = "".join(rows)

    def step(self, action):
        if action < 0:
            return 0.0, False, False, False
        before = self.game.position
        step = self.game.step(action)
        is_new = self.game.position != before
        return step.reward, step.done, is_new, self.cells[step.position] == "G"

    def grid(self):
        codes = np.array(["SFHG".index(cell) for cell in self.cells])
        codes[codes == 0] = 1
        here = self.game.position
        codes[here] = {1: 0, 2: 4, 3: 5}[int(codes[here])]
        return codes.reshape(len(self.game.rows), -1)

    def mask(self):
        here = self.game.position
        outcomes = map(self.game.outcomes, range(4))
        return [any(chance and c != here for chance, c in each) for each in outcomes]


def check_play(id, levels, make_game, rng, limit, first, **keywords):
    """Play random actions of batches that begin next episodes; return the ends.

    Of episodes by the rules, and by the limit of steps.
    """
    more = {"seed_info": True, "level_info": True, "action_mask": True, **keywords}
    more |= {"action_start": first, "max_episode_steps": limit}
    envs = roll_vec.make_vec(id, NUM_ENVS, levels=levels, **more)
    seed, num_ends = int(rng.integers(2**40)), np.zeros(2, int)
    observations, infos = envs.reset(seed=seed)
    games, counts, numbers = [None] * NUM_ENVS, [0] * NUM_ENVS, [-1] * NUM_ENVS
    rewards, terminations, truncations = np.zeros((3, NUM_ENVS), np.bool_)
    ended, actions = ~terminations, np.zeros(NUM_ENVS, int)
    for _ in range(NUM_STEPS):
        for i in range(NUM_ENVS):
            results = rewards[i], terminations[i], truncations[i]
            if ended[i]:
                assert not any(results)
                numbers[i], counts[i] = numbers[i] + 1, 0
                own = int(infos["seed"][i])
                assert own == episode_seed(seed + i, numbers[i])
                games[i] = make_game(levels[infos["level"][i]], own)
            else:
                counts[i] += 1
                # -1 is no valid action.
                reward, is_over, *flags = games[i].step(int(actions[i]))
                assert results == (reward, is_over, counts[i] == limit)
                names = "action_is_effective", "success", "action_is_valid"
                assert [infos[name][i] for name in names] == [*flags, actions[i] >= 0]
            np.testing.assert_array_equal(observations[i], games[i].grid())
            assert infos["action_mask"][i].tolist() == games[i].mask()
        ended = terminations | truncations
        num_ends += terminations.sum(), truncations.sum()
        actions = rng.integers(-first, 4, NUM_ENVS)
        result = envs.step(actions + first)
        observations, rewards, terminations, truncations, infos = result
    return num_ends


@pytest.mark.parametrize("number", range(12))
def test_any_room_is_played_as_by_the_oracle(number):
    rng = np.random.default_rng(number)
    size = rng.integers((3, 5), 9)
    num_boxes = min(number % 4 + 1, ((size[0] - 2) * (size[1] - 2) - 1) // 2)
    boards = np.stack([random_board(rng, *size, num_boxes) for _ in range(5)])
    limit = (3, 11, 40)[number % 3]
    num_ends = check_play(SOKOBAN, boards, Room, rng, limit, number % 2)
    assert JIT_OFF or num_ends[1] or number % 3 == 2


def test_a_solution_succeeds_on_the_step_of_the_limit():
    """There both ends are reported."""
    rng, solution = np.random.default_rng(2), None
    while not solution:
        board = random_board(rng, 5, 6, 2)
        solution, _ = rooms.solve(board.tolist()) or ([], 0)
    more = {"max_episode_steps": len(solution), "action_start": 0}
    envs = roll_vec.make_vec(SOKOBAN, 3, levels=board[np.newaxis], **more)
    envs.reset(seed=0)
    ends = [np.stack(envs.step([action] * 3)[2:4]) for action in solution]
    assert not np.any(ends[:-1])
    assert ends[-1].all()


OPTIONS = [
    {},
    {"is_slippery": False},
    {"success_rate": 0.0},
    {"success_rate": 0.75},
    {"success_rate": 1.0},
]


def draw_maps(rng, height, width):
    """Return maps of one start and a way, with any number of goals."""
    maps = []
    while len(maps) < 5:
        cells = rng.choice(list("FFFFFHG"), (height, width))
        cells[rng.integers(height), rng.integers(width)] = "S"
        rows = ["".join(row) for row in cells]
        maps += [rows] * lake_is_solvable(rows)
    return maps


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_any_lake_is_played_as_by_the_oracle(options, first):
    rng = np.random.default_rng(first)

    def make_game(rows, seed):
        return Lake(rows, seed, **options)

    for limit, size in ((7, (4, 3)), (50, (3, 5))):
        maps = draw_maps(rng, *size)
        num_ends = check_play(LAKES, maps, make_game, rng, limit, first, **options)
        assert num_ends[int(limit == 7)]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_masks_of_one_map_are_those_of_the_oracle(options):
    rows = ["SFHFG", "FFFHF", "FHFFS"]
    more = {"desc": rows, "map_name": None, "action_mask": True, **options}
    envs = roll_vec.make_vec("roll_vec/FrozenLake-v1", 8, **more)
    cells, infos = envs.reset(seed=0)
    game = OracleFrozenLake(rows, **options)
    for t in range(30):
        for cell, mask in zip(
            cells.tolist(), infos["action_mask"].tolist(), strict=True
        ):
            game.position = cell
            outcomes = map(game.outcomes, range(4))
            expected = [any(p and c != cell for p, c in each) for each in outcomes]
            assert mask == expected
        cells, *_, infos = envs.step(np.roll([0, 1, 2, 3] * 2, t * t))


@pytest.mark.parametrize("id", ["roll_vec/FrozenLake-v1", LAKES])
def test_who_stands_on_a_goal_stays_and_earns_nothing(id):
    """As Gymnasium's planners put the player there."""
    rows = ["SFG", "FHF"]
    more = {"desc": rows, "reward_schedule": (1, -1, 0.5)}
    if id == LAKES:
        more = {"levels": [rows], "action_start": 0}
    envs = roll_vec.make_vec(id, 4, **more)
    envs.reset(seed=0)
    state = envs.get_state()
    arrays = {name: array.copy() for name, array in state.arrays.items()}
    arrays["position"][:] = 2
    if id == LAKES:
        arrays["grid"][:, 0] = 1, 1, 5
    before = envs.set_state(VectorState(state.id, state.configuration, arrays)).copy()
    observations, rewards, terminations, _, infos = envs.step([0, 1, 2, 3])
    np.testing.assert_array_equal(observations, before)
    assert terminations.all()
    assert not rewards.any()
    assert not infos.get("action_is_effective", np.zeros(4)).any()
    assert (infos.get("prob", np.ones(4)) == 1).all()


@pytest.mark.parametrize(
    ("id", "more"),
    [
        (SOKOBAN, {"levels": ["#####\n#@$.#\n#   #\n#####"], "action_start": 1}),
        (LAKES, {"levels": [["SFG", "FHF"]], "action_start": 1}),
        ("roll_vec/FrozenLake-v1", {"desc": ["SFG", "FHF"]}),
    ],
)
def test_who_takes_no_step_stays_as_it_is(id, more):
    envs = roll_vec.make_vec(id, 8, autoreset_mode="Disabled", **more)
    envs.reset(seed=0)
    rng, has_ended = np.random.default_rng(0), np.zeros(8, bool)
    for _ in range(20):
        before, mask = envs.get_state(), (rng.random(8) < 0.5) & ~has_ended
        if not mask.any():
            continue
        actions = rng.integers(1, 5, 8) - 1 + envs.single_action_space.start
        has_ended |= envs._step_some(actions, mask)[2]
        for name, array in envs.get_state().arrays.items():
            if name != "successes":  # those of the last step
                expected = before.arrays[name][~mask]
                np.testing.assert_array_equal(array[~mask], expected, name)
    assert has_ended.any()
