"""The spaces of parts as those of one batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain, repeat
from typing import Any

from gymnasium.spaces import Space, Tuple
from gymnasium.vector.utils import batch_space

from roll_vec.errors import InvalidOptionError
from roll_vec.spaces import UnicodeText


def join_spaces(
    spaces: Sequence[Space[Any]], sizes: Sequence[int]
) -> tuple[Space[Any], Space[Any]]:
    """Return the space of one environment of any part, and that of the batch.

    Texts of different lengths become one space, which contains them all.

    Parameters
    ----------
    spaces : sequence of gymnasium.Space
        Of one environment of each part.
    sizes : sequence of int
        The number of environments of each part.

    Raises
    ------
    InvalidOptionError
        If the spaces differ and are not all of texts.
    """
    if all(space == spaces[0] for space in spaces):
        return spaces[0], batch_space(spaces[0], sum(sizes))
    texts = [space for space in spaces if isinstance(space, UnicodeText)]
    if len(texts) < len(spaces):
        hint = "; with obs_mode='text' and action_mode='text' games have texts"
        accepted = "batches of one space, or of texts"
        raise InvalidOptionError.expected("parts", accepted, spaces, hint)
    longest = max(text.max_length for text in texts)
    make = partial(UnicodeText, longest, min_length=min(x.min_length for x in texts))
    examples = [text.examples for text in texts]
    # A sample of the batch has for each environment a text of its part.
    items = chain.from_iterable(map(repeat, examples, sizes))
    batch = Tuple([make(examples=one) for one in items])
    return make(examples=tuple(dict.fromkeys(chain(*examples)))), batch
