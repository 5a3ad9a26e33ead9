"""Rules that several games call: they are compiled once, and each game has its own."""

import enum
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box
from numba import types

import roll_vec
from roll_vec.kernels import _cache
from roll_vec.kernels._compiled_callees import RuleCallee
from roll_vec.kernels._compiler import stored
from tests.conftest import JIT_OFF

pytestmark = [
    pytest.mark.skipif(JIT_OFF, reason="with the JIT off nothing is compiled"),
    pytest.mark.skipif(stored is None, reason="this numba's compiler stores no rules"),
]

# Two games of one base: `churn` is so large that it becomes a part, `walk` is small.
SOURCE = (
    """
import numpy as np
from gymnasium.spaces import Box

import roll_vec


@roll_vec.rule
def walk(env, rng):
    env.x += env.pace + rng.integers(3)


@roll_vec.rule
def churn(env, number):
    y = env.x + number
"""
    + "".join(
        f"""
    for j in range(env.pace):
        y = (y * {31 + k} + j) % 10007
        env.cells[j, {k} % 2] = int(y)
        if y % 7 == 2:
            y += 5
"""
        for k in range(8)
    )
    + """
    return y


class Base(roll_vec.ArrayEnv):
    "A game."

    pace: int = 3
    state = {"x": np.int64, "cells": (np.int32, ("pace", 2))}
    actions = 3
    infos = ("x", "cells")
    observation = "x"
    observation_space = Box(-np.inf, np.inf, (), np.float64)

    @roll_vec.rule
    def begin(env, rng):
        walk(env, rng)

    @roll_vec.rule
    def step(env, action, rng):
        walk(env, rng)
        env.x += churn(env, action)
        return env.x / 3.0, env.x % 11 == 0


class One(Base):
    "One variable more, before the others, and an option more."

    extra: float = 0.5
    state = {"more": np.int8, **Base.state}

    @roll_vec.rule
    def begin(env, rng):
        walk(env, rng)
        env.more = int(env.extra * 4)


class Two(Base):
    "The same names with other types."

    state = {"x": np.float64, "cells": (np.int16, ("pace", 2)), "other": np.bool_}

    @roll_vec.rule
    def begin(env, rng):
        env.other = True
        walk(env, rng)


class Three(Base):
    "Other values of options."

    pace: int = 5
"""
)
# Plays classes of a file; writes the results, and the rules that were compiled.
PLAY = """
import runpy, sys
import numpy as np
from numba.core import event
import roll_vec

class Names(event.Listener):
    names = []

    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        pass

event.register("numba:compile", Names())
path, *names = sys.argv[1:]
games = runpy.run_path(path)
for name in names:
    id = f"tests_shared_rules/{name}-v0"
    roll_vec.register(id, games[name], max_episode_steps=5)
    envs = roll_vec.make_vec(id, 3)
    results = [envs.reset(seed=1), *(envs.step(np.arange(3)) for _ in range(7))]
    state = {key: array.tolist() for key, array in envs.get_state().arrays.items()}
    print(name, repr((results, state)).replace(chr(10), " "))
rules = [each.partition(".")[2] for each in Names.names]
print(*[each for each in rules if each in ("walk", "churn") or "." in each])
"""


