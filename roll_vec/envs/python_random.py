"""The generator of Python's `random` in rules, for games whose originals draw from it.

A generator is a variable of the state, ``"random_words": (np.uint32, RANDOM_WORDS)``.
The draws are those of CPython 3.10 to 3.13 (``_randommodule.c``, ``random.py``) after
``random.seed(seed)``, to the bit.  The seed costs 3 us, a draw some ns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from roll_vec.arrays.rules import rule

RANDOM_WORDS = 625
"""Length of a generator: a Mersenne Twister's 624 words, and the index of the next."""
_LAST, _MASK = 623, 0xFFFFFFFF
RANDOM_LIMITS = 0, np.array([*[_MASK] * 624, _LAST], np.uint32)
"""What ``state_limits`` says of it."""


@rule
def seed_random(words: Any, seed: int) -> None:
    """Seed a generator, as ``random.seed(seed)`` does; 0 <= seed < 2**32."""
    start = word = 19650218
    # The words of this fixed seed, and over them those of the key: two chains in one
    # loop, as each alone waits for its multiplications.
    for i in range(1, 624):
        start = (1812433253 * (start ^ (start >> 30)) + i) & _MASK
        word = ((start ^ ((word ^ (word >> 30)) * 1664525)) + seed) & _MASK
        words[i] = word
    # The second word is mixed twice.
    word = ((words[1] ^ ((word ^ (word >> 30)) * 1664525)) + seed) & _MASK
    words[1] = word
    for k in range(2, 625):
        i = k if k <= _LAST else 1
        word = ((words[i] ^ ((word ^ (word >> 30)) * 1566083941)) - i) & _MASK
        words[i] = word
    words[0] = 1 << 31
    words[624] = 0


@rule
def random_word(words: Any) -> Any:
    """Return the next 32 bits of a generator, as ``random.getrandbits(32)``."""
    i = words[624]
    after = i + 1 if i < _LAST else 0
    distant = i + 397 if i < 227 else i - 227
    word = (words[i] & 0x80000000) | (words[after] & 0x7FFFFFFF)
    word = words[distant] ^ (word >> 1) ^ ((word & 1) * 0x9908B0DF)
    words[i] = word
    words[624] = after
    word ^= word >> 11
    word ^= (word << 7) & 0x9D2C5680
    word ^= (word << 15) & 0xEFC60000
    return word ^ (word >> 18)


@rule
def random_below(words: Any, n: int) -> Any:
    """Return the next int in [0, n), 1 <= n < 2**31.

    It is the draw of ``random.randrange(n)``, ``a + random_below(words, b - a + 1)``
    that of ``random.randint(a, b)``, and ``items[random_below(words, len(items))]``
    that of ``random.choice(items)``.
    """
    shift = 32
    while n >> (32 - shift):
        shift -= 1
    number = random_word(words) >> shift
    while number >= n:
        number = random_word(words) >> shift
    return number


@rule
def random_float(words: Any) -> Any:
    """Return the next float in [0, 1), as ``random.random()``."""
    high = random_word(words) >> 5
    return (high * 67108864.0 + (random_word(words) >> 6)) / 9007199254740992.0


@rule
def random_shuffle(words: Any, items: Any, start: int, stop: int) -> None:
    """Shuffle the items from ``start`` to before ``stop``, as ``random.shuffle``."""
    for last in range(stop - start - 1, 0, -1):
        i, j = start + last, start + random_below(words, last + 1)
        item = items[i]
        items[i] = items[j]
        items[j] = item
