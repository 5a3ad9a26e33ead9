"""Parts of this process: several games behind one text space, errors, interrupts."""

import copy
import pickle
from typing import ClassVar
from unittest import mock

import numpy as np
import pytest

import roll_vec
from roll_vec import JoinedVectorEnv, VectorState
from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    InvalidStateError,
    LevelGenerationError,
    ResetNeededError,
)
from roll_vec.testing import check_vector_env
from tests.contract.cases import (
    NEXT_STEP,
    SAME_STEP,
    TASKS,
    assert_same,
    register_custom_ids,
)
from tests.pool.cases import FAULTS_ON_PURPOSE
from tests.pool.envs import Talker

COUNTDOWN, SOKOBAN = "roll_vec/Countdown-v0", "roll_vec/Sokoban-v0"
LAKES = "roll_vec/RandomFrozenLake-v0"
LIMIT = {"max_episode_steps": 6}
WORDS = {"obs_mode": "text", "action_mode": "text"}
ROOMS = {"dim_room": (5, 5), "num_boxes": 1, **LIMIT}
# Three in stacked arrays, one game twice; two pools.  Id, environments, group size.
GAMES = {
    "rooms": (SOKOBAN, 4, 2, {**ROOMS, **WORDS, "format_penalty": -0.25}),
    "tasks": (COUNTDOWN, 2, 1, {**TASKS, "max_steps": 5, "max_episode_steps": 4}),
    "lakes": (LAKES, 2, 2, {"size": 4, **WORDS, **LIMIT}),
    "masked": (SOKOBAN, 1, 1, {**ROOMS, **WORDS, "action_mask": True}),
    "guesses": ("tests_vector/Guess-v0", 3, 3, LIMIT),
}
NUM_ENVS = 12
GROUPS = [0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 6, 6]
NAMES = [name for name, (_, count, *_) in GAMES.items() for _ in range(count)]
TEXTS = ("Up", "Left", "Down", "Right", "", "1", "2", "3", "up and away", "1+2", "9")


@pytest.fixture(scope="module", autouse=True)
def _ids(module_forgets_ids):
    """Forget the ids of these tests: others list all ids."""
    register_custom_ids()


def make(games=GAMES, **keywords):
    return JoinedVectorEnv(
        {
            name: roll_vec.make_vec(id, count, group_size=size, **options, **keywords)
            for name, (id, count, size, options) in games.items()
        }
    )


def make_lakes(sizes=(2, 2), **keywords):
    keywords = {"size": 4, "is_slippery": False, **keywords}
    return JoinedVectorEnv([roll_vec.make_vec(LAKES, n, **keywords) for n in sizes])


def draw_texts(rng):
    return [TEXTS[i] for i in rng.integers(len(TEXTS), size=NUM_ENVS)]


# `tests/contract/test_programs.py` plays joined batches beside single environments.


def test_families_groups_and_seeds_of_unlike_parts():
    env, actions = make(), draw_texts(np.random.default_rng(0))
    assert env.families["tasks"] == range(4, 6)
    assert env.group_ids.tolist() == GROUPS
    assert env.reset(seed=7)[1]["family"].tolist() == NAMES
    assert env.np_random_seed == tuple(7 + group for group in GROUPS)
    with pytest.raises(InvalidActionError, match=r"environments \[9\]"):
        env.step([*actions[:9], 3, *actions[10:]])
    assert set(env.unroll([actions] * 2).infos["family"][1]) == set(GAMES)


