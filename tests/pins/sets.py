"""The sets of versions that `make test-pins` installs beside the package.

Each stands for a program whose requirements the package must meet.
"""

import re
from pathlib import Path
from typing import NamedTuple

PROJECT = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")


class PinSet(NamedTuple):
    """Versions as pip reads them, and the Pythons they exist for.

    The first of these that is here runs the set; none: the one that runs this.
    """

    requirements: tuple[str, ...]
    pythons: tuple[str, ...] = ()


def lowest(end: str) -> tuple[str, ...]:
    """Return the floors of pyproject.toml from the dependencies to a text, as pins."""
    text = PROJECT.partition("\ndependencies = ")[2].partition(end)[0]
    # Not those of Python 3.14, for which numpy 1.26 has no wheels.
    line = r"""["']([\w-]+(?:\[\w+\])?)>=([\w.]+)(?!.*>= '3)"""
    floors = re.findall(line, text)
    return tuple(sorted({f"{package}=={version}" for package, version in floors}))


# numpy 1.26 has no wheels for Python 3.13 and later.
_NUMPY_1_PYTHONS = ("3.10", "3.11", "3.12")

SETS = {
    # The floors of pyproject.toml.
    "lowest": PinSet(lowest("\n"), _NUMPY_1_PYTHONS),
    # And those of all extras.
    "lowest-extras": PinSet(lowest("[project.scripts]"), _NUMPY_1_PYTHONS),
    # ROLL 88c80761: requirements_common.txt, and what its vLLM 0.10.2 and gem-llm
    # 0.0.4 require.
    "roll": PinSet(
        ("numpy<2.0a0,>=1.25", "numba==0.61.2", "nltk==3.9.1", "ray==2.48.0"),
        _NUMPY_1_PYTHONS,
    ),
    # ray[rllib] 2.60.0.
    "rllib": PinSet(("gymnasium==1.2.2",)),
    # NeMo-Gym 07d6b0d: the requirements of its grl_sokoban; it wants Python 3.13.
    "nemo-gym": PinSet(("gymnasium==1.1.1",), ("3.13", "3.12", "3.11", "3.10")),
    # gymnax 1.0.1.
    "gymnax": PinSet(("gymnasium<1.4",)),
    # vLLM: requirements/cuda.txt.
    "vllm": PinSet(("numba==0.65.0",)),
    "newest": PinSet(()),
}
