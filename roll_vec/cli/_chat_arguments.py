"""The arguments of a policy that is a language model behind an HTTP endpoint."""

from __future__ import annotations

import argparse
from typing import Any

from roll_vec.cli._arguments import integer_from, number_from, refuse_arguments
from roll_vec.cli._errors import argument_error
from roll_vec.cli._imports import require
from roll_vec.errors import InvalidOptionError, one_line
from roll_vec.evaluation import ChatEndpoint

__all__ = ["add_chat_arguments", "is_endpoint", "make_endpoint", "refuse_chat"]


def add_chat_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a policy behind an endpoint."""
    chat = parser.add_argument_group("a model behind an endpoint (--policy http://...)")
    names = []

    def add(flag: str, **keywords: Any) -> None:
        names.append(chat.add_argument(flag, **keywords).dest)

    parser.set_defaults(chat_arguments=names)
    add("--model", metavar="NAME", help="its name at the endpoint")
    add(
        "--temperature",
        type=number_from(0),
        default=0.0,
        metavar="T",
        help="default: %(default)s",
    )
    add(
        "--max-tokens",
        type=integer_from(1),
        metavar="N",
        help="the longest answer (default: the endpoint decides)",
    )
    add(
        "--concurrency",
        type=integer_from(1),
        default=64,
        metavar="N",
        help="conversations at a time (default: %(default)s)",
    )
    add(
        "--history",
        type=_history,
        metavar="N|all",
        help="the turns before the present one that a request has (default: all)",
    )
    add(
        "--timeout",
        type=number_from(0.001),
        default=120.0,
        metavar="SECONDS",
        help="to wait for an answer (default: %(default)s)",
    )
    add(
        "--retries",
        type=integer_from(0),
        default=5,
        metavar="N",
        help="repeat a request after a timeout, a lost connection or one of the "
        "statuses 408, 409, 429 and 500 up (default: %(default)s)",
    )
    add(
        "--on-error",
        choices=("fault", "raise"),
        default="fault",
        help="a request that fails for good ends its episode as a fault, or the whole "
        "run (default: %(default)s)",
    )


def _history(text: str) -> int | None:
    return None if text == "all" else integer_from(0)(text)


def is_endpoint(policy: str) -> bool:
    """Return whether a policy of the command line is an address."""
    return policy.startswith(("http://", "https://"))


def make_endpoint(policy: str, arguments: argparse.Namespace) -> ChatEndpoint:
    """Return the endpoint of the arguments.

    Raises
    ------
    UsageError
        If an argument cannot be used.
    MissingExtraError
        Without the extra ``chat``.
    """
    if arguments.model is None:
        text = "expected the name of the model, with --policy http(s)://..."
        raise argument_error("--model", text)
    if arguments.num_envs is not None:
        raise argument_error("--num-envs", "use --concurrency with an endpoint")
    try:
        endpoint = ChatEndpoint(
            policy,
            arguments.model,
            temperature=arguments.temperature,
            max_tokens=arguments.max_tokens,
            timeout=arguments.timeout,
            retries=arguments.retries,
        )
    except InvalidOptionError as error:
        raise argument_error("--policy", one_line(error)) from error
    require("openai", "a policy behind an HTTP endpoint", extra="chat")
    return endpoint


def refuse_chat(arguments: argparse.Namespace) -> None:
    """Raise an error if a policy that is no endpoint has arguments of one.

    Raises
    ------
    UsageError
    """
    reason = "without --policy http(s)://..."
    refuse_arguments(arguments, arguments.chat_arguments, reason)
