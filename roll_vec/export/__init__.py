"""Export: episodes of an expert, of any policy or of a recorded run as training data.

In reading order:

- `source`: the episodes to export, and the environment that they come from
- `formats`: the table of formats; `register_format` adds one
- `messages`, `parquet`, `vision`, `minari`: the formats
- `exporter`: write a file; the episodes of an unfinished export, to which the next call
  goes back
- `verification`: play each row of a file again

::

    source = policy_source("roll_vec/Countdown-v0", make_policy, "my policy")
    result = export("train.jsonl", source, num=1000)
    print(result.totals.rows, result.mean_return)
    verify("train.jsonl")
"""

from roll_vec.export.exporter import ExportResult, TooFewSuccessesError, export
from roll_vec.export.formats import (
    FORMATS,
    Format,
    Row,
    find_format,
    register_format,
)
from roll_vec.export.messages import MessagesFormat
from roll_vec.export.minari import MinariFormat
from roll_vec.export.parquet import ParquetFormat
from roll_vec.export.source import (
    NUM_ENVS,
    Source,
    player_source,
    policy_source,
    recorded_source,
)
from roll_vec.export.verification import VerificationError, verify
from roll_vec.export.vision import VisionFormat

__all__ = [
    "FORMATS",
    "NUM_ENVS",
    "ExportResult",
    "Format",
    "Row",
    "Source",
    "TooFewSuccessesError",
    "VerificationError",
    "export",
    "find_format",
    "player_source",
    "policy_source",
    "recorded_source",
    "register_format",
    "verify",
]

for _format in (MessagesFormat(), VisionFormat(), ParquetFormat(), MinariFormat()):
    register_format(_format)
