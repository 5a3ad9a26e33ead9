"""Record the transcripts that tests/adapters compares with: ``python record.py FILE``.

Run it as check.py is run, with a checkout of ROLL.  It takes ROLL's own classes alone.
"""

import json
import sys
import tempfile
from pathlib import Path

import original_webshop
from check import CHECKOUT, SOKOBAN
from transcripts import ANSWERS, play

# Few and short, as the file stands in the repository; the seeds have no failed room.
SEEDS = {"sokoban": (7,), "frozen_lake": (0, 3), "webshop": (5,)}
SHOPPING = ("search[{}]", "I wait", "click[{}]", "buy", "click[buy now]")


def shop(rng, turn, observation):
    """Return an answer: a search, a product, a purchase, and two mistakes."""
    del rng
    answer = SHOPPING[turn]
    words = " ".join(observation.split()[3:7])
    product = original_webshop.CLICKS.findall(observation)[-1:]
    text = answer.format(
        product[0][6:-1] if answer.startswith("click") and product else words
    )
    return text if " " in answer and "[" not in answer else f"<answer>{text}</answer>"


def move(rng, turn, observation):
    """Return a random answer, but one without an action in turn 1."""
    del observation
    return "Up" if turn == 1 else rng.choice(ANSWERS)


def shorten(episode):
    """Return an episode without what is the same in each of its infos."""
    first, turns = episode
    for turn in turns:
        del turn[-1]["metrics_agg_mode"]
    return first, turns


def main():
    """Record a few episodes of each class."""
    sys.path.insert(0, str(CHECKOUT))
    from roll.pipeline.agentic.env.frozen_lake import FrozenLakeEnv
    from roll.pipeline.agentic.env.sokoban import SokobanEnv

    lake = {"max_steps": 4, "format_penalty": -0.01}
    with tempfile.TemporaryDirectory() as folder:
        _, store = original_webshop.make_original(CHECKOUT, Path(folder), 100)
        games = {
            "sokoban": (SokobanEnv(**SOKOBAN), SOKOBAN, move, 12),
            "frozen_lake": (FrozenLakeEnv(**lake), lake, move, 6),
            "webshop": (store, {"num_products": 100}, shop, len(SHOPPING)),
        }
        recorded = {
            name: {
                "keywords": keywords,
                "episodes": {
                    seed: shorten(play(env, seed, choose, num_turns))
                    for seed in SEEDS[name]
                },
            }
            for name, (env, keywords, choose, num_turns) in games.items()
        }
    lines = [
        f"{json.dumps(name)}: {json.dumps(game, ensure_ascii=False)}"
        for name, game in recorded.items()
    ]
    Path(sys.argv[1]).write_text("{" + ",\n".join(lines) + "}\n", "utf-8")


if __name__ == "__main__":
    main()
