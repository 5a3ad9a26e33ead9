"""The lowest set of versions is that of ``pyproject.toml``."""

import re

from tests.conftest import ROOT
from tests.pins.sets import SETS


def test_the_lowest_set_is_the_floors():
    text = (ROOT / "pyproject.toml").read_text()
    floors = re.findall(
        r'"([a-z]+)>=([\d.]+)"', re.search(r"\ndependencies.*", text)[0]
    )
    lowest = dict(pin.split("==") for pin in SETS["lowest"].requirements)
    assert {name: f"{floor}.0" for name, floor in floors} == lowest
