"""Completions of TRL: ``completions_STEP.parquet``, by ``log_completions`` (TRL 1.16).

The same table as JSON lines is read as well.  TRL logs no column of the data set.  The
reward function `roll_vec.adapters.trl.log_episodes` logs the columns ``id``,
``keywords`` (JSON), ``seed``, ``answers`` and ``step_rewards``; one of the user may log
only ``seed``, by TRL's ``log_extra``.  Without ``answers`` they are the calls of tools,
or the completion itself if the environment has no tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from roll_vec.errors import InvalidFileError, MissingExtraError, one_line
from roll_vec.recordings.readers import kinds
from roll_vec.recordings.readers.chats import answer_of, prompt_of, split_chat, text_of
from roll_vec.recordings.readers.rows import Row
from roll_vec.recordings.readers.task import Task
from roll_vec.recordings.recorded_episodes import RecordedEpisode

NAMES = ({"prompt", "completion"},)
EPISODE_OVER = "The episode is over. No further action counts."
"""The end of the result of the last tool call, and the result of those after it."""
REWARD_COLUMNS = ("MoveEnv", "PictureEnv", "ShopEnv", "AnswerEnv")
"""The classes of `roll_vec.adapters.trl`, by which TRL names the columns of returns."""
_STEP, _ADVANTAGE = "step", "advantage"
# TRL's result of a call that raised an error, so that no action was taken.
_ERROR = "{'error': "


def read_parquet(path: Path) -> Iterator[Row]:
    """Yield the rows of a Parquet file.

    Raises
    ------
    InvalidFileError
    MissingExtraError
        Without the extra ``parquet``.
    """
    parquet = MissingExtraError.import_module(
        "pyarrow.parquet", "a Parquet file", extra="parquet"
    )
    try:
        rows = parquet.read_table(path).to_pylist()
    except Exception as error:  # those of pyarrow are of many kinds
        message = f"{str(path)!r}: expected a whole Parquet file: {one_line(error)}"
        raise InvalidFileError(message) from error
    for number, row in enumerate(rows, 1):
        yield Row(row, path, f"row {number}")


def read(rows: Iterable[Row], task: Task) -> Iterator[RecordedEpisode]:
    """Yield the episodes of TRL's completions."""
    rows = list(rows)
    has_tools = any(map(_has_tools, rows))
    group, last = -1, None
    for row in rows:
        # Members of a group stand one after the other.
        key = row.find(_STEP, kinds.COUNT), row.get("prompt", kinds.CHAT_OR_TEXT)
        if group < 0 or key != last:
            group, last = group + 1, key
        yield _read_row(row, task, has_tools, f"{key[0] or 0}/{group}")


def _has_tools(row: Row) -> bool:
    """Whether the completion of a row, or its columns, are those of tools."""
    if not set(REWARD_COLUMNS).isdisjoint(row.content):
        return True
    completion = row.get("completion", kinds.CHAT_OR_TEXT)
    if isinstance(completion, str):
        return False
    return any(part.find("tool_calls", kinds.ANY) for part in row.rows("completion"))


def _read_row(row: Row, task: Task, has_tools: bool, group: str) -> RecordedEpisode:
    prompts: list[str] | None
    prompt = prompt_of(row.content["prompt"])
    completion, fault = row.get("completion", kinds.CHAT_OR_TEXT), None
    if isinstance(completion, str):
        answers, prompts = [completion], [prompt]
    elif has_tools:
        answers, prompts, is_over = _read_calls(row, prompt)
        fault = None if is_over else "the model stopped"
    else:
        answers, prompts = split_chat(completion, prompt)
    logged = row.find("answers", kinds.ANSWERS)
    if logged is not None:
        answers = logged
        # The completion may lack a call, or have others.
        prompts = prompts if len(prompts) == len(answers) else None
    keywords = row.find("keywords", kinds.TEXT)
    if keywords is not None:
        keywords = row.parse("keywords", keywords, kinds.OBJECT)
    return task.make_episode(
        row,
        answers,
        row.get("seed", kinds.COUNT),
        id=row.find("id", kinds.TEXT),
        keywords=keywords,
        rewards=row.find("step_rewards", kinds.NUMBERS),
        total_reward=_read_return(row),
        prompts=prompts,
        group=group,
        fault=fault,
    )


def _read_calls(row: Row, prompt: str) -> tuple[list[Any], list[str], bool]:
    """Return the answers, their prompts, and whether the episode ended."""
    answers, prompts, unread, is_over = [], [], [prompt], False
    messages = row.rows("completion")
    for place, message in enumerate(messages):
        for number, part in enumerate(message.rows("tool_calls"), place + 1):
            # A result that would be too long is left out, but the action was taken.
            after = messages[number].content if number < len(messages) else {}
            is_result = after.get("role") == "tool"
            result = text_of(after.get("content")) if is_result else ""
            if not is_over and not result.startswith(_ERROR):
                answers.append(answer_of(part.enter("function"), "name"))
                prompts.append("\n\n".join(unread))
                unread = []
            unread.append(result)
            is_over = is_over or result.endswith(EPISODE_OVER)
    return answers, prompts, is_over


def _read_return(row: Row) -> float | None:
    """Return the sum of the rewards: a column of ours, or the one of a reward."""
    numbers = {
        name: value
        for name, value in row.content.items()
        if type(value) is float and value == value and name != _ADVANTAGE
    }
    ours = [value for name, value in numbers.items() if name in REWARD_COLUMNS]
    values = ours or [*numbers.values()]
    return values[0] if len(values) == 1 else None
