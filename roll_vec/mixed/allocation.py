"""The numbers of environments that the weights of families give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from roll_vec.errors import InvalidOptionError


def allocate(
    num_envs: int, weights: Sequence[float], group_sizes: Sequence[int]
) -> list[int]:
    """Return the number of environments of each family.

    The share of family k is ``num_envs * weights[k] / sum(weights)``.  Of all numbers
    that add up to ``num_envs``, each a multiple of its group size and at least one
    group, those nearest to the shares are taken: the sum of the squared differences is
    the smallest.  Of equally near ones those with more for the first family, then for
    the second, and so on.  The arithmetic is exact.

    Parameters
    ----------
    num_envs : int
    weights : sequence of k numbers above 0
    group_sizes : sequence of k int

    Raises
    ------
    InvalidOptionError
        If no such numbers add up to ``num_envs``; names the nearest that do.
    """
    possible = _possible_numbers(num_envs + max(group_sizes), group_sizes)
    if not possible >> num_envs & 1:
        raise _no_fit(num_envs, group_sizes, possible)
    exact = [Fraction(weight) for weight in weights]
    denominator = math.lcm(*(weight.denominator for weight in exact))
    whole = [int(weight * denominator) for weight in exact]
    reach = 2
    while True:
        numbers = _nearest(num_envs, whole, group_sizes, reach)
        if numbers is not None:
            return numbers
        reach *= 2


def _nearest(
    num_envs: int, weights: Sequence[int], group_sizes: Sequence[int], reach: int
) -> list[int] | None:
    """Return the nearest numbers, if their distance from the shares is below ``reach``.

    The distance is the root of the sum of the squared differences.  The best numbers
    of the last families are kept by their sum: those of one family more are built from
    them.
    """
    # Everything times the sum of the weights: the shares are integers then.
    unit = sum(weights)
    bound = (reach * unit) ** 2
    # By the number of environments that are left for the first families: the cost of
    # the others, and their numbers.
    best: dict[int, tuple[int, list[int]]] = {num_envs: (0, [])}
    for weight, size in reversed(list(zip(weights, group_sizes, strict=True))):
        share = num_envs * weight
        first = max(-((reach * unit - share) // (size * unit)), 1)
        last = (share + reach * unit) // (size * unit)
        choices = [size * count for count in range(first, last + 1)]
        costs = [(number * unit - share) ** 2 for number in choices]
        longer: dict[int, tuple[int, list[int]]] = {}
        for number_left, (cost, numbers) in best.items():
            for number, own_cost in zip(choices, costs, strict=True):
                total, left = cost + own_cost, number_left - number
                if total >= bound or left < 0:
                    continue
                previous = longer.get(left)
                # With one cost the larger number for the earlier family.
                if previous is None or (total, -number) < (
                    previous[0],
                    -previous[1][0],
                ):
                    longer[left] = total, [number, *numbers]
        best = longer
    return best[0][1] if 0 in best else None


def _possible_numbers(highest: int, group_sizes: Sequence[int]) -> int:
    """Return an int whose bit n says whether n environments can be allocated."""
    mask = (1 << (highest + 1)) - 1
    possible = 1 << sum(group_sizes) & mask
    for size in group_sizes:
        step = size
        while step <= highest:
            possible |= possible << step & mask
            step *= 2
    return possible


def _no_fit(
    num_envs: int, group_sizes: Sequence[int], possible: int
) -> InvalidOptionError:
    below = (possible & (1 << num_envs) - 1).bit_length() - 1
    above = possible >> num_envs
    nearest = [str(below)] if below >= 0 else []
    if above:
        nearest.append(str(num_envs + (above & -above).bit_length() - 1))
    else:
        nearest.append(str(sum(group_sizes)))
    accepted = (
        f"a number that at least one group of each family adds up to, such as "
        f"{' or '.join(nearest)}"
    )
    hint = f"; the groups have {', '.join(map(str, group_sizes))} environments"
    return InvalidOptionError.expected("num_envs", accepted, num_envs, hint)
