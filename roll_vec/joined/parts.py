"""Calls of parts, and the spaces of parts as those of one batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Space, Tuple
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.spaces import UnicodeText
from roll_vec.vector.batch_snapshots import check_state_rows
from roll_vec.vector.env import RollVectorEnv

# Calls that move environments.
MOVES = frozenset(("reset", "step", "_step_some", "unroll", "set_state"))
# Calls whose effect a snapshot need not have.
SETTINGS = frozenset(("set_attr", "set_level_options"))
# Calls that a restored part makes again; all others only read.
JOURNALED = MOVES | SETTINGS | {"call"}

_ATTRIBUTES = (
    *("num_envs", "single_observation_space", "single_action_space", "metadata"),
    *("render_mode", "spec", "autoreset_mode", "group_size", "has_success"),
)


def describe(batch: RollVectorEnv) -> SimpleNamespace:
    """Return the attributes of a batch that the head needs, and some of its engine.

    ``digest``: batches with one digest can exchange snapshots.  ``has_objects``:
    whether the batch is a pool.  ``accepts_noop``: see
    `roll_vec.pool.actions.check_action_batch`.
    """
    engine: Any = batch.engine
    return SimpleNamespace(
        **{name: getattr(batch, name) for name in _ATTRIBUTES},
        digest=batch._configuration()[1],
        has_objects=batch._has_objects,
        accepts_noop=batch._has_objects and engine.accepts_noop,
    )


def observe(batch: RollVectorEnv) -> tuple[Any, dict[str, Any]]:
    """Return the present observations, and no infos, in the form of a reset."""
    return batch._observe(), {}


def check_state(batch: RollVectorEnv, state: Any) -> None:
    """Check that a batch can go back to a snapshot of all its environments.

    Raises
    ------
    InvalidStateError, InvalidOptionError
    """
    batch._check_state(state)
    check_state_rows(state, None, batch.num_envs)


def count_faults(batch: RollVectorEnv) -> NDArray[np.int64]:
    """Return (n,) int64 the faults of each environment; 0 in stacked arrays."""
    return getattr(batch, "fault_counts", np.zeros(batch.num_envs, np.int64))


_FUNCTIONS: dict[str, Any] = {
    one.__name__: one for one in (describe, observe, check_state, count_faults)
}


class Call(NamedTuple):
    """A call of a method of a part's batch, or of a function of this module."""

    name: str
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}  # noqa: RUF012

    def run(self, batch: RollVectorEnv) -> Any:
        """Make the call; an attribute that is no method is the value itself."""
        if self.name in _FUNCTIONS:
            return _FUNCTIONS[self.name](batch, *self.arguments)
        value = getattr(batch, self.name)
        return value(*self.arguments, **self.keywords) if callable(value) else value


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
