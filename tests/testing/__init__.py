"""A sound vector environment, and the same with one bug at a time."""
