"""Code of rules: what its digest covers, and that no class runs the code of another."""

import enum
import importlib.util
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from gymnasium.spaces import Box

import roll_vec
from roll_vec.errors import InvalidOptionError
from tests.arrays import random_games
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
        env.y = env.up + env.down
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
    ("    up: int = 1\n    down: int = 10", "    down: int = 10\n    up: int = 1"),
    ("up: int", "over: int"),
    ('"x": np.int64, "y": np.int64', '"y": np.int64, "x": np.int64'),
    ('"y": np.int64', '"z": np.int64'),
    ('infos = ("x",)', 'infos = ("y",)'),
    ('observation = "x"', 'observation = "y"'),
    ("actions = 2", "actions = Box(-1, 1, (1,))"),
]


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


def test_a_digest_has_nothing_of_the_place_of_a_file(load):
    digest = digest_of(load())
    assert digest == digest_of(load(name="__main__"))
    assert digest == digest_of(load("# A comment.\n" + SOURCE + "\nOTHER = 1\n"))


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
    assert play(cls) == [first + 45]
    module["add"] = module["make_adder"](20)
    assert play(cls) == [first + 45 + 18]
    # The batch that was made before, compiled after.
    envs.reset(seed=0)
    assert envs.step([0])[0].item() == first


def run(numbers, folder, **variables):
    """Play games in a process; return the line of each."""
    process = subprocess.run(
        [sys.executable, random_games.__file__, *map(str, numbers)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return sorted(process.stdout.splitlines())


def check_games(groups, folder):
    """Compare games of one process of all with plain rules; compile them in groups."""
    numbers = [number for group in groups for number in group]
    expected = run(numbers, folder, NUMBA_DISABLE_JIT="1")
    assert len(expected) == len(set(expected)) == len(numbers)
    for group in groups[:-1]:
        run(group, folder)
    # The last group is compiled, and then the others come from the cache.
    assert run(numbers[::-1], folder) == expected


@needs_jit
def test_no_game_runs_the_code_of_another(tmp_path):
    # Games 0 and 52 have the same types, with their options in another order.  The
    # machine code of 0 and 1 has functions of the same names and types, each compiled
    # in a process of its own.
    check_games([[0, 52], [1]], tmp_path)


@needs_jit
@pytest.mark.slow
def test_many_games_in_one_process_do_not_disturb_each_other(tmp_path):
    groups = np.arange(3, 43).reshape(4, 10).tolist()
    check_games(groups, tmp_path)


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
