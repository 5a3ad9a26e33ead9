"""Gymnasium's layout of a batch's infos.

A dict of arrays with one entry an environment; each key K has a bool mask ``_K``
that says which environments have it.  Entries without it are zero, or None in an
object array.  A key that no environment has is absent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Infos", "final_infos", "masked_infos", "merge_infos"]

Infos = dict[str, Any]


def masked_infos(values: dict[str, NDArray[Any]], mask: NDArray[np.bool_]) -> Infos:
    """Return the layout for keys that exactly the masked environments have.

    Parameters
    ----------
    values : dict of (n,) arrays
        Zero where the mask is False; they become the caller's.
    mask : (n,) bool

    Returns
    -------
    dict
        Empty where no environment is masked.
    """
    if not mask.any():
        return {}
    infos: Infos = {}
    for key, value in values.items():
        infos[key] = value
        infos["_" + key] = mask.copy()
    return infos


def merge_infos(infos: Infos, others: Infos) -> Infos:
    """Add the entries of ``others`` to ``infos``, where its masks say so."""
    for key, value in others.items():
        if key.startswith("_"):
            continue
        mask = others["_" + key]
        if key in infos:
            infos[key][mask] = value[mask]
            infos["_" + key] |= mask
        else:
            infos[key] = value
            infos["_" + key] = mask
    return infos


def final_infos(infos: Infos, finished: NDArray[np.bool_]) -> Infos:
    """Cut the entries of finished environments out of ``infos`` and return them.

    Parameters
    ----------
    infos : dict
        Of a step; its entries of finished environments are zeroed, and keys that no
        environment has any longer are removed.
    finished : (n,) bool

    Returns
    -------
    dict
        The layout of ``infos["final_info"]``.
    """
    final: Infos = {}
    for key in [key for key in infos if not key.startswith("_")]:
        value, mask = infos[key], infos["_" + key]
        final_mask = mask & finished
        if final_mask.any():
            blank = None if value.dtype == object else 0
            final[key] = np.full_like(value, blank)
            final[key][final_mask] = value[final_mask]
            final["_" + key] = final_mask
            value[final_mask] = blank
            mask &= ~finished
            if not mask.any():
                del infos[key], infos["_" + key]
    return final
