"""Write tests/adapters/data/reasoning_gym.json: entries and scores of a data set."""

import json
from pathlib import Path

import reasoning_gym

DATA = Path(__file__).parents[2] / "adapters" / "data" / "reasoning_gym.json"


def record():
    """Return three small entries, and scores of right, listed and wrong answers."""
    dataset = reasoning_gym.create_dataset("spiral_matrix", seed=0, size=3, max_n=3)
    entries = [
        {key: dataset[i][key] for key in ("question", "answer")} for i in range(3)
    ]
    scores = []
    for i, entry in enumerate(entries):
        numbers = entry["answer"].split()
        answers = [entry["answer"], f"[{', '.join(numbers)}]", "1 2", "", "[1 +"]
        scores.append([(a, dataset.score_answer(a, dataset[i])) for a in answers])
    return json.loads(json.dumps({"entries": entries, "scores": scores}))


if __name__ == "__main__":
    DATA.write_text(json.dumps(record(), indent=1) + "\n", "utf-8")
