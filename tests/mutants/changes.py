"""Changes of one function's syntax tree: what a planted bug does to the code."""

import ast
from collections.abc import Callable
from typing import NamedTuple


class Change(NamedTuple):
    """Code of one node, as Python writes it, and what comes in its place.

    Layout, comments and quotes of the source make no difference.
    """

    code: str
    rewrite: Callable[[ast.AST], str]


def negate(condition: str) -> Change:
    """Return the change that makes a condition its opposite."""
    return Change(condition, lambda node: f"(not ({ast.unparse(node)}))")


def drop(statement: str) -> Change:
    """Return the change that leaves out a simple statement."""
    return Change(statement, lambda node: "pass")


def change(old: str, new: str) -> Change:
    """Return the change of one expression or statement to another."""
    return Change(old, lambda node: new)


def swap(expression: str) -> Change:
    """Return the change that swaps two operands, or the branches of a condition."""
    names = {ast.BinOp: ("left", "right"), ast.IfExp: ("body", "orelse")}

    def rewrite(node: ast.AST) -> str:
        one, other = names[type(node)]
        vars(node).update({one: getattr(node, other), other: getattr(node, one)})
        return f"({ast.unparse(node)})"

    return Change(expression, rewrite)


def _find_function(tree: ast.Module, name: str) -> ast.AST:
    """Return the function or class of a dotted name, or the module for ``""``."""
    place: ast.AST = tree
    for part in filter(None, name.split(".")):
        inside = [
            node
            for node in ast.walk(place)
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == part
        ]
        if len(inside) != 1:
            message = f"{name}: {part} stands {len(inside)} times"
            raise ValueError(message)
        place = inside[0]
    return place


def plant(source: str, function: str, bug: Change) -> str:
    """Return the source of a module with a change in one of its functions.

    It is a `ValueError` if the function or the code is not there exactly once.
    """
    tree = ast.parse(source)
    (wanted,) = ast.parse(bug.code).body
    is_expression = isinstance(wanted, ast.Expr)
    code = ast.unparse(wanted)
    nodes = [
        node
        for node in ast.walk(_find_function(tree, function))
        if isinstance(node, ast.expr if is_expression else ast.stmt)
        and ast.unparse(node) == code
    ]
    if len(nodes) != 1:
        message = f"{function} has `{code}` {len(nodes)} times"
        raise ValueError(message)
    (node,) = nodes
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    first = starts[node.lineno - 1] + node.col_offset
    last = starts[node.end_lineno - 1] + node.end_col_offset
    text = b"".join(lines)
    return (text[:first] + bug.rewrite(node).encode() + text[last:]).decode()
