"""Errors of nodes and of Ray, without Ray: each names the keyword."""

import socket
import sys
import threading
from types import SimpleNamespace

import pytest

from roll_vec.errors import InvalidOptionError
from roll_vec.joined.actors import Host, pack, unpack
from roll_vec.joined.ray_actors import connect
from tests.envs.webshop.shops import write
from tests.joined.local_actors import make_env


def change_restore(monkeypatch, change):
    """Let a function change a host before it makes its batch."""
    restore = Host._restore

    def changed(host, journal):
        change(host)
        restore(host, journal)

    monkeypatch.setattr(Host, "_restore", changed)


def test_the_error_of_a_shard_reaches_the_program(tmp_path, monkeypatch):
    keywords = write(tmp_path)
    change_restore(monkeypatch, lambda _: (tmp_path / "attributes.json").unlink())
    with pytest.raises(InvalidOptionError, match=r"attributes\.json") as error:
        make_env("roll_vec/WebShop-v0", 4, 2, **keywords)
    assert f"on the node {socket.gethostname()}" in str(error.value.__cause__)


def test_nodes_whose_batches_differ_are_refused(monkeypatch):
    def change(host):
        limit = 9 + host._first_env_id
        make = unpack(host._make_batch)
        make.args[1]["max_episode_steps"] = limit
        host._make_batch = pack(make)

    change_restore(monkeypatch, change)
    with pytest.raises(InvalidOptionError, match="batches of the nodes differ"):
        make_env("roll_vec/Countdown-v0", 4, 2)


def test_levels_that_a_node_lacks_are_named_with_the_node(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keywords = {"levels": "rooms.txt", "dim_room": (3, 5)}
    (tmp_path / "rooms.txt").write_text("#####\n#@$.#\n#####\n")
    (tmp_path / "worker").mkdir()
    # The working directory of a worker is another one.
    change_restore(monkeypatch, lambda _: monkeypatch.chdir(tmp_path / "worker"))
    envs = make_env("roll_vec/Sokoban-v0", 2, 2, **keywords)
    assert len(envs.reset(seed=0)[0]) == 2
    change_restore(monkeypatch, lambda _: (tmp_path / "rooms.txt").unlink())
    with pytest.raises(InvalidOptionError, match=r"levels: .*rooms\.txt") as caught:
        make_env("roll_vec/Sokoban-v0", 2, 2, **{**keywords, "levels": "../rooms.txt"})
    assert "on the node" in str(caught.value.__cause__)


def test_environments_that_cannot_travel_start_nothing():
    lock = threading.Lock()
    with pytest.raises(TypeError, match="lock"):
        make_env(lambda: lock, 2, 2)


def test_options_of_ray_are_checked_before_it_starts(monkeypatch):
    calls = []

    def options(**options):
        if "memry" in options:
            message = "Invalid option keyword memry for actors."
            raise ValueError(message)
        calls.append(options)

    ray = SimpleNamespace(
        remote=lambda _: SimpleNamespace(options=options),
        is_initialized=lambda: "init" in calls,
        init=lambda *_, **__: calls.append("init"),
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(ValueError, match="Invalid option keyword memry"):
        connect({"memry": 3})
    assert not calls
    for _ in range(2):
        connect({"num_cpus": 3, "max_restarts": 5})
    assert calls[1] == "init"
    assert calls.count("init") == 1
    assert calls[0]["num_cpus"] == 3
    assert calls[0]["max_restarts"] == 0
