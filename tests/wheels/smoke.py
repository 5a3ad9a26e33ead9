"""A program that uses the installed package; runs alone, outside of the checkout.

Arguments: ``core`` without extras; ``extras`` with cli and webshop, and the arguments
of ``roll-vec`` that README's first command has.
"""

import subprocess
import sys
import sysconfig
import tempfile
import warnings
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.spaces import Tuple

import roll_vec
from roll_vec.errors import MissingExtraError
from roll_vec.registration import ENVIRONMENTS

has_extras = sys.argv[1] == "extras"
packages = Path(sysconfig.get_path("purelib"))
assert Path(roll_vec.__file__).parent == packages / "roll_vec", roll_vec.__file__
assert not (packages / "roll_vec" / "kernels").is_symlink()
warnings.simplefilter("error", UserWarning)


def play(env_id):
    """Make, reset and step a batch and a single environment."""
    envs = roll_vec.make_vec(env_id, num_envs=3)
    first, _ = envs.reset(seed=0)
    envs.sample_actions(seed=0)
    for _ in range(3):
        envs.step(envs.sample_actions())
    envs.close()
    env = gymnasium.make(env_id)
    observation, _ = env.reset(seed=0)
    if isinstance(envs.single_observation_space, Tuple):
        first = [np.array([part[0] for part in first])]
    assert str(np.array(observation)) == str(np.array(first[0])), env_id
    env.action_space.seed(0)
    env.step(env.action_space.sample())
    env.close()


# Of a family one stands for all: each class compiles for seconds.
families = {known.family or env_id: env_id for env_id, known in ENVIRONMENTS.items()}
for env_id in families.values():
    try:
        play(env_id)
    except MissingExtraError as error:
        if has_extras or error.extra != "webshop":
            raise

program = Path(sysconfig.get_path("scripts")) / "roll-vec"


def run(*arguments):
    """Run the command line and return its output."""
    return subprocess.check_output([program, *arguments], text=True)


assert f"roll-vec {roll_vec.__version__} " in run("--version")
listed = run("envs")
assert all(
    (env_id.partition("-")[2] if known.family else env_id) in listed
    for env_id, known in ENVIRONMENTS.items()
)
assert "compiled kernels" in run("doctor")
if has_extras:
    with tempfile.TemporaryDirectory() as folder:
        picture = str(Path(folder) / "boards.png")
        assert "success rate" in run(*sys.argv[2:], "--out", picture)
        assert Path(picture).stat().st_size > 0
python = sys.version.split()[0]
sys.stdout.write(f"ok: Python {python}, {roll_vec.__version__}, {sys.argv[1]}\n")
