"""Runs of a batch: recorded, saved, read, played again, compared, cut into episodes.

`events`          what a reset or a step does to episodes, alike in all autoreset modes:
                  `BatchEvent`, and `EventStream`, which makes them of results
`environments`    batches of any registered id, by keywords
`episodes`        `roll_out` steps a batch by a policy; returns, lengths, success
`recorder`        `RunRecorder` keeps all events, compressed; `columns`, `flat_results`
`setup`           all that makes the same batch again
`files`           `save_run` and `load_run`: the file of a run
`replays`         `replay` plays a run again, and finds the first difference
`differences`     which environment and field differs, with both values
`trajectories`    `read_events` and `read_trajectories` of a file

Whether an episode is a success is decided in one place, `roll_vec.vector.infos`.
"""

from __future__ import annotations

from roll_vec.recordings.differences import Difference
from roll_vec.recordings.episodes import (
    Episodes,
    EpisodeStatistics,
    Recorder,
    RolloutSummary,
    roll_out,
)
from roll_vec.recordings.events import BatchEvent, EventStream
from roll_vec.recordings.files import Run, load_run, save_run
from roll_vec.recordings.recorder import RunRecorder
from roll_vec.recordings.replays import ReplayResult, replay
from roll_vec.recordings.setup import RunSetup, plan_run
from roll_vec.recordings.trajectories import read_events, read_trajectories
from roll_vec.registration.any_id import SetupError

__all__ = [
    "BatchEvent",
    "Difference",
    "EpisodeStatistics",
    "Episodes",
    "EventStream",
    "Recorder",
    "ReplayResult",
    "RolloutSummary",
    "Run",
    "RunRecorder",
    "RunSetup",
    "SetupError",
    "load_run",
    "plan_run",
    "read_events",
    "read_trajectories",
    "replay",
    "roll_out",
    "save_run",
]
