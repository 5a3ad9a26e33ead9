"""Run the programs of docs/clients.md, each in a virtual environment of its own.

``python -m tests.clients`` runs all, ``python -m tests.clients skrl minari`` those of
the sections with these words in their headings.  A section's ``sh`` block names what
is installed beside roll_vec, in one call of pip: its pins and ours must fit.

A file ``check_<heading>.py`` in this folder runs after the program of its section.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = Path(__file__).with_name("constraints.txt")
SECONDS = 1200  # only a hang takes so long


class Client(NamedTuple):
    """One section: its heading, what it needs, its program."""

    heading: str
    packages: list[str]
    program: str


def read_clients(text: str) -> list[Client]:
    """Return the sections that have a program."""
    clients = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```$", section, re.M | re.S))
        if "python" in blocks:
            packages = shlex.split(blocks["sh"].removeprefix("pip install "))
            clients.append(Client(section.split("\n")[0], packages, blocks["python"]))
    return clients


def run(client: Client, wheel: Path, folder: Path) -> None:
    """Install and run; what fails raises."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    environment = {**os.environ, "MINARI_DATASETS_PATH": str(folder / "minari")}
    environment.pop("PYTHONPATH", None)
    install = [python, "-m", "pip", "install", "-q", "-c", CONSTRAINTS, wheel]
    commands = [[*install, *client.packages], [python, "-c", client.program]]
    check = Path(__file__).with_name(f"check_{client.heading.lower()}.py")
    if check.exists():
        commands.append([python, check])
    for command in commands:
        subprocess.run(
            command, check=True, cwd=folder, env=environment, timeout=SECONDS
        )


def main(words: list[str]) -> int:
    """Run the clients whose headings have one of some words; return how many fail."""
    clients = read_clients((ROOT / "docs" / "clients.md").read_text("utf-8"))
    failed = []
    with tempfile.TemporaryDirectory() as work:
        wheels = Path(work, "wheels")
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels]
        subprocess.run([*build, ROOT], check=True)
        (wheel,) = wheels.iterdir()
        for number, client in enumerate(clients):
            if words and not any(word in client.heading.lower() for word in words):
                continue
            sys.stdout.write(f"== {client.heading}\n")
            sys.stdout.flush()
            try:
                run(client, wheel, Path(work, str(number)))
            except subprocess.SubprocessError as error:
                failed.append(client.heading)
                sys.stdout.write(f"{error}\n")
    sys.stdout.write(f"failed: {', '.join(failed) or 'none'}\n")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main([word.lower() for word in sys.argv[1:]]))
