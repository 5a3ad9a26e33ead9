"""Kernels of Sokoban: moves, room generation, solver."""
