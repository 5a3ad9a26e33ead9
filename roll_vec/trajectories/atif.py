"""An episode of texts in ATIF, the Agent Trajectory Interchange Format of Harbor.

The format is described in ``rfcs/0001-trajectory-format.md`` of Harbor
(https://github.com/harbor-framework/harbor).  Its package has models that validate it:
``make test-transcripts`` uses them.
"""

from __future__ import annotations

from typing import Any

from roll_vec.trajectories.json_values import to_json
from roll_vec.trajectories.messages import to_messages
from roll_vec.trajectories.trajectory import Trajectory

__all__ = ["ATIF_VERSION", "to_atif"]

ATIF_VERSION = "ATIF-v1.4"
"""The first version with all fields that are written; later ones read it as well."""


def to_atif(
    trajectory: Trajectory,
    *,
    agent: str = "policy",
    agent_version: str = "unknown",
    session_id: str | None = None,
) -> dict[str, Any]:
    """Return an episode as one ATIF document, of what JSON has.

    Its steps are the instruction (``"system"``), the first observation (``"user"``),
    then each answer (``"agent"``) with the observation that follows it.  The field
    ``extra`` of an answer has the reward and the infos of its step; that of the
    document the seed, the end and the fault; that of ``final_metrics`` the return, as
    ``total_reward``, and the success.

    Parameters
    ----------
    trajectory : Trajectory
        Of an environment whose observations and actions are texts.
    agent, agent_version : str
        The policy.
    session_id : str, optional
        By default of the id and the seed.

    Raises
    ------
    InvalidOptionError
        If an observation or an action is no text.
    """
    messages = to_messages(trajectory, last_observation=True)
    num_first = len(messages) - 2 * trajectory.num_steps
    steps: list[dict[str, Any]] = [
        {"source": each["role"], "message": to_json(each["content"])}
        for each in messages[:num_first]
    ]
    for number in range(trajectory.num_steps):
        info = to_json(trajectory.infos[number + 1])
        observation = to_json(trajectory.observations[number + 1])
        steps.append(
            {
                "source": "agent",
                "message": to_json(trajectory.actions[number]),
                "observation": {"results": [{"content": observation}]},
                "extra": {"reward": to_json(trajectory.rewards[number]), "info": info},
            }
        )
    return {
        "schema_version": ATIF_VERSION,
        "session_id": session_id or f"{trajectory.id}:{trajectory.seed}",
        "agent": {"name": agent, "version": agent_version},
        "steps": [
            {"step_id": number, **step} for number, step in enumerate(steps, start=1)
        ],
        "final_metrics": {
            "total_steps": len(steps),
            "extra": {
                "total_reward": to_json(trajectory.total_reward),
                "success": trajectory.success,
            },
        },
        "extra": {
            "id": trajectory.id,
            "seed": trajectory.seed,
            "terminated": trajectory.terminated,
            "truncated": trajectory.truncated,
            "fault": trajectory.fault,
        },
    }
