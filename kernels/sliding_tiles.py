"""Fewest moves of sliding tiles: pattern databases and an iterative deepening search.

Cells and tiles of a board of n x n are numbered row by row; tile t belongs to cell
t - 1, and 0 is the empty cell.  A pattern is a group of tiles (Korf and Felner, 2002).
Its table has, for each placing of these tiles, the fewest moves of them that bring
them home, whatever the other tiles do.  Each tile is in one pattern, so the sum over
the patterns is never too high.  Sets of cells are bits of an integer.

Actions: 0 up, 1 down, 2 left, 3 right, as the tile moves.
"""

from ._jit import kernel


@kernel
def _neighbour(cell, action, n):
    """Return the cell whose tile an action moves into an empty cell; -1: none."""
    row = cell // n + (action == 0) - (action == 1)
    column = cell % n + (action == 2) - (action == 3)
    if 0 <= row < n and 0 <= column < n:
        return row * n + column
    return -1


@kernel
def _flood(cell, free, n, first_column):
    """Return the cells that an empty cell can go to within a set of cells."""
    area, last_column = 1 << cell, first_column << (n - 1)
    while True:
        grown = area | area << n | area >> n
        grown |= (area & ~last_column) << 1 | (area & ~first_column) >> 1
        grown &= free
        if grown == area:
            return area
        area = grown


@kernel
def measure_pattern(pattern, n, queue, areas, out):
    """Write the table of a pattern, breadth first from the tiles at home.

    A state is a placing of the k tiles and the area of free cells around the empty one.

    Parameters
    ----------
    pattern : (k,) int64, read
        Tiles.
    n : int
    queue : (2 s, 2) int64, written
        For the states; s is the number of placings.
    areas : (n**2k,) int64, updated
        All 0.
    out : (n**2k,) uint8, updated
        All 255.  Item ``sum(cell_i * n**2i)`` is that of tiles at these cells.

    Returns
    -------
    int
        The number of states.
    """
    k, num_cells = len(pattern), n * n
    everywhere, first_column = (1 << num_cells) - 1, 0
    for row in range(n):
        first_column |= 1 << row * n
    home, weight, free = 0, 1, everywhere
    for i in range(k):
        home += (pattern[i] - 1) * weight
        weight *= num_cells
        free &= ~(1 << (pattern[i] - 1))
    out[home] = 0
    areas[home] = _flood(num_cells - 1, free, n, first_column)
    queue[0, 0], queue[0, 1] = home, areas[home]
    # States of the same distance follow each other; ``end`` is the end of these.
    start, end, stop, distance = 0, 1, 1, 0
    while start < stop:
        if start == end:
            end = stop
            distance += 1
        placing, area = queue[start, 0], queue[start, 1]
        start += 1
        free, rest = everywhere, placing
        for _ in range(k):
            free &= ~(1 << rest % num_cells)
            rest //= num_cells
        rest, weight = placing, 1
        for _ in range(k):
            cell = rest % num_cells
            for action in range(4):
                # A tile moves into a free cell of the area, and leaves an empty one.
                other = _neighbour(cell, action, n)
                if other >= 0 and area >> other & 1:
                    new = placing + (other - cell) * weight
                    if not areas[new] >> cell & 1:
                        new_free = free & ~(1 << other) | 1 << cell
                        new_area = _flood(cell, new_free, n, first_column)
                        areas[new] |= new_area
                        queue[stop, 0], queue[stop, 1] = new, new_area
                        stop += 1
                        out[new] = min(out[new], distance + 1)
            rest //= num_cells
            weight *= num_cells
    return stop


@kernel
def _mirror(cell, n):
    """Return the cell that a cell becomes in the board's image at the diagonal."""
    return cell % n * n + cell // n


@kernel
def find_solution(board, n, patterns, weights, tables, max_nodes, scratch, out):
    """Search for the fewest moves that solve a board.

    Depth first, with bounds of more and more moves (IDA*, Korf 1985).  The estimate is
    that of the board, or that of its image at the diagonal if this is higher.

    Parameters
    ----------
    board : (n**2,) int64, updated
        The tiles of the cells: a board that can be solved.
    n : int
    patterns, weights : (n**2,) int64, read
        By tile: the row of its pattern's table, and the weight of its cell there.
    tables : (p, ...) uint8, read
        Of `measure_pattern`, a row for each pattern.
    max_nodes : int
        The search gives up after so many moves.
    scratch : (2 p + 3 d,) int64, written
        For solutions of fewer than d moves.
    out : (d,) int64, written
        The actions.

    Returns
    -------
    int
        The number of moves; -1: the search gave up.
    """
    num_cells, num_patterns, num_nodes = n * n, len(tables), 0
    # The placings of the board, then those of its image.
    placings, path = scratch[: 2 * num_patterns], scratch[2 * num_patterns :]
    placings[:] = 0
    empty = 0
    for cell in range(num_cells):
        tile = board[cell]
        if tile == 0:
            empty = cell
        else:
            twin = _mirror(tile - 1, n) + 1
            placings[patterns[tile]] += cell * weights[tile]
            place = num_patterns + patterns[twin]
            placings[place] += _mirror(cell, n) * weights[twin]
    # At each depth: both estimates, and the next action to try.
    path[:3] = 0
    for p in range(num_patterns):
        path[0] += tables[p, placings[p]]
        path[1] += tables[p, placings[num_patterns + p]]
    bound = max(path[0], path[1])
    while num_nodes < max_nodes:
        depth, next_bound = 0, -1
        path[2] = 0
        while depth >= 0:
            now = 3 * depth
            if path[now] == 0:
                return depth
            action = path[now + 2]
            path[now + 2] += 1
            # With all actions done, the move that led here is undone.
            is_back = action == 4
            if is_back:
                depth -= 1
                if depth < 0:
                    break
                action = out[depth] ^ 1
            elif depth > 0 and action == out[depth - 1] ^ 1:
                continue
            cell = _neighbour(empty, action, n)
            if cell < 0:
                continue
            tile = board[cell]
            twin = _mirror(tile - 1, n) + 1
            p, image = patterns[tile], num_patterns + patterns[twin]
            old, old_image = placings[p], placings[image]
            new = old + (empty - cell) * weights[tile]
            distance = _mirror(empty, n) - _mirror(cell, n)
            new_image = old_image + distance * weights[twin]
            if not is_back:
                num_nodes += 1
                first = path[now] + tables[p, new] - tables[p, old]
                second = path[now + 1] + tables[patterns[twin], new_image]
                second -= tables[patterns[twin], old_image]
                total = depth + 1 + max(first, second)
                if total > bound:
                    if next_bound < 0 or total < next_bound:
                        next_bound = total
                    continue
                path[now + 3], path[now + 4], path[now + 5] = first, second, 0
                out[depth] = action
                depth += 1
            placings[p], placings[image] = new, new_image
            board[empty], board[cell] = tile, 0
            empty = cell
        bound = next_bound
    return -1
