"""`roll-vec rollout --shards`: shards in this process give the run of one batch.

`tests.distributed.ray` has Ray's.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from roll_vec import distributed
from tests.cli.output import table_of
from tests.distributed.local_actors import LocalActors

SOKOBAN = "roll_vec/Sokoban-v0"


@pytest.fixture
def shards(monkeypatch):
    """Put shards into this process; return what was asked of Ray, and their deaths."""
    calls, deaths = [], {}

    def make_actors(recipe, sizes, mode, options):
        calls.append((sizes, options))
        return LocalActors(recipe, sizes, mode, deaths)

    monkeypatch.setitem(sys.modules, "ray", object())
    cls = distributed.RayVectorEnv
    monkeypatch.setattr(cls, "_make_actors", staticmethod(make_actors))
    return calls, deaths


SIX = ("--num-envs", 6, "--steps", 30, "--seed", 5)


@pytest.mark.parametrize(
    ("env_id", "flags"),
    [
        (SOKOBAN, ("-o", "num_levels=4", "--policy", "oracle")),
        ("roll_vec/Countdown-v0", ("--policy", "oracle", "-o", "num_levels=3")),
        ("user_envs:mine/Corridor-v0", ("--autoreset", "disabled")),
    ],
)
def test_a_run_over_shards_is_one_without(run, shards, user_module, env_id, flags):
    arguments = ("rollout", env_id, *SIX, *flags, "--save")
    alone = run(*arguments, "alone.npz", "--image", "alone.png")
    # Those of shards are no keywords of the environment.
    own = ("-o", "snapshot_interval=7", "-o", "render_on=shard", "--image", "a.png")
    sharded = run(*arguments, "shards.npz", "--shards", 3, *own)
    assert (sharded.code, sharded.err) == (0, "")
    (sizes, options), *_ = shards[0]
    assert (sizes, options.snapshot_interval) == ([2, 2, 2], 7)
    table, expected = table_of(sharded.out), table_of(alone.out)
    assert table["shards"] == "3 shards"
    for name in ("episodes", "environment steps", "return", "success rate", "length"):
        assert table[name] == expected[name]
    files = [np.load(name)["digests"].tolist() for name in ("alone.npz", "shards.npz")]
    assert files[0] == files[1]
    assert run("replay", "shards.npz").code == 0
    if env_id == SOKOBAN:
        assert Path("alone.png").read_bytes() == Path("a.png").read_bytes()


@pytest.mark.parametrize(
    ("deaths", "flags", "text"),
    [
        ({(1, 9): "late", (0, 20): "early"}, (), "2 shards, 2 restarts"),
        ({(1, 9): "early"}, ("-o", "max_restarts=0"), "2 shards, 1 lost"),
    ],
)
def test_the_report_and_the_bar_count_restarts_and_losses(
    run, shards, monkeypatch, deaths, flags, text
):
    shards[1].update(deaths)
    monkeypatch.setenv("FORCE_COLOR", "1")
    address = ("--address", "auto", "--threads", 1, "-o", "num_cpus=2")
    outcome = run(
        "rollout", SOKOBAN, *SIX, "--no-image", "--shards", 2, *address, *flags
    )
    ((_, options),) = shards[0]
    assert (options.address, options.num_cpus) == ("auto", 2)
    assert table_of(re.sub(r"\x1b\[[\d;]*m", "", outcome.out))["shards"] == text
    assert f"stepping, {text} " in re.sub(r"\x1b\[[\d;]*m", "", outcome.err)
    assert ("shard 1 is lost after 0 restarts" in outcome.out) == bool(flags)
