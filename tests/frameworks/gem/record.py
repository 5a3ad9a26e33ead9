"""Write tests/adapters/data/gem.json: an episode of GEM's own environment."""

import json
from pathlib import Path

import gem
import gem.envs

DATA = Path(__file__).parents[2] / "adapters" / "data" / "gem.json"
GUESSES = (25, 12, 40, 31)


def record():
    """Return the episode of seed 5 of a guessing game, which ends with the number."""
    env = gem.make("game:GuessTheNumber-v0-hard")
    episode = {"reset": env.reset(seed=5), "steps": []}
    guesses = [number for number in GUESSES if number != env.game_number]
    texts = [f"\\boxed{{{number}}}" for number in (*guesses, env.game_number)]
    for text in texts:
        episode["steps"].append((text, env.step(text)))
    return json.loads(json.dumps(episode))


if __name__ == "__main__":
    DATA.write_text(json.dumps(record(), indent=1) + "\n", "utf-8")
