"""Thousands of environments in one batch, behind `gymnasium.vector`.

``import roll_vec`` registers the ids.  Neither numba nor an extra is imported before an
environment is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roll_vec.registration import register, register_all
from roll_vec.version import __version__

if TYPE_CHECKING:
    from roll_vec import adapters as adapters
    from roll_vec import descriptions as descriptions
    from roll_vec import envs as envs
    from roll_vec import errors as errors
    from roll_vec import evaluation as evaluation
    from roll_vec import export as export
    from roll_vec import joined as joined
    from roll_vec import progress as progress
    from roll_vec import recordings as recordings
    from roll_vec import seeding as seeding
    from roll_vec import sessions as sessions
    from roll_vec import spaces as spaces
    from roll_vec import testing as testing
    from roll_vec import trajectories as trajectories
    from roll_vec import watch as watch
    from roll_vec.arrays.array_env import ArrayEnv
    from roll_vec.arrays.grid_env import GridEnv
    from roll_vec.arrays.grid_family import Cell
    from roll_vec.arrays.rules import rule
    from roll_vec.envs.sokoban import Sokoban as SokobanEnv
    from roll_vec.joined import JoinedVectorEnv
    from roll_vec.objects.base_envs import (
        BaseDiscreteActionEnv,
        BaseLanguageBasedEnv,
    )
    from roll_vec.pool import PoolVectorEnv
    from roll_vec.registration.factories import make_vec
    from roll_vec.vector.autoreset import final_obs
    from roll_vec.vector.env import RollVectorEnv
    from roll_vec.vector.known_infos import faults_of
    from roll_vec.vector.rollout import Rollout
    from roll_vec.vector.vector_state import VectorState

__all__ = [
    "ArrayEnv",
    "BaseDiscreteActionEnv",
    "BaseLanguageBasedEnv",
    "Cell",
    "GridEnv",
    "JoinedVectorEnv",
    "PoolVectorEnv",
    "RollVectorEnv",
    "Rollout",
    "SokobanEnv",
    "VectorState",
    "__version__",
    "faults_of",
    "final_obs",
    "make_vec",
    "register",
    "rule",
]

_MODULE_OF = {
    "ArrayEnv": "roll_vec.arrays.array_env",
    "BaseDiscreteActionEnv": "roll_vec.objects.base_envs",
    "BaseLanguageBasedEnv": "roll_vec.objects.base_envs",
    "Cell": "roll_vec.arrays.grid_family",
    "GridEnv": "roll_vec.arrays.grid_env",
    "JoinedVectorEnv": "roll_vec.joined",
    "PoolVectorEnv": "roll_vec.pool",
    "RollVectorEnv": "roll_vec.vector.env",
    "Rollout": "roll_vec.vector.rollout",
    "SokobanEnv": "roll_vec.envs.sokoban:Sokoban",
    "VectorState": "roll_vec.vector.vector_state",
    "faults_of": "roll_vec.vector.known_infos",
    "final_obs": "roll_vec.vector.autoreset",
    "make_vec": "roll_vec.registration.factories",
    "rule": "roll_vec.arrays.rules",
}

# The public modules, imported on use: some need an extra.  Their `__all__`, and that of
# this one, are the public names, which `dir` and the reference list.
PUBLIC_MODULES = (
    "adapters.openenv",
    "adapters.roll",
    "adapters.sb3",
    "adapters.trl",
    "adapters.verl_agent",
    "descriptions",
    "envs.countdown",
    "envs.frozen_lake",
    "envs.frozen_lake.solver",
    "envs.minigrid",
    "envs.sokoban",
    "envs.sokoban.solver",
    "envs.webshop",
    "errors",
    "evaluation",
    "evaluation.diagnosis",
    "export",
    "joined",
    "progress",
    "recordings",
    "recordings.readers",
    "seeding",
    "sessions",
    "spaces",
    "testing",
    "trajectories",
    "watch",
)
_PACKAGES = {module.partition(".")[0] for module in PUBLIC_MODULES}

# Hidden from type checkers, which would accept any attribute of this module.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        import importlib

        if name in _PACKAGES:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _MODULE_OF:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        module, _, other_name = _MODULE_OF[name].partition(":")
        return getattr(importlib.import_module(module), other_name or name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})


register_all()
