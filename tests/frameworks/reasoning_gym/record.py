"""Record entries and scores of reasoning-gym: ``python record.py FOLDER``."""

import json
import sys
from pathlib import Path

import reasoning_gym


def main(folder):
    """Write three small entries, and scores of right, listed and wrong answers."""
    dataset = reasoning_gym.create_dataset("spiral_matrix", seed=0, size=3, max_n=3)
    entries = [
        {key: dataset[i][key] for key in ("question", "answer")} for i in range(3)
    ]
    scores = []
    for i, entry in enumerate(entries):
        numbers = entry["answer"].split()
        answers = [entry["answer"], f"[{', '.join(numbers)}]", "1 2", "", "[1 +"]
        scores.append([(a, dataset.score_answer(a, dataset[i])) for a in answers])
    content = json.dumps({"entries": entries, "scores": scores}, indent=1)
    (Path(folder) / "reasoning_gym.json").write_text(f"{content}\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
