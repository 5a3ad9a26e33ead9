"""A guard of a local server: pages of other sites get no answer.

A page in a browser may send requests to any address, also to ``127.0.0.1``.  It opens
a WebSocket there (the browser asks no server for permission), or its own name is made
to point there (DNS rebinding).  The header ``Origin`` names the page, and no page can
change it.  Programs, such as the clients of trainers, do not send it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from roll_vec.errors import InvalidOptionError

_Call: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]


class BrowserGuard:
    """An ASGI application around another one, which gets the allowed requests alone.

    A request with an ``Origin`` has to come from a page of this server, by an IP
    address or as ``localhost``, or from one of an allowed host.  At the loopback
    interface ``Host`` has to be one of these, too.  Others end with the status 403.

    Parameters
    ----------
    app : callable
        An ASGI application.
    allowed_hosts : iterable of str
        Names without a port.

    Raises
    ------
    InvalidOptionError
    """

    def __init__(self, app: _Call, allowed_hosts: Iterable[str] = ()) -> None:
        if isinstance(allowed_hosts, str):
            accepted = "a list of names"
            raise InvalidOptionError.expected("allowed_hosts", accepted, allowed_hosts)
        self._app = app
        self._allowed = {name.lower() for name in allowed_hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] not in ("http", "websocket") or self._is_allowed(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            text = b"this page, or this name of the server, is not in allowed_hosts\n"
            headers = [(b"content-type", b"text/plain")]
            start = {"type": "http.response.start", "status": 403, "headers": headers}
            await send(start)
            await send({"type": "http.response.body", "body": text})

    def _is_allowed(self, scope: Any) -> bool:
        headers = {key: value.decode("latin-1") for key, value in scope["headers"]}
        host, origin = headers.get(b"host", "").lower(), headers.get(b"origin")
        name = _name_of(host)
        if origin is not None:
            _, _, page = origin.lower().partition("://")
            is_own = page == host and _is_local(name)
            return is_own or _name_of(page) in self._allowed
        server, _ = scope.get("server") or ("", None)
        is_open = not (_is_ip(server) and ip_address(server).is_loopback)
        return is_open or _is_local(name) or name in self._allowed


def _name_of(address: str) -> str:
    """Return the host of ``host:port``; empty where there is none."""
    with suppress(ValueError):
        return urlsplit(f"//{address}").hostname or ""
    return ""


def _is_local(name: str) -> bool:
    """Return whether a name is no other site's: no server of names says where it is."""
    return name == "localhost" or _is_ip(name)


def _is_ip(name: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(name))
    return False
