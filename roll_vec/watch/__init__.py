"""Recordings of environments to be watched, and the page that shows them.

The model, in `frames`:

* A `Recording` has some environments of one batch and a timeline of ticks.
* A `Tick` is one call of the batch: a step, or a reset.  Where a step ends an episode
  and begins the next one (autoreset mode ``SAME_STEP``), it is two ticks: the step with
  the last board of the old episode, then the reset with the first board of the new one.
* ``recording.frames[i][t]`` is the `Frame` of environment ``recording.env_ids[i]`` at
  tick t; None: this tick left the environment as it was.
* A frame has the action, the reward and their sum, the ends, the infos, and up to three
  views of the environment: ``board`` (cell codes, drawn with ``recording.tiles``),
  ``text`` and ``picture`` (pixels).
* ``recording.difference`` is where a replay differs from the file that it plays.

`FrameRecorder` makes a recording: it has the interface of a recorder of `roll-vec
rollout`, and gets the results of each reset and step; `views` reads boards, texts and
pictures of the batch.  `write_page` writes a recording as one HTML file; `packing` has
the form of the data inside it.  `write_gif` writes it as an animated picture.
"""

from __future__ import annotations

from roll_vec.watch.frames import Recording
from roll_vec.watch.gif import write_gif
from roll_vec.watch.page import write_page
from roll_vec.watch.recorder import FrameRecorder

__all__ = ["FrameRecorder", "Recording", "write_gif", "write_page"]
