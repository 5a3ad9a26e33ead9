"""Planted failures come out first, and healthy runs are quiet."""

import html
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from roll_vec.evaluation.diagnosis import diagnose
from roll_vec.evaluation.diagnosis.faulty_answers import find_fault
from roll_vec.evaluation.diagnosis.findings import Evidence
from roll_vec.evaluation.diagnosis.page import make_page
from roll_vec.evaluation.diagnosis.played import is_cut_in, play_again
from roll_vec.evaluation.diagnosis.ranking import KINDS
from roll_vec.evaluation.diagnosis.rewards import describe_difference
from roll_vec.evaluation.verification import verify_episodes
from roll_vec.text.action_parser import ActionParser
from roll_vec.text.options import TextOptions
from tests.evaluation.diagnosis.planters import (
    CHAT,
    ONE_BOX,
    SOKOBAN,
    THREE_BOXES,
    Bumps,
    Noisy,
    Strolls,
    answer_all,
    in_groups,
    of_steps,
    random_policy,
    record,
)

LAKE = "roll_vec/RandomFrozenLake-v0"
COUNTDOWN = "roll_vec/Countdown-v0"
ACTIONS = "Up", "Down", "Left", "Right"
SEEDS = range(1_000_000, 1_000_120)


def middling(seeds=SEEDS, **keywords):
    """Episodes of a policy that is neither good nor bad."""
    return record(SOKOBAN, {**CHAT, **keywords}, seeds, partial(Noisy, noise=0.3))


def answers(form, *words):
    """Episodes whose answers are words in some form, in turn."""
    choose = lambda i, t: form.format(words[(3 * i + t) % len(words)])  # noqa: E731
    return answer_all(middling(), choose)


def change(episodes, **fields):
    """Return episodes with other fields, each a function of the episode."""
    return [
        replace(each, **{name: make(each) for name, make in fields.items()})
        for each in episodes
    ]


