"""The model and the tokenizer of the program of docs/frameworks/trl.md."""

from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "frameworks" / "trl.md"


def make_model():
    """Return a tiny model with random weights, and a tokenizer of single bytes."""
    program = PAGE.read_text("utf-8").partition("```python\n")[2]
    names = {}
    exec(program.partition("\nprompt = ")[0], names)
    return names["model"], names["tokenizer"]
