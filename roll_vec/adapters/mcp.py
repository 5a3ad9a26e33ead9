"""MCP, the Model Context Protocol: a server whose tools play an environment.

Interface: mcp 2.0 to 2.3.  The tools are ``reset(seed)`` and ``play(action)``, with
texts and schemas from the environment.  Each client has a session of one shared batch,
from its first reset until it goes.  A result is a JSON object with the keys that ROLL's
``SokobanMCPEnv`` reads: ``Observation``, ``Reward``, ``Game End``, ``info``.

`McpServer.make_app` serves SSE at ``/sse`` and streamable HTTP at ``/mcp``,
`McpServer.run_stdio` the standard streams; the command is ``roll-vec serve-mcp``.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from typing import Any

from gymnasium.spaces import Discrete, Text

from roll_vec.adapters.batch_arguments import make_batch
from roll_vec.errors import (
    InvalidActionError,
    MissingExtraError,
    ResetNeededError,
    one_line,
)
from roll_vec.options import check_choice, check_unknown
from roll_vec.registration import find_registered
from roll_vec.registration.any_id import action_names
from roll_vec.sessions import Session, Sessions
from roll_vec.trajectories import to_json

try:
    import anyio
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.server.sse import SseServerTransport
    from mcp.server.stdio import stdio_server
    from mcp.server.streamable_http import StreamableHTTPServerTransport
    from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
    from starlette.applications import Starlette
    from starlette.datastructures import Headers
    from starlette.responses import JSONResponse
    from starlette.routing import Mount, Route
except ImportError as error:
    _FEATURE = "the server of MCP"
    raise MissingExtraError(_FEATURE, extra="mcp", package="mcp>=2") from error

__all__ = ["McpServer"]

# A client that comes may be ahead of the end of one that has gone.
_SECONDS_TO_WAIT = 10.0
# A client over streamable HTTP that is lost has no connection that ends.
_IDLE_SECONDS = 1800.0
_RESULTS = ("Observation", "Reward", "Terminated", "Truncated", "info")


class McpServer:
    """A server of one environment for many clients.

    Parameters
    ----------
    id : str
    num_envs : int
        The clients that can play at a time.
    **keywords
        Those of `roll_vec.make_vec`.  Games on grids have ``obs_mode="text"`` here,
        unless another is passed.

    Attributes
    ----------
    sessions : Sessions
    """

    def __init__(self, id: str, num_envs: int = 64, **keywords: Any) -> None:
        registered = find_registered(id)
        if not registered.pooled:
            keywords = {"obs_mode": "text", **keywords}
        envs = make_batch(id, num_envs, "Disabled", keywords)
        self.sessions = Sessions(envs)
        if registered.id.startswith("roll_vec/"):
            # Kernels are compiled now, and not while the first client waits.
            with self.sessions.open() as session:
                session.reset()
                session.step(envs.single_action_space.sample())
        game = ""
        # A class of the user's may have none.
        with suppress(AttributeError):
            game = str(envs.call("get_instructions")[0] or "")
        game = game or registered.summarize()
        names: dict[int, str] = {}
        if isinstance(envs.single_action_space, Discrete):
            names = action_names(lambda name: envs.get_attr(name)[0])
        self.codes = {name: code for code, name in names.items()}
        start = f"Begin an episode, and show how it begins. The game:\n\n{game}"
        stream = "Begins a stream of episodes; without it, the next one begins."
        seed = {"type": "integer", "minimum": 0, "description": stream}
        step = "Take an action. After the end of an episode, call reset."
        action = _describe_action(envs.single_action_space, self.codes)
        self._tools = [
            _describe_tool("reset", start, {"seed": seed}, required=[]),
            _describe_tool("play", step, {"action": action}, required=["action"]),
        ]
        # A lifespan is a client: `Server.run` begins and ends it.
        self._server = Server(
            registered.id,
            instructions=game,
            lifespan=self._hold_client,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    @asynccontextmanager
    async def _hold_client(self, _: Any) -> AsyncIterator[_Client]:
        with closing(_Client(self)) as client:
            yield client

    async def _list_tools(self, *_: Any) -> Any:
        return types.ListToolsResult(tools=self._tools)

    async def _call_tool(self, context: Any, call: Any) -> Any:
        """Call a tool; whatever goes wrong is the result of this call alone."""
        client, arguments = context.lifespan_context, call.arguments or {}
        tools = {"reset": (client.reset, "seed"), "play": (client.play, "action")}
        is_error = False
        try:
            tool, name = tools[check_choice("tool", call.name, tools)]
            check_unknown(arguments, [name])
            text = json.dumps(await tool(arguments.get(name)), ensure_ascii=False)
        except Exception as error:
            text, is_error = one_line(error), True
        content = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, is_error=is_error)

    async def run(self, streams: Any) -> None:
        """Serve one client until its streams end."""
        options = self._server.create_initialization_options()
        await self._server.run(*streams, options)

    async def run_stdio(self) -> None:
        """Serve one client on stdin and stdout."""
        async with stdio_server() as streams:
            await self.run(streams)

    def make_app(self) -> Any:
        """Return the ASGI application of both transports over HTTP."""
        clients = _HttpClients(self)
        routes = [
            # Clients that try streamable HTTP first take SSE after a refusal.
            Route("/sse", clients, methods=["GET"]),
            Mount("/messages/", clients.sse.handle_post_message),
            Route("/mcp", clients),
        ]
        return Starlette(routes=routes, lifespan=clients.run)

    def close(self) -> None:
        """Close the sessions and their batch."""
        self.sessions.close()


def _describe_tool(name: str, text: str, properties: Any, required: list[str]) -> Any:
    schema = {"type": "object", "properties": properties, "required": required}
    return types.Tool(name=name, description=text, input_schema=schema)


def _describe_action(space: Any, codes: dict[str, int]) -> dict[str, Any]:
    """Return the JSON schema of an action: its number, or its name if it has one."""
    if isinstance(space, Text):
        return {"type": "string"}
    if not isinstance(space, Discrete):
        return {"description": str(space)}
    first, last = int(space.start), int(space.start + space.n - 1)
    numbers = {"type": "integer", "minimum": first, "maximum": last}
    texts = {"type": "string", "enum": list(codes)}
    both = {"anyOf": [texts, numbers], "description": _list_actions(codes)}
    return both if codes else numbers


def _list_actions(codes: dict[str, int]) -> str:
    return ", ".join(f"{name} or {code}" for name, code in codes.items())


class _Client:
    """A client; it has a session of the batch from its first reset on."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._session: Session | None = None

    async def reset(self, seed: Any) -> Any:
        if self._session is None:
            sessions = self._server.sessions
            self._session = await sessions.open_async(_SECONDS_TO_WAIT)
        observation, info = await self._session.reset_async(seed)
        return _reply(observation, 0.0, False, False, info)

    async def play(self, action: Any) -> Any:
        if self._session is None:
            message = "call reset before play"
            raise ResetNeededError(message)
        codes = self._server.codes
        if codes and isinstance(action, str):
            if action not in codes:
                accepted = _list_actions(codes)
                raise InvalidActionError.expected("action", accepted, action)
            action = codes[action]
        return _reply(*await self._session.step_async(action))

    def close(self) -> None:
        if self._session is not None:
            self._session.close()