def test_snapshots_of_unlike_parts(tmp_path):
    env, rng = make(), np.random.default_rng(2)
    env.reset(seed=4)
    env.step(draw_texts(rng))
    state = pickle.loads(pickle.dumps(env.get_state()))
    actions = draw_texts(rng)
    results = env.step(actions)
    env.set_state(state)
    assert_same(env.step(actions), results)
    # Each part's snapshot is one of the game alone, and a file.
    state[1].save(tmp_path / "tasks.npz")
    tasks = roll_vec.make_vec(COUNTDOWN, 2, **GAMES["tasks"][3])
    tasks.set_state(VectorState.load(tmp_path / "tasks.npz"))
    assert_same(tasks.step(actions[4:6])[:3], tuple(each[4:6] for each in results[:3]))
    twin = make()
    twin.set_state(state)
    rooms = state[0].select_rows([1, 0, 2, 3])
    observations = twin.set_state((rooms, *state[1:]), mask=np.arange(NUM_ENVS) == 0)
    assert_same(observations[:2], env.set_state(state)[1:2] * 2)
    # A part that refuses its snapshot is asked before another one has moved.
    swapped = [state[0], *state[2:0:-1], *state[3:]]
    longer = [*state[:4], state[4].select_rows([0, 1, 2, 0])]
    for bad, words in (
        (state[0], "the state has 4 environments"),
        (state[:2], "a sequence of one a part"),
        (swapped, "one of roll_vec/Countdown-v0"),
        (longer, "the state has 4 environments"),
        ([*state[:4], 3], "a VectorState"),
    ):
        with pytest.raises((InvalidStateError, InvalidOptionError), match=words):
            env.set_state(bad)
    with pytest.raises(InvalidStateError, match="without rows"):
        env.set_state(state, rows=range(NUM_ENVS))
    assert_same(env.step(actions), results)


def test_a_level_that_a_part_cannot_draw_demands_a_reset(monkeypatch):
    """Ctrl-C and other errors: `tests/contract/test_interrupts.py`."""
    env, up = make_lakes(), [1] * 4
    env.reset(seed=3)
    failure = mock.Mock(side_effect=LevelGenerationError("no level"))
    with monkeypatch.context() as patch:
        patch.setattr(env.parts[1].engine, "step", failure)
        with pytest.raises(LevelGenerationError):
            env.step(up)
    with pytest.raises(ResetNeededError, match="every environment must be reset"):
        env.step(up)
    env.reset()
    env.step(up)


def test_an_error_that_is_known_before_moves_nothing():
    env, twin = make_lakes(), make_lakes()
    for batch in (env, twin):
        with pytest.raises(ResetNeededError, match="must be reset"):
            batch.step([1] * 4)
        batch.reset(seed=3)
    calls = [
        lambda: env.step([1] * 3),
        lambda: env.step([1, 1, 1, 7]),
        lambda: env.unroll([[1] * 4, [1, 1, 1, 0.5]]),
        lambda: env.reset(seed=-1),
        lambda: env.reset(options={"reset_mask": np.zeros(4, bool)}),
        lambda: env.set_state(env.get_state(), rows=[9] * 4),
        lambda: env.set_attr("mark", 1),
        lambda: env.get_attr("nothing"),
        lambda: env.set_level_options(nothing=1),
        lambda: env.solve("nothing"),
    ]
    for call in calls:
        with pytest.raises((roll_vec.errors.RollVecError, AttributeError)):
            call()
    for _ in range(12):
        assert_same(env.step([2] * 4), twin.step([2] * 4))


def test_a_step_of_some_environments_clears_the_other_successes():
    lake = {"levels": [["SG", "FF"]], "size": 2, "is_slippery": False}
    lake |= {"autoreset_mode": "Disabled", "action_start": 1}
    parts = [roll_vec.make_vec(LAKES, 2, **lake) for _ in range(2)]
    env, whole = JoinedVectorEnv(parts), roll_vec.make_vec(LAKES, 4, **lake)
    mask, right = np.array([True, False, False, False]), [3] * 4
    for batch in (env, whole):
        batch.reset(seed=0)
        batch.step(right)
        assert batch.successes.all()
        batch.reset(seed=0, options={"reset_mask": mask})
    assert_same(env._step_some(right, mask), whole._step_some(right, mask))
    assert env.successes.tolist() == whole.successes.tolist() == mask.tolist()
    with pytest.raises(ResetNeededError, match="have ended"):
        env._step_some(right, mask)


