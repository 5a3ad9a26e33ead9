"""Mistakes in the classes of games: told when a game is registered, or compiled."""

import importlib.util

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Dict, Text

import roll_vec
from roll_vec.errors import InvalidOptionError, RollVecError
from tests.conftest import JIT_OFF
from tests.contract.cases import play
from tests.contract.rules import FAMILIES, Hunt

pytestmark = pytest.mark.usefixtures("forgets_ids")

WALK = FAMILIES["tests_rules/Walk-v0"]


def fill(env, out):
    """Draw what has no cell."""
    out[:] = 9


SOURCE = """
import random
import numpy as np
from numpy import float32 as half
from random import randint
TABLE = (1, np.uint8(200))
import roll_vec
from gymnasium.spaces import Box

STEP = 1


@roll_vec.rule
def move(env):
    env.p += STEP


class Mine(roll_vec.ArrayEnv):
    state = {{"p": np.int32, "b": (np.uint8, 3), "f": np.float32, "ok": np.bool_}}
    actions = {actions}
    size: int = 4
    table = np.arange(3)
    observation_space = Box(0, 9, (1,), np.int32)

    @roll_vec.rule
    def begin(env, rng):
        {begin}

    @roll_vec.rule
    def step(env, action, rng):
        {step}

    @roll_vec.rule
    def observe(env, out):
        {observe}

    def text(self, env):
        {text}
"""


