"""Values of infos as JSON has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def to_json(value: Any) -> Any:
    """Return a value with only what JSON has: None, bool, int, float, str, list, dict.

    Half a surrogate pair, which UTF-8 lacks, is a question mark.  Arrays, tuples and
    sets are lists, and the keys of dicts are sorted.  Floats that JSON lacks are the
    texts ``"nan"``, ``"inf"`` and ``"-inf"``.  An object of another kind is the name of
    its class: its text may have its address, which differs between processes.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        # In the infos of a batch the order depends on the other environments.
        items = {to_json(str(key)): part for key, part in value.items()}
        return {key: to_json(items[key]) for key in sorted(items)}
    if isinstance(value, (list, tuple)):
        return [to_json(part) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted((to_json(part) for part in value), key=repr)
    kind = type(value)
    return f"<{kind.__module__}.{kind.__qualname__}>"
