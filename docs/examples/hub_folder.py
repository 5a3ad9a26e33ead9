"""Write the folder of a game for a hub.

``python docs/examples/hub_folder.py openenv FOLDER`` writes what ``openenv validate``
and ``openenv push`` accept; ``prime`` a package for ``vf-eval`` and ``prime env push``;
``nemo_gym`` an environment of NeMo Gym, with its manifest and its resources server.
The game needs an oracle: its solution shows that the greatest reward can be reached.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from roll_vec.envs import taxi
from roll_vec.evaluation import OraclePolicy, find_split
from roll_vec.evaluation.splits import tasks_of
from roll_vec.kernels.sokoban.moves import (
    PENALTY_STEP,
    REWARD_BOX_ON_TARGET,
    REWARD_FINISHED,
)
from roll_vec.registration import ENVIRONMENTS
from roll_vec.trajectories import play_seeds, to_json

TEMPLATES = Path(__file__).parent / "hubs"
TASKSET = Path(__file__).parent / "frameworks" / "roll_vec_games.py"
SERVER = '\n[project.scripts]\nserver = "{name}.server.app:main"\n'


class Hub(NamedTuple):
    """Folders of templates, and what a hub has in pyproject.toml."""

    templates: tuple[str, ...]
    requirement: str = ""
    packages: tuple[str, ...] = ()  # each after the name of the folder's package
    scripts: str = ""


HUBS = {
    "openenv": Hub(("package", "openenv"), "openenv>=0.10", ("", ".server"), SERVER),
    "prime": Hub(("package",), "verifiers>=0.4", ("",)),
    "nemo_gym": Hub(("nemo_gym",)),
}
# The least and the greatest reward of a step; of other games 0 and 1.
REWARDS = {
    "roll_vec/Sokoban-v0": (
        PENALTY_STEP - REWARD_BOX_ON_TARGET,
        PENALTY_STEP + REWARD_BOX_ON_TARGET + REWARD_FINISHED,
    ),
    "roll_vec/Taxi-v4": (taxi.WRONG_REWARD, taxi.ARRIVAL_REWARD),
}


def write_folder(hub: str, folder: Path, game: str, split_name: str) -> None:
    """Write the folder of a game, whose tasks are those of a split."""
    split, registered = find_split(game, split_name), ENVIRONMENTS[game]
    texts = {} if registered.pooled else {"obs_mode": "text", "action_mode": "text"}
    if hub == "openenv" and not registered.pooled:
        texts["action_mask"] = True  # for the moves of the page /web
    envs: Any = split.make_vec(1, **texts)
    low, high = REWARDS.get(game, (0.0, 1.0))
    episodes = play_seeds(envs, split.seeds[:64], OraclePolicy(envs))
    # On slippery ice the best player may fall.
    best = next((each for each in episodes if each.rewards[-1] == high), None)
    if best is None:
        fault = f"{game}: no solution ends with the reward {high}: add it to REWARDS"
        raise SystemExit(fault)
    name = "roll_vec_" + game.partition("/")[2].partition("-v")[0].lower()
    message = {"role": "user", "content": best.instruction}
    row = {"responses_create_params": {"input": [message]}}
    row["agent_ref"] = {"type": "responses_api_agents", "name": f"{name}_agent"}
    rows = [json.dumps({**row, "seed": int(seed)}) for seed in split.seeds[:8]]
    moves = [{"action": move} for move in envs.single_action_space.examples[:4]]
    tasks = {each: len(seeds) for each, seeds in tasks_of(envs.spec).items()}
    values = {
        "name": name,
        "game": game,
        "summary": registered.summarize(),
        "keywords": to_json({**split.keywords, **texts}),
        "low": low,
        "high": high,
        "split": split_name,
        "digest": split.digest,
        "tasks": json.dumps(tasks),
        "seed": best.seed,
        "actions": json.dumps(best.actions),
        "moves": json.dumps(moves),
        "rows": "\n".join(rows),
        "requirement": HUBS[hub].requirement,
        "packages": json.dumps([name + each for each in HUBS[hub].packages]),
        "scripts": HUBS[hub].scripts.format(name=name),
    }
    files = {}
    for templates in map(TEMPLATES.joinpath, HUBS[hub].templates):
        for path in templates.rglob("*.in"):
            target = path.relative_to(templates).as_posix()
            target = target.replace("NAME", name).removesuffix(".in")
            files[target] = Template(path.read_text("utf-8")).substitute(values)
    if hub == "prime":
        source, _, _ = TASKSET.read_text("utf-8").partition("\n\ndef main():")
        for default, value in (
            ('"roll_vec/Sokoban-v0"', json.dumps(game)),
            ('{"obs_mode": "text", "action_mode": "text"}', str(values["keywords"])),
            ("first_seed: int = 0", f"first_seed: int = {split.seeds[0]}"),
        ):
            assert default in source
            source = source.replace(default, value)
        files["__init__.py"] = source
    for target, text in files.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        (folder / target).write_text(text, "utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hub", choices=HUBS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--game", default="roll_vec/Sokoban-v0", help="an id")
    parser.add_argument("--split", default="test", help="see roll-vec eval list")
    args = parser.parse_args(arguments)
    write_folder(args.hub, args.folder, args.game, args.split)


if __name__ == "__main__":
    main()