def load(path, name="mine", **rules):
    """Return the class of a file with some rules."""
    usual = {
        "begin": "env.p = 1 + int(rng.random())",
        "step": "move(env); return 0.0, env.p > 3",
    }
    usual |= {"observe": "out[0] = env.p", "actions": "2", "text": "return str(env.p)"}
    source = rules.pop("source", SOURCE)
    # Python's cache of bytecode takes an equally long file of the same second for it.
    path = path.with_stem(f"{path.stem}_{len([*path.parent.iterdir()])}")
    path.write_text(source.format(**{**usual, **rules}), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Mine


def test_lengths_that_kernels_know_leave_the_checks_of_other_indices(tmp_path):
    step = "env.p += 1; env.b[env.p // 30] = 1; return 0.0, False"
    cls = load(tmp_path / "mine.py", step=step, observe="out[0] = len(env.b)")
    roll_vec.register("tests_rules/Far-v0", cls)
    envs = roll_vec.make_vec("tests_rules/Far-v0", 4)
    envs.reset(seed=0)
    # It begins at 1.
    for _ in range(88):
        assert envs.step(np.zeros(4, int))[0].tolist() == [[3]] * 4
    with pytest.raises(IndexError, match="outside of an array"):
        envs.step(np.zeros(4, int))


# Rule, the code of its body, and what the error says beside it.
MISTAKES = [
    ("step", "env.q = 1; return 0.0, False", "variables p, b, f, ok or of the options"),
    # Of `begin`, which is compiled first: nothing is compiled before the error.
    ("begin", "env.p = 1.5", "env.p is int32"),
    ("begin", "env.ok = 1", "env.ok is bool"),
    ("begin", "env.size = 1", "env.size is an option"),
    ("begin", "env.b = 1", "write its items, env.b"),
    ("begin", "env.b[0] = 0.5", "uint8.* cannot take"),
    ("begin", "env.p = rng.poisson(3)", "poisson"),
    ("begin", "env.table[0] = 2", "cannot be written"),
    ("observe", "env.p = 3", "env.p: .* only read"),
]


AT_REGISTRATION = [
    ("step", "env.b[7] = 1; return 0.0, False", "outside of an array"),
    ("step", "env.p = 1", "expected reward, terminated"),
    ("step", "return 1.0, True, 2", "truncated: expected a bool"),
    ("step", "return super().step(env, action, rng)", r"write ArrayEnv\.step\("),
    ("step", "return 'x', False", "reward: expected a number"),
    ("step", "return 1.0, 1", "terminated: expected a bool"),
    ("observe", "out[0] = 99", r"expected Box\(0, 9"),
    ("observe", "return env.p", "expected no return value, got 1"),
    ("text", "return env.p", "expected a str, got 1"),
    ("text", "return str(env.q)", "line .*: return str.*variables p, b"),
    ("observe", "env.b[0] = 1; out[0] = 1", "cannot be written"),
    ("begin", "env.p = int(TABLE[1])", "TABLE is .*rules read Python's numbers"),
    (
        "begin",
        "env.p = np.int8(100) + np.int8(100)",
        r"np\.int8 is .*rules read Python's",
    ),
    ("step", "return half(0.1) * 3, True", "half is .*rules read Python's"),
    ("begin", "env.p = rng.integers(0)", "the upper one above the lower"),
    ("begin", "env.p = rng.integers(5, size=2)", "size"),
    ("begin", "rng.shuffle(env.table)", "that can be written"),
    ("begin", "env.b[:] = env.f, 1, 2", "it cannot take"),
    ("begin", "env.b[:] = env.table[::2]", "one slice without a step"),
    ("begin", "env.b = env.table", "write its items"),
    ("begin", "env.ok = env.b == env.table", "compare numbers, not arrays"),
    ("begin", "env.p = int(np.random.random())", "draw from `rng`"),
    ("begin", "env.p = randint(0, 3)", "draw from `rng`"),
    ("step", "env.p = random.randrange(3); return 0.0, False", "draw from `rng`"),
]


@pytest.mark.parametrize(("rule", "code", "message"), [*MISTAKES, *AT_REGISTRATION])
def test_mistakes_are_told_at_registration(rule, code, message, tmp_path):
    cls = load(tmp_path / "mine.py", **{rule: code})
    with pytest.raises(InvalidOptionError, match=rf"Mine\.{rule}.*{message}"):
        roll_vec.register("tests_rules/Mine-v0", cls)
    assert "tests_rules/Mine-v0" not in gymnasium.registry


CLASHES = [
    ({"num_envs": 3, "__annotations__": {"num_envs": int}}, "no keywords of gymn"),
    ({"place": 3, "__annotations__": {"place": int}}, r"Mine\.state: expected names"),
    ({"state": {"seed": np.int32, "board": np.uint8}, "infos": ("seed",)}, "Mine"),
    ({"infos": ("success", "level")}, r"Mine\.infos: expected names"),
    (
        {"state": {**WALK.state, "success": (np.bool_, 2)}},
        "success'.: expected np.bool_",
    ),
    ({"sizes": [1], "__annotations__": {"sizes": list}}, "use a tuple"),
    # Of boards.
    ({"cells": ()}, r"Mine\.cells: expected what each code"),
    ({"cells": (("", "wall", (0, 0, 0)),)}, r"Mine\.cells: expected \(glyph"),
    ({"cells": ((".", "wall", (0, 0, 999)),)}, r"Mine\.cells: expected \(glyph"),
    ({"tiles": np.zeros((3, 16, 16, 3))}, r"Mine\.tiles: expected an array of uint"),
    ({"observation": "place"}, r"Mine\.state: expected the board 'place'"),
    ({"cells": WALK.cells[:2]}, r"Mine\.board: expected Box\(0, 1"),
]


@pytest.mark.parametrize(("change", "told"), CLASHES)
def test_names_kinds_and_boards_that_cannot_be_are_told(change, told):
    with pytest.raises(InvalidOptionError, match=told):
        roll_vec.register("tests_rules/Mine-v0", type("Mine", (WALK,), change))


RACE = FAMILIES["tests_rules/Race-v0"]
NO_PICTURES = [
    ({"draw": lambda env, out: None}, r"draw: expected `def draw\(env, out\)` marked"),
    (
        {"draw": roll_vec.rule(lambda env, out: out.fill(9))},
        r"draw: line \d+: .*'fill'",
    ),
    ({"draw": roll_vec.rule(fill)}, "draw: expected codes below 3, got 9"),
    ({"grid_shape": roll_vec.GridEnv.grid_shape}, "grid_shape: expected the rows and"),
    ({"tiles": np.zeros((3, 4, 5, 3), np.uint8)}, r"tiles: expected .* \(3, S, S, 3\)"),
    ({"tiles": property(lambda _: np.zeros(3))}, r"tiles: expected .* \(3, S, S, 3\)"),
]


@pytest.mark.parametrize(("change", "message"), NO_PICTURES)
def test_pictures_have_a_rule_a_shape_and_tiles(change, message):
    with pytest.raises(InvalidOptionError, match=rf"^Mine\.{message}"):
        roll_vec.register("tests_rules/Mine-v0", type("Mine", (RACE,), change), 9)


def test_a_game_without_cells_draws_nothing():
    cls = type("Mine", (FAMILIES["tests_rules/Corridor-v0"],), {"draw": RACE.draw})
    with pytest.raises(InvalidOptionError, match=r"of a roll_vec\.GridEnv, got"):
        roll_vec.register("tests_rules/Mine-v0", cls)


NO_FRAMES = [
    (lambda *_: "text", r"draw_frame: expected a picture \(H, W, 3\) of uint8"),
    (lambda *_: np.zeros((2, 2, 3)), "draw_frame: expected a picture"),
    (lambda *_: np.zeros((2, 2, 3), np.uint8), "draw_frame: expected a str for '"),
    (lambda _, env, mode: env.where, "draw_frame: .*where: expected one of the var"),
]


@pytest.mark.parametrize(("draw_frame", "message"), NO_FRAMES)
def test_frames_of_a_method_are_pictures_and_texts(draw_frame, message):
    content = {"draw_frame": draw_frame}
    cls = type("Mine", (FAMILIES["tests_rules/Corridor-v0"],), content)
    with pytest.raises(InvalidOptionError, match=rf"^Mine\.{message}"):
        roll_vec.register("tests_rules/Mine-v0", cls)


NO_TEXTS = [
    ({"texts": {"goal": "door", "note": "x"}}, r"texts\['note'\]: expected a variable"),
    ({"goal_text": lambda _, door: door}, r"goal_text: expected Text\("),
    ({"note_text": None}, "note_text: expected a method `def note_text"),
    ({"note_text": lambda _, moved: moved.x}, "note_text: .*no attribute 'x'"),
    ({"observation_space": Dict(goal=Text(9))}, r"texts: expected .*\['goal'\], got"),
    (
        {"observation_space": Dict(goal=Text(9), note=Text(9))},
        "observation_space: .*a Box",
    ),
]


@pytest.mark.parametrize(("change", "message"), NO_TEXTS)
def test_texts_have_variables_and_methods(change, message):
    cls = type("Mine", (RACE,), change)
    with pytest.raises(InvalidOptionError, match=rf"^Mine\.{message}"):
        roll_vec.register("tests_rules/Mine-v0", cls, 9)


@pytest.mark.parametrize(
    "actions", ["0", "10**6", "()", "('a', 'A ')", "np.int8", "True"]
)
def test_actions_are_names_or_a_number_or_a_box(actions, tmp_path):
    cls = load(tmp_path / "mine.py", actions=actions)
    with pytest.raises(InvalidOptionError, match=r"Mine\.actions: expected different"):
        roll_vec.register("tests_rules/Mine-v0", cls)


COMPILED = [
    ("begin", "env.p = [1, 2][env.p]", "no arrays, lists, dicts or texts"),
    ("begin", "env.b[:] = env.table[::2]", "one slice without a step"),
    ("begin", "env.b[:2] = env.f", "an array of uint8 cannot take a float64"),
    ("begin", "env.b[:] = env.f, 1, 2", "an array of uint8 cannot take"),
    ("begin", "env.b[0] = env.b", "an item of an array takes a number"),
    ("begin", "env.p = env.b + 1", "compute with numbers: write a loop"),
    ("step", "return 0.0, True, True", "each path of a rule returns as many values"),
    ("begin", "rng.shuffle(env.table)", "that can be written"),
]


HELPERS = """
import sys
from roll_vec import rule

@rule
def sizes(env):
    if env.p > 90:
        env.p = sys.maxsize

@rule
def misses(env):
    if env.p > 90:
        return env.q
    return 1
"""


@pytest.mark.parametrize(
    ("helper", "message"),
    [
        ("sizes", r"Mine\.sizes \(helpers_\w+\.py, line 5\): sys is "),
        pytest.param(
            "misses",
            r"Mine: helpers_\w+\.py, line 13: return env\.q: .*env\.q",
            marks=pytest.mark.skipif(JIT_OFF, reason="about the compiler"),
        ),
    ],
)
def test_a_mistake_in_a_helper_names_its_file(helper, message, tmp_path, monkeypatch):
    (tmp_path / f"helpers_{helper}.py").write_text(HELPERS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    source = SOURCE.replace("import random", f"import random, helpers_{helper}")
    source = source.replace("STEP = 1", f"{helper} = helpers_{helper}.{helper}")
    source = source.replace("env.p += STEP", f"{helper}(env)")
    cls = load(tmp_path / "m.py", source=source)

    def use():
        roll_vec.register("tests_rules/Mine-v0", cls)
        roll_vec.make_vec("tests_rules/Mine-v0", 2).reset()

    with pytest.raises(InvalidOptionError, match=message):
        use()


def test_a_path_without_a_return_is_told(tmp_path):
    step = "if env.p < 90: return 0.0, False\n        env.p = 0"
    roll_vec.register("tests_rules/Mine-v0", load(tmp_path / "mine.py", step=step))
    env = gymnasium.make("tests_rules/Mine-v0").unwrapped
    env.reset(seed=0)
    env.set_state({**env.get_state(), "p": 95})
    with pytest.raises(
        TypeError, match=r"Mine\.step: .*a rule failed.*a path has no return"
    ):
        env.step(0)


# Each compiles a game: of those that the same lines refuse one is fast.
SLOW_CODE = ("env.size = 1", "env.b[:] = env.table[::2]", "rng.shuffle(env.table)")
SLOW_CODE += ("env.ok = 1", "env.b = 1", "env.table[0] = 2", "env.b[:] = env.f, 1, 2")


@pytest.mark.skipif(JIT_OFF, reason="about the compiler")
@pytest.mark.parametrize(
    ("rule", "code", "message"),
    [
        pytest.param(*each, marks=[pytest.mark.slow] if each[1] in SLOW_CODE else [])
        for each in (*MISTAKES, *COMPILED)
    ],
)
def test_mistakes_that_did_not_run_are_told_by_the_compiler(
    rule, code, message, tmp_path
):
    # Not reached in the few steps of the registration.
    rules = {rule: f"if env.p > 90: {code}"}
    if rule == "step":
        rules[rule] = (
            f"if env.p > 90: {code.partition(';')[0]}\n        return 0.0, False"
        )
    cls = load(tmp_path / "mine.py", **rules)
    roll_vec.register("tests_rules/Mine-v0", cls)
    envs = roll_vec.make_vec("tests_rules/Mine-v0", 2)
    with pytest.raises(InvalidOptionError, match=rf"Mine: line \d+: .*{message}"):
        play(envs, [envs.reset(seed=0) and [0, 0]])


def test_observe_gets_zeros_at_registration(tmp_path, monkeypatch):
    cls = load(tmp_path / "mine.py", observe="pass")
    used = staticmethod(lambda shape, dtype=float: np.full(shape, 77, dtype))
    monkeypatch.setattr(np, "empty", used)
    roll_vec.register("tests_rules/Mine-v0", cls)


def _draws(change):
    """Return the method that draws what `Hunt` draws, changed."""

    def draw_levels(self, num_threads, slices, seeds):
        return change(*Hunt.draw_levels(self, num_threads, slices, seeds))

    return {"draw_levels": draw_levels}


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (
            {"level_variables": ("first", "numbers")},
            "level_variables: expected a tuple",
        ),
        ({"level_variables": "numbers"}, "level_variables: expected a tuple"),
        ({"level_variables": ("zork",)}, "level_variables: expected a tuple"),
        ({"seeding": "stream"}, "seeding: expected 'level'"),
        ({"draw_levels": roll_vec.ArrayEnv.draw_levels}, "draw_levels: expected a"),
        (_draws(lambda first, second: [first, second, first]), "arrays of numbers, fi"),
        (_draws(lambda first, second: None), "arrays of numbers, first"),
        (_draws(lambda first, second: (first[:, 1:], second)), "reshape.*1,4"),
        (_draws(lambda first, second: (first / 2, second)), "cast.*int16"),
    ],
)
def test_wrong_levels_are_refused_when_a_game_is_registered(declaration, message):
    cls = type("Wrong", (Hunt,), {"__doc__": "Wrong levels.", **declaration})
    with pytest.raises(RollVecError, match=f"Wrong.*{message}"):
        roll_vec.register("tests_rules/Wrong-v0", cls)


def test_levels_may_have_another_layout_and_dtype():
    draws = _draws(lambda a, b: (np.asfortranarray(a.astype(np.int64)), b))
    cls = type("Other", (Hunt,), {"__doc__": "Levels of another layout.", **draws})
    for number, each in enumerate((Hunt, cls)):
        roll_vec.register(f"tests_rules/Layout{number}-v0", each)
    first, second = (
        gymnasium.make_vec(f"tests_rules/Layout{number}-v0", 5).reset(seed=3)[0]
        for number in range(2)
    )
    np.testing.assert_array_equal(first, second)
