"""Answers of chats: what the model wrote, or the calls of tools that it made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roll_vec.recordings.readers import kinds
from roll_vec.recordings.readers.rows import Row

# Of WebShop, whose actions name the tool.
_FORMS = {"search": "search[{}]", "click": "click[{}]"}


def text_of(content: Any) -> str:
    """Return the text of a message's content: a text, a list of parts, or None."""
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def prompt_of(prompt: str | Sequence[Mapping[str, Any]]) -> str:
    """Return a prompt as one text; of a chat, what follows its last answer."""
    if isinstance(prompt, str):
        return prompt
    return split_chat([*prompt, {"role": "assistant"}])[1][-1]


def split_chat(
    messages: Sequence[Mapping[str, Any]], prompt: str = ""
) -> tuple[list[str], list[str]]:
    """Return the answers of a chat, and before each the new messages as one text.

    Parameters
    ----------
    messages : sequence of dict
    prompt : str
        Before the first message.
    """
    answers: list[str] = []
    prompts: list[str] = []
    unread = [prompt] if prompt else []
    for message in messages:
        text = text_of(message.get("content"))
        if message.get("role") == "assistant":
            answers.append(text)
            prompts.append("\n\n".join(unread))
            unread = []
        else:
            unread.append(text)
    return answers, prompts


def answer_of(call: Row, name: str) -> Any:
    """Return the answer of a call: the value of its one argument.

    Parameters
    ----------
    call : Row
        With the name of the tool, and ``arguments``: an object, or its JSON.
    name : str
        The key of the tool's name.

    Raises
    ------
    InvalidFileError
        If there are other arguments.
    """
    arguments = call.find("arguments", kinds.ANY, {})
    if isinstance(arguments, str):
        arguments = call.parse("arguments", arguments, kinds.OBJECT)
    call.check("arguments", kinds.OBJECT, arguments)
    # Parquet files have all names of arguments in each call.
    values = [value for value in arguments.values() if value is not None]
    if len(values) != 1:
        raise call.error("arguments", "expected an object with one value")
    form = _FORMS.get(call.find(name, kinds.TEXT, ""))
    return values[0] if form is None else form.format(values[0])
