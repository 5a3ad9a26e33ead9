"""The words below a board: the action, the reward, the end of the episode."""

from __future__ import annotations

from roll_vec.watch.frames import Frame, Recording


def title(recording: Recording) -> str:
    """Return the id and the further facts of a recording as one line."""
    facts = [f"{name} {value}" for name, value in recording.details.items()]
    return " | ".join([recording.id, *facts])


def action_text(frame: Frame) -> str:
    """Return the action as one line; ``start`` where an episode begins."""
    return "start" if frame.is_reset else " ".join(frame.action_name.split())


def reward_text(frame: Frame) -> str:
    """Return the reward with its sign; empty where an episode begins."""
    return "" if frame.is_reset else f"{frame.reward:+.4g}"


def return_text(frame: Frame) -> str:
    """Return the sum of the rewards so far, without the rounding errors of sums."""
    return f"{round(frame.total_reward, 6) + 0.0:.4g}"


def end_word(recording: Recording, index: int, frame: Frame, step: int) -> str:
    """Return the word for what happened to an environment; empty: nothing did.

    Parameters
    ----------
    recording : Recording
    index : int
        Of the environment in ``recording.env_ids``.
    frame : Frame
    step : int
        Of the tick that shows the frame.

    Returns
    -------
    str
        ``first difference`` of a replay, ``fault``, ``success``, ``failure`` (the
        episode has terminated without success), ``terminated`` (the environment does
        not say whether that is a success), ``truncated``, or the empty text.
    """
    difference = recording.difference
    if (
        difference is not None
        and step >= difference.step
        and difference.env_id == recording.env_ids[index]
    ):
        return "first difference"
    if frame.fault is not None:
        return "fault"
    if not frame.has_ended:
        return ""
    if frame.success:
        return "success"
    if frame.truncated:
        return "truncated"
    return "terminated" if frame.success is None else "failure"
