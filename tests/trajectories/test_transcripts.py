"""ATIF documents and logs of Inspect: content, required keys, determinism.

`tests.trajectories.transcripts` reads them with the packages of the formats.
"""

import json
from dataclasses import replace
from datetime import datetime

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation import UniformPolicy
from roll_vec.trajectories import (
    Trajectory,
    play_seeds,
    to_atif,
    to_inspect_log,
    to_messages,
)
from roll_vec.trajectories.json_values import to_json

SEEDS = [3, 1, 4, 1]


def play(num_envs=2, id="roll_vec/Countdown-v0", **keywords):
    keywords = keywords or {"max_steps": 2}
    envs = roll_vec.make_vec(id, num_envs, autoreset_mode="Disabled", **keywords)
    return list(play_seeds(envs, SEEDS, UniformPolicy(envs, seed=2)))


@pytest.fixture(scope="module")
def trajectories():
    return play()


@pytest.fixture(scope="module")
def failure():
    """Return an episode that a fault ended, without instruction, success and seed."""
    return Trajectory(
        id="mine/Talk-v0",
        seed=None,
        observations=["hello", "who?"],
        actions=["me"],
        rewards=np.array([np.nan]),
        terminated=False,
        truncated=True,
        success=None,
        infos=[{}, {"error": "it broke", "parts": (np.float32(0.5), {2: {1}})}],
        fault="it broke",
    )


def test_atif_documents_have_what_the_format_requires(trajectories, failure):
    for trajectory in (*trajectories, failure):
        document = json.loads(json.dumps(to_atif(trajectory), allow_nan=False))
        assert {"schema_version", "session_id", "agent", "steps"} <= set(document)
        assert set(document["agent"]) >= {"name", "version"}
        steps = document["steps"]
        numbers = [step["step_id"] for step in steps]
        assert numbers == list(range(1, len(steps) + 1))
        assert document["final_metrics"]["total_steps"] == len(steps)
        for step in steps:
            assert step["source"] in ("system", "user", "agent")
            assert isinstance(step["message"], str)
            # Fields of answers alone.
            assert "observation" not in step or step["source"] == "agent"


def test_atif_documents_have_the_episode(trajectories, failure):
    for trajectory in (*trajectories, failure):
        document = to_atif(trajectory, agent="oracle")
        answers = [step for step in document["steps"] if step["source"] == "agent"]
        first = [s["message"] for s in document["steps"] if s["source"] == "user"]
        assert [step["message"] for step in answers] == trajectory.actions
        results = [step["observation"]["results"][0]["content"] for step in answers]
        assert first + results == trajectory.observations
        rewards = [step["extra"]["reward"] for step in answers]
        assert rewards == to_json(trajectory.rewards)
        assert document["agent"]["name"] == "oracle"
        assert document["extra"]["seed"] == trajectory.seed
        assert document["extra"]["fault"] == trajectory.fault
    info = answers[-1]["extra"]["info"]
    assert info == {"error": "it broke", "parts": [0.5, {"2": [1]}]}


def test_logs_have_what_the_format_requires(trajectories, failure):
    for episodes in (trajectories, [failure]):
        log = json.loads(json.dumps(to_inspect_log(episodes), allow_nan=False))
        assert log["version"] == 2
        assert log["status"] == "success"
        assert {"created", "task", "dataset", "model", "config"} <= set(log["eval"])
        assert datetime.fromisoformat(log["eval"]["created"]).tzinfo is not None
        samples = log["samples"]
        assert {"id", "epoch", "input", "target"} <= set(samples[0])
        ids = [sample["id"] for sample in samples]
        assert ids == log["eval"]["dataset"]["sample_ids"]
        # The same seed may be played twice.
        assert len({*ids}) == len(ids) == log["results"]["total_samples"]
        messages = [m["id"] for sample in samples for m in sample["messages"]]
        assert len({*messages}) == len(messages)
    assert samples[0]["error"]["message"] == "it broke"
    assert log["results"]["completed_samples"] == 0
    # A mean of a number and of no number is none.
    assert log["results"]["scores"] == []


def test_an_episode_without_a_step_is_written(failure):
    episode = replace(failure, observations=["hello"], actions=[], infos=[{}])
    assert [step["message"] for step in to_atif(episode)["steps"]] == ["hello"]
    (sample,) = to_inspect_log([episode])["samples"]
    assert [message["content"] for message in sample["messages"]] == ["hello"]
    assert sample["input"] == sample["messages"]
    assert sample["output"] == {"model": "policy", "completion": "", "choices": []}


def test_logs_have_the_episodes(trajectories):
    log = to_inspect_log(trajectories)
    for sample, trajectory in zip(log["samples"], trajectories, strict=True):
        texts = [
            {"role": message["role"], "content": message["content"]}
            for message in sample["messages"]
        ]
        assert texts == to_messages(trajectory, last_observation=True)
        last = sample["messages"][-1]["metadata"]
        assert last["reward"] == trajectory.rewards[-1]
        assert (last["terminated"], last["truncated"]) == (
            trajectory.terminated,
            trajectory.truncated,
        )
        assert sample["scores"]["return"]["value"] == trajectory.total_reward
        assert sample["metadata"]["seed"] == trajectory.seed
    scores = {each["name"]: each["metrics"]["mean"]["value"] for each in _scores(log)}
    assert scores == {
        "return": np.mean([each.total_reward for each in trajectories]),
        "success": np.mean([each.success for each in trajectories]),
    }


def _scores(log):
    return log["results"]["scores"]


def test_transcripts_do_not_depend_on_the_batch(trajectories):
    other = play(num_envs=3)
    assert to_inspect_log(other) == to_inspect_log(trajectories)
    assert [*map(to_atif, other)] == [*map(to_atif, trajectories)]


def test_episodes_without_texts_are_refused():
    (first, *_) = play(id="roll_vec/FrozenLake-v1", max_episode_steps=2)
    for convert in (to_atif, lambda each: to_inspect_log([each])):
        with pytest.raises(InvalidOptionError, match="obs_mode='text'"):
            convert(first)


def test_a_log_is_of_one_environment(trajectories, failure):
    for episodes in ([], [*trajectories, failure]):
        with pytest.raises(InvalidOptionError, match="of one environment"):
            to_inspect_log(episodes)


def test_an_object_is_its_class_without_an_address():
    assert to_json({"space": gymnasium.spaces.Discrete(2), "set": {"b", "a"}}) == {
        "space": "<gymnasium.spaces.discrete.Discrete>",
        "set": ["a", "b"],
    }
