"""Transcripts of calls and their results, in the place of tests that list both.

``python -m tests.transcripts`` writes the results again: read the difference.  A file
``data/*calls.txt`` has lines that begin with ">>> ", as in an interpreter, and below
each the result; an error is its class and message.  A title begins with "# "; there the
variables begin anew, after the lines above the first title, in an empty folder.
"""

import contextlib
import hashlib
import os
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np

from roll_vec.errors import RollVecWarning

FILES = sorted(
    path
    for pattern in ("data/*calls.txt", "[!a]*/data/*calls.txt")
    for path in Path(__file__).parent.glob(pattern)
)
LONGEST = 400


def show(value):
    """Return a result in one line, the same with all versions of numpy."""
    text = _show(value)
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} ... {_digest(text.encode('utf-8', 'replace'))}"
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


def refusals(call, *values):
    """Return the first words of the errors of a call, and how many values have each.

    The value that a message names at its end is left out.
    """
    counts = {}
    for value in values:
        words = "no error"
        try:
            call(value)
        except Exception as error:
            text = str(error).replace(str(Path.cwd()), "FOLDER")
            words = f"{type(error).__name__}: {text.partition(', got ')[0]}"[:72]
        counts[words] = counts.get(words, 0) + 1
    return counts


def sections(paths=FILES):
    """Return the lines of each section by its name, with those above the first one."""
    by_name = {}
    for path in paths:
        blocks = re.split(r"\n\n(?=# )", path.read_text("utf-8").strip())
        above = [] if blocks[0].startswith("# ") else [*blocks.pop(0).split("\n"), ""]
        for block in blocks:
            lines = block.split("\n")
            by_name[f"{path.stem}: {lines[0][2:40]}"] = above + lines
    return by_name


@contextlib.contextmanager
def empty_folder():
    """Go to an empty folder; messages name it FOLDER, and cut long paths."""
    start = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(start)


def replay(lines, imports=""):
    """Yield the lines of a section with the results that they have now."""
    variables = {}
    exec(imports, variables)
    for line in lines:
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


def rewrite(paths=FILES, imports=""):
    """Write the results of files again."""
    for path in paths:
        new = []
        for lines in sections([path]).values():
            with empty_folder():
                results = list(replay(lines, imports))
            title = [line.startswith("# ") for line in results].index(True)
            if not new and title:
                new.append("\n".join(results[: title - 1]))
            new.append("\n".join(results[title:]))
        path.write_text("\n\n".join(new) + "\n", "utf-8")


if __name__ == "__main__":
    rewrite()
