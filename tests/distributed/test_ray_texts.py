"""Texts about Ray without Ray: addresses that do not answer, actors that died."""

import socket
import sys
from types import SimpleNamespace

import pytest

from roll_vec.distributed.ray_actors import RaySession, describe_death
from roll_vec.errors import InvalidOptionError


class ActorDiedError(Exception):
    """As Ray's."""


def test_the_reason_why_a_node_cannot_make_a_shard_is_in_the_last_line():
    text = (
        "The actor died because of an error raised in its creation task, \x1b[36mray::"
        'NodeShard.__init__()\x1b[39m (pid=1)\n  File "a.py", line 7\n'
        "ModuleNotFoundError: No module named 'roll_vec'"
    )
    assert describe_death(ActorDiedError(text)) == (
        "ActorDiedError: the node cannot make a shard: ModuleNotFoundError: No module "
        "named 'roll_vec'"
    )
    text = "The actor died unexpectedly before finishing this task.\n\tpid: 1"
    assert describe_death(ActorDiedError(text)) == (
        "ActorDiedError: The actor died unexpectedly before finishing this task."
    )
    assert describe_death(ActorDiedError()) == "ActorDiedError: "


@pytest.mark.parametrize("prefix", ["", "ray://"])
def test_an_address_that_does_not_answer_is_refused_at_once(prefix, monkeypatch):
    ray = SimpleNamespace(is_initialized=lambda: False, init=pytest.fail)
    monkeypatch.setitem(sys.modules, "ray", ray)
    with socket.socket() as place:
        # Bound and not listening: nobody else can take the port.
        place.bind(("127.0.0.1", 0))
        address = f"{prefix}127.0.0.1:{place.getsockname()[1]}"
        with pytest.raises(InvalidOptionError, match=f"address: .*{address}.*refused"):
            RaySession(address, 1)
    assert not RaySession._is_own


def test_an_error_of_ray_is_about_the_address(monkeypatch):
    def init(**options):
        message = f"Invalid address format: {options['address']}"
        raise ValueError(message)

    calls = []
    ray = SimpleNamespace(
        is_initialized=lambda: False, init=init, shutdown=lambda: calls.append(1)
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(InvalidOptionError, match=r"address: .*'x'; Invalid address"):
        RaySession("x", 1)
    assert calls == [1]
    assert not RaySession._is_own
