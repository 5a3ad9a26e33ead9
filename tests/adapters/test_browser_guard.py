"""A local server answers programs and its own pages, and no page of another site."""

import asyncio

import pytest

from roll_vec.adapters.browser_guard import BrowserGuard
from roll_vec.errors import InvalidOptionError

LOCAL, SPACE = "127.0.0.1:8000", "me.hf.space"


def is_answered(host, origin, kind="http", server="127.0.0.1", allowed_hosts=(SPACE,)):
    """Return whether a request reaches the application."""
    headers = {b"host": host, b"origin": origin}
    headers = [
        (key, text.encode()) for key, text in headers.items() if text is not None
    ]
    calls, sent = [], []

    async def application(*arguments):
        calls.append(arguments)

    async def send(message):
        sent.append(message)

    guard = BrowserGuard(application, allowed_hosts)
    scope = {"type": kind, "headers": headers, "server": (server, 8000)}
    asyncio.run(guard(scope, None, send))
    if calls:
        assert not sent
        return True
    start = {
        "http": ("http.response.start", 403),
        "websocket": ("websocket.close", None),
    }
    assert (sent[0]["type"], sent[0].get("status")) == start[kind]
    return False


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("host", "origin", "expected"),
    [
        # Programs.
        *((LOCAL, None, True), ("[::1]:8000", None, True)),
        # Pages of the server.
        *((LOCAL, f"http://{LOCAL}", True), (LOCAL, f"https://{SPACE.upper()}", True)),
        # Pages of others, also of this machine, of a file, and of a name that is bent.
        *((LOCAL, "http://evil.example", False), (LOCAL, "null", False)),
        *((LOCAL, "http://127.0.0.1:9", False), (LOCAL, "http://[", False)),
        (LOCAL, f"http://{SPACE}.evil.example", False),
        ("evil.example:8000", "http://evil.example:8000", False),
        *(("evil.example", None, False), (None, None, False)),
    ],
)
def test_requests(host, origin, expected, kind):
    assert is_answered(host, origin, kind) is expected


def test_programs_reach_a_server_of_a_network_by_any_name():
    assert is_answered("games.cluster", None, server="10.0.0.5")
    assert is_answered("10.0.0.5:8000", "http://10.0.0.5:8000", server="10.0.0.5")
    page = ("games.cluster", "http://games.cluster")
    assert not is_answered(*page, server="10.0.0.5")
    assert is_answered(*page, server="10.0.0.5", allowed_hosts=["Games.cluster"])


def test_other_messages_pass_and_one_name_is_no_list():
    calls = []

    async def application(*arguments):
        calls.append(arguments)

    asyncio.run(BrowserGuard(application)({"type": "lifespan"}, None, None))
    assert len(calls) == 1
    with pytest.raises(InvalidOptionError, match="allowed_hosts: expected a list"):
        BrowserGuard(application, SPACE)
