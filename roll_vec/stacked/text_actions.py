"""What array environments do with text: actions by name, instructions, infos.

Which engine or single form it is makes no difference here: the batch plays all texts of
a step together and the single form one, by the same rules and in the same order of
additions.

A text without a valid action plays "no valid action": nothing moves, nothing is drawn,
and the step counts.  ``format_penalty`` is then added to its reward.

With ``action_separator`` a turn plays the valid names among its first
``max_actions_per_turn`` parts in their order until the episode ends, and "no valid
action" if there are none; any other part makes it invalid, which costs
``format_penalty`` once.  Rewards are added up in this order.  The action is effective
if one of them was, ``prob`` is the product of theirs, ``success`` is the last one's.
The turn is one step for every limit, as it is one call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.spaces import MAX_TEXT, UnicodeText
from roll_vec.text.action_parser import ParsedBatch, TextActions
from roll_vec.text.validation import check_text

__all__ = [
    "BatchResult",
    "describe_game",
    "make_text_actions",
    "play_text",
    "play_texts",
    "symbol_meanings",
    "text_space",
]

# Rewards, terminations, truncations, and infos by key, all (n,).
BatchResult = tuple[
    NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, NDArray[Any]]
]


def make_text_actions(options: Any) -> TextActions | None:
    """Return the parser for an environment's options; None with integer actions."""
    if options.action_mode != "text":
        return None
    return TextActions(options, options.action_lookup, options.first_action - 1)


def text_space(text_actions: TextActions) -> UnicodeText:
    """Return the space of a single action, which samples texts that say an action."""
    names = text_actions.options.action_lookup.values()  # type: ignore[attr-defined]
    examples = [text_actions.example(name) for name in names]
    return UnicodeText(MAX_TEXT, examples=[text for text in examples if text])


def describe_game(options: Any, text_actions: TextActions | None) -> str:
    """Return the instructions: the game, the symbols, the actions, the answer.

    Parameters
    ----------
    options
        ``env_instruction`` replaces the description of the game.
    text_actions : TextActions or None
        None: actions are integers, and nothing is said of an answer.
    """
    game = options.env_instruction
    lines = [options.describe() if game is None else game]
    meanings = symbol_meanings(options)
    shown = ", ".join(f"{symbol} is {meaning}" for symbol, meaning in meanings)
    lines.append(f"Symbols of the board: {shown}.")
    names = options.action_lookup
    if text_actions is None:
        listed = ", ".join(f"{code} ({name})" for code, name in names.items())
        lines.append(f"Actions: {listed}.")
    else:
        lines.append(f"Actions: {', '.join(names.values())}.")
        lines.append(_describe_answer(text_actions, list(names.values())))
    return "\n".join(lines)


def symbol_meanings(options: Any) -> list[tuple[str, str]]:
    """Return each symbol of a text board and what it means, in the order of codes."""
    # A user's symbol has the meaning of the default symbol of its code.
    default_symbols, default_vocab = options.GRID_LOOKUP, options.GRID_VOCAB
    return [
        (symbol, options.grid_vocab.get(symbol, default_vocab[default_symbols[code]]))
        for code, symbol in options.grid_lookup.items()
    ]


def _describe_answer(text_actions: TextActions, names: list[str]) -> str:
    options = text_actions.options
    what, said = "one action", names[0]
    if options.action_separator is not None:
        most = options.max_actions_per_turn
        what = f"one to {most} actions, separated by {options.action_separator}"
        said = f" {options.action_separator} ".join((names * 2)[:2])
    example = text_actions.example(said)
    if options.action_pattern is None:
        return f"Answer with {what} and nothing else, for example: {example}"
    if example is None:
        return f"Answer with {what}, in a form that matches {options.action_pattern}"
    return f"Answer with {what}, in this form: {example}"


def play_texts(
    engine: Any, said: ParsedBatch, skip_mask: NDArray[np.bool_]
) -> BatchResult:
    """Play a turn in every row but those to skip.

    Parameters
    ----------
    engine : ArrayEngine
    said : ParsedBatch
    skip_mask : (n,) bool
    """
    result: BatchResult
    if said.counts is None:
        result = engine._step_batch(said.codes[0], skip_mask, engine.max_steps)
    else:
        result = _play_turns(engine, said.codes, said.counts, skip_mask)
    rewards, _, _, values = result
    invalid = ~(said.is_valid | skip_mask)
    rewards[invalid] += engine.text_actions.options.format_penalty
    values["action_is_valid"] = said.is_valid
    values["action_content"] = said.action_contents
    values["think_content"] = said.think_contents
    return result


def _play_turns(
    engine: Any,
    codes: NDArray[np.int64],
    counts: NDArray[np.int64],
    skip_mask: NDArray[np.bool_],
) -> BatchResult:
    """Play several actions a turn; the turn counts as one step."""
    elapsed = engine.elapsed_steps + ~skip_mask
    rewards, terminations, truncations, values = engine._step_batch(
        codes[0], skip_mask, 0
    )
    for number in range(1, len(codes)):
        active = (number < counts) & ~(terminations | skip_mask)
        if not active.any():
            break
        more, ended, _, found = engine._step_batch(codes[number], ~active, 0)
        rewards[active] += more[active]
        terminations |= ended
        values["action_is_effective"] |= found["action_is_effective"]
        values["success"][active] = found["success"][active]
        if "prob" in values:
            values["prob"][active] *= found["prob"][active]
    engine.elapsed_steps[:] = elapsed
    if engine.max_steps:
        truncations = ~skip_mask & (engine.elapsed_steps == engine.max_steps)
    return rewards, terminations, truncations, values


def play_text(
    text_actions: TextActions,
    text: Any,
    play: Callable[[int], tuple[float, bool, dict[str, Any]]],
) -> tuple[float, bool, dict[str, Any]]:
    """Play a turn of a single form: return its reward, whether it ended, its info.

    Parameters
    ----------
    text_actions : TextActions
    text : str
    play : callable
        From an action to reward, terminated, info.

    Raises
    ------
    InvalidActionError
    """
    said = text_actions.parse(check_text(text))
    codes = said.action if isinstance(said.action, tuple) else (said.action,)
    if codes in ((), (None,)):
        codes = (text_actions.no_action,)
    reward, terminated, info = play(codes[0])
    for code in codes[1:]:
        if terminated:
            break
        more, terminated, found = play(code)
        reward += more
        found["action_is_effective"] |= info["action_is_effective"]
        if "prob" in info:
            found["prob"] *= info["prob"]
        info = found
    if not said.is_valid:
        reward += text_actions.options.format_penalty
    info["action_is_valid"] = said.is_valid
    info["action_content"] = said.action_content
    info["think_content"] = said.think_content
    return reward, terminated, info
