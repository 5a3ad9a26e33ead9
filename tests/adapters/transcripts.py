"""Transcripts of adapters, over stand-ins; see `tests.transcripts`.

``python -m tests.adapters.transcripts`` writes the results again.
"""

from tests.adapters.stand_ins import DATA, installed
from tests.transcripts import rewrite

FILES = sorted(DATA.glob("*.txt"))
# What all transcripts can name.
IMPORTS = """
import collections, copy, dataclasses, inspect, json, pickle, pydoc, sys
from pathlib import Path
import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
import roll_vec
from roll_vec.adapters import trl
from roll_vec.adapters.roll import *
from roll_vec.adapters.verl_agent import *
from tests.transcripts import show
"""

if __name__ == "__main__":
    with installed():
        rewrite(FILES, IMPORTS)
