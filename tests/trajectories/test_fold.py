"""Events of batches become episodes: one account for each autoreset mode and reader."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.evaluation import OraclePolicy
from roll_vec.recordings import EventStream, RunRecorder
from roll_vec.recordings.digests import digest_rows
from roll_vec.recordings.episodes import EpisodeAccount, Episodes
from roll_vec.trajectories.fold import TrajectoryFold
from roll_vec.watch import FrameRecorder

MODES = ("NextStep", "SameStep", "Disabled")
LAKE = "roll_vec/FrozenLake-v1"


class Readers:
    """A batch, and all that makes episodes of its events."""

    def __init__(self, envs):
        self.envs, self.ended, self.trajectories = envs, [], []
        self.stream = EventStream(envs.num_envs, envs.metadata["autoreset_mode"])
        self.account, self.fold = EpisodeAccount(envs), TrajectoryFold(envs)
        self.recorder = FrameRecorder(envs, range(envs.num_envs))

    def reset(self, mask=None, **keywords):
        options = None if mask is None else {"reset_mask": mask}
        results = self.envs.reset(options=options, **keywords)
        return self.add(self.stream.add_reset(*results, mask))

    def step(self, actions):
        return self.add(self.stream.add_step(actions, *self.envs.step(actions)))

    def add(self, event):
        self.ended.append(self.account.add(event))
        self.trajectories += self.fold.add(event)
        self.recorder.add(event)
        return event

    def frames(self, env_id):
        """Return what the frames of an environment say: begin, episode, length, sum."""
        frames = self.recorder.recording("x", {}).frames[env_id]
        return [
            (each.is_reset, each.episode, each.length, each.total_reward)
            for each in frames
            if each is not None
        ]


class Bells(gymnasium.Env):
    """Step n of an episode has the reward n; the fourth ends it."""

    observation_space = gymnasium.spaces.Discrete(100)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.n = 0
        return 0, {"first": True}

    def step(self, action):
        self.n += 1
        return self.n, float(self.n), self.n == 4, False, {"success": self.n == 4}


@pytest.fixture(params=MODES)
def readers(request, forgets_ids):
    roll_vec.register("fold-test/Bells-v0", Bells)
    options = {"autoreset_mode": request.param}
    envs = roll_vec.make_vec("fold-test/Bells-v0", 3, **options)
    yield Readers(envs)
    envs.close()


def test_a_reset_in_the_middle_ends_the_episode_in_every_reader(readers):
    actions = np.zeros(3, np.int64)
    event = readers.reset(seed=0)
    assert not event.ends.any()
    readers.step(actions)
    readers.step(actions)
    event = readers.reset(seed=5)
    assert (event.ends.tolist(), event.starts.tolist()) == ([True] * 3, [True] * 3)
    assert not event.plays.any()
    cut = readers.ended[-1]
    assert (cut.returns.tolist(), cut.lengths.tolist()) == ([3.0] * 3, [2] * 3)
    assert cut.success.tolist() == [-1] * 3
    assert not (cut.terminated | cut.truncated).any()
    for _ in range(4):
        readers.step(actions)
    whole = readers.ended[-1]
    assert (whole.returns.tolist(), whole.lengths.tolist()) == ([10.0] * 3, [4] * 3)
    assert whole.success.tolist() == [1] * 3
    assert [each.total_reward for _, each in readers.trajectories] == [3.0] * 3 + [
        10.0
    ] * 3
    first, last = readers.trajectories[0][1], readers.trajectories[-1][1]
    assert (first.terminated, first.truncated, first.success) == (False, False, None)
    assert (first.observations, last.observations) == ([0, 1, 2], [0, 1, 2, 3, 4])
    assert [info.get("success") for info in last.infos] == [None, 0, 0, 0, 1]
    assert (last.terminated, last.success) == (True, True)
    frames = readers.frames(1)
    assert frames[:8] == [
        *((True, 0, 0, 0.0), (False, 0, 1, 1.0), (False, 0, 2, 3.0)),
        *((True, 1, 0, 0.0), (False, 1, 1, 1.0), (False, 1, 2, 3.0)),
        *((False, 1, 3, 6.0), (False, 1, 4, 10.0)),
    ]


def test_a_reset_of_some_leaves_the_others_alone(forgets_ids):
    roll_vec.register("fold-test/Bells-v0", Bells)
    options = {"autoreset_mode": "Disabled"}
    readers = Readers(roll_vec.make_vec("fold-test/Bells-v0", 3, **options))
    actions = np.zeros(3, np.int64)
    readers.reset(seed=0)
    readers.step(actions)
    mask = np.array([False, True, False])
    event = readers.reset(mask)
    assert (event.ends.tolist(), event.starts.tolist()) == ([*mask], [*mask])
    for _ in range(3):
        event = readers.step(actions)
    assert event.ends.tolist() == [True, False, True]
    event = readers.reset(event.ends)
    # Those have ended before: their reset ends nothing.
    assert not event.ends.any()
    readers.step(actions)
    ended = Episodes.join(readers.ended)
    assert ended.env_index.tolist() == [1, 0, 2, 1]
    assert ended.returns.tolist() == [1.0, 10.0, 10.0, 10.0]
    assert readers.account.env_steps == 3 * 5
    readers.envs.close()


@pytest.mark.parametrize("mode", MODES)
def test_a_loop_of_anybody_becomes_the_episodes_of_each_environment(mode):
    """The events of a loop are folded; the actions are then played alone."""
    options = {"autoreset_mode": mode, "reward_schedule": (1, -1, 0.25)}
    envs = roll_vec.make_vec(LAKE, 4, **options)
    readers, rng = Readers(envs), np.random.default_rng(3)
    event = readers.reset(seed=7)
    for _ in range(40):
        if mode == "Disabled" and event.ends.any():
            readers.reset(event.ends)
        event = readers.step(rng.integers(4, size=4))
    ended = Episodes.join(readers.ended)
    assert len(ended) == len(readers.trajectories) > 8
    rows = zip(readers.trajectories, *vars(ended).values(), strict=True)
    for (env_id, each), *row in rows:
        assert row == [
            *(env_id, each.total_reward, each.num_steps, each.success),
            *(each.terminated, each.truncated),
        ]
    for env_id in range(4):
        own = [each for number, each in readers.trajectories if number == env_id]
        last = {episode: sums for _, episode, *sums in readers.frames(env_id)}
        for episode, each in enumerate(own):
            assert last[episode] == [each.num_steps, each.total_reward]
        alone = gymnasium.make(LAKE)
        observation, _ = alone.reset(seed=7 + env_id)
        for each in own:
            observations = [observation]
            for action in each.actions:
                observations.append(alone.step(action)[0])
            assert each.observations == observations
            observation, _ = alone.reset()
    envs.close()


def test_a_record_has_copies():
    """A batch may write the results of each step into the same arrays."""
    envs = roll_vec.make_vec(LAKE, 2, autoreset_mode="Disabled")
    stream = EventStream(2, envs.metadata["autoreset_mode"])
    recorder = RunRecorder(envs, LAKE)
    recorder.add(stream.add_reset(*envs.reset(seed=0)))
    rewards, actions, nothing = np.ones(2), np.array([3, 3]), np.zeros(2, np.bool_)
    results = np.zeros(2, np.int64), rewards, nothing, nothing, {}
    recorder.add(stream.add_step(actions, *results))
    rewards[...], actions[...] = 5, 0
    dtype, arrays = recorder.arrays()
    assert arrays["rewards"].tolist() == [[1.0, 1.0]]
    assert (dtype, arrays["actions"].tolist()) == ("<i8", [[3, 3]])
    envs.close()


@pytest.mark.parametrize(("dtype", "shape"), [("u1", (7,)), ("f8", ())])
def test_every_byte_of_an_observation_counts(dtype, shape):
    space = gymnasium.spaces.Box(0, 127, shape, dtype)
    rows = np.random.default_rng(1).integers(1, 100, (3, *shape)).astype(dtype)
    before = digest_rows(space, 3, rows, {})
    for place in range(rows[0].nbytes):
        other = rows.copy()
        other[1:2].reshape(-1).view(np.uint8)[place] ^= 1
        differs = digest_rows(space, 3, other, {}) != before
        assert differs.tolist() == [False, True, False]
    # The third of three long rows is beyond the part that is hashed at once.
    rows = np.zeros((3, 1_000_001), np.uint8)
    before = digest_rows(space, 3, rows, {})
    rows[2, -1] = 1
    differs = digest_rows(space, 3, rows, {}) != before
    assert differs.tolist() == [False, False, True]


def test_a_plan_of_the_oracle_may_begin_in_the_middle_of_an_episode():
    keywords = {"action_start": 1, "autoreset_mode": "Disabled"}
    rooms = roll_vec.make_vec("roll_vec/Sokoban-v0", 3, **keywords)
    readers = Readers(rooms)
    readers.reset(seed=0)
    for _ in range(2):
        event = readers.step(np.zeros(3, np.int64))
    plans = rooms.engine.solve(np.arange(3), "moves")
    oracle = OraclePolicy(rooms)
    for step in range(min(map(len, plans))):
        actions = oracle(event.observations)
        assert actions.tolist() == [plan[step] for plan in plans]
        event = readers.step(actions)
    rooms.close()
    cart = gymnasium.make_vec("CartPole-v1", 1)
    with pytest.raises(roll_vec.errors.InvalidOptionError, match="no oracle of CartPo"):
        OraclePolicy(cart)
    cart.close()
