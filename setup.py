"""The page of the package on PyPI: README.md, its links to files made addresses."""

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def read_setting(name: str) -> str:
    """Return a text of pyproject.toml; Python 3.10 has no reader of TOML."""
    match = re.search(rf'^{name} = "(.+)"$', PROJECT, re.MULTILINE)
    if match is None:
        message = f"pyproject.toml: expected a line {name} = ..."
        raise ValueError(message)
    return match[1]


def add_address(link: re.Match[str]) -> str:
    """Return a link or a picture whose file is that of the tag of this version."""
    kind = "raw" if link[1] else "blob"
    folder = f"{read_setting('Repository')}/{kind}/v{read_setting('version')}"
    return f"{link[1]}[{link[2]}]({folder}/{link[3]})"


LOCAL_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)")

setup(
    long_description=LOCAL_LINK.sub(
        add_address, (ROOT / "README.md").read_text("utf-8")
    ),
    long_description_content_type="text/markdown",
)
