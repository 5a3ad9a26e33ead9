"""The frameworks that `make test-adapters` installs, one virtual environment each."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FRAMEWORKS", "Checkout", "Framework"]


class Checkout(NamedTuple):
    """A commit of a source repository, which somebody has cloned."""

    repository: str  # owner and name on GitHub
    commit: str
    submodules: tuple[tuple[str, Checkout], ...] = ()  # with their folders


class Framework(NamedTuple):
    """A framework, and the packages that its page and recorder need."""

    title: str
    requirements: str  # packages as pip reads them, and its options
    # The first of these that is here runs it; without any the one that runs this.
    pythons: tuple[str, ...] = ()
    # Sources that PyPI does not have; programs import from its folder.
    checkout: Checkout | None = None
    extras: str = ""  # of roll_vec

    @property
    def packages(self) -> list[str]:
        """The packages and options, one by one."""
        return self.requirements.split()


# numpy 1.26 has no wheels for Python 3.13 and later; gym-sokoban needs pkg_resources.
_NUMPY_1_PYTHONS = ("3.11", "3.12", "3.10")
_GYM_SOKOBAN = "gym==0.26.2 gym-sokoban==0.0.6 setuptools<81"

_WEBSHOP = Checkout(
    "ZihanWang314/webshop-minimal", "ec82552d2458efb486701b138c9d038e1759489c"
)

# The name of a framework is that of its folder here and of its page, if it has one.
FRAMEWORKS = {
    # requirements_common.txt, what its vLLM 0.10.2 and gem-llm 0.0.4 require, and what
    # its environments and WebShop's pages import.
    "roll": Framework(
        "ROLL",
        f"numpy<2.0a0,>=1.25 numba==0.61.2 gem-llm==0.0.4 {_GYM_SOKOBAN} torch "
        "gymnasium[toy-text] flask beautifulsoup4 thefuzz rich tqdm "
        # What its managers and its queue import, and Ray.
        "ray==2.48.0 transformers<5 tensordict omegaconf datasets<4 pyarrow<22 peft "
        "openai httpx codetiming more-itertools transferqueue==0.1.6 fastapi uvicorn "
        "opentelemetry-exporter-otlp opentelemetry-exporter-prometheus",
        _NUMPY_1_PYTHONS,
        Checkout(
            "alibaba/ROLL",
            "8eb27cc2dc34c4d1310b169d9b86d339004d811a",
            (("third_party/webshop-minimal", _WEBSHOP),),
        ),
        "webshop",
    ),
    # Its Ray is below 2.50.
    "verl_agent": Framework(
        "verl-agent",
        f"numpy<2 {_GYM_SOKOBAN} ray==2.49.2 torch transformers omegaconf matplotlib "
        "flask beautifulsoup4 rich tqdm thefuzz",
        _NUMPY_1_PYTHONS,
        Checkout(
            "CloudEngineHub/verl-agent", "d0b97244c50f17fb43a6ef0a15bca0e95a044ff7"
        ),
        "webshop",
    ),
    "vagen": Framework(
        "VAGEN",
        f"numpy<2 pillow {_GYM_SOKOBAN}",
        _NUMPY_1_PYTHONS,
        Checkout("mll-lab-nu/VAGEN", "2936322a6f6c02fbd29ca28e4b6ec37eefefc081"),
    ),
    "trl": Framework(
        "TRL", "trl==1.16.* torch transformers datasets", extras="webshop"
    ),
    "verifiers": Framework("verifiers", "verifiers==0.4.* uv", ("3.12", "3.11")),
    "openenv": Framework("OpenEnv", "openenv==0.10.*"),
    "gem": Framework("GEM", "gem-llm==0.1.*"),
    "sb3": Framework(
        "Stable-Baselines3", "stable-baselines3==2.9.* sb3-contrib==2.9.* torch"
    ),
    "torchrl": Framework("TorchRL", "torchrl==0.14.* torch"),
    "cleanrl": Framework(
        "CleanRL",
        "torch tyro tensorboard gymnasium==1.4.*",
        checkout=Checkout(
            "vwxyzjn/cleanrl", "fe8d8a03c41a7ef5b523e2e354bd01c363e786bb"
        ),
    ),
    "skrl": Framework("skrl", "skrl torch"),
    # It pins gymnasium.
    "rllib": Framework("RLlib", "ray[rllib]==2.60.* torch"),
    "datasets": Framework(
        "Hugging Face datasets",
        "datasets transformers jinja2 trl==1.16.* torch minari[hdf5,create] pillow",
        extras="cli,parquet",
    ),
}
