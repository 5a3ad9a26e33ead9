"""Export: episodes as training data, one row an episode.

In reading order:

- `formats`: the environment that episodes come from, and the form of a row
- `messages`, `parquet`, `vision`: the formats
- `writer`: write a file whole
- `rows`: the episodes of a list of seeds that become rows

::

    envs = roll_vec.make_vec("roll_vec/Countdown-v0", 64, autoreset_mode="Disabled")
    export("train.jsonl", envs, play_seeds(envs, range(1000), policy))
"""

from roll_vec.export.writer import export

__all__ = ["export"]
