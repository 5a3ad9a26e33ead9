"""CleanRL's ppo.py with the diff of its section: equal episodes, and speed.

``python compare.py FILE`` writes rows.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from side_by_side import write

PAGE = Path(__file__).resolve().parents[3] / "docs" / "frameworks" / "others.md"
PPO = Path(os.environ["ROLL_VEC_CHECKOUT"], "cleanrl", "ppo.py")
ID, NUM_STEPS = "CartPole-v1", 20_000
# Gymnasium's batch in the mode of ours: its default is another one.
OURS = 'gym.make_vec(args.env_id, args.num_envs, autoreset_mode="SameStep")'
THEIRS = """gym.make_vec(
            args.env_id,
            args.num_envs,
            "sync",
            vector_kwargs={"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP},
        )"""


def change(program):
    """Return a program with the first diff of the section."""
    section = PAGE.read_text("utf-8").partition("\n## CleanRL\n")[2]
    diff = re.search(r"^```diff\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[1]
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        old, new = (
            "".join(line[1:] for line in lines if line[0] in signs)
            for signs in (" -", " +")
        )
        assert program.count(old) == 1, old
        program = program.replace(old, new)
    return program


def train(name, program, id):
    """Run a program; return its lines about episodes, and its steps a second."""
    file = Path(f"ppo_{name}.py")
    file.write_text(program, "utf-8")
    command = [sys.executable, file, "--env-id", id, "--no-cuda"]
    command += ["--total-timesteps", str(NUM_STEPS)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = output.splitlines()
    episodes = [line for line in lines if line.startswith("global_step=")]
    (*_, rate) = [line for line in lines if line.startswith("SPS: ")]
    return episodes, float(rate.removeprefix("SPS: "))


def main():
    """Train with both batches, compare, and write the row."""
    ours = change(PPO.read_text("utf-8"))
    assert ours.count(OURS) == 1
    theirs = ours.replace(OURS, THEIRS)
    their_episodes, their_rate = train("theirs", theirs, ID)
    episodes, rate = train("ours", ours, f"roll_vec:roll_vec/{ID}")
    assert len(episodes) > 100
    assert episodes == their_episodes
    what = f"ppo.py, {NUM_STEPS:,} steps of {ID}, beside SyncVectorEnv"
    rates = {"unit": "steps/s", "theirs": their_rate, "ours": rate}
    write([{"what": what, "result": f"{len(episodes)} equal episodes", **rates}])


if __name__ == "__main__":
    main()
