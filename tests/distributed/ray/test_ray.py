"""Shards on Ray: a batch differs from a local one, or a death leaves a trace."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.cli import main
from roll_vec.distributed import RayVectorEnv
from roll_vec.distributed.ray_actors import RaySession
from roll_vec.errors import ClosedError, InvalidOptionError, UnknownOptionError
from tests.cli.output import table_of
from tests.contract.cases import assert_same
from tests.test_docs import blocks_of
from tests.test_readme import ROOT, RUN_BLOCKS

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

SOKOBAN, COUNTDOWN = "roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"
ROOMS = {"dim_room": (5, 5), "num_boxes": 1}


class Bell(gymnasium.Env):
    """An environment of the program itself, which the shards cannot import."""

    observation_space = gymnasium.spaces.Text(8)
    action_space = gymnasium.spaces.Discrete(2)
    metadata: ClassVar = {"render_modes": []}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return str(self.np_random.integers(99)), {}

    def step(self, action):
        text = str(self.np_random.integers(99))
        return text, float(action), False, False, {"table": np.arange(20_000)}


def make_pair(id, num_envs, num_shards, *, shards=(), **keywords):
    """Return a batch over shards and a local one, both reset."""
    envs = RayVectorEnv(id, num_envs, num_shards, **dict(shards), **keywords)
    if isinstance(id, str):
        local = roll_vec.make_vec(id, num_envs, **keywords)
    else:
        local = roll_vec.PoolVectorEnv([id] * num_envs, **keywords)
    assert_same(envs.reset(seed=1), local.reset(seed=1))
    return envs, local


def kill(envs, shard):
    os.kill(envs.pids[shard], signal.SIGKILL)


def wait_until_gone(find_left):
    """Wait until a function finds nothing that is left."""
    for _ in range(300):
        left = find_left()
        if not left:
            return
        time.sleep(0.05)
    pytest.fail(f"left behind: {left}")


def living(pids):
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_steps_snapshots_and_kills(cluster):
    rng = np.random.default_rng(0)
    envs, local = make_pair(
        SOKOBAN, 7, 3, shards={"snapshot_interval": 5}, obs_mode="planes", **ROOMS
    )
    for t in range(15):
        if t in (3, 9, 10):
            kill(envs, t % 3)
        actions = rng.integers(1, 5, 7)
        assert_same(envs.step(actions), local.step(actions))
    assert sum(envs.restarts) == 3
    state = envs.get_state()
    assert state == local.get_state()
    actions = rng.integers(1, 5, (20, 7))
    kill(envs, 0)
    assert_same(tuple(envs.unroll(actions)), tuple(local.unroll(actions)))
    assert_same(envs.set_state(state), local.set_state(state))
    observations = envs.step(actions[0])[0]
    assert observations.flags.writeable
    local.step(actions[0])
    assert_same(envs.reset(seed=2), local.reset(seed=2))
    pids = envs.pids
    envs.close()
    envs.close()
    wait_until_gone(lambda: living(pids))
    with pytest.raises(ClosedError):
        envs.reset()


def test_a_class_of_the_program_and_large_infos(cluster):
    envs, local = make_pair(Bell, 3, 2)
    for t in range(7):
        if t == 4:
            kill(envs, 1)
        actions = np.array([t % 2, 0, 1])
        result = envs.step(actions)
        assert_same(result, local.step(actions))
        assert result[4]["table"].flags.writeable
    envs.close()


def test_send_and_recv(cluster):
    envs, local = make_pair(COUNTDOWN, 6, 2, max_steps=3)
    for t in range(8):
        for env in (envs, local):
            env.send([f"{t}"] * 4, [5, 1, 0, 4])
        if t == 4:
            kill(envs, 1)
        assert_same(*(env.recv(None, 60.0) for env in (envs, local)))
    assert envs.restarts == (0, 1)
    envs.close()


def test_errors_of_the_constructor_leave_no_shard(cluster):
    # Shards of tests before this one may be ending: then it rises beyond this.
    before = cluster.available_resources().get("CPU", 0)
    for error, words, id, keywords in (
        (UnknownOptionError, "max_stepz", COUNTDOWN, {"max_stepz": 3}),
        (
            InvalidOptionError,
            "actor_options",
            SOKOBAN,
            {"actor_options": {"num_cpu": 1}},
        ),
        (
            InvalidOptionError,
            r"start_timeout=1(?s:.*)the cluster has 4, of which \d are free",
            SOKOBAN,
            {"num_cpus": 3, "start_timeout": 1.0},
        ),
    ):
        with pytest.raises(error, match=words):
            RayVectorEnv(id, 4, 2, **keywords)
    wait_until_gone(lambda: cluster.available_resources().get("CPU", 0) < before)


# ------------------------------------------- what processes share and leave behind


def mapped(pid, part):
    """Return the files with a part in their path that a process has mapped."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        return {Path(line[line.index("/") :]) for line in lines if part in line}
    return set()


