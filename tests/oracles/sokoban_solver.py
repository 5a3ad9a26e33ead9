"""The fewest moves or pushes that solve a Sokoban room, by search in plain Python."""

from collections import deque

WALL, FLOOR, TARGET, BOX_ON_TARGET, BOX, PLAYER, PLAYER_ON_TARGET = range(7)

# By direction: up, down, left, right.
STEPS = [(-1, 0), (1, 0), (0, -1), (0, 1)]


def read(grid):
    """Return walls and targets as sets of (row, column), and the first state.

    A state is the player's cell and a frozenset of the boxes' cells.
    """
    cells = {(r, c): code for r, row in enumerate(grid) for c, code in enumerate(row)}
    walls = {cell for cell, code in cells.items() if code == WALL}
    targets = {
        cell
        for cell, code in cells.items()
        if code in (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET)
    }
    boxes = frozenset(
        cell for cell, code in cells.items() if code in (BOX, BOX_ON_TARGET)
    )
    (player,) = (cell for cell, code in cells.items() if code >= PLAYER)
    return walls, targets, (player, boxes)


def move(walls, state, direction):
    """Return the next state, or None if nothing moves, and whether a box was pushed."""
    player, boxes = state
    down, right = STEPS[direction]
    to = (player[0] + down, player[1] + right)
    beyond = (to[0] + down, to[1] + right)
    if to in walls:
        return None, False
    if to not in boxes:
        return (to, boxes), False
    if beyond in walls or beyond in boxes:
        return None, False
    return (to, boxes - {to} | {beyond}), True


def measure(grid, objective):
    """Return the fewest moves or pushes until no box is beside the targets, or None.

    ``pushes``: states are taken in the order of their pushes, as a walk is free.
    """
    walls, targets, first = read(grid)
    costs, queue, done = {first: 0}, deque([first]), set()
    while queue:
        state = queue.popleft()
        if state in done:
            continue
        done.add(state)
        if state[1] <= targets:
            return costs[state]
        for direction in range(4):
            following, is_push = move(walls, state, direction)
            if following is None:
                continue
            is_free = objective == "pushes" and not is_push
            cost = costs[state] + (not is_free)
            if cost < costs.get(following, cost + 1):
                costs[following] = cost
                if is_free:
                    queue.appendleft(following)
                else:
                    queue.append(following)
    return None


def replay(grid, directions):
    """Return whether moves solve a room, and how many of them are pushes.

    The room must be solved by the last move and not before, and each must move.
    """
    walls, targets, state = read(grid)
    num_pushes = 0
    for direction in directions:
        assert not state[1] <= targets
        state, is_push = move(walls, state, direction)
        assert state is not None
        num_pushes += is_push
    return state[1] <= targets, num_pushes
