"""Episodes as ATIF documents and logs of Inspect, read by the packages themselves.

``python -m tests.trajectories.transcripts`` (``make test-transcripts``) installs them
into a virtual environment of its own, which takes some minutes; ``--python`` names an
interpreter that has them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import roll_vec
from roll_vec.evaluation import UniformPolicy
from roll_vec.export import export, policy_source
from roll_vec.trajectories import play_seeds
from tests.pythons import find_python

# harbor wants Python 3.12.
PYTHONS = ("3.12", "3.13")
REQUIREMENTS = ("inspect_ai==0.3.285", "harbor==0.24.0")
CHECK = Path(__file__).parent / "read_transcripts.py"

ENVIRONMENTS = {
    "countdown": ("roll_vec/Countdown-v0", {"max_steps": 3}),
    "lake": ("roll_vec/FrozenLake-v1", {"obs_mode": "text", "action_mode": "text"}),
    "shop": ("roll_vec/WebShop-v0", {"max_episode_steps": 5}),
}
SEEDS = range(8)


def write_transcripts(folder: Path) -> None:
    """Write a log and the documents of each environment, and what they must say."""
    for name, (id, keywords) in ENVIRONMENTS.items():
        source = policy_source(
            id, lambda envs: UniformPolicy(envs, seed=1), "random", keywords=keywords
        )
        num = len(SEEDS)
        export(folder / f"{name}.inspect.json", source, format="inspect", num=num)
        documents = folder / name
        export(documents, source, format="atif", num=num)
        for path in documents.iterdir():
            path.rename(folder / f"{name}-{path.stem}.atif.json")
        envs = roll_vec.make_vec(id, 4, autoreset_mode="Disabled", **keywords)
        trajectories = list(play_seeds(envs, SEEDS, UniformPolicy(envs, seed=1)))
        envs.close()
        content = [
            {
                "observations": each.observations,
                "actions": each.actions,
                "return": each.total_reward,
                "success": each.success,
            }
            for each in trajectories
        ]
        (folder / f"{name}.content.json").write_text(json.dumps(content))


def main() -> int:
    """Run the check; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.trajectories.transcripts")
    parser.add_argument("--python", type=Path, help="has inspect_ai and harbor")
    python = parser.parse_args().python
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if python is None:
            venv = folder / "venv"
            subprocess.run([find_python(PYTHONS), "-m", "venv", str(venv)], check=True)
            python = venv / "bin" / "python"
            install = [str(python), "-m", "pip", "install", "-q", *REQUIREMENTS]
            subprocess.run(install, check=True)
        write_transcripts(folder)
        # In another folder: the packages must not see this checkout.
        check = [str(python), str(CHECK), *sorted(map(str, folder.glob("*.json")))]
        return subprocess.run(check, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
