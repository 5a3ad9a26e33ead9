"""The account of a rollout, compared with environments that are played alone."""

from __future__ import annotations

import importlib

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from roll_vec.cli._episodes import roll_out
from roll_vec.cli._transcript import Transcript, is_text
from tests.pool.cases import FAULTS_ON_PURPOSE

NUM_ENVS, STEPS, SEED = 6, 300, 5


@pytest.fixture(autouse=True)
def _own_registered(user_module, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(user_module)


def draw_actions(env):
    """Actions of all steps, (STEPS, NUM_ENVS); answers where they are text."""
    rng = np.random.default_rng(0)
    space = env.single_action_space
    if isinstance(space, gymnasium.spaces.Text):
        answers = np.array([*"0123456789", "silent", "1 + 1"], object)
        return rng.choice(answers, size=(STEPS, NUM_ENVS))
    return rng.integers(space.start, space.start + space.n, size=(STEPS, NUM_ENVS))


def make(env_id, mode):
    """Return a batch of an id in an autoreset mode."""
    if env_id.startswith(("roll_vec/", "mine/")):
        return gymnasium.make_vec(env_id, num_envs=NUM_ENVS, autoreset_mode=mode)
    return gymnasium.make_vec(
        env_id,
        num_envs=NUM_ENVS,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
    )


def plain_account(env_id, mode, actions):
    """Play each environment alone; return its episodes as (end, env, ...) tuples."""
    episodes, env_steps = [], 0
    for index in range(NUM_ENVS):
        env = gymnasium.make(env_id)
        env.reset(seed=SEED + index)
        total, length, is_over = 0.0, 0, False
        for step in range(STEPS):
            if is_over and mode is AutoresetMode.NEXT_STEP:
                env.reset()
                is_over = False
                continue
            _, reward, terminated, truncated, info = env.step(actions[step, index])
            env_steps += 1
            total += reward
            length += 1
            is_over = terminated or truncated
            if is_over:
                success = int(info["success"]) if "success" in info else -1
                if "FrozenLake-v1" in env_id:
                    # Its infos are Gymnasium's; the vector form has `successes`.
                    success = int(reward)
                episodes.append(
                    (step, index, total, length, success, terminated, truncated)
                )
                total, length = 0.0, 0
                if mode is not AutoresetMode.NEXT_STEP:
                    env.reset()
        env.close()
    return sorted(episodes), env_steps


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize(
    "env_id",
    [
        "roll_vec/Sokoban-v0",
        "roll_vec/FrozenLake-v1",
        "CartPole-v1",
        "roll_vec/Countdown-v0",
        "mine/Echo-v0",
        "mine/Corridor-v0",
    ],
)
def test_account_equals_that_of_each_environment_alone(env_id, mode):
    env = make(env_id, mode)
    actions = draw_actions(env)
    rows = iter(actions)
    rollout = roll_out(env, lambda _: next(rows), steps=STEPS, seed=SEED)
    env.close()

    reference, env_steps = plain_account(env_id, mode, actions)
    assert len(reference) > NUM_ENVS
    columns = [list(column) for column in zip(*reference, strict=True)]
    episodes = rollout.episodes
    assert len(episodes) == len(reference)
    assert rollout.env_steps == env_steps
    assert episodes.env_index.tolist() == columns[1]
    assert episodes.returns.tolist() == columns[2]
    assert episodes.lengths.tolist() == columns[3]
    assert episodes.success.tolist() == columns[4]
    assert episodes.terminated.tolist() == columns[5]
    assert episodes.truncated.tolist() == columns[6]


class NoSuccess(gymnasium.vector.VectorEnv):
    """Ends every episode at once; subclasses report the success in their own ways."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012
    num_envs = 3

    def reset(self, *, seed=None, options=None):
        return np.zeros(3), {}

    def step(self, actions):
        terminations = np.ones(3, dtype=bool)
        return np.zeros(3), np.ones(3), terminations, ~terminations, self.infos()

    def infos(self):
        return {}


class Attributed(NoSuccess):
    successes = np.array([True, False, True])


class Unmasked(NoSuccess):
    def infos(self):
        return {"final_info": {"success": np.array([0.0, 1.0, 0.0])}}


class Masked(NoSuccess):
    def infos(self):
        mask = np.array([True, True, False])
        values = np.array([True, np.False_, None], dtype=object)
        return {"final_info": {"success": values, "_success": mask}}


@pytest.mark.parametrize(
    ("env", "success"),
    [
        (NoSuccess, [-1, -1, -1]),
        (Attributed, [1, 0, 1]),
        (Unmasked, [0, 1, 0]),
        (Masked, [1, 0, -1]),
    ],
)
def test_success_is_what_the_environment_says_and_else_unknown(env, success):
    rollout = roll_out(env(), lambda _: None, steps=2, seed=0)
    assert rollout.episodes.success.tolist() == success * 2


def test_no_episode_has_the_same_dtypes_as_many():
    env = make("CartPole-v1", AutoresetMode.NEXT_STEP)
    none = roll_out(env, lambda _: np.zeros(NUM_ENVS, int), steps=1, seed=0).episodes
    many = roll_out(env, lambda _: np.zeros(NUM_ENVS, int), steps=50, seed=0).episodes
    env.close()
    assert (len(none), len(many) > 0) == (0, True)
    for name, column in vars(many).items():
        assert vars(none)[name].dtype == column.dtype


def test_progress_covers_the_first_and_the_last_step():
    env = make("CartPole-v1", AutoresetMode.NEXT_STEP)
    calls = []
    rollout = roll_out(
        env,
        lambda _: np.zeros(NUM_ENVS, int),
        steps=5,
        seed=0,
        on_progress=lambda *call: calls.append(call),
        interval=0.0,
    )
    env.close()
    assert [steps for steps, _, _ in calls] == [1, 2, 3, 4, 5]
    assert calls[0][1:] == (0, 0.0)
    assert calls[-1][1:] == (rollout.timed_env_steps, rollout.timed_seconds)
    assert rollout.timed_env_steps == rollout.env_steps - NUM_ENVS


def test_rate_of_a_single_step_is_unknown():
    env = make("CartPole-v1", AutoresetMode.NEXT_STEP)
    rollout = roll_out(env, lambda _: np.zeros(NUM_ENVS, int), steps=1, seed=0)
    env.close()
    assert rollout.env_steps == NUM_ENVS
    assert rollout.steps_per_second is None


@FAULTS_ON_PURPOSE
@pytest.mark.parametrize("mode", AutoresetMode)
def test_fault_ends_an_episode_of_unknown_success(mode):
    env = gymnasium.make_vec("mine/Echo-v0", num_envs=3, autoreset_mode=mode)

    def policy(observations):
        answers = [text.split()[-1] for text in observations]
        return [answers[0], "raise", answers[2]]

    rollout = roll_out(env, policy, steps=1, seed=0)
    env.close()
    episodes = rollout.episodes
    assert episodes.success.tolist() == [1, -1, 1]
    assert episodes.returns.tolist() == [1.0, 0.0, 1.0]
    assert episodes.terminated.tolist() == [True, False, True]
    assert episodes.truncated.tolist() == [False, True, False]
    assert rollout.first_error == "exception in step: OSError: out of [paper]"


def test_transcript_keeps_what_was_played_and_not_what_was_reset():
    env = gymnasium.make_vec("mine/Echo-v0", num_envs=3)
    transcript = Transcript(env, 2)
    numbers = [text[-1] for text in env.reset(seed=0)[0]]
    rows = iter([[numbers[0], "x", "x"], ["ignored", "a\n b", "x"]])
    roll_out(env, lambda _: next(rows), steps=2, seed=0, transcript=transcript)
    env.close()
    assert [*transcript.lines(80)] == [
        f"  say {numbers[0]}",
        f"  > {numbers[0]}  reward 1",
        "  heard x",
        "  > a b  reward 0",
    ]


def test_transcript_is_cut_to_the_width():
    env = gymnasium.make_vec("mine/Echo-v0", num_envs=1)
    transcript = Transcript(env, 4)
    roll_out(env, lambda _: ["x" * 10**6], steps=1, seed=0, transcript=transcript)
    roll_out(env, lambda _: ["y" * 10**6], steps=2, seed=0, transcript=transcript)
    env.close()
    observation, action = transcript.lines(40)
    assert (len(observation), len(action)) == (40, 40)
    assert observation.startswith("  heard yyy")
    assert action.startswith("  > yyy")
    assert action.endswith("...  reward 0")


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        # Boards as numbers say nothing, names of actions do.
        ({"action_mode": "text"}, ["  > Up  reward 0"]),
        ({"obs_mode": "text"}, ["  P_ _G", "  > 0  reward 0"]),
    ],
)
def test_transcript_shows_what_can_be_read(options, lines):
    env = gymnasium.make_vec(
        *("roll_vec/FrozenLake-v1", 1), desc=["SF", "FG"], is_slippery=False, **options
    )
    assert is_text(env)
    transcript = Transcript(env, 1)
    action = ["Up"] if "action_mode" in options else np.array([0])
    roll_out(env, lambda _: action, steps=1, seed=0, transcript=transcript)
    env.close()
    assert [*transcript.lines(80)] == lines


def test_environment_of_numbers_has_no_transcript():
    env = make("CartPole-v1", AutoresetMode.NEXT_STEP)
    assert not is_text(env)
    env.close()
