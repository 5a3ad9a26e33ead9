"""Arithmetic that a model wrote: read, counted and evaluated, never run as code.

The grammar, over ASCII bytes::

    expression := term (('+' | '-') term)*
    term       := factor (('*' | '/') factor)*
    factor     := INT | '(' expression ')'
    INT        := '0' | [1-9][0-9]*

with spaces, tabs, newlines and carriage returns between tokens.  With `UNARY_MINUS` a
factor may also be ``'-'`` and one of the two above.  An answer is read once, from left
to right, into postfix form; what is wrong first decides the code.  There is no
recursion, and limits on tokens, digits and depth are checked before anything is
written.

Values are fractions of int64, which are exact where the product of the numbers (those
below 1 counted as 1) times 2 to the power of their count less one is below 2**63:
numerators and denominators never exceed it, by induction over the four operations.
"""

import numpy as np

from .._jit import kernel

# What became of an answer; `roll_vec.envs.countdown.answers.REASONS` has the words.
CORRECT, WRONG_VALUE, DIVISION_BY_ZERO, WRONG_NUMBERS = range(4)
EMPTY, TOO_LONG, TOO_MANY_TOKENS, TOO_DEEP = range(4, 8)
BAD_CHARACTER, BAD_NUMBER, FORBIDDEN_OPERATOR, SYNTAX = range(8, 12)

# A workspace is one row of int64: these settings, the task (target, how many numbers,
# the numbers), the postfix form and a stack.
MAX_TOKENS, MAX_DEPTH, MAX_DIGITS, FLAGS, POSTFIX, LENGTH, TARGET, COUNT = range(8)
NUMBERS = 8

# Flags: the allowed operators, a minus before a factor, numbers may be left out.
PLUS, MINUS, TIMES, DIVIDED = 1, 2, 4, 8
UNARY_MINUS, ANY_NUMBERS = 16, 32

# Codes in postfix form; anything from 0 on is a number.
ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE = -1, -2, -3, -4, -5
_PARENTHESIS = -6

NOT_EVALUATED = -1
_LARGEST = (1 << 63) - 1


def make_workspace(max_tokens, max_depth, max_digits, flags, num_numbers):
    """Return an int64 workspace for tasks of at most ``num_numbers`` numbers.

    Parameters
    ----------
    max_tokens, max_depth : int
    max_digits : int
        At most 18.
    flags : int
    num_numbers : int
    """
    # On the stack lie operators, later a fraction for every second token.
    work = np.zeros(NUMBERS + num_numbers + 2 * max_tokens + 2, np.int64)
    work[MAX_TOKENS], work[MAX_DEPTH] = max_tokens, max_depth
    work[MAX_DIGITS], work[FLAGS] = max_digits, flags
    work[POSTFIX] = NUMBERS + num_numbers
    return work


@kernel
def _precedence(code):
    """Return 1 for + and -, 2 for * and /, 3 for the minus before a factor."""
    return (1 - code) >> 1


@kernel
def _parse(text, work):
    """Write the postfix form of an answer.

    Parameters
    ----------
    text : bytes
    work : (w,) int64, written

    Returns
    -------
    int
        `CORRECT` for an expression, otherwise the code of what is wrong first.
    """
    max_tokens, flags = work[MAX_TOKENS], work[FLAGS]
    postfix = work[POSTFIX]
    stack = postfix + max_tokens
    size, length = len(text), 0
    tokens, depth, stacked = 0, 0, 0
    wants_factor, wants_sign = True, True
    i = 0
    while i < size:
        character = text[i]
        i += 1
        if character == 32 or character == 10 or character == 13 or character == 9:
            continue
        code = 0
        value = 0
        if 48 <= character <= 57:
            value = np.int64(character) - 48
            digits = 1
            while i < size and 48 <= text[i] <= 57:
                digits += 1
                if value == 0 or digits > work[MAX_DIGITS]:
                    return BAD_NUMBER
                value = value * 10 + (np.int64(text[i]) - 48)
                i += 1
        elif character == 43:
            code = ADD
        elif character == 45:
            code = SUBTRACT
        elif character == 42:
            code = MULTIPLY
        elif character == 47:
            code = DIVIDE
        elif character != 40 and character != 41:
            return BAD_CHARACTER
        tokens += 1
        if tokens > max_tokens:
            return TOO_MANY_TOKENS
        if character == 40:
            if not wants_factor:
                return SYNTAX
            depth += 1
            if depth > work[MAX_DEPTH]:
                return TOO_DEEP
            work[stack + stacked] = _PARENTHESIS
            stacked += 1
            wants_sign = True
        elif character == 41:
            if wants_factor or depth == 0:
                return SYNTAX
            depth -= 1
            while work[stack + stacked - 1] != _PARENTHESIS:
                stacked -= 1
                work[postfix + length] = work[stack + stacked]
                length += 1
            stacked -= 1
        elif code == 0:
            if not wants_factor:
                return SYNTAX
            work[postfix + length] = value
            length += 1
            wants_factor = False
        elif wants_factor:
            if code != SUBTRACT or not wants_sign or not flags & UNARY_MINUS:
                return SYNTAX
            work[stack + stacked] = NEGATE
            stacked += 1
            wants_sign = False
        else:
            if not flags & (1 << (-1 - code)):
                return FORBIDDEN_OPERATOR
            while stacked > 0:
                top = work[stack + stacked - 1]
                if top == _PARENTHESIS or _precedence(top) < _precedence(code):
                    break
                stacked -= 1
                work[postfix + length] = top
                length += 1
            work[stack + stacked] = code
            stacked += 1
            wants_factor, wants_sign = True, True
    if tokens == 0:
        return EMPTY
    if wants_factor or depth > 0:
        return SYNTAX
    while stacked > 0:
        stacked -= 1
        work[postfix + length] = work[stack + stacked]
        length += 1
    work[LENGTH] = length
    return CORRECT


