"""The difficulty of frozen lakes."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from roll_vec.envs.frozen_lake.solver import measure_maps

__all__ = ["MapMeasure"]

# The solver's relative errors are below 1e-12.
_DECIMALS = 12


class MapMeasure:
    """Measures maps, as a `roll_vec.stacked.bands.Measure`.

    ``success_probability`` is that of `measure_maps`, rounded to 12 decimals: a chance
    of a half shall be inside a band that ends at 0.5, whatever the rounding errors.
    ``oracle_return`` is the same, as the goal has a reward of 1.

    Parameters
    ----------
    options : RandomFrozenLakeOptions
    num_threads : int
    """

    names: tuple[str, ...] = ("success_probability", "oracle_return")

    def __init__(self, options: Any, num_threads: int) -> None:
        self.options, self.num_threads = options, num_threads

    def __call__(self, levels: tuple[NDArray[Any], ...]) -> tuple[NDArray[Any], ...]:
        """Return the measures of maps and start cells, (m,) float64 each.

        Raises
        ------
        SolverLimitError
        """
        maps, starts = levels
        chances = measure_maps(
            maps,
            starts,
            self.options.grid_shape,
            is_slippery=self.options.is_slippery,
            success_rate=self.options.success_rate,
            num_threads=self.num_threads,
        )
        chances = chances.round(_DECIMALS)
        return chances, chances
