"""One HTML file that shows a recording, without any other file and without network.

The page is ``page.html``, ``page.css`` and the scripts of this folder, and the data of
`packing`.  Texts of environments and models are in the data alone: the scripts show
them as text nodes, never as HTML.  A Content-Security-Policy with the digests of the
script and of the style forbids every other script, and all connections.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import zlib
from importlib.resources import files
from typing import BinaryIO

from roll_vec.watch.frames import Recording
from roll_vec.watch.packing import pack

# The parts of the page's script, in their order.
SCRIPTS = (
    "data.js",
    "texts.js",
    "boards.js",
    "conversations.js",
    "stage.js",
    "cards.js",
    "timeline.js",
    "details.js",
    "controls.js",
    "page.js",
)

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def make_page(recording: Recording) -> str:
    """Return the HTML of a recording; the same recording gives the same text.

    It reports its progress to `roll_vec.progress.listen`.

    Parameters
    ----------
    recording : Recording

    Raises
    ------
    MissingExtraError
        If environments render pictures, and Pillow is not installed.
    """
    style = _read("page.css")
    parts = "".join(map(_read, SCRIPTS))
    script = f'"use strict";\n(() => {{\n{parts}}})();\n'
    policy = (
        "default-src 'none'; "
        f"script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    texts = {
        "policy": policy,
        "title": html.escape(f"{recording.id} - roll-vec watch"),
        "style": style,
        "script": script,
        "data": base64.b64encode(zlib.compress(pack(recording), 9)).decode("ascii"),
    }
    # In one pass: no text can hold the placeholder of another one.
    page = _read("page.html")
    return _PLACEHOLDER.sub(lambda match: texts[match[1]], page)


def write_page(file: BinaryIO, recording: Recording) -> None:
    """Write the page of a recording to a file; see `make_page`."""
    file.write(make_page(recording).encode("utf-8", "replace"))


def _read(name: str) -> str:
    """Return a file of this folder."""
    return files("roll_vec.watch").joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    """Return the source expression of an inline script or style for the policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
