"""Read transcripts with inspect_ai and harbor; run by `transcripts`, in its Python."""

import json
import sys
from pathlib import Path


def check_log(path, content):
    """Compare a log, as Inspect reads it, with the episodes."""
    from inspect_ai.log import read_eval_log

    header = read_eval_log(str(path), header_only=True)
    log = read_eval_log(str(path))
    assert header.status == log.status == "success"
    assert header.samples is None
    assert log.eval.dataset.samples == len(log.samples) == len(content)
    means = {each.name: each.metrics["mean"].value for each in header.results.scores}
    for name, mean in means.items():
        assert mean == sum(episode[name] for episode in content) / len(content)
    assert set(means) == {"return", "success"}
    for sample, episode in zip(log.samples, content, strict=True):
        texts = {"user": [], "assistant": [], "system": []}
        for message in sample.messages:
            texts[message.role].append(message.text)
        assert texts["user"] == episode["observations"]
        assert texts["assistant"] == episode["actions"]
        assert sample.output.completion == episode["actions"][-1]
        assert sample.scores["return"].value == episode["return"]
        assert sample.scores["success"].value == episode["success"]


def check_document(path, content):
    """Compare an ATIF document, as Harbor reads it, with the episode."""
    from harbor.models.trajectories import Trajectory
    from harbor.utils.trajectory_validator import TrajectoryValidator

    validator = TrajectoryValidator()
    assert validator.validate(path), validator.errors
    document = Trajectory.model_validate_json(path.read_text())
    episode = content[document.extra["seed"]]
    answers = [step for step in document.steps if step.source == "agent"]
    assert [step.message for step in answers] == episode["actions"]
    first = next(step.message for step in document.steps if step.source == "user")
    later = [step.observation.results[0].content for step in answers]
    assert [first, *later] == episode["observations"]
    assert document.final_metrics.extra["total_reward"] == episode["return"]


def main(paths):
    read = {path: json.loads(path.read_text()) for path in paths}
    numbers = {"inspect": 0, "atif": 0}
    for path in paths:
        kind = path.name.split(".")[1]
        if kind == "content":
            continue
        name = path.name.split(".")[0].split("-")[0]
        content = read[path.with_name(f"{name}.content.json")]
        (check_log if kind == "inspect" else check_document)(path, content)
        numbers[kind] += 1
    assert all(numbers.values()), numbers
    sys.stdout.write(f"read: {numbers}\n")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
