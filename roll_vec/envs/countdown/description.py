"""The rewards, ends, infos and sources of Countdown."""

from __future__ import annotations

from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.envs.game_description import (
    TEXT_GAME_INFOS,
    GameDescription,
    Reward,
    parse_infos,
    parse_sources,
)

_FORMATS = {
    "roll": "An expression of the right numbers with another value, or without one.",
    "tinyzero": "Any other answer, also an empty tag; the empty text is none.",
}


_INFOS = parse_infos("""
value | float64 | step | The value of the expression; missing where there is none.
reason | str | step | The grade of the answer, such as ``wrong_value``.
success | bool | step | The answer is correct.
action_is_valid | bool | step | The answer is an expression.
action_is_effective | bool | step | The answer is an expression of the right numbers.
""")
_DIFFICULTY = parse_infos("""
difficulty | dict | reset | ``num_operations``, int64: the fewest operations of a
   correct answer. | difficulty_info=True
""")
_SOURCES = parse_sources("""
ROLL, countdown | commit 35bea6a2 | https://github.com/alibaba/ROLL
   | rewards of expressions
TinyZero | | https://github.com/Jiayi-Pan/TinyZero
   | the rule of ``reward_rule='tinyzero'``
""")


def describe(options: CountdownOptions) -> GameDescription:
    """Return the description of Countdown with these options."""
    limit = options.max_steps
    answers = (
        "The answer" if limit == 1 else f"The last of {limit} answers (``max_steps``)"
    )
    return GameDescription(
        actions="The answer, an expression such as ``(8 - 3) * 4``.  It is never run "
        "as code.",
        rewards=(
            Reward(options.score, "A correct answer."),
            Reward(options.format_score, _FORMATS[options.reward_rule]),
            Reward(0.0, "All other answers."),
        ),
        terminated=("A correct answer: success.", f"{answers}, also a wrong one."),
        infos=(*_INFOS, *TEXT_GAME_INFOS, *_DIFFICULTY),
        sources=_SOURCES,
        differences=(
            "Tasks are generated from the seed alone, and all have a solution.",
            "No answer is run as code.  A text with the right numbers that is no "
            "expression earns 0; ROLL gave it ``format_score``.",
        ),
        page="docs/games/countdown.md",
    )
