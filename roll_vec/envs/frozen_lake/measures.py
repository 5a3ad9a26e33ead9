"""The difficulty of FrozenLake maps, and the return of the best play."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from roll_vec.envs.frozen_lake.solver import measure_maps

__all__ = ["LakeMeasure"]

# The solver's last digits are not exact: a chance of one half can be above 0.5.
_DECIMALS = 12


class LakeMeasure:
    """Measures maps, as a `roll_vec.stacked.bands.Measure`.

    ``success_probability`` is that of `measure_maps`, rounded to 12 decimals.

    Parameters
    ----------
    options : RandomFrozenLakeOptions
    num_threads : int
    """

    def __init__(self, options: Any, num_threads: int) -> None:
        self.options, self.num_threads = options, num_threads
        self.names: tuple[str, ...] = ("success_probability",)
        if options.oracle_return_info:
            self.names += ("oracle_return",)

    def __call__(self, levels: tuple[NDArray[Any], ...]) -> tuple[NDArray[Any], ...]:
        """Return the measures of maps and their start cells, (m,) float64 each."""
        maps, starts = levels
        options = self.options
        chances = measure_maps(
            maps,
            starts,
            options.grid_shape,
            is_slippery=options.is_slippery,
            success_rate=options.success_rate,
            num_threads=self.num_threads,
        ).round(_DECIMALS)
        if not options.oracle_return_info:
            return (chances,)
        # Only the goal is worth something.
        at_goal, in_hole, on_ice = options.reward_schedule
        assert in_hole == on_ice == 0
        return chances, at_goal * chances
