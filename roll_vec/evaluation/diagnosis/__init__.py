"""Diagnosis: reasons why the reward of recorded episodes is flat or low, by weight.

In reading order:

- `played`: the episodes, played again, as columns of turns and of episodes
- `best_play`: the best return and the exact difficulty of each task
- `faulty_answers`: the place in a text where it stops being an action
- `findings`: what a finding is, and how much it weighs
- `rewards`, `groups`, `tasks`: findings about what a policy can learn from
- `play`: findings about answers and moves
- `ranking`: all findings of episodes, the weightiest first
- `examples`: turns as people look at them: board, text, answer
- `page`: the findings as one HTML page

::

    diagnosis = diagnose(read_episodes("rollouts.jsonl"))
    for finding in diagnosis.outstanding:
        print(finding.kind.title, finding.share)
"""

from roll_vec.evaluation.diagnosis.ranking import Diagnosis as Diagnosis
from roll_vec.evaluation.diagnosis.ranking import diagnose

__all__ = ["diagnose"]
