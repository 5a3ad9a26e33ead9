"""Episodes of ROLL's own classes beside ours, and their speed.

``python compare.py FILE`` writes rows, with a checkout of ROLL.
"""

import functools
import hashlib
import json
import os
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

import demo_shop
import numpy as np
from side_by_side import measure, write

from roll_vec.adapters.roll import (
    GemFrozenLakeEnv,
    GemSokobanEnv,
    GemSokobanNativeEnv,
    GemSokobanToolCallEnv,
    GemWebShopEnv,
)
from roll_vec.adapters.roll.native import DIRECTIONS, REMINDER

CHECKOUT = Path(os.environ["ROLL_VEC_CHECKOUT"])
# Of ROLL's examples/config/traj_envs.yaml and vl_traj_envs.yaml.
SOKOBAN = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 10, "format_penalty": -0.15}
LAKE = {"max_steps": 4, "format_penalty": -0.01}
PIXELS = {"render_mode": "rgb_array"}
CHAT = {"max_steps": 8, "format_penalty": -0.15}
NUM_SEEDS = 100  # of the comparison
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
CLICKS = re.compile(r"(click\[.*?\])(?:, |$)")


def plain(value):
    """Return a result without numpy's scalars and tuples; of pixels a digest."""
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value)).hexdigest()[:16]
        return f"{value.dtype} {value.shape} {digest}"
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def play(env, seed, choose, max_turns):
    """Play an episode; return the result of the reset, the answers and their results.

    ``choose`` returns an answer for a generator, a turn and an observation.
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


def move(rng, turn, observation):
    """Return a random answer, but one without an action in turn 1."""
    del observation
    return "Up" if turn == 1 else rng.choice(ANSWERS)


def make_call(arguments, name="move_player", number="call_1"):
    """Return the message of a model that calls a tool."""
    function = {"name": name, "arguments": arguments}
    call = {"id": number, "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def call_tool(rng, turn, observation):
    """Return a random message: mostly a call of the tool, with a direction."""
    del observation
    direction = rng.choice(DIRECTIONS)
    others = (
        make_call('{"direction": "west"}'),
        make_call({"direction": direction.upper()}, number="call_2"),
        {**make_call("{}"), "content": None},
        make_call("{", number="call_3"),
        make_call("{}", "jump"),
        {"role": "assistant", "content": "I wait.", "tool_calls": []},
        "<answer>Up</answer>" * (1 + 20 * rng.randrange(2)),
    )
    if turn < len(others) or rng.random() < 0.2:
        return others[turn] if turn < len(others) else rng.choice(others)
    return make_call(json.dumps({"direction": direction}))


def forget_reminders(episode):
    """Return an episode as a text without the reminders that ROLL never shows."""
    text = json.dumps(episode, sort_keys=True)
    return text.replace(json.dumps(REMINDER)[1:-1], "")


def count_resets(env_class):
    """Return the growing list of the resets of a class.

    They call themselves after a failed room: ROLL takes the next seed from `hash`,
    which differs between processes.
    """
    resets, reset = [], env_class.reset

    def counted(env, *args, **keywords):
        resets.append(args)
        return reset(env, *args, **keywords)

    env_class.reset = counted
    return resets


def make_row(name, theirs, ours, choose):
    """Return a row: the equal episodes, and the rates of one environment of each."""
    resets, num_equal = count_resets(type(theirs)), 0
    # Keys have an order.
    show = forget_reminders if hasattr(ours, "message_history") else repr
    for seed in range(NUM_SEEDS):
        before = len(resets)
        # Infos of messages have the number of the episode.
        theirs.task_idx = ours.task_idx = seed
        expected = play(theirs, seed, choose, 30)
        if len(resets) == before + 1:
            assert show(play(ours, seed, choose, 30)) == show(expected), seed
            num_equal += 1

    def count_turns(env):
        return sum(len(play(env, seed, choose, 10)[1]) for seed in range(5))

    works = (lambda: count_turns(theirs)), (lambda: count_turns(ours))
    what, result = f"{name}, one environment", f"{num_equal} equal episodes"
    return measure(what, *works, "turns/s", result)


def main():
    """Compare, and measure."""
    from roll.pipeline.agentic.env.frozen_lake import FrozenLakeEnv
    from roll.pipeline.agentic.env.sokoban import SokobanEnv
    from roll.pipeline.agentic.env.sokoban.native_env import (
        SokobanNativeEnv as NativeEnv,
    )
    from roll.pipeline.agentic.env.sokoban.tool_call_env import (
        SokobanToolCallEnv as ToolEnv,
    )

    full = {**CHAT, "full_history": True}
    rooms, lakes = SOKOBAN | PIXELS, LAKE | PIXELS
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        webshop = functools.partial(make_webshop, Path(folder))
        for name, theirs, ours, keywords, choose in (
            ("Sokoban", SokobanEnv, GemSokobanEnv, SOKOBAN, move),
            ("FrozenLake", FrozenLakeEnv, GemFrozenLakeEnv, LAKE, move),
            ("WebShop", webshop, GemWebShopEnv, {"num_products": 100}, browse),
            ("Sokoban with messages", NativeEnv, GemSokobanNativeEnv, CHAT, move),
            ("Sokoban by tool calls", ToolEnv, GemSokobanToolCallEnv, full, call_tool),
            ("Sokoban in pixels", SokobanEnv, GemSokobanEnv, rooms, move),
            ("FrozenLake in pixels", FrozenLakeEnv, GemFrozenLakeEnv, lakes, move),
        ):
            rows.append(make_row(name, theirs(**keywords), ours(**keywords), choose))
    write(rows)


if __name__ == "__main__":
    main()
