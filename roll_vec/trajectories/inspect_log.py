"""Episodes of texts as a log of Inspect, the evaluation framework `inspect_ai`.

``inspect view`` shows such a file, and ``inspect_ai.log.read_eval_log`` reads it: the
JSON form of ``EvalLog``, version 2 (https://inspect.aisi.org.uk/eval-logs.html).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from roll_vec.errors import InvalidOptionError
from roll_vec.trajectories.json_values import to_json
from roll_vec.trajectories.messages import to_messages
from roll_vec.trajectories.trajectory import Trajectory

__all__ = [
    "INSPECT_LOG_VERSION",
    "to_inspect_header",
    "to_inspect_log",
    "to_inspect_sample",
    "with_sample_number",
]

INSPECT_LOG_VERSION = 2

# The format requires a time.  The present one would make equal runs unequal files.
_CREATED = "1970-01-01T00:00:00+00:00"


def to_inspect_log(
    trajectories: Sequence[Trajectory], *, agent: str = "policy"
) -> dict[str, Any]:
    """Return episodes as one log of Inspect, of what JSON has.

    Each episode is a sample: the instruction and the observations are messages of the
    system and the user, the answers those of the assistant.  The metadata of a message
    have the reward, the end and the infos of the step before it.  The scores of a
    sample are ``return`` and, where the environment says it, ``success`` (1 or 0);
    the results of the log have their means.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        At least one, all of one environment whose observations and actions are texts.
    agent : str, default "policy"
        The name of the policy, which stands in the place of the model.

    Raises
    ------
    InvalidOptionError
        If there are no episodes, they are of several environments, or an observation or
        an action is no text.
    """
    ids = {trajectory.id for trajectory in trajectories}
    if len(ids) != 1:
        accepted = "episodes of one environment, at least one"
        raise InvalidOptionError.expected("trajectories", accepted, sorted(ids))
    samples = [
        with_sample_number(to_inspect_sample(trajectory, agent=agent), number)
        for number, trajectory in enumerate(trajectories, start=1)
    ]
    header = to_inspect_header(samples, id=ids.pop(), agent=agent)
    return {**header, "samples": samples}


def to_inspect_header(
    samples: Iterable[Mapping[str, Any]],
    *,
    id: str,
    agent: str = "policy",
    keywords: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a log without its ``"samples"``.

    Parameters
    ----------
    samples : iterable of dict
        With their numbers.
    id : str
        Of the environment.
    agent : str, default "policy"
    keywords : mapping, optional
        Of the environment: ``task_args`` of the log.
    """
    names, errors = [], 0
    values: dict[str, list[Any]] = {}
    for sample in samples:
        names.append(sample["id"])
        errors += "error" in sample
        for name, score in sample["scores"].items():
            values.setdefault(name, []).append(score["value"])
    return {
        "version": INSPECT_LOG_VERSION,
        "status": "success",
        "eval": {
            "run_id": id,
            "eval_id": f"{id} {agent}",
            "created": _CREATED,
            "task": id,
            "task_id": id,
            "task_args": to_json(dict(keywords or {})),
            "dataset": {
                "name": id,
                "samples": len(names),
                "sample_ids": names,
                "shuffled": False,
            },
            "model": agent,
            "config": {},
        },
        "plan": {"name": "plan", "steps": []},
        "results": {
            "total_samples": len(names),
            "completed_samples": len(names) - errors,
            "scores": _means(values, len(names)),
        },
        "stats": {"started_at": _CREATED, "completed_at": _CREATED},
    }


def to_inspect_sample(
    trajectory: Trajectory, *, agent: str = "policy"
) -> dict[str, Any]:
    """Return an episode as a sample of a log, without the ids in it.

    `with_sample_number` adds them.

    Raises
    ------
    InvalidOptionError
        If an observation or an action is no text.
    """
    messages = _to_messages(trajectory)
    # After it comes an observation.  A policy may fail before its first one.
    completion = messages[-2]["content"] if trajectory.num_steps else ""
    scores: dict[str, Any] = {"return": {"value": to_json(trajectory.total_reward)}}
    if trajectory.success is not None:
        scores["success"] = {"value": int(trajectory.success)}
    sample = {
        "epoch": 1,
        "target": "",
        "messages": messages,
        "output": {"model": agent, "completion": completion},
        "scores": scores,
        "metadata": {
            "seed": trajectory.seed,
            "terminated": trajectory.terminated,
            "truncated": trajectory.truncated,
            "rewards": to_json(trajectory.rewards),
        },
        "turn_count": trajectory.num_steps,
    }
    if trajectory.fault is not None:
        fault = to_json(trajectory.fault)
        names = "message", "traceback", "traceback_ansi"
        sample["error"] = dict.fromkeys(names, fault)
    return sample


def with_sample_number(sample: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a sample with its ids and all that refers to them.

    Parameters
    ----------
    sample : dict
        Of `to_inspect_sample`.
    number : int
        From 1.  The same seed may be played twice, so that it is no id by itself.
    """
    seed = sample["metadata"]["seed"]
    name = f"{number}" if seed is None else f"{number} seed {seed}"
    messages = [
        {"id": f"{name} {place}", **message}
        for place, message in enumerate(sample["messages"])
    ]
    answers = [each for each in messages if each["role"] == "assistant"]
    first_answer = messages.index(answers[0]) if answers else len(messages)
    choices = [{"message": each, "stop_reason": "stop"} for each in answers[-1:]]
    return {
        "id": name,
        "uuid": name,
        "input": messages[:first_answer],
        **sample,
        "messages": messages,
        "output": {**sample["output"], "choices": choices},
    }


def _to_messages(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Return the messages with, after a step, its reward, end and infos."""
    messages: list[dict[str, Any]] = []
    step = 0
    for message in to_messages(trajectory, last_observation=True):
        complete = {name: to_json(text) for name, text in message.items()}
        if message["role"] == "user":
            if step:
                is_last = step == trajectory.num_steps
                complete["metadata"] = {
                    "reward": to_json(trajectory.rewards[step - 1]),
                    "terminated": is_last and trajectory.terminated,
                    "truncated": is_last and trajectory.truncated,
                    "info": to_json(trajectory.infos[step]),
                }
            step += 1
        messages.append(complete)
    return messages


def _means(values: Mapping[str, list[Any]], count: int) -> list[dict[str, Any]]:
    """Return the mean of each score that all samples have as a number."""
    means = []
    for name, each in values.items():
        if len(each) == count and not any(isinstance(value, str) for value in each):
            mean = {"name": "mean", "value": sum(each) / count}
            means.append({"name": name, "scorer": name, "metrics": {"mean": mean}})
    return means
