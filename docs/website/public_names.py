"""The modules and names of roll_vec that users may use.

They are read from the source files, because some modules need an extra.
"""

from __future__ import annotations

import ast
from pathlib import Path

import roll_vec

ROOT = Path(__file__).resolve().parents[2]
# Of a game, besides its package.
_GAME_MODULES = ("level_files", "solver")
# Adapters share these; users do not need them.
_SHARED_BY_ADAPTERS = ("browser_guard", "tiles")


def public_modules() -> list[str]:
    """Return the public modules, in the order of the reference."""
    tops = sorted(set(dir(roll_vec)) - set(roll_vec.__all__))
    modules = ["roll_vec", *(f"roll_vec.{name}" for name in tops)]
    for game in _children("roll_vec.envs"):
        parts = [game, *(f"{game}.{name}" for name in _GAME_MODULES)]
        modules += [part for part in parts if _lists_names(part)]
    modules += [
        name
        for name in _children("roll_vec.adapters")
        if name.rpartition(".")[2] not in _SHARED_BY_ADAPTERS
    ]
    return modules


def public_names(module: str) -> list[str]:
    """Return the public names of a module: its ``__all__``, in its order."""
    if module == "roll_vec":
        return sorted({*roll_vec.__all__} - {"__version__"})
    for node in _tree(module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
            return [name for name in names if not name.startswith("__")]
    message = f"{module} has no __all__"
    raise ValueError(message)


def first_line(module: str) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(_tree(module)) or "").partition("\n")[0]


def _lists_names(module: str) -> bool:
    path = _file_of(module)
    return path.is_file() and "\n__all__ =" in path.read_text("utf-8")


def _file_of(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _tree(module: str) -> ast.Module:
    return ast.parse(_file_of(module).read_text("utf-8"))


def _children(package: str) -> list[str]:
    """Return the modules and packages in a package."""
    folder = _file_of(package).parent
    names = {
        path.stem
        for path in folder.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    return [f"{package}.{name}" for name in sorted(names) if name[0] != "_"]
