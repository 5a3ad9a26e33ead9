"""Interpreters of several Pythons, for tests in virtual environments."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def find_python(versions: Sequence[str]) -> str:
    """Return the first interpreter that is here; without versions, this one.

    The versions are as ``"3.11"``, the best first.  If none is here, that is a
    `LookupError` whose message is one line.
    """
    if not versions:
        return sys.executable
    # The shims of pyenv refuse versions that are not activated.
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in versions:
        name = f"python{version}"
        candidates = [shutil.which(name), *pyenv.glob(f"{version}*/bin/{name}")]
        if version == ".".join(map(str, sys.version_info[:2])):
            candidates.append(
                sys.executable
            )  # on Windows it has no version in its name
        for python in (str(candidate) for candidate in candidates if candidate):
            run = subprocess.run([python, "-c", ""], capture_output=True, check=False)
            if run.returncode == 0:
                return python
    message = f"none of these is here: {', '.join('python' + v for v in versions)}"
    raise LookupError(message)
