"""Small random games: ``python random_games.py NUMBER...`` plays each of them.

Their declarations come from a small set of names and types, so that many games differ
in one order, one name or one number.
"""

import random
import sys

import numpy as np

import roll_vec

SOURCE = """
import enum

import numpy as np
from gymnasium.spaces import Box, Dict

import roll_vec

FACTOR = {factor}


class Code(enum.IntEnum):
    GOLD = {gold}
    WALL = {wall}


POINT = {point}


@roll_vec.rule
def quotient(x):
    return 7.0 / x


@roll_vec.rule
def grow(x):
    y = x
    {loops}
    return y * FACTOR + Code.GOLD - POINT[0]


class Game(roll_vec.ArrayEnv):
    "A game."

    {options}
    state = {state}
    actions = 2
    infos = {infos}
    {observation}

    @roll_vec.rule
    def begin(env, rng):
        env.x = env.up
        env.y = rng.integers({bound})

    @roll_vec.rule
    def step(env, action, rng):
        env.z = env.x - int(env.down * action)
        env.x = grow(grow(env.y) + env.up)
        env.y = env.y {sign} env.x + int(quotient(2.0))
        return {reward}, env.y % 7 == 0
"""

LOOP = """
    for j in range(3):
        y = (y * {} + j) % 10007
        if y % 7 == 2:
            y += 5
""".strip()

OBSERVE = """
    @roll_vec.rule
    def observe(env, out):
        out.{first} = env.x
        out.{second} = env.z
"""


def make_game(number):
    """Return the class of a game."""
    draw = random.Random(f"game {number}")

    def order(names):
        return draw.sample(names, len(names))

    options = [
        f"{each}: int = {draw.randrange(1, 4)}" for each in order(["up", "down"])
    ]
    dtypes = draw.choice([["i8"], ["i8"], ["i8", "i4"]])
    space = "Box(-(2**62), 2**62, (), np.int64)"
    first, second = order(["image", "score"])
    is_dict = draw.random() < 0.3
    parts = f"Dict({first}={space}, {second}={space})"
    source = SOURCE.format(
        factor=draw.choice([2, 3]),
        gold=draw.choice([1, 2]),
        wall=draw.choice([1, 2]),
        point=tuple(order([3, 5])),
        # More code than a rule has.
        loops="\n    ".join(LOOP.format(draw.choice([31, 37])) for _ in range(4)),
        options="\n    ".join(options),
        state={each: draw.choice(dtypes) for each in order(["x", "y", "z"])},
        infos=tuple(order(["x", "y", "z"])[: draw.randrange(1, 3)]),
        observation=(
            f"observation_space = {parts}{OBSERVE.format(first=first, second=second)}"
            if is_dict
            else f"observation_space = {space}; observation = {draw.choice('xyz')!r}"
        ),
        bound=draw.choice([5, 6]),
        sign=draw.choice("+-"),
        reward=draw.choice(["0.5", "float(env.x)"]),
    )
    scope = {"__name__": f"game_{number}"}
    exec(source, scope)
    return scope["Game"]


def play(number):
    """Return the rewards, infos and observations of some steps."""
    id = f"tests_random_games/Game{number}-v0"
    roll_vec.register(id, make_game(number), max_episode_steps=5)
    envs = roll_vec.make_vec(id, 3)
    results = [envs.reset(seed=number)]
    for t in range(12):
        results.append(envs.step(np.arange(3) + t & 1))
    envs.close()
    return repr(results).replace("\n", " ")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        sys.stdout.write(f"{argument} {play(int(argument))}\n")
