"""The action parser against ROLL's rules, written with plain regular expressions."""

import pickle
import random
import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.errors import InvalidOptionError, SlowPatternWarning
from roll_vec.text.action_parser import ActionParser
from roll_vec.text.options import TextOptions
from roll_vec.text.patterns import TagMatcher, ThinkAnswerMatcher

LOOKUP = {1: "Up", 2: "Down", 3: "Left", 4: "Right"}
ANSWER = "<answer>(.*?)</answer>"
THINK = rf"<think>(.*?)</think>\s*{ANSWER}"
CLOSE = f"<think>(.*?)</think>{ANSWER}"
TAGS = (
    ANSWER,
    THINK,
    CLOSE,
    # Literal text with escapes, and white space beside groups.
    r"\\boxed{(.*?)}",
    r"\\boxed\{(.*?)\}",
    r"<think>\s*(.*?)\s*</think>\s*<answer>\s*(.*?)\s*</answer>",
    r"\|\|\s*(.*?)\|\|",
    # Closing tags may overlap: in "aaaaaUp" the second one has the action behind it.
    "aa(.*?)b(.*?)aa",
    "aa(.*?)aa",
    r"aa(.*?)aa\s*Up(.*?)aa",
)
PATTERNS = (
    *TAGS,
    "^<answer>(.*?)</answer>$",
    "^(.*)$",
    "<answer>.*?</answer>",
    r"(<think>)?(.*?)<answer>",
    r"(?i)<answer>\s*(\w*)\s*</answer>",
    r"(a|up|\|)+ *(<|$)",
    r"(up|down)",
    # An escaped backslash, a gap that captures, and a repetition of a tag's end.
    r"\\s*(.*?)up",
    r"aa(.*?)aa(\s*)Up(.*?)aa",
    r"a{2}(.*?)aa",
)
TOKENS = ("<|im_start|>", "<|im_end|>")
PIECES = (
    *("<answer>", "</answer>", "<think>", "</think>", "<ANSWER>", "<answer", "answer>"),
    *("<|im_start|>", "<|im_end|>", "<|im_", "end|>", "<|endoftext|>", "|"),
    *("Up", "dOWN", "right", "Left ", "1", "up||down", "||", "a", "aa"),
    *("\\boxed{", "}"),
    *(" ", "\n", "\t", "\u2003", "\x1c", "√", "\0", "İ", "𝕏"),
)
BLOCKS = (
    *("<answer>Up</answer>", "<answer>a</answer>", "<think>so</think>", "Up |", "aaa"),
    *("aaUpaa", "aaUpbUpaa", "aaUpbUpaaaUpbaaa", "aaaaaUpaa"),
    *("<think></think><answer>Left</answer>", "<think>b</think> <answer>up</answer>"),
    *("<think> </think>\n\t<answer>up || Left</answer>", "\\boxed{Up}", "\\boxed{a}"),
)
TOKEN_LISTS = (TOKENS, None, ("<|im_end|>", "<think>"), ("aa", "a"), ("|", "Up "))
pytestmark = pytest.mark.filterwarnings("ignore:action_pattern")
SEARCHES = [
    {"action_pattern": pattern, "special_token_list": tokens, "match": match}
    for pattern in PATTERNS
    for tokens in TOKEN_LISTS
    for match in ("first", "last")
]
SPLITS = [
    {"action_separator": separator, "max_actions_per_turn": 2}
    for separator in ("||", "a")
]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", SlowPatternWarning)
    ALL_OPTIONS = [
        TextOptions(**search, **split)
        for search in ({}, *SEARCHES)
        for split in ({}, *SPLITS)
    ]


def plain_find(text, options):
    """Return content and thinking as `re` finds them, or None."""
    if options.action_pattern is None:
        return text, ""
    for token in options.special_token_list or ():
        text = text.replace(token, "").strip()
    matches = list(re.finditer(options.action_pattern, text, re.DOTALL))
    if not matches:
        return None
    groups = matches[0 if options.match == "first" else -1].groups()
    try:
        if len(groups) == 1:
            return groups[0].strip(), ""
        return groups[1].strip(), groups[0].strip()
    except (IndexError, AttributeError):
        return None


def plain_parse(text, options, lookup):
    """Return actions, content, thinking, validity."""
    match = plain_find(text, options)
    if match is None:
        return (), "", "", False
    content, think = match
    codes = {name.lower(): code for code, name in (lookup or {}).items()}
    if options.action_separator is not None:
        names = [name.strip() for name in content.split(options.action_separator)]
        names = [name for name in names if name][: options.max_actions_per_turn]
        valid = [name for name in names if name.lower() in codes]
        actions = tuple(codes[name.lower()] for name in valid)
        return actions, content, think, bool(valid) and valid == names
    if not lookup:
        return (content,), content, think, True
    code = codes.get(content.strip().lower())
    return () if code is None else (code,), content, think, code is not None


def write_texts(count, seed):
    """Return texts of pieces and blocks, so that tags meet in every way."""
    generator = random.Random(seed)

    def write():
        pieces = generator.choice((BLOCKS, PIECES, BLOCKS + PIECES, PIECES[:9]))
        return "".join(generator.choices(pieces, k=generator.randrange(8)))

    return [write() for _ in range(count)]


