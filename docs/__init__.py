"""The guides of roll_vec, their generator and their examples."""
