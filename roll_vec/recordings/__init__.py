"""Runs of a batch: played, recorded, saved, read and played again.

`events`       what a reset or a step does to episodes, alike in all autoreset modes:
               `BatchEvent`, and `EventStream`, which makes them of results
`episodes`     `EpisodeAccount` sums up episodes of events: returns, lengths, success
`driver`       `play_steps`, the loop of all that plays episodes
`rollouts`     `roll_out` steps a batch by a policy; `rollout_times` measures it
`setup`        all that makes the same batch again
`digests`      digests of observations and infos
`recorder`     `RunRecorder` keeps the actions, rewards, ends and digests
`files`        `save_run` and `load_run`: the file of a run
`replays`      `replay` plays a run again, and finds the first difference
`recorded_episodes`
               one form of an episode, whatever file it comes from
`readers`      `read_episodes`: the files of trainers

Whether an episode is a success is decided in one place, `roll_vec.vector.known_infos`.
"""

from __future__ import annotations

from roll_vec.recordings.events import BatchEvent, EventStream
from roll_vec.recordings.files import load_run, save_run
from roll_vec.recordings.recorder import RunRecorder
from roll_vec.recordings.replays import Difference as Difference
from roll_vec.recordings.replays import replay
from roll_vec.recordings.rollouts import roll_out

__all__ = [
    "BatchEvent",
    "EventStream",
    "RunRecorder",
    "load_run",
    "replay",
    "roll_out",
    "save_run",
]
