"""Record short transcripts of verl-agent: ``python record.py FOLDER``."""

import json
import sys
import tempfile
from pathlib import Path

import demo_shop
from stand_ins import load_module, load_webshop

from roll_vec.adapters.verl_agent import build_sokoban_envs, build_webshop_envs

SOKOBAN = {
    "seed": 0,
    "env_num": 3,
    "group_n": 2,
    "mode": "tiny_rgb_array",
    "env_kwargs": {
        "dim_room": [6, 6],
        "num_boxes": 1,
        "max_steps": 5,
        "search_depth": 100,
    },
}
# WebShop's seed of the shuffle.  An actor of verl-agent shuffles by its own seed, and
# draws prices and limits by it: with this seed its shop is WebShop's, and ours.
SEED = 233
WEBSHOP = {"seed": SEED, "env_num": 1, "group_n": 1, "is_train": False}


def record(envs, scripts):
    """Return the results of a batch; None for environments that have ended."""
    observations, infos = envs.reset()
    done, steps = [False] * len(infos), []
    for actions in zip(*scripts, strict=True):
        results = list(zip(*envs.step(list(actions)), strict=True))
        steps.append([None if d else r for d, r in zip(done, results, strict=True)])
        done = [d or r[2] for d, r in zip(done, results, strict=True)]
    return {
        "scripts": scripts,
        "reset": list(zip(observations, infos, strict=True)),
        "steps": steps,
    }


def record_sokoban():
    """Return a record in which a room is solved."""
    arguments = {**SOKOBAN, "env_kwargs": dict(SOKOBAN["env_kwargs"])}
    envs = load_module("sokoban").build_sokoban_envs(**arguments)
    ours = build_sokoban_envs(**SOKOBAN)
    ours.reset()
    scripts = [
        [*plan, 1, 1, 0, 2, 3, 4, 1][:7] if i % 2 == 0 else [0, 1, 2, 0, 3, 4, 1]
        for i, plan in enumerate(map(list, ours.envs.solve()))
    ]
    scripts = [[int(action) for action in script] for script in scripts]
    return {"arguments": SOKOBAN, **record(envs, scripts)}


def record_webshop(folder):
    """Return a record of a perfect purchase."""
    products, attributes, people = demo_shop.write_files(folder, 100)
    demo_shop.replace_modules(100)
    ours = build_webshop_envs(
        **WEBSHOP, env_kwargs={"num_products": 100, "catalog_seed": SEED}
    )
    ours.reset()
    plan = ours.envs.solve()[0]
    script = ["think", *plan[:2], "click[description]", "click[< prev]", *plan[2:]]
    theirs = load_webshop(people).build_webshop_envs(
        **WEBSHOP,
        resources_per_worker={},
        env_kwargs={
            "observation_mode": "text",
            "num_products": None,
            "human_goals": False,
            "file_path": str(products),
            "attr_path": str(attributes),
            # Gymnasium's predecessor would refuse the shop, which has no spaces.
            "disable_env_checker": True,
        },
    )
    return {"arguments": WEBSHOP, **record(theirs, [script])}


def main(folder):
    """Write the file."""
    with tempfile.TemporaryDirectory() as name:
        content = {
            "source": "verl-agent d0b9724, by tests/frameworks/verl_agent/record.py; "
            "the shop has the first 100 products of the demo shop, its Lucene is ours",
            "sokoban": record_sokoban(),
            "webshop": record_webshop(Path(name)),
        }
    text = json.dumps(content, ensure_ascii=False)
    (Path(folder) / "verl_agent.json").write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
