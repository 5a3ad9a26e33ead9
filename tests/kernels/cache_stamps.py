"""The stamps that keep numba's cache honest: ``python -m tests.kernels.cache_stamps``.

numba's cache of a kernel knows the file that defines it and no other.  A kernel file
that imports from another one therefore carries that one's digest in a comment, so
that it changes itself when the other changes.
"""

import hashlib
import re
import sys
from pathlib import Path

KERNELS = Path(__file__).resolve().parent.parent.parent / "kernels"

_IMPORT = re.compile(r"^from \.(\w+) import", re.MULTILINE)
_STAMP = re.compile(r"^# depends: (\w+\.py) sha256:(\w+)$", re.MULTILINE)


def stamps(folder: Path = KERNELS) -> dict[Path, dict[str, str]]:
    """Return, for each file that imports others, the stamps it should carry.

    A file comes after those it imports, because its own digest depends on theirs.
    """
    wanted: dict[Path, dict[str, str]] = {}
    texts = {path: path.read_text("utf-8") for path in sorted(folder.glob("*.py"))}

    def stamped(path: Path) -> str:
        """Return the text of a file with right stamps."""
        text = texts[path]
        names = sorted(set(_IMPORT.findall(text)))
        digests = {
            f"{name}.py": hashlib.sha256(
                stamped(folder / f"{name}.py").encode()
            ).hexdigest()[:16]
            for name in names
        }
        if digests:
            wanted[path] = digests
        return _STAMP.sub(
            lambda match: f"# depends: {match[1]} sha256:{digests.get(match[1])}", text
        )

    for path in texts:
        stamped(path)
    return wanted


def carried(path: Path) -> dict[str, str]:
    """Return the stamps that a file carries."""
    return dict(_STAMP.findall(path.read_text("utf-8")))


def rewrite(folder: Path = KERNELS) -> list[Path]:
    """Put right digests into the stamps of all files; return the changed ones."""
    changed = []
    for path, wanted in stamps(folder).items():
        text = path.read_text("utf-8")
        right = _STAMP.sub(
            lambda match, wanted=wanted: (
                f"# depends: {match[1]} sha256:{wanted.get(match[1], 'unused')}"
            ),
            text,
        )
        if right != text:
            path.write_text(right, "utf-8")
            changed.append(path)
    return changed


if __name__ == "__main__":
    for changed_path in rewrite():
        sys.stdout.write(f"stamped {changed_path.name}\n")
