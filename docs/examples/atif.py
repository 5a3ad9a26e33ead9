"""Episodes of texts in ATIF, the Agent Trajectory Interchange Format of Harbor.

``python atif.py FOLDER`` writes one JSON document an episode.  The format, version 1.4,
is described in ``rfcs/0001-trajectory-format.md`` of
https://github.com/harbor-framework/harbor.  Replace `POLICY`.
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


def to_atif(episode: Trajectory, agent: str) -> dict[str, Any]:
    """Return an episode as one document, of what JSON has.

    Its steps are the instruction, the first observation, then each answer with the
    observation, the reward and the infos that follow it.
    """
    messages = to_messages(episode, last_observation=True)
    steps: list[dict[str, Any]] = [
        {"source": each["role"], "message": each["content"]}
        for each in messages[: len(messages) - 2 * episode.num_steps]
    ]
    for number, answer in enumerate(episode.actions):
        observation = episode.observations[number + 1]
        reward, info = episode.rewards[number], episode.infos[number + 1]
        steps.append(
            {
                "source": "agent",
                "message": answer,
                "observation": {"results": [{"content": observation}]},
                "extra": {"reward": reward, "info": info},
            }
        )
    document = {
        "schema_version": "ATIF-v1.4",
        "session_id": f"{episode.id}:{episode.seed}",
        "agent": {"name": agent, "version": f"roll_vec {roll_vec.__version__}"},
        "steps": [{"step_id": i, **step} for i, step in enumerate(steps, start=1)],
        "final_metrics": {
            "total_steps": len(steps),
            "extra": {"return": episode.total_reward, "success": episode.success},
        },
        "extra": {
            "id": episode.id,
            "seed": episode.seed,
            "terminated": episode.terminated,
            "truncated": episode.truncated,
            "fault": episode.fault,
        },
    }
    converted: dict[str, Any] = to_json(document)
    return converted


def main(arguments: Sequence[str] | None = None) -> None:
    """Play a batch, and write the documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--id", default="roll_vec/Countdown-v0")
    parser.add_argument("--num-episodes", type=int, default=8)
    options = parser.parse_args(arguments)
    options.folder.mkdir(exist_ok=True)
    envs = roll_vec.make_vec(options.id, num_envs=4, autoreset_mode="Disabled")
    for episode in play_seeds(envs, range(options.num_episodes), POLICY(envs, seed=0)):
        path = options.folder / f"{episode.seed:06}.json"
        path.write_text(json.dumps(to_atif(episode, "random")), "utf-8")
    envs.close()


if __name__ == "__main__":
    main()
