"""Record an episode of GEM's own environment: ``python record.py FOLDER``."""

import json
import sys
from pathlib import Path

import gem
import gem.envs

GUESSES = (25, 12, 40, 31)


def main(folder):
    """Write the episode of seed 5 of a guessing game, which ends with the number."""
    env = gem.make("game:GuessTheNumber-v0-hard")
    episode = {"reset": env.reset(seed=5), "steps": []}
    guesses = [number for number in GUESSES if number != env.game_number]
    texts = [f"\\boxed{{{number}}}" for number in (*guesses, env.game_number)]
    for text in texts:
        episode["steps"].append((text, env.step(text)))
    path = Path(folder) / "gem.json"
    path.write_text(json.dumps(episode, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