@FAULTS_ON_PURPOSE
def test_faults_of_a_part():
    def make_pool(count):
        return roll_vec.PoolVectorEnv([Talker] * count)

    env = JoinedVectorEnv([make_pool(1), make_pool(3)])
    whole = make_pool(4)
    assert_same(env.reset(seed=1), whole.reset(seed=1))
    actions = ["a", "b", "fault:raise", "c"]
    assert_same(env.step(actions), whole.step(actions))
    assert env.fault_counts.tolist() == whole.fault_counts.tolist() == [0, 0, 1, 0]
    # The only environment of a part fails: the others go on.
    for _ in range(3):
        actions = ["fault:raise", "a", "b", "c"]
        assert_same(env.step(actions), whole.step(actions))


def test_parts_that_do_not_fit():
    def lakes(**keywords):
        return roll_vec.make_vec(LAKES, 2, **keywords)

    one = lakes()
    bad = [
        ([], "got .."),
        ([one, one], "different"),
        ([one, 3], "without wrappers, got"),
        ([one, lakes(autoreset_mode=SAME_STEP)], "one autoreset_mode"),
        ([one, lakes(render_mode="ansi")], "one render_mode"),
        ([one, roll_vec.make_vec(SOKOBAN, 2)], "of one space, or of texts"),
    ]
    for parts, words in bad:
        with pytest.raises(InvalidOptionError, match=f"parts: .*{words}"):
            JoinedVectorEnv(parts)
    env = make({name: GAMES[name] for name in ("rooms", "lakes")})
    env.set_level_options(num_levels=3)
    assert env.parts[0].get_attr("num_levels") == (3,) * 4
    assert not make_lakes().fault_counts.any()


@pytest.mark.parametrize(
    "way", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]
)
def test_copies_and_attributes(way):
    games = {name: GAMES[name] for name in ("rooms", "tasks")}
    env = make(games, render_mode="ansi")
    env.reset(seed=1)
    twin = way(env)
    actions = ["Up"] * 4 + ["1"] * 2
    for batch in (env, twin):
        batch.step(actions)
    assert_same(env.step(actions), twin.step(actions))
    assert env.get_attr("np_random_seed") == twin.np_random_seed
    assert env.render() == twin.render()
    assert len(env.solve()) == len(env.call("render")) == 6
    assert env.successes.shape == (6,)
    # Each draws from the examples of its game.
    texts = env.sample_actions(seed=0)
    for text, space in zip(texts, env.action_space.spaces, strict=True):
        assert text in space.examples
    assert env.autoreset_mode is NEXT_STEP


@pytest.mark.slow
def test_public_checker():
    def factory(num_envs, **keywords):
        counts = [1, num_envs - 1] if num_envs > 1 else [1]
        return JoinedVectorEnv(
            [
                roll_vec.make_vec("tests_vector/Guess-v0", n, **LIMIT, **keywords)
                for n in counts
            ]
        )

    check_vector_env(factory, steps=25)


class Walk(roll_vec.GridEnv):
    """Walk on a line; 0 is no action here, where it is one of Sokoban's."""

    state: ClassVar = {"board": (np.uint8, (1, 4))}
    cells = (roll_vec.Cell("_", "ice", (0, 0, 0)), roll_vec.Cell("P", "you", (9, 9, 9)))
    actions = 4
    action_start = 1

    @roll_vec.rule
    def begin(env, rng):
        env.board[0, 0] = 1

    @roll_vec.rule
    def step(env, action, rng):
        env.board[0, action] = 1
        return 0.0, False


def test_actions_are_those_of_each_game_before_anything_moves(forgets_ids):
    roll_vec.register("tests_games/Walk-v0", Walk)
    sokoban = {"action_start": 1, "obs_mode": "text"}
    parts = {
        "rooms": roll_vec.make_vec("roll_vec/Sokoban-v0", 2, **sokoban),
        "walks": roll_vec.make_vec("tests_games/Walk-v0", 2, obs_mode="text"),
    }
    envs = JoinedVectorEnv(parts)
    before = envs.reset(seed=0)[0]
    with pytest.raises(InvalidActionError, match="part 1: actions: expected 1 to 4"):
        envs.step([1, 1, 0, 1])
    assert envs.step([0, 0, 1, 1])[0] == before
