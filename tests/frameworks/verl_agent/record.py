"""Record short transcripts of verl-agent for tests/adapters/data/verl_agent.json.

``python record.py FILE``, in the environment of check.py.
"""

import json
import sys
import tempfile
from pathlib import Path

import stand_ins

stand_ins.install()

import webshop  # noqa: E402  # after the stand-ins

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
WEBSHOP = {"seed": webshop.SEED, "env_num": 1, "group_n": 1, "is_train": False}


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
    envs = stand_ins.load_sokoban().build_sokoban_envs(**arguments)
    from roll_vec.adapters.verl_agent import build_sokoban_envs

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
    webshop.NUM_PRODUCTS = 100
    shops = webshop.Shops(folder, False)
    ours = shops.build_ours(1, 1, False)
    ours.reset()
    plan = ours.envs.solve()[0]
    script = ["think", *plan[:2], "click[description]", "click[< prev]", *plan[2:]]
    envs = shops.build_theirs(1, 1, False)
    return {"arguments": WEBSHOP, **record(envs, [script])}


def main():
    """Write the file."""
    with tempfile.TemporaryDirectory() as name:
        content = {
            "source": "verl-agent d0b9724, by tests/frameworks/verl_agent/record.py; "
            "the shop has the first 100 products of the demo shop, its Lucene is ours",
            "sokoban": record_sokoban(),
            "webshop": record_webshop(Path(name)),
        }
    text = json.dumps(content, indent=None, ensure_ascii=False)
    Path(sys.argv[1]).write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
