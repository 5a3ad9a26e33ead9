"""Compiles a regular expression to a program that searches in linear time.

Python's own parser reads the expression, and Python's own `re` tests the characters of
its classes, so that a program matches what the expression matches.  Some expressions
have no program and are left to `re`: look-around, back references, conditions, atomic
groups, flags of a part, repetitions of what may be empty, and expressions of more than
512 instructions or 128 branches.  Groups within repetitions behave as in Python 3.11,
in older versions too.

`roll_vec.kernels.regex_search` lists the instructions and runs them.
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

# A limit is needed: a{3} becomes three copies of the instructions of a.
_MAX_INSTRUCTIONS = 512
# A search takes 8 bytes for each branch and each character of the text.
_MAX_BRANCHES = 128
# A mask has 64 bits: two that all programs share, and the last one for "classified".
_FIRST_CLASS, _MAX_CLASSES = 2, 61
_IS_CLASSIFIED = np.uint64(1 << 63)
_NUM_CHARACTERS = sys.maxunicode + 1

_ASSERTIONS = {
    "AT_BEGINNING_STRING": kernels.TEXT_START,
    "AT_END_STRING": kernels.TEXT_END,
    "AT_BOUNDARY": kernels.WORD_EDGE,
}
# Assertions that depend on a flag: without re.MULTILINE, and with it.
_LINE_ASSERTIONS = {
    "AT_BEGINNING": (kernels.TEXT_START, kernels.LINE_START),
    "AT_END": (kernels.LAST_LINE_END, kernels.LINE_END),
}
_CHARACTERS = ("LITERAL", "NOT_LITERAL", "IN", "ANY")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")


def _import_re_module(name: str, old_name: str) -> Any:
    """Import a part of `re`, which had another name before Python 3.11."""
    try:
        return importlib.import_module(f"re.{name}")
    except ImportError:
        return importlib.import_module(old_name)


def _parse(pattern: re.Pattern[str]) -> Any:
    return _import_re_module("_parser", "sre_parse").parse(
        pattern.pattern, pattern.flags
    )


def has_repetition(pattern: re.Pattern[str]) -> bool:
    """Return whether any part of an expression may be repeated."""

    def is_repeated(node: Any) -> bool:
        if isinstance(node, tuple) and len(node) == 2 and "REPEAT" in str(node[0]):
            return int(node[1][1]) > 1 or is_repeated(node[1][2])
        if isinstance(node, (str, bytes, int)) or node is None:
            return False
        return any(map(is_repeated, node))

    return is_repeated(_parse(pattern))


class _UnsupportedError(Exception):
    """Raised for an expression without a program."""


class PatternProgram:
    """The program of an expression, and the classes of each character.

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
        self._compiler = _import_re_module("_compiler", "sre_compile")
        nodes = _parse(pattern)
        self._state, self._flags = nodes.state, nodes.state.flags
        self._emit_all(nodes)
        self._add(kernels.MATCH)
        self._program = np.array(self._instructions, np.int64)
        jumps = np.isin(self._program[:, 0], (kernels.SPLIT, kernels.SAVE))
        self._num_pushes = int(np.count_nonzero(jumps))
        if self._num_pushes > _MAX_BRANCHES:
            raise _UnsupportedError
        del self._state, self._compiler
        # By character: bit b is set if it is in class b; 0 if not classified yet.
        self._masks = np.zeros(_NUM_CHARACTERS, np.uint64)

    def __reduce__(self) -> tuple[Any, ...]:
        return compile_program, (self._pattern,)

    # ------------------------------------------------------------- compilation

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
            self._add(kernels.ASSERT, self._assertion_of(str(argument)))
        elif name == "SUBPATTERN":
            self._emit_group(*argument)
        elif name == "BRANCH":
            self._emit_branches(argument[1])
        elif name in _REPEATS:
            self._emit_repeat(*argument, greedy=name == _REPEATS[0])
        else:
            raise _UnsupportedError

    def _class_of(self, node: Any) -> int:
        """Return the bit of a class of characters, a new one if need be."""
        key = repr(node)
        bit = self._classes.get(key)
        if bit is None:
            if len(self._classes) == _MAX_CLASSES:
                raise _UnsupportedError
            bit = self._classes[key] = _FIRST_CLASS + len(self._classes)
            single = _import_re_module("_parser", "sre_parse").SubPattern(
                self._state, [node]
            )
            self._tests.append(self._compiler.compile(single, self._flags))
        return bit

    def _assertion_of(self, name: str) -> int:
        if name in _LINE_ASSERTIONS:
            return _LINE_ASSERTIONS[name][bool(self._flags & re.MULTILINE)]
        if name in _ASSERTIONS:
            return _ASSERTIONS[name]
        raise _UnsupportedError

    def _emit_group(
        self, group: int | None, flags_on: int, flags_off: int, nodes: Any
    ) -> None:
        if flags_on or flags_off:
            raise _UnsupportedError
        has_slots = group is not None and 2 * group <= kernels.NUM_SLOTS
        slot = 2 * ((group or 1) - 1)
        if has_slots:
            self._add(kernels.SAVE, slot)
        self._emit_all(nodes)
        if has_slots:
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

    # ------------------------------------------------------------------ search

    def search(self, text: str, *, last: bool) -> list[int] | None:
        """Return the begins and ends of groups 1 and 2 of a match, or None.

        Parameters
        ----------
        text : str
        last : bool
            Whether to find the last of the matches without overlap, not the first.

        Returns
        -------
        list of 4 int, or None
            -1 for a group that takes no part in the match.
        """
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        masks = self._masks[codes]
        new_codes = codes[masks == 0]
        if len(new_codes):
            self._classify(np.unique(new_codes))
            masks = self._masks[codes]
        size = len(text) + 1
        visited = np.zeros((len(self._program) * size + 63) // 64, np.uint64)
        stack = np.empty((self._num_pushes * size + 2, 2), np.int32)
        slots = np.empty(kernels.NUM_SLOTS, np.int64)
        spans = np.empty(kernels.NUM_SLOTS, np.int64)
        if kernels.search(self._program, masks, last, visited, stack, slots, spans):
            return spans.tolist()
        return None

    def _classify(self, codes: NDArray[np.uint32]) -> None:
        """Write the masks of some characters."""
        for code in codes.tolist():
            bits = 0
            for bit, test in enumerate(self._tests):
                bits |= (test.match(chr(code)) is not None) << bit
            self._masks[code] = np.uint64(bits) | _IS_CLASSIFIED


@functools.lru_cache(maxsize=32)
def compile_program(pattern: re.Pattern[str]) -> PatternProgram | None:
    """Return the program of an expression, shared by all users; None without one."""
    try:
        return PatternProgram(pattern)
    except (_UnsupportedError, ImportError):
        return None