def check(texts, options):
    """Compare the parser with the rules, text by text and as a batch."""
    parser = ActionParser(options, LOOKUP)
    expected = [plain_parse(text, options, LOOKUP) for text in texts]
    assert [parser.parse(text) for text in texts] == expected

    batch = parser.parse_batch(texts)
    assert batch.action_contents.tolist() == [content for _, content, _, _ in expected]
    assert batch.think_contents.tolist() == [think for _, _, think, _ in expected]
    assert batch.is_valid.tolist() == [valid for _, _, _, valid in expected]
    assert batch.codes.dtype == np.int64
    for env_id, (actions, *_) in enumerate(expected):
        assert tuple(batch.codes[: batch.counts[env_id], env_id]) == (actions or (0,))
        assert not batch.codes[batch.counts[env_id] :, env_id].any()

    if options.action_separator is None:
        nameless = ActionParser(options)
        for text in texts:
            assert nameless.parse(text) == plain_parse(text, options, None)


def test_tags_and_tokens_in_any_order_are_parsed_by_the_rules():
    for seed, options in enumerate(ALL_OPTIONS):
        check(write_texts(40, seed), options)


@given(st.lists(st.text(), max_size=5), st.sampled_from(ALL_OPTIONS))
def test_any_characters_are_parsed_by_the_rules(texts, options):
    check(texts + [f"<answer>{text}</answer>{text}" for text in texts], options)


class CountingText(str):
    """A text that counts the characters that searches for tags scan."""

    num_scans = 0

    def find(self, sub, start=0):
        position = super().find(sub, start)
        self.num_scans += (len(self) if position < 0 else position + len(sub)) - start
        return position


class CountingGap:
    """The pattern of the gap between two tags, with the same count."""

    def __init__(self, pattern):
        self.pattern = pattern

    def match(self, text, start):
        stop = start
        while stop < len(text) and text[stop].isspace():
            stop += 1
        text.num_scans += stop - start + 8
        return self.pattern.match(text, start)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    "piece",
    [
        *("<answer>", "</answer>", "<think>", "</think>", "<think></think>"),
        *("<think></think>  ", "<think></think><answer>", "<answer></answer>"),
        *("<think>a</think> <answer>b</answer>", "</think>" + 50 * " ", "<answer"),
    ],
)
def test_searches_for_tags_take_linear_work(piece, last):
    for number in (100, 1000):
        for pattern, matcher_class in (
            (ANSWER, TagMatcher),
            (THINK, ThinkAnswerMatcher),
            (CLOSE, ThinkAnswerMatcher),
        ):
            options = TextOptions(
                action_pattern=pattern, match="last" if last else "first"
            )
            matcher = ActionParser(options)._matcher
            assert type(matcher) is matcher_class
            if matcher_class is ThinkAnswerMatcher:
                matcher.gap = CountingGap(matcher.gap)
            text = CountingText(piece * number)
            matcher.find(text)
            assert text.num_scans <= 5 * len(text)


@pytest.mark.parametrize(
    ("pattern", "answer", "is_slow"),
    [
        (ANSWER, "<answer>a</answer>", False),
        (r"<answer>\s*(.*?)\s*</answer>", "<answer>a</answer>", False),
        (r"\\boxed\{(.*?)\}", r"\boxed{a}", False),
        (r"\[(up|down)\]", "[up]", False),
        (r"\\boxed\{(.*?)\}$", r"\boxed{a}", True),
        (r"<answer>(\w+)</answer>", "<answer>a</answer>", True),
        (r"(a{1,9}){9}", "aaaaaaaaa", True),
    ],
)
def test_a_pattern_that_re_repeats_warns_and_limits_texts(pattern, answer, is_slow):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        options = TextOptions(action_pattern=pattern)
    assert [each.category for each in warned] == [SlowPatternWarning] * is_slow
    assert not warned or "more than 16384 characters" in str(warned[0].message)
    parser = ActionParser(options)
    assert parser.find(answer.rjust(16_384, ".")) is not None
    assert (parser.find(answer.rjust(16_385, ".")) is None) == is_slow


BAD_OPTIONS = [
    ({"action_pattern": "("}, r"'\(': missing \)"),
    ({"action_pattern": 3}, "got 3"),
    *(
        ({"special_token_list": value}, "a sequence of non-empty strings, got")
        for value in ("<s>", ("<s>", ""), 3)
    ),
    *(({"format_penalty": value}, "got") for value in ("much", float("nan"), -np.inf)),
    ({"match": "best"}, "'first', 'last', got 'best'"),
    *(({"action_separator": value}, "more than white space") for value in (" ", 3)),
    ({"max_actions_per_turn": 0}, "at least 1, got 0"),
]


def test_bad_options_are_named():
    for options, told in BAD_OPTIONS:
        with pytest.raises(
            InvalidOptionError, match=f"^{next(iter(options))}: .*{told}"
        ):
            TextOptions(**options)
    with pytest.raises(InvalidOptionError, match=r"action_separator: .*have no names"):
        ActionParser(TextOptions(action_separator="||"))


@pytest.mark.parametrize("pattern", [None, *PATTERNS])
def test_examples_and_pickled_parsers_are_parsed_to_their_action(pattern):
    options = {"match": "last", "action_pattern": pattern} if pattern else {}
    parser = ActionParser(TextOptions(**options), LOOKUP)
    example = parser.example("Left")
    if example is not None:
        assert parser.parse(example)[0] == (3,)
    assert (example is None) == (pattern not in (None, *TAGS))
    again = pickle.loads(pickle.dumps(parser))
    for text in (*BLOCKS, "Up", ""):
        assert again.parse(text) == parser.parse(text)
