"""A tick of a recording as lines of text: a grid of boards, or one conversation.

The lines have colours (`render.ansi`) if they are asked for.  Texts of environments and
models have no control characters: those could change the settings of a terminal, or
the order in which it shows a line.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from roll_vec.render.ansi import colour_grid, paint, strip_colours
from roll_vec.watch.captions import action_text, end_word, return_text, reward_text
from roll_vec.watch.frames import Frame, Recording

__all__ = ["board_lines", "boards_in", "has_boards", "transcript_lines"]

_COLOURS = {
    "first difference": "1;31",
    "fault": "1;31",
    "success": "1;32",
    "failure": "1;31",
    "terminated": "1;33",
    "truncated": "1;33",
}
_DIM, _BOLD, _ANSWER = "2", "1", "33"
# The last two ranges change the direction of the text that follows.
_CONTROL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\N{LEFT-TO-RIGHT EMBEDDING}-"
    "\N{RIGHT-TO-LEFT OVERRIDE}\N{LEFT-TO-RIGHT ISOLATE}-"
    "\N{POP DIRECTIONAL ISOLATE}]"
)

_GAP = 3
# Of a caption: an action, a reward and the number of the environment.
_CELL_WIDTH = 20
# Two lines of the caption, and an empty one.
_CAPTION_HEIGHT = 3


def has_boards(recording: Recording) -> bool:
    """Return whether the recording is shown as boards; else as conversations."""
    return recording.tiles is not None and not recording.is_text


def boards_in(recording: Recording, width: int, height: int) -> tuple[int, int]:
    """Return the columns and rows of boards that fit; at least one each."""
    rows, columns = recording.board_shape
    cell = max(2 * columns, _CELL_WIDTH) + _GAP
    return (
        max((width + _GAP) // cell, 1),
        max((height + 1) // (rows + _CAPTION_HEIGHT), 1),
    )


def board_lines(
    recording: Recording,
    tick: int,
    *,
    first: int = 0,
    width: int = 80,
    height: int | None = None,
    colour: bool = True,
) -> list[str]:
    """Return boards with captions, side by side.

    Parameters
    ----------
    recording : Recording
        See `has_boards`.
    tick : int
    first : int
        The index of the first environment.
    width, height : int
        Of the screen, in characters.  None: as many rows as there are.
    colour : bool
    """
    count = len(recording.env_ids) - first
    columns, rows = boards_in(recording, width, height or 0)
    if height is not None:
        count = min(count, columns * rows)
    board_height, board_width = recording.board_shape
    cell_width = max(2 * board_width, _CELL_WIDTH)
    lines: list[str] = []
    for start in range(first, first + count, columns):
        cells = [
            _cell(recording, index, tick, board_height, cell_width, colour)
            for index in range(start, min(start + columns, first + count))
        ]
        for parts in zip(*cells, strict=True):
            lines.append((" " * _GAP).join(parts).rstrip())
        lines.append("")
    return lines[:-1]


def transcript_lines(
    recording: Recording,
    index: int,
    tick: int,
    *,
    width: int = 80,
    colour: bool = True,
) -> list[str]:
    """Return an episode up to a tick: instruction, observations, answers, rewards.

    Parameters
    ----------
    recording : Recording
    index : int
        Of the environment in ``recording.env_ids``.
    tick : int
    width : int
        Of a line, in characters.
    colour : bool
    """
    episode: list[tuple[int, Frame]] = []
    for number, frame in enumerate(recording.frames[index][: tick + 1]):
        if frame is None:
            continue
        if frame.is_reset:
            episode = []
        episode.append((number, frame))
    lines: list[str] = []
    for number, frame in episode:
        step = recording.ticks[number].step
        for text, style in _turn(recording, index, frame, step):
            for line in _wrap(text, width):
                lines.append(paint(line, style) if colour else line)
    return lines


def _turn(
    recording: Recording, index: int, frame: Frame, step: int
) -> Iterator[tuple[str, str]]:
    """Yield texts of one frame and their colours."""
    number = recording.env_ids[index]
    if frame.is_reset:
        yield f"#{number}, episode {frame.episode}", _BOLD
        instruction = frame.infos.get("env_instruction")
        if instruction:
            yield _plain(str(instruction)), _DIM
    else:
        yield f"> {_plain(frame.action_name)}", _ANSWER
        end = end_word(recording, index, frame, step)
        facts = [f"reward {reward_text(frame)}", f"return {return_text(frame)}"]
        yield ", ".join([*facts, *([end] if end else [])]), _COLOURS.get(end, _DIM)
        if frame.fault is not None:
            yield _plain(frame.fault), _COLOURS["fault"]
    if frame.text is not None:
        yield _plain(frame.text), ""


def _cell(
    recording: Recording,
    index: int,
    tick: int,
    board_height: int,
    width: int,
    colour: bool,
) -> list[str]:
    """Return the lines of one board and its caption, each as wide as the cell."""
    frame = recording.latest(index, tick)
    number = f"#{recording.env_ids[index]}"
    if frame is None:
        return [" " * width] * (board_height + 2)
    board: list[str] = []
    if frame.board is not None:
        # A character is twice as high as wide: with a space it is a square.
        glyphs = {
            code: glyph.strip().ljust(2) for code, glyph in enumerate(recording.glyphs)
        }
        colours = dict(enumerate(recording.colours))
        board = colour_grid(frame.board, glyphs, colours, colour=colour).split("\n")
    board += [""] * (board_height - len(board))
    end = end_word(recording, index, frame, recording.ticks[tick].step)
    reward = reward_text(frame)
    free = width - len(number) - len(reward) - 2
    action = _plain(action_text(frame))[: max(free, 0)]
    total = return_text(frame)
    captions = [
        f"{number} {action}".ljust(width - len(reward)) + reward,
        end.ljust(width - len(total)) + total,
    ]
    if colour and end:
        captions[1] = captions[1].replace(end, paint(end, _COLOURS[end]), 1)
    return [_pad(line, width) for line in (*board, *captions)]


def _pad(line: str, width: int) -> str:
    """Return a line with spaces, so that it is as wide as the cell."""
    return line + " " * (width - len(strip_colours(line)))


def _plain(text: str) -> str:
    """Return a text with a visible character for each control character."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\t", "    "))


def _wrap(text: str, width: int) -> Iterator[str]:
    for paragraph in text.splitlines() or [""]:
        if len(paragraph) <= width:
            # Spaces of a board or a table stay.
            yield paragraph
        else:
            yield from textwrap.wrap(paragraph, width) or [""]
