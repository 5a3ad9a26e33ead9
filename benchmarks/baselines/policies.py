"""The policies of the table, and how each is made for a split."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.rules import RULES, SEED
from benchmarks.examples import import_example
from roll_vec.cli._policies import make_oracle
from roll_vec.evaluation import (
    EpisodeResults,
    Split,
    Turn,
    UniformPolicy,
    wilson_interval,
)

PPO = "PPO"
POLICIES = {
    "random": "uniform actions; for texts, uniform among the examples of the action "
    "space",
    "rule": "Sokoban: push a box nearer to a target, or else walk anywhere; lakes: "
    "step to the neighbour nearest to the goal that is no hole; Countdown: from the "
    "greatest number on, the operator that leads nearest to the target; WebShop: "
    "search for the instruction, open the first product, buy it",
    "solver": "that of `roll-vec rollout --policy oracle`: in Sokoban the fewest "
    "moves, on a lake the highest chance ever to reach the goal, in Countdown a "
    "correct answer, in WebShop the best purchase",
    PPO: "the network that [ppo.py](examples/ppo.py) trains in some minutes, its most "
    "likely action",
}
# The splits that docs/examples/ppo.py has a recipe for.
TRAINED_SPLITS = {
    "roll_vec/FrozenLake-v1": "test",
    "roll_vec/FrozenLake8x8-v1": "test",
    "roll_vec/RandomFrozenLake-v0": "test-no-slip",
    "roll_vec/Sokoban-v0": "test-1-box",
}
_NO_NETWORK = "not applicable, the actions are texts"
_NO_TRAINING = "no training in ppo.py for this task"

Policy = Callable[[Turn], Any]


def absence(split: Split, policy: str) -> str | None:
    """Return why a policy has no row for a split; None if it has one."""
    if policy != PPO or TRAINED_SPLITS.get(split.id) == split.name:
        return None
    is_text = split.id in ("roll_vec/Countdown-v0", "roll_vec/WebShop-v0")
    return _NO_NETWORK if is_text else _NO_TRAINING


def keywords_of(split: Split, policy: str) -> dict[str, Any]:
    """Return the keywords of environments that a policy asks for."""
    if policy == "rule":
        return dict(RULES[split.id].KEYWORDS)
    return {"obs_mode": "planes"} if policy == PPO else {}


def make_policy(
    split: Split, policy: str, envs: Any, checkpoint: Path | None = None
) -> Policy:
    """Return a policy for environments of a split.

    Parameters
    ----------
    split : Split
    policy : str
        A key of `POLICIES`.
    envs : VectorEnv
        Made with `keywords_of` it.
    checkpoint : Path, optional
        Of PPO.
    """
    if policy == "random":
        return UniformPolicy(envs, SEED)
    if policy == "rule":
        rule: Policy = RULES[split.id](envs)
        return rule
    if policy == "solver":
        return oracle(envs)
    function = import_example("policies").load_policy(checkpoint)
    return lambda turn: function(turn.observations)


def oracle(envs: Any) -> Policy:
    """Return the policy that takes the solver's action in every environment."""
    function = make_oracle(envs)
    return lambda turn: function(turn.observations)


def checkpoint_of(split: Split, folder: Path) -> Path:
    """Return the file of a split's network in a folder."""
    return folder / f"{split.id.rpartition('/')[2]}-{split.name}.pt"


def training_facts(split: Split, checkpoint: Path) -> dict[str, Any]:
    """Return the digest of a checkpoint and the command that trains it."""
    program = f"python docs/examples/ppo.py --id {split.id} --seed 0 --checkpoint FILE"
    digest = hashlib.sha256(checkpoint.read_bytes()).hexdigest()
    return {"checkpoint": digest, "training": program}


def new_level_facts(split: Split, results: EpisodeResults) -> dict[str, Any]:
    """Return the success on test levels that equal no training level of PPO.

    Nothing where there is one map.
    """
    recipe = import_example("recipes").RECIPES[split.id]
    if recipe.num_levels is None:
        return {}
    is_new = new_levels(
        split, import_example("policies").training_boards(split.id, recipe)
    )
    rate = wilson_interval(int(results.successes[is_new].sum()), int(is_new.sum()))
    return {
        "training_levels": recipe.num_levels * len(recipe.curriculum),
        "new_episodes": int(is_new.sum()),
        "new_success": [round(value, 6) for value in rate],
    }


def new_levels(split: Split, others: Set[bytes]) -> NDArray[np.bool_]:
    """Return (n,) bool: the first grid of an episode is none of some others.

    Parameters
    ----------
    split : Split
    others : set of bytes
        Codes of grids, uint8 in C order.
    """
    envs = split.make_vec(len(split), obs_mode="grid")
    grids, _ = envs.reset(seed=list(split.seeds))
    envs.close()
    return np.array([grid.tobytes() not in others for grid in grids])
