"""Parser, number check and exact evaluator of Countdown answers.

No text is run as code.  The grammar, over ASCII bytes::

    expression := term (('+' | '-') term)*
    term       := factor (('*' | '/') factor)*
    factor     := INT | '(' expression ')'
    INT        := '0' | [1-9][0-9]*

Spaces, tabs, newlines and carriage returns may stand between tokens.  With unary minus
allowed, a factor may also be ``'-'`` and one of the two above.  The parser reads an
answer once, from left to right, and writes it in postfix form; the first error decides
the code.  There is no recursion: `MAX_TOKENS`, `MAX_DEPTH` and `MAX_DIGITS` are checked
before anything is written.

Values are fractions of int64.  They are exact if the product of the numbers (a 0 counts
as 1) times 2 to the power of their count less one is below 2**63: by induction over the
four operations, no numerator or denominator exceeds it.
"""

import numpy as np

from .._jit import kernel

# Grades of an answer; `roll_vec.envs.countdown.grading.REASONS` has the words.  They
# are in order: up to `WRONG_NUMBERS` the answer is an expression, up to
# `DIVISION_BY_ZERO` one of the right numbers.
CORRECT, WRONG_VALUE, DIVISION_BY_ZERO, WRONG_NUMBERS = range(4)
EMPTY, TOO_LONG, TOO_MANY_TOKENS, TOO_DEEP = range(4, 8)
BAD_CHARACTER, BAD_NUMBER, FORBIDDEN_OPERATOR, SYNTAX = range(8, 12)

