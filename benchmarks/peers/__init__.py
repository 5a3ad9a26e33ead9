"""The packages that roll_vec is compared with, one optional adapter each.

An adapter is a module whose functions return tasks (`benchmarks.tasks`).  It is
imported by the peer's own Python, which may be that of another virtual environment
(``--peer-python envpool=/path/to/python``).  It therefore imports only numpy, the peer,
and `spaces`, `tasks` and `machine` of `benchmarks`, which need no more.
"""

from __future__ import annotations

import subprocess
from typing import NamedTuple


class Peer(NamedTuple):
    """The names of a peer and the command that installs it.

    Parameters
    ----------
    title : str
    package : str
        Its name for pip.
    install : str
        The command; these versions were tried.
    """

    title: str
    package: str
    install: str


PEERS = {
    "gymnasium": Peer("Gymnasium", "gymnasium", "pip install gymnasium"),
    "envpool": Peer("EnvPool", "envpool", "pip install envpool==1.2.5"),
    "jumanji": Peer("Jumanji", "jumanji", "pip install jumanji==1.1.2 'jax[cpu]'"),
    "gymnax": Peer(
        "gymnax",
        "gymnax",
        # Its dependencies lack six, and refuse a newer Gymnasium.
        "pip install gymnax==1.0.1 'jax[cpu]' six 'gymnasium<1.4'",
    ),
    "gym_sokoban": Peer(
        # Of the dependencies the room generator needs only numpy.
        "gym-sokoban",
        "gym-sokoban",
        "pip install --no-deps gym-sokoban==0.0.6 && pip install numpy",
    ),
    "reasoning_gym": Peer(
        "reasoning-gym", "reasoning-gym", "pip install reasoning-gym==0.1.25"
    ),
}

_SHOW_VERSION = """
import importlib.metadata, sys
try:
    print("version", importlib.metadata.version(sys.argv[1]))
except importlib.metadata.PackageNotFoundError:
    print("missing")
"""


def interpreter_error(name: str, python: str) -> str | None:
    """Return why an interpreter cannot run a peer; None: it can.

    Parameters
    ----------
    name : str
        Key of `PEERS`.
    python : str
    """
    peer = PEERS[name]
    try:
        process = subprocess.run(
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
    if process.stdout.startswith("version "):
        return None
    if process.stdout.strip() == "missing":
        return f"has no {peer.package}: {peer.install}"
    return "is no Python, or one before 3.8"
