"""`UnicodeText`, the space of texts.

Two uses of Gymnasium's spaces need ``max_length`` numbers for a text, and are refused.
Flattening raises a NotImplementedError.  Shared memory raises a CustomSpaceError, to
which `AsyncVectorEnv` adds that ``shared_memory=False`` works.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from gymnasium.error import CustomSpaceError
from gymnasium.spaces import Space, Text, Tuple
from gymnasium.spaces.utils import flatten_space, is_space_dtype_shape_equiv
from gymnasium.vector.utils import (
    batch_differing_spaces,
    batch_space,
    create_shared_memory,
)

__all__ = ["UnicodeText"]

# For prompts and answers of models: a million characters.
MAX_TEXT = 1 << 20
_SAMPLE_CHARACTERS = "abcdefghijklmnopqrstuvwxyz "
# Samples are shorter than `MAX_TEXT`.
_SAMPLE_LENGTH = 256


@functools.cache
def _all_languages() -> str:
    """Return the Basic Multilingual Plane without surrogates, and emoji."""
    codes = (*range(0xD800), *range(0xE000, 0x10000), *range(0x1F000, 0x1FB00))
    return "".join(map(chr, codes))


@functools.lru_cache(maxsize=64)
def _template(max_length: int, min_length: int) -> Text:
    return Text(max_length, min_length=min_length, charset=_SAMPLE_CHARACTERS)


class UnicodeText(Text):
    """Strings of any Unicode characters with a length between two bounds.

    Gymnasium's `Text` holds a list of allowed characters, by default without space,
    newline and √, and copies it with every copy.  This space has no list: it accepts
    the texts of environments, and batches of it are cheap.

    Parameters
    ----------
    max_length : int
        Largest length, in characters.
    min_length : int
        Smallest length.
    seed : int, numpy.random.Generator or None
    examples : sequence of str
        Texts for `sample` to choose from, if random letters mean nothing to the
        environment.  Empty: random letters.
    """

    def __init__(
        self,
        max_length: int,
        *,
        min_length: int = 0,
        seed: int | np.random.Generator | None = None,
        examples: Sequence[str] = (),
    ) -> None:
        # The tables of characters of the base class are constant, and shared.
        self.__dict__.update(_template(max_length, min_length).__dict__)
        if seed is not None:
            Space.__init__(self, dtype=str, seed=seed)
        self.examples = tuple(examples)

    @property
    def characters(self) -> str:
        """The characters of all languages and emoji, for programs that need a list.

        Such as Minari.  The space contains texts of other characters as well.
        """
        return _all_languages()

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return a random string; see `gymnasium.spaces.Text.sample`."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        if self.examples:
            return self.examples[int(self.np_random.integers(len(self.examples)))]
        longest = min(self.max_length, max(self.min_length, _SAMPLE_LENGTH))
        length = int(self.np_random.integers(self.min_length, longest + 1))
        return super().sample((length, None))

    def contains(self, x: Any) -> bool:
        """Return True if x is a string with a length within the bounds."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"UnicodeText({self.min_length}, {self.max_length})"

    def __eq__(self, other: object, /) -> bool:
        return (
            isinstance(other, UnicodeText)
            and self.min_length == other.min_length
            and self.max_length == other.max_length
        )

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        # Every process can make the tables of characters.  Their order differs between
        # processes, and would change the bytes of a snapshot.
        state = self.__dict__.items()
        return {name: value for name, value in state if not name.startswith("_char_")}

    def __setstate__(self, state: Any) -> None:
        bounds = state["max_length"], state["min_length"]
        self.__dict__.update(_template(*bounds).__dict__)
        self.__dict__.update(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> UnicodeText:
        new = _copy_without_generator(self)
        new._np_random = copy.deepcopy(self._np_random, memo)
        return new


def _copy_without_generator(space: UnicodeText) -> UnicodeText:
    """Return a copy without a generator; everything else is constant, and shared."""
    new = object.__new__(UnicodeText)
    new.__dict__.update(space.__dict__)
    new._np_random = None  # type: ignore[assignment]
    return new


@batch_space.register(UnicodeText)
def _batch_unicode_text(space: UnicodeText, n: int = 1) -> Tuple[Any]:
    """Return a Tuple of n copies; they have generators if the space has one."""
    batch: Tuple[Any] = Tuple([_copy_without_generator(space) for _ in range(n)])
    if space._np_random is not None:
        # As Gymnasium's batches of `Text`: from the generator, which stays as it is.
        batch._np_random = copy.deepcopy(space.np_random)
        seeds = copy.deepcopy(space.np_random).integers(0, int(1e8), n)
        batch.seed(seeds.tolist())
    return batch


# Gymnasium asks for the class itself, and not for one that it extends.
_batch_texts = batch_differing_spaces.dispatch(Text)
batch_differing_spaces.register(UnicodeText, _batch_texts)


@is_space_dtype_shape_equiv.register(UnicodeText)
def _is_like_unicode_text(space_1: UnicodeText, space_2: Any) -> bool:  # noqa: ARG001
    """Return whether the other space is one of these: texts of all lengths batch."""
    return isinstance(space_2, UnicodeText)


@create_shared_memory.register(UnicodeText)
def _refuse_shared_memory(space: UnicodeText, *_: Any, **__: Any) -> NoReturn:
    message = f"{space} has no shared memory: pass shared_memory=False"
    raise CustomSpaceError(message)


@flatten_space.register(UnicodeText)
def _refuse_to_flatten(space: UnicodeText) -> NoReturn:
    message = f"{space} cannot be flattened"
    raise NotImplementedError(message)
