"""Errors about files that exist at the head, and not where a shard is."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from roll_vec.errors import InvalidOptionError


@contextmanager
def name_node() -> Iterator[None]:
    """Add the name of this machine to errors of keywords, such as missing files.

    Raises
    ------
    InvalidOptionError
        With the message of the one that the body raised, and the name.
    """
    try:
        yield
    except InvalidOptionError as error:
        message = f"{error} (on the node {socket.gethostname()})"
        raise InvalidOptionError(message) from error
