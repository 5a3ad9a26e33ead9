"""The baselines: random and greedy play, the solver and PPO on the evaluation splits.

``python -m benchmarks.baselines`` plays all of them, or those whose titles match a
regular expression, and writes roll_vec/evaluation/baselines.json.  Its figures are in
docs/baselines.md and in ``roll-vec eval panels``.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import sys
from collections.abc import Callable, Iterable, Set
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rules import RULES, SEED, import_example
from roll_vec.evaluation import (
    EpisodeResults,
    OraclePolicy,
    UniformPolicy,
    play_split,
    wilson_interval,
)
from roll_vec.evaluation.panels import BASELINES_FILE
from roll_vec.evaluation.splits import SPLITS, Split
from roll_vec.registration import ENVIRONMENTS
from roll_vec.storage.files import replace_file
from roll_vec.trajectories import Turn

ROOT = Path(__file__).parents[1]
RESULTS = Path(str(BASELINES_FILE))
PPO = "PPO"
POLICIES = ("random", "greedy", "solver", PPO)
# The networks of PPO, ID-SPLIT.pt.
NETWORKS = ROOT / "build" / "networks"
# The splits that docs/examples/ppo.py has a recipe for.
TRAINED_SPLITS = {
    "roll_vec/FrozenLake-v1": "test",
    "roll_vec/FrozenLake8x8-v1": "test",
    "roll_vec/RandomFrozenLake-v0": "test-no-slip",
    "roll_vec/Sokoban-v0": "test-1-box",
    "roll_vec/CartPole-v1": "test",
    "roll_vec/Taxi-v3": "test",
    "roll_vec/MiniGrid-DoorKey-8x8-v0": "test",
    "roll_vec/MiniGrid-MultiRoom-N2-S4-v0": "test",
}

TRAINING = "python docs/examples/ppo.py"

Policy = Callable[[Turn], Any]


def measured_pairs() -> list[tuple[Split, str]]:
    """Return all splits, each with the policies that play it."""
    splits = [split for by_name in SPLITS.values() for split in by_name.values()]
    return [(x, policy) for x in splits for policy in POLICIES if _plays(policy, x)]


def _plays(policy: str, split: Split) -> bool:
    """Return whether there is a policy for a split; not each game has a greedy one."""
    if policy == PPO:
        return TRAINED_SPLITS.get(split.id) == split.name
    if policy == "random" or split.id in RULES:
        return True
    return policy == "solver" and hasattr(ENVIRONMENTS[split.id].load(), "solve")


def results(
    split: Split, policy: str, num_envs: int = 256, networks: Path = NETWORKS
) -> dict[str, Any]:
    """Play each episode of a split once, and return the facts.

    ``success``, unless the game knows none, and ``return``, each an estimate and the
    ends of its 95 % interval; ``length``, the mean; ``faults``; the ``digest`` of the
    split; and the ``keywords`` that the policy asks for.  `network_facts` has those of
    PPO.
    """
    network = checkpoint_of(split, networks)
    keywords = keywords_of(split, policy)
    with closing(split.make_vec(num_envs, **keywords)) as envs:
        played = play_split(split, envs, make_policy(split, policy, envs, network))
    facts = {
        "episodes": len(split),
        "return": _rounded(played.mean_return()),
        "length": _rounded([float(np.mean(played.lengths))])[0],
        "faults": int(played.faults.sum()),
        "digest": split.digest,
        "keywords": keywords,
    }
    if split.has_success:
        facts["success"] = _rounded(played.success_rate())
    if policy == PPO:
        facts |= {"training": f"{TRAINING} --id {split.id} --seed 0 --checkpoint FILE"}
        facts |= network_facts(split, network, played)
    return facts


def _rounded(values: Iterable[float]) -> list[float]:
    # Far below the interval; sums of floats may differ in the last digits elsewhere.
    return [round(value, 6) for value in values]


def keywords_of(split: Split, policy: str) -> dict[str, Any]:
    """Return the keywords of environments that a policy asks for."""
    if policy == "greedy":
        return dict(RULES[split.id].KEYWORDS)
    if policy == PPO:
        return {"obs_mode": import_example("recipes").RECIPES[split.id].obs_mode}
    return {}


def make_policy(split: Split, policy: str, envs: Any, checkpoint: Path) -> Policy:
    """Return a policy for environments of a split.

    Parameters
    ----------
    split : Split
    policy : str
        A key of `POLICIES`.
    envs : VectorEnv
        Made with `keywords_of` it.
    checkpoint : Path
        Of PPO.
    """
    if policy == "random":
        return UniformPolicy(envs, SEED)
    if policy == "greedy":
        rule: Policy = RULES[split.id](envs)
        return rule
    if policy == "solver":
        return OraclePolicy(envs)
    function = import_example("policies").load_policy(checkpoint)
    return lambda turn: function(turn.observations)


def checkpoint_of(split: Split, folder: Path) -> Path:
    """Return the file of a split's network in a folder."""
    return folder / f"{split.id.rpartition('/')[2]}-{split.name}.pt"


def network_facts(
    split: Split, checkpoint: Path, played: EpisodeResults
) -> dict[str, Any]:
    """Return the digest of a network, and the version of torch that played it.

    And its success on test levels that equal no training level, ``new_success``; not
    where there are no levels.
    """
    facts: dict[str, Any] = {
        "checkpoint": hashlib.sha256(checkpoint.read_bytes()).hexdigest(),
        "torch": importlib.metadata.version("torch"),
    }
    recipe = import_example("recipes").RECIPES[split.id]
    if recipe.num_levels is not None:
        boards = import_example("policies").training_boards(split.id, recipe)
        is_new = new_levels(split, boards)
        num_successes = int(played.successes[is_new].sum())
        rate = wilson_interval(num_successes, int(is_new.sum()))
        facts |= {"new_episodes": int(is_new.sum()), "new_success": _rounded(rate)}
    return facts


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


def main(pattern: str = "") -> None:
    """Play splits, and write the file: a line for each split and policy.

    A network that is not there keeps the facts of the file.

    Parameters
    ----------
    pattern : str
        A regular expression that is searched in the titles of the lines.
    """
    rows = json.loads(RESULTS.read_text("utf-8"))
    pairs = {
        f"{split.id} {split.name}: {policy}": (split, policy)
        for split, policy in measured_pairs()
    }
    for title, (split, policy) in pairs.items():
        if not re.search(pattern, title):
            continue
        if policy == PPO and not checkpoint_of(split, NETWORKS).is_file():
            sys.stderr.write(f"{title}: no network in {NETWORKS}; {TRAINING}\n")
            continue
        rows[title] = results(split, policy)
        sys.stderr.write(f"{title}: {rows[title]['return'][0]}\n")
        lines = [
            f"{json.dumps(name)}: {json.dumps(rows[name])}"
            for name in pairs
            if name in rows
        ]
        with replace_file(RESULTS) as file:
            file.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
