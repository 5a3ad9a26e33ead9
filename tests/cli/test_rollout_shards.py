"""`roll-vec rollout --shards`: arguments, the report, runs that replay without shards.

Here the shards are in this process; `tests.distributed.ray` has Ray's.
"""

import sys

import numpy as np
import pytest

from roll_vec import distributed
from tests.cli.output import table_of
from tests.distributed.local_actors import LocalActors

SOKOBAN = "roll_vec/Sokoban-v0"
SMALL = ("--num-envs", 6, "--steps", 30, "--no-image")


@pytest.fixture
def local_shards(monkeypatch):
    """Put the shards into this process; return what was asked of Ray."""
    calls, deaths = [], {}

    def make_actors(recipe, sizes, mode, options):
        calls.append((sizes, options))
        return LocalActors(recipe, sizes, mode, deaths)

    monkeypatch.setitem(sys.modules, "ray", object())
    cls = distributed.RayVectorEnv
    monkeypatch.setattr(cls, "_make_actors", staticmethod(make_actors))
    make_actors.calls, make_actors.deaths = calls, deaths
    return make_actors


def saved_digests(path):
    """Return the digests of a saved run."""
    return np.load(path)["digests"].tolist()


@pytest.mark.parametrize(
    ("env_id", "flags"),
    [
        (SOKOBAN, ("-o", "num_levels=4", "--policy", "oracle")),
        ("roll_vec/FrozenLake-v1", ("--policy", "oracle")),
        ("roll_vec/Countdown-v0", ("--policy", "oracle", "-o", "num_levels=3")),
        ("user_envs:mine/Corridor-v0", ("--autoreset", "disabled")),
    ],
)
def test_a_run_over_shards_is_one_without(
    env_id, flags, run, local_shards, user_module
):
    del user_module
    arguments = ("rollout", env_id, *SMALL, "--seed", 5, *flags, "--save")
    alone = run(*arguments, "alone.npz")
    # Those of shards are no keywords of the environment.
    own = ("-o", "snapshot_interval=7", "-o", "render_on=shard")
    sharded = run(*arguments, "shards.npz", "--shards", 3, *own)
    assert (sharded.code, sharded.err) == (0, "")
    (call,) = local_shards.calls
    assert (call[0], call[1].snapshot_interval) == ([2, 2, 2], 7)
    table, expected = table_of(sharded.out), table_of(alone.out)
    assert table.pop("shards") == "3 shards"
    for name in ("episodes", "environment steps", "return", "success rate", "length"):
        assert table[name] == expected[name]
    assert saved_digests("shards.npz") == saved_digests("alone.npz")
    replay = run("replay", "shards.npz")
    assert replay.code == 0, replay.err


def test_the_report_counts_restarts(run, local_shards):
    local_shards.deaths.update({(1, 9): "late", (0, 20): "early"})
    outcome = run("rollout", SOKOBAN, *SMALL, "--shards", 2, "--save", "shards.npz")
    assert (outcome.code, outcome.err) == (0, "")
    assert table_of(outcome.out)["shards"] == "2 shards, 2 restarts"
    run("rollout", SOKOBAN, *SMALL, "--save", "alone.npz")
    assert saved_digests("shards.npz") == saved_digests("alone.npz")


def test_the_report_names_shards_that_are_lost(run, local_shards):
    local_shards.deaths[1, 9] = "early"
    outcome = run("rollout", SOKOBAN, *SMALL, "--shards", 2, "-o", "max_restarts=0")
    table = table_of(outcome.out)
    assert table["shards"] == "2 shards, 1 lost"
    assert "shard 1 is lost after 0 restarts" in outcome.out


@pytest.mark.usefixtures("local_shards")
def test_a_picture_of_shards_is_that_of_a_local_batch(run, tmp_path):
    image = ("rollout", SOKOBAN, "--num-envs", 3, "--steps", 9, "--boards", 3)
    run(*image, "--image", "alone.png")
    outcome = run(*image, "--image", "shards.png", "--shards", 2)
    assert "boards at the end: shards.png" in outcome.out
    shards, alone = (tmp_path / f"{name}.png" for name in ("shards", "alone"))
    assert shards.read_bytes() == alone.read_bytes()


def test_arguments_are_passed_to_ray(run, local_shards):
    flags = ("--shards", 2, "--address", "auto", "--threads", 1, "-o", "num_cpus=2")
    assert run("rollout", SOKOBAN, *SMALL, *flags).code == 0
    (call,) = local_shards.calls
    assert (call[1].address, call[1].num_cpus) == ("auto", 2)


@pytest.mark.parametrize(
    ("env_id", "flags", "message"),
    [
        (SOKOBAN, ("--shards", 0), "argument --shards: expected an integer from 1 up"),
        (SOKOBAN, ("--shards", 9), "argument --shards: expected at most 6, the number"),
        (SOKOBAN, ("--shards", 2, "-o", "size=3"), "size"),
        (SOKOBAN, ("--shards", 2, "-o", "max_restarts=-2"), "max_restarts: expected"),
        (
            "roll_vec/Countdown-v0",
            ("--shards", 2, "--threads", 2),
            "argument --threads: roll_vec/Countdown-v0 is a pool",
        ),
        (
            "CartPole-v1",
            ("--shards", 2, "--save", "run.npz"),
            "argument --save: a run of CartPole-v1 over shards cannot be replayed",
        ),
    ],
)
@pytest.mark.usefixtures("local_shards")
def test_wrong_arguments_are_named(env_id, flags, message, fails, tmp_path):
    assert message in fails("rollout", env_id, *SMALL, *flags)
    assert list(tmp_path.iterdir()) == []


def test_without_ray_the_extra_is_named(fails, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    error = fails("rollout", SOKOBAN, *SMALL, "--shards", 2)
    assert "a rollout with --shards" in error
    assert '".[ray]"' in error


def test_the_bar_shows_the_shards(monkeypatch, local_shards):
    import io

    from rich.console import Console

    from roll_vec.cli import _progress
    from roll_vec.cli._shards import describe_shards

    local_shards.deaths[1, 2] = "early"
    env = distributed.RayVectorEnv(SOKOBAN, 4, 2)
    env.reset(seed=0)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    with _progress.stepping_bar(10, False, lambda: describe_shards(env)) as show:
        show(1, 4, 0.1)
        assert "stepping, 2 shards " in screen.getvalue()
        for _ in range(4):
            env.step(np.ones(4, np.int64))
        show(5, 20, 0.1)
    assert "stepping, 2 shards, 1 restart " in screen.getvalue()
    env.close()
