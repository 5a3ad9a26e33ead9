"""Environments and files with tasks of their own; grades beside the oracle's."""

import gzip
import json
from fractions import Fraction

from roll_vec.envs.countdown import Countdown
from roll_vec.envs.countdown.grading import REASONS, AnswerGrader
from tests.oracles import countdown as oracle


def with_task(nums, target, **keywords):
    """Return an environment with a given task."""
    env = Countdown(num_numbers=len(nums), **keywords)
    env.reset(seed=0)
    env.set_state({**env.get_state(), "nums": nums, "target": target})
    return env


def list_tasks(env, seeds):
    """Return the numbers and the target of each seed."""
    tasks = []
    for seed in seeds:
        env.reset(seed=seed)
        tasks.append((env.nums, env.target))
    return tasks


def write_jsonl(path, rows):
    """Write a file with a JSON object for each row; return its path."""
    open_text = gzip.open if path.suffix == ".GZ" else open
    with open_text(path, "wt", encoding="utf-8") as file:
        for nums, target in rows:
            file.write(json.dumps({"target": target, "id": "é", "nums": nums}) + "\n")
    return path


def evaluate(text, **form):
    """Return the exact value of an expression; None if there is none."""
    _, numerator, denominator = AnswerGrader(**form).grade(text)
    return Fraction(int(numerator), int(denominator)) if denominator else None


def grade(text, nums, target, **form):
    """Return the reason and the value that the package finds, as the oracle does."""
    grader = make_grader(**form)
    grader.set_task(nums, target)
    return grade_with(grader, text)


def make_grader(*, any_numbers=False, **form):
    """Return a grader with the oracle's keywords."""
    return AnswerGrader(numbers_rule="any" if any_numbers else "all", **form)


def grade_with(grader, text):
    code, numerator, denominator = grader.grade(text)
    assert denominator >= 0
    value = oracle.Fraction(int(numerator), int(denominator)) if denominator else None
    return REASONS[code], value


def check(text, nums, target, **form):
    """Compare with the oracle; return the reason."""
    result = grade(text, nums, target, **form)
    assert result == oracle.grade(text, nums, target, **form), (text, nums, target)
    return result[0]
