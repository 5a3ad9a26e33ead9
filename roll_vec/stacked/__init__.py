"""Environments whose state is stacked in numpy arrays and stepped by one kernel.

Each family is one file with its options, its engine for N environments and its
single environment, over the same scalar rules of `roll_vec.kernels`.
"""
