"""Four games as users write them, and the same as loops that are written in numba.

The loops have the same arrays and rules, reset in the step after an end (NextStep),
count steps, and return new arrays.  They have none of the rest: no infos, no checks, no
seed of an episode, no other modes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

import roll_vec

SIDE = 8
EMPTY, BODY, HEAD, FOOD = range(4)
LIMIT = 100


@roll_vec.rule
def place_food(board, length, rng):
    left = rng.integers(0, SIDE * SIDE - length)
    for r in range(SIDE):
        for c in range(SIDE):
            if board[r, c] == EMPTY:
                if left == 0:
                    board[r, c] = FOOD
                    return
                left -= 1


place_food_by_hand = numba.njit(place_food.py_func)


class Snake(roll_vec.ArrayEnv):
    """Eat and grow; a wall and your body end the episode."""

    state = {
        "board": (np.uint8, (SIDE, SIDE)),
        "cells": (np.uint8, SIDE * SIDE),
        "head": np.int32,
        "length": np.int32,
    }
    actions = ("up", "right", "down", "left")
    observation = "board"
    observation_space = Box(0, FOOD, (SIDE, SIDE), np.uint8)

    @roll_vec.rule
    def begin(env, rng):
        env.length = 1
        env.cells[0] = rng.integers(SIDE * SIDE)
        env.board[env.cells[0] // SIDE, env.cells[0] % SIDE] = HEAD
        place_food(env.board, env.length, rng)

    @roll_vec.rule
    def step(env, action, rng):
        row, column = env.cells[env.head] // SIDE, env.cells[env.head] % SIDE
        r = row + (action == 2) - (action == 0)
        c = column + (action == 1) - (action == 3)
        if not (0 <= r < SIDE and 0 <= c < SIDE) or env.board[r, c] == BODY:
            return -1.0, True
        eats = env.board[r, c] == FOOD
        env.head = (env.head + 1) % (SIDE * SIDE)
        env.cells[env.head] = r * SIDE + c
        env.board[row, column] = BODY
        env.board[r, c] = HEAD
        if eats:
            env.length += 1
            place_food(env.board, env.length, rng)
            return 1.0, env.length == SIDE * SIDE
        tail = env.cells[(env.head - env.length) % (SIDE * SIDE)]
        env.board[tail // SIDE, tail % SIDE] = EMPTY
        return 0.0, False


@numba.njit
def step_snakes(actions, rng, state, steps, ended, results):
    boards, cells, heads, lengths = state
    rewards, terminations, truncations = results
    for i in range(len(actions)):
        action = actions[i]
        rewards[i] = 0.0
        terminations[i] = truncations[i] = False
        if ended[i]:
            boards[i] = EMPTY
            heads[i], lengths[i], steps[i] = 0, 1, 0
            cells[i, 0] = rng.integers(0, SIDE * SIDE)
            boards[i, cells[i, 0] // SIDE, cells[i, 0] % SIDE] = HEAD
            place_food_by_hand(boards[i], 1, rng)
        else:
            head = heads[i]
            row, column = cells[i, head] // SIDE, cells[i, head] % SIDE
            r = row + (action == 2) - (action == 0)
            c = column + (action == 1) - (action == 3)
            if not (0 <= r < SIDE and 0 <= c < SIDE) or boards[i, r, c] == BODY:
                rewards[i], terminations[i] = -1.0, True
            else:
                eats = boards[i, r, c] == FOOD
                head = (head + 1) % (SIDE * SIDE)
                heads[i] = head
                cells[i, head] = r * SIDE + c
                boards[i, row, column] = BODY
                boards[i, r, c] = HEAD
                if eats:
                    lengths[i] += 1
                    place_food_by_hand(boards[i], lengths[i], rng)
                    rewards[i] = 1.0
                    terminations[i] = lengths[i] == SIDE * SIDE
                else:
                    tail = cells[i, (head - lengths[i]) % (SIDE * SIDE)]
                    boards[i, tail // SIDE, tail % SIDE] = EMPTY
            steps[i] += 1
            truncations[i] = steps[i] >= LIMIT
        ended[i] = terminations[i] or truncations[i]


LIGHTS = 5


@roll_vec.rule
def press(board, cell):
    row, column = cell // LIGHTS, cell % LIGHTS
    for r in range(max(row - 1, 0), min(row + 2, LIGHTS)):
        board[r, column] ^= 1
    for c in range(max(column - 1, 0), min(column + 2, LIGHTS)):
        if c != column:
            board[row, c] ^= 1


press_by_hand = numba.njit(press.py_func)


class LightsOut(roll_vec.ArrayEnv):
    """Press cells until all lights are out."""

    state = {"board": (np.uint8, (LIGHTS, LIGHTS))}
    actions = LIGHTS * LIGHTS
    observation = "board"
    observation_space = Box(0, 1, (LIGHTS, LIGHTS), np.uint8)

    @roll_vec.rule
    def begin(env, rng):
        for _ in range(6):
            press(env.board, rng.integers(LIGHTS * LIGHTS))

    @roll_vec.rule
    def step(env, action, rng):
        press(env.board, action)
        for r in range(LIGHTS):
            for c in range(LIGHTS):
                if env.board[r, c]:
                    return -1.0, False
        return 0.0, True


@numba.njit
def step_lights(actions, rng, state, steps, ended, results):
    (boards,) = state
    rewards, terminations, truncations = results
    for i in range(len(actions)):
        rewards[i] = 0.0
        terminations[i] = truncations[i] = False
        if ended[i]:
            boards[i] = 0
            steps[i] = 0
            for _ in range(6):
                press_by_hand(boards[i], rng.integers(0, LIGHTS * LIGHTS))
        else:
            press_by_hand(boards[i], actions[i])
            terminations[i] = not boards[i].any()
            rewards[i] = 0.0 if terminations[i] else -1.0
            steps[i] += 1
            truncations[i] = steps[i] >= LIMIT
        ended[i] = terminations[i] or truncations[i]


GRAVITY, THRUST, SECONDS = 0.3, 0.8, 0.1


class Lander(roll_vec.ArrayEnv):
    """Land softly: three engines, and gravity."""

    state = dict.fromkeys(("x", "y", "vx", "vy"), np.float64)
    actions = ("none", "left", "main", "right")
    observation_space = Box(-np.inf, np.inf, (4,), np.float32)

    @roll_vec.rule
    def begin(env, rng):
        env.x, env.y = rng.uniform(-0.5, 0.5), 1.0
        env.vx, env.vy = rng.uniform(-0.2, 0.2), 0.0

    @roll_vec.rule
    def step(env, action, rng):
        env.vx += SECONDS * THRUST * ((action == 1) * 1.0 - (action == 3) * 1.0)
        env.vy += SECONDS * (THRUST * (action == 2) - GRAVITY)
        env.x += SECONDS * env.vx
        env.y += SECONDS * env.vy
        speed = math.sqrt(env.vx * env.vx + env.vy * env.vy)
        if env.y <= 0.0 or abs(env.x) > 1.0:
            return 1.0 - speed, True
        return -0.01 * abs(env.x), False

    @roll_vec.rule
    def observe(env, out):
        out[0] = env.x
        out[1] = env.y
        out[2] = env.vx
        out[3] = env.vy


@numba.njit
def step_landers(actions, rng, state, steps, ended, results):
    observations, xs, ys, vxs, vys = state
    rewards, terminations, truncations = results
    for i in range(len(actions)):
        action = actions[i]
        rewards[i] = 0.0
        terminations[i] = truncations[i] = False
        if ended[i]:
            xs[i], ys[i] = rng.uniform(-0.5, 0.5), 1.0
            vxs[i], vys[i] = rng.uniform(-0.2, 0.2), 0.0
            steps[i] = 0
        else:
            vxs[i] += SECONDS * THRUST * ((action == 1) * 1.0 - (action == 3) * 1.0)
            vys[i] += SECONDS * (THRUST * (action == 2) - GRAVITY)
            xs[i] += SECONDS * vxs[i]
            ys[i] += SECONDS * vys[i]
            if ys[i] <= 0.0 or abs(xs[i]) > 1.0:
                speed = math.sqrt(vxs[i] * vxs[i] + vys[i] * vys[i])
                rewards[i], terminations[i] = 1.0 - speed, True
            else:
                rewards[i] = -0.01 * abs(xs[i])
            steps[i] += 1
            truncations[i] = steps[i] >= LIMIT
        ended[i] = terminations[i] or truncations[i]
        observations[i, 0], observations[i, 1] = xs[i], ys[i]
        observations[i, 2], observations[i, 3] = vxs[i], vys[i]


PILE, MOST = 30, 3


class Nim(roll_vec.ArrayEnv):
    """Take one to three stones of a pile, in turns; who takes the last one wins."""

    state = {"stones": np.int8}
    actions = MOST
    observation_space = Box(0, PILE, (1,), np.int8)

    @roll_vec.rule
    def begin(env, rng):
        env.stones = rng.integers(PILE // 2, PILE)

    @roll_vec.rule
    def step(env, action, rng):
        env.stones -= min(action + 1, env.stones)
        if env.stones == 0:
            return 1.0, True
        env.stones -= min(rng.integers(1, MOST + 1), env.stones)
        return -1.0 * (env.stones == 0), env.stones == 0

    @roll_vec.rule
    def observe(env, out):
        out[0] = env.stones


@numba.njit
def step_nim(actions, rng, state, steps, ended, results):
    observations, stones = state
    rewards, terminations, truncations = results
    for i in range(len(actions)):
        rewards[i] = 0.0
        terminations[i] = truncations[i] = False
        if ended[i]:
            stones[i], steps[i] = rng.integers(PILE // 2, PILE), 0
        else:
            stones[i] -= min(actions[i] + 1, stones[i])
            if stones[i] == 0:
                rewards[i], terminations[i] = 1.0, True
            else:
                stones[i] -= min(rng.integers(1, MOST + 1), stones[i])
                if stones[i] == 0:
                    rewards[i], terminations[i] = -1.0, True
            steps[i] += 1
            truncations[i] = steps[i] >= LIMIT
        ended[i] = terminations[i] or truncations[i]
        observations[i, 0] = stones[i]


GAMES: dict[str, tuple[type, Callable[..., None]]] = {
    "Snake": (Snake, step_snakes),
    "LightsOut": (LightsOut, step_lights),
    "Lander": (Lander, step_landers),
    "Nim": (Nim, step_nim),
}
for _name, (_game, _) in GAMES.items():
    roll_vec.register(f"bench/{_name}-v0", _game, max_episode_steps=LIMIT)


def by_hand(name: str, num_envs: int) -> Callable[[NDArray[Any]], tuple[Any, ...]]:
    """Return the step of a batch of the hand-written loop."""
    game: Any
    game, kernel = GAMES[name]
    space, variables = game.observation_space, [*game.state.values()]
    if "board" not in game.state:
        variables.insert(0, (space.dtype, space.shape))
    state = tuple(np.zeros(num_envs, variable) for variable in variables)
    rng, steps = np.random.default_rng(0), np.zeros(num_envs, np.int64)
    ended = np.ones(num_envs, np.bool_)

    def step(actions: NDArray[Any]) -> tuple[Any, ...]:
        flags = np.empty((2, num_envs), np.bool_)
        results = np.empty(num_envs), flags[0], flags[1]
        kernel(actions, rng, state, steps, ended, results)
        return (state[0].copy(), *results, {})

    return step
