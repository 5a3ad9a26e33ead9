"""Transcripts of calls and their results: ``python -m tests.adapters.transcripts``.

A file ``data/*.txt`` has lines that begin with ">>> ", as in an interpreter, and below
each the result; an error is its class and message.  A title begins with "# "; there the
variables begin anew.  The command writes the results again: read the difference.
"""

import hashlib
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np

from roll_vec.errors import RollVecWarning
from tests.adapters.stand_ins import DATA, installed

FILES = sorted(DATA.glob("*.txt"))
LONGEST = 400
# What all transcripts can name.
IMPORTS = """
import collections, copy, dataclasses, inspect, json, pickle, pydoc, sys
from pathlib import Path
import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
import roll_vec
from roll_vec.adapters import ragen, trl
from roll_vec.adapters.roll import *
from roll_vec.adapters.verl_agent import *
from tests.adapters.transcripts import show
"""


def show(value):
    """Return a result in one line, the same with all versions of numpy."""
    text = _show(value)
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} ... {_digest(text.encode())}"
    return text


def _digest(content):
    return hashlib.sha256(content).hexdigest()[:12]


def _show(value):
    if isinstance(value, np.ndarray) and value.dtype != object:
        kind = f"{value.dtype} {list(value.shape)}"
        is_short = value.size <= 16
        return f"{kind} {value.tolist() if is_short else _digest(value.tobytes())}"
    if isinstance(value, np.ndarray):
        return f"object {_show(value.tolist())}"
    if isinstance(value, np.generic):
        return f"{value.dtype}({value.item()!r})"
    if type(value) is dict:
        return f"{{{', '.join(f'{_show(k)}: {_show(v)}' for k, v in value.items())}}}"
    if type(value) in (list, tuple):
        items = ", ".join(map(_show, value))
        return f"[{items}]" if type(value) is list else f"({items})"
    if value.__class__.__module__ == "PIL.Image":
        return f"picture {_show(np.asarray(value))}"
    return repr(value)


def replay(lines):
    """Yield the lines of a transcript with the results that they have now."""
    for line in lines:
        if line.startswith("# "):
            variables = {}
            exec(IMPORTS, variables)
        if line.startswith((">>> ", "#")) or not line:
            yield line
        if line.startswith(">>> "):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RollVecWarning)
                    try:
                        code = compile(line[4:], line, "eval")
                    except SyntaxError:
                        exec(line[4:], variables)
                        continue
                    result = eval(code, variables)
            except Exception as error:
                text = str(error).replace(str(Path.cwd()), "FOLDER")
                yield f"{type(error).__name__}: {text}"
            else:
                if result is not None:
                    yield show(result)


def main():
    """Write the results of all files again."""
    with tempfile.TemporaryDirectory() as folder, installed():
        os.chdir(folder)
        for path in FILES:
            lines = list(replay(path.read_text("utf-8").splitlines()))
            path.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
