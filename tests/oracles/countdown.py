"""Countdown stated plainly: the grammar by recursive descent, all values by pairs.

Values are `fractions.Fraction`.  The first fault from left to right decides the reason
of an answer; within a token its own form comes first, then the number of tokens, then
its place.
"""

import re
from fractions import Fraction
from itertools import combinations

MAX_CHARS, MAX_TOKENS, MAX_DEPTH, MAX_DIGITS = 256, 32, 16, 9
_TOKEN = re.compile(r"[ \t\n\r]*(?:([0-9]+)|([^ \t\n\r]))")


class Fault(Exception):
    """An answer that is no expression; the argument is the reason."""


def _tokens(text):
    """Yield numbers as int, the rest as characters, and None for ever at the end."""
    position = count = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        number, character = match.groups()
        if number is not None:
            if len(number) > MAX_DIGITS or (number[0] == "0" and number != "0"):
                raise Fault("bad_number")
        elif character not in "+-*/()":
            raise Fault("bad_character")
        count += 1
        if count > MAX_TOKENS:
            raise Fault("too_many_tokens")
        yield character if number is None else int(number)
    if count == 0:
        raise Fault("empty")
    while True:
        yield None


class _Parser:
    def __init__(self, text, operators, unary_minus):
        self.tokens = _tokens(text)
        self.token = next(self.tokens)
        self.operators, self.unary_minus = operators, unary_minus
        self.leaves = []
        self.defined = True

    def advance(self):
        token, self.token = self.token, next(self.tokens)
        return token

    def whole(self):
        value = self.expression(0)
        if self.token is not None:
            raise Fault("syntax")
        return value

    def operator(self, choices):
        if self.token not in choices:
            return None
        if self.token not in self.operators:
            raise Fault("forbidden_operator")
        return self.advance()

    def expression(self, depth):
        value = self.term(depth)
        while operator := self.operator(("+", "-")):
            right = self.term(depth)
            value = value + right if operator == "+" else value - right
        return value

    def term(self, depth):
        value = self.factor(depth)
        while operator := self.operator(("*", "/")):
            right = self.factor(depth)
            if operator == "*":
                value *= right
            elif right == 0:
                self.defined, value = False, Fraction(1)
            else:
                value /= right
        return value

    def factor(self, depth):
        negative = self.unary_minus and self.token == "-"
        if negative:
            self.advance()
        if isinstance(self.token, int):
            self.leaves.append(self.token)
            value = Fraction(self.advance())
        elif self.token == "(":
            if depth == MAX_DEPTH:
                raise Fault("too_deep")
            self.advance()
            value = self.expression(depth + 1)
            if self.token != ")":
                raise Fault("syntax")
            self.advance()
        else:
            raise Fault("syntax")
        return -value if negative else value


def grade(text, nums, target, **limits):
    """Return the reason and the value (None where there is none) of an answer."""
    reason, value = grade_numbers(text, nums, **limits)
    return reason or ("correct" if value == target else "wrong_value"), value


def grade_numbers(
    text, nums, *, operators="+-*/", any_numbers=False, unary_minus=False
):
    """Return the reason and the value of an answer; no reason: the target decides."""
    if len(text) > MAX_CHARS:
        return "too_long", None
    try:
        parser = _Parser(text, operators, unary_minus)
        value = parser.whole()
    except Fault as fault:
        return fault.args[0], None
    if not parser.defined:
        value = None
    unused = list(nums)
    right_numbers = True
    for leaf in parser.leaves:
        if leaf in unused:
            unused.remove(leaf)
        else:
            right_numbers = False
    if not right_numbers or (unused and not any_numbers):
        return "wrong_numbers", value
    if value is None:
        return "division_by_zero", None
    return None, value


def all_values(nums, operators="+-*/"):
    """Return every value of the numbers, by taking two at a time in any way."""
    totals = set()

    def take(values):
        if len(values) == 1:
            totals.add(values[0])
            return
        for i, j in combinations(range(len(values)), 2):
            others = [v for k, v in enumerate(values) if k not in (i, j)]
            x, y = values[i], values[j]
            results = set()
            if "+" in operators:
                results.add(x + y)
            if "-" in operators:
                results |= {x - y, y - x}
            if "*" in operators:
                results.add(x * y)
            if "/" in operators:
                results |= {a / b for a, b in ((x, y), (y, x)) if b != 0}
            for result in results:
                take([*others, result])

    take([Fraction(number) for number in nums])
    return totals


def all_integers(nums, operators="+-*/"):
    """Return the integers among `all_values`, ascending."""
    values = all_values(nums, operators)
    return sorted(int(value) for value in values if value.denominator == 1)


def fewest_operations(nums, target, operators="+-*/", numbers_rule="all"):
    """Return the operations of the shortest solution of a task; None without one."""
    least = 1 if numbers_rule == "any" else len(nums)
    for size in range(least, len(nums) + 1):
        for part in combinations(nums, size):
            if target in all_values(part, operators):
                return size - 1
    return None


def random_expression(rng, nums, operators="+-*/", depth=0):
    """Return an expression that uses the numbers in their order, with white space."""

    def gap():
        return " " * (rng.random() < 0.3)

    if len(nums) == 1:
        text = str(nums[0])
    else:
        cut = rng.randrange(1, len(nums))
        first = random_expression(rng, nums[:cut], operators, depth + 1)
        second = random_expression(rng, nums[cut:], operators, depth + 1)
        text = f"{first}{gap()}{rng.choice(operators)}{gap()}{second}"
        if rng.random() < 0.5:
            text = f"({gap()}{text}{gap()})"
    if rng.random() < 0.05:
        text = f"({text})"
    return text
