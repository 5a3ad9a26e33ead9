"""The games: one folder each, named as in `roll_vec.kernels`."""