def _reply(*result: Any) -> Any:
    """Return the results of `Session.step` as JSON has them."""
    reply = dict(zip(_RESULTS, result, strict=True))
    reply["Game End"] = reply["Terminated"] or reply["Truncated"]
    return to_json(reply)


class _HttpClients:
    """Clients over HTTP: one for each request to ``/sse``, and for each HTTP session.

    The package's own manager of HTTP sessions has one lifespan for all of them.  It
    also serves versions of the protocol without sessions, where nobody could say whose
    environment a request means.  Here they are refused, and clients take an older one.
    """

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self.sse = SseServerTransport("/messages/")
        self._transports: dict[str, Any] = {}

    @asynccontextmanager
    async def run(self, _: Any) -> AsyncIterator[None]:
        """Let HTTP sessions run in tasks of their own."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/sse":
            async with self.sse.connect_sse(scope, receive, send) as streams:
                await self._server.run(streams)
            return
        headers, supported = Headers(scope=scope), HANDSHAKE_PROTOCOL_VERSIONS
        version = headers.get("mcp-protocol-version", supported[0])
        if version in supported:
            session_id = headers.get("mcp-session-id")
            if session_id is None:
                session_id = await self._tasks.start(self._serve)
                send = self._end_if_refused(session_id, send)
            app = self._find_session(session_id)
        else:
            code = types.UNSUPPORTED_PROTOCOL_VERSION
            data = {"supported": supported, "requested": version}
            error = {"code": code, "message": "sessions are needed", "data": data}
            app = JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)
        await app(scope, receive, send)

    def _end_if_refused(self, session_id: str, send: Any) -> Any:
        """Return ``send`` for the first request: if it is refused, the session ends.

        Else each request that is no session would leave one, until it is idle for long.
        """
        is_refused = False

        async def send_and_end(message: Any) -> None:
            nonlocal is_refused
            await send(message)
            is_refused = message.get("status", 400 * is_refused) >= 400
            if is_refused and message["type"] == "http.response.body":
                self._transports[session_id].idle_scope.cancel()

        return send_and_end

    def _find_session(self, session_id: str) -> Any:
        """Return the application of an HTTP session."""
        transport = self._transports.get(session_id)
        if transport is None:
            return JSONResponse({"error": "there is no such session"}, 404)
        transport.idle_scope.deadline = anyio.current_time() + _IDLE_SECONDS
        return transport.handle_request

    async def _serve(self, *, task_status: Any) -> None:
        """Serve a new client until it ends its session, or is idle for too long."""
        session_id = uuid.uuid4().hex
        transport = StreamableHTTPServerTransport(session_id)
        with anyio.CancelScope() as transport.idle_scope:
            async with transport.connect() as streams:
                self._transports[session_id] = transport
                task_status.started(session_id)
                await self._server.run(streams)
        del self._transports[session_id]
        await transport.terminate()
