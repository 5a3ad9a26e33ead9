"""For PyTorch: observations made on the device, and batches that step in turns.

A room of Sokoban is 36 bytes of cell codes, its planes are 252, its picture 27,648.
`GridObservations` makes planes and pictures of the codes where the network is.  `Turns`
lets one part of the environments step while the network looks at another part.

Needs the extra ``torch``: in a checkout, ``pip install ".[torch]"``.

The files:

- ``grids.py``: `GridObservations`
- ``turns.py``: `Turns`, and what it yields
"""

from __future__ import annotations

from roll_vec.errors import MissingExtraError

try:
    from roll_vec.torch.grids import GridObservations
    from roll_vec.torch.turns import Turn, Turns
except ImportError as error:
    raise MissingExtraError("roll_vec.torch", extra="torch", package="torch") from error

__all__ = ["GridObservations", "Turn", "Turns"]
