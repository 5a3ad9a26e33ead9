"""Compile a regular expression to a program for searches in linear time.

Python's own parser reads the expression, and Python's own `re` says which characters a
class has, so that a program means what the expression means.  What has no program is
left to `re`: look-around, back references, conditions, atomic groups, flags of a part,
repetitions of what may be empty, and expressions of more than 512 instructions or 128
branches.
Groups within repetitions are those of Python 3.11 and later, in older ones too.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.kernels import regex_search as kernels

__all__ = ["PatternProgram", "program_of", "repeats"]

# Repetitions with bounds are written out.
_MAX_INSTRUCTIONS = 512
# Each takes 8 bytes a character while a text is searched.
_MAX_BRANCHES = 128
# A mask has 64 bits: two that all programs share, and one for "known".
_FIRST_CLASS, _MAX_CLASSES = 2, 61
_KNOWN = np.uint64(1 << 63)
_NUM_CHARACTERS = sys.maxunicode + 1

_PLACES = {
    "AT_BEGINNING_STRING": kernels.TEXT_START,
    "AT_END_STRING": kernels.TEXT_END,
    "AT_BOUNDARY": kernels.WORD_EDGE,
}
# Those that depend on a flag: without re.MULTILINE, and with it.
_LINE_PLACES = {
    "AT_BEGINNING": (kernels.TEXT_START, kernels.LINE_START),
    "AT_END": (kernels.LAST_LINE_END, kernels.LINE_END),
}
_CHARACTERS = ("LITERAL", "NOT_LITERAL", "IN", "ANY")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")


def _part_of_re(name: str, old_name: str) -> Any:
    """Return a module of Python's, which had another name before 3.11."""
    try:
        return importlib.import_module(f"re.{name}")
    except ImportError:
        return importlib.import_module(old_name)


def _parse(pattern: re.Pattern[str]) -> Any:
    return _part_of_re("_parser", "sre_parse").parse(pattern.pattern, pattern.flags)


def repeats(pattern: re.Pattern[str]) -> bool:
    """Return whether anything in an expression is repeated."""

    def look(node: Any) -> bool:
        if isinstance(node, tuple) and len(node) == 2 and "REPEAT" in str(node[0]):
            return int(node[1][1]) > 1 or look(node[1][2])
        if isinstance(node, (str, bytes, int)) or node is None:
            return False
        return any(look(part) for part in node)

    return look(_parse(pattern))


class _UnsupportedError(Exception):
    """Raised for an expression that has no program."""


