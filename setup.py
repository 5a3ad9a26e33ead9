"""The page of the package on PyPI: README.md, whose links to files become addresses."""

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
# Python 3.10 has no reader of TOML.
SETTINGS = dict(
    re.findall(r'^(\w+) = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.M)
)
README = (ROOT / "README.md").read_text("utf-8")
# The files of the tag of this version: pictures as they are, others as pages.
for kind, link in (("raw", r"!\[[^\]]*\]\("), ("blob", r"\]\(")):
    folder = f"{SETTINGS['Repository']}/{kind}/v{SETTINGS['version']}/"
    README = re.sub(rf"({link})(?!https?:|#)", rf"\g<1>{folder}", README)

setup(long_description=README, long_description_content_type="text/markdown")
