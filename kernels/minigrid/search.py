"""Kernels of the search for plans in grids with doors, keys and things to carry.

A search is A* over whole states, which the rules of a game step; what stands here is
all the rest.  A state has a lower bound of the steps to its end: those of a plan in
which things may be carried without end.  Its parts:

- a *fact* is something that has to be true once: a thing was carried, a door opened;
- a *progress* is a set of facts, in bits;
- a *pose* is a cell and a direction, ``(x * height + y) * 4 + direction``;
- a *hand* is 0 where nothing is carried, else 1;
- a *layer* is the bound of a progress by hand and pose, (2 * num_poses,) int16.

`measure_tasks` makes a layer for each progress, in which things and doors stop nobody.
For the progress and the grid of a state `_find_layer` makes a better one, in which they
do, until the next fact.

Source of the rules: MiniGrid 3.2.0, ``minigrid_env.py`` and ``core/world_object.py``.
"""

import numpy as np

from .._jit import kernel

# Kinds of facts: a thing is carried; a pickup of one; one is in front of the agent; a
# door is opened; a carried thing is put next to another one; it is put near, also
# across a corner; the agent is on a cell.
HOLD, PICK, FACE, OPEN, NEXT, NEAR, REACH = range(7)
# Kinds of cells.  The kind of a locked door is LOCKED plus the number of the fact that
# a key of its colour is carried.
EMPTY, FREE, THING, BOX, SHUT, SOLID, LOCKED = range(7)
# What grids are in the layers of a search.
NOW, BOUND, ESTIMATE = range(3)
# No way; bounds are below `NUM_BUCKETS`.
FAR = 16383
NUM_BUCKETS = 1 << 13
# Columns of facts: the kind, the facts before it in bits, the bits of things that tell
# them apart, the only action by which it becomes true or -1, in bits the fact that the
# thing to go to has been carried, so that it may be anywhere.
KIND, REQUIRES, BITS, ACTION, MOVED = range(5)
NUM_FACT_COLUMNS = 5
# An estimate forgets that a thing was carried when it is put down; not that a key was
# once it has opened a door, which is so many bits above.
USED = 32
TOGGLE = 5
# Columns of nodes: steps from the start, the node before, the action that leads here,
# facts, pose, carried thing, the next node of a bucket, whether the bound is that of
# its own layer (-1: there is a shorter way), digests of the whole state and of its
# things.
STEPS, PARENT, LAST, PROGRESS, POSE, CARRIED, LINK, IS_EXACT, STATE, THINGS = range(10)
NUM_NODE_COLUMNS = 10
# Numbers of a search: nodes, the lowest bucket that may have one, nodes that were
# expanded, those of this round, the steps of the best end so far, its last node and
# action, layers.
NODES, BUCKET, EXPANDED, FRONT, BEST, BEST_NODE, BEST_ACTION, LAYERS = range(8)
NUM_COUNTERS = 8
# Parts of variables in a layout: bytes in the buffer and in a row before it, bytes of
# a row, its role.
OFFSET, ROW_OFFSET, SIZE, ROLE = range(4)
# A variable is set to 0 before a step, is part of a state, or is one of its things.
RESET, PART, THINGS_PART = range(3)


@kernel
def _mix(key, value):
    """Return a digest of a value in a place."""
    z = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    z ^= np.uint64(value) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(z ^ (z >> np.uint64(31)))


@kernel
def _ahead(cell, direction, height):
    """Return the cell ahead: right, down, left, up."""
    if direction % 2 == 0:
        return cell + height - direction * height
    return cell + 2 - direction


@kernel
def _matches(thing, f, side, facts, codes):
    """Return whether a thing is one of those that a fact names first or second."""
    code = thing & facts[f, BITS]
    k = 0
    while codes[f, side, k] >= 0:
        if codes[f, side, k] == code:
            return True
        k += 1
    return False


@kernel
def _is_due(f, progress, facts):
    """Return whether a fact is not true yet, and those before it are."""
    requires = facts[f, REQUIRES]
    return progress >> f & 1 == 0 and progress & requires == requires


@kernel
def _pick_up(thing, progress, facts, codes):
    """Return the progress after a pickup of a thing."""
    result = progress
    for f in range(facts.shape[0]):
        # One action may do tasks that come one after the other.
        is_picked = facts[f, KIND] <= PICK and _is_due(f, result, facts)
        if is_picked and _matches(thing, f, 0, facts, codes):
            result |= 1 << f
    return result