# Operators.  A reversed one has its right operand first: an answer never has it, but
# `targets` combines two values in both orders.
ADD, SUBTRACT, SUBTRACT_REVERSED, MULTIPLY, DIVIDE, DIVIDE_REVERSED, NEGATE = range(7)
NUM_BINARY_OPERATORS = 6
_OPENING = 7
# `_precedence` divides by three.
assert {ADD // 3, SUBTRACT // 3} == {0}
assert {MULTIPLY // 3, DIVIDE // 3} == {1}
assert NEGATE // 3 == 2

# Flags: ``1 << operator`` for each operator that is allowed (`NEGATE`: unary minus),
# and whether numbers may be left out.
ANY_NUMBERS = 1 << 7

# Limits of an answer: numbers, operators and parentheses; parentheses within
# parentheses; digits of a number.
MAX_TOKENS, MAX_DEPTH, MAX_DIGITS = 32, 16, 9
# An expression of n numbers has 2 n - 1 tokens; a task has no more numbers either.
MAX_OPERANDS = MAX_TOKENS // 2

# A workspace is one row of int64: flags, the task (target, how many numbers, the
# numbers), the answer in postfix form and a stack.  One array costs a call less than
# ten, and stays in the cache with thousands of environments.
FLAGS, TARGET, NUM_NUMBERS, POSTFIX_LENGTH, NUMBERS_OFFSET = range(5)
_POSTFIX = NUMBERS_OFFSET + MAX_OPERANDS
_STACK = _POSTFIX + MAX_TOKENS
# The stack holds operators first, then a fraction for every second token.
_WORKSPACE_SIZE = _STACK + MAX_TOKENS + 2

NOT_EVALUATED = -1
_LARGEST = (1 << 63) - 1
_WHITE_SPACE = ord(" "), ord("\n"), ord("\r"), ord("\t")
_0, _9, _OPEN, _CLOSE = ord("0"), ord("9"), ord("("), ord(")")
_OPERATOR_OF = np.full(256, -1)
_OPERATOR_OF[[ord("+"), ord("-"), ord("*"), ord("/")]] = ADD, SUBTRACT, MULTIPLY, DIVIDE


def make_workspace(flags):
    """Return an int64 workspace for answers with some flags, without a task."""
    work = np.zeros(_WORKSPACE_SIZE, np.int64)
    work[FLAGS] = flags
    return work


@kernel
def _precedence(operator):
    """Return 0 for + and -, 1 for * and /, 2 for unary minus."""
    return operator // 3


@kernel
def _parse(text, work):
    """Write an answer as postfix: a number is itself, an operator is ``~operator``.

    Parameters
    ----------
    text : bytes
    work : (w,) int64, written

    Returns
    -------
    int
        `CORRECT` for an expression, otherwise the code of the first error.
    """
    flags = work[FLAGS]
    size, length = len(text), 0
    num_tokens, depth, stack_size = 0, 0, 0
    expects_operand, may_negate = True, True
    i = 0
    while i < size:
        character = text[i]
        i += 1
        if character in _WHITE_SPACE:
            continue
        operator = -1
        value = 0
        if _0 <= character <= _9:
            value = np.int64(character) - _0
            num_digits = 1
            while i < size and _0 <= text[i] <= _9:
                num_digits += 1
                if value == 0 or num_digits > MAX_DIGITS:
                    return BAD_NUMBER
                value = value * 10 + (np.int64(text[i]) - _0)
                i += 1
        elif character != _OPEN and character != _CLOSE:
            operator = _OPERATOR_OF[character]
            if operator < 0:
                return BAD_CHARACTER
        num_tokens += 1
        if num_tokens > MAX_TOKENS:
            return TOO_MANY_TOKENS
        if character == _OPEN:
            if not expects_operand:
                return SYNTAX
            depth += 1
            if depth > MAX_DEPTH:
                return TOO_DEEP
            work[_STACK + stack_size] = _OPENING
            stack_size += 1
            may_negate = True
        elif character == _CLOSE:
            if expects_operand or depth == 0:
                return SYNTAX
            depth -= 1
            while work[_STACK + stack_size - 1] != _OPENING:
                stack_size -= 1
                work[_POSTFIX + length] = ~work[_STACK + stack_size]
                length += 1
            stack_size -= 1
        elif operator < 0:
            if not expects_operand:
                return SYNTAX
            work[_POSTFIX + length] = value
            length += 1
            expects_operand = False
        elif expects_operand:
            if operator != SUBTRACT or not may_negate or not flags & (1 << NEGATE):
                return SYNTAX
            work[_STACK + stack_size] = NEGATE
            stack_size += 1
            may_negate = False
        else:
            if not flags & (1 << operator):
                return FORBIDDEN_OPERATOR
            while stack_size > 0:
                top = work[_STACK + stack_size - 1]
                if top == _OPENING or _precedence(top) < _precedence(operator):
                    break
                stack_size -= 1
                work[_POSTFIX + length] = ~top
                length += 1
            work[_STACK + stack_size] = operator
            stack_size += 1
            expects_operand, may_negate = True, True
    if num_tokens == 0:
        return EMPTY
    if expects_operand or depth > 0:
        return SYNTAX
    while stack_size > 0:
        stack_size -= 1
        work[_POSTFIX + length] = ~work[_STACK + stack_size]
        length += 1
    work[POSTFIX_LENGTH] = length
    return CORRECT


@kernel
def _uses_the_numbers(work):
    """Return whether the answer uses the numbers of the task.

    Each number may be used once, and must be without `ANY_NUMBERS`.  The task's numbers
    are put into the order in which the answer has them.
    """
    num_numbers = work[NUM_NUMBERS]
    num_used = 0
    for i in range(_POSTFIX, _POSTFIX + work[POSTFIX_LENGTH]):
        value = work[i]
        if value >= 0:
            j = num_used
            while j < num_numbers and work[NUMBERS_OFFSET + j] != value:
                j += 1
            if j >= num_numbers:
                return False
            work[NUMBERS_OFFSET + j] = work[NUMBERS_OFFSET + num_used]
            work[NUMBERS_OFFSET + num_used] = value
            num_used += 1
    return num_used == num_numbers or work[FLAGS] & ANY_NUMBERS != 0


@kernel
def _is_exact(work):
    """Return whether int64 is exact for the answer."""
    bound = 0
    for i in range(_POSTFIX, _POSTFIX + work[POSTFIX_LENGTH]):
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
def combine(operator, signed, x, x_den, y, y_den):
    """Return x and y combined, as numerator and denominator.

    The denominator is 0 if there is no value, and, without ``signed``, for a negative
    value and for the second of two equal zeros.
    """
    if operator == ADD:
        return x * y_den + y * x_den, x_den * y_den
    if operator == SUBTRACT:
        value = x * y_den - y * x_den
        return value, (x_den * y_den if signed or value >= 0 else 0)
    if operator == SUBTRACT_REVERSED:
        value = y * x_den - x * y_den
        return value, (x_den * y_den if signed or value > 0 else 0)
    if operator == MULTIPLY:
        return x * y, x_den * y_den
    if operator == DIVIDE:
        if y < 0:
            return -x * y_den, -x_den * y
        return x * y_den, x_den * y
    if x < 0:
        return -y * x_den, -y_den * x
    return y * x_den, y_den * x


@kernel
def _evaluate(work):
    """Return numerator and denominator of the answer, not in lowest terms.

    The denominator is above 0; it is 0 if something is divided by 0.
    """
    stack = _STACK
    for i in range(_POSTFIX, _POSTFIX + work[POSTFIX_LENGTH]):
        if work[i] >= 0:
            work[stack], work[stack + 1] = work[i], 1
            stack += 2
            continue
        operator = ~work[i]
        if operator == NEGATE:
            work[stack - 2] = -work[stack - 2]
            continue
        stack -= 2
        x, x_den = work[stack - 2], work[stack - 1]
        y, y_den = work[stack], work[stack + 1]
        x, x_den = combine(operator, True, x, x_den, y, y_den)
        if x_den == 0:
            return 0, 0
        work[stack - 2], work[stack - 1] = x, x_den
    return work[stack - 2], work[stack - 1]


@kernel
def grade_answer(text, work):
    """Grade one answer.

    Parameters
    ----------
    text : bytes
        The answer, no longer than the caller allows.
    work : (w,) int64, updated
        See `make_workspace`; the task is at `TARGET`, `NUM_NUMBERS`, `NUMBERS_OFFSET`.

    Returns
    -------
    code : int
        `CORRECT`, `WRONG_VALUE`, ...
    numerator, denominator : int
        The value.  The denominator is 0 if there is none.  It is `NOT_EVALUATED` if
        int64 would not be exact: the caller evaluates the postfix form by other means,
        and the code, `WRONG_VALUE` or `WRONG_NUMBERS`, says nothing of the value.
    """
    code = _parse(text, work)
    if code != CORRECT:
        return code, 0, 0
    if not _uses_the_numbers(work):
        code = WRONG_NUMBERS
    if not _is_exact(work):
        return (WRONG_VALUE if code == CORRECT else code), 0, NOT_EVALUATED
    numerator, denominator = _evaluate(work)
    if code == CORRECT:
        if denominator == 0:
            code = DIVISION_BY_ZERO
        elif numerator % denominator != 0 or numerator // denominator != work[TARGET]:
            code = WRONG_VALUE
    return code, numerator, denominator


def read_postfix(work):
    """Return the last answer in postfix form, a list of int; see `_parse`."""
    return work[_POSTFIX : _POSTFIX + int(work[POSTFIX_LENGTH])].tolist()
