"""Kernels of Sokoban: rules, unrolls, room generation."""
