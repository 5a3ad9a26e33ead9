"""CleanRL's ppo.py with the diff of its section: equal episodes.

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
ID = "CartPole-v1"
# Environments, and steps of all together.
SIZES = ((4, 20_000), (64, 100_000))
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


def train(name, program, id, num_envs, num_steps):
    """Run a program; return its lines about episodes."""
    file = Path(f"ppo_{name}.py")
    file.write_text(program, "utf-8")
    command = [sys.executable, file, "--env-id", id, "--no-cuda"]
    command += ["--num-envs", str(num_envs), "--total-timesteps", str(num_steps)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line for line in output.splitlines() if line.startswith("global_step=")]


def main():
    """Train with both batches, compare, and write the rows."""
    ours = change(PPO.read_text("utf-8"))
    assert ours.count(OURS) == 1
    theirs, rows = ours.replace(OURS, THEIRS), []
    for sizes in SIZES:
        expected = train("theirs", theirs, ID, *sizes)
        episodes = train("ours", ours, f"roll_vec:roll_vec/{ID}", *sizes)
        assert len(episodes) > 100
        assert episodes == expected
        what = "{} environments, {:,} steps of ppo.py"
        result = f"{len(episodes):,} equal episodes"
        rows.append({"what": f"{ID}, {what.format(*sizes)}", "result": result})
    write(rows)


if __name__ == "__main__":
    main()
