"""Code of rules: what its digest covers, and that no class runs the code of another."""

import enum
import importlib.util
import itertools
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from gymnasium.spaces import Box

import roll_vec
from roll_vec.envs.minesweeper import Minesweeper
from roll_vec.errors import InvalidOptionError
from tests.conftest import JIT_OFF

needs_jit = pytest.mark.skipif(JIT_OFF, reason="with the JIT off nothing is compiled")

SOURCE = """
import enum

import numba
import numpy as np
from gymnasium.spaces import Box, Discrete

import roll_vec

STEP = 1
ZERO = 0.0
TABLE = tuple(range(900))
DEFAULT = (0,) * 900 + (1,)


class Code(enum.IntEnum):
    GOLD = 3
    WALL = 4


POINT = 5, 7


def make_adder(number):
    @roll_vec.rule
    def add(x):
        return x + number

    return add


add = make_adder(2)


@roll_vec.rule
def half(x):
    return x / 2.0


@roll_vec.rule
def move(env, table=DEFAULT, by=STEP):
    env.x += by + Code.GOLD + POINT[0] + TABLE[500]
    env.x = add(env.x) + int(table[900] + half(2.0) + ZERO)


class Mine(roll_vec.ArrayEnv):
    "A game."

    up: int = 1
    down: int = 10
    state = {"x": np.int64, "y": np.int64}
    actions = 2
    infos = ("x",)
    observation = "x"
    observation_space = Box(-10**6, 10**6, (), np.int64)

    @roll_vec.rule
    def begin(env, rng):
        env.x = 0

    @roll_vec.rule
    def step(env, action, rng):
        move(env)
        env.y = env.up - env.down
        return 0.0, env.x > 3
"""

# What is changed in the source, each alone.
CHANGES = [
    ("return 0.0,", "return 0.5,"),
    ("return 0.0,", "return -0.0,"),
    ("env.x > 3", "env.x > 3.0"),
    ("STEP = 1", "STEP = 2"),
    ("STEP = 1", "STEP = True"),
    ("ZERO = 0.0", "ZERO = -0.0"),
    ("tuple(range(900))", "tuple(range(1, 901))"),
    ("* 900 + (1,)", "* 900 + (2,)"),
    ("GOLD = 3", "GOLD = 2"),
    ("WALL = 4", "STONE = 4"),
    ("POINT = 5, 7", "POINT = 5, 8"),
    ("make_adder(2)", "make_adder(3)"),
    ("x + number", "x - number"),
    ("x / 2.0", "x * 2.0"),
    ("by=STEP", "by=STEP + 5"),
    ("env.x += by", "env.x -= by"),
    ("up: int", "over: int"),
    ('"x": np.int64, "y": np.int64', '"y": np.int64, "x": np.int64'),
    ('"y": np.int64', '"z": np.int64'),
    ('infos = ("x",)', 'infos = ("y",)'),
    ('observation = "x"', 'observation = "y"'),
    ("actions = 2", "actions = Box(-1, 1, (1,))"),
]

# Rules read options by name: their order changes nothing.
REORDERED = (
    "    up: int = 1\n    down: int = 10\n",
    "    down: int = 10\n    up: int = 1\n",
)


@pytest.fixture
def load(tmp_path):
    """Return a function that returns the class of a source."""
    numbers = itertools.count()

    def load(source=SOURCE, name="mine"):
        # Python's cache of bytecode takes files of one time and size for equal.
        path = tmp_path / f"mine_{next(numbers)}.py"
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.Mine

    return load


def digest_of(cls):
    options = cls()
    return options.code.digest, options.declaration


def test_a_digest_covers_all_that_code_is_made_from(load):
    digests = {digest_of(load())}
    for old, new in CHANGES:
        assert SOURCE.count(old) == 1
        digest = digest_of(load(SOURCE.replace(old, new)))
        assert digest not in digests, (old, new)
        digests.add(digest)


def test_a_digest_has_nothing_of_the_place_of_a_file_or_an_option(load):
    digest = digest_of(load())
    assert REORDERED[0] in SOURCE
    assert digest == digest_of(load(SOURCE.replace(*REORDERED)))
    assert digest == digest_of(load(name="__main__"))
    assert digest == digest_of(load("# A comment.\n" + SOURCE + "\nOTHER = 1\n"))


def test_boards_of_any_shape_share_code():
    boards = [Minesweeper(rows=4, cols=n, num_mines=1) for n in (4, 5)]
    assert boards[0].declaration == boards[1].declaration


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("{1: 2}", r"move: STEP is \{1: 2\}"),
        ("np.vectorize(abs)", "move: STEP is <numpy.vectorize"),
        ("object()", "move: STEP is <object"),
        ("np.arange(3)", "move: STEP is array"),
        ("abs_", "move: STEP is .* with the decorator"),
        ("numba.njit(abs_)", "move: STEP is .* with the decorator"),
        ("KeyError('x')", "move: STEP is KeyError"),
    ],
)
def test_what_no_digest_covers_is_refused(load, value, text):
    source = SOURCE.replace("STEP = 1", f"def abs_(x): return -x\nSTEP = {value}")
    with pytest.raises(InvalidOptionError, match=rf"Mine\.{text}"):
        digest_of(load(source.replace("by=STEP", "by=1").replace("by +", "STEP +")))


