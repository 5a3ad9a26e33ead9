"""The difficulty of FrozenLake maps, and the return of the best play."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from roll_vec.envs.frozen_lake.solver import measure_maps

# The solver's last digits are not exact: a chance of one half can be above 0.5.
_DECIMALS = 12


def measure_levels(
    options: Any, num_threads: int, levels: tuple[NDArray[Any], ...]
) -> tuple[NDArray[Any], ...]:
    """Return the measures of maps, for `roll_vec.arrays.bands.Measure`.

    Parameters
    ----------
    options : RandomFrozenLakeOptions
    num_threads : int
    levels : (m, H * W) uint8, (m,) int64
        Maps and start cells.

    Returns
    -------
    (m,) float64 arrays
        That of `measure_maps`, rounded to 12 decimals, and with ``oracle_return_info``
        the return of the best play.
    """
    maps, starts = levels
    chances = measure_maps(
        maps,
        starts,
        options.grid_shape,
        is_slippery=options.is_slippery,
        success_rate=options.success_rate,
        num_threads=num_threads,
    ).round(_DECIMALS)
    if not options.oracle_return_info:
        return (chances,)
    # Only the goal is worth something.
    at_goal, in_hole, on_ice = options.reward_schedule
    assert in_hole == on_ice == 0
    return chances, at_goal * chances
