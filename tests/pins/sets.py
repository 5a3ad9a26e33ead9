"""The sets of versions that `make test-pins` installs beside the package.

Each stands for a program whose requirements the package must meet.
"""

from typing import NamedTuple


class PinSet(NamedTuple):
    """Versions as pip reads them, and the Pythons they exist for.

    The first of these that is here runs the set; none: the one that runs this.
    """

    requirements: tuple[str, ...]
    pythons: tuple[str, ...] = ()


# numpy 1.26 has no wheels for Python 3.13 and later.
_NUMPY_1_PYTHONS = ("3.10", "3.11", "3.12")

SETS = {
    # The floors of pyproject.toml.
    "lowest": PinSet(
        ("numpy==1.26.0", "numba==0.61.0", "gymnasium==1.1.0"), _NUMPY_1_PYTHONS
    ),
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