class PatternProgram:
    """The program of an expression, with the classes of each character.

    Parameters
    ----------
    pattern : re.Pattern
    """

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._tests: list[re.Pattern[str]] = [
            re.compile("\n"),
            re.compile(r"\w", pattern.flags & re.ASCII),
        ]
        self._instructions: list[list[int]] = []
        self._classes: dict[str, int] = {}
        self._compiler = _part_of_re("_compiler", "sre_compile")
        parsed = _parse(pattern)
        self._state, self._flags = parsed.state, parsed.state.flags
        self._emit_all(parsed)
        self._add(kernels.MATCH)
        self._program = np.array(self._instructions, np.int64)
        jumps = np.isin(self._program[:, 0], (kernels.SPLIT, kernels.SAVE))
        self._num_pushes = int(np.count_nonzero(jumps))
        if self._num_pushes > _MAX_BRANCHES:
            raise _UnsupportedError
        del self._state, self._compiler
        # By character: bit b is set if it is in class b; 0 if not looked up yet.
        self._masks = np.zeros(_NUM_CHARACTERS, np.uint64)

    def __reduce__(self) -> tuple[Any, ...]:
        return program_of, (self._pattern,)

    # ------------------------------------------------------------ to a program

    def _add(self, op: int, a: int = 0, b: int = 0) -> list[int]:
        if len(self._instructions) == _MAX_INSTRUCTIONS:
            raise _UnsupportedError
        self._instructions.append([op, a, b])
        return self._instructions[-1]

    def _emit_all(self, nodes: Iterable[Any]) -> None:
        for node in nodes:
            self._emit(node)

    def _emit(self, node: Any) -> None:
        op, argument = node
        name = str(op)
        if name in _CHARACTERS:
            self._add(kernels.CLASS, self._class_of(node))
        elif name == "AT":
            self._add(kernels.ASSERT, self._place_of(str(argument)))
        elif name == "SUBPATTERN":
            self._emit_group(*argument)
        elif name == "BRANCH":
            self._emit_branches(argument[1])
        elif name in _REPEATS:
            self._emit_repeat(*argument, greedy=name == _REPEATS[0])
        else:
            raise _UnsupportedError

    def _class_of(self, node: Any) -> int:
        """Return the bit of a class of characters."""
        key = repr(node)
        bit = self._classes.get(key)
        if bit is None:
            if len(self._classes) == _MAX_CLASSES:
                raise _UnsupportedError
            bit = self._classes[key] = _FIRST_CLASS + len(self._classes)
            single = _part_of_re("_parser", "sre_parse").SubPattern(self._state, [node])
            self._tests.append(self._compiler.compile(single, self._flags))
        return bit

    def _place_of(self, name: str) -> int:
        if name in _LINE_PLACES:
            return _LINE_PLACES[name][bool(self._flags & re.MULTILINE)]
        if name in _PLACES:
            return _PLACES[name]
        raise _UnsupportedError

    def _emit_group(
        self, group: int | None, added: int, removed: int, nodes: Any
    ) -> None:
        if added or removed:
            raise _UnsupportedError
        wanted = group is not None and 2 * group <= kernels.NUM_SLOTS
        slot = 2 * ((group or 1) - 1)
        if wanted:
            self._add(kernels.SAVE, slot)
        self._emit_all(nodes)
        if wanted:
            self._add(kernels.SAVE, slot + 1)

    def _emit_branches(self, branches: list[Any]) -> None:
        jumps = []
        for branch in branches[:-1]:
            split = self._add(kernels.SPLIT, len(self._instructions) + 1)
            self._emit_all(branch)
            jumps.append(self._add(kernels.JUMP))
            split[2] = len(self._instructions)
        self._emit_all(branches[-1])
        for jump in jumps:
            jump[1] = len(self._instructions)

    def _emit_repeat(self, low: int, high: Any, nodes: Any, *, greedy: bool) -> None:
        endless = str(high) == "MAXREPEAT"
        if not nodes.getwidth()[0] or (not endless and high > _MAX_INSTRUCTIONS):
            raise _UnsupportedError
        for _ in range(low):
            self._emit_all(nodes)
        leave, begin = (2, 1) if greedy else (1, 2)
        splits = []
        for _ in range(1 if endless else high - low):
            split = self._add(kernels.SPLIT)
            split[begin] = start = len(self._instructions)
            self._emit_all(nodes)
            if endless:
                self._add(kernels.JUMP, start - 1)
            splits.append(split)
        for split in splits:
            split[leave] = len(self._instructions)

    # ---------------------------------------------------------------- a search

    def search(self, text: str, *, last: bool) -> list[int] | None:
        """Return where groups 1 and 2 of a match begin and end, or None.

        Parameters
        ----------
        text : str
        last : bool
            Find the last match without overlap instead of the first one.

        Returns
        -------
        list of 4 int, or None
            -1 for a group without part in the match.
        """
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        masks = self._masks[codes]
        unknown = codes[masks == 0]
        if len(unknown):
            self._learn(np.unique(unknown))
            masks = self._masks[codes]
        size = len(text) + 1
        visited = np.zeros((len(self._program) * size + 63) // 64, np.uint64)
        stack = np.empty((self._num_pushes * size + 2, 2), np.int32)
        slots = np.empty(kernels.NUM_SLOTS, np.int64)
        places = np.empty(kernels.NUM_SLOTS, np.int64)
        if kernels.search(self._program, masks, last, visited, stack, slots, places):
            ends: list[int] = places.tolist()
            return ends
        return None

    def _learn(self, codes: NDArray[np.uint32]) -> None:
        """Find out which classes have some characters."""
        for code in codes.tolist():
            bits = 0
            for bit, test in enumerate(self._tests):
                bits |= (test.match(chr(code)) is not None) << bit
            self._masks[code] = np.uint64(bits) | _KNOWN


@functools.lru_cache(maxsize=32)
def program_of(pattern: re.Pattern[str]) -> PatternProgram | None:
    """Return the program of an expression, None where it has none.

    Environments with equal expressions share it.
    """
    try:
        return PatternProgram(pattern)
    except (_UnsupportedError, ImportError):
        return None
