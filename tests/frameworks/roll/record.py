"""Record episodes of ROLL's own classes: ``python record.py FOLDER``.

With a checkout of ROLL, as check.py.
"""

import json
import os
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

import demo_shop

CHECKOUT = Path(os.environ["ROLL_VEC_CHECKOUT"])
# Of ROLL's examples/config/traj_envs.yaml.
SOKOBAN = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 10, "format_penalty": -0.15}
LAKE = {"max_steps": 4, "format_penalty": -0.01}
ANSWERS = [
    *(f"<answer>{name}</answer>" for name in ("Up", "Down", "Left", "Right") * 4),
    "<answer>right</answer>",
    "I push.\n<answer> LEFT </answer>",
    "<|im_start|><answer>U<|im_end|>p</answer>",
    "<answer>Up</answer><answer>Down</answer>",
    "<answer>Jump</answer>",
    "<answer></answer>",
    "Up",
    "",
]
# Few and short, as the file stands in the repository; the seeds have no failed room.
SEEDS = {"sokoban": (7,), "frozen_lake": (0, 3), "webshop": (5,)}
CLICKS = re.compile(r"(click\[.*?\])(?:, |$)")
SHOPPING = ("search[{}]", "I wait", "click[{}]", "buy", "click[buy now]")


def plain(value):
    """Return a result without numpy's scalars and tuples."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def play(env, seed, choose, max_turns):
    """Play an episode; return the result of the reset, the answers and their results.

    Parameters
    ----------
    env : object
        With ROLL's ``reset(seed)`` and ``step(answer)``.
    seed : int
    choose : callable
        Returns an answer for a random generator, a turn and an observation.
    max_turns : int
    """
    rng = random.Random(seed)
    first = plain(env.reset(seed))
    observation, turns = first[0], []
    for turn in range(max_turns):
        answer = choose(rng, turn, observation)
        result = plain(env.step(answer))
        # Gymnasium's lake has the integers 0 and 1.
        result[1] = float(result[1])
        turns.append([answer, *result])
        observation = result[0]
        if result[2]:
            break
    return first, turns


def make_webshop(folder, num_products):
    """Return ROLL's environment of WebShop, which reads the folder ever after."""
    package = CHECKOUT / "third_party" / "webshop-minimal" / "webshop_minimal"
    copy = folder / "webshop_minimal"
    ignored = shutil.ignore_patterns("search_engine", "data")
    shutil.copytree(package, copy, ignore=ignored)
    small = copy / "data" / "small"
    small.mkdir(parents=True)
    *_, people = demo_shop.write_files(small, num_products)
    people.rename(small.parent / people.name)
    demo_shop.replace_modules(num_products)
    sys.path.insert(0, str(folder))
    from roll.pipeline.agentic.env.webshop.env import WebShopEnv

    # WebShop draws prices from the global generator; our `catalog_seed` is 0.
    random.seed(0)
    return WebShopEnv(num_products=num_products)


def shop(rng, turn, observation):
    """Return an answer: a search, a product, a purchase, and two mistakes."""
    del rng
    answer = SHOPPING[turn]
    words = " ".join(observation.split()[3:7])
    product = CLICKS.findall(observation)[-1:]
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


def main(folder):
    """Record a few episodes of each class."""
    from roll.pipeline.agentic.env.frozen_lake import FrozenLakeEnv
    from roll.pipeline.agentic.env.sokoban import SokobanEnv

    with tempfile.TemporaryDirectory() as name:
        store = make_webshop(Path(name), 100)
        games = {
            "sokoban": (SokobanEnv(**SOKOBAN), SOKOBAN, move, 12),
            "frozen_lake": (FrozenLakeEnv(**LAKE), LAKE, move, 6),
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
    text = "{" + ",\n".join(lines) + "}\n"
    (Path(folder) / "roll.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
