"""verl-agent's pictures beside ours, and speed.

Its texts, rewards and ends are in the transcripts of `record`.  `tests.frameworks` runs
this file with a checkout of verl-agent.  Ray is a stand-in within the process, except
where speeds of Sokoban are measured.
"""

import json
import sys
from pathlib import Path

import numpy as np
import ray
from side_by_side import assert_same, measure
from stand_ins import LocalRay, load_module

from roll_vec.adapters.verl_agent import build_sokoban_envs

ROOM = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 15, "search_depth": 30}


def build_both(env_num, group_n, mode, ray=LocalRay):
    """Return a batch of Sokoban of verl-agent and one of ours."""
    arguments = {"mode": mode, "is_train": False, "env_kwargs": dict(ROOM)}
    builds = load_module("sokoban", ray).build_sokoban_envs, build_sokoban_envs
    return [build(1000, env_num, group_n, **arguments) for build in builds]


def compare_pictures(env_num=50, num_steps=10):
    """Compare all that batches return and render; return the pictures compared."""
    theirs, ours = build_both(env_num, 2, "rgb_array")
    # The first draw is theirs, of numpy's global generator.
    seeds = np.random.RandomState(1000).randint(2**16, 2**32 - 1, size=env_num)
    expected, results = theirs.reset(), ours.reset()
    rooms = [actor.instance.env for actor in theirs.workers]
    # verl-agent replaces the seed of a room that it cannot make by a `hash`.
    kept = [i for i, room in enumerate(rooms) if room.seed == seeds[i // 2]]
    rng, num_pictures = np.random.default_rng(0), 0
    for _ in range(num_steps):
        for column, other in zip(expected, results, strict=True):
            assert_same(*([list(one)[i] for i in kept] for one in (other, column)))
        for form in ("tiny_rgb_array", "list", "state", "rgb_array"):
            rendered = [envs.render(form) for envs in (ours, theirs)]
            assert_same(*([one[i] for i in kept] for one in rendered))
        num_pictures += len(kept)
        actions = rng.integers(0, 5, 2 * env_num).tolist()
        expected, results = theirs.step(actions), ours.step(actions)
        kept = [i for i in kept if not results[2][i]]
    return num_pictures


def roll_out_sokoban(envs):
    """Play 15 steps in 16 environments."""
    envs.reset()
    for step in range(15):
        envs.step([1 + step % 4] * 16)
    return 15 * 16


def measure_sokoban():
    """Return the rates of rollouts, theirs in 16 actors of Ray."""
    ray.init(include_dashboard=False, log_to_driver=False)
    theirs, ours = build_both(4, 4, "tiny_rgb_array", ray)
    rates = measure(lambda: roll_out_sokoban(theirs), lambda: roll_out_sokoban(ours))
    theirs.close()
    # Its batch closes itself once more when it is collected, and Ray would abort.
    theirs.workers.clear()
    ray.shutdown()
    return rates


def main(out):
    """Compare, measure, and write the rows."""
    what = "Sokoban, 50 seeds of validation in pairs, pictures"
    rows = [{"what": what, "result": f"{compare_pictures():,} equal"}]
    what = "Sokoban, 16 environments, rollouts of 15 steps"
    row = {"what": what, "result": "beside an actor of Ray an environment"}
    rows.append(row | measure_sokoban() | {"unit": "steps/s"})
    Path(out).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
