"""The classes of ROLL's guide, from its first commit, beside ours.

Later versions of ROLL have the pipeline's classes alone.
"""

import json
import random
import subprocess
import sys
import types

from roll_vec.adapters.roll import (
    CountdownEnv,
    CountdownEnvConfig,
    FrozenLakeEnv,
    FrozenLakeEnvConfig,
    SokobanEnv,
    SokobanEnvConfig,
)
from roll_vec.envs.countdown import reachable, solve

COMMIT = "35bea6a2"
NUM_ROWS = 500


class Rows(list):
    """The part of a data set that ROLL's Countdown uses."""

    def select(self, numbers):
        """Return rows by number."""
        return Rows(self[number] for number in numbers)

    def filter(self, function):
        """Return the rows for which a function is true."""
        return Rows(row for row in self if function(row))


def compare_guide(checkout, folder, num_seeds):
    """Return the number of equal episodes and of seeds with a retry, by class.

    Parameters
    ----------
    checkout : Path
        Of ROLL, with its history.
    folder : Path
        Empty.
    num_seeds : int
    """
    paths = ("roll/__init__.py", "roll/agentic")
    git = ["git", "-C", str(checkout), "archive", "-o", str(folder / "roll.tar")]
    subprocess.run([*git, COMMIT, *paths], check=True)
    subprocess.run(["tar", "-xf", "roll.tar"], cwd=folder, check=True)
    rows = Rows(make_rows())
    fake = types.ModuleType("datasets")
    fake.load_dataset = lambda *args, **keywords: {"train": rows}
    modules = dict(sys.modules)
    sys.modules["datasets"] = fake
    sys.path.insert(0, str(folder))
    try:
        from roll.agentic.env import countdown, frozen_lake, sokoban

        room = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 20, "search_depth": 30}
        lake = {"size": 5, "is_slippery": True}
        return {
            "Sokoban": compare_grid(
                sokoban.SokobanEnv(sokoban.SokobanEnvConfig(**room)),
                SokobanEnv(SokobanEnvConfig(**room)),
                num_seeds,
            ),
            "FrozenLake": compare_grid(
                frozen_lake.FrozenLakeEnv(frozen_lake.FrozenLakeEnvConfig(**lake)),
                FrozenLakeEnv(FrozenLakeEnvConfig(**lake)),
                num_seeds,
            ),
            "Countdown": compare_countdown(countdown, rows, folder, num_seeds),
        }
    finally:
        # ROLL's present version comes next.
        sys.path.remove(str(folder))
        for name in sys.modules.keys() - modules.keys():
            if name.partition(".")[0] == "roll":
                del sys.modules[name]
        del sys.modules["datasets"]
        sys.modules.update(
            {name: modules[name] for name in modules if name == "datasets"}
        )


def compare_grid(theirs, ours, num_seeds):
    """Compare a class with observations after a reset and four values of a step."""
    num_retries = 0
    for seed in range(num_seeds):
        count = Resets.count(theirs)
        first = theirs.reset(seed)
        if Resets.count(theirs) - count > 1:
            num_retries += 1
            continue
        assert (first, {}) == ours.reset(seed), seed
        rng = random.Random(seed)
        for _ in range(20):
            action = rng.randint(1, 4)
            observation, reward, done, info = theirs.step(action)
            *expected, terminated, truncated, ours_info = ours.step(action)
            assert [observation, reward] == expected, seed
            assert (done, info) == (terminated or truncated, ours_info), seed
            if done:
                break
    return num_seeds - num_retries, num_retries


class Resets:
    """Counts how often environments have been reset."""

    @staticmethod
    def count(env):
        """Return the count of an environment's class."""
        env_class = type(env)
        if not hasattr(env_class, "num_resets"):
            env_class.num_resets, reset = 0, env_class.reset

            def counted(self, *args, **keywords):
                env_class.num_resets += 1
                return reset(self, *args, **keywords)

            env_class.reset = counted
        return env_class.num_resets


def make_rows():
    """Return rows of tasks, some of which ROLL leaves out."""
    rng = random.Random(0)
    rows = []
    for _ in range(NUM_ROWS):
        nums = [rng.randint(1, 99) for _ in range(rng.choice((3, 4)))]
        target = rng.choice(reachable(nums))
        if rng.random() < 0.6:
            target = abs(sum(rng.choice((1, -1)) * number for number in nums))
        rows.append({"nums": nums, "target": int(target)})
    return rows


def compare_countdown(module, rows, folder, num_seeds):
    """Compare Countdown on a file of the rows."""
    path = folder / "train.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    config = module.CountdownEnvConfig(train_path=str(path), max_instances=NUM_ROWS)
    theirs = module.CountdownEnv(config)
    ours = CountdownEnv(
        CountdownEnvConfig(train_path=path, max_instances=config.max_instances)
    )
    assert 0 < len(theirs.data) < NUM_ROWS
    rng = random.Random(0)
    for seed in range(num_seeds):
        text = theirs.reset(seed)
        assert ours.reset(seed) == (text, {})
        nums = [str(number) for number in ours.nums]
        answer = rng.choice(
            [
                solve(ours.nums, ours.target) or "1",
                " + ".join(nums),
                "- " + " * ".join(nums),
                " + ".join(nums[1:]),
                str(ours.target),
            ]
        )
        observation, reward, done, info = theirs.step(answer)
        assert ours.step(answer)[:4] == (observation, reward, done, False), answer
        assert theirs.render() == ours.render()
        assert info["success"] == (reward == 1)
    return num_seeds, 0
