"""Damage for files: random changes of bytes, and of values in JSON."""

import copy

VALUES = (None, True, -1, 10**400, 1.5, float("inf"), "", "\ud800", "1e9", [], {}, [[]])


def mutate_bytes(block, rng):
    """Return bytes with one to three changes: flipped, set, cut, doubled, copied."""
    block = bytearray(block)
    for _ in range(int(rng.integers(1, 4))):
        size = int(rng.integers(1, 9))
        at, other = rng.integers(max(len(block), 1), size=2).tolist()
        new = (
            bytes([block[at] ^ 1 << int(rng.integers(8))]) if at < len(block) else b"",
            rng.bytes(1),
            rng.bytes(size),
            b"",
            bytes(block[at : at + size]) * 2,
            bytes(block[other : other + size]),
        )[int(rng.integers(6))]
        old = len(new) if rng.integers(2) else size
        block[at : at + old] = new
    return bytes(block)


def mutate_json(data, rng):
    """Return data with one value, field or entry replaced, doubled or gone."""
    data = copy.deepcopy(data)
    parent, key, node = None, None, data
    while (
        isinstance(node, (dict, list)) and node and (not parent or rng.random() < 0.8)
    ):
        parent = node
        keys = list(node) if isinstance(node, dict) else range(len(node))
        key = keys[int(rng.integers(len(keys)))]
        node = node[key]
    if parent is None:
        return None
    kind = int(rng.integers(4))
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(node))
    elif kind == 1:
        parent[key.upper()] = parent.pop(key)
    else:
        parent[key] = VALUES[int(rng.integers(len(VALUES)))]
    return data


def change_each(data, values=VALUES):
    """Yield data with one value replaced or gone, and the place of the change."""
    yield from ((f" = {value!r}", value) for value in values)
    if not isinstance(data, (dict, list)):
        return
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        less = copy.copy(data)
        del less[key]
        yield f"[{key!r}] is missing", less
        for place, value in change_each(data[key], values):
            changed = copy.copy(data)
            changed[key] = value
            yield f"[{key!r}]{place}", changed
