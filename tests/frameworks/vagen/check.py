"""VAGEN's classes over its own games, and over roll_vec's by the recipe of its page.

``python check.py OUT.json``, with VAGEN's checkout among the paths of Python.
"""

import asyncio
import itertools
import json
import re
import sys
from pathlib import Path

import gymnasium
import numpy as np
from side_by_side import measure
from vagen.envs.frozenlake.frozenlake_env import FrozenLake
from vagen.envs.sokoban import sokoban_env
from vagen.envs.sokoban.patch_sokoban_env import get_shortest_action_path

NUM_SEEDS = 1000
PAGE = Path(__file__).resolve().parents[3] / "docs" / "frameworks" / "vagen.md"
NAMES = ("up", "down", "left", "right", "jump")


def read_recipe():
    """Return the names that the page's recipe defines, without its last part."""
    (block,) = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    recipe, names = block.split("sokoban_env.SokobanEnv = Room")[0], {}
    exec(compile(recipe, str(PAGE), "exec"), names)
    return names


class OurLake(FrozenLake):
    """VAGEN's FrozenLake by the recipe."""

    _create_gym_env = read_recipe()["make_lake"]


def our_room(config, env=None):
    """Return VAGEN's Sokoban by the recipe; with ``env``, over this environment."""
    original = sokoban_env.SokobanEnv
    sokoban_env.SokobanEnv = read_recipe()["Room"]
    try:
        room = sokoban_env.Sokoban(config)
    finally:
        sokoban_env.SokobanEnv = original
    if env is not None:
        room.env.env = env
    return room


def answer(rng, separator=","):
    """Return an answer of a model, at times in a bad form."""
    actions = separator.join(NAMES[i] for i in rng.integers(0, 5, rng.integers(4)))
    if rng.integers(10) == 0:
        return actions
    return f"<think>I go on.</think><answer>{actions}</answer>"


async def same_observation(theirs, ours):
    """Compare two observations; of pictures the sizes."""
    assert ours["obs_str"] == theirs["obs_str"]
    images = [o.get("multi_modal_input", {}).get("<image>", []) for o in (theirs, ours)]
    assert [i.size for i in images[0]] == [i.size for i in images[1]]


async def same_episode(theirs, ours, seed, own_seed, rng):
    """Play an episode in both; return the number of turns."""
    await same_observation(
        (await theirs.reset(seed))[0], (await ours.reset(own_seed))[0]
    )
    turns = 0
    for _ in range(6):
        text = answer(rng)
        observation, *results = await theirs.step(text)
        own_observation, *own_results = await ours.step(text)
        await same_observation(observation, own_observation)
        assert own_results == results, (seed, text)
        turns += 1
        if results[1]:
            break
    return turns


async def check_lakes(rng):
    """Compare lakes of equal seeds, dry and slippery."""
    turns = 0
    for seed in range(NUM_SEEDS):
        config = {"is_slippery": bool(seed % 2), "size": 4 + seed % 3}
        pair = FrozenLake(config), OurLake(config)
        turns += await same_episode(*pair, seed, seed, rng)
        for env in pair:
            await env.close()
    return f"equal transcripts of {NUM_SEEDS} seeds, {turns} turns"


async def check_rooms(rng):
    """Compare play in VAGEN's rooms, which become levels of roll_vec."""
    config = {"prompt_format": "free_think", "num_boxes": 1, "render_mode": "text"}
    theirs = sokoban_env.Sokoban(config)
    rooms, lengths = [], []
    for seed in range(NUM_SEEDS):
        await theirs.reset(seed)
        state, fixed = theirs.env.room_state, theirs.env.room_fixed
        rooms.append(np.where((state == 5) & (fixed == 2), 6, state))
        lengths.append(len(get_shortest_action_path(fixed, state, 200)))
    env = gymnasium.make(
        "roll_vec/Sokoban-v0",
        levels=np.array(rooms, np.uint8),
        action_start=1,
        render_mode="rgb_array",
        difficulty_info=True,
        max_episode_steps=-1,
    ).unwrapped
    ours = our_room(config, env)
    turns = 0
    for seed in range(NUM_SEEDS):
        turns += await same_episode(theirs, ours, seed, seed, rng)
        _, info = env.reset(seed=seed)
        assert info["difficulty"]["solution_steps"] == lengths[seed]
    return (
        f"equal transcripts in {NUM_SEEDS} of VAGEN's rooms, {turns} turns, and equal "
        "min_solution_steps"
    )


async def check_bands():
    """Check the rooms of a band with VAGEN's own search."""
    config = {"min_solution_steps": [5, 15], "render_mode": "vision"}
    count = 0
    for num_boxes, num_seeds in ((1, 100), (2, 10)):
        ours = our_room(config | {"num_boxes": num_boxes})
        for seed in range(num_seeds):
            observation, _ = await ours.reset(seed)
            (image,) = observation["multi_modal_input"]["<image>"]
            assert (image.size, image.mode) == ((96, 96), "RGB")
            state, fixed = ours.env.room_state, ours.env.room_fixed
            path = get_shortest_action_path(fixed, state, 200)
            assert 5 <= len(path) == len(ours.env.solve()) <= 15
            count += 1
    return f"{count} rooms within the band by VAGEN's search"


def measure_resets():
    """Return the resets per second with a band."""
    config = {"min_solution_steps": [5, 15], "num_boxes": 1}
    pair = sokoban_env.Sokoban(config), our_room(config)

    def resets(env):
        seeds = itertools.count()

        async def reset():
            for _ in range(10):
                await env.reset(next(seeds))
            return 10

        return lambda: asyncio.run(reset())

    return measure(*map(resets, pair), seconds=3.0, rounds=3)


def main(out):
    """Run all, and write the rows."""
    rng = np.random.default_rng(0)
    rows = [
        ("FrozenLake", asyncio.run(check_lakes(rng))),
        ("Sokoban", asyncio.run(check_rooms(rng))),
        ("min_solution_steps and pictures", asyncio.run(check_bands())),
    ]
    rows = [{"what": what, "result": result} for what, result in rows]
    what, rates = "resets with min_solution_steps", measure_resets()
    rows.append({"what": what, "result": "measured", **rates, "unit": "resets/s"})
    Path(out).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
