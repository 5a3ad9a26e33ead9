"""The names of our environments in a ROLL yaml."""

from __future__ import annotations

_PACKAGE = __name__.rpartition(".")[0]

GEM_IDS = {
    "roll_vec/sokoban": f"{_PACKAGE}:GemSokobanEnv",
    "roll_vec/frozen_lake": f"{_PACKAGE}:GemFrozenLakeEnv",
    "roll_vec/webshop": f"{_PACKAGE}:GemWebShopEnv",
    "roll_vec/countdown": f"{_PACKAGE}:GemCountdownEnv",
}
"""By ``env_type`` of a yaml: where GEM finds the class."""


def register_gem_envs() -> None:
    """Register the names of `GEM_IDS` by `gem.register`; again is no error.

    GEM has a registry in each process, so that each worker of ROLL must call this: for
    example at the end of ``roll/pipeline/agentic/env/__init__.py``.

    Raises
    ------
    ImportError
        Without GEM.
    """
    import gem
    from gem.envs.registration import ENV_REGISTRY

    for name, entry_point in GEM_IDS.items():
        if name not in ENV_REGISTRY:
            gem.register(name, entry_point=entry_point)
