"""The baselines: each policy on the evaluation splits of each id.

``python -m benchmarks.baselines`` measures all but PPO in half a minute, and PPO with
the networks that it finds, see docs/baselines.md.  In reading order:

- `rules`: a simple rule for each game
- `policies`: which policies there are, and how they are made for a split
- `tables`: the figures of docs/baselines.md and its picture, from the file
- `__main__`: the file, one row for each policy and split
"""
