"""``roll-vec serve-mcp``: an environment as the tools of an MCP server."""

from __future__ import annotations

import argparse
from contextlib import closing
from functools import partial
from typing import Any

from roll_vec.cli._errors import require
from roll_vec.cli._options import add_command, refuse_arguments
from roll_vec.registration.any_id import full_id, make_or_refuse

_SUMMARY = "serve an environment to agents, as the tools of MCP"

_DESCRIPTION = """\
Serve an environment by the Model Context Protocol: the tools reset(seed) and
play(action). Each client has an environment of its own, until it goes.
"""

_EPILOG = """\
Clients connect to http://HOST:PORT/sse (SSE), or to http://HOST:PORT/mcp
(streamable HTTP); with --stdio the program that starts the command is the only
one. See docs/frameworks/others.md#mcp.

examples:
  roll-vec serve-mcp roll_vec/Sokoban-v0 -o max_episode_steps=20
  roll-vec serve-mcp roll_vec/Countdown-v0 --stdio
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = add_command(commands, "serve-mcp", _run, _SUMMARY, _DESCRIPTION, _EPILOG)
    parser.add_shared("ID")
    parser.option("--num-envs", "clients that play at a time", default=64)
    parser.option("--host", "the address to listen at", "HOST", default="127.0.0.1")
    parser.number("--port", "0: any that is free", 0, 65535, default=8000)
    parser.flag("--stdio", "serve one client on stdin and stdout")
    parser.add_shared("-o")


def _run(arguments: argparse.Namespace) -> int:
    require("mcp", "roll-vec serve-mcp", extra="mcp")
    import anyio
    import uvicorn

    from roll_vec.adapters.mcp import McpServer

    if arguments.stdio:
        refuse_arguments(arguments, ("host", "port", "num_envs"), "with --stdio")
    env_id = full_id(arguments.id)
    num_envs = 1 if arguments.stdio else arguments.num_envs
    make = partial(McpServer, env_id, num_envs, **arguments.options)
    with closing(make_or_refuse(env_id, make)) as server:
        if arguments.stdio:
            anyio.run(server.run_stdio)
        else:
            uvicorn.run(
                server.make_app(),
                host=arguments.host,
                port=arguments.port,
                access_log=False,
                # Clients hold their connections: Ctrl-C does not wait for them.
                timeout_graceful_shutdown=1,
            )
    return 0
