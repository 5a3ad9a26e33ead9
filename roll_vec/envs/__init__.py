"""The games, named as in `roll_vec.kernels`: a folder each, or a file."""
