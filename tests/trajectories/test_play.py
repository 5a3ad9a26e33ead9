"""Episodes of a list of seeds: their content, their order, the memory."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation import Split, UniformPolicy, play_episodes
from roll_vec.registration import ENVIRONMENTS
from roll_vec.trajectories import play_seeds, play_steps, to_messages

CASES = {
    "lakes": ("roll_vec/RandomFrozenLake-v0", {"obs_mode": "grid"}),
    "positions": ("roll_vec/FrozenLake-v1", {}),
    "texts": ("roll_vec/Countdown-v0", {"max_steps": 2}),
    "shared arrays": ("roll_vec/RandomFrozenLake-v0", {"copy": False}),
}
SEEDS = [5, 11, 5, 7, 1_000_000, 0, 3]


def play(id, keywords, num_envs, seeds=SEEDS):
    envs = roll_vec.make_vec(id, num_envs, autoreset_mode="Disabled", **keywords)
    trajectories = list(play_seeds(envs, seeds, UniformPolicy(envs, seed=2)))
    envs.close()
    return trajectories


def plain(value):
    """Return a value that compares by content."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.tolist())
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return (type(value), value)


def parts_of(trajectory):
    return {
        name: [plain(each) for each in value] if name != "rewards" else value.tolist()
        for name, value in vars(trajectory).items()
        if isinstance(value, (list, np.ndarray))
    } | {
        name: value
        for name, value in vars(trajectory).items()
        if not isinstance(value, (list, np.ndarray))
    }


@pytest.mark.parametrize("case", CASES)
def test_an_episode_is_that_of_a_single_environment(case):
    id, keywords = CASES[case]
    trajectories = play(id, keywords, 3)
    assert [trajectory.seed for trajectory in trajectories] == SEEDS
    keywords = {name: keywords[name] for name in keywords if name != "copy"}
    env = gymnasium.make(id, **keywords)
    for trajectory in trajectories:
        observation, info = env.reset(seed=trajectory.seed)
        results = [(observation, info)]
        for action, reward in zip(trajectory.actions, trajectory.rewards, strict=True):
            observation, expected, terminated, truncated, info = env.step(action)
            assert reward == expected
            results.append((observation, info))
        assert (terminated, truncated) == (trajectory.terminated, trajectory.truncated)
        assert terminated or truncated
        for recorded, (observation, info) in zip(
            zip(trajectory.observations, trajectory.infos, strict=True),
            results,
            strict=True,
        ):
            assert plain(recorded[0]) == plain(observation)
            assert {k: plain(v)[1] for k, v in recorded[1].items()} == {
                k: plain(v)[1] for k, v in info.items()
            }


@pytest.mark.parametrize("num_envs", [1, 20])
def test_the_batch_does_not_matter(num_envs):
    expected = [parts_of(each) for each in play(*CASES["lakes"], 3)]
    assert [parts_of(each) for each in play(*CASES["lakes"], num_envs)] == expected


class Countdowns(roll_vec.BaseDiscreteActionEnv):
    """An episode of `level_seed` steps; seed 7 fails at once, 8 at its reset."""

    ACTION_LOOKUP = {0: "Go"}  # noqa: RUF012
    observation_space = gymnasium.spaces.Dict(left=gymnasium.spaces.Discrete(1000))
    action_space = gymnasium.spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.level_seed == 8:
            message = "eight"
            raise RuntimeError(message)
        self.left = self.level_seed % 100
        return {"left": self.left}, {"list": [self.left]}

    def step(self, action):
        if self.level_seed == 7:
            message = "seven"
            raise RuntimeError(message)
        self.left -= 1
        return {"left": self.left}, 0.1, self.left == 0, False, {"list": [self.left]}


@pytest.fixture
def countdowns():
    id = "trajectories-test/Countdowns-v0"
    roll_vec.register(id, Countdowns, force=True)
    yield roll_vec.make_vec(id, num_envs=2, autoreset_mode="Disabled")
    del ENVIRONMENTS[id]
    del gymnasium.registry[id]


def go(turn):
    return [0, 0]


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
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


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
def test_an_episode_in_the_place_of_another_is_a_fault(countdowns):
    trajectories = [*play_seeds(countdowns, [8, 2, 8, 1, 3], go)]
    assert [each.fault is None for each in trajectories] == [0, 1, 0, 1, 1]
    assert trajectories[0].fault.startswith("the reset failed")
    assert trajectories[0].success is False
    split = Split(countdowns.spec.id, "test", "", lambda: [8, 2, 8, 1, 3], "")
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

    expected = [parts_of(each) for each in play_seeds(envs, SEEDS, act)]
    trajectories = play_seeds(envs, SEEDS, lambda turn: act(turn, clear=True))
    assert [parts_of(each) for each in trajectories] == expected

    def count(turn):
        turn.episodes[...] = 0
        return act(turn)

    with pytest.raises(ValueError, match="read-only"):
        next(play_seeds(envs, SEEDS, count))
    envs.close()


def test_a_long_episode_does_not_fill_the_memory(countdowns):
    seeds = [60] + [1] * 100
    began = [
        int(step.turn.episodes.max())
        for step in play_steps(countdowns, seeds, go, ahead=8)
    ]
    # The first episode takes 60 steps, in which 60 others could end.
    assert began[58] == 8
    assert began[-1] == 100
    counts = []
    lengths = [
        each.num_steps
        for each in play_seeds(countdowns, seeds, go, on_progress=counts.append)
    ]
    assert lengths == seeds
    assert counts == sorted(counts)
    assert counts[-1] == 101


def test_no_seeds_no_episodes(countdowns):
    assert list(play_seeds(countdowns, [], go)) == []


def test_other_modes_are_refused():
    envs = roll_vec.make_vec("roll_vec/FrozenLake-v1", num_envs=2)
    with pytest.raises(InvalidOptionError, match=r"envs: .*Disabled"):
        next(play_seeds(envs, [1], go))


def test_messages():
    trajectory = play(*CASES["texts"], 2)[0]
    observations, answers = trajectory.observations, trajectory.actions
    assert len(answers) == 2
    turns = [*zip(observations, answers, strict=False)]
    expected = [("system", trajectory.instruction)] + [
        pair
        for observation, answer in turns
        for pair in (("user", observation), ("assistant", answer))
    ]
    messages = to_messages(trajectory)
    assert [(each["role"], each["content"]) for each in messages] == expected
    last = to_messages(trajectory, last_observation=True)[-1]
    assert last == {"role": "user", "content": observations[-1]}


def test_messages_need_texts():
    with pytest.raises(InvalidOptionError, match="obs_mode='text'"):
        to_messages(play(*CASES["positions"], 1, [0])[0])