def test_shards_map_one_catalogue_which_goes_with_the_last(cluster):
    envs, local = make_pair(
        *("roll_vec/WebShop-v0", 6, 3),
        shards={"snapshot_interval": 4},
        num_products=37,
        seed_info=True,
    )
    files = [mapped(pid, "-shared-webshop-") for pid in envs.pids]
    assert len(files[0]) > 3
    assert files[0] == files[1] == files[2]
    (folder,) = {file.parents[1] for file in files[0] if file.name.endswith("l")}
    for t in range(9):
        actions = [action or "" for action in local.call("oracle_action")]
        if t == 6:
            kill(envs, 1)
        assert_same(envs.step(actions), local.step(actions))
    assert mapped(envs.pids[1], "-shared-webshop-") == files[0]
    # A snapshot names neither the folder nor the shards.
    assert envs.get_state() == local.get_state()
    envs.close()
    wait_until_gone(folder.exists)


def test_a_command_with_a_cluster_of_its_own_leaves_nothing_behind(
    monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    arguments = ["rollout", COUNTDOWN, "--num-envs", "6", "--steps", "20"]
    arguments += ["--seed", "7", "--no-image", "--policy", "oracle"]
    # Not the folder of the test: the paths of Ray's sockets must be short.
    with tempfile.TemporaryDirectory(prefix="rv-", dir="/tmp") as place:
        result = subprocess.run(
            [
                *(sys.executable, "-m", "roll_vec", *arguments),
                *("--shards", "3", "--save", tmp_path / "shards.npz"),
            ],
            env={**os.environ, "RAY_TMPDIR": place, "TMPDIR": place},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (result.returncode, result.stderr) == (0, "")
        assert table_of(result.stdout)["shards"] == "3 shards"
        assert list(Path(place).iterdir()) == []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):  # it has ended
                assert place not in entry.read_text()
    assert main([*arguments, "--save", "alone.npz"]) == 0
    digests = [np.load(f"{name}.npz")["digests"] for name in ("shards", "alone")]
    assert_same(*digests)
    assert main(["replay", "shards.npz"]) == 0


def test_the_programs_of_the_page_run(tmp_path):
    pytest.importorskip("ray")
    page = ROOT / "docs" / "cluster.md"
    subprocess.run(
        [sys.executable, "-c", RUN_BLOCKS.replace("README.md", page.name)],
        input=json.dumps(blocks_of(page)),
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )


# --------------------------------------------------------------- random kills


class Killer(threading.Thread):
    """Kills processes of random shards, at random times, so many in total."""

    def __init__(self, envs, count):
        super().__init__(daemon=True)
        self.envs, self.count, self.victims = envs, count, set()

    def run(self):
        rng = random.Random(1)
        while len(self.victims) < self.count:
            time.sleep(rng.random() * 0.2)
            pids = [pid for pid in self.envs.pids if pid and pid not in self.victims]
            if pids:
                victim = rng.choice(pids)
                with suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
                    self.victims.add(victim)


def descendants():
    """Return the processes that this process has started, and those of them."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            pid, _, rest = path.read_text().partition(" (")
            parents[int(pid)] = int(rest.rpartition(")")[2].split()[1])
    family, more = set(), {os.getpid()}
    while more:
        family |= more
        more = {pid for pid, parent in parents.items() if parent in family} - family
    return family - {os.getpid()}


def draw_calls(rng, num_envs, is_text):
    """Return functions of a batch: a round of random play."""
    calls = []
    if is_text:
        ids = np.sort(rng.choice(num_envs, num_envs // 2, replace=False))
        texts = [f"{rng.integers(9)} + 1"] * len(ids)
        calls += [lambda env: env.send(texts, ids), lambda env: env.recv(None)]
    else:
        actions, mask = rng.integers(1, 5, (8, num_envs)), rng.random(num_envs) < 0.5
        calls += [lambda env, row=row: env.step(row) for row in actions[:3]]
        calls += [lambda env: tuple(env.unroll(actions[3:]))]
        if rng.random() < 0.1:
            calls += [lambda env: env.reset(options={"reset_mask": mask})]
    if rng.random() < 0.05:
        order = rng.permutation(num_envs)
        calls += [lambda env: env.set_state(env.get_state().take(order))]
    return calls


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "num_envs", "keywords", "count"),
    [
        (SOKOBAN, 32, {"dim_room": (6, 6), "num_boxes": 1}, 150),
        (COUNTDOWN, 12, {"max_steps": 3}, 50),
    ],
    ids=["rooms", "tasks"],
)
def test_random_kills_change_nothing(id, num_envs, keywords, count):
    """Two hundred kills at random times, and nothing is left behind."""
    envs, local = make_pair(
        *(id, num_envs, 3),
        shards={"snapshot_interval": 7, "max_restarts": -1},
        **keywords,
    )
    killer, rng, num_rounds = Killer(envs, count), np.random.default_rng(0), 0
    killer.start()
    pids, files = set(), set()
    while killer.is_alive():
        pids.update(descendants(), envs.pids)
        if num_rounds % 20 == 0:
            files.update(*(mapped(pid, "/dev/shm/") for pid in pids))
        for call in draw_calls(rng, num_envs, id == COUNTDOWN):
            assert_same(call(envs), call(local))
        num_rounds += 1
    assert len(killer.victims) == count
    # A shard can be killed once more before the head has noticed its death.
    assert sum(envs.restarts) >= 0.8 * count
    folder = Path(RaySession._folder)
    assert folder.is_dir()
    envs.close()
    assert not folder.exists()
    wait_until_gone(lambda: [path for path in files if path.exists()] + living(pids))
