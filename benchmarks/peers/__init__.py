"""Whom roll_vec is measured beside: one adapter each, every one of them optional.

An adapter is a module whose functions return tasks (`benchmarks.tasks`).  It is
imported by the peer's own Python, which may lie in another virtual environment
(``--peer-python envpool=/path/to/python``), so it imports nothing but numpy, the
peer and those of our modules that need Python alone: `tasks` and `machine`.
"""

from __future__ import annotations

import subprocess
from typing import NamedTuple


class Peer(NamedTuple):
    """How a peer is called and how it is had.

    Parameters
    ----------
    title : str
    package : str
        Its name for pip.
    install : str
        What to type, tried with what is written here.
    """

    title: str
    package: str
    install: str


PEERS = {
    "gymnasium": Peer("Gymnasium", "gymnasium", "pip install gymnasium"),
    "envpool": Peer("EnvPool", "envpool", "pip install envpool==1.2.5"),
    "jumanji": Peer("Jumanji", "jumanji", "pip install jumanji==1.1.2 'jax[cpu]'"),
    "gym_sokoban": Peer(
        # Of its dependencies the room generator needs numpy alone.
        "gym-sokoban",
        "gym-sokoban",
        "pip install --no-deps gym-sokoban==0.0.6 && pip install numpy",
    ),
    "reasoning_gym": Peer(
        "reasoning-gym", "reasoning-gym", "pip install reasoning-gym==0.1.25"
    ),
    "pufferlib": Peer("PufferLib", "pufferlib", "pip install pufferlib==3.0.0"),
}

_SHOW_VERSION = """
import importlib.metadata, sys
try:
    print("version", importlib.metadata.version(sys.argv[1]))
except importlib.metadata.PackageNotFoundError:
    print("missing")
"""


def find_fault(name: str, python: str) -> str | None:
    """Return why an interpreter cannot run a peer, None where it has the package.

    Parameters
    ----------
    name : str
        Key of `PEERS`.
    python : str
    """
    peer = PEERS[name]
    try:
        done = subprocess.run(
            [python, "-c", _SHOW_VERSION, peer.package],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=60,
        )
    except OSError as error:
        return f"cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return "does not answer as a Python does"
    if done.stdout.startswith("version "):
        return None
    if done.stdout.strip() == "missing":
        return f"has no {peer.package}: {peer.install}"
    return "is no Python, or one before 3.8"
