"""Random generators equal to numpy's and to those of Python's random module."""
