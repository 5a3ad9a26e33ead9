"""Helpers of Countdown's tests: the tasks of some seeds, files of tasks."""

import gzip
import json


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
