"""Episodes of seeds and of splits, whatever the batch; faults in them."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation import (
    Split,
    UniformPolicy,
    find_split,
    play_episodes,
    play_split,
)
from roll_vec.recordings.driver import play_steps
from roll_vec.trajectories import Turn, play_seeds
from roll_vec.trajectories.play import SeedPlan
from tests.contract.cases import assert_same, plain

CASES = {
    "lakes": ("roll_vec/RandomFrozenLake-v0", {"obs_mode": "grid"}),
    "positions": ("roll_vec/FrozenLake-v1", {}),
    "texts": ("roll_vec/Countdown-v0", {"max_steps": 2}),
    "shared arrays": ("roll_vec/RandomFrozenLake-v0", {"copy": False}),
}
SEEDS = [5, 11, 5, 7, 1_000_000, 0, 3]
faults = pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")


def play(id, keywords, num_envs, seeds=SEEDS):
    envs = roll_vec.make_vec(id, num_envs, autoreset_mode="Disabled", **keywords)
    trajectories = list(play_seeds(envs, seeds, UniformPolicy(envs, seed=2)))
    envs.close()
    return trajectories


@pytest.mark.parametrize(
    ("case", "num_envs"), [*zip(CASES, (1, 3, 20, 3), strict=True)]
)
def test_an_episode_is_that_of_a_single_environment(case, num_envs):
    id, keywords = CASES[case]
    trajectories = play(id, keywords, num_envs)
    assert [trajectory.seed for trajectory in trajectories] == SEEDS
    env = gymnasium.make(id, **{k: keywords[k] for k in keywords if k != "copy"})
    for each in trajectories:
        results = [env.reset(seed=each.seed)]
        for action, reward in zip(each.actions, each.rewards, strict=True):
            observation, expected, terminated, truncated, info = env.step(action)
            assert reward == expected
            results.append((observation, info))
        assert (terminated, truncated) == (each.terminated, each.truncated)
        assert terminated or truncated
        observations, infos = zip(*results, strict=True)
        assert_same(each.observations, [*observations])
        assert plain(each.infos) == plain(infos)


class Countdowns(roll_vec.BaseDiscreteActionEnv):
    """An episode of `level_seed` steps; seed 7 fails at once, 8 at its reset.

    The infos have `success` where the environment is made with `says_success`.
    """

    ACTION_LOOKUP = {0: "Go"}  # noqa: RUF012
    observation_space = gymnasium.spaces.Dict(left=gymnasium.spaces.Discrete(1000))
    action_space = gymnasium.spaces.Discrete(1)

    def __init__(self, says_success=False):
        self.says_success = says_success

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.level_seed == 8:
            raise RuntimeError("eight")
        self.left = self.level_seed % 100
        return {"left": self.left}, {"list": [self.left]}

    def step(self, action):
        if self.level_seed == 7:
            raise RuntimeError("seven")
        self.left -= 1
        info = {"list": [self.left]}
        if self.says_success:
            info["success"] = self.left == 0 and self.level_seed % 2 == 0
        return {"left": self.left}, 0.1, self.left == 0, False, info


ID = "trajectories-test/Countdowns-v0"


@pytest.fixture
def countdowns(forgets_ids):
    roll_vec.register(ID, Countdowns)
    return roll_vec.make_vec(ID, num_envs=2, autoreset_mode="Disabled")


def go(turn):
    return [0] * len(turn.steps)


@faults
def test_nested_observations_and_faults(countdowns):
    first, second, third = play_seeds(countdowns, [3, 7, 1], go)
    assert [each["left"] for each in first.observations] == [3, 2, 1, 0]
    assert [info["list"] for info in first.infos] == [[3], [2], [1], [0]]
    # Added in order; math.fsum gives 0.3.
    assert first.total_reward == 0.1 + 0.1 + 0.1 != 0.3
    assert (first.num_steps, first.terminated, first.fault) == (3, True, None)
    assert "seven" in second.fault
    assert second.truncated
    assert third.num_steps == 1
    # These environments do not say whether an episode is a success.
    assert (first.success, second.success) == (None, False)


@faults
def test_an_episode_in_the_place_of_another_is_a_fault(countdowns):
    seeds = [8, 2, 8, 1, 3]
    trajectories = [*play_seeds(countdowns, seeds, go)]
    assert [each.fault is None for each in trajectories] == [0, 1, 0, 1, 1]
    assert trajectories[0].fault.startswith("the reset failed")
    assert trajectories[0].success is False
    split = Split(ID, "test", "", lambda: seeds, "")
    records = sorted(play_episodes(split, countdowns, go), key=lambda one: one.episode)
    assert [each.fault for each in records] == [each.fault for each in trajectories]
    assert [each.length for each in records] == [0, 2, 0, 1, 3]
    assert [each.total_reward > 0 for each in records] == [0, 1, 0, 1, 1]


def test_a_policy_may_change_its_observations_but_no_episode():
    keywords = {"obs_mode": "grid", "autoreset_mode": "Disabled"}
    envs = roll_vec.make_vec("roll_vec/RandomFrozenLake-v0", num_envs=3, **keywords)

    def act(turn, *, clear=False):
        if clear:
            turn.observations[...] = 0
        return np.ones(3, np.int64)

    expected = [vars(each) for each in play_seeds(envs, SEEDS, act)]
    trajectories = play_seeds(envs, SEEDS, lambda turn: act(turn, clear=True))
    assert_same([vars(each) for each in trajectories], expected)

    def count(turn):
        turn.episodes[...] = 0
        return act(turn)

    with pytest.raises(ValueError, match="read-only"):
        next(play_seeds(envs, SEEDS, count))
    envs.close()


def test_a_long_episode_does_not_fill_the_memory(countdowns):
    assert list(play_seeds(countdowns, [], go)) == []
    seeds = [60] + [1] * 100
    plan = SeedPlan(countdowns, seeds, go, ahead=8)
    events = play_steps(countdowns, plan)
    began = [int(plan.episodes.max()) for event in events if not event.is_reset]
    # The first episode takes 60 steps, in which 60 others could end.
    assert began[58] == 8
    assert began[-1] == 100
    assert [each.num_steps for each in play_seeds(countdowns, seeds, go)] == seeds


def test_environments_of_another_task_or_mode_are_refused():
    split = find_split("roll_vec/Sokoban-v0", "test")
    own = {"id": split.id, "autoreset_mode": "Disabled", **split.keywords}
    for changes, message in (
        ({"autoreset_mode": "NextStep"}, "environments in Disabled mode"),
        ({"num_boxes": 2}, "environments with the keywords"),
        ({"max_episode_steps": 50}, "environments with the keywords"),
        ({"num_levels": 9}, "environments with the keywords"),
    ):
        envs = roll_vec.make_vec(num_envs=2, **{**own, **changes})
        with pytest.raises(InvalidOptionError, match=f"^envs: expected {message}"):
            play_split(split, envs, lambda turn: [1, 1])
    lakes = roll_vec.make_vec("roll_vec/FrozenLake-v1", 2, autoreset_mode="Disabled")
    with pytest.raises(InvalidOptionError, match=r"expected environments of .*Sokoban"):
        play_split(split, lakes, lambda turn: [1, 1])
    lakes = roll_vec.make_vec("roll_vec/FrozenLake-v1", 2)
    with pytest.raises(InvalidOptionError, match="Disabled mode"):
        next(play_seeds(lakes, [1], lambda turn: [0, 0]))


def test_random_words_are_uniform_and_independent():
    episodes, steps = (each.ravel() for each in np.indices((50, 40)))
    turn = Turn(None, episodes, steps)
    words = turn.random_words(0)
    assert len(set(words.tolist())) == 2000
    assert not set(words.tolist()) & set(turn.random_words(1).tolist())
    counts = np.bincount((words % np.uint64(4)).astype(int))
    assert abs(counts - 500).max() < 80  # four standard deviations


@faults
def test_turns_name_episode_and_step_and_a_fault_is_no_success(countdowns):
    seeds, turns = [3, 1, 2], []
    split = Split(ID, "test", "", lambda: seeds, "", {"says_success": True})

    def policy(turn):
        turns.append((turn.episodes.tolist(), turn.steps.tolist()))
        places = zip(turn.episodes, turn.steps, strict=True)
        left = [seeds[episode] - step for episode, step in places]
        assert turn.observations["left"].tolist() == left
        return go(turn)

    play_split(split, split.make_vec(2), policy)
    # The environment without an episode plays its last one again.
    assert turns == [([0, 1], [0, 0]), ([0, 2], [1, 0]), ([0, 2], [2, 1])]
    seeds[:] = [2, 7, 4]
    results = play_split(split, split.make_vec(2), go)
    assert results.faults.tolist() == [False, True, False]
    assert results.successes.tolist() == [True, False, True]
    assert results.lengths.tolist() == [2, 1, 4]
