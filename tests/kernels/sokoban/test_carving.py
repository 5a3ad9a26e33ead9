"""Planned draws of the walk are those that are looked up one after the other."""

import numpy as np
import pytest

from roll_vec.kernels.sokoban import carving
from roll_vec.kernels.sokoban import mersenne_twisters as twister
from tests.conftest import JIT_OFF

# The upper 27 bits of 0.35: the output after them decides whether it is a turn.
EDGE = int(0.35 * 2**27)


def untemper(outputs):
    """Return the words with these outputs."""
    words = outputs ^ (outputs >> 18)
    words ^= (words << 15) & 0xEFC60000
    inverse = words
    for _ in range(5):
        inverse = words ^ ((inverse << 7) & 0x9D2C5680)
    words = inverse & 0xFFFFFFFF
    return words ^ (words >> 11) ^ (words >> 22)


def make_states(kind, rng):
    """Return states whose first words are twisted, with outputs of a kind."""
    states = twister.make_states(twister.FIRST_WORDS)
    others, seeds = twister.make_states(0), np.arange(twister.LANES, dtype=np.uint32)
    twister.mt_seed(seeds, states, others)
    shape = twister.FIRST_WORDS, twister.LANES
    outputs = rng.integers(0, 1 << 32, shape)
    if kind == "edges":
        is_edge = rng.random(shape) < 0.4
        outputs[is_edge] = (EDGE << 5) + outputs[is_edge] % 32
    elif kind == "rejections":
        # In runs of all lengths, some of them to the last of the first words.
        runs = rng.random(shape) < rng.random(twister.LANES)
        outputs[runs] |= 7 << 29
        outputs[-5:, ::2] |= 7 << 29
    if kind != "seeded":
        states[: outputs.size] = untemper(outputs).ravel()
        np.testing.assert_array_equal(
            [twister.mt_temper(word) for word in states[:99]], outputs.ravel()[:99]
        )
    return states


def draw_by_draw(states, lane, direction):
    """Return direction and mask of a step, as CPython draws them."""
    if twister.mt_random(states, lane) < 0.35:
        direction = twister.mt_randbelow(states, lane, 4)
    return direction, twister.mt_randbelow(states, lane, 5)


@pytest.mark.parametrize("kind", ["seeded", "edges", "rejections"])
def test_planned_draws_are_those_of_one_after_the_other(kind):
    states = make_states(kind, np.random.default_rng(4))
    plain = states.copy()
    carving.plan_walk(states)
    turns = 0
    for lane in range(0, twister.LANES, 8 if JIT_OFF else 1):
        direction, drawn = -1, 0
        # Beyond the words that are twisted, and once around.
        while drawn < (420 if JIT_OFF else 700):
            expected = draw_by_draw(plain, lane, direction)
            direction, mask, drawn = carving._draw_step(
                states, np.uint64(lane), np.uint64(drawn), direction
            )
            assert (direction, mask) == expected
            assert drawn == plain[int(twister.COUNTS) + lane]
            turns += direction >= 0
    assert turns