def play(cls, num_steps=1):
    """Return the observations after some steps of one environment."""
    roll_vec.register("tests_rule_code/Mine-v0", cls)
    envs = roll_vec.make_vec("tests_rule_code/Mine-v0", 1)
    envs.reset(seed=0)
    return [envs.step([0])[0][0].tolist() for _ in range(num_steps)]


def test_rules_read_what_was_there_when_the_batch_was_made(load):
    cls = load()
    (first,) = play(cls)
    module = cls.step.py_func.__globals__
    envs = roll_vec.make_vec("tests_rule_code/Mine-v0", 1)
    # A number, and a function, as cells of a notebook define them anew.
    module["POINT"] = 50, 7
    module["add"] = module["make_adder"](20)
    assert play(cls) == [first + 45 + 18]
    # The batch that was made before, compiled after.
    envs.reset(seed=0)
    assert envs.step([0])[0].item() == first


# So much code that `add` stays a function, with a symbol of its own.
LOOPS = (
    "y = x"
    + 6
    * """
        for j in range(3):
            y = (y * 31 + j) % 10007
            if y % 7 == 2:
                y += 5"""
)
# Plays the class of each file that is named.
PLAY = """
import runpy, sys
import numpy as np
import roll_vec

for number, path in enumerate(sys.argv[1:]):
    id = f"tests_rule_code/Mine-v{number}"
    roll_vec.register(id, runpy.run_path(path)["Mine"], max_episode_steps=5)
    envs = roll_vec.make_vec(id, 3)
    results = [envs.reset(seed=1), *(envs.step(np.arange(3) % 2) for _ in range(7))]
    state = {name: array.tolist() for name, array in envs.get_state().arrays.items()}
    print(path, repr((results, state)).replace(chr(10), " "))
"""


def run(paths, **variables):
    """Play classes in a process; return the line of each."""
    process = subprocess.run(
        [sys.executable, "-c", PLAY, *map(str, paths)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return sorted(process.stdout.splitlines())


# A constant, a global, a default, the cell and the code of a closure, and options in
# another order, which have the same types.  The machine code of these games has
# functions of the same names and types, one compiled in another process.
ALIKE = (*(CHANGES[k] for k in (0, 7, 11, 14)), REORDERED, CHANGES[12])


@pytest.mark.slow
@needs_jit
def test_no_game_runs_the_code_of_another(tmp_path):
    sources = [SOURCE, *(SOURCE.replace(*change) for change in ALIKE)]
    paths = [tmp_path / f"{number}.py" for number in range(len(sources))]
    for path, source in zip(paths, sources, strict=True):
        source = re.sub(
            "return (x . number)", rf"{LOOPS}\n        return y % 2 + \1", source
        )
        path.write_text(source.replace("add(env.x)", "add(add(env.x))"), "utf-8")
    expected = run(paths, NUMBA_DISABLE_JIT="1")
    for group in (paths[:-1], paths[-1:]):
        run(group)
    # From the cache alone.
    assert run(paths[::-1]) == expected


class Move(enum.IntEnum):
    LEFT, RIGHT = range(2)


STEPS = (-1, 1)
WIDTHS = [5, 7]


class Steps(roll_vec.ArrayEnv):
    """A game whose rules count with members of an enum and read a list."""

    state = {"seen": (np.int64, 3)}  # noqa: RUF012
    actions = 2
    observation = "seen"
    observation_space = Box(-99, 99, (3,), np.int64)

    @roll_vec.rule
    def begin(env, rng):
        env.seen[Move.RIGHT] = Move.RIGHT

    @roll_vec.rule
    def step(env, action, rng):
        env.seen[0] += STEPS[Move.RIGHT] + WIDTHS[1]
        env.seen[2] = max(Move.RIGHT | 2, 0) + int(Move.RIGHT)
        return Move.RIGHT, action == Move.LEFT


def test_members_of_an_enum_are_integers():
    (seen,) = play(Steps)
    assert seen == [8, 1, 4]


@roll_vec.rule
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


@roll_vec.rule
def ping(n):
    return 0 if n < 1 else pong(n - 1)


@roll_vec.rule
def pong(n):
    return ping(n)


@pytest.mark.parametrize("name", ["factorial", "ping"])
def test_a_rule_may_call_itself_and_no_rules_call_each_other(load, name):
    # Machine code from the cache would jump to an address of another process.
    source = SOURCE.replace("move(env)", f"env.x = {name}(4)")
    cls = load(source)
    cls.step.py_func.__globals__[name] = globals()[name]
    if name == "factorial":
        assert play(cls) == [24]
    else:
        with pytest.raises(InvalidOptionError, match="ping is called in a circle"):
            digest_of(cls)
