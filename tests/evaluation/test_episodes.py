"""Episodes of a split: each is played once, whatever the batch."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation import Split, Turn, UniformPolicy, find_split, play_split
from roll_vec.registration import ENVIRONMENTS
from roll_vec.trajectories import play_seeds

IDS = (
    ("roll_vec/Sokoban-v0", "test-1-box"),
    ("roll_vec/FrozenLake-v1", "test"),
    ("roll_vec/RandomFrozenLake-v0", "test"),
    ("roll_vec/Countdown-v0", "test"),
    ("roll_vec/WebShop-v0", "test"),
)


def first_episodes(id, name, count):
    """Return the first episodes of a split as one of their own."""
    split = find_split(id, name)
    return Split(id, name, "", lambda: split.seeds[:count], "", split.keywords)


def play_random(split, num_envs, seed=3):
    envs = split.make_vec(num_envs)
    results = play_split(split, envs, UniformPolicy(envs, seed))
    envs.close()
    return results


@pytest.mark.parametrize(("id", "name"), IDS)
def test_results_are_those_of_trajectories_whatever_the_batch(id, name):
    split = first_episodes(id, name, 12)
    results = play_random(split, 12)
    assert (results.lengths > 0).all()
    # More environments than episodes, one, and a part that does not divide them.
    for num_envs in (20, 1, 5):
        for field, values in vars(play_random(split, num_envs)).items():
            np.testing.assert_array_equal(values, getattr(results, field), field)
    envs = split.make_vec(7)
    trajectories = [*play_seeds(envs, split.seeds, UniformPolicy(envs, 3))]
    assert results.returns.tolist() == [each.total_reward for each in trajectories]
    assert results.lengths.tolist() == [each.num_steps for each in trajectories]
    assert results.successes.tolist() == [each.success for each in trajectories]
    assert not results.faults.any()


def test_random_play_has_a_seed_of_its_own_and_is_that_of_random_words():
    split = first_episodes("roll_vec/FrozenLake-v1", "test", 24)
    results, others = play_random(split, 24), play_random(split, 24, seed=4)
    assert (results.lengths != others.lengths).any()
    envs = split.make_vec(1)
    for each in play_seeds(envs, split.seeds[:3], UniformPolicy(envs, 3)):
        episodes = np.full(each.num_steps, each.seed - split.seeds[0])
        turn = Turn(None, episodes, np.arange(each.num_steps))
        assert each.actions == (turn.random_words(3) % np.uint64(4)).tolist()


class Lengths(roll_vec.BaseDiscreteActionEnv):
    """An episode of `seed` steps, each with the reward 1; seed 7 fails at once."""

    ACTION_LOOKUP = {0: "Go"}  # noqa: RUF012
    observation_space = gymnasium.spaces.Box(0, 100, (1,), np.int64)
    action_space = gymnasium.spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = self.level_seed
        return np.array([self.left]), {}

    def step(self, action):
        if self.level_seed == 7:
            raise RuntimeError
        self.left -= 1
        info = {"success": self.left == 0 and self.level_seed % 2 == 0}
        return np.array([self.left]), 1.0, self.left == 0, False, info


@pytest.fixture
def lengths_split():
    """Return a function from seeds, which are the lengths of their episodes."""
    id = "evaluation-test/Lengths-v0"
    roll_vec.register(id, Lengths, force=True)
    yield lambda seeds: Split(id, "test", "", lambda: seeds, "")
    del ENVIRONMENTS[id]
    del gymnasium.registry[id]


def test_long_episodes_count_as_much_as_short_ones(lengths_split):
    split = lengths_split([50, 1, 2, 1, 30, 1, 1, 3, 1, 40])
    envs = split.make_vec(3)
    counts = []
    results = play_split(split, envs, lambda turn: np.zeros(3, int), counts.append)
    assert results.lengths.tolist() == split.seeds
    assert results.returns.tolist() == split.seeds
    assert results.successes.tolist() == [seed % 2 == 0 for seed in split.seeds]
    assert results.success_rate().value == 0.4
    assert results.mean_return().value == 13
    assert counts == sorted(counts)
    assert counts[-1] == 10


def test_turns_name_episode_and_step(lengths_split):
    split = lengths_split([3, 1, 2])
    turns = []

    def policy(turn):
        turns.append((turn.episodes.tolist(), turn.steps.tolist()))
        assert turn.observations[:, 0].tolist() == [
            split.seeds[episode] - step
            for episode, step in zip(turn.episodes, turn.steps, strict=True)
        ]
        return np.zeros(2, int)

    play_split(split, split.make_vec(2), policy)
    # The environment without an episode plays its last one again.
    assert turns == [([0, 1], [0, 0]), ([0, 2], [1, 0]), ([0, 2], [2, 1])]


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
def test_a_fault_is_an_episode_without_success(lengths_split):
    split = lengths_split([2, 7, 4])
    results = play_split(split, split.make_vec(2), lambda turn: np.zeros(2, int))
    assert results.faults.tolist() == [False, True, False]
    assert results.successes.tolist() == [True, False, True]
    assert results.lengths.tolist() == [2, 1, 4]


def test_random_words_are_uniform_and_independent():
    episodes, steps = (each.ravel() for each in np.indices((50, 40)))
    turn = Turn(None, episodes, steps)
    words = turn.random_words(0)
    assert len(set(words.tolist())) == 2000
    assert not set(words.tolist()) & set(turn.random_words(1).tolist())
    counts = np.bincount((words % np.uint64(4)).astype(int))
    assert abs(counts - 500).max() < 80  # four standard deviations


def test_environments_of_another_task_are_refused():
    split = find_split("roll_vec/Sokoban-v0", "test")

    def check(match, **keywords):
        keywords = {"autoreset_mode": "Disabled", **split.keywords, **keywords}
        envs = roll_vec.make_vec(split.id, 2, **keywords)
        with pytest.raises(InvalidOptionError, match=match):
            play_split(split, envs, lambda turn: [1, 1])

    check("envs: expected environments in Disabled mode", autoreset_mode="NextStep")
    check("envs: expected environments with the keywords", num_boxes=2)
    check("envs: expected environments with the keywords", max_episode_steps=50)
    check("envs: expected environments with the keywords", num_levels=9)
    envs = roll_vec.make_vec("roll_vec/FrozenLake-v1", 2, autoreset_mode="Disabled")
    with pytest.raises(InvalidOptionError, match=r"of roll_vec/Sokoban-v0, got 'roll"):
        play_split(split, envs, lambda turn: [1, 1])
    assert len(play_split(split, split.make_vec(500), lambda turn: [1] * 500).returns)


def test_uniform_policy_needs_actions_to_choose_from():
    envs = gymnasium.make_vec("Pendulum-v1", 1, vectorization_mode="sync")
    with pytest.raises(InvalidOptionError, match=r"envs: expected .* Discrete"):
        UniformPolicy(envs, 0)
