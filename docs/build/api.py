"""The public names of roll_vec, from the source files: some modules need an extra."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import Any

import roll_vec

ROOT = Path(__file__).resolve().parents[2]
SHORT = ("roll_vec.adapters.", "roll_vec.envs.", "roll_vec.errors")


def public_modules() -> list[str]:
    """Return the public modules, in the order of the reference."""
    return ["roll_vec", *(f"roll_vec.{name}" for name in roll_vec.PUBLIC_MODULES)]


@functools.cache
def public_names(module: str) -> list[str]:
    """Return the public names of a module: its ``__all__``; empty without one."""
    for node in _tree(module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
            return [name for name in names if not name.startswith("__")]
    return []


def reference(_: str) -> str:
    """Return the names of each public module, with links to their files.

    Adapters, games and errors, which have pages, only list them.
    """
    parts = []
    for module in public_modules():
        names, lines = [], []
        for name in public_names(module):
            place, text = _find(module, name)
            path = _file(place).relative_to(ROOT).as_posix()
            names.append(f"[`{name}`](../{path})")
            lines.append(f"- {names[-1]}" + (f": {text}" if text else ""))
        text = "\n".join(lines)
        if module.startswith(SHORT) or len(names) == 1:
            text = ", ".join(names) + "."
        parts.append(f"## {module}\n\n{_first_line(_tree(module))}\n\n{text}")
    return "\n\n".join(parts)


def _find(module: str, name: str) -> tuple[str, str]:
    """Return the module that defines a name, and the first line of its docstring."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [alias.name for alias in node.names]
            if name in names:
                return _find(node.module, name)
    nodes = [x for x in _tree(module).body if getattr(x, "name", "") == name]
    # Of overloads, the last.
    return module, _first_line(nodes[-1]) if nodes else ""


def _first_line(node: Any) -> str:
    return (ast.get_docstring(node) or "").partition("\n")[0].replace("``", "`")


def _file(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_file(module).read_text("utf-8"))
