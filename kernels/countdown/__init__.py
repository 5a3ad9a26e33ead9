"""Kernels of Countdown: expressions, and targets that numbers reach."""
