"""`UnicodeText`, the space of texts, with its versions of Gymnasium's space functions.

Gymnasium's functions for `Text` look up characters in a list, which `UnicodeText` does
not have.  `AsyncVectorEnv` reads shared memory only once, so that decoded texts would
never change.  Here a text in shared memory is a row of uint32, its length and its code
points, and reading returns a view.  A flattened text equals that of a `Text` with all
Unicode characters.
"""

from __future__ import annotations

import copy
import functools
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space, Text, Tuple
from gymnasium.spaces.utils import (
    flatten,
    flatten_space,
    is_space_dtype_shape_equiv,
    unflatten,
)
from gymnasium.vector.utils import (
    batch_differing_spaces,
    batch_space,
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from numpy.typing import NDArray

from roll_vec.errors import shorten

__all__ = ["MAX_TEXT", "SharedTexts", "UnicodeText"]

# For prompts and answers of models: a million characters.
MAX_TEXT = 1 << 20
# Fills a flattened text after its end: the number of Unicode's characters.
NO_CHARACTER = sys.maxunicode + 1
# Texts of models can contain half a surrogate pair.
_ENCODING = ("utf-32-le", "surrogatepass")
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
        # The tables of characters are the same in every process.
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


# Gymnasium dispatches on the type of the first space, and types it as a sequence.
@batch_differing_spaces.register(UnicodeText)
def _batch_differing_texts(  # type: ignore[misc]
    spaces: Sequence[UnicodeText],
) -> Tuple[Any]:
    """Return a Tuple of copies, which have the generators of their spaces."""
    batch: Tuple[Any] = Tuple([copy.deepcopy(space) for space in spaces])
    batch._np_random = copy.deepcopy(spaces[0]._np_random)
    return batch


@is_space_dtype_shape_equiv.register(UnicodeText)
def _is_like_unicode_text(space_1: UnicodeText, space_2: Any) -> bool:  # noqa: ARG001
    """Return whether the other space is one of these: texts of all lengths batch."""
    return isinstance(space_2, UnicodeText)


def _encode(space: UnicodeText, text: Any) -> NDArray[np.uint32]:
    """Return the code points of a text.

    Raises
    ------
    TypeError
        If it is no str.
    ValueError
        If it is longer than the space allows.
    """
    if not isinstance(text, str):
        message = f"expected a str, got {text!r}"
        raise TypeError(message)
    if len(text) > space.max_length:
        message = (
            f"a text of {len(text)} characters is longer than the {space.max_length} "
            f"that its space allows: {shorten(text)}"
        )
        raise ValueError(message)
    return np.frombuffer(text.encode(*_ENCODING), "<u4")


def _decode(codes: NDArray[Any]) -> str:
    return codes.astype("<u4").tobytes().decode(*_ENCODING)


class SharedTexts(Sequence[str]):
    """A view of the present texts of all environments, in shared memory.

    Copies, deep copies and pickles of it are tuples of str.

    Parameters
    ----------
    memory : (n, 1 + max_length) uint32
        Per text, its length and its code points.
    """

    def __init__(self, memory: NDArray[np.uint32]) -> None:
        self._memory = memory

    def __len__(self) -> int:
        return len(self._memory)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(map(self._text, self._memory[index]))
        return self._text(self._memory[index])

    def __iter__(self) -> Iterator[str]:
        return map(self._text, self._memory)

    @staticmethod
    def _text(row: NDArray[np.uint32]) -> str:
        return _decode(row[1 : 1 + int(row[0])])

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (tuple, SharedTexts)) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SharedTexts({list(self)!r})"


@create_shared_memory.register(UnicodeText)
def _create_shared(space: UnicodeText, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array("I", n * (1 + space.max_length))


@read_from_shared_memory.register(UnicodeText)
def _read_shared(space: UnicodeText, shared_memory: Any, n: int = 1) -> SharedTexts:
    memory = np.frombuffer(shared_memory.get_obj(), np.uint32)
    return SharedTexts(memory.reshape(n, 1 + space.max_length))


@write_to_shared_memory.register(UnicodeText)
def _write_shared(
    space: UnicodeText, index: int, value: Any, shared_memory: Any
) -> None:
    codes = _encode(space, value)
    memory = np.frombuffer(shared_memory.get_obj(), np.uint32)
    row = memory.reshape(-1, 1 + space.max_length)[index]
    row[0] = len(codes)
    row[1 : 1 + len(codes)] = codes


@flatten_space.register(UnicodeText)
def _flatten_space(space: UnicodeText) -> Box:
    return Box(0, NO_CHARACTER, (space.max_length,), np.int32)


@flatten.register(UnicodeText)
def _flatten(space: UnicodeText, x: Any) -> NDArray[np.int32]:  # type: ignore[misc]
    codes = _encode(space, x)
    flat = np.full(space.max_length, NO_CHARACTER, np.int32)
    flat[: len(codes)] = codes
    return flat


@unflatten.register(UnicodeText)
def _unflatten(space: UnicodeText, x: Any) -> str:  # type: ignore[misc]  # noqa: ARG001
    codes = np.asarray(x)
    return _decode(codes[codes < NO_CHARACTER])