@kernel
def _has_the_numbers(work):
    """Return whether the numbers of the answer are those of the task.

    Each number of the task is for one use; with `ANY_NUMBERS` some may be left.  The
    task's numbers are put into the order in which the answer has them.
    """
    count = work[COUNT]
    used = 0
    for i in range(work[POSTFIX], work[POSTFIX] + work[LENGTH]):
        value = work[i]
        if value >= 0:
            j = used
            while j < count and work[NUMBERS + j] != value:
                j += 1
            if j >= count:
                return False
            work[NUMBERS + j] = work[NUMBERS + used]
            work[NUMBERS + used] = value
            used += 1
    return used == count or work[FLAGS] & ANY_NUMBERS != 0


@kernel
def _fits(work):
    """Return whether int64 is exact for the answer."""
    bound = 0
    for i in range(work[POSTFIX], work[POSTFIX] + work[LENGTH]):
        value = work[i]
        if value >= 0:
            value = max(value, 1)
            if bound == 0:
                bound = value
            elif bound > _LARGEST // (2 * value):
                return False
            else:
                bound *= 2 * value
    return True


@kernel
def _evaluate(work):
    """Return numerator and denominator of the answer, not in lowest terms.

    The denominator is above 0; it is 0 where something is divided by 0.
    """
    stack = work[POSTFIX] + work[MAX_TOKENS]
    for i in range(work[POSTFIX], work[POSTFIX] + work[LENGTH]):
        code = work[i]
        if code >= 0:
            work[stack], work[stack + 1] = code, 1
            stack += 2
            continue
        if code == NEGATE:
            work[stack - 2] = -work[stack - 2]
            continue
        stack -= 2
        left, left_den = work[stack - 2], work[stack - 1]
        right, right_den = work[stack], work[stack + 1]
        if code == ADD:
            left = left * right_den + right * left_den
            left_den *= right_den
        elif code == SUBTRACT:
            left = left * right_den - right * left_den
            left_den *= right_den
        elif code == MULTIPLY:
            left *= right
            left_den *= right_den
        elif right == 0:
            return 0, 0
        elif right > 0:
            left *= right_den
            left_den *= right
        else:
            left *= -right_den
            left_den *= -right
        work[stack - 2], work[stack - 1] = left, left_den
    return work[stack - 2], work[stack - 1]


@kernel
def judge(text, work):
    """Judge one answer.

    Parameters
    ----------
    text : bytes
        The answer, no longer than its caller allows.
    work : (w,) int64, updated
        See `make_workspace`; `TARGET`, `COUNT` and the numbers are the task.

    Returns
    -------
    code : int
        `CORRECT`, `WRONG_VALUE`, ...
    numerator, denominator : int
        The value; the denominator is 0 where there is none, and `NOT_EVALUATED` where
        int64 would not be exact: the postfix form is then to be evaluated otherwise,
        and the code is `WRONG_NUMBERS` or, still without a look at the value,
        `WRONG_VALUE`.
    """
    code = _parse(text, work)
    if code != CORRECT:
        return code, 0, 0
    if not _has_the_numbers(work):
        code = WRONG_NUMBERS
    if not _fits(work):
        return (WRONG_VALUE if code == CORRECT else code), 0, NOT_EVALUATED
    numerator, denominator = _evaluate(work)
    if code == CORRECT:
        if denominator == 0:
            code = DIVISION_BY_ZERO
        elif numerator % denominator != 0 or numerator // denominator != work[TARGET]:
            code = WRONG_VALUE
    return code, numerator, denominator


def read_postfix(work):
    """Return the postfix form of the answer that was read last, a list of int."""
    start = int(work[POSTFIX])
    return work[start : start + int(work[LENGTH])].tolist()
