"""Kernels of MiniGrid's games."""
