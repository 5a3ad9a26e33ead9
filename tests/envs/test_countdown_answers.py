"""Any answer of Countdown is parsed, evaluated and graded as by the oracle."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roll_vec.envs.countdown.grading import REASONS, AnswerGrader, evaluate
from tests.conftest import JIT_OFF
from tests.oracles import countdown as oracle


def grade(text, nums, target, **form):
    """Return the reason and the value that the package finds, as the oracle does."""
    grader = AnswerGrader(len(nums), **form)
    grader.set_task(nums, target)
    return grade_with(grader, text)


def grade_with(grader, text):
    code, numerator, denominator = grader.grade(text)
    assert denominator >= 0
    value = oracle.Fraction(int(numerator), int(denominator)) if denominator else None
    return REASONS[code], value


def check(text, nums, target, **form):
    """Compare with the oracle; return the reason."""
    found = grade(text, nums, target, **form)
    assert found == oracle.grade(text, nums, target, **form), (text, nums, target)
    return found[0]


# The forms that scorers in use accept or run by mistake, and what is right.
ANSWERS = {
    "correct": [
        ("10/3*3", [10, 3, 3], 10),
        ("(" * 15 + "3" + ")" * 15, [3], 3),
        ("8/(3-8/3)", [8, 3, 8, 3], 24),
        ("3-8", [8, 3], -5),
        ("7-8-9*1", [7, 8, 9, 1], -10),
        ("8/4/2", [8, 4, 2], 1),
        ("1/(2-5)*(3-9)", [1, 2, 5, 3, 9], 2),
    ],
    "wrong_value": [
        ("99999999/99999998*7", [99999999, 99999998, 7], 7),
        ("100000+9", [100000, 9], 100008),
        ("7/2", [7, 2], 3),
    ],
    "wrong_numbers": [
        ("3/(8-8)", [3, 8], 1),
        ("3+8", [3, 8, 1], 11),
        ("3+8+8", [3, 8], 19),
        ("3+3", [3, 8], 6),
    ],
    "division_by_zero": [
        ("3/(8-8)", [3, 8, 8], 1),
        ("0/(8-8)", [0, 8, 8], 0),
        ("1/(3-3)*0", [1, 3, 3, 0], 0),
    ],
    "syntax": [
        *((text, [3, 8, 1], 8) for text in ("2**3*1", "8//3*1", "9**9**9", "3 8")),
        *((text, [3], 3) for text in ("3*", "*3", "(3", "3)", "()", "(3)(8)", "+3")),
        *((text, [3], 3) for text in ("().__class__.__base__", "-3", "3--3")),
    ],
    "bad_character": [
        *((text, [7, 1], 8) for text in ("7.0+1", "7!+1", "1e1-2", "0x1", "1_0+2")),
        *((text, [9, 5], 8) for text in ("sqrt(9)+5", "8 if 1 else 2", "9-1 # 5")),
        *((text, [3], 3) for text in ("__import__('os')", "\f3", "3\0", "3=3")),
        *((text, [3], 3) for text in ("\N{ARABIC-INDIC DIGIT THREE}", "\ud800")),
    ],
    "bad_number": [
        ("07+1", [7, 1], 8),
        ("00", [0], 0),
        ("1234567890", [1234567890], 1234567890),
    ],
    "too_long": [("(" * 100_000, [3], 3), ("9" * (1 << 20), [3], 3)],
    "too_deep": [("(" * 17 + "3" + ")" * 17, [3], 3), ("(" * 17, [3], 3)],
    "too_many_tokens": [
        ("(" * 16 + "3" + ")" * 16, [3], 3),
        ("1+" * 16 + "1", [1] * 17, 17),
    ],
    "empty": [("", [3], 3), (" \t\r\n", [3], 3)],
}


@pytest.mark.parametrize("reason", ANSWERS)
def test_answers_have_their_reasons(reason):
    for answer in ANSWERS[reason]:
        assert check(*answer) == reason, answer


MINUS, SIGNS = {"unary_minus": True}, {"unicode_operators": True}
AT_END, SUMS = {"trailing_target": True}, {"operators": "+-"}
FEWER = {"any_numbers": True}


@pytest.mark.parametrize(
    ("text", "nums", "target", "form", "reason"),
    [
        ("-3+11", [3, 11], 8, MINUS, "correct"),
        ("2*-(1-4)", [2, 1, 4], 6, MINUS, "correct"),
        ("-(3)/-6*2", [3, 6, 2], 1, MINUS, "correct"),
        ("2--3", [2, 3], 5, MINUS, "correct"),
        ("6/-(2+1)", [6, 2, 1], -2, MINUS, "correct"),
        *((t, [3, 2], 5, MINUS, "syntax") for t in ("--5+3", "2---3", "+3", "(-)3")),
        *((t, [3, 2], 5, MINUS, "syntax") for t in ("-", "-)")),
        ("3\N{MULTIPLICATION SIGN}8", [3, 8], 24, SIGNS, "correct"),
        ("48\N{DIVISION SIGN}2*1", [3, 8], 24, SIGNS, "wrong_numbers"),
        ("8 \N{MINUS SIGN} 3", [3, 8], 24, SIGNS, "wrong_value"),
        ("3\N{MULTIPLICATION SIGN}8", [3, 8], 24, {}, "bad_character"),
        ("3*8=24", [3, 8], 24, AT_END, "correct"),
        ("3*8 =\n24 ", [3, 8], 24, AT_END, "correct"),
        ("3+8 = 24", [3, 8], 24, AT_END, "wrong_value"),
        ("3*8", [3, 8], 24, AT_END, "correct"),
        *(
            (f"3*8={right}", [3, 8], 24, AT_END, "bad_character")
            for right in ("25", "024", "24=24", "")
        ),
        ("24=3*8", [3, 8], 24, AT_END, "bad_character"),
        ("=24", [3, 8], 24, AT_END, "empty"),
        ("3-8=-5", [3, 8], -5, AT_END, "correct"),
        ("3*8", [3, 8], 24, SUMS, "forbidden_operator"),
        ("*8", [3, 8], 24, SUMS, "syntax"),
        ("3+(8*", [3, 8], 24, SUMS, "forbidden_operator"),
        ("3*8", [1, 3, 8], 24, FEWER, "correct"),
        ("3*8*1", [1, 3, 8], 24, FEWER, "correct"),
        ("3*8*1*1", [1, 3, 8], 24, FEWER, "wrong_numbers"),
        ("3*3", [1, 3, 8], 24, FEWER, "wrong_numbers"),
    ],
)
def test_forms_of_answers(text, nums, target, form, reason):
    assert grade(text, nums, target, **form)[0] == reason
    if form not in (SIGNS, AT_END):
        check(text, nums, target, **form)


@pytest.mark.parametrize(
    ("name", "limit", "text", "reason"),
    [
        ("max_chars", 256, " " * 254 + "1+1", "too_long"),
        ("max_tokens", 32, "1+" * 16 + "1", "too_many_tokens"),
        ("max_depth", 16, "(" * 17 + "1", "too_deep"),
        ("max_digits", 9, "1234567890", "bad_number"),
    ],
)
def test_limits_hold_exactly_and_can_be_raised(name, limit, text, reason):
    assert grade(text, [1], 1)[0] == reason
    assert grade(text, [1], 1, **{name: limit + 1})[0] != reason
    assert grade(text, [1], 1, **{name: limit - 1})[0] == reason


# ------------------------------------------------------------------ large values


@pytest.mark.parametrize("digits", [9, 18])
def test_values_beyond_int64_are_exact(digits):
    greatest = 10**digits - 1
    limits = {"max_chars": 1000, "max_tokens": 100, "max_digits": digits}
    product = "*".join([str(greatest)] * 12)
    cases = [
        (product, greatest**12),
        (f"{product}/{greatest}", greatest**11),
        (f"{product}-{product}", 0),
        (f"1/({product})", oracle.Fraction(1, greatest**12)),
        (f"(1-{product})/({product}-1)", -1),
        (f"5/({product}-{product})", None),
        (f"7+({product}-{product})/{product}", 7),
    ]
    for text, value in cases:
        assert grade(text, [1], 1, **limits) == ("wrong_numbers", value)
        leaves = [int(n) for n in text.translate(dict.fromkeys(b"+-*/()", " ")).split()]
        check(text, leaves, 7, **limits)
        assert evaluate(text, **limits) == value
    large = "*".join(["999999999"] * 3)
    for text in (f"-{large}", f"1/-({large})", f"-({large}-2)*-3", f"-({large}/-7)"):
        check(text, [1], 1, unary_minus=True)


@pytest.mark.parametrize("side", [-1, 0, 1])
@pytest.mark.parametrize("bits", [62, 63])
def test_at_the_bound_of_int64(side, bits):
    """With products around 2**62 and 2**63, where the kernel hands over."""
    leaf = (1 << bits) // 16 + side
    for text in (f"{leaf}*16", f"16*{leaf}-1", f"1/({leaf}*16)", f"{leaf}+{leaf}*16"):
        for target in (16 * leaf - 1 - (bits == 63) * 16, 17 * (leaf // 2)):
            check(text, [leaf, 16], target, max_digits=18)


# -------------------------------------------------------------------- properties

FORMS = (
    {},
    MINUS,
    SUMS,
    FEWER,
    {"max_tokens": 5},
    {"max_depth": 1, "max_digits": 2},
    {"max_chars": 300, "max_tokens": 300, "max_depth": 40, "max_digits": 18},
)
ALPHABETS = [
    "0123456789+-*/()",
    "0123456789+-*/() \t\n\r",
    "012+-*/() ._=xe#!'\"\\\0\x7f\f\v",
]
token = st.sampled_from(
    ["0", "1", "7", "12", "999999999", "+", "-", "*", "/", "(", ")", " ", "**", "07"]
)
texts = st.one_of(
    *(st.text(alphabet, max_size=80) for alphabet in ALPHABETS),
    st.lists(token, max_size=40).map("".join),
    st.lists(token, max_size=40).map(" ".join),
    st.binary(max_size=80).map(lambda raw: raw.decode("latin-1")),
)


@given(texts, st.lists(st.integers(0, 12), max_size=4), st.sampled_from(FORMS))
@example("(" * 16 + "1" + ")" * 16, [1], {"max_tokens": 33})
@example("1/0", [0, 1], {})
def test_any_text_is_graded_as_by_the_oracle(text, nums, form):
    check(text, nums, 12, **form)


def compare_expressions(count, seed):
    """Compare `count` expressions of the grammar, with and without a small fault."""
    rng = random.Random(seed)
    graders = {size: AnswerGrader(size) for size in range(1, 9)}
    counts = dict.fromkeys(REASONS.values(), 0)
    for _ in range(count):
        largest = rng.choice((9, 99, 9999, 999_999_999))
        nums = [rng.randint(0, largest) for _ in range(rng.randint(1, 8))]
        text = oracle.random_expression(rng, nums)
        if rng.random() < 0.1:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice("+-*/() 07.") + text[at + 1 :]
        elif rng.random() < 0.1:
            nums[rng.randrange(len(nums))] += rng.randint(0, 1)
        rng.shuffle(nums)
        reason, value = oracle.grade_numbers(text, nums)
        target = rng.randint(-9, 99)
        if value is not None and rng.random() < 0.5:
            target = int(value)
        if abs(target) >= 1 << 63:
            continue
        grader = graders[len(nums)]
        grader.set_task(nums, target)
        reason = reason or ("correct" if value == target else "wrong_value")
        assert grade_with(grader, text) == (reason, value), (text, nums, target)
        counts[reason] += 1
    return counts


def test_expressions_agree_with_the_oracle():
    counts = compare_expressions(500 if JIT_OFF else 5000, 0)
    for reason in ("correct", "wrong_value", "wrong_numbers", "syntax"):
        assert counts[reason] > 10
    assert counts["division_by_zero"]


@pytest.mark.slow
def test_many_expressions_agree_with_the_oracle():
    compare_expressions(40_000, 1)


def test_evaluate():
    assert evaluate("1/3 + 2") == oracle.Fraction(7, 3)
    assert evaluate("-1", unary_minus=True) == -1
    assert evaluate("2 \N{MULTIPLICATION SIGN} 3", unicode_operators=True) == 6
    for text in ("-1", "1/(2-2)", ""):
        assert evaluate(text) is None
