"""`GridObservations`: observations of grids, made from cell codes by PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from roll_vec.arrays.grid_observations import ARRAY_MODES, cell_table
from roll_vec.arrays.options import GridOptions
from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_choice


# mypy skips torch, so that it says the same without it.
class GridObservations(torch.nn.Module):  # type: ignore[misc]
    """Cell codes to another observation mode, on the device where the codes are.

    The results equal those of a batch with this ``obs_mode``.  As the first layer of a
    network it makes planes of what a replay buffer keeps as codes.  It has no
    parameters; `torch.nn.Module.to` moves its table.

    Parameters
    ----------
    envs : gymnasium.vector.VectorEnv
        A batch of Sokoban, of a lake or of a `roll_vec.GridEnv`, with
        ``obs_mode="grid"``.  Its game alone is read.
    obs_mode : str
        ``planes`` (one-hot codes), ``tiny_rgb``, ``rgb`` or a mode of the game's own,
        such as Sokoban's ``planes4``.
    tiles : (C, T, T, 3) uint8 array, or None
        With ``rgb``: a picture for each of the C cell codes, in place of ours.

    Raises
    ------
    InvalidOptionError
    """

    def __init__(self, envs: Any, obs_mode: str, tiles: Any = None) -> None:
        super().__init__()
        engine = getattr(getattr(envs, "unwrapped", None), "engine", None)
        options = getattr(engine, "options", None)
        if not isinstance(options, GridOptions) or options.obs_mode != "grid":
            accepted = "a batch whose observations are grids, obs_mode='grid'"
            raise InvalidOptionError.expected("envs", accepted, envs)
        family = options.FAMILY
        modes = {**ARRAY_MODES, **family.more_modes}
        check_choice("obs_mode", obs_mode, [name for name in modes if name != "grid"])
        table = cell_table(family, obs_mode)
        if tiles is not None:
            table = _check_tiles(tiles, obs_mode, family.num_codes)
        self._has_planes = modes[obs_mode].shape(2, 5, 7)[1:] == (5, 7)
        # Not in checkpoints: it follows from the game.
        self.register_buffer("table", torch.from_numpy(table), persistent=False)
        self.table: torch.Tensor

    def forward(self, grids: torch.Tensor) -> torch.Tensor:
        """Return the observations of grids.

        Parameters
        ----------
        grids : (..., H, W) uint8
            Cell codes of the game, on the device of the table; they are not checked.

        Returns
        -------
        (..., P, H, W) or (..., T * H, T * W, 3) uint8
            Planes, in the memory format "channels last", or pictures.
        """
        cells = self.table.index_select(0, grids.flatten().int())
        cells = cells.reshape(*grids.shape, *self.table.shape[1:])
        if self._has_planes:
            return cells[..., 0, 0].movedim(-1, -3)
        # (..., H, W, T, T, 3) to (..., H, T, W, T, 3)
        return cells.transpose(-4, -3).flatten(-3, -2).flatten(-4, -3)


def _check_tiles(tiles: Any, obs_mode: str, num_codes: int) -> np.ndarray[Any, Any]:
    """Return pictures of the cell codes as an array, or raise InvalidOptionError."""
    try:
        array = np.array(tiles)
    except ValueError:  # rows of unlike lengths
        array = np.array(None)
    side = array.shape[1] if array.ndim == 4 else 0
    is_known = side > 0 and array.shape == (num_codes, side, side, 3)
    if obs_mode != "rgb" or array.dtype != np.uint8 or not is_known:
        accepted = f"a uint8 array ({num_codes}, T, T, 3), with obs_mode='rgb' alone"
        value = f"{array.dtype} of shape {array.shape} with obs_mode={obs_mode!r}"
        raise InvalidOptionError.expected("tiles", accepted, value)
    return array