@kernel
def _do_again(thing, f, side, progress, facts, codes):
    """Return the progress after fact f, and those that the same action makes true."""
    result = progress | 1 << f
    for other in range(f + 1, facts.shape[0]):
        is_same = facts[other, KIND] == facts[f, KIND] and _is_due(other, result, facts)
        if is_same and _matches(thing, other, side, facts, codes):
            result |= 1 << other
    return result


@kernel
def _has_near(thing_cell, f, grid, height, facts, codes):
    """Return whether next to a cell is a thing that a fact names second."""
    for direction in range(4):
        near = _ahead(thing_cell, direction, height)
        is_inside = 0 <= near < grid.shape[0]
        if is_inside and _matches(grid[near], f, 1, facts, codes):
            return True
    return False


@kernel
def find_progress(progress, action, carried, before, pose, grid, task):
    """Return the facts that are true after an action.

    Parameters
    ----------
    action : int
        -1: none yet.
    carried, before : int
        What is carried after the action and before it.
    grid : (num_cells,) uint32, read
        The things after the action.
    task : tuple
        See `measure_tasks`.
    """
    height, table, facts, codes, _, _, _, penalty = task
    front = _ahead(pose // 4, pose % 4, height)
    if front < 0 or front >= grid.shape[0]:
        # The agent stands at the border of a grid without walls.
        front = pose // 4
    for f in range(facts.shape[0]):
        kind, only = facts[f, KIND], facts[f, ACTION]
        if (only >= 0 and only != action) or not _is_due(f, progress, facts):
            continue
        if action < 0 and kind != HOLD:
            continue
        is_true = False
        if kind == HOLD:
            is_true = carried != 0 and _matches(carried, f, 0, facts, codes)
        elif kind == PICK:
            is_true = before == 0 and carried != 0
            is_true = is_true and _matches(carried, f, 0, facts, codes)
        elif kind == FACE or kind == OPEN:
            is_true = _matches(grid[front], f, 0, facts, codes)
            is_open = table[grid[front] & (table.shape[0] - 2)] == FREE
            is_true = is_true and (kind == FACE or is_open)
        elif kind == NEXT:
            is_true = before != 0 and carried == 0
            is_true = is_true and _matches(before, f, 0, facts, codes)
            is_true = is_true and _has_near(front, f, grid, height, facts, codes)
        if is_true:
            progress |= 1 << f
    # The highest bit of a code is that of a lock.
    half = table.shape[0] // 2
    lock = table[grid[front] & (table.shape[0] - 2) | half] - LOCKED
    if penalty > 0 and action == TOGGLE and lock >= 0:
        progress |= 1 << lock + USED
    if penalty > 0 and before != carried and before != 0:
        for f in range(facts.shape[0]):
            is_put_down = facts[f, KIND] == HOLD and progress >> f & 1 == 1
            is_put_down = is_put_down and progress >> f + USED & 1 == 0
            if is_put_down and _matches(before, f, 0, facts, codes):
                progress ^= 1 << f
    return progress


# ------------------------------------------------------------------ lower bounds


@kernel
def _find_kinds(grid, table, height, kinds):
    """Write the kinds of all cells; those at the border are solid."""
    num_cells = grid.shape[0]
    for cell in range(num_cells):
        y = cell % height
        is_inside = height <= cell < num_cells - height and 0 < y < height - 1
        kinds[cell] = table[grid[cell] & (table.shape[0] - 1)] if is_inside else SOLID


@kernel
def _lower(layer, k, value, heap):
    """Lower the bound of hand and pose k to a value, and note it in its bucket."""
    if value < min(layer[k], NUM_BUCKETS - 2):
        layer[k] = value
        heads, links, items, size = heap
        number = size[0]
        items[number], links[number] = k, heads[value]
        heads[value] = number
        size[0] = number + 1


@kernel
def _lower_around(cell, first, last, cost, after, change, layer, task):
    """Lower the bounds of poses that face a cell.

    Parameters
    ----------
    first, last : int
        The hands with which a fact becomes true.
    cost : int
        Actions that it takes in these poses.
    after : int
        The next progress.
    change : int
        What is added to the hand.
    """
    height, _, _, _, kinds, heap, layers, _ = task
    num_poses = layer.shape[0] // 2
    for direction in range(4):
        stand = _ahead(cell, (direction + 2) % 4, height)
        if 0 <= stand < kinds.shape[0] and kinds[stand] != SOLID:
            pose = stand * 4 + direction
            for hand in range(first, last + 1):
                bound = layers[after, (hand + change) * num_poses + pose]
                _lower(layer, hand * num_poses + pose, cost + bound, heap)


@kernel
def _seed(progress, carried, grid, mode, layer, task):
    """Write the bounds of a progress in poses where a next fact becomes true.

    Parameters
    ----------
    mode : int
        See `_spread`.
    """
    height, table, facts, codes, kinds, heap, layers, penalty = task
    num_poses = layer.shape[0] // 2
    layer[:] = FAR
    # Facts whose things may be anywhere, in bits.
    anywhere = 0
    for f in range(facts.shape[0]):
        if facts[f, KIND] == HOLD or not _is_due(f, progress, facts):
            continue
        if facts[f, KIND] == REACH:
            after, k = layers[progress | 1 << f], 0
            while codes[f, 0, k] >= 0:
                for pose in range(codes[f, 0, k] * 4, codes[f, 0, k] * 4 + 4):
                    _lower(layer, pose, after[pose], heap)
                    pose += num_poses
                    _lower(layer, pose, after[pose], heap)
                k += 1
        side = int(facts[f, KIND] >= NEXT)
        is_carried = carried != 0 and _matches(carried, f, side, facts, codes)
        if is_carried or progress & facts[f, MOVED]:
            anywhere |= 1 << f
    for cell in range(grid.shape[0]):
        thing, kind = np.int64(grid[cell]), kinds[cell]
        if kind == SOLID or (thing == 0 and anywhere == 0):
            continue
        if kind == THING or kind == BOX:
            after = _pick_up(thing, progress, facts, codes)
            if after != progress:
                _lower_around(cell, 0, 0, 1, after, 1, layer, task)
        if kind == BOX:
            after = _pick_up(thing >> table[-1], progress, facts, codes)
            if after != progress:
                _lower_around(cell, 0, 0, 2, after, 1, layer, task)
        for f in range(facts.shape[0]):
            what = facts[f, KIND]
            if what == HOLD or what == REACH or not _is_due(f, progress, facts):
                continue
            side, cost = int(what >= NEXT), 0
            if not (thing != 0 and _matches(thing, f, side, facts, codes)):
                if anywhere >> f & 1 == 0:
                    continue
                cost = penalty
            elif what == PICK:
                continue
            after = _do_again(thing, f, side, progress, facts, codes)
            if what == PICK:
                _lower_around(cell, 0, 0, 1 + cost, after, 1, layer, task)
            elif what == FACE:
                _lower_around(cell, 0, 1, cost, after, 0, layer, task)
            elif what == OPEN:
                if kind < LOCKED:
                    cost = 1 + int(kind == FREE)
                    _lower_around(cell, 0, 1, cost, after, 0, layer, task)
                elif progress >> (kind - LOCKED) & 1:
                    # Later it may not be locked any more.
                    hand = int(mode == NOW)
                    _lower_around(cell, hand, 1, 1, after, 0, layer, task)
            else:
                for k in range(9):
                    i, j = k // 3 - 1, k % 3 - 1
                    near = cell + i * height + j
                    is_near = abs(i) + abs(j) == 1 or what == NEAR
                    if is_near and kinds[near] != SOLID:
                        _lower_around(near, 1, 1, 1 + cost, after, -1, layer, task)


@kernel
def _spread(progress, mode, layer, task):
    """Write the bounds of a progress in all poses, from those of `_seed` on.

    Parameters
    ----------
    mode : int
        `NOW`: things and doors are as they are; `BOUND`: later they may be elsewhere or
        open, and stop nobody; `ESTIMATE`: they will be as they are, but for locks.
    """
    is_later = mode == BOUND
    height, _, _, _, kinds, heap, _, _ = task
    num_poses = layer.shape[0] // 2
    heads, links, items, size = heap
    value, count = -1, 0
    while count < size[0]:
        value += 1
        while heads[value] >= 0:
            number = heads[value]
            count += 1
            heads[value] = links[number]
            k = items[number]
            if layer[k] != value:
                continue
            hand, pose = k // num_poses, k % num_poses
            cell, direction = pose // 4, pose % 4
            first = k - direction
            _lower(layer, first + (direction + 1) % 4, value + 1, heap)
            _lower(layer, first + (direction + 3) % 4, value + 1, heap)
            back, kind = _ahead(cell, (direction + 2) % 4, height), kinds[cell]
            if kinds[back] != SOLID:
                # The pose behind this one, with an empty hand.
                k = back * 4 + direction
                own = hand * num_poses + k
                if kind >= LOCKED:
                    if progress >> (kind - LOCKED) & 1:
                        if is_later:
                            _lower(layer, own, value + 1, heap)
                        elif hand == 1 or mode == ESTIMATE:
                            _lower(layer, own, value + 2, heap)
                elif is_later or kind <= FREE:
                    _lower(layer, own, value + 1, heap)
                else:
                    if kind != THING:
                        _lower(layer, own, value + 2, heap)
                    if kind != SHUT and hand == 1:
                        _lower(layer, k, value + 2, heap)
            front = kinds[_ahead(cell, direction, height)]
            is_thing = front == THING or front == BOX
            if is_later:
                is_thing = front != SOLID
            if hand == 1 and is_thing:
                _lower(layer, pose, value + 1, heap)
            if hand == 0 and (is_thing or front == EMPTY):
                _lower(layer, num_poses + pose, value + 1, heap)
    size[0] = 0


@kernel
def measure_tasks(progress, goal, carried, grid, task):
    """Write the layers of all progresses that hold a progress.

    Parameters
    ----------
    progress, goal : int
        Facts that are true now, and those of the end.
    carried : int
        The thing that is carried.
    grid : (num_cells,) uint32, read
        Things by cell, ``x * height + y``.
    task : tuple
        ``height, table, facts, codes, kinds, heap, layers, penalty``, see below.

    Notes
    -----
    The items of ``task``:

    height : int
    table : (2**n + 1,) int64, read
        The kind of a cell by the lowest n bits of its thing; then the bits of a box
        before those of what it contains.
    facts : (num_facts, NUM_FACT_COLUMNS) int64, read
    codes : (num_facts, 2, k) int64, read
        The things that a fact names first and second, -1 behind them; cells of REACH.
    kinds : (num_cells,) int64, scratch
    heap : tuple of (NUM_BUCKETS,), (e,), (e,) and (1,) int64, scratch
        Buckets, all -1, and 0.
    layers : (2**num_facts, 2 * num_poses) int16, written
    penalty : int
        0: layers are lower bounds.  Else they are estimates: things and doors stay as
        they are, and a thing that is carried, but has to be elsewhere, costs so much.
    """
    height, table, _, _, kinds, _, layers, penalty = task
    _find_kinds(grid, table[:-1], height, kinds)
    for each in range(layers.shape[0] - 1, -1, -1):
        if each & goal == goal:
            layers[each] = 0
        elif each & progress == progress:
            mode = BOUND if penalty == 0 else ESTIMATE
            _seed(each, carried, grid, mode, layers[each], task)
            _spread(each, mode, layers[each], task)


# ------------------------------------------------------------------ the search


@kernel
def _find_slot(table, digest):
    """Return the place of a digest in a table of pairs, or of the free pair for it."""
    mask = table.shape[0] - 1
    k = digest & mask
    while table[k, 1] >= 0 and table[k, 0] != digest:
        k = (k + 1) & mask
    return k


@kernel
def _push(node, value, nodes, buckets, counters):
    """Put a node into a bucket; those that are too far share the last one."""
    value = min(value, buckets.shape[0] - 1)
    nodes[node, LINK] = buckets[value]
    buckets[value] = node
    counters[BUCKET] = min(counters[BUCKET], value)


@kernel
def _bound_of(node, rows, things_at, nodes, task, cache, counters):
    """Return the bound of a node by the layer of its grid and progress."""
    height, table, _, _, kinds, _, layers, _ = task
    slots, grid_layers = cache
    progress = nodes[node, PROGRESS] & (layers.shape[0] - 1)
    hand = int(nodes[node, CARRIED] != 0) * (layers.shape[1] // 2)
    if layers[progress, hand + nodes[node, POSE]] == 0:
        # No fact may be left, where the game wants more than its tasks say.
        return 0
    k = _find_slot(slots, _mix(progress, nodes[node, THINGS]))
    if slots[k, 1] < 0:
        if counters[LAYERS] == grid_layers.shape[0]:
            slots[:, 1] = -1
            counters[LAYERS] = 0
            k = _find_slot(slots, _mix(progress, nodes[node, THINGS]))
        slots[k, 0] = _mix(progress, nodes[node, THINGS])
        slots[k, 1] = counters[LAYERS]
        counters[LAYERS] += 1
        grid, layer = (
            rows[node, things_at : things_at + kinds.shape[0]],
            grid_layers[slots[k, 1]],
        )
        _find_kinds(grid, table[:-1], height, kinds)
        _seed(progress, nodes[node, CARRIED], grid, NOW, layer, task)
        _spread(progress, NOW, layer, task)
    return grid_layers[slots[k, 1], hand + nodes[node, POSE]]


@kernel
def _compare(row, child, buffer, layout, digests):
    """Change the digests of a state where a child differs; return whether it does."""
    row_bytes, row_words, values, words = row[0], row[1], buffer[0], buffer[1]
    differs = False
    for v in range(layout.shape[0]):
        size, role, at = layout[v, SIZE], layout[v, ROLE], layout[v, ROW_OFFSET]
        first = layout[v, OFFSET] + child * size
        if role == RESET:
            continue
        if size % 4 == 0:
            for k in range(size // 4):
                old, new = row_words[at // 4 + k], words[first // 4 + k]
                if old != new:
                    key = at + 4 * k
                    change = _mix(key, new) - _mix(key, old)
                    digests[0] += change
                    digests[1] += change * int(role == THINGS_PART)
                    differs = True
        else:
            for k in range(size):
                old, new = row_bytes[at + k], values[first + k]
                if old != new:
                    digests[0] += _mix(at + k, new) - _mix(at + k, old)
                    differs = True
    return differs


@kernel
def _copy_to_row(child, buffer, layout, row):
    """Copy a child to the row of a node."""
    row_bytes, row_words, values, words = row[0], row[1], buffer[0], buffer[1]
    for v in range(layout.shape[0]):
        size, at = layout[v, SIZE], layout[v, ROW_OFFSET]
        first = layout[v, OFFSET] + child * size
        if size % 4 == 0:
            for k in range(size // 4):
                row_words[at // 4 + k] = words[first // 4 + k]
        else:
            for k in range(size):
                row_bytes[at + k] = values[first + k]


@kernel
def _copy_to_child(row, child, buffer, layout):
    """Copy the row of a node to a child, with zeros of what a step writes anew."""
    row_bytes, row_words, values, words = row[0], row[1], buffer[0], buffer[1]
    for v in range(layout.shape[0]):
        size, at = layout[v, SIZE], layout[v, ROW_OFFSET]
        first, is_kept = layout[v, OFFSET] + child * size, layout[v, ROLE] != RESET
        if size % 4 == 0:
            for k in range(size // 4):
                words[first // 4 + k] = row_words[at // 4 + k] if is_kept else 0
        else:
            for k in range(size):
                values[first + k] = row_bytes[at + k] if is_kept else 0


@kernel
def _add_child(child, node, action, weight, search, children, task, cache, digests):
    """Add the state of a child to the nodes, if it is new or this way is shorter."""
    rows, nodes, buckets, closed, counters = search
    row_bytes, row_words = rows
    buffer, layout, things_at, xs, ys, directions, carryings = children
    height, _, _, _, kinds, _, layers, penalty = task
    digests[0], digests[1] = nodes[node, STATE], nodes[node, THINGS]
    row = row_bytes[node], row_words[node]
    if not _compare(row, child, buffer, layout, digests):
        return
    slot, steps = _find_slot(closed, digests[0]), nodes[node, STEPS] + 1
    if closed[slot, 1] >= 0 and nodes[closed[slot, 1], STEPS] <= steps:
        return
    carried, before = np.int64(carryings[child]), nodes[node, CARRIED]
    pose = (xs[child] * height + ys[child]) * 4 + directions[child]
    new = counters[NODES]
    row = row_bytes[new], row_words[new]
    _copy_to_row(child, buffer, layout, row)
    grid = row_words[new, things_at : things_at + kinds.shape[0]]
    progress = nodes[node, PROGRESS]
    progress = find_progress(progress, action, carried, before, pose, grid, task)
    hand = int(carried != 0) * (layers.shape[1] // 2)
    bound = layers[progress & (layers.shape[0] - 1), hand + pose]
    if bound >= FAR and penalty == 0:
        return
    nodes[new, STEPS], nodes[new, PARENT], nodes[new, LAST] = steps, node, action
    nodes[new, PROGRESS], nodes[new, POSE] = progress, pose
    nodes[new, CARRIED], nodes[new, IS_EXACT] = carried, penalty
    nodes[new, STATE], nodes[new, THINGS] = digests[0], digests[1]
    if penalty > 0:
        bound = _bound_of(new, row_words, things_at, nodes, task, cache, counters)
        if bound >= FAR:
            return
    counters[NODES] += 1
    if closed[slot, 1] >= 0:
        nodes[closed[slot, 1], IS_EXACT] = -1
    closed[slot, 0], closed[slot, 1] = digests[0], new
    _push(new, steps + weight * bound // 2, nodes, buckets, counters)


@kernel
def _select(weight, search, children, task, cache, front):
    """Take the nodes of the next round; return whether there are any."""
    rows, nodes, buckets, _, counters = search
    things_at = children[2]
    count, most = 0, min(front.shape[0], 1 + counters[EXPANDED] // 32)
    value = counters[BUCKET]
    while value < buckets.shape[0] and count < most:
        if counters[BEST_NODE] >= 0 and (weight > 2 or counters[BEST] <= value):
            break
        node = buckets[value]
        if node < 0:
            if count > 0:
                break
            value += 1
            continue
        buckets[value] = nodes[node, LINK]
        steps = nodes[node, STEPS]
        if nodes[node, IS_EXACT] < 0:
            continue
        if nodes[node, IS_EXACT] == 0:
            nodes[node, IS_EXACT] = 1
            bound = _bound_of(node, rows[1], things_at, nodes, task, cache, counters)
            if bound >= FAR:
                continue
            later = steps + weight * bound // 2
            if later > value:
                _push(node, later, nodes, buckets, counters)
                continue
        front[count] = node
        count += 1
    counters[BUCKET], counters[FRONT] = value, count
    counters[EXPANDED] += count
    return count > 0


@kernel
def search_round(
    num_actions, weight, search, children, task, cache, front, results, digests
):
    """Add the children of a round to the search, and write those of the next round.

    Parameters
    ----------
    num_actions : int
    weight : int
        Twice the weight of bounds; 2: the plan is the shortest.
    search : tuple of arrays, updated
        The rows of nodes, as (n, bytes) uint8 and as uint32 in the same memory; nodes,
        (n, NUM_NODE_COLUMNS) int64; buckets, (NUM_BUCKETS,) int64, a node or -1; nodes
        by digest, (2**m, 2) int64; counters, (NUM_COUNTERS,) int64.
    children : tuple
        The states of children, as bytes and as uint32 in the same memory, one variable
        after the other; a layout, (num_variables, 4) int64; the word of a row where its
        grid begins; the variables x, y, direction and carrying, (c,) each.
    task : tuple
        See `measure_tasks`.
    cache : tuple, updated
        Layers of grids: their places by digest, (2**k, 2) int64, and (l, 2 * num_poses)
        int16.
    front : (f,) int64, updated
        The nodes of this round.
    results : tuple, read
        Rewards and terminations of the children, (c,).
    digests : (2,) int64, scratch

    Returns
    -------
    bool
        Whether there is a next round; else the search has ended.
    """
    counters = search[4]
    rewards, terminations = results
    for k in range(counters[FRONT]):
        for action in range(num_actions):
            child, node = k * num_actions + action, front[k]
            if not terminations[child]:
                _add_child(
                    child, node, action, weight, search, children, task, cache, digests
                )
            elif rewards[child] > 0:
                steps = search[1][node, STEPS] + 1
                if counters[BEST_NODE] < 0 or steps < counters[BEST]:
                    counters[BEST], counters[BEST_NODE] = steps, node
                    counters[BEST_ACTION] = action
    if not _select(weight, search, children, task, cache, front):
        return False
    row_bytes, row_words = search[0]
    for k in range(counters[FRONT]):
        row = row_bytes[front[k]], row_words[front[k]]
        for action in range(num_actions):
            child = k * num_actions + action
            _copy_to_child(row, child, children[0], children[1])
    return True


@kernel
def store_first(children, row_bytes, row_words):
    """Write child 0 to a row, (bytes,) uint8 and as uint32 in the same memory."""
    _copy_to_row(0, children[0], children[1], (row_bytes, row_words))


@kernel
def grow(closed, larger):
    """Copy nodes by digest to a larger table."""
    for k in range(closed.shape[0]):
        if closed[k, 1] >= 0:
            slot = _find_slot(larger, closed[k, 0])
            larger[slot, 0], larger[slot, 1] = closed[k, 0], closed[k, 1]
