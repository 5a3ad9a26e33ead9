"""An episode of texts as the messages of a chat."""

from __future__ import annotations

from roll_vec.errors import InvalidOptionError
from roll_vec.trajectories.trajectory import Trajectory


def to_messages(
    trajectory: Trajectory, *, last_observation: bool = False
) -> list[dict[str, str]]:
    """Return an episode as a list of ``{"role": ..., "content": ...}``.

    The environment's instruction, if it has one, is the ``"system"`` message, each
    observation a ``"user"`` message, each answer, as written, an ``"assistant"`` one.

    Parameters
    ----------
    trajectory : Trajectory
        Of an environment whose observations and actions are texts.
    last_observation : bool, default False
        True: the list ends with the observation after the last answer, which nobody
        answers.

    Raises
    ------
    InvalidOptionError
        If an observation or an action is no text.
    """
    observations, answers = trajectory.observations, trajectory.actions
    for name, values in (("observations", observations), ("actions", answers)):
        for value in values:
            if not isinstance(value, str):
                raise InvalidOptionError.expected(
                    "trajectory",
                    f"{name} that are texts",
                    value,
                    "; make the environments with obs_mode='text' and "
                    "action_mode='text'",
                )
    messages = []
    if trajectory.instruction is not None:
        messages.append({"role": "system", "content": trajectory.instruction})
    for observation, answer in zip(observations, answers, strict=False):
        messages.append({"role": "user", "content": observation})
        messages.append({"role": "assistant", "content": answer})
    if last_observation:
        messages.append({"role": "user", "content": observations[-1]})
    return messages
