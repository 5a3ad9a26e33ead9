"""ROLL's own classes beside ours: other keywords, more seeds, speed.

`tests.frameworks` runs this file with a checkout of ROLL; `record` has its transcripts.
"""

import json
import sys
import tempfile
from pathlib import Path

from record import ANSWERS, CLICKS, LAKE, SOKOBAN, make_webshop, play
from side_by_side import measure

from roll_vec.adapters.roll import GemFrozenLakeEnv, GemSokobanEnv, GemWebShopEnv

NUM_SEEDS = 100
THINK = {"action_pattern": r"<think>(.*?)</think>\s*<answer>(.*?)</answer>"}
GLYPHS = "W.GCBA@"
NAMES = ["wall", "empty", "target", "box on target", "box", "player"]
OTHER_GLYPHS = {
    "grid_lookup": dict(enumerate(GLYPHS)),
    "grid_vocab": dict(zip(GLYPHS, [*NAMES, "player on target"], strict=True)),
}
SOKOBANS = (
    SOKOBAN,
    {**SOKOBAN, "dim_room": (10, 10), "num_boxes": 2, "search_depth": 10, **THINK},
    {**SOKOBAN, "search_depth": 30, **OTHER_GLYPHS},
)
LAKES = LAKE, {"is_slippery": False, "size": 6, "p": 0.7, **THINK}


def move(rng, turn, observation):
    """Return an answer; every second one has a thought."""
    del observation
    return "<think> hm </think> " * (turn % 2) + rng.choice(ANSWERS)


def browse(rng, turn, observation):
    """Return an answer: mostly an action of the page, now and then another text."""
    page, _, actions = observation.rpartition("\nAvailable actions: ")
    clicks = CLICKS.findall(actions)
    if rng.random() < 0.06:
        return rng.choice(["click[buy now]", "", "<answer>click[]</answer>", "buy"])
    if not clicks or rng.random() < 0.1:
        words = rng.sample(page.split(), min(4, len(page.split())))
        return f"<answer>search[{' '.join(words)}]</answer>"
    buys = turn > 8 and "click[buy now]" in clicks
    return f"<answer> {'click[buy now]' if buys else rng.choice(clicks)} </answer>"


class Retries:
    """Counts the resets of a class, which call themselves after a failed room.

    ROLL takes their next seed from `hash`, which differs between processes.
    """

    def __init__(self, env_class):
        self.count, reset = 0, env_class.reset

        def counted(env, *args, **keywords):
            self.count += 1
            return reset(env, *args, **keywords)

        env_class.reset = counted


def make_row(name, pairs, choose):
    """Return a row: the equal episodes, and the rates of one environment of each."""
    retries, num_equal = Retries(type(pairs[0][0])), 0
    for theirs, ours in pairs:
        for seed in range(NUM_SEEDS):
            count = retries.count
            expected = play(theirs, seed, choose, 30)
            if retries.count == count + 1:
                # Keys have an order.
                assert repr(play(ours, seed, choose, 30)) == repr(expected), seed
                num_equal += 1

    def count_turns(env):
        return sum(len(play(env, seed, choose, 10)[1]) for seed in range(5))

    theirs, ours = pairs[0]
    rates = measure(lambda: count_turns(theirs), lambda: count_turns(ours))
    what, result = f"{name}, one environment", f"{num_equal} equal episodes"
    return {"what": what, "result": result, "unit": "turns/s"} | rates


def main(out):
    """Compare, measure, and write the rows."""
    from roll.pipeline.agentic.env.frozen_lake import FrozenLakeEnv
    from roll.pipeline.agentic.env.sokoban import SokobanEnv

    rooms = [(SokobanEnv(**one), GemSokobanEnv(**one)) for one in SOKOBANS]
    lakes = [(FrozenLakeEnv(**one), GemFrozenLakeEnv(**one)) for one in LAKES]
    rows = [make_row("Sokoban", rooms, move), make_row("FrozenLake", lakes, move)]
    with tempfile.TemporaryDirectory() as name:
        shops = [(make_webshop(Path(name), 1000), GemWebShopEnv())]
        rows.append(make_row("WebShop", shops, browse))
    Path(out).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
