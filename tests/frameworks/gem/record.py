"""An episode of GEM's own environment; the speed of a pool of them.

``python record.py FOLDER`` writes transcripts and rows.
"""

import gem
import gem.envs
from side_by_side import measure, write

from roll_vec.adapters import gem as adapter

GUESSES = (25, 12, 40, 31)


def record():
    """Return the episode of seed 5 of a guessing game, which ends with the number."""
    env = gem.make("game:GuessTheNumber-v0-hard")
    episode = {"reset": env.reset(seed=5), "steps": []}
    guesses = [number for number in GUESSES if number != env.game_number]
    for number in (*guesses, env.game_number):
        text = f"\\boxed{{{number}}}"
        episode["steps"].append((text, env.step(text)))
    return episode


def stepping(envs, num_envs):
    """Return a function that takes some steps."""
    envs.reset(seed=0)

    def work():
        for _ in range(4):
            envs.step(["\\boxed{3}"] * num_envs)
        return 4 * num_envs

    return work


def main():
    """Record and measure."""
    write("gem", record())
    env_id, num_envs = "game:GuessTheNumber-v0-easy", 256
    theirs = gem.make_vec([env_id] * num_envs)
    ours = adapter.make_vec(env_id, num_envs, autoreset_mode="SameStep")
    what = f"{env_id}, {num_envs} environments"
    works = stepping(theirs, num_envs), stepping(ours, num_envs)
    write("rows", [measure(what, *works)])


if __name__ == "__main__":
    main()
