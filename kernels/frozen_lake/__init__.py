"""Kernels of FrozenLake: rules, unrolls, random maps."""
