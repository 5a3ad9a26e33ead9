"""The baselines: each policy on the evaluation splits of each id.

::

    python -m benchmarks.baselines                      # all but the training of PPO
    python -m benchmarks.baselines --checkpoints DIR    # PPO too, from DIR's files
    python -m benchmarks.baselines --train --checkpoints DIR    # train PPO first

The command writes benchmarks/results/baselines.json.  In reading order:

- `rules`: a simple rule for each game
- `policies`: which policies there are, and how they are made for a split
- `results`: the JSON file: one row for each policy and split
- `tables`, `chart`: the figures of docs/baselines.md and its picture
- `examples`: the programs of docs/examples as modules
"""