PLANTS = {
    "wrong tags": ("invalid", lambda: answers("<action>{}</action>", *ACTIONS)),
    "words of another game": (
        "invalid",
        lambda: answers("<answer>{}</answer>", "north", "push", "jump"),
    ),
    "no action of a batch": (
        "invalid",
        lambda: answer_all(record(SOKOBAN, ONE_BOX, SEEDS), lambda i, t: 0),
    ),
    "cut answers": (
        "cut",
        lambda: change(
            answers("<think>the box at {}", "one", "two", "three"),
            was_cut=lambda each: [True] * len(each.answers),
        ),
    ),
    "cut prompts": (
        "cut",
        lambda: change(
            record(SOKOBAN, CHAT, SEEDS, random_policy),
            prompts=lambda each: [text[: len(text) * 6 // 10] for text in each.prompts],
        ),
    ),
    "rewards of the turn before": (
        "reward",
        lambda: change(middling(), rewards=lambda each: [0.0, *each.rewards[:-1]]),
    ),
    "rewards scaled": (
        "reward",
        lambda: change(
            middling(), rewards=lambda each: [0.1 * r for r in each.rewards]
        ),
    ),
    "the return at the last turn": (
        "reward",
        lambda: change(
            middling(),
            rewards=lambda each: [0.0] * (len(each.rewards) - 1) + [sum(each.rewards)],
        ),
    ),
    "another success": (
        "reward",
        lambda: change(middling(), success=lambda each: not each.success),
    ),
    "the same answer": ("constant", lambda: answers("<answer>{}</answer>", "Up")),
    "the same answer of a game without solver": (
        "constant",
        lambda: answer_all(
            record("roll_vec/CartPole-v1", {}, SEEDS, random_policy), lambda i, t: 1
        ),
    ),
    "walks into walls": ("ineffective", lambda: record(SOKOBAN, ONE_BOX, SEEDS, Bumps)),
    "walks around": ("loops", lambda: record(SOKOBAN, ONE_BOX, SEEDS, Strolls)),
    "searches again and again": (
        "loops",
        lambda: answer_all(
            record("roll_vec/WebShop-v0", {"max_episode_steps": 20}, range(20)),
            lambda i, t: ("search[shoes]", "click[back to search]")[t % 2],
            limit=20,
        ),
    ),
    "pushes into corners": (
        "dead_ends",
        lambda: record(SOKOBAN, THREE_BOXES, SEEDS, random_policy),
    ),
    "falls into holes": (
        "dead_ends",
        lambda: record(LAKE, {"action_start": 1}, SEEDS, random_policy),
    ),
    "wrong expressions": (
        "regret",
        lambda: answer_all(record(COUNTDOWN, {}, SEEDS), lambda i, t: f"{i} + 1"),
    ),
    "groups of one": ("singles", lambda: in_groups(middling(), 1)),
    "groups of other seeds": ("seeds", lambda: in_groups(middling(), 8)),
    "groups without randomness": (
        "variance",
        lambda: in_groups(
            [
                each
                for each in record(
                    SOKOBAN, THREE_BOXES, SEEDS, partial(Noisy, noise=0.3)
                )
                for _ in range(4)
            ],
            4,
        ),
    ),
    "hard levels": (
        "hard",
        lambda: [
            *record(SOKOBAN, THREE_BOXES, of_steps(THREE_BOXES, 0, 8, 40)),
            *record(
                SOKOBAN, THREE_BOXES, of_steps(THREE_BOXES, 9, 99, 80), random_policy
            ),
        ],
    ),
    "levels of other keywords": (
        "hard",
        lambda: record(
            SOKOBAN, {**THREE_BOXES, "dim_room": (8, 8)}, SEEDS[:40], random_policy
        ),
    ),
    "easy levels": (
        "easy",
        lambda: in_groups(
            record(SOKOBAN, CHAT, np.repeat(of_steps(ONE_BOX, 1, 2, 20), 4).tolist()), 4
        ),
    ),
    "a short limit": (
        "limit",
        lambda: record(SOKOBAN, {**THREE_BOXES, "max_episode_steps": 6}, SEEDS),
    ),
    "a trainer's limit": (
        "limit",
        lambda: change(
            record(SOKOBAN, THREE_BOXES, SEEDS),
            answers=lambda each: each.answers[:4],
            rewards=lambda each: each.rewards[:4],
            success=lambda each: None,
        ),
    ),
    "few tasks": ("duplicates", lambda: middling([SEEDS[i % 5] for i in range(120)])),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_failure_comes_out_first(name):
    expected, plant = PLANTS[name]
    diagnosis = diagnose(plant())
    first = diagnosis.outstanding[0]
    assert first.kind.name == expected
    assert first.follows is None
    assert first.hits.number <= first.hits.total
    assert 0.0 <= first.share <= 1.0 + 1e-9
    played = diagnosis.evidence.played
    num_examples = 0 if first.hits.unit == "groups" else 2
    assert len({played.episode[turn] for turn in first.examples}) == num_examples
    assert first.kind.title in html.unescape(make_page(diagnosis))


HEALTHY = {
    "solver": lambda: record(SOKOBAN, THREE_BOXES, SEEDS),
    "solver in groups": lambda: in_groups(
        record(SOKOBAN, CHAT, np.repeat(SEEDS[:20], 4).tolist()), 4
    ),
    # Random in as many turns as a trained PPO errs.
    "trained policy": lambda: record(
        SOKOBAN, THREE_BOXES, SEEDS, partial(Noisy, noise=0.08)
    ),
    "policy on ice": lambda: record(
        LAKE, {"action_start": 1}, SEEDS, partial(Noisy, noise=0.05)
    ),
    "Countdown in groups": lambda: in_groups(
        record(COUNTDOWN, {}, np.repeat(SEEDS, 4).tolist(), partial(Noisy, noise=0.08)),
        4,
    ),
    "chats": lambda: change(
        record(
            SOKOBAN,
            CHAT,
            SEEDS,
            partial(Noisy, noise=0.08, wrong="I push the box to the <answer>"),
        ),
        was_cut=lambda each: ["push" in text for text in each.answers],
    ),
    "two files of the same tasks": lambda: record(SOKOBAN, THREE_BOXES, SEEDS),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_stands_out_in_healthy_runs(name):
    episodes = HEALTHY[name]()
    files = None
    if name.startswith("two files"):
        files, episodes = [0] * 120 + [1] * 120, 2 * episodes
    diagnosis = diagnose(episodes, files)
    assert [each.kind.name for each in diagnosis.outstanding] == []
    assert diagnosis.verdict() == "Nothing stands out."


def test_consequences_stand_below_their_causes():
    names = {}
    findings = diagnose(answers("<answer>{}</answer>", "Up")).outstanding
    for finding in findings:
        names[finding.kind.name] = finding.follows and finding.follows.name
    assert names == {"constant": None, "ineffective": "constant"}


def test_loss_without_a_reason_is_named():
    episodes = record("roll_vec/CartPole-v1", {}, SEEDS, random_policy)
    diagnosis = diagnose(episodes)
    assert diagnosis.verdict() == "No reason for the lost return stands out."


def test_shares_are_those_of_the_lost_return():
    """Half of the episodes fail by invalid answers, the others are the best."""
    good, bad = (
        record(SOKOBAN, CHAT, SEEDS),
        answers("<action>{}</action>", "Up", "Down"),
    )
    diagnosis = diagnose(good[:60] + bad[60:])
    (finding,) = diagnosis.outstanding
    assert finding.share == pytest.approx(1.0)
    assert finding.weight == pytest.approx(0.5)
    assert diagnosis.evidence.lost == pytest.approx(0.5, abs=0.02)
    total = 6000 + sum(len(each.answers) for each in good[:60])
    assert finding.count() == f"6,000 of {total:,} turns ({6000 / total:.0%})".replace(
        "%", " %"
    )


def test_boards_that_return():
    """`is_return` equals a slow search, episode by episode."""
    episodes = record(LAKE, {"action_start": 1}, SEEDS[:30], random_policy)
    evidence = Evidence(play_again(episodes))
    played = evidence.played
    for number in range(len(episodes)):
        rows = np.flatnonzero((played.episode == number) & evidence.counts)
        boards = {played.boards[rows[0]]}
        for row in rows:
            changes = played.boards[row] != played.next_boards[row]
            expected = changes and played.next_boards[row] in boards
            assert evidence.is_return[row] == expected
            boards.add(played.next_boards[row])


def test_an_episode_does_not_depend_on_others():
    episodes = record(SOKOBAN, CHAT, SEEDS[:20], random_policy)
    whole, alone = play_again(episodes), play_again(episodes[7:8])
    rows = whole.episode == 7
    for name in ("rewards", "advantages", "boards", "is_dead_end", "is_effective"):
        np.testing.assert_array_equal(getattr(whole, name)[rows], getattr(alone, name))


FAULTS = [
    ("", "an empty answer", ""),
    ("Up", "no <answer>", "Up"),
    ("<think>a</think> <action>Up</action>", "<action> in the place of", "<action>"),
    ("so <answer>Up", "<answer> is not closed", "<answer>Up"),
    ("<answer> </answer>", "nothing between the tags", ""),
    ("<answer>Up!</answer>", "other characters around", "Up!"),
    ("<answer>go Up</answer>", "more words than", "go Up"),
    ("<answer>Up, Down</answer>", "several actions", "Up, Down"),
    ("<answer>2</answer>", "a number", "2"),
    ("<answer>jump</answer> <answer>Up</answer>", "in the first of several", "jump"),
]


@pytest.mark.parametrize(("text", "reason", "part"), FAULTS)
def test_the_place_of_a_fault(text, reason, part):
    options = TextOptions(action_pattern="<answer>(.*?)</answer>")
    fault = find_fault(ActionParser(options, dict(enumerate(ACTIONS))), text)
    assert reason in fault.reason
    assert text[fault.start : fault.stop] == part


def test_the_place_of_a_fault_in_other_patterns():
    names = dict(enumerate(ACTIONS))
    thinking = TextOptions(
        action_pattern=r"<think>(.*?)</think>\s*<answer>(.*?)</answer>"
    )
    parser = ActionParser(thinking, names)
    text = "<think>a</think> so <answer>Up</answer>"
    assert "more than white space before <answer>" in find_fault(parser, text).reason
    assert find_fault(parser, "<think>a").reason.startswith("<think> is not closed")
    several = TextOptions(action_separator="||")
    fault = find_fault(ActionParser(several, names), "Up || fly")
    assert (fault.start, fault.stop) == (5, 9)
    free = ActionParser(TextOptions(action_pattern="<a>(.*?)</a>"))
    assert find_fault(free, "<a>click[x]</a>", "no button").reason == "no button"


@pytest.mark.parametrize(
    ("recorded", "words"),
    [
        ([0, 0, 0], "all rewards are 0"),
        ([0, 0, 6], "the return stands at the last turn"),
        ([9, 1, 2], "of the turn before"),
        ([2, 3, 0], "of the turn after"),
        ([0, 0, 3], "only the last turn"),
        ([1, 3, 6], "the return so far"),
        ([6, 5, 3], "the return to go"),
        ([-2, -4, -6], "scaled by -2"),
        ([1.5, 2.5, 3.5], "+0.5 at each turn"),
        ([1, 2, 7], "other rewards at the last turn"),
        ([7, 2, 7], "other rewards"),
    ],
)
def test_how_rewards_differ(recorded, words):
    assert words in describe_difference(
        np.array(recorded, float), np.array([1.0, 2.0, 3.0])
    )


def test_cut_prompts():
    board = "#####\n#_P_#\n#_XO#\n#####"
    assert not is_cut_in([f"You see:\n{board}\nYour turn."], board)
    assert is_cut_in([f"You see:\n{board[:15]}"], board)
    assert is_cut_in([board[8:]], board)
    assert not is_cut_in(["a prompt of another form"], board)
    assert not is_cut_in([], board)


def test_prompts_of_another_board_are_named():
    episodes = record(SOKOBAN, CHAT, SEEDS)
    assert len(diagnose(episodes).summary()) == 2
    assert verify_episodes(episodes).notes == []
    others = change(episodes, seed=lambda each: each.seed + 1)
    for texts in (diagnose(others).summary(), verify_episodes(others).notes):
        assert "does not show the board of the replay" in " ".join(texts)


def test_a_file_without_its_action_pattern():
    keywords = {key: CHAT[key] for key in CHAT if key != "action_pattern"}
    episodes = change(record(SOKOBAN, CHAT, SEEDS), keywords=lambda each: keywords)
    diagnosis = diagnose(episodes)
    assert "action_pattern=<answer>(.*?)</answer>" in diagnosis.verdict()
    assert diagnosis.outstanding[0].kind.name == "invalid"
    assert "tags within the action" in diagnosis.outstanding[0].hits.details[0]
    assert not {"reward", "cut"} & {each.kind.name for each in diagnosis.findings}


def test_the_page_escapes_all_texts():
    evil = "<script>alert(1)</script>"
    episodes = change(
        answers(f"{evil}<action>{{}}</action>", "Up", "Down"),
        place=lambda each: evil,
        group=lambda each: evil,
    )
    page = make_page(diagnose(episodes))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "http" not in page.replace("http-equiv", "")
    assert 'src="data:image/png;base64,' in page


def test_each_kind_has_texts():
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        assert kind.title[0].isupper()
        assert kind.meaning.endswith(".")
        assert kind.advice.endswith(".")
