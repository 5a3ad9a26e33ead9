"""Errors of nodes and of Ray, without Ray: each names the keyword."""

import shutil
import socket
import sys
import threading
from types import SimpleNamespace

import pytest

from roll_vec.errors import InvalidOptionError
from roll_vec.joined.options import RayOptions
from roll_vec.joined.ray_actors import RayActors, RaySession
from roll_vec.joined.shards import BatchMaker
from tests.envs.webshop.shops import write
from tests.joined.local_actors import LocalActors, make_env


def test_the_error_of_a_shard_reaches_the_program(tmp_path, monkeypatch):
    start = LocalActors.start

    def start_elsewhere(actors, part):
        (tmp_path / "attributes.json").unlink(missing_ok=True)
        start(actors, part)

    monkeypatch.setattr(LocalActors, "start", start_elsewhere)
    with pytest.raises(InvalidOptionError, match=r"attributes\.json") as error:
        make_env("roll_vec/WebShop-v0", 4, 2, **write(tmp_path))
    assert f"on the node {socket.gethostname()}" in str(error.value.__cause__)


def test_nodes_whose_batches_differ_are_refused(monkeypatch):
    start = LocalActors.start

    def start_elsewhere(actors, part):
        start(actors, part)
        make = actors.hosts[part]._make_batch
        actors.hosts[part]._make_batch = lambda n: make(n, max_episode_steps=9 + part)

    monkeypatch.setattr(LocalActors, "start", start_elsewhere)
    with pytest.raises(InvalidOptionError, match="batches of the nodes differ"):
        make_env("roll_vec/Countdown-v0", 4, 2)


def test_levels_that_a_node_lacks_are_named_with_the_node(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place in (tmp_path, tmp_path / "folder"):
        place.mkdir(exist_ok=True)
        (place / "rooms.txt").write_text("#####\n#@$.#\n#####\n")
    paths = ("rooms.txt", tmp_path / "folder")
    keywords = [{"levels": path, "dim_room": (3, 5)} for path in paths]
    makers = [BatchMaker.of("roll_vec/Sokoban-v0", each) for each in keywords]
    # The working directory of a worker is another one.
    (tmp_path / "worker").mkdir()
    monkeypatch.chdir(tmp_path / "worker")
    for make in makers:
        assert make(1).reset(seed=0)[0].shape[0] == 1
    shutil.rmtree(tmp_path / "folder")
    (tmp_path / "rooms.txt").unlink()
    for make in makers:
        with pytest.raises(InvalidOptionError, match="levels: "):
            make(1)


def test_environments_that_cannot_travel_start_nothing():
    lock = threading.Lock()
    make = BatchMaker.of(lambda: lock, {})
    with pytest.raises(InvalidOptionError, match=r"id: .* cannot be sent .*lock"):
        RayActors(make, [1], RayOptions())


class RayWithoutShards:
    """The part of Ray that `RayActors` calls before it starts an actor."""

    def __init__(self, is_initialized):
        self.initialized, self.actor_options = is_initialized, {}

    def is_initialized(self):
        return self.initialized

    def init(self, **options):
        self.initialized = True

    def shutdown(self):
        self.initialized = False

    def remote(self, actor_class):
        return SimpleNamespace(options=self._take_options)

    def _take_options(self, **options):
        if "memry" in options:
            message = "Invalid option keyword memry for actors."
            raise ValueError(message)
        self.actor_options = options

    def wait(self, *arguments, **keywords):
        return [], []


@pytest.mark.parametrize("is_initialized", [False, True])
def test_shards_of_a_local_cluster_of_their_own_reserve_no_processors(
    is_initialized, monkeypatch
):
    ray = RayWithoutShards(is_initialized)
    monkeypatch.setitem(sys.modules, "ray", ray)
    first, second = (RayActors(None, [2, 2], RayOptions(num_cpus=3)) for _ in range(2))
    assert ray.actor_options["num_cpus"] == (3 if is_initialized else 0)
    assert ray.actor_options["max_restarts"] == 0
    with pytest.raises(
        InvalidOptionError, match="connected to Ray already, got 'auto'"
    ):
        RaySession("auto")
    first.close()
    assert ray.initialized
    second.close()
    assert ray.initialized == is_initialized


def test_options_that_ray_does_not_know_are_refused_before_a_cluster_starts(
    monkeypatch,
):
    ray = RayWithoutShards(is_initialized=False)
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(InvalidOptionError, match="Invalid option keyword memry"):
        RayActors(None, [2, 2], RayOptions(actor_options={"memry": 3}))
    assert not ray.initialized
