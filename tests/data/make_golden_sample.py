"""Write the small golden tables of this folder from the full ones.

From the root of the checkout, with ``shared/golden`` beside it::

    python -m tests.data.make_golden_sample

A table holds what other systems produced: rooms and games of ROLL's Sokoban (ROLL:
Apache-2.0; gym-sokoban, whose rules it plays by: MIT) and maps of ROLL with games
of Gymnasium's FrozenLake (MIT).  No number in it comes from this project.
Of every tag the sample keeps rows spread evenly over the table, and the first rows
of every kind of failure.
"""

import numpy as np

from tests.oracles import golden_path, load_golden

ROWS_PER_TAG = 24
FAILURES_PER_TAG = 4


def sample_rows(fields):
    """Choose the rows of one tag, in order."""
    num_rows = len(fields["seeds"])
    rows = set(np.linspace(0, num_rows - 1, ROWS_PER_TAG).astype(int).tolist())
    for code in (1, 2) if "code" in fields else ():
        rows |= set(np.flatnonzero(fields["code"] == code)[:FAILURES_PER_TAG].tolist())
    return sorted(rows)


def make_sample(name):
    """Take the chosen rows of every tag of a full table."""
    sample = {}
    for tag, fields in load_golden(name, full=True).items():
        rows = sample_rows(fields)
        sample[tag] = {field: values[rows] for field, values in fields.items()}
    return sample


def main():
    for name in ("sokoban", "frozen_lake"):
        arrays = {
            f"{tag}/{field}": values
            for tag, fields in make_sample(name).items()
            for field, values in fields.items()
        }
        np.savez_compressed(golden_path(name), **arrays)


if __name__ == "__main__":
    main()
