"""Recordings of environments to be watched, and the page that shows them.

The model, in `frames`:

* A `Recording` has some environments of one batch and a timeline of ticks.
* A `Tick` is one call of the batch: a step, or a reset.  Where a step ends an episode
  and begins the next one (autoreset mode ``SAME_STEP``), it is two ticks: the step with
  the last board of the old episode, then the reset with the first board of the new one.
* ``recording.frames[i][t]`` is the `Frame` of environment ``recording.env_ids[i]`` at
  tick t; None: this tick left the environment as it was.  `Recording.latest` returns
  the frame that is visible at a tick.
* A frame has the action, the reward and their sum, the ends, the infos, and up to three
  views of the environment: ``board`` (cell codes, drawn with ``recording.tiles``),
  ``text`` and ``picture`` (pixels).
* ``recording.difference`` is where a replay differs from the file that it plays.

`FrameRecorder` makes a recording: it has the interface of a recorder of `roll-vec
rollout`, and gets the results of each reset and step; `views` takes boards, texts and
pictures from the batch.  `page.write_page` writes a
recording as one HTML file; `packing` is the form of the data inside it.
`video.write_gif` and `video.write_mp4` write it as a video, whose pictures `pictures`
draws; `text.write_text` as plain text.
"""

from __future__ import annotations

from roll_vec.recordings import Difference as FirstDifference
from roll_vec.watch.frames import Frame, Recording, Tick
from roll_vec.watch.page import make_page, write_page
from roll_vec.watch.recorder import FrameRecorder
from roll_vec.watch.text import write_text
from roll_vec.watch.video import write_gif, write_mp4

__all__ = [
    "FirstDifference",
    "Frame",
    "FrameRecorder",
    "Recording",
    "Tick",
    "make_page",
    "write_gif",
    "write_mp4",
    "write_page",
    "write_text",
]
