"""Any answer of Countdown is parsed, evaluated and graded as by the oracle."""

import math
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roll_vec.envs.countdown.grading import REASONS
from roll_vec.envs.countdown.notation import rewrite
from tests.conftest import JIT_OFF
from tests.envs.countdown.tasks import check, evaluate, grade, grade_with, make_grader
from tests.oracles import countdown as oracle


def test_values_beyond_int64_are_exact():
    greatest = 10**9 - 1
    product = "*".join([str(greatest)] * 4)
    cases = [
        (product, greatest**4),
        (f"{product}/{greatest}", greatest**3),
        (f"{product}-{product}", 0),
        (f"1/({product})", oracle.Fraction(1, greatest**4)),
        (f"(1-{product})/({product}-1)", -1),
        (f"5/({product}-{product})", None),
        (f"7+({product}-{product})/{product}", 7),
    ]
    for text, value in cases:
        assert grade(text, [1], 1) == ("wrong_numbers", value)
        leaves = [int(n) for n in text.translate(dict.fromkeys(b"+-*/()", " ")).split()]
        check(text, leaves, 7)
        assert evaluate(text) == value
    large = "*".join(["999999999"] * 3)
    for text in (f"-{large}", f"1/-({large})", f"-({large}-2)*-3", f"-({large}/-7)"):
        check(text, [1], 1, unary_minus=True)


@pytest.mark.parametrize("side", [-1, 0, 1])
@pytest.mark.parametrize("bits", [61, 63])
def test_at_the_bound_of_int64(side, bits):
    """With products of three around 2**61 and 2**63, where the kernel hands over."""
    nums = [(1 << 29) + side, 1 << 29, 1 << (bits - 58)]
    product, value = "*".join(map(str, nums)), math.prod(nums)
    for text in (product, f"{product}-1", f"1/({product})", f"{nums[0]}+{product}"):
        for target in (min(value, (1 << 63) - 1), value - 1 >> 1):
            check(text, nums, target)


FORMS = ({}, {"unary_minus": True}, {"operators": "+-"}, {"any_numbers": True})
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
@example("(" * 16 + "1" + ")" * 16, [1], {})
@example("1/0", [0, 1], {})
def test_any_text_is_graded_as_by_the_oracle(text, nums, form):
    check(text, nums, 12, **form)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"3 \times 8 \div 2 \cdot 1", "3*8/2*1"),
        ("3\u22c58\u22172\u00d71\u00f71\u22121", "3*8*2*1/1-1"),
        (r"$3 * 8$", "3*8"),
        (r"\[ 3 * \left( 8 \right)\,\]", "3*8"),
        ("[3 + {8 - 1}] * 2", "(3+(8-1))*2"),
        (r"8/\frac{1 + 2} {\dfrac{3}{8}}", "8/((1+2)/(3/8))"),
        ("1,000 + 12{,}345{,}678", "1000+12345678"),
        ("(3)(8)[2]5", "3*8*2*5"),
        (r"8/2(1 + 3)\frac{1}{2}(6)", "8/2*(1+3)*(1/2)*6"),
        ("3\u00a0*\u202f8", "3*8"),
        ("-3 + 11", "8"),
    ],
)
def test_the_lenient_notation(text, plain):
    value = evaluate(plain)
    assert evaluate(text, notation="lenient") == value
    assert evaluate(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *("3 8", "(3]", "3**8", "3,8", "1,00", "1,0000", "3 * 8,", "{3}{8}", "2{3}"),
        *(r"2\frac{1}{3}", r"\frac12", r"\frac{1}", r"\frac{1}{2", r"\frac{1}+{2}"),
        *("[3)*8", "{3)*8", "(3]*8", "{3]*8", "[(3])*8", r"\frac(3)*8)"),
        *(r"\left[3\right)*8", r"\frac{1}{2)*8", "[3*8", "3*8)", "(3)*8]"),
        *(r"\sqrt{9}", r"3 \times", "\\", r"\frac{}{2}", "()(3)", "$3$$8$", "0x1"),
    ],
)
def test_the_lenient_notation_is_no_guess(text):
    assert evaluate(text, notation="lenient") is None


latex = st.sampled_from(
    [
        *"07+-$()[]{}=\\ \n\0\u00d7\u0661",
        *("1,", "000", "{,}", r"\times", r"\frac", r"\frac{", "}{", r"\left"),
    ]
)


@given(st.one_of(texts, st.lists(latex, max_size=40).map("".join)))
def test_lenient_answers_are_bounded_and_those_of_the_grammar_stay(text):
    assert len(rewrite(text)) <= 2 * len(text)
    value = evaluate(text, unary_minus=True)
    lenient = evaluate(text, notation="lenient")
    assert value is None or lenient == value


def test_expressions_agree_with_the_oracle():
    """With and without a small fault."""
    rng = random.Random(0)
    grader = make_grader()
    counts = dict.fromkeys(REASONS.values(), 0)
    for _ in range(500 if JIT_OFF else 5000):
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
        grader.set_task(nums, target)
        reason = reason or ("correct" if value == target else "wrong_value")
        assert grade_with(grader, text) == (reason, value), (text, nums, target)
        counts[reason] += 1
    for reason in ("correct", "wrong_value", "wrong_numbers", "syntax"):
        assert counts[reason] > 10
    assert counts["division_by_zero"]