@pytest.fixture
def play(tmp_path):
    """Return a function that plays classes in a new process, with one cache."""
    path = tmp_path / "games.py"

    def play(*names, source=SOURCE, **variables):
        path.write_text(source)
        process = subprocess.run(
            [sys.executable, "-c", PLAY, str(path), *names],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        *results, rules = process.stdout.removesuffix("\n").split("\n")
        own = [each for each in rules.split() if "<locals>" not in each]
        return results, [each for each in own if not each.startswith("PlainGen")]

    return play


_expected: dict[str, dict[str, str]] = {}


def expected(play, *names, source=SOURCE):
    """Return what the same classes do as Python."""
    if source not in _expected:
        classes = "Base", "One", "Two", "Three"
        lines, _ = play(*classes, source=source, NUMBA_DISABLE_JIT="1")
        _expected[source] = dict(zip(classes, lines, strict=True))
    return [_expected[source][name] for name in names]


def stored_rules(folder):
    """Return the files of rules in a cache."""
    files = sorted(folder.glob("roll_vec/kernels-*/_jit-*.bin"))
    assert {"walk", "churn"} <= {path.name.split("-")[2] for path in files}
    return files


def test_games_of_one_base_share_their_rules(play, tmp_path):
    results, rules = play("Base")
    assert results == expected(play, "Base")
    assert sorted(rules) == ["Base.begin", "Base.step", "churn", "walk"]
    results, rules = play("One", "Three")
    assert results == expected(play, "One", "Three")
    assert rules == ["One.begin"]
    # The same names with other types are other code.
    results, rules = play("Two", "One")
    assert results == expected(play, "Two", "One")
    assert sorted(rules) == ["Base.step", "Two.begin", "churn", "walk"]
    # Kernels bring the parts that they call along.
    for path in stored_rules(tmp_path):
        path.unlink()
    results, rules = play("One", "Two", "Three", "Base")
    assert results == expected(play, "One", "Two", "Three", "Base")
    assert rules == []


@pytest.mark.slow
def test_an_edited_rule_is_compiled_again(play):
    play("Base")
    edited = SOURCE.replace("y += 5", "y += 6")
    results, rules = play("Base", source=edited)
    assert results == expected(play, "Base", source=edited) != expected(play, "Base")
    # Those that call it, and it alone.
    assert sorted(rules) == ["Base.step", "churn"]
    results, rules = play("One")
    assert (results, rules) == (expected(play, "One"), ["One.begin"])


@pytest.mark.slow
def test_a_damaged_file_is_no_rule(play, tmp_path, monkeypatch):
    play("Base")
    monkeypatch.setattr(_cache.config, "CACHE_DIR", str(tmp_path))
    folder = _cache.CacheFolder(Path(_cache.__file__).parent)
    for number, path in enumerate(stored_rules(tmp_path)):
        content = path.read_bytes()
        if number % 3 == 0:
            middle = len(content) // 2
            flip = bytes([content[middle] ^ 1])
            path.write_bytes(content[:middle] + flip + content[middle + 1 :])
        elif number % 3 == 1:
            path.write_bytes(b"")
        else:
            path.unlink()
            folder.write(path.name, b"no pickle")
    results, rules = play("One")
    assert results == expected(play, "One")
    assert sorted(rules) == ["Base.step", "One.begin", "churn", "walk"]
    # These files are whole again.
    assert play("Three")[1] == []


@pytest.mark.slow
def test_a_part_may_be_loaded_and_compiled_in_one_process(play, tmp_path):
    play("Base")
    for path in stored_rules(tmp_path):
        path.unlink()
    results, rules = play("Base", "One", "Three")
    assert results == expected(play, "Base", "One", "Three")
    assert sorted(rules) == ["Base.step", "One.begin", "churn", "walk"]


@roll_vec.rule
def write(env):
    env.y = 3


@roll_vec.rule
def call(env, function):
    function(env)


@roll_vec.rule
def itself(env):
    return env


class Whole(roll_vec.ArrayEnv):
    """A game whose rules need more of a row than they name."""

    state = {"x": np.int64, "y": np.int64}  # noqa: RUF012
    actions = 2
    observation = "x"
    observation_space = Box(0, 999, (), np.int64)

    @roll_vec.rule
    def begin(env, rng):
        env.x = 0

    @roll_vec.rule
    def step(env, action, rng):
        call(env, write)
        env.x += itself(env).y
        return 0.0, False


@pytest.mark.usefixtures("forgets_ids")
def test_rules_that_need_whole_rows_get_them():
    roll_vec.register("tests_shared_rules/Whole-v0", Whole)
    envs = roll_vec.make_vec("tests_shared_rules/Whole-v0", 2)
    envs.reset(seed=0)
    for number in (3, 6):
        assert envs.step([0, 1])[0].tolist() == [number] * 2
    assert RuleCallee.narrows is None


def test_what_classes_hold_is_not_in_their_names():
    """An edited enumeration that a rule gets as an argument is other code."""
    lean = pytest.importorskip("roll_vec.kernels._lean_compiler")
    members = types.EnumClass(enum.Enum("Colour", "RED"), types.int64)
    for each in (types.Module(enum), members):
        assert not lean._are_plain((types.int64, each))
        assert not lean._are_plain((types.Tuple((each,)),))
    assert lean._are_plain((types.int64, types.UniTuple(types.float64, 2)))
