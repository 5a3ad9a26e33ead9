"""Kernels of FrozenLake: moves, random maps, solver."""
