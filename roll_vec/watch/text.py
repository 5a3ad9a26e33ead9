"""A recording as plain text: grids of boards, tick by tick, or conversations.

Texts of environments and models have no control characters: those could change the
settings of a terminal, or the order in which it shows a line.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import TextIO

from roll_vec.watch.frames import Frame, Recording

# The last two ranges change the direction of the text that follows.
_CONTROL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\N{LEFT-TO-RIGHT EMBEDDING}-"
    "\N{RIGHT-TO-LEFT OVERRIDE}\N{LEFT-TO-RIGHT ISOLATE}-"
    "\N{POP DIRECTIONAL ISOLATE}]"
)

_GAP = 3
# Of a caption: an action, a reward and the number of the environment.
_CELL_WIDTH = 20


def write_text(out: TextIO, recording: Recording, width: int = 80) -> None:
    """Write all that happened: boards tick by tick, or each episode of texts.

    Parameters
    ----------
    out : text stream
    recording : Recording
    width : int
        Of a line, in characters.
    """
    out.write(f"{recording.title}\n")
    if recording.tiles is None or recording.is_text:
        for index in range(len(recording.env_ids)):
            for line in _conversation(recording, index, width):
                out.write(f"{line}\n")
        return
    for number, tick in enumerate(recording.ticks):
        out.write(f"\nstep {tick.step}{' (reset)' if tick.is_reset else ''}\n")
        for line in _boards(recording, number, width):
            out.write(f"{line}\n")


def _boards(recording: Recording, tick: int, width: int) -> Iterator[str]:
    """Yield the lines of all boards with captions, side by side."""
    count = len(recording.env_ids)
    board_height, board_width = recording.board_shape
    cell_width = max(_glyph_width(recording) * board_width, _CELL_WIDTH)
    columns = max((width + _GAP) // (cell_width + _GAP), 1)
    for start in range(0, count, columns):
        if start:
            yield ""
        cells = [
            _cell(recording, index, tick, board_height, cell_width)
            for index in range(start, min(start + columns, count))
        ]
        for parts in zip(*cells, strict=True):
            yield (" " * _GAP).join(parts).rstrip()


def _glyph_width(recording: Recording) -> int:
    """Return the width of a cell of a board: that of its longest glyph and a space."""
    # A character is twice as high as wide: with a space it is a square.
    return max((len(glyph.strip()) for glyph in recording.glyphs), default=1) + 1


def _cell(
    recording: Recording, index: int, tick: int, board_height: int, width: int
) -> list[str]:
    """Return the lines of one board and its caption, each as wide as the cell."""
    frame = recording.latest(index, tick)
    number = f"#{recording.env_ids[index]}"
    if frame is None:
        return [" " * width] * (board_height + 2)
    lines: list[str] = []
    if frame.board is not None:
        glyph_width = _glyph_width(recording)
        glyphs = [glyph.strip().ljust(glyph_width) for glyph in recording.glyphs]
        lines = ["".join(glyphs[code] for code in row) for row in frame.board.tolist()]
    lines += [""] * (board_height - len(lines))
    end = recording.end_word(index, frame, recording.ticks[tick].step)
    reward, total = frame.reward_text, frame.return_text
    free = width - len(number) - len(reward) - 2
    action = _plain(frame.action_text)[: max(free, 0)]
    lines.append(f"{number} {action}".ljust(width - len(reward)) + reward)
    lines.append(end.ljust(width - len(total)) + total)
    return [line.ljust(width) for line in lines]


def _conversation(recording: Recording, index: int, width: int) -> Iterator[str]:
    """Yield instruction, observations, answers and rewards of an environment."""
    for tick, frame in zip(recording.ticks, recording.frames[index], strict=True):
        if frame is not None:
            for text in _turn(recording, index, frame, tick.step):
                yield from _wrap(text, width)


def _turn(recording: Recording, index: int, frame: Frame, step: int) -> Iterator[str]:
    """Yield the texts of one frame."""
    if frame.is_reset:
        yield ""
        yield f"#{recording.env_ids[index]}, episode {frame.episode}"
        instruction = frame.infos.get("env_instruction")
        if instruction:
            yield _plain(str(instruction))
    else:
        yield f"> {_plain(frame.action_name)}"
        end = recording.end_word(index, frame, step)
        facts = [f"reward {frame.reward_text}", f"return {frame.return_text}"]
        yield ", ".join([*facts, *([end] if end else [])])
        if frame.fault is not None:
            yield _plain(frame.fault)
    if frame.text is not None:
        yield _plain(frame.text)


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
