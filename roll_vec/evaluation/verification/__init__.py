"""Scores that anyone can check: episodes of files, played again without their policy.

- `replays`: episodes of a file, played again
- `differences`: the first difference of an episode from its replay
- `verify`: `verify_results` compares a file of results with the world to the bit,
  `verify_episodes` what a dump of a trainer says
"""

from roll_vec.evaluation.verification.verify import (
    Verification as Verification,
)
from roll_vec.evaluation.verification.verify import verify_episodes, verify_results

__all__ = ["verify_episodes", "verify_results"]
