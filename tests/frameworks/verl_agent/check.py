"""verl-agent's environments and managers beside ours.

`tests.frameworks` runs this file with a checkout of verl-agent.  Its Ray is replaced by
a stand-in within the process, except where speeds of Sokoban are measured; its Lucene,
which needs Java, by our search.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ray
import stand_ins
from side_by_side import measure

stand_ins.install()

import managers  # noqa: E402  # after the stand-ins
import sokoban  # noqa: E402
import webshop  # noqa: E402

from roll_vec.adapters.verl_agent import build_sokoban_envs  # noqa: E402


def check_sokoban():
    """Compare batches of rooms."""
    small = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 15, "search_depth": 100}
    two = {"dim_room": (6, 6), "num_boxes": 2, "max_steps": 15, "search_depth": 100}
    large = {"dim_room": (8, 8), "num_boxes": 2, "max_steps": 40, "search_depth": 50}
    for what, arguments in {
        "Sokoban, 1100 seeds of training, texts": (
            (0, 1100, 1, "tiny_rgb_array", True, two, 22)
        ),
        "Sokoban, 100 seeds of validation in pairs, pictures": (
            (1000, 100, 2, "rgb_array", False, small, 22)
        ),
        "Sokoban, 100 rooms of 8x8, texts": (
            (7, 100, 1, "tiny_rgb_array", True, large, 60)
        ),
    }.items():
        compared, retried, steps, won = sokoban.compare(*arguments)
        assert won > compared // 4
        yield {
            "what": what,
            "result": f"{compared} transcripts equal, {steps:,} steps; {retried} seeds "
            "left out that verl-agent replaces by a hash",
        }


def check_managers(shops):
    """Compare rollouts through verl-agent's own managers, with a script as model."""
    for mode, rollouts in (("tiny_rgb_array", 10), ("rgb_array", 3)):
        count, steps = managers.compare_sokoban(mode, rollouts)
        yield {
            "what": f"make_envs and SokobanEnvironmentManager, {mode}",
            "result": f"{count} rollouts equal, {steps:,} steps with their prompts",
            "lines_changed": 1,
        }
    count, steps = managers.compare_webshop(shops, 6)
    yield {
        "what": "WebshopEnvironmentManager",
        "result": f"{count} rollouts equal, {steps:,} steps with their prompts",
        "lines_changed": 1,
    }


def check_webshop(shops, kind, num_goals):
    """Compare pages, available actions and rewards."""
    for is_train, name in ((True, "training"), (False, "validation")):
        steps, purchases, won = webshop.compare(shops, num_goals, is_train)
        assert won > num_goals // 5
        yield {
            "what": f"WebShop, {num_goals} goals of {name}, {kind}",
            "result": f"equal, {steps:,} steps, {purchases} purchases, {won} perfect; "
            "our search on both sides",
        }


def check_start(folder, title_nouns):
    """Start the environments of a training run in a process of its own."""
    products, attributes, _ = webshop.write_files(folder)
    program = Path(__file__).with_name("start.py")
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        work, megabytes = subprocess.run(
            [sys.executable, program, products, attributes, title_nouns],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()[-2:]
        seconds.append(time.perf_counter() - start)
    assert int(megabytes) < 400
    return {
        "what": "WebShop, 16 × 8 + 128 environments, from the start of Python to pages",
        "result": f"{sorted(seconds)[1]:.1f} s ({work} s of one core), {megabytes} MB",
    }


def measure_sokoban():
    """Measure rollouts of 16 environments, theirs in 16 actors of Ray."""
    num_steps, env_num, group_n = 15, 4, 4
    arguments = {
        "mode": "tiny_rgb_array",
        "env_kwargs": {
            "dim_room": (6, 6),
            "num_boxes": 1,
            "max_steps": num_steps,
            "search_depth": 30,
        },
    }
    ray.init(include_dashboard=False, log_to_driver=False)
    module = stand_ins.load_sokoban(ray)
    batches = [
        build(0, env_num, group_n, **arguments)
        for build in (module.build_sokoban_envs, build_sokoban_envs)
    ]

    def play(envs):
        envs.reset()
        for step in range(num_steps):
            envs.step([1 + step % 4] * (env_num * group_n))
        return num_steps * env_num * group_n

    rates = measure(lambda: play(batches[0]), lambda: play(batches[1]))
    for envs in batches:
        envs.close()
    # Its batch closes itself once more when it is collected, and Ray would abort.
    batches[0].workers.clear()
    ray.shutdown()
    return {
        "what": "Sokoban, 16 environments, rollouts of 15 steps",
        "result": "beside an actor of Ray an environment",
        **rates,
        "unit": "steps/s",
        "lines_changed": 1,
    }


def measure_webshop(shops):
    """Measure rollouts of 8 environments, theirs in this process, without Ray."""
    theirs, ours = shops.build_theirs(1, 8, True), shops.build_ours(1, 8, True)
    rates = measure(lambda: webshop.play(theirs, 3), lambda: webshop.play(ours, 12))
    return {
        "what": "WebShop, 8 environments, rollouts",
        "result": "beside their pages in one process, with our search",
        **rates,
        "unit": "steps/s",
        "lines_changed": 1,
    }


def main():
    """Run all checks and write their rows."""
    rows = []

    def add(*new_rows):
        for row in new_rows:
            rows.append(row)
            sys.stdout.write(f"{row}\n")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        add(*check_sokoban())
        human = webshop.Shops(folder / "human", True)
        add(*check_webshop(human, "people's instructions", 25))
        shops = webshop.Shops(folder / "synthetic", False)
        add(*check_webshop(shops, "made instructions", 50))
        add(*check_managers(shops))
        add(check_start(folder / "synthetic", shops.title_nouns))
        add(measure_webshop(shops))
        add(measure_sokoban())
    add(
        {
            "what": "WebShop with Pyserini's Lucene, in actors of Ray",
            "result": "not run: needs Java",
        }
    )
    Path(sys.argv[1]).write_text(json.dumps(rows, indent=1), "utf-8")


if __name__ == "__main__":
    main()
