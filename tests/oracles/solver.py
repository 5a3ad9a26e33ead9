"""Is this level solvable, and in how few moves?  Exhaustive, for small levels only."""

from collections import deque

TARGET, BOX_ON_TARGET, BOX, PLAYER = 2, 3, 4, 5

MOVES = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}
"""Sokoban's actions: up, down, left, right."""


def solve_sokoban(room_fixed, room_state):
    """Find a shortest list of actions that leaves no target open.

    Breadth first over the player's cell and the set of cells with a box.

    Parameters
    ----------
    room_fixed, room_state : rows of codes, as in ``sokoban.py``

    Returns
    -------
    actions : list of int, or None
        Empty if the room is solved already, None if it cannot be solved.
    """
    fixed, state = _cells(room_fixed), _cells(room_state)
    free = {cell for cell, code in fixed.items() if code != 0}
    targets = {cell for cell, code in fixed.items() if code == TARGET}
    boxes = frozenset(
        cell for cell, code in state.items() if code in (BOX, BOX_ON_TARGET)
    )
    (player,) = (cell for cell, code in state.items() if code == PLAYER)

    came_from = {(player, boxes): None}
    queue = deque(came_from)
    while queue:
        player, boxes = here = queue.popleft()
        if targets <= boxes:
            return _actions_to(here, came_from)
        for action, (down, right) in MOVES.items():
            to = (player[0] + down, player[1] + right)
            beyond = (to[0] + down, to[1] + right)
            if to not in free:
                continue
            if to not in boxes:
                following = (to, boxes)
            elif beyond in free and beyond not in boxes:
                following = (to, boxes - {to} | {beyond})
            else:
                continue
            if following not in came_from:
                came_from[following] = (here, action)
                queue.append(following)
    return None


def lake_is_solvable(rows):
    """Say whether a goal can be reached from a start without entering a hole.

    ``rows`` are strings of S, F, H and G; one moves to the four neighbours.
    """
    cells = _cells(rows)
    reached = {cell for cell, letter in cells.items() if letter == "S"}
    frontier = list(reached)
    while frontier:
        row, column = frontier.pop()
        for down, right in MOVES.values():
            cell = (row + down, column + right)
            if cells.get(cell, "H") != "H" and cell not in reached:
                reached.add(cell)
                frontier.append(cell)
    return any(cells[cell] == "G" for cell in reached)


def _cells(rows):
    """Turn rows into a dictionary from (row, column) to the entry."""
    return {(r, c): entry for r, row in enumerate(rows) for c, entry in enumerate(row)}


def _actions_to(state, came_from):
    """Follow the steps back to the start."""
    actions = []
    while came_from[state] is not None:
        state, action = came_from[state]
        actions.append(action)
    return actions[::-1]
