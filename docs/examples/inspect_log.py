"""Episodes of texts as a log of Inspect: ``inspect view --log-dir .`` shows it.

``python inspect_log.py countdown.json``, then ``pip install inspect_ai``.  The form is
that of ``EvalLog``, version 2, in JSON: https://inspect.aisi.org.uk/eval-logs.html.
Replace `POLICY`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import roll_vec
from roll_vec.evaluation import UniformPolicy
from roll_vec.trajectories import Trajectory, play_seeds, to_json, to_messages

POLICY = UniformPolicy
# Inspect wants a time.  The present one would make equal runs unequal files.
TIME = "1970-01-01T00:00:00+00:00"


def to_sample(episode: Trajectory, number: int, agent: str) -> dict[str, Any]:
    """Return an episode as a sample; rewards and infos are metadata of messages."""
    name = f"{number} seed {episode.seed}"
    messages: list[dict[str, Any]] = []
    # The first observation has no step before it; a message of the system is no turn.
    step = -1
    for message in to_messages(episode, last_observation=True):
        message = {"id": f"{name} {len(messages)}", **to_json(message)}
        if message["role"] == "user":
            step += 1
            if step:
                reward, info = episode.rewards[step - 1], episode.infos[step]
                message["metadata"] = to_json({"reward": reward, "info": info})
        messages.append(message)
    answers = [each for each in messages if each["role"] == "assistant"]
    scores = {"return": {"value": to_json(episode.total_reward)}}
    if episode.success is not None:
        scores["success"] = {"value": int(episode.success)}
    sample = {
        "id": name,
        "uuid": name,
        "epoch": 1,
        "input": messages[: messages.index(answers[0])] if answers else messages,
        "target": "",
        "messages": messages,
        "output": {
            "model": agent,
            "completion": answers[-1]["content"] if answers else "",
            "choices": [{"message": a, "stop_reason": "stop"} for a in answers[-1:]],
        },
        "scores": scores,
        "metadata": {"seed": episode.seed, "truncated": episode.truncated},
    }
    if episode.fault is not None:
        names = ("message", "traceback", "traceback_ansi")
        sample["error"] = dict.fromkeys(names, to_json(episode.fault))
    return sample


def to_inspect_log(episodes: Sequence[Trajectory], agent: str) -> dict[str, Any]:
    """Return episodes of one environment as a log, of what JSON has."""
    id = episodes[0].id
    samples = [to_sample(each, i, agent) for i, each in enumerate(episodes, start=1)]
    names = [sample["id"] for sample in samples]
    dataset = {"name": id, "samples": len(names), "sample_ids": names}
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": id,
            "eval_id": f"{id} {agent}",
            "created": TIME,
            "task": id,
            "task_id": id,
            "dataset": {**dataset, "shuffled": False},
            "model": agent,
            "config": {},
        },
        "plan": {"name": "plan", "steps": []},
        "results": {"total_samples": len(names), "completed_samples": len(names)},
        "stats": {"started_at": TIME, "completed_at": TIME},
        "samples": samples,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Play a batch, and write the log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--id", default="roll_vec/Countdown-v0")
    parser.add_argument("--num-episodes", type=int, default=8)
    options = parser.parse_args(arguments)
    envs = roll_vec.make_vec(options.id, num_envs=4, autoreset_mode="Disabled")
    episodes = [*play_seeds(envs, range(options.num_episodes), POLICY(envs, seed=0))]
    envs.close()
    options.out.write_text(json.dumps(to_inspect_log(episodes, "random")), "utf-8")


if __name__ == "__main__":
    main()
