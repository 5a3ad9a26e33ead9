"""Answers that are calls of tools, as the environments of TRL and OpenEnv have them."""

from __future__ import annotations

from typing import Any

from roll_vec.recordings.readers.rows import ANY, OBJECT, TEXT, Row, parse

# Of WebShop, whose actions name the tool.
_FORMS = {"search": "search[{}]", "click": "click[{}]"}


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
    arguments = call.find("arguments", ANY, {})
    if isinstance(arguments, str):
        try:
            arguments = parse(arguments)
        except ValueError:
            arguments = None
    # Parquet files have all names of arguments in each call.
    is_object = OBJECT.accepts(arguments)
    values = [x for x in arguments.values() if x is not None] if is_object else []
    if len(values) != 1:
        raise call.error("arguments", "expected an object with one value")
    form = _FORMS.get(call.find(name, TEXT, ""))
    return values[0] if form is None else form.format(values[0])
